/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of manifests and manifest lists, and Iceberg types as Avro schemas (spec: Manifests,
 * Manifest Lists, Appendix A). Order and names are those of the Java library. */
#include "iceberg/manifest_int.h"

#include "codec/utf8.h"

#include <stdio.h>

#define BOOLEAN_TYPE                                                                               \
    {                                                                                              \
        .kind = CV_TYPE_BOOLEAN                                                                    \
    }
#define INT_TYPE                                                                                   \
    {                                                                                              \
        .kind = CV_TYPE_INT                                                                        \
    }
#define LONG_TYPE                                                                                  \
    {                                                                                              \
        .kind = CV_TYPE_LONG                                                                       \
    }
#define STRING_TYPE                                                                                \
    {                                                                                              \
        .kind = CV_TYPE_STRING                                                                     \
    }
#define BINARY_TYPE                                                                                \
    {                                                                                              \
        .kind = CV_TYPE_BINARY                                                                     \
    }
#define REQUIRED(id, name, ...)                                                                    \
    {                                                                                              \
        id, name, true, __VA_ARGS__, NULL, NULL, NULL                                              \
    }
#define OPTIONAL(id, name, ...)                                                                    \
    {                                                                                              \
        id, name, false, __VA_ARGS__, NULL, NULL, NULL                                             \
    }
#define FIELDS(array) .fields = (array), .field_count = CV_ARRAY_LENGTH(array)
#define MAP_OF(pair)                                                                               \
    {                                                                                              \
        .kind = CV_TYPE_MAP, FIELDS(pair)                                                          \
    }
#define LIST_OF(item)                                                                              \
    {                                                                                              \
        .kind = CV_TYPE_LIST, FIELDS(item)                                                         \
    }

static const struct cv_field column_sizes[] = {REQUIRED(117, "key", INT_TYPE),
                                               REQUIRED(118, "value", LONG_TYPE)};
static const struct cv_field value_counts[] = {REQUIRED(119, "key", INT_TYPE),
                                               REQUIRED(120, "value", LONG_TYPE)};
static const struct cv_field null_counts[] = {REQUIRED(121, "key", INT_TYPE),
                                              REQUIRED(122, "value", LONG_TYPE)};
static const struct cv_field nan_counts[] = {REQUIRED(138, "key", INT_TYPE),
                                             REQUIRED(139, "value", LONG_TYPE)};
static const struct cv_field lower_bounds[] = {REQUIRED(126, "key", INT_TYPE),
                                               REQUIRED(127, "value", BINARY_TYPE)};
static const struct cv_field upper_bounds[] = {REQUIRED(129, "key", INT_TYPE),
                                               REQUIRED(130, "value", BINARY_TYPE)};
static const struct cv_field split_offset[] = {REQUIRED(133, "element", LONG_TYPE)};
static const struct cv_field equality_id[] = {REQUIRED(136, "element", INT_TYPE)};

#define METRICS_FIELDS                                                                             \
    OPTIONAL(CV_FILE_COLUMN_SIZES, "column_sizes", MAP_OF(column_sizes)),                          \
        OPTIONAL(CV_FILE_VALUE_COUNTS, "value_counts", MAP_OF(value_counts)),                      \
        OPTIONAL(CV_FILE_NULL_COUNTS, "null_value_counts", MAP_OF(null_counts)),                   \
        OPTIONAL(CV_FILE_NAN_COUNTS, "nan_value_counts", MAP_OF(nan_counts)),                      \
        OPTIONAL(CV_FILE_LOWER_BOUNDS, "lower_bounds", MAP_OF(lower_bounds)),                      \
        OPTIONAL(CV_FILE_UPPER_BOUNDS, "upper_bounds", MAP_OF(upper_bounds)),                      \
        OPTIONAL(CV_FILE_KEY_METADATA, "key_metadata", BINARY_TYPE),                               \
        OPTIONAL(CV_FILE_SPLIT_OFFSETS, "split_offsets", LIST_OF(split_offset))

