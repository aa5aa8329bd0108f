/* SPDX-License-Identifier: Apache-2.0
 *
 * Column builders: growth, nulls, truncation and views. Fixed-width data, offsets and validity
 * grow together by rows; var data grows by bytes. */
#include "batch/builder.h"

#include <assert.h>
#include <stdlib.h>

#define FIRST_ROWS  1024
#define FIRST_BYTES ((size_t)16 * 1024)

static bool has_offsets(const struct cv_type *type)
{
    return type->kind == CV_TYPE_STRING || type->kind == CV_TYPE_BINARY ||
           type->kind == CV_TYPE_LIST || type->kind == CV_TYPE_MAP;
}

void cv_builder_init(struct cv_builder *builder, const struct cv_type *type)
{
    *builder = (struct cv_builder){.type = type, .width = cv_type_width(type)};
    if (!cv_type_is_nested(type))
        return;
    builder->child_count = type->field_count;
    builder->children = cv_alloc(type->field_count * sizeof *builder->children);
    builder->child_views = cv_alloc(type->field_count * sizeof *builder->child_views);
    for (size_t i = 0; i < type->field_count; i++)
        cv_builder_init(&builder->children[i], &type->fields[i].type);
}

void cv_builder_release(struct cv_builder *builder)
{
    for (size_t i = 0; i < builder->child_count; i++)
        cv_builder_release(&builder->children[i]);
    free(builder->children);
    free(builder->child_views);
    free(builder->validity);
    free(builder->offsets);
    free(builder->data);
    *builder = (struct cv_builder){0};
}

void cv_builder_clear(struct cv_builder *builder)
{
    for (size_t i = 0; i < builder->child_count; i++)
        cv_builder_clear(&builder->children[i]);
    free(builder->validity);
    builder->validity = NULL;
    builder->length = 0;
    builder->null_count = 0;
    builder->data_length = 0;
    builder->overflow = false;
}

static size_t bitmap_bytes(size_t rows)
{
    return (rows + 7) / 8;
}

void cv_builder_grow(struct cv_builder *builder)
{
    size_t grown = builder->capacity ? builder->capacity * 2 : FIRST_ROWS;

    if (has_offsets(builder->type)) {
        builder->offsets = cv_realloc_array(builder->offsets, grown + 1, sizeof(int32_t));
        if (builder->capacity == 0)
            builder->offsets[0] = 0;
    } else if (builder->type->kind == CV_TYPE_BOOLEAN) {
        builder->data = cv_realloc(builder->data, bitmap_bytes(grown));
    } else if (builder->width) {
        builder->data = cv_realloc_array(builder->data, grown, builder->width);
    }
    if (builder->validity)
        builder->validity = cv_realloc(builder->validity, bitmap_bytes(grown));
    builder->capacity = grown;
}

bool cv_builder_grow_data(struct cv_builder *builder, size_t extra)
{
    size_t need = builder->data_length + extra;
    size_t grown = builder->data_capacity ? builder->data_capacity * 2 : FIRST_BYTES;

    if (extra > CV_COLUMN_BYTES_MAX || need > CV_COLUMN_BYTES_MAX) {
        builder->overflow = true;
        return false;
    }
    grown = CV_MAX(grown, need);
    builder->data = cv_realloc(builder->data, grown);
    builder->data_capacity = grown;
    return true;
}

void cv_builder_start_validity(struct cv_builder *builder)
{
    builder->validity = cv_alloc(bitmap_bytes(builder->capacity));
    memset(builder->validity, 0xff, bitmap_bytes(builder->length));
}

void cv_builder_null(struct cv_builder *builder)
{
    if (builder->length == builder->capacity)
        cv_builder_grow(builder);
    if (!builder->validity)
        cv_builder_start_validity(builder);
    cv_bit_clear(builder->validity, builder->length);
    builder->null_count++;
    if (builder->type->kind == CV_TYPE_STRUCT)
        for (size_t i = 0; i < builder->child_count; i++)
            cv_builder_null(&builder->children[i]);
    else if (has_offsets(builder->type))
        builder->offsets[builder->length + 1] = builder->offsets[builder->length];
    else if (builder->type->kind == CV_TYPE_BOOLEAN)
        cv_bit_clear(builder->data, builder->length);
    else
        memset(builder->data + builder->length * builder->width, 0, builder->width);
    builder->length++;
}

static size_t child_length_at(const struct cv_builder *builder, size_t length)
{
    if (builder->type->kind == CV_TYPE_STRUCT)
        return length;
    return builder->offsets ? (size_t)builder->offsets[length] : 0;
}

void cv_builder_truncate(struct cv_builder *builder, size_t length)
{
    /* Children first, and always: a half-filled row has values below a child that has none yet. */
    for (size_t i = 0; i < builder->child_count; i++)
        cv_builder_truncate(&builder->children[i], child_length_at(builder, length));
    if (length >= builder->length)
        return;
    if (builder->validity)
        for (size_t i = length; i < builder->length; i++)
            builder->null_count -= !cv_bit_get(builder->validity, i);
    if (!builder->child_count && has_offsets(builder->type))
        builder->data_length = (size_t)builder->offsets[length];
    builder->length = length;
}

