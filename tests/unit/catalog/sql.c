/* SPDX-License-Identifier: Apache-2.0
 *
 * The SQL catalog on SQLite: rows as PyIceberg and Java keep them, compare-and-set, locks, the
 * older schema without iceberg_type. The tables of the other side are made here by SQL text that
 * is theirs. */
#include "test.h"

#include "base/file.h"
#include "base/time.h"
#include "catalog/catalog.h"

#include <pthread.h>
#include <sqlite3.h>
#include <sys/wait.h>

static struct cv_error err;

struct fixture {
    struct cv_arena arena;
    const char *file;
    struct cv_catalog *catalog;
    struct cv_table_name name;
};

static struct cv_catalog *open_catalog(const char *file, const char *name, const char *catalog_name)
{
    struct cv_properties properties = {0};
    struct cv_catalog *catalog;
    char uri[600];

    (void)snprintf(uri, sizeof uri, "sqlite:%s", file);
    cv_properties_set(&properties, "type", "sql");
    cv_properties_set(&properties, "uri", uri);
    cv_properties_set(&properties, "warehouse", "file:///w");
    if (catalog_name)
        cv_properties_set(&properties, "catalog-name", catalog_name);
    CV_ASSERT_OK(cv_catalog_open(name, &properties, &catalog, &err), &err);
    cv_properties_release(&properties);
    return catalog;
}

static int set_up(void **state)
{
    struct fixture *f = cv_alloc(sizeof *f);

    f->file = cv_arena_printf(&f->arena, "%s/lake.db", cv_test_folder());
    f->catalog = open_catalog(f->file, "lake", NULL);
    CV_ASSERT_OK(cv_table_name_parse("lake.shop.eu.orders", &f->arena, &f->name, &err), &err);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cv_catalog_free(f->catalog);
    cv_arena_release(&f->arena);
    free(f);
    return 0;
}

static enum cv_code create(struct fixture *f, const char *location)
{
    struct cv_catalog_change change = {.next_location = location};
    struct cv_catalog_entry entry = {0};
    enum cv_code code =
        f->catalog->ops->create(f->catalog, &f->name, &change, &f->arena, &entry, &err);

    if (code == CV_OK)
        assert_string_equal(entry.metadata_location, location);
    return code;
}

static enum cv_code commit(struct fixture *f, const char *base, const char *next)
{
    struct cv_catalog_change change = {.base_location = base, .next_location = next};
    struct cv_catalog_entry entry = {0};
    enum cv_code code =
        f->catalog->ops->commit(f->catalog, &f->name, &change, &f->arena, &entry, &err);

    if (code == CV_OK)
        assert_string_equal(entry.metadata_location, next);
    return code;
}

static enum cv_code load(struct fixture *f, const char **ret_location)
{
    return cv_catalog_find(f->catalog, &f->name, &f->arena, ret_location, &err);
}

