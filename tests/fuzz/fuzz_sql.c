/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a query through DuckDB's parser into a plan; without the library only its lexer. What
 * compiles is SQL that DuckDB prepares. The first byte chooses the output mode. */
#include "fuzz.h"

#include "fuzz_sql_stream.h"

static struct cv_duck_connection *connection(void)
{
    static struct cv_duck_connection *open;
    static bool tried;
    const struct cv_duck_config config = {.memory_bytes = (size_t)256 << 20};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_duck *duck;

    if (!tried && cv_duck_open(&config, &duck, &err) == CV_OK &&
        cv_duck_connect(duck, &open, &err) != CV_OK)
        abort();
    tried = true;
    return open;
}

static void compile(const char *text, bool complete, struct cv_duck_connection *parser)
{
    struct cv_fuzz_sql fuzz = {0};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_query *query = NULL;
    enum cv_code code;

    cv_fuzz_sql_init(&fuzz);
    fuzz.config.sql = text;
    fuzz.config.complete = complete;
    fuzz.config.watermark = complete ? NULL : "value.ts";
    code = cv_query_compile(&fuzz.config, parser, &query, &err);
    cv_fuzz_sql_check(code, query, &err);
    cv_query_free(query);
    cv_arena_release(&fuzz.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_sql_text read;
    const char *text;

    if (size == 0)
        return 0;
    text = cv_arena_strndup(&arena, (const char *)data + 1, size - 1);
    if (cv_sql_text_read("sql", text, "", "", 0, &arena, &read, &err) == CV_OK) {
        for (size_t i = 0; i <= strlen(read.rewritten); i++)
            if (cv_sql_text_origin(&read, i) > strlen(text))
                abort();
        if (connection())
            compile(text, *data == 'c', connection());
    } else if (err.message[0] == '\0') {
        abort();
    }
    cv_arena_release(&arena);
    return 0;
}