/* The type of `partition` is put in by cv_manifest_entry_type(). */
static const struct cv_field data_file_v1[] = {
    REQUIRED(CV_FILE_PATH, "file_path", STRING_TYPE),
    REQUIRED(CV_FILE_FORMAT, "file_format", STRING_TYPE),
    REQUIRED(CV_FILE_PARTITION, "partition", {.kind = CV_TYPE_STRUCT}),
    REQUIRED(CV_FILE_RECORD_COUNT, "record_count", LONG_TYPE),
    REQUIRED(CV_FILE_SIZE, "file_size_in_bytes", LONG_TYPE),
    REQUIRED(CV_FILE_BLOCK_SIZE, "block_size_in_bytes", LONG_TYPE),
    METRICS_FIELDS,
    OPTIONAL(CV_FILE_SORT_ORDER_ID, "sort_order_id", INT_TYPE),
};

static const struct cv_field data_file_v2[] = {
    REQUIRED(CV_FILE_CONTENT, "content", INT_TYPE),
    REQUIRED(CV_FILE_PATH, "file_path", STRING_TYPE),
    REQUIRED(CV_FILE_FORMAT, "file_format", STRING_TYPE),
    REQUIRED(CV_FILE_PARTITION, "partition", {.kind = CV_TYPE_STRUCT}),
    REQUIRED(CV_FILE_RECORD_COUNT, "record_count", LONG_TYPE),
    REQUIRED(CV_FILE_SIZE, "file_size_in_bytes", LONG_TYPE),
    METRICS_FIELDS,
    OPTIONAL(CV_FILE_EQUALITY_IDS, "equality_ids", LIST_OF(equality_id)),
    OPTIONAL(CV_FILE_SORT_ORDER_ID, "sort_order_id", INT_TYPE),
    OPTIONAL(CV_FILE_REFERENCED_DATA_FILE, "referenced_data_file", STRING_TYPE),
};

static const struct cv_field entry_v1[] = {
    REQUIRED(CV_ENTRY_STATUS, "status", INT_TYPE),
    REQUIRED(CV_ENTRY_SNAPSHOT_ID, "snapshot_id", LONG_TYPE),
    REQUIRED(CV_ENTRY_DATA_FILE, "data_file", {.kind = CV_TYPE_STRUCT}),
};

static const struct cv_field entry_v2[] = {
    REQUIRED(CV_ENTRY_STATUS, "status", INT_TYPE),
    OPTIONAL(CV_ENTRY_SNAPSHOT_ID, "snapshot_id", LONG_TYPE),
    OPTIONAL(CV_ENTRY_SEQUENCE, "sequence_number", LONG_TYPE),
    OPTIONAL(CV_ENTRY_FILE_SEQUENCE, "file_sequence_number", LONG_TYPE),
    REQUIRED(CV_ENTRY_DATA_FILE, "data_file", {.kind = CV_TYPE_STRUCT}),
};

static const struct cv_field summary_fields[] = {
    REQUIRED(CV_SUMMARY_CONTAINS_NULL, "contains_null", BOOLEAN_TYPE),
    OPTIONAL(CV_SUMMARY_CONTAINS_NAN, "contains_nan", BOOLEAN_TYPE),
    OPTIONAL(CV_SUMMARY_LOWER, "lower_bound", BINARY_TYPE),
    OPTIONAL(CV_SUMMARY_UPPER, "upper_bound", BINARY_TYPE),
};
static const struct cv_field summary[] = {
    REQUIRED(508, "element", {.kind = CV_TYPE_STRUCT, FIELDS(summary_fields)})};

