/* SPDX-License-Identifier: Apache-2.0
 *
 * From rows to levels (the Dremel paper's record shredding), a thousand rows at a time. Rows go
 * down the schema as slots; each node turns the slots of its parent into its own, and shares them
 * with all leaves below. While every slot is present and no list was passed, there are no slots at
 * all but a plain range of rows or the caller's row index, which is the whole story of flat tables.
 */
#include "parquet/writer_int.h"

#include <stdlib.h>

/* `slots` NULL = every row present: position index[i], or start + i. */
struct view {
    const struct cv_slots *slots;
    const uint32_t *index;
    size_t start;
    size_t count;
};

struct step {
    struct cv_parquet_writer *writer;
    size_t row_count;
};

static size_t view_at(const struct view *view, size_t i)
{
    if (view->slots)
        return view->slots->positions[i];
    return view->index ? view->index[i] : view->start + i;
}

static void slots_reserve(struct cv_slots *slots, size_t count)
{
    if (count <= slots->capacity)
        return;
    slots->capacity = CV_MAX(count, slots->capacity * 2);
    slots->repetitions = cv_realloc(slots->repetitions, slots->capacity);
    slots->definitions = cv_realloc(slots->definitions, slots->capacity);
    slots->positions = cv_realloc_array(slots->positions, slots->capacity, sizeof(uint32_t));
}

static inline void slots_put(struct cv_slots *slots, uint8_t repetition, uint8_t definition,
                             size_t position)
{
    slots->repetitions[slots->count] = repetition;
    slots->definitions[slots->count] = definition;
    slots->positions[slots->count++] = (uint32_t)position;
}

static enum cv_code null_refused(const struct cv_node *node, size_t position, struct cv_error *err)
{
    return cv_fail(err, CV_SCHEMA, "column %s: null in a required column (value %zu of the batch)",
                   node->path, position);
}

static bool has_nulls(const struct cv_column *column)
{
    return column->validity && column->null_count > 0;
}

/* Positions of the values that are there; the levels go along unless validity will do. */
static size_t present_positions(struct cv_parquet_workspace *work, const struct cv_node *node,
                                const struct cv_column *column, const struct view *view)
{
    const uint8_t *validity = column->validity;
    size_t present = 0;

    if (!view->index && node->leaf->definition_bits) {
        for (size_t i = 0; i < view->count; i++) {
            work->positions[present] = (uint32_t)(view->start + i);
            present += cv_bit_get(validity, view->start + i);
        }
        return present;
    }
    for (size_t i = 0; i < view->count; i++) {
        size_t position = view_at(view, i);
        bool valid = cv_bit_get(validity, position);

        work->definitions[i] = (uint8_t)(node->definition - !valid);
        work->positions[present] = (uint32_t)position;
        present += valid;
    }
    return present;
}

/* A leaf under rows that are all there: levels only where a null asks for them. */
static enum cv_code flat_leaf(struct step *step, const struct cv_node *node,
                              const struct cv_column *column, const struct view *view,
                              struct cv_error *err)
{
    struct cv_parquet_workspace *work = step->writer->workspace;
    struct cv_shred shred = {.column = column,
                             .row_count = step->row_count,
                             .level_count = view->count,
                             .positions = view->index,
                             .start = view->start,
                             .value_count = view->count};
    size_t present;

    if (!has_nulls(column))
        return cv_leaf_append(step->writer, node->leaf, &shred, err);
    present = present_positions(work, node, column, view);
    if (present == view->count)
        return cv_leaf_append(step->writer, node->leaf, &shred, err);
    if (node->field->required)
        for (size_t i = 0; i < view->count; i++)
            if (!cv_bit_get(column->validity, view_at(view, i)))
                return null_refused(node, view_at(view, i), err);
    if (!view->index && node->leaf->definition_bits)
        shred.validity = column->validity;
    else
        shred.definitions = work->definitions;
    shred.positions = work->positions;
    shred.value_count = present;
    return cv_leaf_append(step->writer, node->leaf, &shred, err);
}

static enum cv_code nested_leaf(struct step *step, const struct cv_node *node,
                                const struct cv_column *column, const struct view *view,
                                struct cv_slots *out, struct cv_error *err)
{
    const struct cv_slots *slots = view->slots;
    size_t present = 0;
    struct cv_shred shred;

