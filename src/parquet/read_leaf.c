/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of one leaf. A flat one goes straight into its column: validity from the levels, values
 * densely and then spread. Any other keeps the levels of the batch for assemble.c. */
#include "parquet/reader_int.h"

static enum cv_code malformed_levels(struct cv_error *err)
{
    return cv_fail(err, CV_FORMAT, "malformed levels, or a page ends inside them");
}

/* From the end on, so that no value is overwritten before it has moved; done as soon as all values
 * before are in their places. Without branches, since nulls come at random: what is read for a null
 * lies at or before the place that is written. */
#define SPREAD_FUNCTION(name, type)                                                                \
    static void name(uint8_t *data, const uint8_t *validity, size_t base, size_t slots,            \
                     size_t values)                                                                \
    {                                                                                              \
        type *at = (type *)(void *)data;                                                           \
        size_t i = slots;                                                                          \
        size_t k = values;                                                                         \
                                                                                                   \
        while (k > 0 && i > k) {                                                                   \
            type valid = (type)cv_bit_get(validity, base + --i);                                   \
                                                                                                   \
            k -= (size_t)valid;                                                                    \
            at[i] = at[k] & (type)(0 - valid);                                                     \
        }                                                                                          \
        if (k == 0)                                                                                \
            memset(at, 0, i * sizeof *at);                                                         \
    }

SPREAD_FUNCTION(spread_4, uint32_t)
SPREAD_FUNCTION(spread_8, uint64_t)
SPREAD_FUNCTION(spread_16, cv_uint128)

static void spread_wide(uint8_t *data, size_t width, const uint8_t *validity, size_t base,
                        size_t slots, size_t values)
{
    size_t i = slots;
    size_t k = values;

    while (k > 0 && i > k) {
        i--;
        if (cv_bit_get(validity, base + i))
            memcpy(data + i * width, data + --k * width, width);
        else
            memset(data + i * width, 0, width);
    }
    if (k == 0)
        memset(data, 0, i * width);
}

static void spread_bits(struct cv_builder *builder, size_t base, size_t slots, size_t values)
{
    size_t k = values;

    for (size_t i = slots; i-- > 0;) {
        bool valid = cv_bit_get(builder->validity, base + i);

        k -= valid;
        if (valid && cv_bit_get(builder->data, base + k))
            cv_bit_set(builder->data, base + i);
        else
            cv_bit_clear(builder->data, base + i);
    }
}

static void spread_offsets(struct cv_builder *builder, size_t base, size_t slots, size_t values)
{
    int32_t *offsets = builder->offsets + base;
    size_t k = values;

    for (size_t i = slots; i > k; i--) {
        offsets[i] = offsets[k];
        k -= cv_bit_get(builder->validity, base + i - 1);
    }
}

void cv_read_spread(struct cv_builder *builder, size_t base, size_t slots, size_t values)
{
    uint8_t *data = builder->width && builder->data ? builder->data + base * builder->width : NULL;

    if (slots == values)
        return;
    if (builder->offsets)
        spread_offsets(builder, base, slots, values);
    else if (builder->type->kind == CV_TYPE_BOOLEAN)
        spread_bits(builder, base, slots, values);
    else if (builder->width == 4)
        spread_4(data, builder->validity, base, slots, values);
    else if (builder->width == 8)
        spread_8(data, builder->validity, base, slots, values);
    else if (builder->width == 16)
        spread_16(data, builder->validity, base, slots, values);
    else
        spread_wide(data, builder->width, builder->validity, base, slots, values);
}

/* Levels of a flat leaf into its validity; *ret_set = how many are present. */
static enum cv_code read_validity(struct cv_read_leaf *leaf, size_t count, size_t *ret_set,
                                  struct cv_error *err)
{
    struct cv_builder *builder = leaf->builder;
    struct cv_level_reader *levels = &leaf->definitions;
    uint8_t block[CV_PARQUET_LEVEL_BLOCK];
    size_t set = 0;

    if (leaf->node->definition_max == 0 ||
        (!levels->bit_packed && cv_rle_take_run(&levels->rle, count, 1))) {
        if (builder->validity)
            cv_bits_fill(builder->validity, builder->length, count, true);
        *ret_set = count;
        return CV_OK;
    }
    if (!builder->validity)
        cv_builder_start_validity(builder);
    if (!levels->bit_packed) {
        if (!cv_rle_read_bits(&levels->rle, count, builder->validity, builder->length, ret_set))
            return malformed_levels(err);
        return CV_OK;
    }
    for (size_t done = 0; done < count;) {
        size_t take = CV_MIN(count - done, sizeof block);

        if (!cv_read_levels(levels, take, block))
            return malformed_levels(err);
        for (size_t i = 0; i < take; i++, done++) {
            cv_bits_fill(builder->validity, builder->length + done, 1, block[i]);
            set += block[i];
        }
    }
    *ret_set = set;
    return CV_OK;
}

static enum cv_code read_flat(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                              size_t rows, struct cv_error *err)
{
    struct cv_builder *builder = leaf->builder;

