/* SPDX-License-Identifier: Apache-2.0
 *
 * Binds the columns wanted to the columns of the file: fields of structs by id (by name mapping
 * where the file has no ids), elements, keys and values by their place. Lists and maps of old
 * writers follow the backward-compatibility rules of the format's LogicalTypes.md. */
#include "parquet/reader_int.h"

/* A field on its way to its node of the file. */
struct place {
    uint32_t node; /* 0 = the file lacks it */
    bool element;  /* the node's own repetition has made a list already */
    uint8_t slot_definition, repetition;
    bool flat;
    const struct cv_name_mapping_field *names; /* of its children */
    size_t name_count;
};

/* Whether the repeated child of a list is the element itself (the four rules of the format). */
static bool repeated_is_element(const struct cv_parquet_footer *footer, uint32_t list)
{
    const struct cv_parquet_node *outer = &footer->nodes[list];
    const struct cv_parquet_node *inner = &footer->nodes[outer->first_child];
    size_t length = strlen(outer->name);

    if (inner->is_leaf || inner->child_count != 1 || strcmp(inner->name, "array") == 0 ||
        inner->meaning == CV_PARQUET_MEANS_LIST || inner->meaning == CV_PARQUET_MEANS_MAP)
        return true;
    if (footer->nodes[inner->first_child].repetition == CV_PARQUET_REPEATED)
        return true;
    return strncmp(inner->name, outer->name, length) == 0 &&
           strcmp(inner->name + length, "_tuple") == 0;
}

uint32_t cv_read_repeated(const struct cv_parquet_footer *footer, uint32_t node)
{
    const struct cv_parquet_node *outer = &footer->nodes[node];

    if (outer->is_leaf || outer->child_count != 1 ||
        footer->nodes[outer->first_child].repetition != CV_PARQUET_REPEATED)
        return 0;
    return outer->first_child;
}

uint32_t cv_read_list_element(const struct cv_parquet_footer *footer, uint32_t node)
{
    uint32_t repeated = cv_read_repeated(footer, node);

    if (!repeated || repeated_is_element(footer, node))
        return repeated;
    return footer->nodes[repeated].first_child;
}

static struct cv_read_leaf *add_leaf(struct cv_parquet_reader *reader, uint32_t node, bool flat)
{
    struct cv_read_leaf *leaf = cv_arena_new(&reader->plan, struct cv_read_leaf);

    leaf->node = &reader->footer->nodes[node];
    leaf->path = cv_parquet_node_path(reader->footer, node, &reader->plan);
    leaf->flat = flat;
    cv_array_reserve(&reader->leaves, &reader->leaf_capacity, reader->leaf_count + 1);
    reader->leaves[reader->leaf_count++] = leaf;
    return leaf;
}

static enum cv_code plan_leaf(struct cv_parquet_reader *reader, const struct place *place,
                              struct cv_read_node *ret, struct cv_builder *builder,
                              struct cv_error *err)
{
    const struct cv_type *type = &ret->field->type;
    static const struct cv_type bytes = {.kind = CV_TYPE_BINARY};
    struct cv_read_leaf *leaf;
    enum cv_convert convert;

    if (!reader->footer->nodes[place->node].is_leaf)
        return cv_fail(err, CV_SCHEMA, "the file has a group of fields, the table one value");
    CV_DO(cv_read_conversion(&reader->footer->nodes[place->node], type, &convert, err));
    leaf = add_leaf(reader, place->node, place->flat);
    leaf->type = type;
    leaf->convert = convert;
    leaf->width = cv_parquet_node_width(leaf->node);
    if (leaf->width > CV_PARQUET_FIXED_BYTES_MAX)
        return cv_fail(err, CV_LIMIT, "values of %zu bytes are above the limit of %zu", leaf->width,
                       CV_PARQUET_FIXED_BYTES_MAX);
    leaf->builder = builder;
    cv_builder_init(&leaf->dictionary, type);
    cv_builder_init(&leaf->scratch, &bytes);
    ret->kind = CV_READ_LEAF;
    ret->leaf = leaf;
    return CV_OK;
}

static const struct cv_parquet_constant *find_constant(const struct cv_parquet_read *read,
                                                       int32_t id)
{
    for (size_t i = 0; i < read->constant_count; i++)
        if (read->constants[i].field_id == id)
            return &read->constants[i];
    return NULL;
}

