/* SPDX-License-Identifier: Apache-2.0
 *
 * The Iceberg schema as Parquet sees it: levels of every field, leaves with their physical types,
 * and the schema elements of the footer (reference: Iceberg spec, Parquet; Parquet LogicalTypes).
 */
#include "parquet/writer_int.h"

#include "schema/value.h"

#include <assert.h>

enum repetition {
    REQUIRED = 0,
    OPTIONAL = 1,
    REPEATED = 2,
};

enum converted {
    CONVERTED_UTF8 = 0,
    CONVERTED_MAP = 1,
    CONVERTED_LIST = 3,
    CONVERTED_DECIMAL = 5,
    CONVERTED_DATE = 6,
    CONVERTED_TIMESTAMP_MICROS = 10,
};

/* Field ids of the union LogicalType. */
enum logical {
    LOGICAL_STRING = 1,
    LOGICAL_MAP = 2,
    LOGICAL_LIST = 3,
    LOGICAL_DECIMAL = 5,
    LOGICAL_DATE = 6,
    LOGICAL_TIME = 7,
    LOGICAL_TIMESTAMP = 8,
    LOGICAL_UUID = 14,
};

enum cv_parquet_type cv_parquet_physical_type(const struct cv_type *type)
{
    switch (type->kind) {
    case CV_TYPE_BOOLEAN:
        return CV_PARQUET_BOOLEAN;
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        return CV_PARQUET_INT32;
    case CV_TYPE_LONG:
    case CV_TYPE_TIME:
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        return CV_PARQUET_INT64;
    case CV_TYPE_FLOAT:
        return CV_PARQUET_FLOAT;
    case CV_TYPE_DOUBLE:
        return CV_PARQUET_DOUBLE;
    case CV_TYPE_DECIMAL:
        if (type->precision <= 9)
            return CV_PARQUET_INT32;
        return type->precision <= 18 ? CV_PARQUET_INT64 : CV_PARQUET_FIXED_LEN_BYTE_ARRAY;
    case CV_TYPE_UUID:
    case CV_TYPE_FIXED:
        return CV_PARQUET_FIXED_LEN_BYTE_ARRAY;
    default:
        return CV_PARQUET_BYTE_ARRAY;
    }
}

size_t cv_parquet_plain_width(const struct cv_type *type)
{
    if (type->kind == CV_TYPE_DECIMAL && type->precision > 18)
        return cv_decimal_fixed_bytes(type->precision);
    return cv_type_width(type);
}

/* Where the plan stands on its way down. */
struct place {
    const char *path; /* dotted, NULL at the top */
    const char **names;
    size_t name_count;
    uint8_t definition;
    uint8_t repetition;
    bool repeated;
};

static void plan_leaf(struct cv_parquet_writer *writer, struct cv_node *node,
                      const struct place *place, const struct cv_metrics_config *metrics)
{
    struct cv_leaf *leaf = &writer->leaves[writer->leaf_count++];
    const struct cv_type *type = &node->field->type;

    node->leaf = leaf;
    *leaf = (struct cv_leaf){
        .field = node->field,
        .path = node->path,
        .name_count = place->name_count,
        .names = cv_arena_copy(&writer->plan, (const void *)place->names,
                               place->name_count * sizeof *place->names),
        .physical = cv_parquet_physical_type(type),
        .order = cv_bounds_order_of(type),
        .width = cv_parquet_plain_width(type),
        .definition_max = node->definition,
        .repetition_max = node->repetition,
        .repeated = place->repeated,
        .definition_bits = node->definition == 1,
        .mode = cv_metrics_mode_of(metrics, node->field->id),
    };
    leaf->dictionary.width = leaf->width;
    leaf->dictionary.words = leaf->width && leaf->physical != CV_PARQUET_FIXED_LEN_BYTE_ARRAY;
}

