/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a Parquet file: rows in slices to every column, row groups closed by size, footer. */
#include "parquet/writer_int.h"

#include <assert.h>
#include <stdlib.h>

struct cv_parquet_workspace *cv_parquet_workspace_new(void)
{
    return cv_alloc(sizeof(struct cv_parquet_workspace));
}

void cv_parquet_workspace_free(struct cv_parquet_workspace *workspace)
{
    if (!workspace)
        return;
    cv_packing_release(workspace);
    cv_buf_release(&workspace->body);
    cv_buf_release(&workspace->packed);
    cv_buf_release(&workspace->trial);
    cv_buf_release(&workspace->header);
    cv_buf_release(&workspace->lengths);
    cv_buf_release(&workspace->bound);
    cv_buf_release(&workspace->out);
    cv_buf_release(&workspace->used);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(workspace->slots); i++) {
        free(workspace->slots[i].repetitions);
        free(workspace->slots[i].definitions);
        free(workspace->slots[i].positions);
    }
    free(workspace->columns);
    free(workspace);
}

static enum cv_code check_options(const struct cv_parquet_options *options, struct cv_error *err)
{
    if (options->row_group_bytes < 1 || options->page_bytes < 1 || options->page_rows < 1 ||
        options->dictionary_bytes < 0)
        return cv_fail(err, CV_CONFIG,
                       "Parquet row group size, page size and page row limit must be positive");
    if (options->codec == CV_CODEC_DEFLATE)
        return cv_fail(err, CV_CONFIG, "Parquet has no codec deflate");
    return CV_OK;
}

/* Parquet has no groups without fields. */
static enum cv_code check_type(const struct cv_type *type, const char *name, struct cv_error *err)
{
    if (type->kind == CV_TYPE_STRUCT && type->field_count == 0)
        return cv_fail(err, CV_SCHEMA, "%s: a struct without fields cannot be written to Parquet",
                       name);
    for (size_t i = 0; i < type->field_count; i++)
        CV_DO(check_type(&type->fields[i].type, type->fields[i].name, err));
    return CV_OK;
}

/* What the last file of the table taught about the leaf's dictionary and compression. */
static void recall(const struct cv_parquet_workspace *workspace, size_t number,
                   struct cv_leaf *leaf)
{
    leaf->packing = CV_PACKING_UNDECIDED;
    if (number < workspace->column_count &&
        workspace->columns[number].field_id == leaf->field->id) {
        leaf->plain_chunks = workspace->columns[number].plain_chunks;
        leaf->packing = workspace->columns[number].packing;
        leaf->packing_chunks = workspace->columns[number].packing_chunks;
    }
}

static void remember(struct cv_parquet_writer *writer)
{
    struct cv_parquet_workspace *workspace = writer->workspace;

    if (workspace->column_count != writer->leaf_count) {
        workspace->columns =
            cv_realloc_array(workspace->columns, writer->leaf_count, sizeof *workspace->columns);
        workspace->column_count = writer->leaf_count;
    }
    for (size_t i = 0; i < writer->leaf_count; i++)
        workspace->columns[i] = (struct cv_workspace_column){
            .field_id = writer->leaves[i].field->id,
            .plain_chunks = writer->leaves[i].plain_chunks,
            .packing = writer->leaves[i].packing,
            .packing_chunks = writer->leaves[i].packing_chunks,
        };
}

static void writer_free(struct cv_parquet_writer *writer)
{
    for (size_t i = 0; i < writer->leaf_count; i++)
        cv_leaf_release(&writer->leaves[i]);
    free(writer->groups);
    cv_buf_release(&writer->column_indexes);
    cv_buf_release(&writer->offset_indexes);
    cv_buf_release(&writer->footer);
    cv_arena_release(&writer->plan);
    cv_arena_release(&writer->group);
    if (writer->own_workspace)
        cv_parquet_workspace_free(writer->workspace);
    free(writer);
}

