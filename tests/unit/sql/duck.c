/* SPDX-License-Identifier: Apache-2.0
 *
 * The library is found or named as missing; the database reaches nothing outside; its errors are
 * ours; queries can be stopped. */
#include "duck_test.h"

#include <pthread.h>
#include <stdatomic.h>

/* First of all, as a loaded library stays. */
static void a_missing_library_is_named(void **state)
{
    struct cv_duck_config config = {.library = "/nonexistent/libduckdb.so"};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_duck *duck = NULL;

    CV_ASSERT_FAILS(cv_duck_open(&config, &duck, &err), CV_UNSUPPORTED, "/nonexistent/", &err);
    assert_non_null(strstr(err.hint, "make deps-sql"));
    config.library = "libm.so.6";
    CV_ASSERT_FAILS(cv_duck_open(&config, &duck, &err), CV_CONFIG,
                    "libm.so.6: there is no function duckdb_library_version", &err);
    assert_null(duck);
}

static const char *text_of(const char *sql, const char *parameter)
{
    static char copy[4096];
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_error err = CV_ERROR_INIT;
    const char *text;

    CV_ASSERT_OK(cv_duck_text(cv_test_duck(), sql, parameter, &arena, &text, &err), &err);
    (void)snprintf(copy, sizeof copy, "%s", text);
    return copy;
}

static void sql_is_parsed_into_json(void **state)
{
    const char *json;

    (void)cv_test_duck();
    json = text_of("SELECT json_serialize_sql($1::VARCHAR)", "SELECT 'it''s' AS a FROM stream");
    assert_non_null(strstr(json, "\"SELECT_NODE\""));
    assert_non_null(strstr(json, "it's"));
    json = text_of("SELECT json_serialize_sql($1::VARCHAR)", "SELECT FROM WHERE");
    assert_non_null(strstr(json, "\"error\":true"));
}

static void the_zone_is_not_the_machines(void **state)
{
    (void)cv_test_duck();
    assert_string_equal(text_of("SELECT CAST(CAST($1 AS TIMESTAMPTZ)::TIMESTAMP AS VARCHAR)",
                                "2024-07-01 12:00:00+00"),
                        "2024-07-01 12:00:00");
}

static void fails(struct cv_duck_connection *connection, const char *sql, enum cv_code code,
                  const char *text)
{
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_FAILS(cv_duck_execute(connection, sql, &err), code, text, &err);
    assert_null(strchr(err.message, '\n'));
    assert_null(strstr(err.message, "LINE 1"));
}

static void errors_are_told_apart(void **state)
{
    struct cv_duck_connection *c = cv_test_duck();

    fails(c, "SELECT CAST('x' || range AS INTEGER) FROM range(3)", CV_RECORD,
          "Could not convert string 'x0' to INT32");
    fails(c, "SELECT (range + 9223372036854775807)::BIGINT + 1 FROM range(3)", CV_RECORD,
          "Overflow");
    fails(c, "SELECT error('own words') FROM range(3)", CV_RECORD, "own words");
    fails(c, "SELECT nothing FROM range(3)", CV_INTERNAL, "DuckDB: Binder Error: ");
    fails(c, "SELEC", CV_INTERNAL, "DuckDB: Parser Error: ");
}

static void nothing_outside_is_reached(void **state)
{
    struct cv_duck_connection *c = cv_test_duck();

    fails(c, "SELECT * FROM read_csv('/etc/passwd')", CV_UNSUPPORTED, "disabled by configuration");
    fails(c, "SELECT * FROM '/etc/passwd.csv'", CV_UNSUPPORTED, "disabled by configuration");
    fails(c, "COPY (SELECT 1) TO '/tmp/calve-must-not-be.csv'", CV_UNSUPPORTED, "disabled");
    fails(c, "ATTACH '/tmp/calve-must-not-be.db'", CV_UNSUPPORTED, "disabled");
    fails(c, "INSTALL httpfs", CV_UNSUPPORTED, "disabled");
    fails(c, "LOAD httpfs", CV_UNSUPPORTED, "disabled");
    fails(c, "SET threads=2", CV_RECORD, "locked");
    fails(c, "SET enable_external_access=true", CV_RECORD, "");
    fails(c, "SET allowed_paths=['/etc/passwd']", CV_RECORD, "");
    fails(c, "RESET memory_limit", CV_RECORD, "locked");
}

static void files_opened_on_purpose_are_read(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    char path[128], sql[256];
    const char *const readable[] = {path};
    const struct cv_duck_config config = {
        .memory_bytes = CV_TEST_DUCK_BYTES, .readable = readable, .readable_count = 1};
    CV_CLEANUP(cv_duck_freep) struct cv_duck *duck = NULL;
    CV_CLEANUP(cv_duck_disconnectp) struct cv_duck_connection *connection = NULL;
    FILE *file;

    (void)cv_test_duck();
    (void)snprintf(path, sizeof path, "%s/it's.csv", cv_test_folder());
    file = fopen(path, "w");
    (void)fputs("a,b\n1,2\n", file);
    (void)fclose(file);
    CV_ASSERT_OK(cv_duck_open(&config, &duck, &err), &err);
    CV_ASSERT_OK(cv_duck_connect(duck, &connection, &err), &err);
    (void)snprintf(sql, sizeof sql, "CREATE TABLE t AS SELECT * FROM read_csv('%.*s''s.csv')",
                   (int)(strlen(path) - 6), path);
    CV_ASSERT_OK(cv_duck_execute(connection, sql, &err), &err);
    fails(connection, "SELECT * FROM read_csv('/etc/passwd')", CV_UNSUPPORTED, "disabled");
    fails(connection, "SELECT * FROM t, read_csv('/tmp/*.csv')", CV_UNSUPPORTED, "disabled");
}

