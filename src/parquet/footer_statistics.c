/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of a column chunk, and whether their order is one that Iceberg compares by (format
 * parquet.thrift, Statistics and ColumnOrder). */
#include "parquet/footer_int.h"

#include <math.h>

/* Statistics: 1 max, 2 min (deprecated), 3 null_count, 5 max_value, 6 min_value,
 * 7 is_max_value_exact, 8 is_min_value_exact. */
void cv_parse_statistics(struct cv_thrift_reader *r, struct cv_parquet_statistics *ret)
{
    struct cv_parquet_statistics got = {.null_count = -1};
    struct cv_str old_min = {NULL, 0};
    struct cv_str old_max = {NULL, 0};
    struct cv_thrift_field f;

    while (cv_thrift_read_field(r, &f)) {
        if (f.id == 1)
            old_max = cv_thrift_read_binary(r, &f);
        else if (f.id == 2)
            old_min = cv_thrift_read_binary(r, &f);
        else if (f.id == 3)
            got.null_count = cv_thrift_read_i64(r, &f);
        else if (f.id == 5)
            got.max = cv_thrift_read_binary(r, &f);
        else if (f.id == 6)
            got.min = cv_thrift_read_binary(r, &f);
        else if (f.id == 7)
            got.max_exact = cv_thrift_read_bool(r, &f);
        else if (f.id == 8)
            got.min_exact = cv_thrift_read_bool(r, &f);
        else
            cv_thrift_skip(r, f.type);
    }
    if (!got.min.ptr && !got.max.ptr && (old_min.ptr || old_max.ptr)) {
        got.min = old_min;
        got.max = old_max;
        got.deprecated = true;
    }
    *ret = got;
}

/* Bytes that a bound of the leaf must have; 0 = any number. */
static size_t bound_bytes(const struct cv_parquet_node *leaf)
{
    if (leaf->type == CV_PARQUET_FIXED_LEN_BYTE_ARRAY)
        return 0;
    return leaf->type == CV_PARQUET_BOOLEAN ? 1 : cv_parquet_node_width(leaf);
}

bool cv_order_is_known(const struct cv_parquet_node *leaf, bool deprecated)
{
    bool bytes =
        leaf->type == CV_PARQUET_BYTE_ARRAY || leaf->type == CV_PARQUET_FIXED_LEN_BYTE_ARRAY;

    if (leaf->type == CV_PARQUET_INT96 || leaf->meaning == CV_PARQUET_MEANS_OTHER ||
        leaf->meaning == CV_PARQUET_MEANS_FLOAT16)
        return false;
    /* Compared as signed numbers, which the upper half of these is not. */
    if (leaf->meaning == CV_PARQUET_MEANS_INTEGER && !leaf->is_signed && leaf->bits >= 32)
        return false;
    return deprecated ? !bytes : leaf->typed_order;
}

/* A NaN bounds nothing; a zero may stand for the other one. Returns false for a NaN. */
static bool widen_float(const struct cv_parquet_node *leaf, bool upper, struct cv_str *bound,
                        struct cv_arena *arena)
{
    double wide = 0;
    float narrow = 0;

    if (leaf->type == CV_PARQUET_FLOAT) {
        memcpy(&narrow, bound->ptr, sizeof narrow);
        wide = (double)narrow;
    } else {
        memcpy(&wide, bound->ptr, sizeof wide);
    }
    if (isnan(wide))
        return false;
    if (wide != 0)
        return true;
    wide = upper ? 0.0 : -0.0;
    narrow = (float)wide;
    bound->ptr = leaf->type == CV_PARQUET_FLOAT ? cv_arena_copy(arena, &narrow, sizeof narrow)
                                                : cv_arena_copy(arena, &wide, sizeof wide);
    return true;
}

static void check_bound(const struct cv_parquet_node *leaf, bool known, bool upper,
                        struct cv_str *bound, struct cv_arena *arena)
{
    size_t bytes = bound_bytes(leaf);
    bool real = leaf->type == CV_PARQUET_FLOAT || leaf->type == CV_PARQUET_DOUBLE;

    if (!bound->ptr)
        return;
    known &= bytes == 0 || bound->length == bytes;
    if (!known || (real && !widen_float(leaf, upper, bound, arena)))
        *bound = (struct cv_str){NULL, 0};
    else
        bound->ptr = cv_arena_copy(arena, bound->ptr, bound->length);
}

void cv_check_statistics(const struct cv_parquet_node *leaf,
                         struct cv_parquet_statistics *statistics, struct cv_arena *arena)
{
    bool known = cv_order_is_known(leaf, statistics->deprecated);

    check_bound(leaf, known, false, &statistics->min, arena);
    check_bound(leaf, known, true, &statistics->max, arena);
}
