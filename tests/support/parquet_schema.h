/* SPDX-License-Identifier: Apache-2.0
 *
 * The Iceberg schema that a Parquet file without a table has, so that tests can read any file: its
 * own field ids, or ids given in order from 1; types of the nearest kind (unsigned 32-bit and INT64
 * as long, nanoseconds cut to µs). */
#ifndef CALVE_TESTS_PARQUET_SCHEMA_H
#define CALVE_TESTS_PARQUET_SCHEMA_H

#include "parquet/reader_int.h"

struct builder {
    const struct cv_parquet_footer *footer;
    struct cv_arena *arena;
    bool by_id;
    int32_t next_id;
    unsigned depth;
};

static enum cv_code refuse(const struct cv_parquet_node *node, struct cv_error *err)
{
    return cv_fail(err, CV_UNSUPPORTED, "column %s has a type that Iceberg does not have",
                   node->name);
}

static enum cv_code decimal_type(const struct cv_parquet_node *node, struct cv_type *ret,
                                 struct cv_error *err)
{
    if (node->precision > 38)
        return cv_fail(err, CV_UNSUPPORTED, "column %s is decimal(%d, %d), Iceberg has at most 38",
                       node->name, node->precision, node->scale);
    *ret = (struct cv_type){.kind = CV_TYPE_DECIMAL,
                            .precision = (uint8_t)node->precision,
                            .scale = (uint8_t)node->scale};
    return CV_OK;
}

static enum cv_type_kind kind_of_leaf(const struct cv_parquet_node *node)
{
    bool time = node->meaning == CV_PARQUET_MEANS_TIME;

    switch (node->type) {
    case CV_PARQUET_BOOLEAN:
        return CV_TYPE_BOOLEAN;
    case CV_PARQUET_INT32:
        if (node->meaning == CV_PARQUET_MEANS_INTEGER && !node->is_signed && node->bits == 32)
            return CV_TYPE_LONG;
        if (node->meaning == CV_PARQUET_MEANS_DATE)
            return CV_TYPE_DATE;
        return time ? CV_TYPE_TIME : CV_TYPE_INT;
    case CV_PARQUET_INT64:
        if (node->meaning == CV_PARQUET_MEANS_TIMESTAMP)
            return node->utc ? CV_TYPE_TIMESTAMPTZ : CV_TYPE_TIMESTAMP;
        return time ? CV_TYPE_TIME : CV_TYPE_LONG;
    case CV_PARQUET_INT96:
        return CV_TYPE_TIMESTAMPTZ;
    case CV_PARQUET_FLOAT:
        return CV_TYPE_FLOAT;
    case CV_PARQUET_DOUBLE:
        return CV_TYPE_DOUBLE;
    case CV_PARQUET_BYTE_ARRAY:
        return node->meaning == CV_PARQUET_MEANS_STRING ? CV_TYPE_STRING : CV_TYPE_BINARY;
    case CV_PARQUET_FIXED_LEN_BYTE_ARRAY:
        if (node->meaning == CV_PARQUET_MEANS_FLOAT16)
            return CV_TYPE_FLOAT;
        return node->meaning == CV_PARQUET_MEANS_UUID ? CV_TYPE_UUID : CV_TYPE_FIXED;
    }
    return CV_TYPE_BINARY;
}

static enum cv_code leaf_type(const struct cv_parquet_node *node, struct cv_type *ret,
                              struct cv_error *err)
{
    enum cv_convert convert;

    if (node->meaning == CV_PARQUET_MEANS_OTHER)
        return refuse(node, err);
    if (node->meaning == CV_PARQUET_MEANS_DECIMAL)
        CV_DO(decimal_type(node, ret, err));
    else
        *ret = (struct cv_type){.kind = kind_of_leaf(node), .length = (uint32_t)node->type_length};
    if (ret->kind != CV_TYPE_FIXED)
        ret->length = 0;
    if (cv_read_conversion(node, ret, &convert, NULL) != CV_OK)
        return refuse(node, err);
    return CV_OK;
}

static enum cv_code node_type(struct builder *builder, uint32_t number, bool element,
                              struct cv_type *ret, struct cv_error *err);

static int32_t id_of(struct builder *builder, const struct cv_parquet_node *node)
{
    return builder->by_id && node->field_id >= 0 ? node->field_id : builder->next_id++;
}

static enum cv_code node_field(struct builder *builder, uint32_t number, bool element,
                               const char *name, struct cv_field *ret, struct cv_error *err)
{
    const struct cv_parquet_node *node = &builder->footer->nodes[number];

    *ret = (struct cv_field){.id = id_of(builder, node),
                             .name = name ? name : node->name,
                             .required = node->repetition != CV_PARQUET_OPTIONAL};
    return node_type(builder, number, element, &ret->type, err);
}

