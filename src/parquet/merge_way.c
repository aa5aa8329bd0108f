/* SPDX-License-Identifier: Apache-2.0
 *
 * The cheapest way of a file: its Parquet schema must be what the writer makes of the table's,
 * names apart (bytes of pages hold none), its codec the table's, and its metrics known. */
#include "parquet/merge_int.h"

#include <stdlib.h>

/* The walk over the fields of the schema, whose leaves are in the order of the writer. */
struct match {
    struct cv_parquet_footer *footer;
    struct cv_merge_leaf *leaves;
    size_t count;
    const char *reason;
    /* By definition level of the file, on the way down: the level that the writer
     * has for it. */
    uint8_t map[CV_PARQUET_DEPTH_MAX + 1];
};

/* Definition levels so far, in the file and of the writer. */
struct levels {
    uint8_t file;
    uint8_t out;
};

static bool differ(struct match *match, const struct cv_field *field, const char *what)
{
    match->reason = cv_arena_printf(&match->footer->arena, "column %.200s: %s", field->name, what);
    return false;
}

/* The child of a node with this field id; 0 = none. */
static uint32_t child_of(const struct cv_parquet_footer *footer, uint32_t node, int32_t id)
{
    for (uint32_t i = footer->nodes[node].first_child; i; i = footer->nodes[i].next_sibling)
        if (footer->nodes[i].field_id == id)
            return i;
    return 0;
}

static bool same_time(const struct cv_parquet_node *node, enum cv_parquet_meaning meaning, bool utc)
{
    return node->meaning == meaning && node->unit == CV_PARQUET_MICROS &&
           (meaning == CV_PARQUET_MEANS_TIME || node->utc == utc);
}

/* Whether values of the leaf are stored as the writer stores the type. */
static bool same_values(const struct cv_parquet_node *node, const struct cv_type *type)
{
    enum cv_parquet_meaning meaning = node->meaning;
    size_t width = cv_parquet_plain_width(type);

    if (!node->is_leaf || node->type != cv_parquet_physical_type(type))
        return false;
    if (node->type == CV_PARQUET_FIXED_LEN_BYTE_ARRAY && (size_t)node->type_length != width)
        return false;
    switch (type->kind) {
    case CV_TYPE_INT:
    case CV_TYPE_LONG:
        return meaning == CV_PARQUET_MEANS_NOTHING ||
               (meaning == CV_PARQUET_MEANS_INTEGER && node->is_signed);
    case CV_TYPE_DECIMAL:
        return meaning == CV_PARQUET_MEANS_DECIMAL && node->scale == type->scale &&
               node->precision <= type->precision;
    case CV_TYPE_DATE:
        return meaning == CV_PARQUET_MEANS_DATE;
    case CV_TYPE_TIME:
        return same_time(node, CV_PARQUET_MEANS_TIME, false);
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        return same_time(node, CV_PARQUET_MEANS_TIMESTAMP, type->kind == CV_TYPE_TIMESTAMPTZ);
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
        return meaning == CV_PARQUET_MEANS_STRING || meaning == CV_PARQUET_MEANS_NOTHING;
    case CV_TYPE_UUID:
        return meaning == CV_PARQUET_MEANS_UUID || meaning == CV_PARQUET_MEANS_NOTHING;
    default:
        return meaning == CV_PARQUET_MEANS_NOTHING;
    }
}

/* All leaves of a column that the file lacks. */
static void miss(struct match *match, const struct cv_type *type)
{
    if (!cv_type_is_nested(type))
        match->leaves[match->count++] = (struct cv_merge_leaf){.number = CV_MERGE_MISSING};
    for (size_t i = 0; i < type->field_count; i++)
        miss(match, &type->fields[i].type);
}

static bool match_field(struct match *match, uint32_t parent, struct levels levels,
                        const struct cv_field *field);

/* A null at the level so far is one at the writer's. */
static void step(struct match *match, struct levels *levels)
{
    match->map[levels->file++] = levels->out++;
}

static void add_leaf(struct match *match, struct levels levels, uint32_t number)
{
    struct cv_merge_leaf leaf = {.number = number};

    match->map[levels.file] = levels.out;
    if (levels.file != levels.out)
        leaf.level_map = cv_arena_copy(&match->footer->arena, match->map, (size_t)levels.file + 1);
    match->leaves[match->count++] = leaf;
}

