/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows go through DuckDB and back: every type with nulls, nested ones too; slices; batch after
 * batch from a source; a prepared query again and again. */
#include "batch/builder.h"
#include "duck_test.h"
#include "same_value.h"

#include <math.h>

#define ROWS 5000 /* more than two vectors of DuckDB, and no multiple of 8 in them */

static const char ddl[] =
    "flag boolean, i int, l bigint, f float, d double, d3 decimal(3,1), d4 decimal(4,2), "
    "d9 decimal(9,2), d18 decimal(18,3), d38 decimal(38,6), day date, clock time, "
    "ts timestamp_ntz, tz timestamp, s string, u uuid, fx fixed[5], b binary, "
    "st struct<a: int, t: struct<x: string, y: decimal(2,1)>>, li array<string>, "
    "lili array<array<bigint>>, lis array<struct<q: bigint, r: string>>, m map<string, int>, "
    "ml map<int, array<struct<z: decimal(30,3)>>>";

static bool null_at(int64_t n, size_t column)
{
    return (n + (int64_t)column) % ((int64_t)column % 5 + 3) == 0;
}

static void put_value(struct cv_builder *c, int64_t n, size_t salt);

static void put_list(struct cv_builder *c, int64_t n, size_t salt)
{
    for (int64_t k = 0; k < n % 4; k++)
        for (size_t i = 0; i < c->child_count; i++) {
            if (c->type->kind == CV_TYPE_MAP && i == 0 && c->children[0].width)
                cv_builder_i32(&c->children[0], (int32_t)(n + k));
            else if (c->type->kind == CV_TYPE_MAP && i == 0)
                cv_builder_bytes(&c->children[0], &"keys of any length"[k], 6 + (size_t)k * 3);
            else
                put_value(&c->children[i], n + k, salt + i + 1);
        }
    cv_builder_end_list(c);
}

static void put_value(struct cv_builder *c, int64_t n, size_t salt)
{
    char text[64];
    int length = snprintf(text, sizeof text, "%lld%s", (long long)n,
                          n % 2 ? "" : ": a text that no vector holds within");

    if (null_at(n, salt)) {
        cv_builder_null(c);
        return;
    }
    switch (c->type->kind) {
    case CV_TYPE_BOOLEAN:
        cv_builder_bool(c, n % 3 == 1);
        break;
    case CV_TYPE_FLOAT:
        cv_builder_f32(c, n % 100 == 7 ? -0.0f : (float)n / 3);
        break;
    case CV_TYPE_DOUBLE:
        cv_builder_f64(c, n % 100 == 7 ? (double)NAN : (double)n / 7);
        break;
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        cv_builder_i32(c, (int32_t)(n * 7 - 9000));
        break;
    case CV_TYPE_DECIMAL:
        cv_builder_decimal(c, c->width == 16 ? (n - 2500) * ((cv_wide_int)1 << 80) : n % 199 - 99);
        break;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
        cv_builder_bytes(c, text, n % 11 ? (size_t)length : 0);
        break;
    case CV_TYPE_UUID:
    case CV_TYPE_FIXED:
        (void)snprintf(text, sizeof text, "%016lld", (long long)n);
        cv_builder_fixed(c, text + 16 - c->width);
        break;
    case CV_TYPE_STRUCT:
        for (size_t i = 0; i < c->child_count; i++)
            put_value(&c->children[i], n, salt + i + 1);
        cv_builder_end_struct(c);
        break;
    case CV_TYPE_LIST:
    case CV_TYPE_MAP:
        put_list(c, n, salt);
        break;
    default: /* a time of day must be one */
        cv_builder_i64(c, c->type->kind == CV_TYPE_TIME ? n * 1001 : (n - 2500) * 86399999983);
    }
}

struct fixture {
    struct cv_arena arena;
    struct cv_schema schema;
    struct cv_batch_builder builder;
    struct cv_batch batch;
    struct cv_duck_view *view;
};

