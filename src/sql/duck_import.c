/* SPDX-License-Identifier: Apache-2.0
 *
 * DuckDB's vectors to column builders, a column at a time: one copy, and no allocation once the
 * builders have grown. What stands under a null becomes zero, as columns have it. */
#include "sql/duck_bits.h"
#include "sql/duck_int.h"

/* Values start … start+count-1 of a vector. */
struct span {
    struct duckdb_vector *vector;
    size_t start, count;
    const uint8_t *validity; /* NULL = no nulls in the span */
};

static bool span_null(const struct span *span, size_t i)
{
    return span->validity && !cv_bit_get(span->validity, span->start + i);
}

static void append_validity(struct cv_builder *builder, struct span *span)
{
    size_t nulls = 0;

    span->validity = (const uint8_t *)cv_duck_api.vector_get_validity(span->vector);
    if (span->validity)
        nulls = cv_bits_clear_count(span->validity, span->start, span->count);
    if (nulls == 0) {
        span->validity = NULL;
        if (builder->validity)
            cv_bits_fill(builder->validity, builder->length, span->count);
        return;
    }
    if (!builder->validity)
        cv_builder_start_validity(builder);
    cv_bits_copy(builder->validity, builder->length, span->validity, span->start, span->count);
    builder->null_count += nulls;
}

static void append_booleans(struct cv_builder *builder, const struct span *span)
{
    const uint8_t *values = cv_duck_api.vector_get_data(span->vector);

    for (size_t i = 0; i < span->count; i++) {
        if (values[span->start + i] && !span_null(span, i))
            cv_bit_set(builder->data, builder->length + i);
        else
            cv_bit_clear(builder->data, builder->length + i);
    }
}

static void append_fixed_width(struct cv_builder *builder, const struct span *span)
{
    const char *values = cv_duck_api.vector_get_data(span->vector);
    const int16_t *small = (const int16_t *)(const void *)values + span->start;
    uint8_t *to = builder->data + builder->length * builder->width;
    int32_t value;

    if (builder->type->kind == CV_TYPE_DECIMAL && builder->type->precision <= 4) {
        for (size_t i = 0; i < span->count; i++) {
            value = small[i];
            memcpy(to + i * 4, &value, 4);
        }
    } else {
        memcpy(to, values + span->start * builder->width, span->count * builder->width);
    }
    if (!span->validity)
        return;
    for (size_t i = 0; i < span->count; i++)
        if (span_null(span, i))
            memset(to + i * builder->width, 0, builder->width);
}

static enum cv_code too_much(struct cv_error *err)
{
    return cv_fail(err, CV_LIMIT, "a column of a query's result passes %zu MiB",
                   CV_COLUMN_BYTES_MAX >> 20);
}

static enum cv_code append_strings(struct cv_builder *builder, const struct span *span,
                                   struct cv_error *err)
{
    const struct duckdb_string *strings = cv_duck_api.vector_get_data(span->vector);
    int32_t *offsets = builder->offsets + builder->length + 1;
    size_t total = 0;
    size_t length;

    strings += span->start;
    for (size_t i = 0; i < span->count; i++)
        total += span_null(span, i) ? 0 : strings[i].length;
    if (total > builder->data_capacity - builder->data_length &&
        !cv_builder_grow_data(builder, total))
        return too_much(err);
    for (size_t i = 0; i < span->count; i++) {
        length = span_null(span, i) ? 0 : strings[i].length;
        if (length) {
            memcpy(builder->data + builder->data_length, cv_duck_string_bytes(&strings[i]), length);
            builder->data_length += length;
        }
        offsets[i] = (int32_t)builder->data_length;
    }
    return CV_OK;
}

static enum cv_code append_fixed(struct cv_builder *builder, const struct span *span,
                                 struct cv_error *err)
{
    const struct duckdb_string *strings = cv_duck_api.vector_get_data(span->vector);
    uint8_t *to = builder->data + builder->length * builder->width;

