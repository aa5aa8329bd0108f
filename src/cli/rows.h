/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a column batch as JSON objects, for people to look at. */
#ifndef CALVE_CLI_ROWS_H
#define CALVE_CLI_ROWS_H

#include "batch/column.h"
#include "codec/json.h"

/* Appends the first `count` rows as an array of objects, columns by name; dates, times and decimals
 * as text, binary as hex, lists and structs nested. */
void cv_rows_write_json(const struct cv_batch *batch, size_t count, struct cv_buf *out);

#endif