enum cv_code cv_parquet_writer_open(struct cv_output *output, const struct cv_schema *schema,
                                    const struct cv_parquet_options *options,
                                    const struct cv_metrics_config *metrics,
                                    struct cv_parquet_writer **ret_writer, struct cv_error *err)
{
    struct cv_parquet_writer *writer = cv_alloc(sizeof *writer);
    enum cv_code code;

    writer->output = output;
    writer->schema = schema;
    writer->options = *options;
    writer->own_workspace = !options->workspace;
    writer->workspace = options->workspace ? options->workspace : cv_parquet_workspace_new();
    writer->footer.max = CV_PARQUET_FOOTER_BYTES_MAX;
    code = check_options(options, err);
    if (code == CV_OK)
        code = check_type(&schema->root, "table", err);
    if (code == CV_OK)
        code = cv_packing_prepare(writer->workspace, options, err);
    if (code != CV_OK) {
        cv_parquet_writer_abort(writer);
        return code;
    }
    cv_parquet_plan(writer, metrics);
    for (size_t i = 0; i < writer->leaf_count; i++) {
        recall(writer->workspace, i, &writer->leaves[i]);
        cv_leaf_start_chunk(writer, &writer->leaves[i]);
    }
    *ret_writer = writer;
    return CV_OK;
}

/* Bytes of one value of the column on average, all that is below counted. */
static size_t average_bytes(const struct cv_column *column)
{
    size_t width = cv_type_width(column->type);
    size_t total = 0;

    if (column->length == 0)
        return 1;
    if (!cv_type_is_nested(column->type)) {
        if (column->type->kind != CV_TYPE_STRING && column->type->kind != CV_TYPE_BINARY)
            return width + 1;
        return (size_t)(column->offsets[column->length] - column->offsets[0]) / column->length + 4;
    }
    for (size_t i = 0; i < column->child_count; i++)
        total += average_bytes(&column->children[i]) * column->children[i].length;
    return total / column->length + 1;
}

static enum cv_code append_column(struct cv_parquet_writer *writer, const struct cv_node *node,
                                  const struct cv_column *column, const struct cv_rows *rows,
                                  struct cv_error *err)
{
    size_t page_rows = (size_t)writer->options.page_rows;
    size_t step = (size_t)writer->options.page_bytes / average_bytes(column);
    size_t count;

    step = CV_MIN(CV_MAX(step, (size_t)1), (size_t)CV_PARQUET_STEP_ROWS);
    for (size_t i = 0; i < rows->count; i += count) {
        count = CV_MIN(CV_MIN(step, page_rows), rows->count - i);
        if (node->leaf)
            count = CV_MIN(count, page_rows - node->leaf->page.row_count);
        CV_DO(cv_parquet_shred(writer, node, column, rows->index ? rows->index + i : NULL,
                               rows->start + i, count, err));
    }
    return CV_OK;
}

/* Rows until the row group should be measured again. */
static size_t slice_rows(const struct cv_parquet_writer *writer, const struct cv_batch *batch)
{
    size_t limit = (size_t)writer->options.row_group_bytes;
    size_t room = limit > writer->buffered ? limit - writer->buffered : 0;
    size_t row_bytes = 0;

    if (writer->group_rows)
        row_bytes = writer->buffered / (size_t)writer->group_rows + 1;
    else
        for (size_t i = 0; i < batch->column_count; i++)
            row_bytes += average_bytes(&batch->columns[i]);
    return CV_MIN(room / CV_MAX(row_bytes, (size_t)1) + 1, (size_t)CV_PARQUET_SLICE_ROWS);
}

static void measure(struct cv_parquet_writer *writer)
{
    writer->buffered = 0;
    for (size_t i = 0; i < writer->leaf_count; i++)
        writer->buffered += cv_leaf_buffered(&writer->leaves[i]);
}