static enum cv_code struct_type(struct builder *builder, uint32_t number, struct cv_type *ret,
                                struct cv_error *err)
{
    const struct cv_parquet_node *nodes = builder->footer->nodes;
    struct cv_field *fields =
        cv_arena_array(builder->arena, struct cv_field, nodes[number].child_count);
    size_t count = 0;

    if (builder->depth == CV_DEPTH_MAX)
        return cv_fail(err, CV_LIMIT, "columns are nested more than %d deep", CV_DEPTH_MAX);
    builder->depth++;
    for (uint32_t i = nodes[number].first_child; i; i = nodes[i].next_sibling)
        if (!builder->by_id || nodes[i].field_id >= 0)
            CV_DO(node_field(builder, i, false, NULL, &fields[count++], err));
    builder->depth--;
    *ret = (struct cv_type){.kind = CV_TYPE_STRUCT, .fields = fields, .field_count = count};
    return CV_OK;
}

/* `number` is the repeated node, or the child of one. */
static enum cv_code list_type(struct builder *builder, uint32_t number, bool element,
                              struct cv_type *ret, struct cv_error *err)
{
    struct cv_field *field = cv_arena_new(builder->arena, struct cv_field);

    if (builder->depth == CV_DEPTH_MAX)
        return cv_fail(err, CV_LIMIT, "columns are nested more than %d deep", CV_DEPTH_MAX);
    builder->depth++;
    CV_DO(node_field(builder, number, element, "element", field, err));
    builder->depth--;
    *ret = (struct cv_type){.kind = CV_TYPE_LIST, .fields = field, .field_count = 1};
    return CV_OK;
}

static enum cv_code map_type(struct builder *builder, uint32_t entries, struct cv_type *ret,
                             struct cv_error *err)
{
    const struct cv_parquet_node *nodes = builder->footer->nodes;
    struct cv_field *fields = cv_arena_array(builder->arena, struct cv_field, 2);
    uint32_t key = nodes[entries].first_child;

    if (builder->depth == CV_DEPTH_MAX)
        return cv_fail(err, CV_LIMIT, "columns are nested more than %d deep", CV_DEPTH_MAX);
    builder->depth++;
    CV_DO(node_field(builder, key, false, "key", &fields[0], err));
    fields[0].required = true; /* Presto says optional */
    CV_DO(node_field(builder, nodes[key].next_sibling, false, "value", &fields[1], err));
    builder->depth--;
    *ret = (struct cv_type){.kind = CV_TYPE_MAP, .fields = fields, .field_count = 2};
    return CV_OK;
}

static enum cv_code node_type(struct builder *builder, uint32_t number, bool element,
                              struct cv_type *ret, struct cv_error *err)
{
    const struct cv_parquet_node *node = &builder->footer->nodes[number];
    uint32_t repeated = cv_read_repeated(builder->footer, number);
    bool is_map = node->meaning == CV_PARQUET_MEANS_MAP;

    if (node->repetition == CV_PARQUET_REPEATED && !element)
        return list_type(builder, number, true, ret, err);
    if (node->is_leaf)
        return leaf_type(node, ret, err);
    if (is_map && repeated && builder->footer->nodes[repeated].child_count == 2)
        return map_type(builder, repeated, ret, err);
    if ((is_map || node->meaning == CV_PARQUET_MEANS_LIST) && repeated) {
        uint32_t inner = cv_read_list_element(builder->footer, number);

        return list_type(builder, inner, inner == repeated, ret, err);
    }
    if (node->meaning != CV_PARQUET_MEANS_NOTHING)
        return refuse(node, err);
    return struct_type(builder, number, ret, err);
}

static int32_t highest_id(const struct cv_parquet_footer *footer)
{
    int32_t highest = 0;

    for (uint32_t i = 1; i < footer->node_count; i++)
        highest = CV_MAX(highest, footer->nodes[i].field_id);
    return highest;
}

/* In the arena. */
static inline enum cv_code parquet_schema(const struct cv_parquet_footer *footer,
                                          struct cv_arena *arena, struct cv_schema *ret_schema,
                                          struct cv_name_mapping *ret_mapping, struct cv_error *err)
{
    struct builder builder = {
        .footer = footer, .arena = arena, .by_id = cv_parquet_has_ids(footer), .next_id = 1};
    struct cv_schema schema = {0};

    if (footer->node_count > CV_FIELDS_MAX)
        return cv_fail(err, CV_LIMIT, "the file has more than %d columns", CV_FIELDS_MAX);
    if (builder.by_id && highest_id(footer) > INT32_MAX - CV_FIELDS_MAX)
        return cv_fail(err, CV_LIMIT, "the file has field id %d", highest_id(footer));
    if (builder.by_id)
        builder.next_id = highest_id(footer) + 1;
    CV_DO(struct_type(&builder, 0, &schema.root, err));
    schema.highest_id = builder.next_id - 1;
    *ret_schema = schema;
    cv_name_mapping_of_schema(ret_schema, arena, ret_mapping);
    return CV_OK;
}

#endif
