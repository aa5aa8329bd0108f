/* SPDX-License-Identifier: Apache-2.0
 *
 * Nested columns from levels (the inverse of shred.c; reference: the Dremel paper). Each field goes
 * over the levels of one leaf below it: a level opens a slot of the field, goes on with a list
 * in the last slot, or speaks of something deeper. */
#include "parquet/reader_int.h"

static void reserve_slots(struct cv_builder *builder, size_t count)
{
    while (builder->capacity < count)
        cv_builder_grow(builder);
}

static bool opens_slot(const struct cv_read_node *node, const struct cv_read_leaf *leaf, size_t i)
{
    return leaf->batch_repetitions[i] <= node->repetition &&
           leaf->batch_definitions[i] >= node->slot_definition;
}

/* Slots and validity; the builder's length is the number of slots after it. */
static void build_slots(const struct cv_read_node *node, struct cv_builder *builder)
{
    const struct cv_read_leaf *leaf = node->leaf;
    size_t slots = 0;
    size_t nulls = 0;

    for (size_t i = 0; i < leaf->level_count; i++) {
        slots += opens_slot(node, leaf, i);
        nulls += opens_slot(node, leaf, i) && leaf->batch_definitions[i] < node->definition;
    }
    reserve_slots(builder, slots);
    builder->length = slots;
    builder->null_count = nulls;
    if (nulls == 0)
        return;
    if (!builder->validity)
        cv_builder_start_validity(builder);
    slots = 0;
    for (size_t i = 0; i < leaf->level_count; i++)
        if (opens_slot(node, leaf, i)) {
            if (leaf->batch_definitions[i] >= node->definition)
                cv_bit_set(builder->validity, slots);
            else
                cv_bit_clear(builder->validity, slots);
            slots++;
        }
}

static void build_offsets(const struct cv_read_node *node, struct cv_builder *builder)
{
    const struct cv_read_leaf *leaf = node->leaf;
    size_t slots = 0;
    int32_t elements = 0;

    reserve_slots(builder, 1);
    builder->offsets[0] = 0;
    for (size_t i = 0; i < leaf->level_count; i++) {
        bool element = leaf->batch_definitions[i] >= node->element_definition &&
                       leaf->batch_repetitions[i] <= node->repetition + 1;

        if (opens_slot(node, leaf, i))
            slots++;
        elements += element;
        builder->offsets[slots] = elements;
    }
}

/* Every child must have the slots that its parent's levels promise it. */
static enum cv_code check_children(const struct cv_read_node *node,
                                   const struct cv_builder *builder, size_t slots,
                                   struct cv_error *err)
{
    for (size_t i = 0; i < builder->child_count; i++)
        if (builder->children[i].length != slots)
            return cv_fail(err, CV_FORMAT, "the columns of %s disagree about its %s",
                           node->field->name, node->kind == CV_READ_LIST ? "lengths" : "rows");
    return CV_OK;
}

static enum cv_code build_children(const struct cv_read_node *node, struct cv_builder *builder,
                                   size_t slots, struct cv_error *err)
{
    bool is_struct = node->kind == CV_READ_STRUCT;

    for (size_t i = 0; i < node->child_count; i++) {
        const struct cv_read_node *child = &node->children[i];

        if (child->kind == CV_READ_MISSING)
            cv_read_fill(&builder->children[i], &child->value, slots,
                         is_struct && builder->null_count ? builder->validity : NULL);
        else
            CV_DO(cv_read_assemble(child, &builder->children[i], err));
    }
    return check_children(node, builder, slots, err);
}

enum cv_code cv_read_assemble(const struct cv_read_node *node, struct cv_builder *builder,
                              struct cv_error *err)
{
    size_t values = builder->length;
    size_t slots;

    build_slots(node, builder);
    slots = builder->length;
    if (node->kind == CV_READ_LEAF) {
        if (slots - builder->null_count != values)
            return cv_fail(err, CV_FORMAT, "the levels of %s promise another number of values",
                           node->leaf->path);
        cv_read_spread(builder, 0, slots, values);
        return CV_OK;
    }
    if (node->kind == CV_READ_LIST) {
        build_offsets(node, builder);
        slots = (size_t)builder->offsets[slots];
    }
    return build_children(node, builder, slots, err);
}
