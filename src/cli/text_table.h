/* SPDX-License-Identifier: Apache-2.0
 *
 * A JSON array of flat objects as a text table for people: columns in the order of the first
 * object, numbers to the right, nested values as compact JSON, long cells cut on a terminal. */
#ifndef CALVE_CLI_TEXT_TABLE_H
#define CALVE_CLI_TEXT_TABLE_H

#include "base/buf.h"
#include "base/str.h"

/* `json` is the array's text, or that of one object, which is printed a line per member. `columns`
 * (may be NULL) chooses columns and their order, by comma. Widths count code points. */
enum cv_code cv_text_table_print(struct cv_str json, const char *columns, struct cv_error *err);

#endif
