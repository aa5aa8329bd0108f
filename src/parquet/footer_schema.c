/* SPDX-License-Identifier: Apache-2.0
 *
 * The schema of a Parquet file: a list of elements in depth-first order becomes one tree with the
 * levels of each node, and what the values mean by LogicalType, or ConvertedType before it. */
#include "parquet/footer_int.h"

/* Field ids of the union LogicalType. */
enum {
    LOGICAL_STRING = 1,
    LOGICAL_MAP = 2,
    LOGICAL_LIST = 3,
    LOGICAL_ENUM = 4,
    LOGICAL_DECIMAL = 5,
    LOGICAL_DATE = 6,
    LOGICAL_TIME = 7,
    LOGICAL_TIMESTAMP = 8,
    LOGICAL_INTEGER = 10,
    LOGICAL_UNKNOWN = 11, /* all values are null */
    LOGICAL_JSON = 12,
    LOGICAL_UUID = 14,
    LOGICAL_FLOAT16 = 15,
};

/* ConvertedType. */
enum {
    CONVERTED_UTF8 = 0,
    CONVERTED_MAP = 1,
    CONVERTED_MAP_KEY_VALUE = 2,
    CONVERTED_LIST = 3,
    CONVERTED_ENUM = 4,
    CONVERTED_DECIMAL = 5,
    CONVERTED_DATE = 6,
    CONVERTED_TIME_MILLIS = 7,
    CONVERTED_TIME_MICROS = 8,
    CONVERTED_TIMESTAMP_MILLIS = 9,
    CONVERTED_TIMESTAMP_MICROS = 10,
    CONVERTED_UINT_8 = 11,
    CONVERTED_INT_8 = 15,
    CONVERTED_INT_64 = 18,
    CONVERTED_JSON = 19,
};

/* A SchemaElement before it has its place. */
struct element {
    struct cv_parquet_node node;
    int32_t child_count; /* -1 = absent */
    int32_t type;        /* -1 = absent */
    int32_t repetition;  /* -1 = absent */
    int32_t converted;   /* -1 = absent */
    bool logical;        /* a LogicalType said what it means */
};

/* A group whose children are still to come. */
struct open_group {
    uint32_t node;
    uint32_t last_child; /* 0 = none yet */
    int32_t left;
};

static void parse_decimal(struct cv_thrift_reader *r, struct cv_parquet_node *node)
{
    struct cv_thrift_field f;

    while (cv_thrift_read_field(r, &f)) {
        if (f.id == 1)
            node->scale = cv_thrift_read_i32(r, &f);
        else if (f.id == 2)
            node->precision = cv_thrift_read_i32(r, &f);
        else
            cv_thrift_skip(r, f.type);
    }
}

/* The union TimeUnit: the id of its one field, which is an empty struct. */
static enum cv_parquet_unit parse_unit(struct cv_thrift_reader *r)
{
    enum cv_parquet_unit unit = CV_PARQUET_MICROS;
    struct cv_thrift_field f;

    while (cv_thrift_read_field(r, &f)) {
        if (f.id >= 1 && f.id <= 3)
            unit = (enum cv_parquet_unit)(f.id - 1);
        cv_thrift_skip(r, f.type);
    }
    return unit;
}

/* TimeType and TimestampType. */
static void parse_time(struct cv_thrift_reader *r, struct cv_parquet_node *node)
{
    struct cv_thrift_field f;

    while (cv_thrift_read_field(r, &f)) {
        if (f.id == 1) {
            node->utc = cv_thrift_read_bool(r, &f);
        } else if (f.id == 2) {
            cv_thrift_read_struct(r, &f);
            node->unit = parse_unit(r);
        } else {
            cv_thrift_skip(r, f.type);
        }
    }
}

static void parse_integer(struct cv_thrift_reader *r, struct cv_parquet_node *node)
{
    struct cv_thrift_field f;

    while (cv_thrift_read_field(r, &f)) {
        if (f.id == 1)
            node->bits = cv_thrift_read_byte(r, &f);
        else if (f.id == 2)
            node->is_signed = cv_thrift_read_bool(r, &f);
        else
            cv_thrift_skip(r, f.type);
    }
}

