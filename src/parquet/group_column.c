/* SPDX-License-Identifier: Apache-2.0
 *
 * What the statistics of a row group say about a field, for predicates. */
#include "parquet/reader_int.h"

/* The leaf of a field that lies in no list or map; NULL if none. */
static const struct cv_parquet_node *find_leaf(const struct cv_parquet_footer *footer,
                                               uint32_t group, bool by_id,
                                               const struct cv_name_mapping_field *names,
                                               size_t name_count, int32_t id)
{
    const struct cv_parquet_node *nodes = footer->nodes;

    for (uint32_t i = nodes[group].first_child; i; i = nodes[i].next_sibling) {
        const struct cv_name_mapping_field *name =
            by_id ? NULL : cv_name_mapping_find(names, name_count, nodes[i].name);
        const struct cv_parquet_node *found = NULL;

        if (nodes[i].repetition == CV_PARQUET_REPEATED || (!by_id && !name))
            continue;
        if (!nodes[i].is_leaf)
            found = find_leaf(footer, i, by_id, name ? name->fields : NULL,
                              name ? name->field_count : 0, id);
        else if ((by_id ? nodes[i].field_id : name->field_id) == id)
            found = &nodes[i];
        if (found)
            return found;
    }
    return NULL;
}

/* A bound as a value of the field's type; null where it has no use. */
static struct cv_value bound_value(const struct cv_parquet_node *node, const struct cv_type *type,
                                   struct cv_str bound)
{
    struct cv_value value = {.is_null = true, .kind = type->kind};
    struct cv_read_leaf leaf = {.node = node, .type = type};
    cv_wide_int words[2] = {0};
    struct cv_column column = {.type = type, .length = 1, .data = (const uint8_t *)words};

    if (!bound.ptr || cv_read_conversion(node, type, &leaf.convert, NULL) != CV_OK)
        return value;
    leaf.width = cv_parquet_node_width(node);
    switch (leaf.convert) {
    case CV_CONVERT_BYTES:
        value.is_null = false;
        value.bytes = bound;
        return value;
    case CV_CONVERT_BITS:
        value.is_null = bound.length != 1;
        value.boolean = !value.is_null && bound.ptr[0];
        return value;
    case CV_CONVERT_DECIMAL_BYTES:
    case CV_CONVERT_INT96:
    case CV_CONVERT_NANOS64: /* cut: the bound may no longer be one */
        return value;
    default:
        break;
    }
    if (bound.length != leaf.width)
        return value;
    if (type->kind == CV_TYPE_UUID || type->kind == CV_TYPE_FIXED) {
        value.is_null = false;
        value.bytes = bound;
        return value;
    }
    if (cv_read_convert(&leaf, (const uint8_t *)bound.ptr, 1, (uint8_t *)words, NULL) != CV_OK)
        return value;
    return cv_column_value(&column, 0);
}

bool cv_parquet_group_column(void *group_columns, const struct cv_field *field,
                             struct cv_predicate_column *ret_column)
{
    const struct cv_parquet_group_columns *columns = group_columns;
    const struct cv_name_mapping *mapping = columns->mapping;
    const struct cv_parquet_node *leaf =
        find_leaf(columns->footer, 0, cv_parquet_has_ids(columns->footer),
                  mapping ? mapping->fields : NULL, mapping ? mapping->field_count : 0, field->id);
    const struct cv_parquet_chunk *chunk;

    if (!leaf)
        return false;
    chunk = &columns->group->chunks[leaf->leaf];
    *ret_column = (struct cv_predicate_column){
        .value_count = chunk->value_count,
        .null_count = chunk->statistics.null_count,
        .nan_count = -1,
        .lower = bound_value(leaf, &field->type, chunk->statistics.min),
        .upper = bound_value(leaf, &field->type, chunk->statistics.max),
    };
    return true;
}