static void make_rows(struct fixture *f, int64_t from, int64_t to)
{
    cv_batch_builder_clear(&f->builder);
    for (int64_t n = from; n < to; n++)
        for (size_t c = 0; c < f->builder.column_count; c++)
            put_value(&f->builder.columns[c], n, c);
    cv_batch_builder_view(&f->builder, &f->batch);
}

static void open_fixture(struct fixture *f, struct cv_duck_connection *connection)
{
    struct cv_error err = CV_ERROR_INIT;

    *f = (struct fixture){.arena = CV_ARENA_INIT};
    CV_ASSERT_OK(cv_schema_read_ddl(ddl, &f->arena, &f->schema, &err), &err);
    cv_batch_builder_init(&f->builder, &f->schema);
    make_rows(f, 0, ROWS);
    CV_ASSERT_OK(cv_duck_view_create(connection, "input", &f->schema, &f->view, &err), &err);
}

static void close_fixture(struct fixture *f)
{
    cv_duck_view_free(f->view);
    cv_batch_builder_release(&f->builder);
    cv_arena_release(&f->arena);
}

/* Rows first … of `out` are rows from … of `in`, `count` of them. */
static void same_rows(const struct cv_batch *in, size_t from, const struct cv_batch *out,
                      size_t first, size_t count)
{
    assert_true(first + count <= out->row_count);
    for (size_t c = 0; c < in->column_count; c++)
        for (size_t i = 0; i < count; i++)
            cv_test_same_value(&in->columns[c], from + i, &out->columns[c], first + i);
}

/* What stands under a null is zero, and the counts are right: the table's writers rely on it. */
static void tidy_column(const struct cv_column *c)
{
    size_t width = cv_type_width(c->type);
    size_t nulls = 0;

    for (size_t i = 0; i < c->length; i++) {
        if (!cv_column_is_null(c, i))
            continue;
        nulls++;
        for (size_t k = 0; k < width; k++)
            assert_int_equal(c->data[i * width + k], 0);
        if (c->type->kind == CV_TYPE_BOOLEAN)
            assert_false(cv_bit_get(c->data, i));
        else if (c->type->kind == CV_TYPE_STRUCT)
            for (size_t k = 0; k < c->child_count; k++)
                assert_true(cv_column_is_null(&c->children[k], i));
        else if (!width)
            assert_int_equal(c->offsets[i], c->offsets[i + 1]);
    }
    assert_int_equal(nulls, c->null_count);
    for (size_t k = 0; k < c->child_count; k++)
        tidy_column(&c->children[k]);
}

static void all_types_come_back(void **state)
{
    struct cv_duck_connection *connection = cv_test_duck();
    CV_CLEANUP(cv_duck_query_freep) struct cv_duck_query *query = NULL;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_batch out;
    struct fixture f;

    open_fixture(&f, connection);
    CV_ASSERT_OK(cv_duck_query_prepare(connection, "SELECT * FROM input", &f.schema, &query, &err),
                 &err);
    cv_duck_view_set_batch(f.view, &f.batch);
    CV_ASSERT_OK(cv_duck_query_start(query, NULL, 0, &err), &err);
    CV_ASSERT_OK(cv_duck_query_next(query, SIZE_MAX, &out, &err), &err);
    assert_int_equal(out.row_count, ROWS);
    same_rows(&f.batch, 0, &out, 0, ROWS);
    for (size_t c = 0; c < out.column_count; c++)
        tidy_column(&out.columns[c]);
    CV_ASSERT_OK(cv_duck_query_next(query, 1, &out, &err), &err);
    assert_int_equal(out.row_count, 0);
    close_fixture(&f);
}

