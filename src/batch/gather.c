/* SPDX-License-Identifier: Apache-2.0
 *
 * Gathers rows of columns: by width for fixed types, offsets rebuilt for the others, the rows of
 * children listed for lists and maps. */
#include "batch/gather.h"

#include <stdlib.h>

static void append_validity(struct cv_builder *builder, const struct cv_column *column,
                            const struct cv_rows *rows)
{
    size_t at = builder->length;

    if (!column->validity && !builder->validity)
        return;
    if (!builder->validity)
        cv_builder_start_validity(builder);
    for (size_t i = 0; i < rows->count; i++, at++) {
        if (cv_column_is_null(column, cv_rows_at(rows, i))) {
            cv_bit_clear(builder->validity, at);
            builder->null_count++;
        } else {
            cv_bit_set(builder->validity, at);
        }
    }
}

static void append_bits(struct cv_builder *builder, const struct cv_column *column,
                        const struct cv_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (cv_bit_get(column->data, cv_rows_at(rows, i)))
            cv_bit_set(builder->data, builder->length + i);
        else
            cv_bit_clear(builder->data, builder->length + i);
    }
}

static void append_fixed(struct cv_builder *builder, const struct cv_column *column,
                         const struct cv_rows *rows)
{
    size_t width = builder->width;
    uint8_t *to = builder->data + builder->length * width;

    if (!rows->index) {
        memcpy(to, column->data + rows->start * width, rows->count * width);
        return;
    }
    if (width == 8) /* the widths that matter, as moves of a register */
        for (size_t i = 0; i < rows->count; i++)
            memcpy(to + i * 8, column->data + (size_t)rows->index[i] * 8, 8);
    else if (width == 4)
        for (size_t i = 0; i < rows->count; i++)
            memcpy(to + i * 4, column->data + (size_t)rows->index[i] * 4, 4);
    else
        for (size_t i = 0; i < rows->count; i++)
            memcpy(to + i * width, column->data + (size_t)rows->index[i] * width, width);
}

/* Sum of the rows' lengths. */
static size_t count_items(const struct cv_column *column, const struct cv_rows *rows)
{
    size_t sum = 0;

    if (!rows->index)
        return (size_t)(column->offsets[rows->start + rows->count] - column->offsets[rows->start]);
    for (size_t i = 0; i < rows->count; i++)
        sum += (size_t)(column->offsets[rows->index[i] + 1] - column->offsets[rows->index[i]]);
    return sum;
}

static bool append_bytes(struct cv_builder *builder, const struct cv_column *column,
                         const struct cv_rows *rows)
{
    size_t bytes = count_items(column, rows);
    size_t at = builder->data_length;

    if (bytes > builder->data_capacity - at && !cv_builder_grow_data(builder, bytes))
        return false;
    for (size_t i = 0; i < rows->count; i++) {
        struct cv_str value = cv_column_bytes(column, cv_rows_at(rows, i));

        if (value.length)
            memcpy(builder->data + at, value.ptr, value.length);
        at += value.length;
        builder->offsets[builder->length + i + 1] = (int32_t)at;
    }
    builder->data_length = at;
    return true;
}

static bool append_items(struct cv_builder *builder, const struct cv_column *column,
                         const struct cv_rows *rows)
{
    size_t items = count_items(column, rows), count = 0;
    size_t at = builder->children[0].length;
    struct cv_rows child_rows = {NULL, 0, items};
    uint32_t *index;
    bool good = true;

    if (at + items > INT32_MAX)
        return false;
    index = cv_alloc(items * sizeof *index);
    for (size_t i = 0; i < rows->count; i++) {
        size_t row = cv_rows_at(rows, i);

        for (int32_t item = column->offsets[row]; item < column->offsets[row + 1]; item++)
            index[count++] = (uint32_t)item;
        builder->offsets[builder->length + i + 1] = (int32_t)(at + count);
    }
    child_rows.index = index;
    for (size_t i = 0; good && i < builder->child_count; i++)
        good = cv_builder_append_rows(&builder->children[i], &column->children[i], &child_rows);
    free(index);
    return good;
}

