/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a query before DuckDB parses it: what Spark writes differently is rewritten (names in
 * backquotes, the words window and offset as names, array(…), Spark's type words), and every
 * position in what came out is known in the text as the user wrote it. */
#ifndef CALVE_SQL_LEX_H
#define CALVE_SQL_LEX_H

#include "base/buf.h"
#include "base/str.h"

#define CV_SQL_BYTES_MAX ((size_t)1 << 20) /* one text of a job */

struct cv_sql_piece { /* from here on, rewritten and written text run in step */
    size_t rewritten, written;
};

struct cv_sql_text {
    const char *option; /* "sql", "select", "where": what messages call it */
    const char *written;
    size_t written_length;
    size_t base; /* its positions begin here, so that several texts share one space */
    const char *rewritten;
    const struct cv_sql_piece *pieces;
    size_t piece_count;
};

/* `before` and `after` are put around the written text for the parser. CV_CONFIG with line and
 * column for a quote or comment without end and for bytes that are no UTF-8; CV_LIMIT above
 * CV_SQL_BYTES_MAX. */
enum cv_code cv_sql_text_read(const char *option, const char *written, const char *before,
                              const char *after, size_t base, struct cv_arena *arena,
                              struct cv_sql_text *ret_text, struct cv_error *err);

/* A byte of the rewritten text, as a position of the written one (base added). */
size_t cv_sql_text_origin(const struct cv_sql_text *text, size_t rewritten);

/* "sql line 2 column 8"; columns count characters from 1. */
#define CV_SQL_PLACE_BYTES 96
void cv_sql_text_place(const struct cv_sql_text *text, size_t position,
                       char place[CV_SQL_PLACE_BYTES]);

/* The number that is written there ("1.50", "1e3", "1_000"), without sign and underscores, in the
 * arena; NULL when none is. */
const char *cv_sql_text_number(const struct cv_sql_text *text, size_t position,
                               struct cv_arena *arena);
/* Whether a minus stands there. */
bool cv_sql_text_is_minus(const struct cv_sql_text *text, size_t position);

#endif