static void plan_node(struct cv_parquet_writer *writer, struct cv_node *node,
                      const struct cv_field *field, struct place place,
                      const struct cv_metrics_config *metrics)
{
    const struct cv_type *type = &field->type;
    bool repeats = type->kind == CV_TYPE_LIST || type->kind == CV_TYPE_MAP;

    node->field = field;
    node->path =
        place.path ? cv_arena_printf(&writer->plan, "%s.%s", place.path, field->name) : field->name;
    node->definition = (uint8_t)(place.definition + !field->required);
    node->repetition = place.repetition;
    place.names[place.name_count++] = field->name;
    if (!cv_type_is_nested(type)) {
        plan_leaf(writer, node, &place, metrics);
        return;
    }
    place.path = node->path;
    place.definition = (uint8_t)(node->definition + repeats);
    place.repetition = (uint8_t)(node->repetition + repeats);
    place.repeated |= repeats;
    if (repeats)
        place.names[place.name_count++] = type->kind == CV_TYPE_LIST ? "list" : "key_value";
    node->child_count = type->field_count;
    node->children = cv_arena_array(&writer->plan, struct cv_node, type->field_count);
    for (size_t i = 0; i < type->field_count; i++)
        plan_node(writer, &node->children[i], &type->fields[i], place, metrics);
}

void cv_parquet_plan(struct cv_parquet_writer *writer, const struct cv_metrics_config *metrics)
{
    const struct cv_type *root = &writer->schema->root;
    const char *names[2 * (CV_DEPTH_MAX + 2)];
    struct place top = {.names = names};
    size_t leaf_count = cv_type_leaf_count(root);

    writer->leaves = cv_arena_array(&writer->plan, struct cv_leaf, leaf_count);
    writer->column_count = root->field_count;
    writer->columns = cv_arena_array(&writer->plan, struct cv_node, root->field_count);
    for (size_t i = 0; i < root->field_count; i++)
        plan_node(writer, &writer->columns[i], &root->fields[i], top, metrics);
    assert(writer->leaf_count == leaf_count);
}

static void write_empty_logical(struct cv_thrift_writer *thrift, enum logical which)
{
    cv_thrift_field_struct(thrift, (int16_t)which);
    cv_thrift_end_struct(thrift);
}

/* TimeType and TimestampType: 1 isAdjustedToUTC, 2 unit = MICROS (field 2 of the union). */
static void write_time_logical(struct cv_thrift_writer *thrift, enum logical which, bool utc)
{
    cv_thrift_field_struct(thrift, (int16_t)which);
    cv_thrift_field_bool(thrift, 1, utc);
    cv_thrift_field_struct(thrift, 2);
    cv_thrift_field_struct(thrift, 2);
    cv_thrift_end_struct(thrift);
    cv_thrift_end_struct(thrift);
    cv_thrift_end_struct(thrift);
}

static void write_logical(struct cv_thrift_writer *thrift, const struct cv_type *type)
{
    switch (type->kind) {
    case CV_TYPE_STRING:
        write_empty_logical(thrift, LOGICAL_STRING);
        return;
    case CV_TYPE_UUID:
        write_empty_logical(thrift, LOGICAL_UUID);
        return;
    case CV_TYPE_LIST:
        write_empty_logical(thrift, LOGICAL_LIST);
        return;
    case CV_TYPE_MAP:
        write_empty_logical(thrift, LOGICAL_MAP);
        return;
    case CV_TYPE_DATE:
        write_empty_logical(thrift, LOGICAL_DATE);
        return;
    case CV_TYPE_TIME:
        write_time_logical(thrift, LOGICAL_TIME, false);
        return;
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        write_time_logical(thrift, LOGICAL_TIMESTAMP, type->kind == CV_TYPE_TIMESTAMPTZ);
        return;
    case CV_TYPE_DECIMAL:
        cv_thrift_field_struct(thrift, LOGICAL_DECIMAL);
        cv_thrift_field_i32(thrift, 1, type->scale);
        cv_thrift_field_i32(thrift, 2, type->precision);
        cv_thrift_end_struct(thrift);
        return;
    default:
        return;
    }
}

static bool has_logical(const struct cv_type *type)
{
    switch (type->kind) {
    case CV_TYPE_STRING:
    case CV_TYPE_UUID:
    case CV_TYPE_LIST:
    case CV_TYPE_MAP:
    case CV_TYPE_DATE:
    case CV_TYPE_TIME:
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
    case CV_TYPE_DECIMAL:
        return true;
    default:
        return false;
    }
}

