/* SPDX-License-Identifier: Apache-2.0
 *
 * What expiry says: which snapshots went, and why others stay. */
#include "maintain/expire_int.h"

#include "base/time.h"
#include "table/position.h"

#define LINES_MAX      50
#define AGE_MS_DEFAULT (INT64_C(5) * 86400 * 1000)

static void note_snapshot(struct cv_maintain_result *result, const char *what,
                          const struct cv_snapshot *snapshot, const char *why)
{
    char time[CV_TIME_TEXT_BYTES];

    cv_format_ms_plain(snapshot->timestamp_ms, time);
    cv_maintain_note(result, "%s snapshot %lld of %s%s%s", what, (long long)snapshot->id, time,
                     *why ? ": " : "", why);
}

void cv_expire_note_gone(const struct cv_expire_result *expired, bool dry_run,
                         struct cv_maintain_result *result)
{
    const struct cv_expire_plan *plan = &expired->plan;
    const char *verb = dry_run ? "would expire" : "expired";

    cv_maintain_note(result, "%s %zu of %zu snapshots", verb, plan->snapshot_count,
                     expired->before->snapshot_count);
    for (size_t i = 0; i < plan->ref_count; i++)
        cv_maintain_note(result, "%s the ref %s: it is older than its max-ref-age-ms", verb,
                         plan->refs[i]);
    for (size_t i = 0; dry_run && i < CV_MIN(plan->snapshot_count, (size_t)LINES_MAX); i++) {
        const struct cv_snapshot *snapshot =
            cv_table_metadata_snapshot(expired->before, plan->snapshot_ids[i]);

        if (snapshot)
            note_snapshot(result, "  goes:", snapshot, "");
    }
    if (dry_run && plan->snapshot_count > LINES_MAX)
        cv_maintain_note(result, "  … and %zu more", plan->snapshot_count - LINES_MAX);
    if (expired->definitions_removed)
        cv_maintain_note(result, "%s schemas and partition specs that nothing uses",
                         dry_run ? "would drop" : "dropped");
}

static void put_streams(const struct cv_snapshot *snapshot, struct cv_buf *out)
{
    static const struct {
        const char *prefix;
        const char *name;
        bool by_value;
    } keys[] = {
        {CV_POSITION_KEY, "job", false},
        {CV_QUERY_ID_KEY, "query", true},
        {"flink.job-id", "Flink job", true},
        {"kafka.connect.offsets.", "Kafka Connect", false},
    };
    bool some = false;

    for (size_t i = 0; i < snapshot->summary.count; i++) {
        const struct cv_property *item = &snapshot->summary.items[i];

        for (size_t k = 0; k < CV_ARRAY_LENGTH(keys); k++) {
            if (!cv_text_starts_with(item->key, keys[k].prefix))
                continue;
            cv_buf_printf(out, "%s%s %s", some ? ", " : "", keys[k].name,
                          keys[k].by_value ? item->value : item->key + strlen(keys[k].prefix));
            some = true;
        }
    }
}

/* Plans list snapshots in the order of the metadata. */
static bool next_is(const struct cv_expire_plan *plan, size_t *position, int64_t id)
{
    if (*position == plan->snapshot_count || plan->snapshot_ids[*position] != id)
        return false;
    (*position)++;
    return true;
}

/* Why the rules keep it; false when they do not. */
static bool put_reason(const struct cv_table_metadata *metadata, const struct cv_snapshot *snapshot,
                       int64_t older_than_ms, struct cv_buf *out)
{
    char time[CV_TIME_TEXT_BYTES];

    for (size_t i = 0; i < metadata->ref_count; i++)
        if (metadata->refs[i].snapshot_id == snapshot->id) {
            cv_buf_printf(out, "%s %s", metadata->refs[i].is_tag ? "tag" : "head of branch",
                          metadata->refs[i].name);
            return true;
        }
    if (snapshot->timestamp_ms >= older_than_ms) {
        cv_format_ms_plain(older_than_ms, time);
        cv_buf_printf(out, "not older than %s", time);
        return true;
    }
    return false;
}

struct keeping {
    const struct cv_expire_result *expired;
    struct cv_expire_plan by_rules; /* that the rules alone would take */
    int64_t older_than_ms;
    struct cv_maintain_result *result;
    size_t lines;
};

static void note_kept(struct keeping *k, const struct cv_snapshot *snapshot, bool for_position,
                      bool all)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf why = CV_BUF_INIT(0);

    if (!for_position && (!all || k->lines >= LINES_MAX))
        return;
    if (for_position) {
        cv_buf_append_text(&why, "newest position of ");
        put_streams(snapshot, &why);
    } else if (!put_reason(k->expired->before, snapshot, k->older_than_ms, &why)) {
        cv_buf_append_text(&why, "among those that its branch retains");
    }
    note_snapshot(k->result, for_position && !all ? "kept" : "  stays:", snapshot,
                  cv_buf_text(&why));
    k->lines++;
}

enum cv_code cv_expire_note_kept(const struct cv_expire_result *expired,
                                 const struct cv_expire_rules *rules, bool all,
                                 struct cv_maintain_result *result, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const struct cv_table_metadata *before = expired->before;
    struct keeping k = {.expired = expired, .result = result};
    int64_t age_ms = AGE_MS_DEFAULT;
    size_t rules_at = 0;
    size_t gone_at = 0;

    CV_DO(cv_expire_plan(before, rules, &arena, &k.by_rules, err));
    CV_DO(cv_properties_get_i64(&before->properties, "history.expire.max-snapshot-age-ms",
                                INT64_MIN, INT64_MAX, &age_ms, err));
    k.older_than_ms =
        rules->older_than_ms >= 0 ? rules->older_than_ms : rules->now_ms - CV_MAX(age_ms, 0);
    for (size_t i = 0; i < before->snapshot_count; i++) {
        const struct cv_snapshot *snapshot = &before->snapshots[i];
        bool by_rules = next_is(&k.by_rules, &rules_at, snapshot->id);

        if (!next_is(&expired->plan, &gone_at, snapshot->id))
            note_kept(&k, snapshot, by_rules, all);
    }
    return CV_OK;
}