static const struct cv_field list_v1[] = {
    REQUIRED(CV_LIST_PATH, "manifest_path", STRING_TYPE),
    REQUIRED(CV_LIST_LENGTH, "manifest_length", LONG_TYPE),
    REQUIRED(CV_LIST_SPEC_ID, "partition_spec_id", INT_TYPE),
    REQUIRED(CV_LIST_SNAPSHOT_ID, "added_snapshot_id", LONG_TYPE),
    OPTIONAL(CV_LIST_ADDED_FILES, "added_files_count", INT_TYPE),
    OPTIONAL(CV_LIST_EXISTING_FILES, "existing_files_count", INT_TYPE),
    OPTIONAL(CV_LIST_DELETED_FILES, "deleted_files_count", INT_TYPE),
    OPTIONAL(CV_LIST_PARTITIONS, "partitions", LIST_OF(summary)),
    OPTIONAL(CV_LIST_ADDED_ROWS, "added_rows_count", LONG_TYPE),
    OPTIONAL(CV_LIST_EXISTING_ROWS, "existing_rows_count", LONG_TYPE),
    OPTIONAL(CV_LIST_DELETED_ROWS, "deleted_rows_count", LONG_TYPE),
    OPTIONAL(CV_LIST_KEY_METADATA, "key_metadata", BINARY_TYPE),
};

static const struct cv_field list_v2[] = {
    REQUIRED(CV_LIST_PATH, "manifest_path", STRING_TYPE),
    REQUIRED(CV_LIST_LENGTH, "manifest_length", LONG_TYPE),
    REQUIRED(CV_LIST_SPEC_ID, "partition_spec_id", INT_TYPE),
    REQUIRED(CV_LIST_CONTENT, "content", INT_TYPE),
    REQUIRED(CV_LIST_SEQUENCE, "sequence_number", LONG_TYPE),
    REQUIRED(CV_LIST_MIN_SEQUENCE, "min_sequence_number", LONG_TYPE),
    REQUIRED(CV_LIST_SNAPSHOT_ID, "added_snapshot_id", LONG_TYPE),
    REQUIRED(CV_LIST_ADDED_FILES, "added_files_count", INT_TYPE),
    REQUIRED(CV_LIST_EXISTING_FILES, "existing_files_count", INT_TYPE),
    REQUIRED(CV_LIST_DELETED_FILES, "deleted_files_count", INT_TYPE),
    REQUIRED(CV_LIST_ADDED_ROWS, "added_rows_count", LONG_TYPE),
    REQUIRED(CV_LIST_EXISTING_ROWS, "existing_rows_count", LONG_TYPE),
    REQUIRED(CV_LIST_DELETED_ROWS, "deleted_rows_count", LONG_TYPE),
    OPTIONAL(CV_LIST_PARTITIONS, "partitions", LIST_OF(summary)),
    OPTIONAL(CV_LIST_KEY_METADATA, "key_metadata", BINARY_TYPE),
};

const struct cv_type *cv_manifest_list_type(int format_version)
{
    static const struct cv_type v1 = {.kind = CV_TYPE_STRUCT, FIELDS(list_v1)};
    static const struct cv_type v2 = {.kind = CV_TYPE_STRUCT, FIELDS(list_v2)};

    return format_version == 1 ? &v1 : &v2;
}

/* A copy of the fields in which the field `id` has the type. */
static struct cv_type struct_with(const struct cv_field *fields, size_t count, int32_t id,
                                  const struct cv_type *type, struct cv_arena *arena)
{
    struct cv_field *copy = cv_arena_copy(arena, fields, count * sizeof *fields);

    for (size_t i = 0; i < count; i++)
        if (copy[i].id == id)
            copy[i].type = *type;
    return (struct cv_type){.kind = CV_TYPE_STRUCT, .fields = copy, .field_count = count};
}

struct cv_type cv_manifest_entry_type(int format_version, const struct cv_type *partition,
                                      struct cv_arena *arena)
{
    struct cv_type file;

    if (format_version == 1) {
        file = struct_with(data_file_v1, CV_ARRAY_LENGTH(data_file_v1), CV_FILE_PARTITION,
                           partition, arena);
        return struct_with(entry_v1, CV_ARRAY_LENGTH(entry_v1), CV_ENTRY_DATA_FILE, &file, arena);
    }
    file = struct_with(data_file_v2, CV_ARRAY_LENGTH(data_file_v2), CV_FILE_PARTITION, partition,
                       arena);
    return struct_with(entry_v2, CV_ARRAY_LENGTH(entry_v2), CV_ENTRY_DATA_FILE, &file, arena);
}