static void account(struct cv_parquet_writer *writer)
{
    size_t memory = sizeof *writer + writer->plan.bytes + writer->group.bytes +
                    writer->column_indexes.capacity + writer->offset_indexes.capacity;

    for (size_t i = 0; i < writer->leaf_count; i++)
        memory += cv_leaf_memory(&writer->leaves[i]);
    writer->memory = memory;
}

static enum cv_code append_rows(struct cv_parquet_writer *writer, const struct cv_batch *batch,
                                const struct cv_rows *rows, struct cv_error *err)
{
    for (size_t done = 0; done < rows->count;) {
        struct cv_rows slice = {
            .index = rows->index ? rows->index + done : NULL,
            .start = rows->start + done,
            .count = CV_MIN(slice_rows(writer, batch), rows->count - done),
        };

        for (size_t i = 0; i < writer->column_count; i++)
            CV_DO(append_column(writer, &writer->columns[i], &batch->columns[i], &slice, err));
        done += slice.count;
        writer->group_rows += (int64_t)slice.count;
        measure(writer);
        if (writer->buffered >= (size_t)writer->options.row_group_bytes)
            CV_DO(cv_group_write(writer, err));
    }
    return CV_OK;
}

enum cv_code cv_parquet_writer_append(struct cv_parquet_writer *writer,
                                      const struct cv_batch *batch, const struct cv_rows *rows,
                                      struct cv_error *err)
{
    enum cv_code code;

    assert(batch->column_count == writer->column_count);
    assert(rows->index || rows->start + rows->count <= batch->row_count);
    if (writer->broken)
        return cv_fail(err, CV_INTERNAL, "append to a Parquet file that failed before");
    code = append_rows(writer, batch, rows, err);
    writer->broken = code != CV_OK;
    account(writer);
    return code;
}

size_t cv_parquet_writer_memory(const struct cv_parquet_writer *writer)
{
    return writer->memory;
}

int64_t cv_parquet_writer_length(const struct cv_parquet_writer *writer)
{
    /* Footer and page index: about 200 bytes a chunk and 40 a page. */
    size_t chunks = (writer->group_count + (writer->group_rows > 0)) * writer->leaf_count;

    return writer->position + (int64_t)(writer->buffered + chunks * 240) + 512;
}

int64_t cv_parquet_writer_rows(const struct cv_parquet_writer *writer)
{
    return writer->row_count + writer->group_rows;
}

enum cv_code cv_parquet_writer_flush(struct cv_parquet_writer *writer, struct cv_error *err)
{
    enum cv_code code;

    if (writer->broken)
        return cv_fail(err, CV_INTERNAL, "flush of a Parquet file that failed before");
    code = cv_group_write(writer, err);
    writer->broken = code != CV_OK;
    for (size_t i = 0; code == CV_OK && i < writer->leaf_count; i++)
        cv_leaf_release_buffers(&writer->leaves[i]);
    account(writer);
    return code;
}

enum cv_code cv_parquet_writer_close(struct cv_parquet_writer *writer, struct cv_arena *arena,
                                     struct cv_file_metrics *ret_metrics, struct cv_error *err)
{
    enum cv_code code =
        writer->broken ? cv_fail(err, CV_INTERNAL, "close of a Parquet file that failed before")
                       : cv_group_write(writer, err);

    if (code == CV_OK)
        code = cv_footer_write(writer, err);
    if (code == CV_OK)
        code = cv_output_close(writer->output, err);
    if (code != CV_OK) {
        cv_parquet_writer_abort(writer);
        return code;
    }
    remember(writer);
    cv_parquet_metrics(writer, arena, ret_metrics);
    writer_free(writer);
    return CV_OK;
}

void cv_parquet_writer_abort(struct cv_parquet_writer *writer)
{
    if (!writer)
        return;
    cv_output_abort(writer->output);
    cv_buf_clear(&writer->workspace->out);
    writer_free(writer);
}
