/* SPDX-License-Identifier: Apache-2.0
 *
 * Planning: candidates, packing, the group filter, counts of outputs. */
#include "maintain/rewrite_plan.h"

#include <stdlib.h>

#define SPLIT_OVERHEAD_BYTES (INT64_C(5) * 1024) /* as in Java: small differences make no file */

static int64_t add_capped(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* --- files ----------------------------------------------------------------------------------- */

static bool has_many_deletes(const struct cv_rewrite_rules *rules,
                             const struct cv_rewrite_file *file)
{
    return file->delete_files > 0 && file->delete_files >= rules->delete_file_threshold;
}

static bool has_high_delete_ratio(const struct cv_rewrite_rules *rules,
                                  const struct cv_rewrite_file *file)
{
    if (!file->delete_files || file->records <= 0)
        return false;
    return (double)CV_MIN(file->known_deletes, file->records) / (double)file->records >=
           rules->delete_ratio_threshold;
}

static bool is_delete_heavy(const struct cv_rewrite_rules *rules,
                            const struct cv_rewrite_file *file)
{
    return has_many_deletes(rules, file) || has_high_delete_ratio(rules, file);
}

const char *cv_rewrite_file_reason(const struct cv_rewrite_rules *rules,
                                   const struct cv_rewrite_file *file)
{
    if (rules->rewrite_all)
        return "rewrite-all";
    if (file->bytes < rules->min_bytes)
        return "smaller than min-file-size-bytes";
    if (file->bytes > rules->max_bytes)
        return "larger than max-file-size-bytes";
    if (has_many_deletes(rules, file))
        return "delete files from delete-file-threshold on";
    if (has_high_delete_ratio(rules, file))
        return "deleted rows from delete-ratio-threshold on";
    return NULL;
}

/* --- outputs --------------------------------------------------------------------------------- */

int64_t cv_rewrite_ceiling_bytes(const struct cv_rewrite_rules *rules)
{
    return rules->target_bytes + (rules->max_bytes - rules->target_bytes) / 2;
}

int64_t cv_rewrite_output_count(const struct cv_rewrite_rules *rules, int64_t bytes)
{
    int64_t target = rules->target_bytes;
    int64_t whole = bytes / target;
    int64_t rest = bytes % target;
    double limit = CV_MIN(1.1 * (double)target, (double)cv_rewrite_ceiling_bytes(rules));

    if (bytes < target)
        return 1;
    if (rest == 0)
        return whole;
    if (rest > rules->min_bytes)
        return whole + 1;
    /* A rest that is too small for a file goes into the others where they stay near the target. */
    return (double)(bytes / whole) < limit ? whole : whole + 1;
}

int64_t cv_rewrite_split_bytes(const struct cv_rewrite_rules *rules, int64_t bytes)
{
    int64_t split = add_capped(bytes / cv_rewrite_output_count(rules, bytes), SPLIT_OVERHEAD_BYTES);

    if (split < rules->target_bytes)
        return rules->target_bytes;
    return CV_MIN(split, cv_rewrite_ceiling_bytes(rules));
}

/* --- groups ---------------------------------------------------------------------------------- */

struct planning {
    const struct cv_rewrite_rules *rules;
    struct cv_arena *arena;
    const struct cv_rewrite_file **list; /* candidates, bucket after bucket */
    struct cv_rewrite_group *groups;
    size_t count, capacity;
    int64_t files_left;
};

static const char *group_reason(const struct cv_rewrite_rules *rules,
                                const struct cv_rewrite_group *group)
{
    int64_t files = (int64_t)group->count;

    if (rules->rewrite_all)
        return "rewrite-all";
    for (size_t i = 0; i < group->count; i++)
        if (is_delete_heavy(rules, group->files[i]))
            return "many deletes";
    if (group->bytes > rules->max_bytes)
        return files > 1 ? "more than max-file-size-bytes together"
                         : "larger than max-file-size-bytes";
    if (files > 1 && files >= rules->min_input_files)
        return "min-input-files reached";
    if (files > 1 && group->bytes > rules->target_bytes)
        return "more than the target size together";
    return NULL;
}

static void end_group(struct planning *planning, const struct cv_rewrite_file **files, size_t count)
{
    struct cv_rewrite_group group = {.files = files, .count = count};

    if (!count)
        return;
    group.bucket = files[0]->bucket;
    for (size_t i = 0; i < count; i++) {
        group.bytes = add_capped(group.bytes, files[i]->bytes);
        group.records = add_capped(group.records, files[i]->records);
    }
    group.reason = group_reason(planning->rules, &group);
    if (!group.reason || planning->files_left == 0)
        return;
    group.expected_outputs = cv_rewrite_output_count(planning->rules, group.bytes);
    group.split_bytes = cv_rewrite_split_bytes(planning->rules, group.bytes);
    if ((int64_t)count > planning->files_left) { /* max-files-to-rewrite cuts the last group */
        group.count = (size_t)planning->files_left;
        group.bytes = group.records = 0;
        for (size_t i = 0; i < group.count; i++) {
            group.bytes = add_capped(group.bytes, files[i]->bytes);
            group.records = add_capped(group.records, files[i]->records);
        }
    }
    planning->files_left -= (int64_t)group.count;
    cv_array_reserve(&planning->groups, &planning->capacity, planning->count + 1);
    planning->groups[planning->count++] = group;
}

/* Packs the candidates of one bucket in the order in which they come, one open group at a time. */
static void pack(struct planning *planning, const struct cv_rewrite_file **files, size_t count)
{
    const struct cv_rewrite_rules *rules = planning->rules;
    size_t start = 0;
    int64_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t with = add_capped(bytes, files[i]->bytes);

        if (i > start &&
            (with > rules->max_group_bytes || (int64_t)(i - start) >= rules->max_group_files)) {
            end_group(planning, files + start, i - start);
            start = i;
            with = files[i]->bytes;
        }
        bytes = with;
    }
    end_group(planning, files + start, count - start);
}

