/* SPDX-License-Identifier: Apache-2.0
 *
 * A warehouse in a temporary folder with one table, data files that exist on paper only, and what
 * the tests of table/ ask of them. */
#ifndef CALVE_TESTS_UNIT_TABLE_FIXTURE_H
#define CALVE_TESTS_UNIT_TABLE_FIXTURE_H

#include "test.h"

#include "base/file.h"
#include "base/map.h"
#include "catalog/catalog.h"
#include "table/append.h"
#include "table/position.h"

static struct cv_error err;

struct fixture {
    struct cv_arena arena;
    const char *folder;
    struct cv_catalog *catalog;
    struct cv_table *table;
    int files; /* made so far */
};

static inline struct cv_catalog *fixture_catalog(struct fixture *f, const char *type)
{
    struct cv_properties properties = {0};
    struct cv_catalog *catalog;

    cv_properties_set(&properties, "type", type);
    if (strcmp(type, "sql") == 0)
        cv_properties_set(&properties, "uri",
                          cv_arena_printf(&f->arena, "sqlite:%s/lake.db", f->folder));
    cv_properties_set(&properties, "warehouse",
                      cv_arena_printf(&f->arena, "file://%s/wh", f->folder));
    CV_ASSERT_OK(cv_catalog_open("lake", &properties, &catalog, &err), &err);
    cv_properties_release(&properties);
    return catalog;
}

static inline void fixture_open(struct fixture *f, const char *type)
{
    *f = (struct fixture){0};
    f->folder = cv_arena_strdup(&f->arena, cv_test_folder());
    f->catalog = fixture_catalog(f, type);
}

static inline void fixture_close(struct fixture *f)
{
    cv_table_free(f->table);
    cv_catalog_free(f->catalog);
    cv_arena_release(&f->arena);
}

/* lake.shop.orders with the given Spark partitioning and properties "k=v". */
static inline struct cv_table *fixture_table(struct fixture *f, const char *partitioning,
                                             const char *const *properties, size_t count)
{
    struct cv_properties p = {0};
    struct cv_partition_spec spec;
    struct cv_schema schema;

    CV_ASSERT_OK(
        cv_schema_read_ddl("id bigint NOT NULL, item string, day date", &f->arena, &schema, &err),
        &err);
    CV_ASSERT_OK(cv_partition_spec_read_ddl(partitioning, &schema, &f->arena, &spec, &err), &err);
    for (size_t i = 0; i < count; i++) {
        const char *equals = strchr(properties[i], '=');

        cv_properties_set(
            &p, cv_arena_strndup(&f->arena, properties[i], (size_t)(equals - properties[i])),
            equals + 1);
    }
    CV_ASSERT_OK(
        cv_table_create(f->catalog, "lake.shop.orders", &schema, &spec, &p, NULL, &f->table, &err),
        &err);
    cv_properties_release(&p);
    return f->table;
}

/* A data file of 10 rows and 1,000 bytes in the day (NULL partition when the spec has no field). */
static inline struct cv_data_file fixture_file(struct fixture *f, int32_t spec_id, int32_t day)
{
    struct cv_value *partition = cv_arena_new(&f->arena, struct cv_value);

    partition->kind = CV_TYPE_DATE;
    partition->i32 = day;
    return (struct cv_data_file){
        .content = CV_CONTENT_DATA,
        .path = cv_arena_printf(&f->arena, "file://%s/wh/shop/orders/data/%05d.parquet", f->folder,
                                f->files++),
        .format = "PARQUET",
        .spec_id = spec_id,
        .partition = partition,
        .metrics = {.record_count = 10, .file_size = 1000},
    };
}

/* Every live data file of the branch head; a path that is live twice fails the test. */
static inline size_t fixture_live_files(struct cv_table *table)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_map_release) struct cv_map seen = {0};
    const struct cv_snapshot *head =
        cv_table_metadata_head(table->metadata, cv_table_branch(table));
    struct cv_manifest_file *rows;
    size_t row_count;

    if (!head)
        return 0;
    CV_ASSERT_OK(cv_table_manifests(table, head, &arena, &rows, &row_count, &err), &err);
    for (size_t i = 0; i < row_count; i++) {
        struct cv_manifest_entry *entries;
        size_t count;

        CV_ASSERT_OK(cv_table_manifest_entries(table, &rows[i], &arena, &entries, &count, &err),
                     &err);
        for (size_t k = 0; k < count; k++) {
            if (entries[k].status == CV_ENTRY_DELETED)
                continue;
            if (cv_map_set(&seen, entries[k].file.path, strlen(entries[k].file.path), &seen))
                fail_msg("%s is live twice", entries[k].file.path);
        }
    }
    return seen.count;
}

/* A value of the snapshot's summary. */
static inline const char *fixture_summary(const struct fixture *f, int64_t id, const char *key)
{
    return cv_properties_get_or(&cv_table_metadata_snapshot(f->table->metadata, id)->summary, key,
                                "absent");
}

/* Names in the table's metadata folder that hold the text. */
static inline size_t fixture_count_files(struct fixture *f, const char *text)
{
    char **names;
    size_t count;
    size_t found = 0;

    CV_ASSERT_OK(
        cv_directory_list(cv_arena_printf(&f->arena, "%s/wh/shop/orders/metadata", f->folder),
                          &f->arena, &names, &count, &err),
        &err);
    for (size_t i = 0; i < count; i++)
        found += strstr(names[i], text) != NULL;
    return found;
}

/* Appends `count` new files; as batch `epoch` of query "q" and job "orders" unless it is negative.
 */
static inline enum cv_code fixture_append(struct fixture *f, struct cv_table *table, size_t count,
                                          int64_t epoch, struct cv_append_result *ret_result)
{
    struct cv_data_file *files = cv_arena_array(&f->arena, struct cv_data_file, count + 1);
    struct cv_append append = {.files = files, .file_count = count};

    for (size_t i = 0; i < count; i++)
        files[i] = fixture_file(f, table->metadata->default_spec_id, 20000 + (int32_t)i);
    if (epoch >= 0) {
        append.query_id = "q-1";
        append.epoch = epoch;
        append.job = "orders";
        append.cluster_id = "cluster";
        append.offsets_json =
            cv_arena_printf(&f->arena, "{\"orders\":{\"0\":%lld}}", (long long)(epoch + 1) * 100);
    }
    return cv_table_append(table, &append, ret_result, &err);
}

#endif
