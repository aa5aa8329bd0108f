/* SPDX-License-Identifier: Apache-2.0
 *
 * The problems of a query, each with line and column, collected for one message. */
#include "sql/bind_int.h"

#include <stdio.h>

static const struct cv_sql_text *text_of(const struct cv_sql_problems *problems, size_t position)
{
    const struct cv_sql_text *found = &problems->texts[0];

    for (size_t i = 0; i < problems->text_count; i++)
        if (problems->texts[i].base <= position)
            found = &problems->texts[i];
    return found;
}

bool cv_sql_problems_quoted(const struct cv_sql_problems *problems, size_t position)
{
    const struct cv_sql_text *text = text_of(problems, position);

    return problems->text_count > 0 && position >= text->base &&
           position - text->base < text->written_length &&
           text->written[position - text->base] == '"';
}

void cv_sql_problem(struct cv_sql_problems *problems, enum cv_code code, size_t position,
                    const char *format, ...)
{
    char place[CV_SQL_PLACE_BYTES] = "sql";
    char message[800];
    char whole[sizeof message + CV_SQL_PLACE_BYTES + 4];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (problems->text_count > 0 && position != CV_SQL_NO_POSITION)
        cv_sql_text_place(text_of(problems, position), position, place);
    (void)snprintf(whole, sizeof whole, "%s: %s", place, message);
    if (strstr(cv_buf_text(&problems->text), whole))
        return;
    if (problems->count++ == 0)
        problems->code = code;
    if (problems->count > CV_SQL_PROBLEMS_MAX)
        return;
    cv_buf_printf(&problems->text, "%s%s", problems->text.length ? "; " : "", whole);
}

enum cv_code cv_sql_problems_check(const struct cv_sql_problems *problems, struct cv_error *err)
{
    if (problems->count == 0)
        return CV_OK;
    if (problems->count > CV_SQL_PROBLEMS_MAX)
        return cv_fail(err, problems->code, "%.*s; and %zu more", (int)problems->text.length,
                       (const char *)problems->text.data, problems->count - CV_SQL_PROBLEMS_MAX);
    return cv_fail(err, problems->code, "%.*s", (int)problems->text.length,
                   (const char *)problems->text.data);
}
