/* SPDX-License-Identifier: Apache-2.0
 *
 * One group: choice of the ways, the decoding way, and what both ways check. The other way is in
 * rewrite_merge.c. */
#include "maintain/rewrite_group.h"

#include "base/fault.h"
#include "data/writer.h"
#include "maintain/rewrite_int.h"
#include "maintain/row_sorter.h"

#include <inttypes.h>
#include <stdlib.h>

/* --- ways ------------------------------------------------------------------------------------ */

/* What keeps all files of the group from being merged. */
static const char *group_reason(const struct cv_rewrite_run *run,
                                const struct cv_rewrite_group *group)
{
    const struct cv_rewrite_bucket *bucket = &run->selection->buckets[group->bucket];

    if (run->sort)
        return "rows are sorted";
    if (bucket->spec_id != run->settings->spec->spec_id || !bucket->one_partition)
        return "another partition spec";
    return NULL;
}

static bool has_huge_group(const struct cv_parquet_footer *footer, int64_t ceiling)
{
    for (size_t g = 0; g < footer->group_count; g++)
        if (cv_rewrite_packed_bytes(footer, g) > ceiling)
            return true;
    return false;
}

/* A column that the file lacks and whose values are in the partition tuple (files of
 * hive-partitioned tables): only the scan fills it in. */
static bool needs_partition_values(const struct cv_rewrite_run *run,
                                   const struct cv_data_file *file,
                                   const struct cv_parquet_footer *footer)
{
    const struct cv_partition_spec *spec =
        cv_table_metadata_spec_by_id(run->selection->metadata, file->spec_id);

    for (size_t i = 0; spec && i < spec->field_count; i++) {
        bool found = spec->fields[i].transform.kind != CV_TRANSFORM_IDENTITY;

        for (size_t n = 0; !found && n < footer->node_count; n++)
            found = footer->nodes[n].field_id == spec->fields[i].source_id;
        if (!found)
            return true;
    }
    return false;
}

static enum cv_code file_way(const struct cv_rewrite_run *run, const struct cv_scan_task *task,
                             struct cv_arena *arena, struct cv_rewrite_way *way,
                             struct cv_error *err)
{
    CV_CLEANUP(cv_parquet_footer_freep) struct cv_parquet_footer *footer = NULL;
    const struct cv_data_file *file = &task->data.file;
    const char *reason = NULL;

    *way = (struct cv_rewrite_way){.way = CV_MERGE_DECODE};
    if (task->delete_count) {
        way->reason = "deleted rows";
        return CV_OK;
    }
    if (!cv_text_equal_nocase(file->format, "parquet")) {
        way->reason = cv_arena_printf(arena, "format %s", file->format);
        return CV_OK;
    }
    if (cv_parquet_footer_read(run->store, file->path, -1, &footer, err) != CV_OK) {
        cv_error_clear(err);
        way->reason = "a footer that cannot be read";
        return CV_OK;
    }
    way->way = cv_parquet_merge_way(footer, &file->metrics,
                                    cv_table_metadata_schema(run->selection->metadata),
                                    &run->files.parquet, &run->files.metrics, &reason);
    if (reason && *reason && way->way == CV_MERGE_DECODE)
        way->reason = cv_arena_strdup(arena, reason);
    if (way->way != CV_MERGE_DECODE && needs_partition_values(run, file, footer)) {
        way->way = CV_MERGE_DECODE;
        way->reason = "partition values that the file lacks";
    }
    if (way->way != CV_MERGE_DECODE &&
        has_huge_group(footer, cv_rewrite_ceiling_bytes(&run->settings->rules))) {
        way->way = CV_MERGE_DECODE;
        way->reason = "a row group is larger than a file may be";
    }
    if (way->way != CV_MERGE_DECODE && footer->file_size > run->settings->rules.target_bytes &&
        !cv_parquet_merge_may_split(footer, cv_table_metadata_schema(run->selection->metadata),
                                    &run->files.metrics)) {
        way->way = CV_MERGE_DECODE;
        way->reason = "metrics of single row groups are not known";
    }
    return CV_OK;
}

/* Files by way: when a rest to decode would make a file more than there need be, all is decoded. */
static void settle(const struct cv_rewrite_run *run, const struct cv_rewrite_group *group,
                   struct cv_rewrite_way *ways)
{
    const struct cv_rewrite_rules *rules = &run->settings->rules;
    int64_t merged = 0, decoded = 0;
    const char *reason = NULL;