/* Through operators that copy rows: a filter that keeps few, a sort, a join. */
static void rows_survive_filters_and_sorts(void **state)
{
    struct cv_duck_connection *connection = cv_test_duck();
    CV_CLEANUP(cv_duck_query_freep) struct cv_duck_query *filter = NULL;
    CV_CLEANUP(cv_duck_query_freep) struct cv_duck_query *sort = NULL;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_batch out;
    struct fixture f;
    size_t found = 0;

    open_fixture(&f, connection);
    CV_ASSERT_OK(cv_duck_query_prepare(connection, "SELECT * FROM input WHERE i % 13 = 5",
                                       &f.schema, &filter, &err),
                 &err);
    CV_ASSERT_OK(
        cv_duck_query_prepare(connection,
                              "SELECT a.* FROM input a LEFT JOIN (SELECT i AS k FROM input "
                              "WHERE i % 97 = 3) b ON a.i = b.k ORDER BY l, i, s",
                              &f.schema, &sort, &err),
        &err);
    cv_duck_view_set_batch(f.view, &f.batch);
    CV_ASSERT_OK(cv_duck_query_start(filter, NULL, 0, &err), &err);
    CV_ASSERT_OK(cv_duck_query_next(filter, SIZE_MAX, &out, &err), &err);
    for (size_t row = 0; row < ROWS; row++) {
        struct cv_value i = cv_column_value(&f.batch.columns[1], row);

        if (!i.is_null && i.i32 % 13 == 5)
            same_rows(&f.batch, row, &out, found++, 1);
    }
    assert_int_equal(out.row_count, found);
    CV_ASSERT_OK(cv_duck_query_start(sort, NULL, 0, &err), &err);
    CV_ASSERT_OK(cv_duck_query_next(sort, SIZE_MAX, &out, &err), &err);
    assert_int_equal(out.row_count, ROWS);
    for (size_t c = 0; c < out.column_count; c++)
        tidy_column(&out.columns[c]);
    for (size_t row = 1; row < ROWS; row++) {
        struct cv_value a = cv_column_value(&out.columns[2], row - 1);
        struct cv_value b = cv_column_value(&out.columns[2], row);

        assert_true(b.is_null || cv_value_compare(&a, &b) <= 0);
    }
    close_fixture(&f);
}

static void slices_are_read_in_order(void **state)
{
    struct cv_duck_connection *connection = cv_test_duck();
    static const struct cv_duck_slice slices[] = {
        {4999, 1}, {0, 1}, {13, 2500}, {700, 0}, {2049, 2951}, {3, 7},
    };
    CV_CLEANUP(cv_duck_query_freep) struct cv_duck_query *query = NULL;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_batch out;
    struct fixture f;
    size_t first = 0;

    open_fixture(&f, connection);
    CV_ASSERT_OK(cv_duck_query_prepare(connection, "SELECT * FROM input", &f.schema, &query, &err),
                 &err);
    cv_duck_view_set_slices(f.view, &f.batch, slices, CV_ARRAY_LENGTH(slices));
    CV_ASSERT_OK(cv_duck_query_start(query, NULL, 0, &err), &err);
    CV_ASSERT_OK(cv_duck_query_next(query, SIZE_MAX, &out, &err), &err);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(slices); i++) {
        same_rows(&f.batch, slices[i].start, &out, first, slices[i].count);
        first += slices[i].count;
    }
    assert_int_equal(out.row_count, first);
    cv_duck_view_set_slices(f.view, &f.batch, slices, 0);
    CV_ASSERT_OK(cv_duck_query_start(query, NULL, 0, &err), &err);
    CV_ASSERT_OK(cv_duck_query_next(query, SIZE_MAX, &out, &err), &err);
    assert_int_equal(out.row_count, 0);
    close_fixture(&f);
}

/* Gives batches of 0 … rows until it has given `left` of them, or fails before the end. */
struct counting {
    struct fixture *fixture;
    int64_t at;
    size_t left;
    bool fails;
};

static enum cv_code count_on(void *context, struct cv_batch *ret_batch, struct cv_error *err)
{
    struct counting *c = context;
    int64_t rows = 1 + c->at % 3000;