static enum cv_code plan_missing(struct cv_parquet_reader *reader, struct cv_read_node *ret,
                                 struct cv_error *err)
{
    const struct cv_parquet_constant *constant = find_constant(&reader->read, ret->field->id);

    ret->kind = CV_READ_MISSING;
    ret->value = (struct cv_value){.is_null = true, .kind = ret->field->type.kind};
    if (constant)
        ret->value = constant->value;
    else if (ret->field->initial_default)
        CV_DO(cv_read_default(ret->field, &reader->plan, &ret->value, err));
    if (ret->value.is_null && ret->field->required)
        return cv_fail(err, CV_SCHEMA, "the file lacks this required column, which has no default");
    return CV_OK;
}

/* The child of a group that is the field: by id, or by what the mapping says of its name. */
static uint32_t find_child(const struct cv_parquet_reader *reader, const struct place *group,
                           int32_t id, const struct cv_name_mapping_field **ret_names)
{
    const struct cv_parquet_footer *footer = reader->footer;
    uint32_t child = footer->nodes[group->node].first_child;

    *ret_names = NULL;
    for (; child; child = footer->nodes[child].next_sibling) {
        if (reader->by_id) {
            if (footer->nodes[child].field_id == id)
                return child;
            continue;
        }
        *ret_names =
            cv_name_mapping_find(group->names, group->name_count, footer->nodes[child].name);
        if (*ret_names && (*ret_names)->field_id == id)
            return child;
    }
    *ret_names = NULL;
    return 0;
}

static void set_names(struct place *place, const struct cv_name_mapping_field *names)
{
    place->names = names ? names->fields : NULL;
    place->name_count = names ? names->field_count : 0;
}

static void set_names_of(struct place *place, const struct place *parent, const char *name)
{
    set_names(place, cv_name_mapping_find(parent->names, parent->name_count, name));
}

/* The first leaf below a node, for its levels alone. */
static struct cv_read_leaf *witness(struct cv_parquet_reader *reader, uint32_t node)
{
    while (!reader->footer->nodes[node].is_leaf)
        node = reader->footer->nodes[node].first_child;
    return add_leaf(reader, node, false);
}

/* Its own levels are told by any leaf below it. */
static void choose_leaf(struct cv_parquet_reader *reader, struct cv_read_node *node,
                        uint32_t file_node)
{
    for (size_t i = 0; i < node->child_count && !node->leaf; i++)
        node->leaf = node->children[i].leaf;
    if (!node->leaf)
        node->leaf = witness(reader, file_node);
}

static enum cv_code plan_field(struct cv_parquet_reader *reader, const struct place *place,
                               struct cv_read_node *ret, struct cv_builder *builder,
                               struct cv_error *err);

static void start_children(struct cv_parquet_reader *reader, struct cv_read_node *node)
{
    const struct cv_type *type = &node->field->type;

    node->child_count = type->field_count;
    node->children = cv_arena_array(&reader->plan, struct cv_read_node, node->child_count);
    for (size_t i = 0; i < node->child_count; i++)
        node->children[i].field = &type->fields[i];
}

static enum cv_code plan_struct(struct cv_parquet_reader *reader, const struct place *place,
                                struct cv_read_node *ret, struct cv_builder *builder,
                                struct cv_error *err)
{
    const struct cv_parquet_node *node = &reader->footer->nodes[place->node];

    if (node->is_leaf || node->meaning == CV_PARQUET_MEANS_LIST ||
        node->meaning == CV_PARQUET_MEANS_MAP || node->meaning == CV_PARQUET_MEANS_OTHER)
        return cv_fail(err, CV_SCHEMA, "the table has a struct, the file none");
    ret->kind = CV_READ_STRUCT;
    start_children(reader, ret);
    for (size_t i = 0; i < ret->child_count; i++) {
        const struct cv_name_mapping_field *names;
        struct place child = {.slot_definition = place->slot_definition,
                              .repetition = place->repetition};

        child.node = find_child(reader, place, ret->children[i].field->id, &names);
        set_names(&child, names);
        CV_TRY(plan_field(reader, &child, &ret->children[i], &builder->children[i], err), err,
               "field %s", ret->children[i].field->name);
    }
    choose_leaf(reader, ret, place->node);
    return CV_OK;
}

/* The elements of a list, or the entries of a map, begin at the repeated node. */
static struct place place_below(const struct cv_parquet_footer *footer, const struct place *place,
                                uint32_t repeated)
{
    return (struct place){.slot_definition = footer->nodes[repeated].definition_max,
                          .repetition = (uint8_t)(place->repetition + 1)};
}