static enum cv_parquet_meaning meaning_of_logical(int16_t id)
{
    switch (id) {
    case LOGICAL_STRING:
    case LOGICAL_ENUM:
    case LOGICAL_JSON:
        return CV_PARQUET_MEANS_STRING;
    case LOGICAL_MAP:
        return CV_PARQUET_MEANS_MAP;
    case LOGICAL_LIST:
        return CV_PARQUET_MEANS_LIST;
    case LOGICAL_DECIMAL:
        return CV_PARQUET_MEANS_DECIMAL;
    case LOGICAL_DATE:
        return CV_PARQUET_MEANS_DATE;
    case LOGICAL_TIME:
        return CV_PARQUET_MEANS_TIME;
    case LOGICAL_TIMESTAMP:
        return CV_PARQUET_MEANS_TIMESTAMP;
    case LOGICAL_INTEGER:
        return CV_PARQUET_MEANS_INTEGER;
    case LOGICAL_UNKNOWN:
        return CV_PARQUET_MEANS_NOTHING;
    case LOGICAL_UUID:
        return CV_PARQUET_MEANS_UUID;
    case LOGICAL_FLOAT16:
        return CV_PARQUET_MEANS_FLOAT16;
    default:
        return CV_PARQUET_MEANS_OTHER;
    }
}

/* The union LogicalType. */
static void parse_logical(struct cv_thrift_reader *r, struct element *element)
{
    struct cv_parquet_node *node = &element->node;
    struct cv_thrift_field f;

    while (cv_thrift_read_field(r, &f)) {
        element->logical = true;
        node->meaning = meaning_of_logical(f.id);
        cv_thrift_read_struct(r, &f);
        if (f.id == LOGICAL_DECIMAL)
            parse_decimal(r, node);
        else if (f.id == LOGICAL_TIME || f.id == LOGICAL_TIMESTAMP)
            parse_time(r, node);
        else if (f.id == LOGICAL_INTEGER)
            parse_integer(r, node);
        else
            while (cv_thrift_read_field(r, &f))
                cv_thrift_skip(r, f.type);
    }
}

static void convert_time(struct cv_parquet_node *node, enum cv_parquet_meaning meaning, bool millis)
{
    node->meaning = meaning;
    node->unit = millis ? CV_PARQUET_MILLIS : CV_PARQUET_MICROS;
    node->utc = true;
}

/* What a ConvertedType means where no LogicalType is. */
static void convert(struct cv_parquet_node *node, int32_t converted)
{
    switch (converted) {
    case CONVERTED_UTF8:
    case CONVERTED_ENUM:
    case CONVERTED_JSON:
        node->meaning = CV_PARQUET_MEANS_STRING;
        return;
    case CONVERTED_MAP:
    case CONVERTED_MAP_KEY_VALUE: /* by some writers instead of MAP; below one it means nothing */
        if (converted == CONVERTED_MAP || node->repetition != CV_PARQUET_REPEATED)
            node->meaning = CV_PARQUET_MEANS_MAP;
        return;
    case CONVERTED_LIST:
        node->meaning = CV_PARQUET_MEANS_LIST;
        return;
    case CONVERTED_DECIMAL:
        node->meaning = CV_PARQUET_MEANS_DECIMAL;
        return;
    case CONVERTED_DATE:
        node->meaning = CV_PARQUET_MEANS_DATE;
        return;
    case CONVERTED_TIME_MILLIS:
    case CONVERTED_TIME_MICROS:
        convert_time(node, CV_PARQUET_MEANS_TIME, converted == CONVERTED_TIME_MILLIS);
        return;
    case CONVERTED_TIMESTAMP_MILLIS:
    case CONVERTED_TIMESTAMP_MICROS:
        convert_time(node, CV_PARQUET_MEANS_TIMESTAMP, converted == CONVERTED_TIMESTAMP_MILLIS);
        return;
    default:
        break;
    }
    node->meaning = CV_PARQUET_MEANS_OTHER;
    if (converted < CONVERTED_UINT_8 || converted > CONVERTED_INT_64)
        return;
    node->meaning = CV_PARQUET_MEANS_INTEGER;
    node->is_signed = converted >= CONVERTED_INT_8;
    node->bits = 8 << (converted - CONVERTED_UINT_8) % 4;
}

