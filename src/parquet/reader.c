/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader as a whole: which row groups, how many rows at a time, and the batch that its columns
 * make. */
#include "parquet/reader_int.h"

#include <stdlib.h>

static void leaf_release(struct cv_read_leaf *leaf)
{
    cv_buf_release(&leaf->piece);
    cv_buf_release(&leaf->page);
    cv_buf_release(&leaf->previous);
    cv_buf_release(&leaf->raw);
    cv_builder_release(&leaf->dictionary);
    cv_builder_release(&leaf->scratch);
    free(leaf->batch_definitions);
    free(leaf->batch_repetitions);
}

void cv_parquet_reader_free(struct cv_parquet_reader *reader)
{
    if (!reader)
        return;
    for (size_t i = 0; i < reader->leaf_count; i++)
        leaf_release(reader->leaves[i]);
    free(reader->leaves);
    cv_batch_builder_release(&reader->builder);
    cv_decompressor_free(reader->decompressor);
    cv_buf_release(&reader->group_bytes);
    cv_parquet_footer_free(reader->footer);
    cv_arena_release(&reader->plan);
    free(reader->location);
    free(reader);
}

static enum cv_code open_reader(struct cv_parquet_reader *reader, int64_t file_size,
                                struct cv_error *err)
{
    const struct cv_parquet_read *read = &reader->read;
    size_t groups;

    if (!reader->footer)
        CV_DO(cv_parquet_footer_read(reader->store, reader->location, file_size, &reader->footer,
                                     err));
    groups = reader->footer->group_count;
    if (read->first_group > groups || read->group_count > groups - read->first_group)
        return cv_fail(err, CV_INTERNAL, "%s: row groups %zu and %zu more of %zu", reader->location,
                       read->first_group, read->group_count, groups);
    reader->next_group = read->first_group;
    reader->end_group = read->group_count ? read->first_group + read->group_count : groups;
    cv_batch_builder_init(&reader->builder, read->schema);
    reader->decompressor = cv_decompressor_new();
    CV_TRY(cv_read_plan(reader, err), err, "%s", reader->location);
    reader->piece_bytes = CV_PARQUET_READ_BYTES / CV_MAX(reader->leaf_count, (size_t)1);
    reader->piece_bytes = CV_MAX(reader->piece_bytes, CV_PARQUET_PIECE_BYTES_MIN);
    reader->piece_bytes = CV_MIN(reader->piece_bytes, CV_PARQUET_PIECE_BYTES_MAX);
    return CV_OK;
}

enum cv_code cv_parquet_reader_open(struct cv_store *store, const char *location, int64_t file_size,
                                    struct cv_parquet_footer *footer,
                                    const struct cv_parquet_read *read,
                                    struct cv_parquet_reader **ret_reader, struct cv_error *err)
{
    CV_CLEANUP(cv_parquet_reader_freep) struct cv_parquet_reader *reader = NULL;

    reader = cv_alloc(sizeof *reader);
    reader->store = store;
    reader->location = cv_strdup(location);
    reader->footer = footer;
    reader->read = *read;
    reader->group_bytes.max = (size_t)CV_PARQUET_GROUP_READ_BYTES * 2;
    if (reader->read.batch_rows == 0)
        reader->read.batch_rows = CV_PARQUET_BATCH_ROWS_DEFAULT;
    CV_DO(open_reader(reader, file_size, err));
    *ret_reader = cv_steal(reader);
    return CV_OK;
}

const struct cv_parquet_footer *cv_parquet_reader_footer(const struct cv_parquet_reader *reader)
{
    return reader->footer;
}

static bool may_match(const struct cv_parquet_reader *reader, const struct cv_parquet_group *group)
{
    struct cv_parquet_group_columns columns = {reader->footer, group, reader->read.mapping};

    return group->row_count > 0 &&
           (!reader->read.predicate ||
            cv_predicate_may_match(reader->read.predicate, cv_parquet_group_column, &columns));
}

/* What the file lacks of a column and each row has. */
static int64_t missing_bytes(const struct cv_read_node *node)
{
    const struct cv_type *type = &node->field->type;
    int64_t bytes = 0;

    if (node->kind == CV_READ_MISSING) {
        bool text = type->kind == CV_TYPE_STRING || type->kind == CV_TYPE_BINARY;

        return (int64_t)(text && !node->value.is_null ? node->value.bytes.length
                                                      : cv_type_width(type));
    }
    for (size_t i = 0; node->kind == CV_READ_STRUCT && i < node->child_count; i++)
        bytes += missing_bytes(&node->children[i]);
    return bytes;
}