/* The repeated group of the three-level form: `children` nodes below it. */
static uint32_t entries_of(const struct cv_parquet_footer *footer, uint32_t node, size_t children)
{
    uint32_t entries = footer->nodes[node].first_child;

    if (footer->nodes[node].child_count != 1 || footer->nodes[entries].is_leaf ||
        footer->nodes[entries].repetition != CV_PARQUET_REPEATED ||
        footer->nodes[entries].child_count != children)
        return 0;
    return entries;
}

static bool match_nested(struct match *match, uint32_t node, struct levels levels,
                         const struct cv_field *field)
{
    const struct cv_type *type = &field->type;

    if (match->footer->nodes[node].is_leaf)
        return differ(match, field, "another type");
    if (type->kind != CV_TYPE_STRUCT)
        node = entries_of(match->footer, node, type->field_count);
    if (!node)
        return differ(match, field, "a list or map in an old form");
    if (type->kind != CV_TYPE_STRUCT)
        step(match, &levels);
    for (size_t i = 0; i < type->field_count; i++)
        if (!match_field(match, node, levels, &type->fields[i]))
            return false;
    return true;
}

static bool match_field(struct match *match, uint32_t parent, struct levels levels,
                        const struct cv_field *field)
{
    uint32_t number = child_of(match->footer, parent, field->id);
    const struct cv_parquet_node *node = &match->footer->nodes[number];

    if (!number && (parent || field->required || field->initial_default))
        return differ(match, field, "not in the file");
    if (!number) {
        miss(match, &field->type);
        return true;
    }
    if (node->repetition == CV_PARQUET_REPEATED)
        return differ(match, field, "a list in an old form");
    if (node->repetition == CV_PARQUET_OPTIONAL && field->required)
        return differ(match, field, "optional in the file");
    if (node->repetition == CV_PARQUET_OPTIONAL)
        step(match, &levels);
    else
        levels.out = (uint8_t)(levels.out + !field->required);
    if (cv_type_is_nested(&field->type))
        return match_nested(match, number, levels, field);
    if (!same_values(node, &field->type))
        return differ(match, field, "another type");
    add_leaf(match, levels, node->leaf);
    return true;
}

bool cv_merge_match(struct cv_parquet_footer *footer, const struct cv_schema *schema,
                    struct cv_merge_leaf *ret_leaves, const char **ret_reason)
{
    struct match match = {.footer = footer, .leaves = ret_leaves};

    if (!cv_parquet_has_ids(footer)) { /* only the reader finds columns by name */
        *ret_reason = "the file has no field ids";
        return false;
    }
    for (size_t i = 0; i < schema->root.field_count; i++)
        if (!match_field(&match, 0, (struct levels){0, 0}, &schema->root.fields[i])) {
            *ret_reason = match.reason;
            return false;
        }
    return true;
}

/* Leaf fields of the schema, in order, and whether they are below a list or map. */
struct leaf_list {
    const struct cv_field **fields;
    bool *repeated;
    size_t count;
};

static void collect(const struct cv_type *type, bool repeated, struct leaf_list *list)
{
    repeated |= type->kind == CV_TYPE_LIST || type->kind == CV_TYPE_MAP;
    for (size_t i = 0; i < type->field_count; i++) {
        if (cv_type_is_nested(&type->fields[i].type)) {
            collect(&type->fields[i].type, repeated, list);
            continue;
        }
        list->fields[list->count] = &type->fields[i];
        list->repeated[list->count++] = repeated;
    }
}

static bool metrics_known(struct cv_parquet_footer *footer, size_t first_group, size_t group_count,
                          const struct cv_merge_leaf *leaves, const struct leaf_list *list,
                          const struct cv_file_metrics *known,
                          const struct cv_metrics_config *metrics, const char **ret_reason)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct cv_field *field = list->fields[i];
        struct cv_merge_figures figures;
        const char *reason;

        if (!cv_merge_figures(footer, leaves[i].number, first_group, group_count, known, field,
                              list->repeated[i], cv_metrics_mode_of(metrics, field->id), &figures,
                              &reason)) {
            *ret_reason = cv_arena_printf(&footer->arena, "column %.200s: %s", field->name, reason);
            return false;
        }
        cv_bounds_release(&figures.bounds);
    }
    return true;
}

static const char *codec_name(int32_t number)
{
    static const char *const names[] = {"none",   "snappy", "gzip", "lzo",
                                        "brotli", "lz4",    "zstd", "lz4_raw"};

    return number >= 0 && (size_t)number < CV_ARRAY_LENGTH(names) ? names[number] : "unknown";
}