/* SchemaElement: 1 type, 2 type_length, 3 repetition_type, 4 name, 5 num_children,
 * 6 converted_type, 7 scale, 8 precision, 9 field_id, 10 logicalType. */
static void parse_element(struct cv_footer_parser *parser, struct element *ret)
{
    struct cv_thrift_reader *r = &parser->thrift;
    struct cv_parquet_node *node = &ret->node;
    struct cv_thrift_field f;

    *ret = (struct element){.child_count = -1, .type = -1, .repetition = -1, .converted = -1};
    node->field_id = -1;
    node->name = "";
    cv_thrift_read_begin_struct(r);
    while (cv_thrift_read_field(r, &f)) {
        if (f.id == 1) {
            ret->type = cv_thrift_read_i32(r, &f);
        } else if (f.id == 2) {
            node->type_length = cv_thrift_read_i32(r, &f);
        } else if (f.id == 3) {
            ret->repetition = cv_thrift_read_i32(r, &f);
        } else if (f.id == 4) {
            node->name = cv_footer_text(parser, cv_thrift_read_binary(r, &f));
        } else if (f.id == 5) {
            ret->child_count = cv_thrift_read_i32(r, &f);
        } else if (f.id == 6) {
            ret->converted = cv_thrift_read_i32(r, &f);
        } else if (f.id == 7) {
            node->scale = cv_thrift_read_i32(r, &f);
        } else if (f.id == 8) {
            node->precision = cv_thrift_read_i32(r, &f);
        } else if (f.id == 9) {
            node->field_id = cv_thrift_read_i32(r, &f);
        } else if (f.id == 10) {
            cv_thrift_read_struct(r, &f);
            parse_logical(r, ret);
        } else {
            cv_thrift_skip(r, f.type);
        }
    }
}

static enum cv_code check_decimal(const struct cv_parquet_node *node, struct cv_error *err)
{
    if (node->precision >= 1 && node->scale >= 0 && node->scale <= node->precision)
        return CV_OK;
    return cv_fail(err, CV_FORMAT, "column %s: decimal(%d, %d) is none", node->name,
                   node->precision, node->scale);
}

/* An element as a node; the root has no repetition. */
static enum cv_code make_node(struct element *element, bool is_root, struct cv_error *err)
{
    struct cv_parquet_node *node = &element->node;

    node->is_leaf = element->type >= 0 && element->child_count <= 0 && !is_root;
    if (!node->is_leaf && element->child_count <= 0 && !is_root)
        return cv_fail(err, CV_FORMAT, "column %s has neither a type nor children", node->name);
    if (node->is_leaf && element->type > CV_PARQUET_FIXED_LEN_BYTE_ARRAY)
        return cv_fail(err, CV_FORMAT, "column %s has the unknown type %d", node->name,
                       element->type);
    if (is_root)
        element->repetition = CV_PARQUET_REQUIRED;
    if (element->repetition < 0 || element->repetition > CV_PARQUET_REPEATED)
        return cv_fail(err, CV_FORMAT, "column %s has the unknown repetition %d", node->name,
                       element->repetition);
    node->repetition = (enum cv_parquet_repetition)element->repetition;
    if (node->is_leaf)
        node->type = (enum cv_parquet_type)element->type;
    if (node->is_leaf && node->type == CV_PARQUET_FIXED_LEN_BYTE_ARRAY && node->type_length < 1)
        return cv_fail(err, CV_FORMAT, "column %s has a fixed length of %d bytes", node->name,
                       node->type_length);
    if (!element->logical && element->converted >= 0)
        convert(node, element->converted);
    if (node->meaning == CV_PARQUET_MEANS_DECIMAL && node->is_leaf)
        CV_DO(check_decimal(node, err));
    return CV_OK;
}

/* Hangs a node under the innermost group that still lacks children. */
static void place(struct cv_parquet_footer *footer, struct open_group *group, uint32_t number)
{
    struct cv_parquet_node *node = &footer->nodes[number];
    const struct cv_parquet_node *parent = &footer->nodes[group->node];

    node->parent = group->node;
    node->definition_max =
        (uint8_t)(parent->definition_max + (node->repetition != CV_PARQUET_REQUIRED));
    node->repetition_max =
        (uint8_t)(parent->repetition_max + (node->repetition == CV_PARQUET_REPEATED));
    if (group->last_child)
        footer->nodes[group->last_child].next_sibling = number;
    else
        footer->nodes[group->node].first_child = number;
    group->last_child = number;
    group->left--;
}