static enum cv_code plan_list(struct cv_parquet_reader *reader, const struct place *place,
                              struct cv_read_node *ret, struct cv_builder *builder,
                              struct cv_error *err)
{
    const struct cv_parquet_footer *footer = reader->footer;
    bool bare = footer->nodes[place->node].repetition == CV_PARQUET_REPEATED && !place->element;
    uint32_t repeated = bare ? place->node : cv_read_repeated(footer, place->node);
    struct place element;

    if (!repeated)
        return cv_fail(err, CV_SCHEMA, "the table has a list, the file none");
    element = place_below(footer, place, repeated);
    element.node = bare ? repeated : cv_read_list_element(footer, place->node);
    element.element = element.node == repeated;
    set_names_of(&element, place, "element");
    ret->kind = CV_READ_LIST;
    ret->element_definition = element.slot_definition;
    start_children(reader, ret);
    CV_TRY(plan_field(reader, &element, &ret->children[0], &builder->children[0], err), err,
           "element");
    choose_leaf(reader, ret, repeated);
    return CV_OK;
}

static enum cv_code plan_map(struct cv_parquet_reader *reader, const struct place *place,
                             struct cv_read_node *ret, struct cv_builder *builder,
                             struct cv_error *err)
{
    const struct cv_parquet_footer *footer = reader->footer;
    uint32_t repeated = cv_read_repeated(footer, place->node);
    struct place key, value;

    if (!repeated || footer->nodes[repeated].is_leaf || footer->nodes[repeated].child_count > 2)
        return cv_fail(err, CV_SCHEMA, "the table has a map, the file none");
    key = value = place_below(footer, place, repeated);
    key.node = footer->nodes[repeated].first_child;
    value.node = footer->nodes[key.node].next_sibling;
    set_names_of(&key, place, "key");
    set_names_of(&value, place, "value");
    ret->kind = CV_READ_LIST;
    ret->element_definition = key.slot_definition;
    start_children(reader, ret);
    CV_TRY(plan_field(reader, &key, &ret->children[0], &builder->children[0], err), err, "key");
    CV_TRY(plan_field(reader, &value, &ret->children[1], &builder->children[1], err), err, "value");
    choose_leaf(reader, ret, repeated);
    return CV_OK;
}

static enum cv_code plan_field(struct cv_parquet_reader *reader, const struct place *place,
                               struct cv_read_node *ret, struct cv_builder *builder,
                               struct cv_error *err)
{
    const struct cv_parquet_node *node = &reader->footer->nodes[place->node];
    bool bare = node->repetition == CV_PARQUET_REPEATED && !place->element;
    enum cv_type_kind kind = ret->field->type.kind;

    if (!place->node)
        return plan_missing(reader, ret, err);
    if (bare && kind != CV_TYPE_LIST)
        return cv_fail(err, CV_SCHEMA, "the file has a repeated field, the table no list");
    ret->slot_definition = place->slot_definition;
    ret->repetition = place->repetition;
    ret->definition = (uint8_t)(node->definition_max - bare);
    if (kind == CV_TYPE_STRUCT)
        return plan_struct(reader, place, ret, builder, err);
    if (kind == CV_TYPE_LIST)
        return plan_list(reader, place, ret, builder, err);
    if (kind == CV_TYPE_MAP)
        return plan_map(reader, place, ret, builder, err);
    return plan_leaf(reader, place, ret, builder, err);
}

enum cv_code cv_read_plan(struct cv_parquet_reader *reader, struct cv_error *err)
{
    const struct cv_type *root = &reader->read.schema->root;
    const struct cv_name_mapping *mapping = reader->read.mapping;
    const struct place top = {.names = mapping ? mapping->fields : NULL,
                              .name_count = mapping ? mapping->field_count : 0};

    reader->by_id = cv_parquet_has_ids(reader->footer);
    reader->column_count = root->field_count;
    reader->columns = cv_arena_array(&reader->plan, struct cv_read_node, reader->column_count);
    for (size_t i = 0; i < reader->column_count; i++) {
        const struct cv_field *field = &root->fields[i];
        const struct cv_name_mapping_field *names;
        struct place place = {.flat = true};

        reader->columns[i].field = field;
        place.node = find_child(reader, &top, field->id, &names);
        set_names(&place, names);
        CV_TRY(plan_field(reader, &place, &reader->columns[i], &reader->builder.columns[i], err),
               err, "column %s", field->name);
    }
    return CV_OK;
}
