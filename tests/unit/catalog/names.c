/* SPDX-License-Identifier: Apache-2.0
 *
 * Table names and catalog settings. */
#include "test.h"

#include "catalog/catalog.h"

static struct cv_error err;

static void a_name_has_catalog_namespace_table(void **state)
{
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_table_name name;

    (void)state;
    CV_ASSERT_OK(cv_table_name_parse("lake.shop.orders", &arena, &name, &err), &err);
    assert_string_equal(name.catalog, "lake");
    assert_int_equal(name.level_count, 1);
    assert_string_equal(name.levels[0], "shop");
    assert_string_equal(name.table, "orders");
    assert_null(name.branch);
    CV_ASSERT_OK(cv_table_name_parse("lake.a.b.c.t", &arena, &name, &err), &err);
    assert_string_equal(cv_table_name_namespace(&name, &arena), "a.b.c");
    assert_string_equal(cv_table_name_text(&name, &arena), "a.b.c.t");
    cv_arena_release(&arena);
}

static void a_last_part_may_be_a_branch(void **state)
{
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_table_name name;

    (void)state;
    CV_ASSERT_OK(cv_table_name_parse("lake.shop.orders.branch_audit", &arena, &name, &err), &err);
    assert_string_equal(name.table, "orders");
    assert_string_equal(name.branch, "audit");
    assert_int_equal(name.level_count, 1);
    CV_ASSERT_OK(cv_table_name_parse("lake.shop.branch_audit", &arena, &name, &err), &err);
    assert_string_equal(name.table, "branch_audit"); /* else no table would be left */
    assert_null(name.branch);
    CV_ASSERT_OK(cv_table_name_parse("lake.shop.orders.branch_", &arena, &name, &err), &err);
    assert_string_equal(name.table, "branch_");
    cv_arena_release(&arena);
}

static void bad_names_are_refused(void **state)
{
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_table_name name;
    char long_name[400] = "lake.shop.";

    (void)state;
    CV_ASSERT_FAILS(cv_table_name_parse("orders", &arena, &name, &err), CV_CONFIG, "full name",
                    &err);
    assert_non_null(strstr(err.hint, "catalog.namespace.table"));
    CV_ASSERT_FAILS(cv_table_name_parse("lake.orders", &arena, &name, &err), CV_CONFIG, "full name",
                    &err);
    CV_ASSERT_FAILS(cv_table_name_parse("lake..orders", &arena, &name, &err), CV_CONFIG, "part 2",
                    &err);
    CV_ASSERT_FAILS(cv_table_name_parse("lake.shop.", &arena, &name, &err), CV_CONFIG, "part 3",
                    &err);
    CV_ASSERT_FAILS(cv_table_name_parse("lake.../etc.x", &arena, &name, &err), CV_CONFIG, "part",
                    &err);
    CV_ASSERT_FAILS(cv_table_name_parse("lake.a/b.x", &arena, &name, &err), CV_CONFIG, "slash",
                    &err);
    memset(long_name + 10, 'x', 256);
    CV_ASSERT_FAILS(cv_table_name_parse(long_name, &arena, &name, &err), CV_CONFIG, "too long",
                    &err);
    cv_arena_release(&arena);
}

static void file_of_an_uri(void **state)
{
    (void)state;
    assert_string_equal(cv_catalog_uri_file("sqlite:lake.db"), "lake.db");
    assert_string_equal(cv_catalog_uri_file("sqlite:/a/lake.db"), "/a/lake.db");
    assert_string_equal(cv_catalog_uri_file("sqlite:///lake.db"), "lake.db");
    assert_string_equal(cv_catalog_uri_file("sqlite:////a/lake.db"), "/a/lake.db");
    assert_string_equal(cv_catalog_uri_file("jdbc:sqlite:lake.db"), "lake.db");
    assert_string_equal(cv_catalog_uri_file("jdbc:sqlite:/a/lake.db"), "/a/lake.db");
    assert_null(cv_catalog_uri_file("postgresql://host/db"));
}

