/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening the source, the first offsets of a query, and the planning of its batches: this file asks
 * the broker, plan.c does the arithmetic. */
#include "kafka/client_config.h"
#include "kafka/source_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum cv_code cv_source_pause(struct cv_source *source, struct cv_error *err)
{
    int64_t until = cv_monotonic_us() + source->options.fetch_offset_retry_us;

    while (cv_monotonic_us() < until) {
        if (cv_source_is_cancelled(source))
            return cv_fail(err, CV_CANCELLED, "listing of partitions: cancelled");
        cv_sleep_ms(CV_MIN(50, (until - cv_monotonic_us()) / 1000 + 1));
    }
    return CV_OK;
}

/* The first answer of a broker; a topic that is missing may be about to be made. */
static enum cv_code list_first(struct cv_source *source, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets partitions = {0};
    int64_t deadline = cv_monotonic_us() + CV_SOURCE_OPEN_US;
    struct cv_error attempt_err = CV_ERROR_INIT;

    for (int64_t attempt = 1;; attempt++) {
        enum cv_code code = cv_source_list(source, deadline, &partitions, &attempt_err);

        source->partition_count = partitions.count;
        if (code == CV_OK)
            return CV_OK;
        if (code != CV_NOT_FOUND || attempt >= source->options.fetch_offset_attempts) {
            if (err)
                *err = attempt_err;
            return code;
        }
        CV_DO(cv_source_pause(source, err));
    }
}

static enum cv_code open_source(struct cv_source *source, struct cv_error *err)
{
    const struct cv_properties *kafka = &source->options.kafka;
    size_t length;
    char *id;

    CV_DO(cv_source_options_check(&source->options, NULL, NULL, err));
    CV_DO(cv_subscription_parse(&source->options, &source->subscription, err));
    source->bootstrap = cv_strdup(cv_properties_get_or(kafka, "bootstrap.servers", ""));
    length = strlen(source->subscription.description) + sizeof "KafkaV2[]";
    source->description = cv_alloc(length);
    (void)snprintf(source->description, length, "KafkaV2[%s]", source->subscription.description);
    CV_DO(cv_source_new_client(source, NULL, &source->planner, err));
    CV_DO(list_first(source, err));
    CV_DO(cv_source_connect(source, err));
    id = rd_kafka_clusterid(source->planner, CV_SOURCE_REQUEST_MS);
    source->cluster_id = cv_strdup(id ? id : "");
    if (id)
        rd_kafka_mem_free(source->planner, id);
    return CV_OK;
}

enum cv_code cv_source_open(const struct cv_source_config *config, struct cv_source **ret_source,
                            struct cv_error *err)
{
    struct cv_source *source = cv_alloc(sizeof *source);
    enum cv_code code;

    source->options = *config->options;
    source->job = cv_strdup(config->job ? config->job : "job");
    source->warn = config->warn;
    source->warn_context = config->warn_context;
    source->cancelled = config->cancelled;
    source->cancel_context = config->cancel_context;
    source->memory_bytes = config->memory_bytes;
    source->pool = cv_chunk_pool_new();
    cv_fetch_init(&source->fetch);
    cv_preauth_init(&source->preauth);
    code = open_source(source, err);
    if (code != CV_OK) {
        cv_source_free(source);
        return code;
    }
    *ret_source = source;
    return CV_OK;
}

void cv_source_free(struct cv_source *source)
{
    if (!source)
        return;
    cv_source_finish_lag(source);
    cv_fetch_release(source);
    cv_source_disconnect(source);
    cv_preauth_release(&source->preauth);
    cv_chunk_pool_free(source->pool);
    cv_subscription_release(&source->subscription);
    free(source->fingerprints);
    free(source->job);
    free(source->bootstrap);
    free(source->description);
    free(source->cluster_id);
    free(source);
}

const char *cv_source_description(const struct cv_source *source)
{
    return source->description;
}

const char *cv_source_cluster_id(const struct cv_source *source)
{
    return source->cluster_id;
}

void cv_source_counters(const struct cv_source *source, struct cv_fetch_counters *ret_counters)
{
    *ret_counters = source->counters;
}

/* True if the listing lacks a partition that the query knows and still subscribes to. */
static bool lacks_known(const struct cv_source *source, const struct cv_offsets *start,
                        const struct cv_offsets *listed)
{
    const struct cv_subscription *s = &source->subscription;

    for (size_t i = 0; i < start->count; i++) {
        const struct cv_offset *item = &start->items[i];
        bool wanted = s->kind == CV_SUBSCRIBE_PATTERN && cv_subscription_matches(s, item->topic);

        for (size_t j = 0; j < s->topic_count && !wanted; j++)
            wanted = strcmp(s->topics[j], item->topic) == 0;
        if (s->kind == CV_ASSIGN)
            wanted = cv_offsets_find(&s->assigned, item->topic, item->partition) != NULL;
        if (wanted && !cv_offsets_find(listed, item->topic, item->partition))
            return true;
    }
    return false;
}

