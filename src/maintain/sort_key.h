/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders of rows as bytes that memcmp() compares: sort orders of a table, Spark's sort_order text
 * ("c DESC NULLS LAST, bucket(4, d)"), and z-order ("zorder(a, b)": the bits of the columns one by
 * one in turn, as Iceberg's ZOrderByteUtils lays them). */
#ifndef CALVE_MAINTAIN_SORT_KEY_H
#define CALVE_MAINTAIN_SORT_KEY_H

#include "batch/gather.h"
#include "iceberg/metadata.h"

#define CV_ZORDER_NUMBER_BYTES 8

struct cv_sort_term {
    struct cv_column_path path;
    const struct cv_field *source;
    struct cv_transform transform;
    bool descending;
    bool nulls_last;
};

struct cv_sort_plan {
    const struct cv_sort_term *terms;
    size_t count;
    bool zorder;
    size_t zorder_text_bytes; /* of a text or binary column */
    size_t zorder_bytes;      /* of a key */
};

/* Both live in the arena and refer to the schema. CV_USAGE, CV_UNSUPPORTED with the term. */
enum cv_code cv_sort_plan_of_order(const struct cv_sort_order *order,
                                   const struct cv_schema *schema, struct cv_arena *arena,
                                   struct cv_sort_plan *ret_plan, struct cv_error *err);
/* `text_bytes` and `key_bytes` are the options var-length-contribution and max-output-size. */
enum cv_code cv_sort_plan_parse(const char *text, const struct cv_schema *schema,
                                int64_t text_bytes, int64_t key_bytes, struct cv_arena *arena,
                                struct cv_sort_plan *ret_plan, struct cv_error *err);
/* Rows sorted by the plan are sorted by the order. */
bool cv_sort_plan_gives_order(const struct cv_sort_plan *plan, const struct cv_sort_order *order);

/* Appends the key of a row. */
enum cv_code cv_sort_key_write(const struct cv_sort_plan *plan, const struct cv_batch *batch,
                               size_t row, struct cv_buf *out, struct cv_error *err);

/* Bits of the columns in turn, most significant first; columns that have no more are passed over.
 * `out` holds `out_length` bytes. */
void cv_zorder_interleave(const struct cv_str *columns, size_t count, uint8_t *out,
                          size_t out_length);

#endif