static int compare_buckets(const void *a, const void *b)
{
    const struct cv_rewrite_file *left = *(const struct cv_rewrite_file *const *)a;
    const struct cv_rewrite_file *right = *(const struct cv_rewrite_file *const *)b;

    if (left->bucket != right->bucket)
        return left->bucket < right->bucket ? -1 : 1;
    return (left > right) - (left < right); /* their order in the caller's array */
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_groups(const void *a, const void *b, void *context)
{
    const struct cv_rewrite_group *left = a;
    const struct cv_rewrite_group *right = b;
    enum cv_rewrite_job_order order = *(const enum cv_rewrite_job_order *)context;
    bool by_bytes = order == CV_REWRITE_BYTES_ASC || order == CV_REWRITE_BYTES_DESC;
    int result = by_bytes ? compare_numbers(left->bytes, right->bytes)
                          : compare_numbers((int64_t)left->count, (int64_t)right->count);

    if (order == CV_REWRITE_BYTES_DESC || order == CV_REWRITE_FILES_DESC)
        result = -result;
    return result ? result : (left->files > right->files) - (left->files < right->files);
}

static size_t select_candidates(struct planning *planning, const struct cv_rewrite_file *files,
                                size_t count)
{
    size_t kept = 0;

    planning->list = cv_arena_array(planning->arena, const struct cv_rewrite_file *, count);
    for (size_t i = 0; i < count; i++)
        if (cv_rewrite_file_reason(planning->rules, &files[i]))
            planning->list[kept++] = &files[i];
    if (kept)
        qsort(planning->list, kept, sizeof(const struct cv_rewrite_file *), compare_buckets);
    return kept;
}

void cv_rewrite_plan(const struct cv_rewrite_rules *rules, const struct cv_rewrite_file *files,
                     size_t count, struct cv_arena *arena, struct cv_rewrite_group **ret_groups,
                     size_t *ret_count)
{
    struct planning planning = {.rules = rules, .arena = arena, .files_left = rules->max_files};
    enum cv_rewrite_job_order order = rules->job_order;
    size_t kept = select_candidates(&planning, files, count);
    size_t start = 0;

    for (size_t i = 1; i <= kept; i++) {
        if (i < kept && planning.list[i]->bucket == planning.list[start]->bucket)
            continue;
        pack(&planning, planning.list + start, i - start);
        start = i;
    }
    if (order != CV_REWRITE_ORDER_NONE && planning.count)
        qsort_r(planning.groups, planning.count, sizeof *planning.groups, compare_groups, &order);
    *ret_groups = cv_arena_copy(arena, planning.groups, planning.count * sizeof *planning.groups);
    *ret_count = planning.count;
    free(planning.groups);
}