    for (size_t i = 0; i < group->count; i++) {
        if (ways[i].way != CV_MERGE_DECODE) {
            merged += group->files[i]->bytes;
            continue;
        }
        decoded += group->files[i]->bytes;
        if (!reason)
            reason = ways[i].reason;
    }
    if (!reason ||
        cv_rewrite_output_count(rules, merged) + cv_rewrite_output_count(rules, decoded) <=
            group->expected_outputs)
        return;
    for (size_t i = 0; i < group->count; i++)
        ways[i] = (struct cv_rewrite_way){.way = CV_MERGE_DECODE, .reason = reason};
}

static enum cv_code find_ways(const struct cv_rewrite_run *run,
                              const struct cv_rewrite_group *group, struct cv_arena *arena,
                              struct cv_rewrite_way **ret_ways, struct cv_error *err)
{
    struct cv_rewrite_way *ways = cv_arena_array(arena, struct cv_rewrite_way, group->count);
    const char *reason = group_reason(run, group);

    for (size_t i = 0; i < group->count; i++) {
        if (reason)
            ways[i] = (struct cv_rewrite_way){.way = CV_MERGE_DECODE, .reason = reason};
        else
            CV_DO(file_way(run, cv_rewrite_task(group->files[i]), arena, &ways[i], err));
    }
    settle(run, group, ways);
    *ret_ways = ways;
    return CV_OK;
}

static struct cv_rewrite_ways count_ways(const struct cv_rewrite_way *ways, size_t count)
{
    struct cv_rewrite_ways sums = {0};

    for (size_t i = 0; i < count; i++) {
        sums.copied += ways[i].way == CV_MERGE_COPY;
        sums.merged += ways[i].way == CV_MERGE_PAGES;
        sums.decoded += ways[i].way == CV_MERGE_DECODE;
        if (!sums.reason)
            sums.reason = ways[i].reason;
    }
    return sums;
}

enum cv_code cv_rewrite_group_ways(const struct cv_rewrite_run *run,
                                   const struct cv_rewrite_group *group, struct cv_arena *arena,
                                   struct cv_rewrite_ways *ret_ways, struct cv_error *err)
{
    struct cv_rewrite_way *ways;

    CV_DO(find_ways(run, group, arena, &ways, err));
    *ret_ways = count_ways(ways, group->count);
    return CV_OK;
}

/* --- decoding -------------------------------------------------------------------------------- */

static enum cv_code write_batch(void *writer, const struct cv_batch *batch, struct cv_error *err)
{
    return cv_data_writer_append(writer, batch, err);
}

struct decoding {
    const struct cv_rewrite_run *run;
    struct cv_data_writer *writer;
    struct cv_row_sorter *sorter; /* NULL = straight to the writer */
    size_t scan_bytes;
    struct cv_delete_cache *deletes; /* that apply to several files of the group */
};

static void decoding_release(struct decoding *decoding)
{
    cv_delete_cache_free(decoding->deletes);
    cv_row_sorter_free(decoding->sorter);
    cv_data_writer_abort(decoding->writer);
}

static enum cv_code decode_file(struct decoding *decoding, const struct cv_scan_task *task,
                                struct cv_error *err)
{
    CV_CLEANUP(cv_scanner_freep) struct cv_scanner *scanner = NULL;
    const struct cv_scan_config config = {
        .store = decoding->run->store,
        .metadata = decoding->run->selection->metadata,
        .memory_bytes = decoding->scan_bytes,
        .deletes = decoding->deletes,
    };
    struct cv_batch batch;

    CV_DO(cv_scanner_open(&config, task, &scanner, err));
    for (;;) {
        CV_DO(cv_scanner_next(scanner, &batch, err));
        if (!batch.row_count)
            return CV_OK;
        if (decoding->sorter)
            CV_DO(cv_row_sorter_add(decoding->sorter, &batch, err));
        else
            CV_DO(cv_data_writer_append(decoding->writer, &batch, err));
    }
}

/* Rows that will be written, as far as the manifests tell, where all fall into one file series. */
static int64_t expected_rows(const struct cv_rewrite_run *run, const struct cv_rewrite_group *group,
                             const struct cv_rewrite_way *ways)
{
    int64_t rows = 0;

    if (!run->selection->buckets[group->bucket].one_partition ||
        run->settings->spec->spec_id != run->selection->metadata->default_spec_id)
        return 0;
    for (size_t i = 0; i < group->count; i++) {
        const struct cv_rewrite_file *file = group->files[i];

        if (ways[i].way == CV_MERGE_DECODE)
            rows += file->records - CV_MIN(file->records, file->known_deletes);
    }
    return CV_MAX(rows, 0);
}

