/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that only expired snapshots reach. That an entry is deleted is no reason to delete its
 * file: rollback, branches and cherry-picks bring files back, so that only what is alive in no
 * retained manifest goes. */
#include "maintain/expire_int.h"

#include <stdlib.h>

#define SHARES_MAX 64

struct collecting {
    const struct cv_maintenance *maintenance;
    const struct cv_expire_result *expired;
    struct cv_removals *removals;
    struct cv_arena arena;
    const struct cv_snapshot **retained, **gone;
    size_t retained_count, gone_count;
    struct cv_reached *retained_manifests, *gone_manifests;
    size_t retained_manifest_count, gone_manifest_count;
    struct cv_location_set *named; /* by what stays, then also by what was taken */
};

static void collecting_release(struct collecting *c)
{
    cv_location_set_free(c->named);
    cv_arena_release(&c->arena);
}

static int compare_ids(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

static bool is_gone(const int64_t *ids, size_t count, int64_t id)
{
    return count && bsearch(&id, ids, count, sizeof *ids, compare_ids);
}

static int64_t *sorted_ids(struct collecting *c)
{
    const struct cv_expire_plan *plan = &c->expired->plan;
    int64_t *ids = cv_arena_array(&c->arena, int64_t, plan->snapshot_count);

    if (plan->snapshot_count) {
        memcpy(ids, plan->snapshot_ids, plan->snapshot_count * sizeof *ids);
        qsort(ids, plan->snapshot_count, sizeof *ids, compare_ids);
    }
    return ids;
}

static void split_snapshots(struct collecting *c, const int64_t *ids)
{
    const struct cv_table_metadata *before = c->expired->before;

    c->retained = cv_arena_array(&c->arena, const struct cv_snapshot *, before->snapshot_count);
    c->gone = cv_arena_array(&c->arena, const struct cv_snapshot *, before->snapshot_count);
    for (size_t i = 0; i < before->snapshot_count; i++) {
        const struct cv_snapshot *snapshot = &before->snapshots[i];

        if (is_gone(ids, c->expired->plan.snapshot_count, snapshot->id))
            c->gone[c->gone_count++] = snapshot;
        else
            c->retained[c->retained_count++] = snapshot;
    }
}

static enum cv_code name_file(void *context, const struct cv_reached *file, struct cv_error *err)
{
    struct collecting *c = context;

    return cv_location_set_add(c->named, file->location, NULL, err);
}

static enum cv_code take_file(void *context, const struct cv_reached *file, struct cv_error *err)
{
    struct collecting *c = context;
    bool is_new;

    CV_DO(cv_location_set_add(c->named, file->location, &is_new, err));
    return is_new ? cv_removals_add(c->removals, file, err) : CV_OK;
}

static enum cv_code leave_unreadable(void *context, const char *location, struct cv_error *err)
{
    struct collecting *c = context;

    cv_maintain_warn(c->maintenance,
                     "the files of %s, which belongs to an expired snapshot, stay: %s", location,
                     err ? err->message : "it cannot be read");
    cv_error_clear(err);
    return CV_OK;
}

static struct cv_reach new_reach(struct collecting *c)
{
    return (struct cv_reach){.maintenance = c->maintenance,
                             .store = c->maintenance->table->store,
                             .procedure = "expire-snapshots",
                             .context = c};
}

static enum cv_code find_manifests(struct collecting *c, struct cv_error *err)
{
    CV_CLEANUP(cv_location_set_freep)
    struct cv_location_set *named = cv_location_set_new(c->maintenance->memory_bytes / 4, 0, 1);
    struct cv_reach reach = new_reach(c);

    CV_DO(cv_reach_manifests(&reach, c->retained, c->retained_count, &c->arena,
                             &c->retained_manifests, &c->retained_manifest_count, err));
    for (size_t i = 0; i < c->retained_manifest_count; i++)
        CV_DO(cv_location_set_add(named, c->retained_manifests[i].location, NULL, err));
    reach.skip = named;
    reach.unreadable = leave_unreadable;
    return cv_reach_manifests(&reach, c->gone, c->gone_count, &c->arena, &c->gone_manifests,
                              &c->gone_manifest_count, err);
}

/* Data and delete files of one share of all hashes. */
static enum cv_code collect_share(struct collecting *c, unsigned share, unsigned shares,
                                  struct cv_error *err)
{
    struct cv_reach reach = new_reach(c);

    cv_location_set_free(c->named);
    c->named = cv_location_set_new(c->maintenance->memory_bytes / 2, share, shares);
    reach.each = name_file;
    CV_DO(cv_reach_files(&reach, c->retained_manifests, c->retained_manifest_count, err));
    reach.each = take_file;
    reach.unreadable = leave_unreadable;
    return cv_reach_files(&reach, c->gone_manifests, c->gone_manifest_count, err);
}

static enum cv_code collect_files(struct collecting *c, struct cv_error *err)
{
    enum cv_code code = CV_OK;

    if (!c->gone_manifest_count)
        return CV_OK;
    for (unsigned shares = 1; shares <= SHARES_MAX; shares *= 2) {
        code = CV_OK;
        for (unsigned share = 0; code == CV_OK && share < shares; share++)
            code = collect_share(c, share, shares, err);
        if (code == CV_OK || !cv_location_set_full(c->named))
            return code;
        cv_removals_clear(c->removals);
    }
    return code;
}

/* A list or statistics file, unless something that stays names it. */
static enum cv_code add_other(struct collecting *c, struct cv_reached file, struct cv_error *err)
{
    if (c->maintenance->dry_run && file.size < 0)
        (void)!cv_store_size(c->maintenance->table->store, file.location.ptr, &file.size, NULL);
    return take_file(c, &file, err);
}

static enum cv_code add_others(struct collecting *c, const int64_t *ids, struct cv_error *err)
{
    struct cv_statistics_file *files;
    size_t gone = c->expired->plan.snapshot_count;
    size_t count;

    cv_location_set_free(c->named);
    c->named = cv_location_set_new(c->maintenance->memory_bytes / 4, 0, 1);
    CV_DO(cv_table_metadata_statistics(c->expired->before, &c->arena, &files, &count, err));
    for (size_t i = 0; i < c->retained_count; i++)
        CV_DO(cv_location_set_add(c->named, cv_str_from(c->retained[i]->manifest_list), NULL, err));
    for (size_t i = 0; i < count; i++)
        if (!is_gone(ids, gone, files[i].snapshot_id))
            CV_DO(cv_location_set_add(c->named, cv_str_from(files[i].path), NULL, err));
    for (size_t i = 0; i < c->gone_count; i++)
        if (c->gone[i]->manifest_list)
            CV_DO(add_other(c,
                            (struct cv_reached){CV_REACHED_MANIFEST_LIST,
                                                cv_str_from(c->gone[i]->manifest_list), -1},
                            err));
    for (size_t i = 0; i < count; i++)
        if (is_gone(ids, gone, files[i].snapshot_id))
            CV_DO(add_other(c,
                            (struct cv_reached){CV_REACHED_STATISTICS, cv_str_from(files[i].path),
                                                files[i].size},
                            err));
    return CV_OK;
}

enum cv_code cv_expired_files(const struct cv_maintenance *maintenance,
                              const struct cv_expire_result *expired, struct cv_removals *removals,
                              struct cv_error *err)
{
    CV_CLEANUP(collecting_release)
    struct collecting c = {.maintenance = maintenance, .expired = expired, .removals = removals};
    int64_t *ids = sorted_ids(&c);

    split_snapshots(&c, ids);
    CV_DO(find_manifests(&c, err));
    CV_DO(collect_files(&c, err));
    for (size_t i = 0; i < c.gone_manifest_count; i++)
        CV_DO(cv_removals_add(removals, &c.gone_manifests[i], err));
    return add_others(&c, ids, err);
}