    strings += span->start;
    for (size_t i = 0; i < span->count; i++, to += builder->width) {
        if (span_null(span, i)) {
            memset(to, 0, builder->width);
            continue;
        }
        if (strings[i].length != builder->width)
            return cv_fail(err, CV_RECORD, "a value of %u bytes cannot be %s, which has %zu",
                           strings[i].length,
                           builder->type->kind == CV_TYPE_UUID ? "a uuid" : "of a fixed type",
                           builder->width);
        memcpy(to, cv_duck_string_bytes(&strings[i]), builder->width);
    }
    return CV_OK;
}

/* A run of elements that lie one after the other in the child vector. */
static enum cv_code append_elements(struct cv_builder *builder, struct duckdb_vector *child,
                                    const struct duckdb_list_entry *run, struct cv_error *err)
{
    struct duckdb_vector *member;

    if (run->length == 0)
        return CV_OK;
    if (builder->type->kind == CV_TYPE_LIST)
        return cv_duck_import(child, run->offset, run->length, &builder->children[0], err);
    for (size_t i = 0; i < 2; i++) {
        member = cv_duck_api.struct_vector_get_child(child, i);
        CV_DO(cv_duck_import(member, run->offset, run->length, &builder->children[i], err));
    }
    return CV_OK;
}

static enum cv_code append_lists(struct cv_builder *builder, const struct span *span,
                                 struct cv_error *err)
{
    const struct duckdb_list_entry *entries = cv_duck_api.vector_get_data(span->vector);
    struct duckdb_vector *child = cv_duck_api.list_vector_get_child(span->vector);
    int32_t *offsets = builder->offsets + builder->length + 1;
    size_t total = builder->children[0].length;
    struct duckdb_list_entry run = {0, 0};

    entries += span->start;
    for (size_t i = 0; i < span->count; i++) {
        if (!span_null(span, i) && entries[i].length) {
            if (entries[i].offset != run.offset + run.length) {
                CV_DO(append_elements(builder, child, &run, err));
                run = (struct duckdb_list_entry){entries[i].offset, 0};
            }
            run.length += entries[i].length;
            total += entries[i].length;
            if (total > CV_COLUMN_BYTES_MAX)
                return too_much(err);
        }
        offsets[i] = (int32_t)total;
    }
    return append_elements(builder, child, &run, err);
}

/* Members of a struct that is null are null, whatever the vectors have there. */
static enum cv_code append_structs(struct cv_builder *builder, const struct span *span,
                                   struct cv_error *err)
{
    struct cv_builder *child;
    struct duckdb_vector *vector;
    size_t end;

    for (size_t c = 0; c < builder->child_count; c++) {
        child = &builder->children[c];
        vector = cv_duck_api.struct_vector_get_child(span->vector, c);
        for (size_t i = 0; i < span->count; i = end) {
            end = i + 1;
            if (span_null(span, i)) {
                cv_builder_null(child);
                continue;
            }
            while (end < span->count && !span_null(span, end))
                end++;
            CV_DO(cv_duck_import(vector, span->start + i, end - i, child, err));
        }
    }
    return CV_OK;
}

enum cv_code cv_duck_import(struct duckdb_vector *vector, size_t start, size_t count,
                            struct cv_builder *builder, struct cv_error *err)
{
    struct span span = {.vector = vector, .start = start, .count = count};

    while (builder->capacity - builder->length < count)
        cv_builder_grow(builder);
    if (count == 0)
        return CV_OK;
    append_validity(builder, &span);
    switch (builder->type->kind) {
    case CV_TYPE_BOOLEAN:
        append_booleans(builder, &span);
        break;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
        CV_DO(append_strings(builder, &span, err));
        break;
    case CV_TYPE_UUID:
    case CV_TYPE_FIXED:
        CV_DO(append_fixed(builder, &span, err));
        break;
    case CV_TYPE_LIST:
    case CV_TYPE_MAP:
        CV_DO(append_lists(builder, &span, err));
        break;
    case CV_TYPE_STRUCT:
        CV_DO(append_structs(builder, &span, err));
        break;
    default:
        append_fixed_width(builder, &span);
    }
    builder->length += count;
    return CV_OK;
}