static bool same_codec(struct cv_parquet_footer *footer, const struct cv_merge_leaf *leaves,
                       size_t leaf_count, enum cv_codec codec, const char **ret_reason)
{
    int32_t wanted = cv_parquet_codec_number(codec);

    for (size_t i = 0; i < footer->group_count; i++)
        for (size_t j = 0; j < leaf_count; j++) {
            int32_t got;

            if (leaves[j].number == CV_MERGE_MISSING)
                continue;
            got = footer->groups[i].chunks[leaves[j].number].codec;
            if (got != wanted) {
                *ret_reason = cv_arena_printf(&footer->arena, "codec %s, table has %s",
                                              codec_name(got), cv_codec_name(codec));
                return false;
            }
        }
    return true;
}

int64_t cv_merge_group_bytes(const struct cv_parquet_group *group,
                             const struct cv_merge_leaf *leaves, size_t leaf_count)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < leaf_count; i++)
        if (leaves[i].number != CV_MERGE_MISSING)
            bytes += group->chunks[leaves[i].number].packed_size;
    return bytes;
}

bool cv_merge_levels_stay(const struct cv_merge_leaf *leaves, size_t leaf_count)
{
    for (size_t i = 0; i < leaf_count; i++)
        if (leaves[i].level_map)
            return false;
    return true;
}

/* Whether all row groups can stay as they are. */
static bool groups_large(const struct cv_parquet_footer *footer, const struct cv_merge_leaf *leaves,
                         size_t leaf_count, int64_t row_group_bytes)
{
    if (!cv_merge_levels_stay(leaves, leaf_count))
        return false;
    for (size_t i = 0; i < footer->group_count; i++)
        if (!cv_merge_is_large(cv_merge_group_bytes(&footer->groups[i], leaves, leaf_count),
                               row_group_bytes))
            return false;
    return true;
}

/* The leaves of the schema and those of the file that they are. */
static bool find_leaves(struct cv_parquet_footer *footer, const struct cv_schema *schema,
                        struct cv_arena *arena, struct leaf_list *ret_list,
                        struct cv_merge_leaf **ret_leaves, const char **ret_reason)
{
    size_t count = cv_type_leaf_count(&schema->root);

    *ret_leaves = cv_arena_array(arena, struct cv_merge_leaf, count);
    *ret_list = (struct leaf_list){
        .fields = cv_arena_alloc_array(arena, count, sizeof *ret_list->fields),
        .repeated = cv_arena_array(arena, bool, count),
    };
    collect(&schema->root, false, ret_list);
    return cv_merge_match(footer, schema, *ret_leaves, ret_reason);
}

static enum cv_merge_way decide(struct cv_parquet_footer *footer,
                                const struct cv_file_metrics *known, const struct cv_schema *schema,
                                const struct cv_parquet_options *options,
                                const struct cv_metrics_config *metrics, const char **ret_reason)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct leaf_list list;
    struct cv_merge_leaf *leaves;

    if (!find_leaves(footer, schema, &arena, &list, &leaves, ret_reason) ||
        !same_codec(footer, leaves, list.count, options->codec, ret_reason) ||
        !metrics_known(footer, 0, footer->group_count, leaves, &list, known, metrics, ret_reason))
        return CV_MERGE_DECODE;
    if (groups_large(footer, leaves, list.count, options->row_group_bytes))
        return CV_MERGE_COPY;
    *ret_reason = "small row groups";
    return CV_MERGE_PAGES;
}

enum cv_merge_way
cv_parquet_merge_way(struct cv_parquet_footer *footer, const struct cv_file_metrics *known,
                     const struct cv_schema *schema, const struct cv_parquet_options *options,
                     const struct cv_metrics_config *metrics, const char **ret_reason)
{
    const char *reason = "";
    enum cv_merge_way way = decide(footer, known, schema, options, metrics, &reason);

    if (ret_reason)
        *ret_reason = reason;
    return way;
}

bool cv_parquet_merge_may_split(struct cv_parquet_footer *footer, const struct cv_schema *schema,
                                const struct cv_metrics_config *metrics)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const char *reason;
    struct leaf_list list;
    struct cv_merge_leaf *leaves;

    if (!find_leaves(footer, schema, &arena, &list, &leaves, &reason))
        return false;
    for (size_t i = 0; i < footer->group_count; i++)
        if (!metrics_known(footer, i, 1, leaves, &list, NULL, metrics, &reason))
            return false;
    return true;
}