    if (c->left == 0) {
        if (c->fails)
            return cv_fail(err, CV_FORMAT, "file x.parquet: page 7 is torn");
        rows = 0;
    } else {
        c->left--;
    }
    make_rows(c->fixture, c->at, c->at + rows);
    *ret_batch = c->fixture->batch;
    c->at += rows;
    return CV_OK;
}

static void sources_give_batch_after_batch(void **state)
{
    struct cv_duck_connection *connection = cv_test_duck();
    CV_CLEANUP(cv_duck_query_freep) struct cv_duck_query *query = NULL;
    struct cv_error err = CV_ERROR_INIT;
    struct fixture f, all;
    struct counting counting = {.fixture = &f, .left = 12};
    const struct cv_rows_source source = {count_on, &counting};
    struct cv_batch out;
    size_t at = 0;

    open_fixture(&all, connection);
    open_fixture(&f, connection);
    CV_ASSERT_OK(cv_duck_query_prepare(connection, "SELECT * FROM input", &f.schema, &query, &err),
                 &err);
    cv_duck_view_set_source(f.view, &source);
    CV_ASSERT_OK(cv_duck_query_start(query, NULL, 0, &err), &err);
    for (;;) {
        CV_ASSERT_OK(cv_duck_query_next(query, 1000, &out, &err), &err);
        if (out.row_count == 0)
            break;
        make_rows(&all, (int64_t)at, (int64_t)(at + out.row_count));
        same_rows(&all.batch, 0, &out, 0, out.row_count);
        at += out.row_count;
    }
    assert_int_equal(at, counting.at);
    assert_true(at > 2048);
    close_fixture(&f);
    close_fixture(&all);
}

static void a_source_fails_in_its_own_words(void **state)
{
    struct cv_duck_connection *connection = cv_test_duck();
    CV_CLEANUP(cv_duck_query_freep) struct cv_duck_query *query = NULL;
    struct cv_error err = CV_ERROR_INIT;
    struct fixture f;
    struct counting counting = {.fixture = &f, .left = 2, .fails = true};
    const struct cv_rows_source source = {count_on, &counting};
    struct cv_batch out;
    enum cv_code code;

    open_fixture(&f, connection);
    CV_ASSERT_OK(cv_duck_query_prepare(connection, "SELECT * FROM input", &f.schema, &query, &err),
                 &err);
    cv_duck_view_set_source(f.view, &source);
    code = cv_duck_query_start(query, NULL, 0, &err);
    while (code == CV_OK) {
        code = cv_duck_query_next(query, 1, &out, &err);
        assert_true(code != CV_OK || out.row_count);
    }
    assert_int_equal(code, CV_FORMAT);
    assert_string_equal(err.message, "file x.parquet: page 7 is torn");
    /* The next execution knows nothing of it. */
    cv_duck_view_set_batch(f.view, &f.batch);
    CV_ASSERT_OK(cv_duck_query_start(query, NULL, 0, &err), &err);
    close_fixture(&f);
}

static void counting_reads_no_column(void **state)
{
    struct cv_duck_connection *connection = cv_test_duck();
    CV_CLEANUP(cv_duck_query_freep) struct cv_duck_query *query = NULL;
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema schema;
    struct cv_batch out;
    struct fixture f;

    open_fixture(&f, connection);
    CV_ASSERT_OK(cv_schema_read_ddl("n bigint", &arena, &schema, &err), &err);
    CV_ASSERT_OK(
        cv_duck_query_prepare(connection, "SELECT count(*) FROM input", &schema, &query, &err),
        &err);
    for (size_t rows = 0; rows < 3; rows++) {
        make_rows(&f, 0, (int64_t)rows * 1111);
        cv_duck_view_set_batch(f.view, &f.batch);
        CV_ASSERT_OK(cv_duck_query_start(query, NULL, 0, &err), &err);
        CV_ASSERT_OK(cv_duck_query_next(query, 1, &out, &err), &err);
        assert_int_equal(out.row_count, 1);
        assert_int_equal(cv_column_value(&out.columns[0], 0).i64, rows * 1111);
    }
    close_fixture(&f);
}