/* Runs SQL on a connection of its own; returns the rows as "a|b;" text. */
static const char *sql(const char *file, const char *text)
{
    static char rows[4096];
    sqlite3_stmt *statement;
    sqlite3 *db;
    const char *tail = text;
    size_t length = 0;

    rows[0] = '\0';
    assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
    while (*tail) {
        assert_int_equal(sqlite3_prepare_v2(db, tail, -1, &statement, &tail), SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW)
            for (int i = 0; i < sqlite3_column_count(statement); i++) {
                const char *value = (const char *)sqlite3_column_text(statement, i);

                length += (size_t)snprintf(rows + length, sizeof rows - length, "%s%s",
                                           value ? value : "NULL",
                                           i + 1 < sqlite3_column_count(statement) ? "|" : ";");
            }
        (void)sqlite3_finalize(statement);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return rows;
}

static void reading_makes_no_file(void **state)
{
    struct fixture *f = *state;
    const char *location;
    char **names;
    size_t count;

    CV_ASSERT_FAILS(load(f, &location), CV_NOT_FOUND, "does not exist", &err);
    CV_ASSERT_FAILS(f->catalog->ops->list(f->catalog, &f->arena, &names, &count, &err),
                    CV_NOT_FOUND, "lake.db", &err);
    assert_false(cv_file_exists(f->file));
}

static void rows_are_those_of_schema_v1(void **state)
{
    struct fixture *f = *state;
    const char *location;

    CV_ASSERT_OK(create(f, "file:///w/00000-a.metadata.json"), &err);
    CV_ASSERT_OK(commit(f, "file:///w/00000-a.metadata.json", "file:///w/00001-b.metadata.json"),
                 &err);
    CV_ASSERT_OK(load(f, &location), &err);
    assert_string_equal(location, "file:///w/00001-b.metadata.json");
    assert_string_equal(sql(f->file, "SELECT * FROM iceberg_tables"),
                        "lake|shop.eu|orders|file:///w/00001-b.metadata.json|"
                        "file:///w/00000-a.metadata.json|TABLE;");
    assert_string_equal(sql(f->file, "SELECT * FROM iceberg_namespace_properties"),
                        "lake|shop.eu|exists|true;");
    assert_string_equal(sql(f->file, "PRAGMA journal_mode"), "wal;");
    assert_string_equal(sql(f->file, "SELECT name, pk FROM pragma_table_info('iceberg_tables')"),
                        "catalog_name|1;table_namespace|2;table_name|3;metadata_location|0;"
                        "previous_metadata_location|0;iceberg_type|0;");
}

static void a_second_create_fails(void **state)
{
    struct fixture *f = *state;
    const char *location;

    CV_ASSERT_OK(create(f, "file:///w/a"), &err);
    CV_ASSERT_FAILS(create(f, "file:///w/b"), CV_EXISTS, "shop.eu.orders", &err);
    CV_ASSERT_OK(load(f, &location), &err);
    assert_string_equal(location, "file:///w/a");
}

static void a_stale_base_is_a_conflict(void **state)
{
    struct fixture *f = *state;
    const char *location;

    CV_ASSERT_OK(create(f, "file:///w/a"), &err);
    CV_ASSERT_OK(commit(f, "file:///w/a", "file:///w/b"), &err);
    CV_ASSERT_FAILS(commit(f, "file:///w/a", "file:///w/c"), CV_CONFLICT, "file:///w/b", &err);
    CV_ASSERT_OK(load(f, &location), &err);
    assert_string_equal(location, "file:///w/b");
    /* the same statement again: its own earlier success */
    CV_ASSERT_OK(commit(f, "file:///w/a", "file:///w/b"), &err);
}

static void dropped_tables_are_gone(void **state)
{
    struct fixture *f = *state;
    const char *location;

    CV_ASSERT_OK(create(f, "file:///w/a"), &err);
    CV_ASSERT_OK(f->catalog->ops->drop(f->catalog, &f->name, &err), &err);
    CV_ASSERT_FAILS(load(f, &location), CV_NOT_FOUND, "orders", &err);
    CV_ASSERT_FAILS(commit(f, "file:///w/a", "file:///w/b"), CV_NOT_FOUND, "orders", &err);
    CV_ASSERT_FAILS(f->catalog->ops->drop(f->catalog, &f->name, &err), CV_NOT_FOUND, "orders",
                    &err);
    CV_ASSERT_OK(create(f, "file:///w/c"), &err);
}

/* Java's default schema V0 has no column iceberg_type. */
static void schema_v0_is_used_as_it_is(void **state)
{
    struct fixture *f = *state;
    const char *location;

    (void)sql(f->file,
              "CREATE TABLE iceberg_tables(catalog_name VARCHAR(255) NOT NULL,table_namespace "
              "VARCHAR(255) NOT NULL,table_name VARCHAR(255) NOT NULL,metadata_location "
              "VARCHAR(1000),previous_metadata_location VARCHAR(1000),PRIMARY KEY (catalog_name, "
              "table_namespace, table_name));"
              "CREATE TABLE iceberg_namespace_properties(catalog_name VARCHAR(255) NOT NULL,"
              "namespace VARCHAR(255) NOT NULL,property_key VARCHAR(255),property_value "
              "VARCHAR(1000),PRIMARY KEY (catalog_name, namespace, property_key));"
              "INSERT INTO iceberg_tables VALUES('lake','shop.eu','orders','file:///w/a',NULL);");
    CV_ASSERT_OK(commit(f, "file:///w/a", "file:///w/b"), &err);
    CV_ASSERT_OK(load(f, &location), &err);
    assert_string_equal(location, "file:///w/b");
    assert_string_equal(sql(f->file, "PRAGMA journal_mode"), "delete;"); /* left as it was */
}

static void views_are_not_tables(void **state)
{
    struct fixture *f = *state;
    const char *location;
    char **names;
    size_t count;

    CV_ASSERT_OK(create(f, "file:///w/a"), &err);
    (void)sql(f->file, "UPDATE iceberg_tables SET iceberg_type = 'VIEW'");
    CV_ASSERT_FAILS(load(f, &location), CV_NOT_FOUND, "orders", &err);
    CV_ASSERT_FAILS(create(f, "file:///w/b"), CV_EXISTS, "orders", &err);
    CV_ASSERT_OK(f->catalog->ops->list(f->catalog, &f->arena, &names, &count, &err), &err);
    assert_int_equal(count, 0);
    (void)sql(f->file, "UPDATE iceberg_tables SET iceberg_type = NULL");
    CV_ASSERT_OK(load(f, &location), &err);
}

static void rows_belong_to_a_catalog_name(void **state)
{
    struct fixture *f = *state;
    struct cv_catalog *other = open_catalog(f->file, "sea", NULL);
    struct cv_catalog *renamed = open_catalog(f->file, "sea", "lake");
    const char *location;

    CV_ASSERT_OK(create(f, "file:///w/a"), &err);
    CV_ASSERT_FAILS(cv_catalog_find(other, &f->name, &f->arena, &location, &err), CV_NOT_FOUND,
                    "sea", &err);
    assert_non_null(strstr(err.hint, "\"lake\""));
    CV_ASSERT_OK(cv_catalog_find(renamed, &f->name, &f->arena, &location, &err), &err);
    cv_catalog_free(other);
    cv_catalog_free(renamed);
}

static void lists_in_order(void **state)
{
    struct fixture *f = *state;
    char **names;
    size_t count;

    CV_ASSERT_OK(create(f, "file:///w/a"), &err);
    f->name.table = "items";
    CV_ASSERT_OK(create(f, "file:///w/b"), &err);
    CV_ASSERT_OK(f->catalog->ops->list(f->catalog, &f->arena, &names, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_string_equal(names[0], "shop.eu.items");
    assert_string_equal(names[1], "shop.eu.orders");
}

struct holder {
    const char *file;
    int64_t ms;
    sqlite3 *db;
};

static void *let_go_later(void *context)
{
    struct holder *holder = context;

    cv_sleep_ms(holder->ms);
    (void)sqlite3_exec(holder->db, "ROLLBACK", NULL, NULL, NULL);
    return NULL;
}

static void a_lock_of_another_process_is_waited_for(void **state)
{
    struct fixture *f = *state;
    struct holder holder = {f->file, 300, NULL};
    int64_t start = cv_monotonic_us();
    pthread_t thread;

    CV_ASSERT_OK(create(f, "file:///w/a"), &err);
    assert_int_equal(sqlite3_open(f->file, &holder.db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(holder.db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(pthread_create(&thread, NULL, let_go_later, &holder), 0);
    CV_ASSERT_OK(commit(f, "file:///w/a", "file:///w/b"), &err);
    assert_true(cv_monotonic_us() - start > 200000);
    (void)pthread_join(thread, NULL);
    (void)sqlite3_close(holder.db);
}

/* Everybody finds no file and starts to make it. */
static void processes_make_the_file_together(void **state)
{
    struct fixture *f = *state;
    char **names;
    size_t count;
    int status;

    for (int i = 0; i < 6; i++)
        if (fork() == 0) {
            f->name.table = cv_arena_printf(&f->arena, "t%d", i);
            _exit(create(f, "file:///w/a") == CV_OK ? 0 : fprintf(stderr, "%s\n", err.message));
        }
    for (int i = 0; i < 6; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    CV_ASSERT_OK(f->catalog->ops->list(f->catalog, &f->arena, &names, &count, &err), &err);
    assert_int_equal(count, 6);
    assert_string_equal(sql(f->file, "PRAGMA journal_mode"), "wal;");
}

static void foreign_files_are_refused(void **state)
{
    struct fixture *f = *state;
    const char *location;
    static const char text[] = "this is not a database at all, but it is longer than a header is, "
                               "which makes SQLite look at its first bytes and say so.";

    CV_ASSERT_OK(cv_file_write_new(f->file, text, sizeof text, &err), &err);
    CV_ASSERT_FAILS(load(f, &location), CV_FORMAT, "lake.db", &err);
}

static void locations_of_new_tables_and_metadata(void **state)
{
    struct fixture *f = *state;
    const struct cv_catalog_ops *ops = f->catalog->ops;
    const char *location;

    CV_ASSERT_OK(ops->table_location(f->catalog, &f->name, &f->arena, &location, &err), &err);
    assert_string_equal(location, "file:///w/shop/eu/orders");
    CV_ASSERT_OK(
        ops->metadata_location(f->catalog, "file:///w/m", NULL, false, &f->arena, &location, &err),
        &err);
    assert_true(cv_text_starts_with(location, "file:///w/m/00000-"));
    assert_int_equal(strlen(location), strlen("file:///w/m/00000-.metadata.json") + 36);
    CV_ASSERT_OK(ops->metadata_location(f->catalog, "file:///w/m",
                                        "file:///w/m/00041-1-2.metadata.json", true, &f->arena,
                                        &location, &err),
                 &err);
    assert_true(cv_text_starts_with(location, "file:///w/m/00042-"));
    assert_true(cv_text_ends_with(location, ".gz.metadata.json"));
    CV_ASSERT_OK(ops->metadata_location(f->catalog, "file:///w/m", "file:///w/m/v7.metadata.json",
                                        false, &f->arena, &location, &err),
                 &err);
    assert_true(cv_text_starts_with(location, "file:///w/m/00000-"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reading_makes_no_file),
        TEST(rows_are_those_of_schema_v1),
        TEST(a_second_create_fails),
        TEST(a_stale_base_is_a_conflict),
        TEST(dropped_tables_are_gone),
        TEST(schema_v0_is_used_as_it_is),
        TEST(views_are_not_tables),
        TEST(rows_belong_to_a_catalog_name),
        TEST(lists_in_order),
        TEST(a_lock_of_another_process_is_waited_for),
        TEST(processes_make_the_file_together),
        TEST(foreign_files_are_refused),
        TEST(locations_of_new_tables_and_metadata),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
