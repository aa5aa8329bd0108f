/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of the SQL that DuckDB runs. */
#ifndef CALVE_SQL_SQL_TEXT_H
#define CALVE_SQL_SQL_TEXT_H

#include "base/buf.h"
#include "schema/type.h"

void cv_sql_write_name(struct cv_buf *out, const char *name); /* quoted */
void cv_sql_write_text(struct cv_buf *out, const char *text); /* as a literal */
/* DuckDB's type that holds the values, as duck.h says. */
void cv_sql_type_text(const struct cv_type *type, struct cv_buf *out);

#endif