/* -1: no legacy type means the same (a time or timestamp without zone has none). */
static int32_t converted_of(const struct cv_type *type)
{
    switch (type->kind) {
    case CV_TYPE_STRING:
        return CONVERTED_UTF8;
    case CV_TYPE_LIST:
        return CONVERTED_LIST;
    case CV_TYPE_MAP:
        return CONVERTED_MAP;
    case CV_TYPE_DATE:
        return CONVERTED_DATE;
    case CV_TYPE_DECIMAL:
        return CONVERTED_DECIMAL;
    case CV_TYPE_TIMESTAMPTZ:
        return CONVERTED_TIMESTAMP_MICROS;
    default:
        return -1;
    }
}

/* SchemaElement: 1 type, 2 type_length, 3 repetition_type, 4 name, 5 num_children,
 * 6 converted_type, 7 scale, 8 precision, 9 field_id, 10 logicalType. */
static void write_field(struct cv_thrift_writer *thrift, const struct cv_field *field)
{
    const struct cv_type *type = &field->type;
    bool struct_type = type->kind == CV_TYPE_STRUCT;
    int32_t converted = converted_of(type);

    cv_thrift_begin_struct(thrift);
    if (!cv_type_is_nested(type)) {
        cv_thrift_field_i32(thrift, 1, (int32_t)cv_parquet_physical_type(type));
        if (cv_parquet_physical_type(type) == CV_PARQUET_FIXED_LEN_BYTE_ARRAY)
            cv_thrift_field_i32(thrift, 2, (int32_t)cv_parquet_plain_width(type));
    }
    cv_thrift_field_i32(thrift, 3, field->required ? REQUIRED : OPTIONAL);
    cv_thrift_field_string(thrift, 4, field->name);
    if (cv_type_is_nested(type))
        cv_thrift_field_i32(thrift, 5, struct_type ? (int32_t)type->field_count : 1);
    if (converted >= 0)
        cv_thrift_field_i32(thrift, 6, converted);
    if (type->kind == CV_TYPE_DECIMAL) {
        cv_thrift_field_i32(thrift, 7, type->scale);
        cv_thrift_field_i32(thrift, 8, type->precision);
    }
    cv_thrift_field_i32(thrift, 9, field->id);
    if (has_logical(type)) {
        cv_thrift_field_struct(thrift, 10);
        write_logical(thrift, type);
        cv_thrift_end_struct(thrift);
    }
    cv_thrift_end_struct(thrift);
    if (type->kind == CV_TYPE_LIST || type->kind == CV_TYPE_MAP) {
        cv_thrift_begin_struct(thrift);
        cv_thrift_field_i32(thrift, 3, REPEATED);
        cv_thrift_field_string(thrift, 4, type->kind == CV_TYPE_LIST ? "list" : "key_value");
        cv_thrift_field_i32(thrift, 5, (int32_t)type->field_count);
        cv_thrift_end_struct(thrift);
    }
    for (size_t i = 0; i < type->field_count; i++)
        write_field(thrift, &type->fields[i]);
}

static size_t count_elements(const struct cv_type *type)
{
    size_t count = type->kind == CV_TYPE_LIST || type->kind == CV_TYPE_MAP;

    for (size_t i = 0; i < type->field_count; i++)
        count += 1 + count_elements(&type->fields[i].type);
    return count;
}

void cv_parquet_write_schema(const struct cv_parquet_writer *writer,
                             struct cv_thrift_writer *thrift)
{
    const struct cv_type *root = &writer->schema->root;

    cv_thrift_field_list(thrift, 2, CV_THRIFT_STRUCT, 1 + count_elements(root));
    cv_thrift_begin_struct(thrift);
    cv_thrift_field_string(thrift, 4, "table");
    cv_thrift_field_i32(thrift, 5, (int32_t)root->field_count);
    cv_thrift_end_struct(thrift);
    for (size_t i = 0; i < root->field_count; i++)
        write_field(thrift, &root->fields[i]);
}