struct cv_type cv_partition_struct(const struct cv_partition_spec *spec,
                                   const struct cv_type *types, struct cv_arena *arena)
{
    struct cv_field *fields = cv_arena_array(arena, struct cv_field, spec->field_count);

    for (size_t i = 0; i < spec->field_count; i++)
        fields[i] = (struct cv_field){
            .id = spec->fields[i].field_id, .name = spec->fields[i].name, .type = types[i]};
    return (struct cv_type){
        .kind = CV_TYPE_STRUCT, .fields = fields, .field_count = spec->field_count};
}

static bool is_letter(unsigned c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

void cv_avro_name(const char *name, struct cv_buf *out)
{
    const char *at = name;
    const char *end = name + strlen(name);

    while (at < end) {
        bool first = at == name;
        uint32_t point = cv_utf8_next(&at, end);
        bool digit = point >= '0' && point <= '9';

        if (digit && first)
            cv_buf_append_byte(out, '_');
        if (digit || is_letter(point))
            cv_buf_append_byte(out, (uint8_t)point);
        else if (point > 0xffff) /* as UTF-16 units */
            cv_buf_printf(out, "_x%X_x%X", 0xd7c0 + (point >> 10), 0xdc00 + (point & 0x3ff));
        else
            cv_buf_printf(out, "_x%X", point);
    }
}

static void write_type(const struct cv_type *type, int32_t field_id, bool used, struct cv_buf *out);

static void write_text(const char *text, struct cv_buf *out)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);

    cv_json_put_string(&w, text);
}

static bool is_named(const struct cv_type *type)
{
    return type->kind == CV_TYPE_DECIMAL || type->kind == CV_TYPE_UUID ||
           type->kind == CV_TYPE_FIXED;
}

static bool same_name(const struct cv_type *a, const struct cv_type *b)
{
    return a->kind == b->kind && a->precision == b->precision && a->scale == b->scale &&
           a->length == b->length;
}

/* A named type may be defined once in a schema, and not every reader follows a name to its earlier
 * definition, so a type that an earlier field of the struct has gets a name of its own. Only
 * partition structs hold such types. */
static bool name_used_before(const struct cv_type *type, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (is_named(&type->fields[i].type) &&
            same_name(&type->fields[i].type, &type->fields[index].type))
            return true;
    return false;
}

/* Two names may be escaped to one; readers go by the field id, so the later gets it as a suffix. */
static bool name_taken(const struct cv_type *type, size_t index, struct cv_buf *name)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf other = CV_BUF_INIT(0);

    for (size_t i = 0; i < index; i++) {
        cv_buf_clear(&other);
        cv_avro_name(type->fields[i].name, &other);
        if (other.length == name->length && memcmp(other.data, name->data, name->length) == 0)
            return true;
    }
    return false;
}

static void write_field(const struct cv_type *type, size_t index, struct cv_buf *out)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf name = CV_BUF_INIT(0);
    const struct cv_field *field = &type->fields[index];

    cv_avro_name(field->name, &name);
    if (name_taken(type, index, &name))
        cv_buf_printf(&name, "_%d", field->id);
    cv_buf_append_text(out, "{\"name\":");
    write_text(cv_buf_text(&name), out);
    cv_buf_append_text(out, field->required ? ",\"type\":" : ",\"type\":[\"null\",");
    write_type(&field->type, field->id, name_used_before(type, index), out);
    cv_buf_append_text(out, field->required ? "" : "],\"default\":null");
    cv_buf_printf(out, ",\"field-id\":%d", field->id);
    if (strcmp(cv_buf_text(&name), field->name) != 0) {
        cv_buf_append_text(out, ",\"iceberg-field-name\":");
        write_text(field->name, out);
    }
    cv_buf_append_byte(out, '}');
}