void cv_batch_builder_init(struct cv_batch_builder *builder, const struct cv_schema *schema)
{
    size_t count = schema->root.field_count;

    *builder = (struct cv_batch_builder){.schema = schema, .column_count = count};
    builder->columns = cv_alloc(count * sizeof *builder->columns);
    builder->views = cv_alloc(count * sizeof *builder->views);
    for (size_t i = 0; i < count; i++)
        cv_builder_init(&builder->columns[i], &schema->root.fields[i].type);
}

void cv_batch_builder_release(struct cv_batch_builder *builder)
{
    for (size_t i = 0; i < builder->column_count; i++)
        cv_builder_release(&builder->columns[i]);
    free(builder->columns);
    free(builder->views);
    *builder = (struct cv_batch_builder){0};
}

void cv_batch_builder_clear(struct cv_batch_builder *builder)
{
    for (size_t i = 0; i < builder->column_count; i++)
        cv_builder_clear(&builder->columns[i]);
}

static void builder_trim(struct cv_builder *builder)
{
    size_t length = builder->length;

    for (size_t i = 0; i < builder->child_count; i++)
        builder_trim(&builder->children[i]);
    if (length == 0)
        return;
    builder->capacity = length;
    if (builder->validity)
        builder->validity = cv_realloc(builder->validity, bitmap_bytes(length));
    if (builder->offsets)
        builder->offsets = cv_realloc_array(builder->offsets, length + 1, sizeof(int32_t));
    if (builder->type->kind == CV_TYPE_BOOLEAN) {
        builder->data = cv_realloc(builder->data, bitmap_bytes(length));
    } else if (builder->width) {
        builder->data = cv_realloc_array(builder->data, length, builder->width);
    } else if (builder->data && builder->data_length) {
        builder->data = cv_realloc(builder->data, builder->data_length);
        builder->data_capacity = builder->data_length;
    }
}

void cv_batch_builder_trim(struct cv_batch_builder *builder)
{
    for (size_t i = 0; i < builder->column_count; i++)
        builder_trim(&builder->columns[i]);
}

void cv_batch_builder_truncate(struct cv_batch_builder *builder, size_t rows)
{
    for (size_t i = 0; i < builder->column_count; i++)
        cv_builder_truncate(&builder->columns[i], rows);
}

static size_t builder_bytes(const struct cv_builder *builder)
{
    size_t bytes = builder->length * builder->width + builder->data_length;

    if (has_offsets(builder->type))
        bytes += builder->length * sizeof(int32_t);
    for (size_t i = 0; i < builder->child_count; i++)
        bytes += builder_bytes(&builder->children[i]);
    return bytes;
}

size_t cv_batch_builder_bytes(const struct cv_batch_builder *builder)
{
    size_t bytes = 0;

    for (size_t i = 0; i < builder->column_count; i++)
        bytes += builder_bytes(&builder->columns[i]);
    return bytes;
}

static bool builder_overflow(const struct cv_builder *builder)
{
    bool overflow = builder->overflow;

    for (size_t i = 0; i < builder->child_count; i++)
        overflow |= builder_overflow(&builder->children[i]);
    return overflow;
}

bool cv_batch_builder_overflow(const struct cv_batch_builder *builder)
{
    for (size_t i = 0; i < builder->column_count; i++)
        if (builder_overflow(&builder->columns[i]))
            return true;
    return false;
}

/* Offsets exist even for a column without rows, as Arrow wants them. */
static const int32_t no_offsets[1] = {0};
/* And data, so that readers may add an offset of 0 to it. */
static const uint8_t no_data[16];

static void fill_view(struct cv_builder *builder, struct cv_column *view)
{
    *view = (struct cv_column){
        .type = builder->type,
        .length = builder->length,
        .null_count = builder->null_count,
        .validity = builder->null_count ? builder->validity : NULL,
        .offsets = builder->offsets ? builder->offsets : no_offsets,
        .data = builder->data ? builder->data : no_data,
        .children = builder->child_views,
        .child_count = builder->child_count,
    };
    for (size_t i = 0; i < builder->child_count; i++)
        fill_view(&builder->children[i], &builder->child_views[i]);
}

void cv_batch_builder_view(struct cv_batch_builder *builder, struct cv_batch *ret_batch)
{
    size_t rows = builder->column_count ? builder->columns[0].length : 0;

    for (size_t i = 0; i < builder->column_count; i++) {
        assert(builder->columns[i].length == rows);
        fill_view(&builder->columns[i], &builder->views[i]);
    }
    *ret_batch = (struct cv_batch){builder->schema, builder->views, builder->column_count, rows};
}
