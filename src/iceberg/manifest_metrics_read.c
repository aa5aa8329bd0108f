/* SPDX-License-Identifier: Apache-2.0
 *
 * Column metrics and partition values of manifest entries. */
#include "iceberg/manifest_read_int.h"

#include <stdlib.h>

void cv_metrics_reader_release(struct cv_metrics_reader *reader)
{
    free(reader->columns);
}

/* The column's entry, made when it is new; NULL above the limit. Maps come in ascending order from
 * most writers, so the place after the last one is tried first. */
static struct cv_column_metrics *column_of(struct cv_metrics_reader *reader, int32_t id)
{
    size_t low = 0;
    size_t high = reader->count;

    if (reader->next < high && reader->columns[reader->next].field_id == id)
        return &reader->columns[reader->next++];
    if (high > 0 && reader->columns[high - 1].field_id < id)
        low = high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (reader->columns[middle].field_id < id)
            low = middle + 1;
        else
            high = middle;
    }
    reader->next = low + 1;
    if (low < reader->count && reader->columns[low].field_id == id)
        return &reader->columns[low];
    if (reader->count == CV_FIELDS_MAX)
        return NULL;
    cv_array_reserve(&reader->columns, &reader->capacity, reader->count + 1);
    memmove(reader->columns + low + 1, reader->columns + low,
            (reader->count - low) * sizeof *reader->columns);
    reader->count++;
    reader->columns[low] = (struct cv_column_metrics){
        .field_id = id, .column_size = -1, .value_count = -1, .null_count = -1, .nan_count = -1};
    return &reader->columns[low];
}

static bool take_count(struct cv_avro_source *source, const struct cv_avro_type *type,
                       struct cv_column_metrics *column, int32_t field_id)
{
    bool is_null;
    int64_t value;

    if (!cv_avro_take_long(source, type, &is_null, &value))
        return false;
    if (is_null || value < 0)
        return true;
    if (field_id == CV_FILE_COLUMN_SIZES)
        column->column_size = value;
    else if (field_id == CV_FILE_VALUE_COUNTS)
        column->value_count = value;
    else if (field_id == CV_FILE_NULL_COUNTS)
        column->null_count = value;
    else
        column->nan_count = value;
    return true;
}

static bool take_bound(struct cv_avro_source *source, const struct cv_avro_type *type,
                       struct cv_column_metrics *column, int32_t field_id, struct cv_arena *arena)
{
    struct cv_str bytes;

    if (!cv_avro_take_bytes(source, type, &bytes))
        return false;
    if (bytes.ptr)
        bytes.ptr = cv_arena_strndup(arena, bytes.ptr, bytes.length);
    if (field_id == CV_FILE_LOWER_BOUNDS)
        column->lower = bytes;
    else
        column->upper = bytes;
    return true;
}

/* One record {key, value}. */
static bool take_pair(struct cv_metrics_reader *reader, struct cv_avro_source *source,
                      const struct cv_avro_type *pair, int32_t field_id, struct cv_arena *arena)
{
    struct cv_column_metrics *column;
    bool is_null;
    int64_t key;

    if (!cv_avro_take_long(source, pair->fields[0].type, &is_null, &key) || is_null || key < 0 ||
        key > INT32_MAX)
        return false;
    column = column_of(reader, (int32_t)key);
    if (!column)
        return false;
    if (field_id == CV_FILE_LOWER_BOUNDS || field_id == CV_FILE_UPPER_BOUNDS)
        return take_bound(source, pair->fields[1].type, column, field_id, arena);
    return take_count(source, pair->fields[1].type, column, field_id);
}

bool cv_metrics_take_map(struct cv_metrics_reader *reader, struct cv_avro_source *source,
                         const struct cv_avro_type *type, int32_t field_id, struct cv_arena *arena)
{
    uint64_t items;

    type = cv_avro_take_branch(source, type);
    if (!type || type->kind == CV_AVRO_NULL)
        return type != NULL;
    if (type->kind != CV_AVRO_ARRAY || type->items->kind != CV_AVRO_RECORD ||
        type->items->field_count != 2)
        return false;
    reader->next = 0;
    for (;;) {
        if (!cv_avro_take_block(source, &items))
            return false;
        if (items == 0)
            return true;
        for (; items; items--)
            if (!take_pair(reader, source, type->items, field_id, arena))
                return false;
    }
}

