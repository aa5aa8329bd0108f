/* SPDX-License-Identifier: Apache-2.0
 *
 * DuckDB's errors as ours. Its messages are "Conversion Error: Could not convert …", then, after a
 * line break, the SQL around the place, which we wrote and nobody else has seen. */
#include "sql/duck_int.h"

static const struct {
    const char *kind;
    enum cv_code code;
} kinds[] = {
    {"Conversion Error", CV_RECORD},
    {"Out of Range Error", CV_RECORD},
    {"Invalid Input Error", CV_RECORD},
    {"Decimal Error", CV_RECORD},
    {"Divide by Zero Error", CV_RECORD},
    {"Object Size Error", CV_RECORD},
    {"Out of Memory Error", CV_LIMIT},
    {"INTERRUPT Error", CV_CANCELLED},
    {"IO Error", CV_IO},
    {"Permission Error", CV_UNSUPPORTED},
};

enum cv_code cv_duck_fail(const struct cv_duck_connection *connection, const char *message,
                          struct cv_error *err)
{
    struct cv_str line = cv_str_from(message ? message : "DuckDB gives no reason");
    const char *colon = strstr(line.ptr, ": ");
    const char *end = strchr(line.ptr, '\n');
    enum cv_code code = CV_INTERNAL;
    struct cv_str kind;

    if (connection && connection->source_error.code != CV_OK) {
        if (err)
            *err = connection->source_error;
        return connection->source_error.code;
    }
    if (end)
        line.length = (size_t)(end - line.ptr);
    kind = (struct cv_str){line.ptr, colon ? (size_t)(colon - line.ptr) : 0};
    for (size_t i = 0; i < CV_ARRAY_LENGTH(kinds); i++)
        if (cv_str_is(kind, kinds[i].kind))
            code = kinds[i].code;
    if (code == CV_INTERNAL) /* the kind says where to look */
        return cv_fail(err, code, "DuckDB: %.*s", CV_STR_ARG(line));
    if (code == CV_CANCELLED)
        return cv_fail(err, code, "the query was interrupted");
    line = cv_str_trim((struct cv_str){colon + 2, line.length - kind.length - 2});
    (void)cv_fail(err, code, "%.*s", CV_STR_ARG(line));
    if (code == CV_LIMIT)
        cv_hint(err, "what SQL may hold in memory is set beside the job's other limits");
    return code;
}
