/* SPDX-License-Identifier: Apache-2.0
 *
 * One group of position delete files through the row sorter. */
#include "maintain/position_delete_group.h"

#include "base/fault.h"
#include "batch/gather.h"
#include "data/deletes.h"
#include "maintain/rewrite_int.h"
#include "maintain/row_sorter.h"

#include <inttypes.h>
#include <stdlib.h>

struct rewriting {
    struct cv_position_delete_run *run;
    const struct cv_rewrite_group *group;
    struct cv_rewrite_output *output;
    struct cv_arena arena;
    struct cv_row_sorter *sorter;
    struct cv_batch_builder valid; /* rows of live data files */
    uint32_t *rows;
    size_t row_capacity;
    struct cv_metrics_config metrics;
    const char *partition_path;
    struct cv_parquet_writer *writer; /* NULL = none is open */
    const char *location;
    struct cv_buf path; /* of the data file that the open file names last */
    size_t paths;       /* data files named by it */
};

static void rewriting_release(struct rewriting *r)
{
    cv_parquet_writer_abort(r->writer);
    cv_row_sorter_free(r->sorter);
    cv_batch_builder_release(&r->valid);
    cv_buf_release(&r->path);
    free(r->rows);
    cv_arena_release(&r->arena);
}

/* --- reading ---------------------------------------------------------------------------------- */

static enum cv_code add_rows(void *context, const struct cv_batch *batch, struct cv_error *err)
{
    struct rewriting *r = context;
    struct cv_rows rows = {NULL, 0, 0};
    struct cv_str last = {NULL, 0};
    struct cv_batch valid;
    bool live = false;

    cv_array_reserve(&r->rows, &r->row_capacity, batch->row_count);
    for (size_t i = 0; i < batch->row_count; i++) {
        struct cv_str path = cv_column_bytes(&batch->columns[0], i);

        if (!last.ptr || !cv_str_equal(path, last))
            live = cv_location_set_has(r->run->live, path);
        last = path;
        if (live)
            r->rows[rows.count++] = (uint32_t)i;
    }
    if (rows.count == batch->row_count)
        return cv_row_sorter_add(r->sorter, batch, err);
    if (rows.count == 0)
        return CV_OK;
    rows.index = r->rows;
    cv_batch_builder_clear(&r->valid);
    CV_DO(cv_batch_builder_append_rows(&r->valid, batch, &rows, err));
    cv_batch_builder_view(&r->valid, &valid);
    return cv_row_sorter_add(r->sorter, &valid, err);
}

/* --- writing ---------------------------------------------------------------------------------- */

static const struct cv_data_file *first_file(const struct cv_rewrite_group *group)
{
    return &((const struct cv_manifest_entry *)group->files[0]->context)->file;
}

static enum cv_code open_file(struct rewriting *r, struct cv_error *err)
{
    struct cv_position_delete_run *run = r->run;
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    const char *name = cv_arena_printf(&scratch, "%05" PRId64 "-%s-deletes.parquet",
                                       run->next_file++, run->prefix);
    struct cv_output *output;

    r->location =
        cv_data_location(&run->files->locations, r->partition_path, name, &r->output->arena);
    r->paths = 0;
    CV_DO(cv_store_create(run->store, r->location, &output, err));
    return cv_parquet_writer_open(output, &cv_position_delete_schema, &run->files->parquet,
                                  &r->metrics, &r->writer, err);
}

static enum cv_code close_file(struct rewriting *r, struct cv_error *err)
{
    const struct cv_data_file *first = first_file(r->group);
    struct cv_rewrite_output *output = r->output;
    const struct cv_partition_spec *spec =
        cv_table_metadata_spec_by_id(r->run->metadata, first->spec_id);
    struct cv_data_file file = {.content = CV_CONTENT_POSITION_DELETES,
                                .path = r->location,
                                .format = "PARQUET",
                                .spec_id = first->spec_id};

    if (!r->writer)
        return CV_OK;
    CV_DO(cv_parquet_writer_close(cv_steal(r->writer), &output->arena, &file.metrics, err));
    file.partition = cv_arena_copy(&output->arena, first->partition,
                                   (spec ? spec->field_count : 0) * sizeof *file.partition);
    if (r->run->by_file && r->paths == 1)
        file.referenced_data_file = cv_arena_strdup(&output->arena, cv_buf_text(&r->path));
    cv_rewrite_output_add(output, &file);
    return cv_fault_pass("rewrite-half", err);
}

