/* SPDX-License-Identifier: Apache-2.0
 *
 * Capital and small letters of Unicode 16, as Java has them: full mappings (the German sharp s
 * becomes SS), a sigma at the end of a word its own small form. */
#ifndef CALVE_SQL_LETTER_CASE_H
#define CALVE_SQL_LETTER_CASE_H

#include "base/buf.h"
#include "base/str.h"

/* Each appends to `out`. */
void cv_text_upper(struct cv_str text, struct cv_buf *out);
void cv_text_lower(struct cv_str text, struct cv_buf *out);
/* Words between blanks begin with a capital, all else is small. */
void cv_text_title(struct cv_str text, struct cv_buf *out);

#endif
