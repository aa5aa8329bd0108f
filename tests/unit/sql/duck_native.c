/* SPDX-License-Identifier: Apache-2.0
 *
 * What native functions stand on: arguments of any shape come as columns, results go back; threads
 * set up and run connections of their own at once. */
#include "duck_test.h"
#include "same_value.h"
#include "sql/duck_int.h"

#include <pthread.h>

static const char ddl[] =
    "x struct<a: int, b: string, c: struct<d: array<int>>, m: map<string, decimal(3,1)>>";

/* Gives its argument back. */
static void give_back(struct duckdb_info *info, struct duckdb_chunk *input,
                      struct duckdb_vector *output)
{
    const struct cv_schema *schema = cv_duck_api.scalar_function_get_extra_info(info);
    size_t rows = (size_t)cv_duck_api.data_chunk_get_size(input);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_batch_builder builder;
    struct cv_batch batch;

    cv_batch_builder_init(&builder, schema);
    CV_ASSERT_OK(cv_duck_import(cv_duck_api.data_chunk_get_vector(input, 0), 0, rows,
                                &builder.columns[0], &err),
                 &err);
    cv_batch_builder_view(&builder, &batch);
    cv_duck_export_copy(&batch.columns[0], 0, rows, output);
    cv_batch_builder_release(&builder);
}

static void register_give_back(struct cv_duck_connection *connection,
                               const struct cv_schema *schema)
{
    struct duckdb_scalar_function *function = cv_duck_api.create_scalar_function();
    struct duckdb_logical_type *type = cv_duck_logical_type(&schema->root.fields[0].type);

    cv_duck_api.scalar_function_set_name(function, "give_back");
    cv_duck_api.scalar_function_add_parameter(function, type);
    cv_duck_api.scalar_function_set_return_type(function, type);
    cv_duck_api.destroy_logical_type(&type);
    cv_duck_api.scalar_function_set_special_handling(function);
    cv_duck_api.scalar_function_set_extra_info(function, (void *)schema, NULL);
    cv_duck_api.scalar_function_set_function(function, give_back);
    assert_int_equal(cv_duck_api.register_scalar_function(connection->handle, function), 0);
    cv_duck_api.destroy_scalar_function(&function);
}

/* Vectors that are constant, dictionaries and slices of lists, also below structs. */
static const char *const values[] = {
    /* all constant */
    "{'a': 1, 'b': 'a constant of more than twelve', 'c': {'d': [1, 2]}, 'm': MAP {'k': 1.5}} "
    "FROM range(3000)",
    /* constants below a struct that is none */
    "{'a': range::INTEGER, 'b': 'a constant of more than twelve', 'c': {'d': [1, 2, 3]}, "
    "'m': MAP {'k': 1.5, 'l': 2.5}} FROM range(3000)",
    "{'a': 7, 'b': repeat('x', range::INTEGER % 30), 'c': {'d': [7, range::INTEGER]}, "
    "'m': MAP {range::VARCHAR: 1.5}} FROM range(3000)",
    /* dictionaries: rows of a join, of a sorted table, of a filter */
    "{'a': a.range::INTEGER, 'b': b.s, 'c': {'d': b.l}, 'm': MAP {b.s: 0.5}} FROM range(3000) a "
    "JOIN (SELECT range AS k, range || ' is a text of the other side' AS s, "
    "[range::INTEGER, NULL, 3] AS l FROM range(10)) b ON a.range % 10 = b.k",
    "{'a': range::INTEGER, 'b': range::VARCHAR, 'c': {'d': [range::INTEGER]}, "
    "'m': MAP {'k': 9.5}} FROM range(9000) WHERE range % 7 = 3",
    /* nulls at every level */
    "CASE WHEN range % 5 = 0 THEN NULL ELSE {'a': nullif(range::INTEGER, 7), 'b': NULL, "
    "'c': CASE WHEN range % 3 = 0 THEN NULL ELSE {'d': CASE WHEN range % 2 = 0 THEN NULL ELSE "
    "[NULL, 4] END} END, 'm': NULL} END FROM range(3000)",
    "NULL FROM range(3000)",
    /* slices of lists */
    "{'a': 1, 'b': 'x', 'c': {'d': (range(range, range + 9))[3:5]}, 'm': MAP {'k': 1.5}} "
    "FROM range(3000)",
};