bool cv_builder_append_rows(struct cv_builder *builder, const struct cv_column *column,
                            const struct cv_rows *rows)
{
    bool good = true;

    if (!rows->count)
        return true;
    while (builder->capacity - builder->length < rows->count)
        cv_builder_grow(builder);
    append_validity(builder, column, rows);
    switch (builder->type->kind) {
    case CV_TYPE_BOOLEAN:
        append_bits(builder, column, rows);
        break;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
        good = append_bytes(builder, column, rows);
        break;
    case CV_TYPE_LIST:
    case CV_TYPE_MAP:
        good = append_items(builder, column, rows);
        break;
    case CV_TYPE_STRUCT:
        for (size_t i = 0; good && i < builder->child_count; i++)
            good = cv_builder_append_rows(&builder->children[i], &column->children[i], rows);
        break;
    default:
        append_fixed(builder, column, rows);
        break;
    }
    builder->length += rows->count;
    return good;
}

enum cv_code cv_batch_builder_append_rows(struct cv_batch_builder *builder,
                                          const struct cv_batch *batch, const struct cv_rows *rows,
                                          struct cv_error *err)
{
    for (size_t i = 0; i < builder->column_count; i++)
        if (!cv_builder_append_rows(&builder->columns[i], &batch->columns[i], rows))
            return cv_fail(err, CV_LIMIT, "column %s: too many bytes in %zu rows",
                           builder->schema->root.fields[i].name, rows->count);
    return CV_OK;
}

void cv_builder_append_value(struct cv_builder *builder, const struct cv_value *value)
{
    if (value->is_null) {
        cv_builder_null(builder);
        return;
    }
    switch (builder->type->kind) {
    case CV_TYPE_BOOLEAN:
        cv_builder_bool(builder, value->boolean);
        break;
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        cv_builder_i32(builder, value->i32);
        break;
    case CV_TYPE_FLOAT:
        cv_builder_f32(builder, value->f32);
        break;
    case CV_TYPE_DOUBLE:
        cv_builder_f64(builder, value->f64);
        break;
    case CV_TYPE_DECIMAL:
        cv_builder_decimal(builder, value->decimal);
        break;
    case CV_TYPE_UUID:
    case CV_TYPE_FIXED:
        cv_builder_fixed(builder, value->bytes.ptr);
        break;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
        cv_builder_bytes(builder, value->bytes.ptr, value->bytes.length);
        break;
    default:
        cv_builder_i64(builder, value->i64);
        break;
    }
}

/* --- paths ----------------------------------------------------------------------------------- */

static bool find_path(const struct cv_type *type, int32_t field_id, struct cv_column_path *path)
{
    if (type->kind != CV_TYPE_STRUCT || path->depth == CV_DEPTH_MAX)
        return false;
    for (size_t i = 0; i < type->field_count; i++) {
        path->indices[path->depth++] = (uint32_t)i;
        if (type->fields[i].id == field_id || find_path(&type->fields[i].type, field_id, path))
            return true;
        path->depth--;
    }
    return false;
}

struct cv_column_path cv_column_path_find(const struct cv_type *root, int32_t field_id)
{
    struct cv_column_path path = {.depth = 0};

    (void)find_path(root, field_id, &path);
    return path;
}

struct cv_value cv_column_path_value(const struct cv_column_path *path,
                                     const struct cv_batch *batch, size_t row)
{
    const struct cv_column *column = &batch->columns[path->indices[0]];

    for (size_t i = 1; i < path->depth; i++) {
        if (cv_column_is_null(column, row))
            return (struct cv_value){.is_null = true, .kind = column->type->kind};
        column = &column->children[path->indices[i]];
    }
    return cv_column_value(column, row);
}
