/* SPDX-License-Identifier: Apache-2.0
 *
 * The tree of a query in JSON, as a parser of another version might give it, bound into a plan. The
 * first line is the text that it is of; its first byte chooses the output mode. */
#include "fuzz.h"

#include "fuzz_sql_stream.h"

static enum cv_code given(void *context, const char *sql, struct cv_arena *arena,
                          const char **ret_json, struct cv_error *err)
{
    (void)sql;
    (void)arena;
    (void)err;
    *ret_json = context;
    return CV_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_fuzz_sql fuzz = {0};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_sql_parser parser = {.parse = given};
    struct cv_query *query = NULL;
    enum cv_code code;
    char *text;
    char *json;

    if (size == 0)
        return 0;
    cv_fuzz_sql_init(&fuzz);
    text = cv_arena_strndup(&fuzz.arena, (const char *)data + 1, size - 1);
    json = strchr(text, '\n');
    if (json) {
        *json++ = '\0';
        parser.context = json;
        fuzz.config.sql = text;
        fuzz.config.complete = *data == 'c';
        code = cv_query_compile_with(&fuzz.config, &parser, &query, &err);
        cv_fuzz_sql_check(code, query, &err);
        cv_query_free(query);
    }
    cv_arena_release(&fuzz.arena);
    return 0;
}