/* Every connection has its own rows under one name. */
static void connections_do_not_share_rows(void **state)
{
    struct cv_duck_connection *first = cv_test_duck();
    CV_CLEANUP(cv_duck_disconnectp) struct cv_duck_connection *second = NULL;
    CV_CLEANUP(cv_duck_query_freep) struct cv_duck_query *a = NULL;
    CV_CLEANUP(cv_duck_query_freep) struct cv_duck_query *b = NULL;
    struct cv_error err = CV_ERROR_INIT;
    struct fixture f, g;
    struct cv_batch out;

    open_fixture(&f, first);
    CV_ASSERT_OK(cv_duck_connect(cv_test_duck_opened, &second, &err), &err);
    open_fixture(&g, second);
    make_rows(&g, 0, 3);
    cv_duck_view_set_batch(f.view, &f.batch);
    cv_duck_view_set_batch(g.view, &g.batch);
    CV_ASSERT_OK(cv_duck_query_prepare(first, "SELECT * FROM input", &f.schema, &a, &err), &err);
    CV_ASSERT_OK(cv_duck_query_prepare(second, "SELECT * FROM input", &f.schema, &b, &err), &err);
    CV_ASSERT_OK(cv_duck_query_start(a, NULL, 0, &err), &err);
    CV_ASSERT_OK(cv_duck_query_start(b, NULL, 0, &err), &err);
    CV_ASSERT_OK(cv_duck_query_next(a, SIZE_MAX, &out, &err), &err);
    assert_int_equal(out.row_count, ROWS);
    CV_ASSERT_OK(cv_duck_query_next(b, SIZE_MAX, &out, &err), &err);
    assert_int_equal(out.row_count, 3);
    cv_duck_query_free(cv_steal(b));
    close_fixture(&g);
    close_fixture(&f);
}

static size_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    size_t total, pages = 0;

    assert_int_equal(fscanf(file, "%zu %zu", &total, &pages), 2);
    (void)fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void executions_leave_nothing_behind(void **state)
{
    struct cv_duck_connection *connection = cv_test_duck();
    CV_CLEANUP(cv_duck_query_freep) struct cv_duck_query *query = NULL;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_batch out;
    struct fixture f;
    size_t before = 0;

    open_fixture(&f, connection);
    CV_ASSERT_OK(cv_duck_query_prepare(connection,
                                       "SELECT * FROM input WHERE l % 2 = 0 AND s LIKE '%text%'",
                                       &f.schema, &query, &err),
                 &err);
    for (size_t i = 0; i < 1000; i++) {
        make_rows(&f, (int64_t)i, (int64_t)i + 100);
        cv_duck_view_set_batch(f.view, &f.batch);
        CV_ASSERT_OK(cv_duck_query_start(query, NULL, 0, &err), &err);
        CV_ASSERT_OK(cv_duck_query_next(query, SIZE_MAX, &out, &err), &err);
        if (i == 200)
            before = resident_bytes();
    }
    /* (Sanitizers keep freed memory for a while.) */
    if (!getenv("ASAN_OPTIONS") && !getenv("UBSAN_OPTIONS") && !getenv("TSAN_OPTIONS"))
        assert_true(resident_bytes() < before + ((size_t)4 << 20));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types_come_back),
        cmocka_unit_test(rows_survive_filters_and_sorts),
        cmocka_unit_test(slices_are_read_in_order),
        cmocka_unit_test(sources_give_batch_after_batch),
        cmocka_unit_test(a_source_fails_in_its_own_words),
        cmocka_unit_test(counting_reads_no_column),
        cmocka_unit_test(connections_do_not_share_rows),
        cmocka_unit_test(executions_leave_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, cv_test_duck_close);
}