static void memory_has_a_limit(void **state)
{
    static const char sql[] =
        "CREATE TABLE t AS SELECT range AS a, range::VARCHAR || repeat('x', 100) AS s "
        "FROM range(400000) ORDER BY hash(range)";
    struct cv_error err = CV_ERROR_INIT;
    struct cv_duck_config config = {.memory_bytes = (size_t)40 << 20};
    CV_CLEANUP(cv_duck_freep) struct cv_duck *tight = NULL;
    CV_CLEANUP(cv_duck_freep) struct cv_duck *spilling = NULL;
    CV_CLEANUP(cv_duck_disconnectp) struct cv_duck_connection *a = NULL;
    CV_CLEANUP(cv_duck_disconnectp) struct cv_duck_connection *b = NULL;

    (void)cv_test_duck();
    CV_ASSERT_OK(cv_duck_open(&config, &tight, &err), &err);
    CV_ASSERT_OK(cv_duck_connect(tight, &a, &err), &err);
    fails(a, sql, CV_LIMIT, "");
    config.spill_directory = cv_test_folder();
    CV_ASSERT_OK(cv_duck_open(&config, &spilling, &err), &err);
    CV_ASSERT_OK(cv_duck_connect(spilling, &b, &err), &err);
    CV_ASSERT_OK(cv_duck_execute(b, sql, &err), &err);
}

static void parameters_are_times(void **state)
{
    struct cv_duck_connection *connection = cv_test_duck();
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_duck_query_freep) struct cv_duck_query *query = NULL;
    const int64_t times[] = {0, 1700000000123456, -1};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema schema, other;
    struct cv_batch out;

    CV_ASSERT_OK(cv_schema_read_ddl("t timestamp", &arena, &schema, &err), &err);
    CV_ASSERT_OK(cv_schema_read_ddl("t date", &arena, &other, &err), &err);
    CV_ASSERT_FAILS(cv_duck_query_prepare(connection, "SELECT $1::TIMESTAMP", &other, &query, &err),
                    CV_INTERNAL, "column t of a query is DuckDB's type 12, which is not date",
                    &err);
    CV_ASSERT_FAILS(cv_duck_query_prepare(connection, "SELECT 1, 2", &other, &query, &err),
                    CV_INTERNAL, "a query has 2 columns in place of 1", &err);
    CV_ASSERT_OK(cv_duck_query_prepare(connection, "SELECT $1::TIMESTAMP", &schema, &query, &err),
                 &err);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(times); i++) {
        CV_ASSERT_OK(cv_duck_query_start(query, &times[i], 1, &err), &err);
        CV_ASSERT_OK(cv_duck_query_next(query, 1, &out, &err), &err);
        assert_int_equal(cv_column_value(&out.columns[0], 0).i64, times[i]);
    }
    CV_ASSERT_FAILS(cv_duck_query_start(query, times, 0, &err), CV_INTERNAL, "given are 0", &err);
}

static atomic_bool stop_interrupting;

static void *interrupt_often(void *connection)
{
    while (!atomic_load(&stop_interrupting)) {
        (void)usleep(20000);
        cv_duck_interrupt(connection);
    }
    return NULL;
}

static void queries_can_be_stopped(void **state)
{
    struct cv_duck_connection *connection = cv_test_duck();
    struct cv_error err = CV_ERROR_INIT;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, interrupt_often, connection), 0);
    CV_ASSERT_FAILS(cv_duck_execute(connection,
                                    "SELECT count(*) FROM range(10000000000) a(x) WHERE x % 3 = 7",
                                    &err),
                    CV_CANCELLED, "interrupted", &err);
    atomic_store(&stop_interrupting, true);
    (void)pthread_join(thread, NULL);
    CV_ASSERT_OK(cv_duck_execute(connection, "SELECT 1", &err), &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_library_is_named),
        cmocka_unit_test(sql_is_parsed_into_json),
        cmocka_unit_test(the_zone_is_not_the_machines),
        cmocka_unit_test(errors_are_told_apart),
        cmocka_unit_test(nothing_outside_is_reached),
        cmocka_unit_test(files_opened_on_purpose_are_read),
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(parameters_are_times),
        cmocka_unit_test(queries_can_be_stopped),
    };

    (void)setenv("TZ", "America/New_York", 1);
    return cmocka_run_group_tests(tests, NULL, cv_test_duck_close);
}
