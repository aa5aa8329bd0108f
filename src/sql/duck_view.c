/* SPDX-License-Identifier: Apache-2.0
 *
 * Views over batches: a table function of the connection's own, and a temporary view in front of
 * it, so that every connection has its own rows under the one name. The columns are in Arrow's
 * layout and go over as such, 2,048 values at a time; only those that the query reads are touched.
 * (DuckDB's own duckdb_arrow_scan() is no way: it accepts filters that the optimizer pushes into
 * the scan, and then applies none, in 1.4 as in 1.5.) */
#include "sql/duck_int.h"

#include <stdio.h>
#include <stdlib.h>

/* Rows that the optimizer is told of: about a worker's execution. */
#define ROWS_EXPECTED 16384

struct cv_duck_view {
    struct cv_duck_connection *connection;
    const struct cv_schema *schema;
    const struct cv_batch *batch;
    struct cv_duck_slice whole; /* of a batch without slices */
    const struct cv_duck_slice *slices;
    size_t slice_count;
    struct cv_rows_source source; /* in place of the batch, when next is set */
};

/* One scan of a view in one execution. */
struct scan {
    struct cv_duck_view *view;
    struct cv_batch batch;
    struct cv_duck_slice whole;
    const struct cv_duck_slice *slices;
    size_t slice_count;
    size_t slice;    /* being read */
    size_t position; /* in it */
    uint64_t column_count;
    uint64_t columns[]; /* of the view, per column of the output */
};

static void bind(struct duckdb_info *info)
{
    const struct cv_duck_view *view = cv_duck_api.bind_get_extra_info(info);
    const struct cv_type *root = &view->schema->root;
    struct duckdb_logical_type *type;

    for (size_t i = 0; i < root->field_count; i++) {
        type = cv_duck_logical_type(&root->fields[i].type);
        cv_duck_api.bind_add_result_column(info, root->fields[i].name, type);
        cv_duck_api.destroy_logical_type(&type);
    }
    cv_duck_api.bind_set_cardinality(info, ROWS_EXPECTED, false);
}

static void init(struct duckdb_info *info)
{
    struct cv_duck_view *view = cv_duck_api.init_get_extra_info(info);
    uint64_t count = cv_duck_api.init_get_column_count(info);
    struct scan *scan = cv_alloc(sizeof *scan + count * sizeof scan->columns[0]);

    scan->view = view;
    if (view->batch && !view->source.next) {
        scan->batch = *view->batch;
        scan->slices = view->slices;
        scan->slice_count = view->slice_count;
    }
    scan->column_count = count;
    for (uint64_t i = 0; i < count; i++)
        scan->columns[i] = cv_duck_api.init_get_column_index(info, i);
    cv_duck_api.init_set_max_threads(info, 1);
    cv_duck_api.init_set_init_data(info, scan, free);
}

/* The next batch of a source; false at its end, or when it fails. */
static bool next_batch(struct scan *scan, struct duckdb_info *info)
{
    struct cv_duck_connection *connection = scan->view->connection;
    const struct cv_rows_source *source = &scan->view->source;
    struct cv_error *err = &connection->source_error;

    if (!source->next)
        return false;
    cv_error_clear(err);
    if (source->next(source->context, &scan->batch, err) != CV_OK) {
        cv_duck_api.function_set_error(info, err->message);
        return false;
    }
    scan->whole = (struct cv_duck_slice){0, scan->batch.row_count};
    scan->slices = &scan->whole;
    scan->slice_count = scan->batch.row_count ? 1 : 0;
    scan->slice = 0;
    scan->position = 0;
    return scan->batch.row_count > 0;
}

/* Adds rows of the current slice to the output, which has `filled` rows; returns how many. */
static size_t add_rows(struct scan *scan, struct duckdb_chunk *output, size_t filled, size_t room)
{
    const struct cv_duck_slice *slice = &scan->slices[scan->slice];
    size_t count = CV_MIN(slice->count - scan->position, room);
    struct duckdb_vector *vector;

    for (uint64_t i = 0; i < scan->column_count; i++) {
        if (scan->columns[i] >= scan->batch.column_count)
            continue; /* stands for "no column" where rows are only counted */
        vector = cv_duck_api.data_chunk_get_vector(output, i);
        cv_duck_export(&scan->batch.columns[scan->columns[i]], slice->start + scan->position, count,
                       vector, filled);
    }
    scan->position += count;
    if (scan->position == slice->count) {
        scan->slice++;
        scan->position = 0;
    }
    return count;
}

static void read_rows(struct duckdb_info *info, struct duckdb_chunk *output)
{
    struct scan *scan = cv_duck_api.function_get_init_data(info);
    size_t room = (size_t)cv_duck_api.vector_size();
    size_t filled = 0;

    while (filled < room) {
        if (scan->slice < scan->slice_count)
            filled += add_rows(scan, output, filled, room - filled);
        else if (filled || !next_batch(scan, info)) /* a batch goes when the next one comes */
            break;
    }
    cv_duck_api.data_chunk_set_size(output, filled);
}

static enum cv_code register_function(struct cv_duck_view *view, const char *name,
                                      struct cv_error *err)
{
    struct duckdb_table_function *function = cv_duck_api.create_table_function();
    int failed;

    cv_duck_api.table_function_set_name(function, name);
    cv_duck_api.table_function_set_extra_info(function, view, NULL);
    cv_duck_api.table_function_set_bind(function, bind);
    cv_duck_api.table_function_set_init(function, init);
    cv_duck_api.table_function_set_function(function, read_rows);
    cv_duck_api.table_function_supports_projection_pushdown(function, true);
    failed = cv_duck_api.register_table_function(view->connection->handle, function);
    cv_duck_api.destroy_table_function(&function);
    return failed ? cv_fail(err, CV_INTERNAL, "DuckDB takes no table function %s", name) : CV_OK;
}

enum cv_code cv_duck_view_create(struct cv_duck_connection *connection, const char *name,
                                 const struct cv_schema *schema, struct cv_duck_view **ret_view,
                                 struct cv_error *err)
{
    CV_CLEANUP(cv_duck_view_freep) struct cv_duck_view *view = cv_alloc(sizeof *view);
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    char *function;

    view->connection = connection;
    view->schema = schema;
    function = cv_arena_printf(&arena, "calve_rows_%zu",
                               atomic_fetch_add(&connection->duck->view_count, 1));
    CV_DO(register_function(view, function, err));
    CV_TRY(cv_duck_execute(
               connection,
               cv_arena_printf(&arena, "CREATE OR REPLACE TEMP VIEW \"%s\" AS SELECT * FROM %s()",
                               name, function),
               err),
           err, "view %s", name);
    *ret_view = cv_steal(view);
    return CV_OK;
}

void cv_duck_view_free(struct cv_duck_view *view)
{
    free(view);
}

void cv_duck_view_set_batch(struct cv_duck_view *view, const struct cv_batch *batch)
{
    view->whole = (struct cv_duck_slice){0, batch->row_count};
    cv_duck_view_set_slices(view, batch, &view->whole, batch->row_count ? 1 : 0);
}

void cv_duck_view_set_slices(struct cv_duck_view *view, const struct cv_batch *batch,
                             const struct cv_duck_slice *slices, size_t count)
{
    view->batch = batch;
    view->slices = slices;
    view->slice_count = count;
    view->source = (struct cv_rows_source){0};
}

void cv_duck_view_set_source(struct cv_duck_view *view, const struct cv_rows_source *source)
{
    view->source = *source;
}