/* Fewer rows at a time where they are large: by their average, or as long as the longest entry of
 * a dictionary may make each of them, or the value of a column that the file lacks does. */
static int64_t choose_batch_rows(const struct cv_parquet_reader *reader)
{
    int64_t rows = reader->group->row_count;
    int64_t bytes = 0;

    for (size_t i = 0; i < reader->leaf_count; i++) {
        const struct cv_read_leaf *leaf = reader->leaves[i];
        int64_t longest = leaf->has_dictionary ? (int64_t)leaf->dictionary_longest : 0;

        bytes += CV_MAX(leaf->chunk->plain_size / rows, CV_MAX(longest, (int64_t)leaf->width));
    }
    for (size_t i = 0; i < reader->column_count; i++)
        bytes += missing_bytes(&reader->columns[i]);
    rows = CV_PARQUET_BATCH_BYTES / CV_MAX(bytes, (int64_t)1);
    return CV_MAX((int64_t)1, CV_MIN(rows, (int64_t)reader->read.batch_rows));
}

/* The first page of each column, and with it its dictionary. */
static enum cv_code open_pages(struct cv_parquet_reader *reader, struct cv_error *err)
{
    for (size_t i = 0; i < reader->leaf_count; i++)
        CV_TRY(cv_read_page(reader, reader->leaves[i], err), err, "column %s",
               reader->leaves[i]->path);
    return CV_OK;
}

static enum cv_code open_group(struct cv_parquet_reader *reader, struct cv_error *err)
{
    while (!reader->group && reader->next_group < reader->end_group) {
        size_t number = reader->next_group++;
        const struct cv_parquet_group *group = &reader->footer->groups[number];

        if (!may_match(reader, group))
            continue;
        CV_TRY(cv_read_group(reader, group, err), err, "%s: row group %zu", reader->location,
               number);
        CV_TRY(open_pages(reader, err), err, "%s: row group %zu", reader->location, number);
        reader->group = group;
        reader->group_at = 0;
        reader->group_batch_rows = choose_batch_rows(reader);
    }
    return CV_OK;
}

static enum cv_code read_column(struct cv_parquet_reader *reader, size_t number, size_t rows,
                                struct cv_error *err)
{
    const struct cv_read_node *column = &reader->columns[number];
    struct cv_builder *builder = &reader->builder.columns[number];

    if (column->kind == CV_READ_MISSING)
        cv_read_fill(builder, &column->value, rows, NULL);
    else if (column->kind != CV_READ_LEAF)
        CV_DO(cv_read_assemble(column, builder, err));
    if (builder->length != rows)
        return cv_fail(err, CV_FORMAT, "column %s has %zu rows where %zu are wanted",
                       column->field->name, builder->length, rows);
    return CV_OK;
}

static enum cv_code read_rows(struct cv_parquet_reader *reader, size_t rows, struct cv_error *err)
{
    cv_batch_builder_clear(&reader->builder);
    for (size_t i = 0; i < reader->leaf_count; i++)
        CV_TRY(cv_read_leaf_rows(reader, reader->leaves[i], rows, err), err, "column %s",
               reader->leaves[i]->path);
    for (size_t i = 0; i < reader->column_count; i++)
        CV_DO(read_column(reader, i, rows, err));
    if (cv_batch_builder_overflow(&reader->builder))
        return cv_fail(err, CV_LIMIT, "values that the file lacks are above the limit of %zu bytes",
                       CV_COLUMN_BYTES_MAX);
    return CV_OK;
}

enum cv_code cv_parquet_reader_next(struct cv_parquet_reader *reader, struct cv_batch *ret_batch,
                                    int64_t *ret_position, struct cv_error *err)
{
    int64_t rows;

    CV_DO(open_group(reader, err));
    if (!reader->group) {
        cv_batch_builder_clear(&reader->builder);
        cv_batch_builder_view(&reader->builder, ret_batch);
        *ret_position = reader->footer->row_count;
        return CV_OK;
    }
    rows = CV_MIN(reader->group_batch_rows, reader->group->row_count - reader->group_at);
    CV_TRY(read_rows(reader, (size_t)rows, err), err, "%s: row group %zu", reader->location,
           (size_t)(reader->group - reader->footer->groups));
    cv_batch_builder_view(&reader->builder, ret_batch);
    ret_batch->row_count = (size_t)rows;
    *ret_position = reader->group->first_row + reader->group_at;
    reader->group_at += rows;
    if (reader->group_at == reader->group->row_count)
        reader->group = NULL;
    return CV_OK;
}