/* Another partition spec may spread the rows of few files over many: then the old ones are better,
 * unless rewriting was asked for or deletes are applied. How many files are worth it; 0 = any. */
static int64_t files_max(const struct cv_rewrite_run *run, const struct cv_rewrite_group *group)
{
    const struct cv_rewrite_bucket *bucket = &run->selection->buckets[group->bucket];

    if (run->settings->rules.rewrite_all ||
        (bucket->one_partition && bucket->spec_id == run->settings->spec->spec_id))
        return 0;
    for (size_t i = 0; i < group->count; i++)
        if (group->files[i]->delete_files)
            return 0;
    return CV_MAX((int64_t)group->count, group->expected_outputs);
}

static enum cv_code open_decoding(const struct cv_rewrite_run *run,
                                  const struct cv_rewrite_group *group,
                                  const struct cv_rewrite_way *ways, struct decoding *decoding,
                                  struct cv_error *err)
{
    size_t part = run->memory_bytes / 4;
    const struct cv_data_writer_config config = {
        .metadata = run->selection->metadata,
        .store = run->store,
        .name_prefix = run->name_prefix,
        .epoch = atomic_fetch_add(run->next_task, 1),
        .fanout = true,
        .spec = run->settings->spec,
        .sort_order_id = run->sort_order_id,
        .target_file_bytes = group->split_bytes,
        .exact_target = true,
        .expected_rows = expected_rows(run, group, ways),
        .files_max = files_max(run, group),
        .memory_bytes = run->sort ? part : part * 2,
        .spill_directory = run->maintenance->spill_directory,
        .unsynced = true,
    };

    decoding->scan_bytes = part / 2;
    decoding->deletes = cv_delete_cache_new(part / 2);
    CV_DO(cv_data_writer_open(&config, &decoding->writer, err));
    if (run->sort)
        decoding->sorter =
            cv_row_sorter_new(cv_table_metadata_schema(run->selection->metadata), run->sort,
                              part * 2, run->maintenance->spill_directory);
    return CV_OK;
}

static enum cv_code decode_all(struct decoding *decoding, const struct cv_rewrite_group *group,
                               const struct cv_rewrite_way *ways, struct cv_error *err)
{
    const struct cv_rewrite_run *run = decoding->run;

    for (size_t i = 0; i < group->count; i++) {
        const struct cv_scan_task *task = cv_rewrite_task(group->files[i]);

        if (ways[i].way != CV_MERGE_DECODE)
            continue;
        CV_DO(cv_maintain_check_stop(run->maintenance, err));
        CV_TRY(decode_file(decoding, task, err), err, "%.1024s", task->data.file.path);
        cv_maintain_meter_add(run->meter, group->files[i]->bytes);
    }
    if (decoding->sorter)
        return cv_row_sorter_drain(decoding->sorter, write_batch, decoding->writer, err);
    return CV_OK;
}

static enum cv_code decode(const struct cv_rewrite_run *run, const struct cv_rewrite_group *group,
                           const struct cv_rewrite_way *ways, struct cv_rewrite_output *output,
                           struct cv_error *err)
{
    CV_CLEANUP(decoding_release) struct decoding decoding = {.run = run};
    struct cv_data_writer_counters counters;
    const int64_t most = files_max(run, group);
    struct cv_data_file *files;
    size_t count;
    enum cv_code code;
    bool at_most;

    CV_DO(open_decoding(run, group, ways, &decoding, err));
    code = decode_all(&decoding, group, ways, err);
    at_most = most && cv_data_writer_files(decoding.writer) >= most;
    if (code == CV_OK)
        code = cv_data_writer_finish(cv_steal(decoding.writer), &output->arena, &files, &count,
                                     &counters, err);
    if (code == CV_LIMIT && at_most) {
        cv_error_clear(err);
        output->useless = true;
        return CV_OK;
    }
    CV_DO(code);
    for (size_t i = 0; i < count; i++)
        cv_rewrite_output_add(output, &files[i]);
    return count ? cv_fault_pass("rewrite-half", err) : CV_OK;
}

/* --- a group --------------------------------------------------------------------------------- */