#define TYPE "STRUCT(a INTEGER, b VARCHAR, c STRUCT(d INTEGER[]), m MAP(VARCHAR, DECIMAL(3,1)))"

static void arguments_of_any_shape_arrive(void **state)
{
    struct cv_duck_connection *connection = cv_test_duck();
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_schema schema, number;
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(cv_schema_read_ddl(ddl, &arena, &schema, &err), &err);
    CV_ASSERT_OK(cv_schema_read_ddl("n bigint", &arena, &number, &err), &err);
    register_give_back(connection, &schema);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(values); i++) {
        CV_CLEANUP(cv_duck_query_freep) struct cv_duck_query *query = NULL;
        const char *from = strstr(values[i], " FROM range(");
        struct cv_batch out;
        const char *sql;

        sql = cv_arena_printf(&arena,
                              "SELECT count(*) FILTER (WHERE give_back(x) IS DISTINCT FROM x) + "
                              "(count(*) < 1000)::BIGINT "
                              "FROM (SELECT (%.*s)::" TYPE " AS x%s)",
                              (int)(from - values[i]), values[i], from);
        CV_ASSERT_OK(cv_duck_query_prepare(connection, sql, &number, &query, &err), &err);
        CV_ASSERT_OK(cv_duck_query_start(query, NULL, 0, &err), &err);
        CV_ASSERT_OK(cv_duck_query_next(query, 1, &out, &err), &err);
        if (cv_column_value(&out.columns[0], 0).i64 != 0)
            fail_msg("%zu: %lld rows differ", i,
                     (long long)cv_column_value(&out.columns[0], 0).i64);
    }
}

#define THREADS 4

struct worker {
    pthread_t thread;
    int64_t number;
};

static void run_worker(int64_t number)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_duck_disconnectp) struct cv_duck_connection *connection = NULL;
    CV_CLEANUP(cv_duck_view_freep) struct cv_duck_view *view = NULL;
    CV_CLEANUP(cv_duck_query_freep) struct cv_duck_query *query = NULL;
    struct cv_batch_builder builder;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema schema;
    struct cv_batch batch, out;

    CV_ASSERT_OK(cv_schema_read_ddl("n bigint", &arena, &schema, &err), &err);
    CV_ASSERT_OK(cv_duck_connect(cv_test_duck_opened, &connection, &err), &err);
    CV_ASSERT_OK(cv_duck_view_create(connection, "input", &schema, &view, &err), &err);
    CV_ASSERT_OK(cv_duck_query_prepare(connection, "SELECT sum(n)::BIGINT FROM input", &schema,
                                       &query, &err),
                 &err);
    cv_batch_builder_init(&builder, &schema);
    for (int64_t i = 1; i <= 3000; i++)
        cv_builder_i64(&builder.columns[0], number);
    cv_batch_builder_view(&builder, &batch);
    for (int i = 0; i < 20; i++) {
        cv_duck_view_set_batch(view, &batch);
        CV_ASSERT_OK(cv_duck_query_start(query, NULL, 0, &err), &err);
        CV_ASSERT_OK(cv_duck_query_next(query, 1, &out, &err), &err);
        assert_int_equal(cv_column_value(&out.columns[0], 0).i64, 3000 * number);
    }
    cv_batch_builder_release(&builder);
}

static void *run_workers(void *worker)
{
    for (int i = 0; i < 20; i++)
        run_worker(((struct worker *)worker)->number + i);
    return NULL;
}

static void threads_do_not_meet(void **state)
{
    struct worker workers[THREADS];

    (void)cv_test_duck();
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i * 1000;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run_workers, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(workers[i].thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_of_any_shape_arrive),
        cmocka_unit_test(threads_do_not_meet),
    };

    return cmocka_run_group_tests(tests, NULL, cv_test_duck_close);
}