    while (builder->capacity - builder->length < rows)
        cv_builder_grow(builder);
    while (rows > 0) {
        size_t take, set;

        CV_DO(cv_read_page(reader, leaf, err));
        take = CV_MIN(rows, leaf->page_levels);
        CV_DO(read_validity(leaf, take, &set, err));
        CV_DO(cv_read_values(leaf, builder, builder->length, set, err));
        cv_read_spread(builder, builder->length, take, set);
        builder->length += take;
        builder->null_count += take - set;
        leaf->page_levels -= take;
        rows -= take;
    }
    return CV_OK;
}

/* The next levels of the open page, checked against their maxima. */
static enum cv_code fill_block(struct cv_read_leaf *leaf, struct cv_error *err)
{
    size_t count = CV_MIN(leaf->page_levels, (size_t)CV_PARQUET_LEVEL_BLOCK);
    uint8_t definition = 0;
    uint8_t repetition = 0;

    if (!cv_read_levels(&leaf->repetitions, count, leaf->block_repetitions) ||
        !cv_read_levels(&leaf->definitions, count, leaf->block_definitions))
        return malformed_levels(err);
    for (size_t i = 0; i < count; i++) {
        definition = CV_MAX(definition, leaf->block_definitions[i]);
        repetition = CV_MAX(repetition, leaf->block_repetitions[i]);
    }
    if (definition > leaf->node->definition_max || repetition > leaf->node->repetition_max)
        return cv_fail(err, CV_FORMAT, "a level is above its maximum");
    leaf->block_at = 0;
    leaf->block_count = count;
    return CV_OK;
}

/* How many levels of the block belong to the next *rows rows, which are counted down; the level
 * that begins a row after them is left. */
static size_t levels_of_rows(const struct cv_read_leaf *leaf, size_t *rows)
{
    size_t i = leaf->block_at;

    for (; i < leaf->block_count; i++) {
        if (leaf->block_repetitions[i] != 0)
            continue;
        if (*rows == 0)
            break;
        (*rows)--;
    }
    return i - leaf->block_at;
}

static enum cv_code reserve_levels(struct cv_read_leaf *leaf, size_t count, struct cv_error *err)
{
    size_t need = leaf->level_count + count;

    if (need > CV_PARQUET_BATCH_LEVELS_MAX)
        return cv_fail(err, CV_LIMIT, "a batch has more than %zu values in lists",
                       CV_PARQUET_BATCH_LEVELS_MAX);
    if (need <= leaf->level_capacity)
        return CV_OK;
    leaf->level_capacity = CV_MAX(need, leaf->level_capacity * 2);
    leaf->batch_definitions = cv_realloc(leaf->batch_definitions, leaf->level_capacity);
    leaf->batch_repetitions = cv_realloc(leaf->batch_repetitions, leaf->level_capacity);
    return CV_OK;
}

/* Takes levels of the block, and their values densely behind those that the builder has. */
static enum cv_code take_levels(struct cv_read_leaf *leaf, size_t count, struct cv_error *err)
{
    const uint8_t *definitions = leaf->block_definitions + leaf->block_at;
    size_t set = 0;

    CV_DO(reserve_levels(leaf, count, err));
    memcpy(leaf->batch_definitions + leaf->level_count, definitions, count);
    memcpy(leaf->batch_repetitions + leaf->level_count, leaf->block_repetitions + leaf->block_at,
           count);
    for (size_t i = 0; i < count; i++)
        set += definitions[i] == leaf->node->definition_max;
    leaf->level_count += count;
    leaf->block_at += count;
    leaf->page_levels -= count;
    if (!leaf->type)
        return CV_OK;
    CV_DO(cv_read_values(leaf, leaf->builder, leaf->builder->length, set, err));
    leaf->builder->length += set;
    return CV_OK;
}

/* A row may go on in the next page: it has ended when another begins, or with the chunk. */
static enum cv_code read_nested(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                                size_t rows, struct cv_error *err)
{
    bool fresh = true;

    leaf->level_count = 0;
    for (;;) {
        size_t count;

        if (rows == 0 && leaf->page_levels == 0 && leaf->levels_left == 0)
            return CV_OK;
        CV_DO(cv_read_page(reader, leaf, err));
        if (leaf->block_at == leaf->block_count)
            CV_DO(fill_block(leaf, err));
        if (fresh && leaf->block_repetitions[leaf->block_at] != 0)
            return cv_fail(err, CV_FORMAT, "a row begins in the middle of a list");
        fresh = false;
        count = levels_of_rows(leaf, &rows);
        CV_DO(take_levels(leaf, count, err));
        if (leaf->block_at < leaf->block_count)
            return CV_OK;
        if (rows == 0 && leaf->node->repetition_max == 0)
            return CV_OK;
    }
}

enum cv_code cv_read_leaf_rows(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                               size_t rows, struct cv_error *err)
{
    return leaf->flat ? read_flat(reader, leaf, rows, err) : read_nested(reader, leaf, rows, err);
}
