/* SPDX-License-Identifier: Apache-2.0
 *
 * The two halves of CAST: from and to text, and between numbers and times. Private to schema/. */
#ifndef CALVE_SCHEMA_CAST_INT_H
#define CALVE_SCHEMA_CAST_INT_H

#include "schema/cast.h"

/* Each sets `ret_out` only when it returns true. */
bool cv_cast_from_text(struct cv_str text, const struct cv_type *to, struct cv_buf *scratch,
                       struct cv_value *ret_out);
/* Spark's text of a value; false only when the bytes of a binary are not UTF-8. */
bool cv_cast_to_text(const struct cv_value *in, const struct cv_type *from, struct cv_buf *scratch,
                     struct cv_str *ret_text);
/* Java's Double.toString() and Float.toString(). */
void cv_cast_write_double(double value, bool single, struct cv_buf *out);

#endif
