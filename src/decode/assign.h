/* SPDX-License-Identifier: Apache-2.0
 *
 * Which table column each item of the select feeds, by name and Iceberg's write-compatibility rule;
 * and the way of one value into a column. */
#ifndef CALVE_DECODE_ASSIGN_H
#define CALVE_DECODE_ASSIGN_H

#include "batch/gather.h"
#include "decode/decoder_int.h"
#include "schema/compat.h"

/* Fills decoder->feeds and the lists of columns from the select. What does not fit is added to
 * `problems`. */
void cv_assign_columns(struct cv_decoder *decoder, struct cv_buf *problems);

/* Adds one problem to the list that ends as one message. */
void cv_problem(struct cv_buf *problems, const char *format, ...) CV_PRINTF(2, 3);

/* Table column by name: the exact name, else the only one that differs in letter case alone.
 * SIZE_MAX: none, or (ambiguous) more than one. */
size_t cv_assign_find_column(const struct cv_schema *table, const char *name, bool *ret_ambiguous);

/* True when the last value of the column is NULL. */
static inline bool cv_last_is_null(const struct cv_builder *builder)
{
    return builder->validity && !cv_bit_get(builder->validity, builder->length - 1);
}

#endif