/* A pattern may match nothing yet; everything else has partitions. */
static bool may_be_empty(const struct cv_source *source, const struct cv_offsets *start)
{
    return source->subscription.kind == CV_SUBSCRIBE_PATTERN && start->count == 0;
}

/* One listing of partitions with their latest offsets; *ret_doubtful tells that it contradicts
 * what is known (metadata of a broker that is starting), so that it is worth asking again. */
static enum cv_code list_once(struct cv_source *source, const struct cv_offsets *start,
                              struct cv_offsets *latest, bool *ret_doubtful, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets partitions = {0};
    int64_t deadline = cv_source_deadline(source);

    CV_DO(cv_source_list(source, deadline, &partitions, err));
    CV_DO(cv_source_list_offsets(source, &partitions, CV_OFFSET_LATEST, deadline, latest, err));
    *ret_doubtful = (latest->count == 0 && !may_be_empty(source, start)) ||
                    latest->count < partitions.count || lacks_known(source, start, latest) ||
                    cv_plan_find_shrunk(start, latest) != NULL;
    return CV_OK;
}

static enum cv_code list_latest(struct cv_source *source, const struct cv_offsets *start,
                                struct cv_offsets *latest, struct cv_error *err)
{
    struct cv_error attempt_err = CV_ERROR_INIT;

    for (int64_t attempt = 1;; attempt++) {
        bool last = attempt >= source->options.fetch_offset_attempts;
        bool doubtful = false;
        enum cv_code code = list_once(source, start, latest, &doubtful, &attempt_err);

        if (code == CV_OK && !doubtful)
            return CV_OK;
        if (last && code == CV_OK && latest->count == 0 && !may_be_empty(source, start))
            return cv_fail(err, CV_KAFKA,
                           "%s: the broker listed no partition at all in %" PRId64 " attempts",
                           source->description, attempt);
        if (code != CV_OK && (last || code != CV_NOT_FOUND)) {
            if (err)
                *err = attempt_err;
            return code;
        }
        if (last)
            return CV_OK;
        CV_DO(cv_source_pause(source, err));
    }
}

static struct cv_plan_policy policy_of(struct cv_source *source, const struct cv_offsets *recreated)
{
    return (struct cv_plan_policy){
        .recreated = recreated,
        .fail_on_data_loss = source->options.fail_on_data_loss,
        .has_group_id = cv_properties_get(&source->options.kafka, "group.id") != NULL,
        .warn = source->warn,
        .warn_context = source->warn_context,
    };
}

/* Partitions whose start must be looked up: new ones, and those of a new topic by the old name. */
static void find_unstarted(const struct cv_offsets *start, const struct cv_offsets *latest,
                           const struct cv_offsets *recreated, struct cv_offsets *ret_unstarted)
{
    cv_offsets_copy(ret_unstarted, recreated);
    for (size_t i = 0; i < latest->count; i++) {
        const struct cv_offset *item = &latest->items[i];
        const struct cv_offset *from = cv_offsets_find(start, item->topic, item->partition);

        if (!from || from->offset > item->offset)
            cv_offsets_set(ret_unstarted, item->topic, item->partition, 0);
    }
}

static enum cv_code resolve_start(struct cv_source *source, const struct cv_offsets *start,
                                  const struct cv_offsets *latest, struct cv_offsets *ret_start,
                                  uint64_t *ret_lost, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets unstarted = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets earliest = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets recreated = {0};
    struct cv_plan_policy policy = policy_of(source, &recreated);

    CV_DO(cv_source_find_recreated(source, &recreated, err));
    find_unstarted(start, latest, &recreated, &unstarted);
    CV_DO(cv_source_list_offsets(source, &unstarted, CV_OFFSET_EARLIEST, cv_source_deadline(source),
                                 &earliest, err));
    return cv_plan_resolve_start(&policy, start, latest, &earliest, ret_start, ret_lost, err);
}

/* The ends that the batch may reach: those fixed by AvailableNow, else the latest ones. */
static enum cv_code target_of(const struct cv_plan *plan, const struct cv_offsets *bound,
                              struct cv_offsets *ret_target, struct cv_error *err)
{
    cv_offsets_copy(ret_target, bound ? bound : &plan->latest);
    return bound ? cv_plan_check_bound(&plan->start, bound, &plan->latest, err) : CV_OK;
}