    slots_reserve(out, slots->count);
    for (size_t i = 0; i < slots->count; i++) {
        uint32_t position = slots->positions[i];

        out->definitions[i] = slots->definitions[i];
        if (position == CV_SLOT_ENDED)
            continue;
        if (cv_column_is_null(column, position)) {
            if (node->field->required)
                return null_refused(node, position, err);
            continue;
        }
        out->definitions[i] = node->definition;
        out->positions[present++] = position;
    }
    shred = (struct cv_shred){
        .column = column,
        .row_count = step->row_count,
        .level_count = slots->count,
        .definitions = out->definitions,
        .repetitions = node->repetition ? slots->repetitions : NULL,
        .positions = out->positions,
        .value_count = present,
    };
    return cv_leaf_append(step->writer, node->leaf, &shred, err);
}

/* Slots of a struct's children: those of the struct, less its nulls. */
static enum cv_code struct_slots(const struct cv_node *node, const struct cv_column *column,
                                 const struct view *view, struct cv_slots *out,
                                 struct cv_error *err)
{
    slots_reserve(out, view->count);
    out->count = 0;
    for (size_t i = 0; i < view->count; i++) {
        size_t position = view_at(view, i);
        uint8_t repetition = view->slots ? view->slots->repetitions[i] : 0;

        if (view->slots && position == CV_SLOT_ENDED) {
            slots_put(out, repetition, view->slots->definitions[i], CV_SLOT_ENDED);
        } else if (cv_column_is_null(column, position)) {
            if (node->field->required)
                return null_refused(node, position, err);
            slots_put(out, repetition, (uint8_t)(node->definition - 1), CV_SLOT_ENDED);
        } else {
            slots_put(out, repetition, node->definition, position);
        }
    }
    return CV_OK;
}

/* Slots of a list's elements (a map's entries): an empty or absent list keeps one slot. */
static enum cv_code list_slots(const struct cv_node *node, const struct cv_column *column,
                               const struct view *view, struct cv_slots *out, struct cv_error *err)
{
    uint8_t repeated = (uint8_t)(node->repetition + 1);

    out->count = 0;
    for (size_t i = 0; i < view->count; i++) {
        size_t position = view_at(view, i);
        uint8_t repetition = view->slots ? view->slots->repetitions[i] : 0;
        size_t from;
        size_t to;

        slots_reserve(out, out->count + view->count - i);
        if (view->slots && position == CV_SLOT_ENDED) {
            slots_put(out, repetition, view->slots->definitions[i], CV_SLOT_ENDED);
            continue;
        }
        if (cv_column_is_null(column, position)) {
            if (node->field->required)
                return null_refused(node, position, err);
            slots_put(out, repetition, (uint8_t)(node->definition - 1), CV_SLOT_ENDED);
            continue;
        }
        from = (size_t)column->offsets[position];
        to = (size_t)column->offsets[position + 1];
        if (from == to) {
            slots_put(out, repetition, node->definition, CV_SLOT_ENDED);
            continue;
        }
        slots_reserve(out, out->count + (to - from) + view->count - i);
        slots_put(out, repetition, (uint8_t)(node->definition + 1), from);
        while (++from < to)
            slots_put(out, repeated, (uint8_t)(node->definition + 1), from);
    }
    return CV_OK;
}

static enum cv_code descend(struct step *step, const struct cv_node *node,
                            const struct cv_column *column, const struct view *view, size_t depth,
                            struct cv_error *err)
{
    struct cv_slots *out = &step->writer->workspace->slots[depth];
    struct view below = *view;

    if (node->leaf)
        return view->slots ? nested_leaf(step, node, column, view, out, err)
                           : flat_leaf(step, node, column, view, err);
    if (node->field->type.kind != CV_TYPE_STRUCT) {
        CV_DO(list_slots(node, column, view, out, err));
        below = (struct view){.slots = out, .count = out->count};
    } else if (view->slots || has_nulls(column)) {
        CV_DO(struct_slots(node, column, view, out, err));
        below = (struct view){.slots = out, .count = out->count};
    }
    for (size_t i = 0; i < node->child_count; i++)
        CV_DO(descend(step, &node->children[i], &column->children[i], &below, depth + 1, err));
    return CV_OK;
}

enum cv_code cv_parquet_shred(struct cv_parquet_writer *writer, const struct cv_node *node,
                              const struct cv_column *column, const uint32_t *index, size_t start,
                              size_t row_count, struct cv_error *err)
{
    struct step step = {.writer = writer, .row_count = row_count};
    struct view view = {.index = index, .start = start, .count = row_count};

    return descend(&step, node, column, &view, 0, err);
}
