/* SPDX-License-Identifier: Apache-2.0
 *
 * The ways of rewriting without decoding: row groups of one partition's files go, in order, into
 * files of about the split size. */
#include "maintain/rewrite_int.h"

#include "base/fault.h"

#include <inttypes.h>
#include <stdio.h>

struct merging {
    const struct cv_rewrite_run *run;
    const struct cv_rewrite_group *group;
    struct cv_rewrite_output *output;
    const struct cv_partition_spec *spec;
    const char *folder; /* path of the partition, "" when unpartitioned */
    int64_t task;
    uint32_t files;
    struct cv_parquet_merger *merger; /* of the open file; NULL = none */
    const char *location;
    int64_t left; /* bytes that are still to come */
    size_t first; /* of the input file: its first row group that was not added yet */
};

static void merging_release(struct merging *merging)
{
    cv_parquet_merger_abort(merging->merger);
}

int64_t cv_rewrite_packed_bytes(const struct cv_parquet_footer *footer, size_t group)
{
    int64_t bytes = 0;

    for (uint32_t i = 0; i < footer->leaf_count; i++)
        if (__builtin_add_overflow(bytes, footer->groups[group].chunks[i].packed_size, &bytes))
            return INT64_MAX;
    return bytes;
}

static enum cv_code open_file(struct merging *merging, struct cv_error *err)
{
    const struct cv_rewrite_run *run = merging->run;
    struct cv_output *file;
    char name[256];

    (void)snprintf(name, sizeof name, "00000-%.100s-%" PRId64 "-%05" PRIu32 ".parquet",
                   run->name_prefix, merging->task, ++merging->files);
    merging->location =
        cv_data_location(&run->files.locations, merging->folder, name, &merging->output->arena);
    CV_DO(cv_store_create(run->store, merging->location, &file, err));
    CV_TRY(cv_parquet_merger_open(file, cv_table_metadata_schema(run->selection->metadata),
                                  &run->files.parquet, &run->files.metrics, &merging->merger, err),
           err, "%.1024s", merging->location);
    return CV_OK;
}

static enum cv_code close_file(struct merging *merging, struct cv_error *err)
{
    const struct cv_rewrite_bucket *bucket =
        &merging->run->selection->buckets[merging->group->bucket];
    struct cv_data_file file = {
        .content = CV_CONTENT_DATA,
        .path = merging->location,
        .format = "PARQUET",
        .spec_id = merging->spec->spec_id,
        .partition = bucket->partition,
        .has_sort_order = true, /* 0: rows are not sorted within a file */
    };

    if (!merging->merger)
        return CV_OK;
    CV_TRY(cv_parquet_merger_close(cv_steal(merging->merger), &merging->output->arena,
                                   &file.metrics, err),
           err, "%.1024s", merging->location);
    cv_rewrite_output_add(merging->output, &file);
    return cv_fault_pass("rewrite-half", err);
}

static int64_t length_of(const struct merging *merging)
{
    return merging->merger ? cv_parquet_merger_length(merging->merger) : 0;
}

/* Whether the open file, `pending` bytes longer, ends before a row group of `next` bytes: where it
 * is nearest to the split size, but hardly any rest gets a file of its own, and none is above the
 * ceiling. */
static bool ends_before(const struct merging *merging, int64_t pending, int64_t next)
{
    int64_t split = merging->group->split_bytes;
    int64_t length = length_of(merging) + pending;

    if (length <= 0)
        return false;
    if (next > cv_rewrite_ceiling_bytes(&merging->run->settings->rules) - length)
        return true;
    return length + next / 2 > split && merging->left - pending > split / 20;
}

/* How many row groups from merging->first on go into the open file; their bytes. A file that fits
 * is not torn apart: counts of NaNs are known of whole files only. */