struct cv_type cv_partition_type_of_avro(const struct cv_avro_type *avro)
{
    avro = cv_avro_strip(avro);
    if (avro->logical == CV_AVRO_LOGICAL_DECIMAL && avro->precision > 0 && avro->precision <= 38)
        return (struct cv_type){.kind = CV_TYPE_DECIMAL,
                                .precision = (uint8_t)avro->precision,
                                .scale = (uint8_t)avro->scale};
    switch (avro->kind) {
    case CV_AVRO_BOOLEAN:
        return (struct cv_type){.kind = CV_TYPE_BOOLEAN};
    case CV_AVRO_LONG:
        if (avro->logical == CV_AVRO_LOGICAL_TIME_MICROS)
            return (struct cv_type){.kind = CV_TYPE_TIME};
        if (avro->logical == CV_AVRO_LOGICAL_TIMESTAMP_MICROS)
            return (struct cv_type){.kind = avro->adjust_to_utc ? CV_TYPE_TIMESTAMPTZ
                                                                : CV_TYPE_TIMESTAMP};
        return (struct cv_type){.kind = CV_TYPE_LONG};
    case CV_AVRO_FLOAT:
        return (struct cv_type){.kind = CV_TYPE_FLOAT};
    case CV_AVRO_DOUBLE:
        return (struct cv_type){.kind = CV_TYPE_DOUBLE};
    case CV_AVRO_STRING:
        return (struct cv_type){.kind = CV_TYPE_STRING};
    case CV_AVRO_BYTES:
        return (struct cv_type){.kind = CV_TYPE_BINARY};
    case CV_AVRO_FIXED:
        if (avro->logical == CV_AVRO_LOGICAL_UUID)
            return (struct cv_type){.kind = CV_TYPE_UUID};
        return (struct cv_type){.kind = CV_TYPE_FIXED, .length = avro->size};
    default:
        return (struct cv_type){.kind = avro->logical == CV_AVRO_LOGICAL_DATE ? CV_TYPE_DATE
                                                                              : CV_TYPE_INT};
    }
}

static bool take_number(struct cv_avro_source *source, const struct cv_type *type,
                        struct cv_value *value)
{
    int64_t number;

    if (!cv_avro_read_long(&source->in, &number))
        return false;
    switch (type->kind) {
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        value->i32 = (int32_t)number;
        return number >= INT32_MIN && number <= INT32_MAX;
    case CV_TYPE_LONG:
    case CV_TYPE_TIME:
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        value->i64 = number;
        return true;
    default:
        return false;
    }
}

static bool take_floating(struct cv_avro_source *source, const struct cv_avro_type *avro,
                          const struct cv_type *type, struct cv_value *value)
{
    const uint8_t *bytes;
    bool is_float = avro->kind == CV_AVRO_FLOAT;
    float narrow;

    if (!cv_avro_read_raw(&source->in, is_float ? 4 : 8, &bytes))
        return false;
    if (is_float)
        memcpy(&narrow, bytes, 4);
    if (type->kind == CV_TYPE_FLOAT && is_float)
        value->f32 = narrow;
    else if (type->kind == CV_TYPE_DOUBLE && is_float)
        value->f64 = (double)narrow;
    else if (type->kind == CV_TYPE_DOUBLE)
        memcpy(&value->f64, bytes, 8);
    else
        return false;
    return true;
}

static bool decimal_of(struct cv_str bytes, cv_wide_int *ret_unscaled)
{
    const unsigned char *p = (const unsigned char *)bytes.ptr;
    cv_wide_int unscaled = bytes.length && p[0] & 0x80 ? -1 : 0;

    if (bytes.length == 0 || bytes.length > 16)
        return false;
    for (size_t i = 0; i < bytes.length; i++)
        unscaled = (cv_wide_int)((unsigned __int128)unscaled << 8 | p[i]);
    *ret_unscaled = unscaled;
    return true;
}

static bool keep_bytes(struct cv_str bytes, const struct cv_type *type, struct cv_arena *arena,
                       struct cv_value *value)
{
    uint8_t uuid[16];

    if (type->kind == CV_TYPE_UUID && bytes.length == 36 && cv_parse_uuid(bytes, uuid))
        bytes = (struct cv_str){(const char *)uuid, 16};
    switch (type->kind) {
    case CV_TYPE_DECIMAL:
        return decimal_of(bytes, &value->decimal);
    case CV_TYPE_UUID:
    case CV_TYPE_FIXED:
        if (bytes.length != (type->kind == CV_TYPE_UUID ? 16 : type->length))
            return false;
        break;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
        break;
    default:
        return false;
    }
    value->bytes = (struct cv_str){cv_arena_strndup(arena, bytes.ptr, bytes.length), bytes.length};
    return true;
}

bool cv_partition_take_value(struct cv_avro_source *source, const struct cv_avro_type *avro,
                             const struct cv_type *type, struct cv_arena *arena,
                             struct cv_value *ret_value)
{
    struct cv_str bytes;
    const uint8_t *byte;

    avro = cv_avro_take_branch(source, avro);
    if (!avro)
        return false;
    *ret_value = (struct cv_value){.kind = type->kind, .is_null = avro->kind == CV_AVRO_NULL};
    switch (avro->kind) {
    case CV_AVRO_NULL:
        return true;
    case CV_AVRO_BOOLEAN:
        if (type->kind != CV_TYPE_BOOLEAN || !cv_avro_read_raw(&source->in, 1, &byte))
            return false;
        ret_value->boolean = *byte == 1;
        return *byte <= 1;
    case CV_AVRO_INT:
    case CV_AVRO_LONG:
        return take_number(source, type, ret_value);
    case CV_AVRO_FLOAT:
    case CV_AVRO_DOUBLE:
        return take_floating(source, avro, type, ret_value);
    default:
        return cv_avro_take_bytes(source, avro, &bytes) &&
               keep_bytes(bytes, type, arena, ret_value);
    }
}