/* Under AvailableNow a partition that appeared after the ends were fixed is left for the next run.
 */
static void drop_unbound(struct cv_offsets *offsets, const struct cv_offsets *start,
                         const struct cv_offsets *bound)
{
    size_t kept = 0;

    for (size_t i = 0; i < offsets->count; i++) {
        const struct cv_offset item = offsets->items[i];

        if (cv_offsets_find(bound, item.topic, item.partition) ||
            cv_offsets_find(start, item.topic, item.partition))
            offsets->items[kept++] = item;
    }
    offsets->count = kept;
}

static enum cv_code plan_batch(struct cv_source *source, const struct cv_offsets *start,
                               enum cv_read_limit limit, const struct cv_offsets *bound,
                               int64_t now_us, struct cv_plan *plan, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets target = {0};
    const struct cv_source_options *o = &source->options;

    CV_DO(list_latest(source, start, &plan->latest, err));
    if (bound)
        drop_unbound(&plan->latest, start, bound);
    CV_DO(resolve_start(source, start, &plan->latest, &plan->start, &plan->lost_records, err));
    CV_DO(target_of(plan, bound, &target, err));
    if (limit == CV_LIMIT_OPTIONS && o->min_offsets_per_trigger > 0 &&
        cv_plan_is_delayed(&source->clock, now_us, o->max_trigger_delay_us,
                           o->min_offsets_per_trigger, start, &target)) {
        plan->delayed = true;
        cv_offsets_copy(&plan->end, start);
        cv_offsets_copy(&plan->start, start);
        return CV_OK;
    }
    if (limit == CV_LIMIT_OPTIONS && o->max_offsets_per_trigger > 0)
        cv_plan_share_limit(&plan->start, &target, o->max_offsets_per_trigger, &plan->end);
    else
        cv_offsets_copy(&plan->end, &target);
    return CV_OK;
}

enum cv_code cv_source_plan(struct cv_source *source, const struct cv_offsets *start,
                            enum cv_read_limit limit, const struct cv_offsets *bound,
                            int64_t now_us, struct cv_plan *ret_plan, struct cv_error *err)
{
    CV_CLEANUP(cv_plan_release) struct cv_plan plan = {0};

    cv_source_poll_lag(source);
    CV_DO(cv_fetch_look(source, err));
    CV_DO(plan_batch(source, start, limit, bound, now_us, &plan, err));
    cv_plan_release(ret_plan);
    *ret_plan = plan;
    memset(&plan, 0, sizeof plan);
    return CV_OK;
}

/* A logged batch wants records of partitions that were deleted meanwhile: nobody would answer for
 * them. With failOnDataLoss=false such a partition starts at its end. */
static enum cv_code pass_over_gone(struct cv_source *source, const struct cv_offsets *end,
                                   struct cv_offsets *start, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets wanted = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets gone = {0};

    for (size_t i = 0; i < end->count; i++) {
        const struct cv_offset *to = &end->items[i];
        const struct cv_offset *from = cv_offsets_find(start, to->topic, to->partition);

        if (from && from->offset < to->offset)
            cv_offsets_set(&wanted, to->topic, to->partition, to->offset);
    }
    CV_DO(cv_source_find_gone(source, &wanted, &gone, err));
    for (size_t i = 0; i < gone.count; i++) {
        const struct cv_offset *item = &gone.items[i];

        if (source->options.fail_on_data_loss) {
            (void)cv_fail(err, CV_DATA_LOSS,
                          "KAFKA_DATA_LOSS.PARTITIONS_DELETED: the batch was planned up to "
                          "%s[%" PRId32 "]@%" PRId64 ", which is no longer there",
                          item->topic, item->partition, item->offset);
            cv_hint(err, "set failOnDataLoss: false to go on with what is still there");
            return CV_DATA_LOSS;
        }
        cv_source_warn(source,
                       "%s[%" PRId32 "] was deleted: its records up to %" PRId64 " are lost",
                       item->topic, item->partition, item->offset);
        cv_offsets_set(start, item->topic, item->partition, item->offset);
    }
    return CV_OK;
}

enum cv_code cv_source_complete_start(struct cv_source *source, const struct cv_offsets *start,
                                      const struct cv_offsets *end, struct cv_offsets *ret_start,
                                      struct cv_error *err)
{
    uint64_t lost = 0;

    CV_DO(resolve_start(source, start, end, ret_start, &lost, err));
    return pass_over_gone(source, end, ret_start, err);
}
