/* SPDX-License-Identifier: Apache-2.0
 *
 * The columns of Spark's Kafka source, with and without a cast. */
#include "decode/assign.h"

#include "base/time.h"
#include "codec/utf8.h"

static const struct cv_field header_fields[2] = {
    {.id = 2, .name = "key", .type = {.kind = CV_TYPE_STRING}},
    {.id = 3, .name = "value", .type = {.kind = CV_TYPE_BINARY}},
};
static const struct cv_field header_element = {
    .id = 1,
    .name = "element",
    .type = {.kind = CV_TYPE_STRUCT, .fields = header_fields, .field_count = 2},
};

struct cv_type cv_kafka_column_type(enum cv_kafka_column column, const struct cv_format_ops *format)
{
    static const enum cv_type_kind kinds[CV_KAFKA_COLUMNS] = {
        CV_TYPE_BINARY, CV_TYPE_BINARY,      CV_TYPE_STRING, CV_TYPE_INT,
        CV_TYPE_LONG,   CV_TYPE_TIMESTAMPTZ, CV_TYPE_INT,    CV_TYPE_LIST,
    };
    struct cv_type type = {.kind = kinds[column]};

    if (column == CV_KAFKA_KEY)
        type.kind = format->key_kind;
    if (column == CV_KAFKA_VALUE)
        type.kind = format->value_kind;
    if (column == CV_KAFKA_HEADERS) {
        type.fields = &header_element;
        type.field_count = 1;
    }
    return type;
}

static struct cv_value bytes_value(enum cv_type_kind kind, const void *bytes, size_t length)
{
    return (struct cv_value){
        .is_null = !bytes, .kind = kind, .bytes = {(const char *)bytes, bytes ? length : 0}};
}

static struct cv_value column_value(const struct cv_feed *feed, const struct cv_record *record)
{
    enum cv_type_kind kind = feed->source_type.kind;
    struct cv_value value = {.kind = kind};

    switch (feed->column) {
    case CV_KAFKA_KEY:
        return bytes_value(kind, record->key, record->key_length);
    case CV_KAFKA_VALUE:
        return bytes_value(kind, record->value, record->value_length);
    case CV_KAFKA_TOPIC:
        return bytes_value(kind, record->source->topic, strlen(record->source->topic));
    case CV_KAFKA_PARTITION:
        value.i32 = record->source->partition;
        break;
    case CV_KAFKA_OFFSET:
        value.i64 = record->offset;
        break;
    case CV_KAFKA_TIMESTAMP:
        (void)__builtin_mul_overflow(record->timestamp_ms, CV_US_PER_MS, &value.i64);
        break;
    default:
        value.i32 = record->timestamp_type;
    }
    return value;
}

/* A producer may write any 64 bits as the time of its record. */
static bool check_timestamp(struct cv_decode_worker *worker, const struct cv_record *record)
{
    int64_t us;

    if (!__builtin_mul_overflow(record->timestamp_ms, CV_US_PER_MS, &us))
        return true;
    cv_decode_fault_set(worker, cv_kafka_column_name(CV_KAFKA_TIMESTAMP),
                        "%lld ms do not fit a timestamp", (long long)record->timestamp_ms);
    return false;
}

/* NULL, not empty, when the record has none. */
static bool append_headers(struct cv_decode_worker *worker, struct cv_builder *list,
                           const struct cv_record *record)
{
    struct cv_builder *element = &list->children[0];
    struct cv_value value;

    if (record->header_count == 0) {
        cv_builder_null(list);
        return true;
    }
    for (size_t i = 0; i < record->header_count; i++) {
        if (!cv_utf8_valid(record->headers[i].key.ptr, record->headers[i].key.length)) {
            cv_decode_fault_set(worker, "headers", "a key is not valid UTF-8");
            return false;
        }
    }
    for (size_t i = 0; i < record->header_count; i++) {
        const struct cv_header *header = &record->headers[i];

        cv_builder_bytes(&element->children[0], header->key.ptr, header->key.length);
        value = bytes_value(CV_TYPE_BINARY, header->value, header->value_length);
        cv_builder_append_value(&element->children[1], &value);
        cv_builder_end_struct(element);
    }
    cv_builder_end_list(list);
    return true;
}

/* From the source's type through the cast into the column's. */
static bool convert(struct cv_decode_worker *worker, const struct cv_feed *feed,
                    const struct cv_type *column, struct cv_value *value)
{
    char reason[CV_CAST_REASON_BYTES];
    struct cv_value out;

    if (feed->cast != CV_SELECT_ASSIGN) {
        if (!cv_cast_value(value, &feed->source_type, &feed->cast_type, &worker->scratch, &out,
                           reason)) {
            if (feed->cast == CV_SELECT_TRY_CAST) {
                value->is_null = true;
                return true;
            }
            cv_decode_fault_set(worker, cv_kafka_column_name(feed->column), "%s", reason);
            return false;
        }
        *value = out;
    } else if (feed->source_type.kind == CV_TYPE_STRING && !value->is_null &&
               !cv_utf8_valid(value->bytes.ptr, value->bytes.length)) {
        cv_decode_fault_set(worker, cv_kafka_column_name(feed->column), "not valid UTF-8");
        return false;
    }
    if (value->is_null || feed->cast_type.kind == column->kind)
        return true;
    if (feed->cast_type.kind == CV_TYPE_INT && column->kind == CV_TYPE_LONG)
        value->i64 = value->i32;
    else if (feed->cast_type.kind == CV_TYPE_FLOAT && column->kind == CV_TYPE_DOUBLE)
        value->f64 = (double)value->f32;
    return true; /* timestamptz → timestamp: the same number */
}

bool cv_kafka_column_append(struct cv_decode_worker *worker, size_t index,
                            const struct cv_record *record)
{
    const struct cv_feed *feed = &worker->decoder->feeds[index];
    struct cv_builder *builder = &worker->builder.columns[index];
    struct cv_value value;

    if (feed->column == CV_KAFKA_HEADERS)
        return append_headers(worker, builder, record);
    if (feed->column == CV_KAFKA_TIMESTAMP && !check_timestamp(worker, record))
        return false;
    value = column_value(feed, record);
    if (!convert(worker, feed, builder->type, &value))
        return false;
    cv_builder_append_value(builder, &value);
    return true;
}