/* Rows start … end-1 name one data file. */
static enum cv_code write_rows(struct rewriting *r, const struct cv_batch *batch, size_t start,
                               size_t end, struct cv_error *err)
{
    struct cv_str path = cv_column_bytes(&batch->columns[0], start);
    struct cv_rows rows = {NULL, start, end - start};
    bool other = !cv_str_equal(path, (struct cv_str){(const char *)r->path.data, r->path.length});

    if (r->writer && ((other && r->run->by_file) ||
                      cv_parquet_writer_length(r->writer) >= r->group->split_bytes))
        CV_DO(close_file(r, err));
    if (!r->writer)
        CV_DO(open_file(r, err));
    r->paths += other || r->paths == 0;
    cv_buf_clear(&r->path);
    cv_buf_append(&r->path, path.ptr, path.length);
    CV_DO(cv_buf_check(&r->path, "a path", err));
    CV_TRY(cv_parquet_writer_append(r->writer, batch, &rows, err), err, "%s", r->location);
    return CV_OK;
}

static enum cv_code write_batch(void *context, const struct cv_batch *batch, struct cv_error *err)
{
    struct rewriting *r = context;

    for (size_t start = 0, end; start < batch->row_count; start = end) {
        struct cv_str path = cv_column_bytes(&batch->columns[0], start);

        end = start + 1;
        while (end < batch->row_count &&
               cv_str_equal(path, cv_column_bytes(&batch->columns[0], end)))
            end++;
        CV_DO(write_rows(r, batch, start, end, err));
    }
    return CV_OK;
}

/* --- the group -------------------------------------------------------------------------------- */

/* Bounds in full, so that readers know which data files are named (iceberg.md: file_path). */
static void full_metrics(struct rewriting *r)
{
    static const int32_t ids[] = {CV_DELETE_POS_ID, CV_DELETE_FILE_PATH_ID};
    struct cv_metrics_mode modes[] = {{CV_METRICS_FULL, 0}, {CV_METRICS_FULL, 0}};

    r->metrics = (struct cv_metrics_config){.modes = cv_arena_copy(&r->arena, modes, sizeof modes),
                                            .ids = cv_arena_copy(&r->arena, ids, sizeof ids),
                                            .count = CV_ARRAY_LENGTH(ids)};
}

static enum cv_code prepare(struct rewriting *r, struct cv_error *err)
{
    const struct cv_position_delete_run *run = r->run;
    const struct cv_data_file *first = first_file(r->group);
    struct cv_sort_plan *plan = cv_arena_alloc(&r->arena, sizeof *plan);

    full_metrics(r);
    cv_batch_builder_init(&r->valid, &cv_position_delete_schema);
    CV_DO(cv_sort_plan_parse("file_path, pos", &cv_position_delete_schema, 8, INT32_MAX, &r->arena,
                             plan, err));
    r->partition_path =
        cv_rewrite_partition_path(run->metadata, first->spec_id, first->partition, &r->arena);
    if (!r->partition_path) /* of an old spec: the folder is a name only */
        r->partition_path = "";
    r->sorter =
        cv_row_sorter_new(&cv_position_delete_schema, plan, run->maintenance->memory_bytes / 4,
                          run->maintenance->spill_directory);
    return CV_OK;
}

enum cv_code cv_position_delete_group_run(struct cv_position_delete_run *run,
                                          const struct cv_rewrite_group *group,
                                          struct cv_rewrite_output *output, struct cv_error *err)
{
    CV_CLEANUP(rewriting_release)
    struct rewriting r = {
        .run = run, .group = group, .output = output, .path = CV_BUF_INIT(CV_PATH_BYTES_MAX)};

    CV_DO(prepare(&r, err));
    for (size_t i = 0; i < group->count; i++) {
        const struct cv_manifest_entry *entry = group->files[i]->context;

        CV_DO(cv_maintain_check_stop(run->maintenance, err));
        CV_DO(cv_position_deletes_read(run->store, &entry->file, add_rows, &r, err));
        cv_maintain_meter_add(run->meter, entry->file.metrics.file_size);
    }
    CV_DO(cv_row_sorter_drain(r.sorter, write_batch, &r, err));
    return close_file(&r, err);
}