static size_t count_groups(const struct merging *merging, const struct cv_parquet_footer *footer,
                           int64_t *ret_bytes)
{
    int64_t bytes = 0;
    size_t count = 0;

    if (merging->first == 0) {
        for (; count < footer->group_count; count++)
            bytes += cv_rewrite_packed_bytes(footer, count);
        *ret_bytes = bytes;
        if (bytes <= cv_rewrite_ceiling_bytes(&merging->run->settings->rules) - length_of(merging))
            return count;
    }
    for (bytes = 0, count = 0; merging->first + count < footer->group_count; count++) {
        int64_t next = cv_rewrite_packed_bytes(footer, merging->first + count);

        if (count && ends_before(merging, bytes, next))
            break;
        bytes += next;
    }
    *ret_bytes = bytes;
    return count;
}

/* Adds the row groups from merging->first on that go into one file. */
static enum cv_code add_groups(struct merging *merging, const struct cv_data_file *file,
                               struct cv_parquet_footer *footer, enum cv_merge_way way,
                               struct cv_error *err)
{
    int64_t bytes = 0;
    size_t count;

    for (size_t g = merging->first; g < (merging->first ? merging->first + 1 : footer->group_count);
         g++)
        bytes += cv_rewrite_packed_bytes(footer, g);
    if (ends_before(merging, 0, CV_MIN(bytes, merging->group->split_bytes)))
        CV_DO(close_file(merging, err));
    if (!merging->merger)
        CV_DO(open_file(merging, err));
    count = count_groups(merging, footer, &bytes);
    CV_DO(cv_parquet_merger_add(merging->merger, merging->run->store, file->path, footer,
                                &file->metrics, way, merging->first, count, err));
    merging->first += count;
    merging->left -= bytes;
    return CV_OK;
}

static enum cv_code merge_file(struct merging *merging, const struct cv_rewrite_file *input,
                               enum cv_merge_way way, struct cv_error *err)
{
    CV_CLEANUP(cv_parquet_footer_freep) struct cv_parquet_footer *footer = NULL;
    const struct cv_data_file *file = &cv_rewrite_task(input)->data.file;
    const int64_t left = merging->left - input->bytes;

    CV_TRY(cv_parquet_footer_read(merging->run->store, file->path, -1, &footer, err), err,
           "%.1024s", file->path);
    merging->first = 0;
    while (merging->first < footer->group_count)
        CV_DO(add_groups(merging, file, footer, way, err));
    merging->left = left; /* what is beside the row groups is gone, too */
    return CV_OK;
}

static enum cv_code find_folder(struct merging *merging, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf path = CV_BUF_INIT(0);
    const struct cv_rewrite_run *run = merging->run;
    const struct cv_type *types;

    CV_DO(cv_partition_types(merging->spec, cv_table_metadata_schema(run->selection->metadata),
                             &merging->output->arena, &types, err));
    cv_partition_path(merging->spec, types,
                      run->selection->buckets[merging->group->bucket].partition, &path);
    merging->folder = cv_arena_strdup(&merging->output->arena, cv_buf_text(&path));
    return CV_OK;
}

enum cv_code cv_rewrite_merge(const struct cv_rewrite_run *run,
                              const struct cv_rewrite_group *group,
                              const struct cv_rewrite_way *ways, struct cv_rewrite_output *output,
                              struct cv_error *err)
{
    CV_CLEANUP(merging_release)
    struct merging merging = {
        .run = run,
        .group = group,
        .output = output,
        .spec = run->settings->spec,
        .task = atomic_fetch_add(run->next_task, 1),
    };

    CV_DO(find_folder(&merging, err));
    for (size_t i = 0; i < group->count; i++)
        if (ways[i].way != CV_MERGE_DECODE)
            merging.left += group->files[i]->bytes;
    for (size_t i = 0; i < group->count; i++) {
        if (ways[i].way == CV_MERGE_DECODE)
            continue;
        CV_DO(cv_maintain_check_stop(run->maintenance, err));
        CV_DO(merge_file(&merging, group->files[i], ways[i].way, err));
        cv_maintain_meter_add(run->meter, group->files[i]->bytes);
    }
    return close_file(&merging, err);
}