static enum cv_code build_tree(struct cv_footer_parser *parser, size_t count, struct cv_error *err)
{
    struct cv_parquet_footer *footer = parser->footer;
    struct open_group open[CV_PARQUET_DEPTH_MAX];
    size_t depth = 0;

    for (size_t i = 0; i < count; i++) {
        struct element element;
        struct cv_parquet_node *node = &footer->nodes[i];

        parse_element(parser, &element);
        CV_DO(cv_thrift_reader_check(&parser->thrift, "schema", err));
        CV_DO(make_node(&element, i == 0, err));
        *node = element.node;
        while (depth && open[depth - 1].left == 0)
            depth--;
        if (i > 0 && depth == 0)
            return cv_fail(err, CV_FORMAT, "the schema is no tree: element %zu (%s) has no parent",
                           i, node->name);
        if (i > 0)
            place(footer, &open[depth - 1], (uint32_t)i);
        if (node->is_leaf) {
            node->leaf = footer->leaf_count;
            footer->leaves[footer->leaf_count++] = (uint32_t)i;
            continue;
        }
        if (depth == CV_PARQUET_DEPTH_MAX)
            return cv_fail(err, CV_LIMIT, "column %s is nested more than %d deep", node->name,
                           CV_PARQUET_DEPTH_MAX);
        node->child_count = (uint32_t)CV_MAX(element.child_count, 0);
        open[depth++] =
            (struct open_group){.node = (uint32_t)i, .left = (int32_t)node->child_count};
    }
    while (depth && open[depth - 1].left == 0)
        depth--;
    if (depth)
        return cv_fail(err, CV_FORMAT, "the schema is no tree: %s lacks %d children",
                       footer->nodes[open[depth - 1].node].name, open[depth - 1].left);
    return CV_OK;
}

enum cv_code cv_footer_parse_schema(struct cv_footer_parser *parser,
                                    const struct cv_thrift_field *field, struct cv_error *err)
{
    struct cv_parquet_footer *footer = parser->footer;
    size_t count = cv_thrift_read_list(&parser->thrift, field, CV_THRIFT_STRUCT);

    CV_DO(cv_thrift_reader_check(&parser->thrift, "schema", err));
    if (footer->nodes || count == 0)
        return cv_fail(err, CV_FORMAT, "the footer has %s schema", count ? "more than one" : "no");
    if (count > CV_PARQUET_NODES_MAX)
        return cv_fail(err, CV_LIMIT, "the schema has %zu elements, more than the %zu allowed",
                       count, CV_PARQUET_NODES_MAX);
    footer->nodes = cv_arena_array(&footer->arena, struct cv_parquet_node, count);
    footer->leaves = cv_arena_array(&footer->arena, uint32_t, count);
    footer->node_count = (uint32_t)count;
    return build_tree(parser, count, err);
}

bool cv_parquet_has_ids(const struct cv_parquet_footer *footer)
{
    for (uint32_t i = 1; i < footer->node_count; i++)
        if (footer->nodes[i].field_id >= 0)
            return true;
    return false;
}

size_t cv_parquet_node_width(const struct cv_parquet_node *leaf)
{
    switch (leaf->type) {
    case CV_PARQUET_INT32:
    case CV_PARQUET_FLOAT:
        return 4;
    case CV_PARQUET_INT64:
    case CV_PARQUET_DOUBLE:
        return 8;
    case CV_PARQUET_INT96:
        return 12;
    case CV_PARQUET_FIXED_LEN_BYTE_ARRAY:
        return (size_t)leaf->type_length;
    default:
        return 0;
    }
}

const char *cv_parquet_node_path(const struct cv_parquet_footer *footer, uint32_t node,
                                 struct cv_arena *arena)
{
    const char *path = footer->nodes[node].name;

    if (node == 0)
        return path;
    while ((node = footer->nodes[node].parent) != 0)
        path = cv_arena_printf(arena, "%s.%s", footer->nodes[node].name, path);
    return path;
}
