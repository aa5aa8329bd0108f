/* SPDX-License-Identifier: Apache-2.0
 *
 * Which snapshots and refs expiry takes: a pure function of the metadata, the rules and the time.
 */
#include "iceberg/metadata_change.h"
#include "iceberg/metadata_int.h"

#define AGE_MS_DEFAULT (INT64_C(5) * 86400 * 1000)

struct planning {
    const struct cv_table_metadata *metadata;
    const struct cv_expire_rules *rules;
    int64_t older_than_ms; /* younger ones stay */
    int64_t retain_last;
    int64_t max_ref_age_ms;
    bool *ref_kept; /* by index */
    bool *kept;     /* snapshots, by index */
    bool *reached;  /* by a branch or tag that stays */
};

static int64_t minus(int64_t a, int64_t b)
{
    int64_t difference;

    if (__builtin_sub_overflow(a, b, &difference))
        return b > 0 ? INT64_MIN : INT64_MAX;
    return difference;
}

static enum cv_code read_limits(struct planning *p, struct cv_error *err)
{
    const struct cv_properties *properties = &p->metadata->properties;
    int64_t age_ms = AGE_MS_DEFAULT;

    p->retain_last = 1;
    p->max_ref_age_ms = INT64_MAX;
    CV_DO(cv_properties_get_i64(properties, "history.expire.max-snapshot-age-ms", INT64_MIN,
                                INT64_MAX, &age_ms, err));
    CV_DO(cv_properties_get_i64(properties, "history.expire.min-snapshots-to-keep", INT32_MIN,
                                INT32_MAX, &p->retain_last, err));
    CV_DO(cv_properties_get_i64(properties, "history.expire.max-ref-age-ms", INT64_MIN, INT64_MAX,
                                &p->max_ref_age_ms, err));
    p->older_than_ms = minus(p->rules->now_ms, age_ms);
    if (p->rules->older_than_ms >= 0)
        p->older_than_ms = p->rules->older_than_ms;
    if (p->rules->retain_last == 0)
        return cv_fail(err, CV_USAGE,
                       "Number of snapshots to retain must be at least 1, cannot be: 0");
    if (p->rules->retain_last > 0)
        p->retain_last = p->rules->retain_last;
    return CV_OK;
}

static size_t index_of(const struct planning *p, const struct cv_snapshot *snapshot)
{
    return (size_t)(snapshot - p->metadata->snapshots);
}

static void keep(struct planning *p, int64_t id)
{
    const struct cv_snapshot *snapshot = cv_table_metadata_snapshot(p->metadata, id);

    if (snapshot)
        p->kept[index_of(p, snapshot)] = true;
}

static bool stays(const struct planning *p, const struct cv_snapshot_ref *ref)
{
    const struct cv_snapshot *head = cv_table_metadata_snapshot(p->metadata, ref->snapshot_id);
    int64_t limit = ref->max_ref_age_ms >= 0 ? ref->max_ref_age_ms : p->max_ref_age_ms;

    if (strcmp(ref->name, CV_MAIN_BRANCH) == 0)
        return true;
    return head && minus(p->rules->now_ms, head->timestamp_ms) <= limit;
}

/* The newest of the branch, while there are too few or they are young. */
static void keep_of_branch(struct planning *p, const struct cv_snapshot_ref *branch)
{
    struct cv_history history = cv_history_of(p->metadata, branch->name);
    const struct cv_snapshot *snapshot;
    int64_t count = 0;
    bool ended = false;
    int64_t older_than_ms = branch->max_snapshot_age_ms >= 0
                                ? minus(p->rules->now_ms, branch->max_snapshot_age_ms)
                                : p->older_than_ms;
    int64_t retain_last =
        branch->min_snapshots_to_keep >= 0 ? branch->min_snapshots_to_keep : p->retain_last;

    while ((snapshot = cv_history_next(&history))) {
        p->reached[index_of(p, snapshot)] = true;
        ended = ended || (count >= retain_last && snapshot->timestamp_ms < older_than_ms);
        if (ended)
            continue;
        p->kept[index_of(p, snapshot)] = true;
        count++;
    }
}

static void keep_of_refs(struct planning *p)
{
    for (size_t i = 0; i < p->metadata->ref_count; i++) {
        const struct cv_snapshot_ref *ref = &p->metadata->refs[i];
        const struct cv_snapshot *head = cv_table_metadata_snapshot(p->metadata, ref->snapshot_id);

        p->ref_kept[i] = stays(p, ref);
        if (!p->ref_kept[i] || !head)
            continue;
        p->kept[index_of(p, head)] = true;
        p->reached[index_of(p, head)] = true;
        if (!ref->is_tag)
            keep_of_branch(p, ref);
    }
}

static enum cv_code drop_named(struct planning *p, struct cv_error *err)
{
    const struct cv_expire_rules *rules = p->rules;

    for (size_t i = 0; i < rules->snapshot_id_count; i++) {
        int64_t id = rules->snapshot_ids[i];
        const struct cv_snapshot *snapshot = cv_table_metadata_snapshot(p->metadata, id);

        for (size_t k = 0; k < p->metadata->ref_count; k++)
            if (p->ref_kept[k] && p->metadata->refs[k].snapshot_id == id)
                return cv_fail(err, CV_USAGE, "Cannot expire %lld. Still referenced by refs: %s",
                               (long long)id, p->metadata->refs[k].name);
        if (snapshot)
            p->kept[index_of(p, snapshot)] = false;
    }
    return CV_OK;
}

static void tell(const struct planning *p, struct cv_arena *arena, struct cv_expire_plan *plan)
{
    const struct cv_table_metadata *m = p->metadata;

    *plan = (struct cv_expire_plan){cv_arena_array(arena, int64_t, m->snapshot_count), 0,
                                    cv_arena_array(arena, const char *, m->ref_count), 0};
    for (size_t i = 0; i < m->snapshot_count; i++)
        if (!p->kept[i])
            plan->snapshot_ids[plan->snapshot_count++] = m->snapshots[i].id;
    for (size_t i = 0; i < m->ref_count; i++)
        if (!p->ref_kept[i])
            plan->refs[plan->ref_count++] = cv_arena_strdup(arena, m->refs[i].name);
}

enum cv_code cv_expire_plan(const struct cv_table_metadata *metadata,
                            const struct cv_expire_rules *rules, struct cv_arena *arena,
                            struct cv_expire_plan *ret_plan, struct cv_error *err)
{
    struct planning p = {.metadata = metadata, .rules = rules};

    CV_DO(read_limits(&p, err));
    p.ref_kept = cv_arena_array(arena, bool, metadata->ref_count);
    p.kept = cv_arena_array(arena, bool, metadata->snapshot_count);
    p.reached = cv_arena_array(arena, bool, metadata->snapshot_count);
    keep_of_refs(&p);
    for (size_t i = 0; i < metadata->snapshot_count; i++)
        if (!p.reached[i] && metadata->snapshots[i].timestamp_ms >= p.older_than_ms)
            p.kept[i] = true;
    CV_DO(drop_named(&p, err));
    for (size_t i = 0; i < rules->keep_id_count; i++)
        keep(&p, rules->keep_ids[i]);
    tell(&p, arena, ret_plan);
    return CV_OK;
}