static enum cv_code open_with(const char *key, const char *value, const char *key2,
                              const char *value2)
{
    struct cv_properties properties = {0};
    struct cv_catalog *catalog = NULL;
    enum cv_code code;

    cv_properties_set(&properties, key, value);
    if (key2)
        cv_properties_set(&properties, key2, value2);
    code = cv_catalog_open("lake", &properties, &catalog, &err);
    cv_catalog_free(catalog);
    cv_properties_release(&properties);
    return code;
}

static void settings_are_checked(void **state)
{
    (void)state;
    CV_ASSERT_FAILS(open_with("uri", "sqlite:x", NULL, NULL), CV_CONFIG, "type", &err);
    CV_ASSERT_FAILS(open_with("type", "hive", NULL, NULL), CV_UNSUPPORTED, "hive", &err);
    assert_non_null(strstr(err.hint, "sql"));
    CV_ASSERT_FAILS(open_with("type", "sql", "warehose", "x"), CV_CONFIG, "warehose", &err);
    CV_ASSERT_FAILS(open_with("type", "sql", NULL, NULL), CV_CONFIG, "uri", &err);
    CV_ASSERT_FAILS(open_with("type", "sql", "uri", "sqlite::memory:"), CV_CONFIG, "no file", &err);
    CV_ASSERT_FAILS(open_with("type", "sql", "uri", "sqlite://host/x"), CV_CONFIG, "no file", &err);
    CV_ASSERT_FAILS(open_with("type", "sql", "uri", "mysql://x"), CV_UNSUPPORTED, "mysql", &err);
    CV_ASSERT_FAILS(open_with("type", "hadoop", NULL, NULL), CV_CONFIG, "warehouse", &err);
    CV_ASSERT_FAILS(open_with("type", "hadoop", "warehouse", "gs://b/w"), CV_UNSUPPORTED, "gs://",
                    &err);
    CV_ASSERT_OK(open_with("type", "sql", "uri", "sqlite:/tmp/calve-absent/x.db"), &err);
}

static enum cv_code type_with(const char *key, const char *value, const char **ret_type)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties properties = {0};
    CV_CLEANUP(cv_catalog_freep) struct cv_catalog *catalog = NULL;
    enum cv_code code;

    cv_properties_set(&properties, "warehouse", "file:///nowhere");
    cv_properties_set(&properties, "uri", "jdbc:sqlite:/nowhere/lake.db");
    if (!strstr(key, "type") && !strstr(key, "impl"))
        cv_properties_set(&properties, "type", "sql");
    cv_properties_set(&properties, key, value);
    cv_error_clear(&err);
    code = cv_catalog_open("lake", &properties, &catalog, &err);
    *ret_type = code == CV_OK ? catalog->ops->type : NULL;
    return code;
}

/* Names of org.apache.iceberg.CatalogProperties and of Spark's catalogs. */
static void names_of_other_programs(void **state)
{
    const char *type;

    (void)state;
    CV_ASSERT_OK(type_with("catalog-impl", "org.apache.iceberg.hadoop.HadoopCatalog", &type), &err);
    assert_string_equal(type, "hadoop");
    CV_ASSERT_OK(type_with("catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog", &type), &err);
    assert_string_equal(type, "sql");
    CV_ASSERT_OK(type_with("type", "jdbc", &type), &err);
    assert_string_equal(type, "sql");
    CV_ASSERT_OK(type_with("io.manifest.cache-enabled", "true", &type), &err);
    CV_ASSERT_FAILS(type_with("catalog-impl", "org.apache.iceberg.nessie.NessieCatalog", &type),
                    CV_UNSUPPORTED, "NessieCatalog", &err);
    CV_ASSERT_FAILS(type_with("table-default.format-version", "2", &type), CV_CONFIG,
                    "calve table create", &err);
    CV_ASSERT_FAILS(type_with("s3.never-heard-of", "2", &type), CV_CONFIG, "unknown option", &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_catalog_namespace_table),
        cmocka_unit_test(a_last_part_may_be_a_branch),
        cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(file_of_an_uri),
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(names_of_other_programs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