const char *cv_rewrite_partition_path(const struct cv_table_metadata *metadata, int32_t spec_id,
                                      const struct cv_value *partition, struct cv_arena *arena)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf path = CV_BUF_INIT(0);
    const struct cv_partition_spec *spec = cv_table_metadata_spec_by_id(metadata, spec_id);
    const struct cv_type *types;

    if (!spec || !spec->field_count)
        return "";
    if (cv_partition_types(spec, cv_table_metadata_schema(metadata), arena, &types, NULL) != CV_OK)
        return NULL;
    cv_partition_path(spec, types, partition, &path);
    return cv_arena_strdup(arena, cv_buf_text(&path));
}

const char *cv_rewrite_partition_text(const struct cv_table_metadata *metadata, int32_t spec_id,
                                      const struct cv_value *partition, struct cv_arena *arena)
{
    const char *path = cv_rewrite_partition_path(metadata, spec_id, partition, arena);

    return !path ? "a partition" : !path[0] ? "the table" : path;
}

void cv_rewrite_output_add(struct cv_rewrite_output *output, const struct cv_data_file *file)
{
    cv_array_reserve(&output->files, &output->capacity, output->count + 1);
    output->files[output->count++] = *file;
    output->records += file->metrics.record_count;
}

void cv_rewrite_output_remove(struct cv_store *store, struct cv_rewrite_output *output)
{
    cv_data_files_remove(store, output->files, output->count);
    output->count = 0;
    output->records = 0;
}

void cv_rewrite_output_release(struct cv_rewrite_output *output)
{
    free(output->files);
    cv_arena_release(&output->arena);
    memset(output, 0, sizeof *output);
}

/* A rewrite never makes rows. Without deletes it loses none either. */
static enum cv_code check_rows(const struct cv_rewrite_group *group,
                               const struct cv_rewrite_output *output, struct cv_error *err)
{
    bool has_deletes = false;

    for (size_t i = 0; i < group->count; i++)
        has_deletes |= group->files[i]->delete_files > 0;
    if (output->records == group->records || (has_deletes && output->records < group->records))
        return CV_OK;
    (void)cv_fail(err, CV_FORMAT,
                  "%zu files hold %" PRId64 " rows by their manifests and %" PRId64
                  " were read: nothing is changed",
                  group->count, group->records, output->records);
    cv_hint(err, "the first of them is %.300s", cv_rewrite_task(group->files[0])->data.file.path);
    return CV_FORMAT;
}

/* Merges what can be. Where that turns out to be impossible, all is decoded: figures that are known
 * of a whole file may not be known of some of its row groups. */
static enum cv_code merge(const struct cv_rewrite_run *run, const struct cv_rewrite_group *group,
                          struct cv_rewrite_way *ways, struct cv_rewrite_output *output,
                          struct cv_error *err)
{
    struct cv_error trouble = CV_ERROR_INIT;
    const char *reason;
    enum cv_code code;

    if (count_ways(ways, group->count).decoded == group->count)
        return CV_OK;
    code = cv_rewrite_merge(run, group, ways, output, &trouble);
    if (code == CV_UNSUPPORTED) {
        cv_rewrite_output_remove(run->store, output);
        reason = cv_arena_strdup(&output->arena, trouble.message);
        for (size_t i = 0; i < group->count; i++)
            ways[i] = (struct cv_rewrite_way){.way = CV_MERGE_DECODE, .reason = reason};
        return CV_OK;
    }
    if (code != CV_OK && err)
        *err = trouble;
    return code;
}

static enum cv_code run_ways(const struct cv_rewrite_run *run, const struct cv_rewrite_group *group,
                             struct cv_rewrite_output *output, struct cv_error *err)
{
    struct cv_rewrite_way *ways;

    CV_DO(find_ways(run, group, &output->arena, &ways, err));
    CV_DO(merge(run, group, ways, output, err));
    output->ways = count_ways(ways, group->count);
    if (output->ways.decoded)
        CV_DO(decode(run, group, ways, output, err));
    return output->useless ? CV_OK : check_rows(group, output, err);
}

enum cv_code cv_rewrite_group_run(const struct cv_rewrite_run *run,
                                  const struct cv_rewrite_group *group,
                                  struct cv_rewrite_output *output, struct cv_error *err)
{
    enum cv_code code = run_ways(run, group, output, err);

    if (code != CV_OK)
        cv_rewrite_output_remove(run->store, output);
    return code;
}