void cv_avro_record_write_json(const char *name, const struct cv_type *type, struct cv_buf *out)
{
    cv_buf_printf(out, "{\"type\":\"record\",\"name\":\"%s\",\"fields\":[", name);
    for (size_t i = 0; i < type->field_count; i++) {
        if (i)
            cv_buf_append_byte(out, ',');
        write_field(type, i, out);
    }
    cv_buf_append_text(out, "]}");
}

static void write_fixed(const struct cv_type *type, int32_t field_id, bool used, struct cv_buf *out)
{
    cv_buf_append_text(out, "{\"type\":\"fixed\",\"name\":\"");
    if (type->kind == CV_TYPE_DECIMAL)
        cv_buf_printf(out, "decimal_%d_%d", type->precision, type->scale);
    else if (type->kind == CV_TYPE_FIXED)
        cv_buf_printf(out, "fixed_%u", type->length);
    else
        cv_buf_append_text(out, "uuid_fixed");
    if (used)
        cv_buf_printf(out, "_%d", field_id);
    cv_buf_append_text(out, "\",\"size\":");
    if (type->kind == CV_TYPE_DECIMAL)
        cv_buf_printf(out, "%zu,\"logicalType\":\"decimal\",\"precision\":%d,\"scale\":%d}",
                      cv_decimal_fixed_bytes(type->precision), type->precision, type->scale);
    else if (type->kind == CV_TYPE_UUID)
        cv_buf_append_text(out, "16,\"logicalType\":\"uuid\"}");
    else
        cv_buf_printf(out, "%u}", type->length);
}

static void write_nested(const struct cv_type *type, int32_t field_id, struct cv_buf *out)
{
    char name[64];

    if (type->kind == CV_TYPE_STRUCT) {
        (void)snprintf(name, sizeof name, "r%d", field_id);
        cv_avro_record_write_json(name, type, out);
    } else if (type->kind == CV_TYPE_LIST) {
        cv_buf_append_text(out, "{\"type\":\"array\",\"items\":");
        write_type(&type->fields[0].type, type->fields[0].id, false, out);
        cv_buf_printf(out, ",\"element-id\":%d}", type->fields[0].id);
    } else {
        (void)snprintf(name, sizeof name, "k%d_v%d", type->fields[0].id, type->fields[1].id);
        cv_buf_append_text(out, "{\"type\":\"array\",\"items\":");
        cv_avro_record_write_json(name, type, out);
        cv_buf_append_text(out, ",\"logicalType\":\"map\"}");
    }
}

static void write_type(const struct cv_type *type, int32_t field_id, bool used, struct cv_buf *out)
{
    static const char *const plain[] = {
        [CV_TYPE_BOOLEAN] = "\"boolean\"",
        [CV_TYPE_INT] = "\"int\"",
        [CV_TYPE_LONG] = "\"long\"",
        [CV_TYPE_FLOAT] = "\"float\"",
        [CV_TYPE_DOUBLE] = "\"double\"",
        [CV_TYPE_DATE] = "{\"type\":\"int\",\"logicalType\":\"date\"}",
        [CV_TYPE_TIME] = "{\"type\":\"long\",\"logicalType\":\"time-micros\"}",
        [CV_TYPE_TIMESTAMP] =
            "{\"type\":\"long\",\"logicalType\":\"timestamp-micros\",\"adjust-to-utc\":false}",
        [CV_TYPE_TIMESTAMPTZ] =
            "{\"type\":\"long\",\"logicalType\":\"timestamp-micros\",\"adjust-to-utc\":true}",
        [CV_TYPE_STRING] = "\"string\"",
        [CV_TYPE_BINARY] = "\"bytes\"",
        [CV_TYPE_MAP] = NULL,
    };

    if (is_named(type))
        write_fixed(type, field_id, used, out);
    else if (cv_type_is_nested(type))
        write_nested(type, field_id, out);
    else
        cv_buf_append_text(out, plain[type->kind]);
}
