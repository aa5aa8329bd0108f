/* SPDX-License-Identifier: Apache-2.0
 *
 * The SQL catalog: one row per table holds its metadata location; a commit is a compare-and-set of
 * that row. PyIceberg's SqlCatalog and Java's JdbcCatalog open the same file. */
#include "catalog/sql/database.h"

#include "base/random.h"

#include <stdlib.h>

struct sql_catalog {
    struct cv_catalog base;
    struct cv_arena arena;
    const char *name; /* catalog_name of the rows */
    const char *warehouse;
    struct cv_sql_database database;
};

static void sql_free(struct cv_catalog *base)
{
    struct sql_catalog *catalog = (struct sql_catalog *)base;

    cv_sql_database_release(&catalog->database);
    cv_arena_release(&catalog->arena);
    free(catalog);
}

static enum cv_code check_file(const char *file, const char *uri, struct cv_error *err)
{
    if (!file) {
        (void)cv_fail(err, CV_UNSUPPORTED, "uri %.200s is not supported", uri);
        cv_hint(err, "an sql catalog is a SQLite file: sqlite:FILE");
        return CV_UNSUPPORTED;
    }
    if (!*file || *file == ':' || cv_text_starts_with(file, "//"))
        return cv_fail(err, CV_CONFIG, "uri %.200s names no file", uri);
    if (strchr(file, '?'))
        return cv_fail(err, CV_CONFIG, "uri %.200s: parameters after ? are not supported", uri);
    if (strlen(file) >= CV_PATH_BYTES_MAX)
        return cv_fail(err, CV_LIMIT, "uri of %zu bytes is too long", strlen(uri));
    return CV_OK;
}

static enum cv_code sql_open(const char *name, const struct cv_catalog_settings *settings,
                             const struct cv_properties *properties,
                             struct cv_catalog **ret_catalog, struct cv_error *err)
{
    struct sql_catalog *catalog;
    const char *file;

    (void)properties;
    if (!settings->uri)
        return cv_fail(err, CV_CONFIG, "an sql catalog needs `uri`, for example sqlite:lake.db");
    file = cv_catalog_uri_file(settings->uri);
    CV_DO(check_file(file, settings->uri, err));
    catalog = cv_alloc(sizeof *catalog);
    catalog->base.ops = &cv_sql_catalog_ops;
    catalog->name =
        cv_arena_strdup(&catalog->arena, settings->catalog_name ? settings->catalog_name : name);
    if (settings->warehouse)
        catalog->warehouse = cv_arena_strdup(&catalog->arena, settings->warehouse);
    catalog->database.path = cv_arena_strdup(&catalog->arena, file);
    *ret_catalog = &catalog->base;
    return CV_OK;
}

/* The one mistake that is hard to see: the row is there, under another catalog's name. */
static void hint_elsewhere(struct sql_catalog *catalog, const char *const *keys,
                           struct cv_error *err)
{
    sqlite3_stmt *statement;

    if (cv_sql_prepare(&catalog->database, CV_SQL_ELSEWHERE, keys + 1, 2, &statement, NULL) !=
        CV_OK)
        return;
    if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0) &&
        strcmp((const char *)sqlite3_column_text(statement, 0), keys[0]) != 0)
        cv_hint(err, "the file has it in catalog \"%.100s\": set catalog-name to that",
                sqlite3_column_text(statement, 0));
    (void)sqlite3_reset(statement);
}

static enum cv_code fail_not_found(struct sql_catalog *catalog, const char *const *keys,
                                   struct cv_error *err)
{
    (void)cv_fail(err, CV_NOT_FOUND, "table %s.%s does not exist in catalog %s", keys[1], keys[2],
                  catalog->name);
    hint_elsewhere(catalog, keys, err);
    return CV_NOT_FOUND;
}

static enum cv_code load_keys(struct sql_catalog *catalog, const char *const *keys,
                              struct cv_arena *arena, const char **ret_location,
                              struct cv_error *err)
{
    const char *location = NULL;
    sqlite3_stmt *statement;
    int result;

    CV_DO(cv_sql_prepare(&catalog->database, CV_SQL_LOAD, keys, 3, &statement, err));
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW && sqlite3_column_text(statement, 0))
        location = cv_arena_strdup(arena, (const char *)sqlite3_column_text(statement, 0));
    else if (result != SQLITE_ROW && result != SQLITE_DONE)
        (void)cv_sql_fail(&catalog->database, result, "read a table's row", err);
    (void)sqlite3_reset(statement);
    if (result == SQLITE_DONE)
        return fail_not_found(catalog, keys, err);
    if (result != SQLITE_ROW)
        return CV_CATALOG;
    if (!location)
        return cv_fail(err, CV_CATALOG, "table %s.%s has no metadata_location", keys[1], keys[2]);
    *ret_location = location;
    return CV_OK;
}

static enum cv_code sql_load(struct cv_catalog *base, const struct cv_table_name *name,
                             const char *known, struct cv_arena *arena,
                             struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    struct sql_catalog *catalog = (struct sql_catalog *)base;
    const char *keys[] = {catalog->name, cv_table_name_namespace(name, arena), name->table};
    const char *location;

    CV_DO(cv_sql_database_open(&catalog->database, false, err));
    CV_DO(load_keys(catalog, keys, arena, &location, err));
    *ret_entry = (struct cv_catalog_entry){.unchanged = known && strcmp(known, location) == 0,
                                           .metadata_location = location};
    return CV_OK;
}

static enum cv_code insert_table(struct sql_catalog *catalog, const char *const *keys,
                                 struct cv_error *err)
{
    int result = SQLITE_OK;

    CV_DO(cv_sql_run(&catalog->database, CV_SQL_ADD_NAMESPACE, keys, 2, NULL, err));
    if (cv_sql_run(&catalog->database, CV_SQL_ADD_TABLE, keys, 4, &result, err) == CV_OK)
        return CV_OK;
    if ((result & 0xff) == SQLITE_CONSTRAINT)
        return cv_fail(err, CV_EXISTS, "table %s.%s exists already", keys[1], keys[2]);
    return CV_CATALOG;
}

static enum cv_code sql_register(struct cv_catalog *base, const struct cv_table_name *name,
                                 const char *metadata_location, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct sql_catalog *catalog = (struct sql_catalog *)base;
    const char *keys[] = {catalog->name, cv_table_name_namespace(name, &arena), name->table,
                          metadata_location};
    enum cv_code code;

    CV_DO(cv_sql_database_open(&catalog->database, true, err));
    CV_DO(cv_sql_begin(&catalog->database, err));
    code = insert_table(catalog, keys, err);
    if (code != CV_OK) {
        cv_sql_rollback(&catalog->database);
        return code;
    }
    return cv_sql_commit(&catalog->database, err);
}

static enum cv_code sql_create(struct cv_catalog *base, const struct cv_table_name *name,
                               const struct cv_catalog_change *change, struct cv_arena *arena,
                               struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    CV_DO(sql_register(base, name, change->next_location, err));
    *ret_entry = (struct cv_catalog_entry){.metadata_location =
                                               cv_arena_strdup(arena, change->next_location)};
    return CV_OK;
}

/* Nothing was changed: somebody else moved the row, or an earlier try of ours got through. */
static enum cv_code explain_no_change(struct sql_catalog *catalog, const char *const *keys,
                                      struct cv_arena *arena, struct cv_error *err)
{
    const char *current;

    CV_DO(load_keys(catalog, keys, arena, &current, err));
    if (strcmp(current, keys[3]) == 0)
        return CV_OK;
    return cv_fail(err, CV_CONFLICT, "another commit to %s.%s was first: %s", keys[1], keys[2],
                   current);
}

static enum cv_code sql_commit(struct cv_catalog *base, const struct cv_table_name *name,
                               const struct cv_catalog_change *change, struct cv_arena *arena,
                               struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    struct sql_catalog *catalog = (struct sql_catalog *)base;
    struct cv_sql_database *database = &catalog->database;
    const char *keys[] = {catalog->name, cv_table_name_namespace(name, arena), name->table,
                          change->next_location, change->base_location};
    enum cv_code code;

    CV_DO(cv_sql_database_open(database, false, err));
    CV_DO(cv_sql_begin(database, err));
    code = cv_sql_run(database, CV_SQL_SWAP, keys, 5, NULL, err);
    if (code == CV_OK && sqlite3_changes(database->connection) == 1) {
        CV_DO(cv_sql_commit(database, err));
    } else {
        if (code == CV_OK)
            code = explain_no_change(catalog, keys, arena, err);
        cv_sql_rollback(database);
        CV_DO(code);
    }
    *ret_entry = (struct cv_catalog_entry){.metadata_location =
                                               cv_arena_strdup(arena, change->next_location)};
    return CV_OK;
}

static enum cv_code sql_drop(struct cv_catalog *base, const struct cv_table_name *name,
                             struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct sql_catalog *catalog = (struct sql_catalog *)base;
    const char *keys[] = {catalog->name, cv_table_name_namespace(name, &arena), name->table};

    CV_DO(cv_sql_database_open(&catalog->database, false, err));
    CV_DO(cv_sql_run(&catalog->database, CV_SQL_DROP, keys, 3, NULL, err));
    if (sqlite3_changes(catalog->database.connection) == 0)
        return fail_not_found(catalog, keys, err);
    return CV_OK;
}

static enum cv_code sql_list(struct cv_catalog *base, struct cv_arena *arena, char ***ret_names,
                             size_t *ret_count, struct cv_error *err)
{
    struct sql_catalog *catalog = (struct sql_catalog *)base;
    CV_CLEANUP(cv_freep) char **names = NULL;
    sqlite3_stmt *statement;
    size_t capacity = 0;
    size_t count = 0;
    int result;

    CV_DO(cv_sql_database_open(&catalog->database, false, err));
    CV_DO(cv_sql_prepare(&catalog->database, CV_SQL_LIST, &catalog->name, 1, &statement, err));
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);

        cv_array_reserve(&names, &capacity, count + 1);
        names[count++] = cv_arena_strdup(arena, name ? name : "");
    }
    if (result != SQLITE_DONE)
        (void)cv_sql_fail(&catalog->database, result, "list the tables", err);
    (void)sqlite3_reset(statement);
    if (result != SQLITE_DONE)
        return CV_CATALOG;
    *ret_names = cv_arena_copy(arena, names, count * sizeof *names);
    *ret_count = count;
    return CV_OK;
}

static enum cv_code sql_table_location(struct cv_catalog *base, const struct cv_table_name *name,
                                       struct cv_arena *arena, const char **ret_location,
                                       struct cv_error *err)
{
    const struct sql_catalog *catalog = (const struct sql_catalog *)base;

    return cv_catalog_warehouse_location(catalog->warehouse, name, arena, ret_location, err);
}

/* <folder>/00001-<uuid>.metadata.json: the number is for people, the uuid makes it unique. */
static enum cv_code sql_metadata_location(struct cv_catalog *base, const char *metadata_folder,
                                          const char *current, bool gzip, struct cv_arena *arena,
                                          const char **ret_location, struct cv_error *err)
{
    int64_t version = current ? cv_metadata_file_version(current, 0, '-') + 1 : 0;
    char uuid[CV_UUID_TEXT_BYTES];

    (void)base;
    (void)err;
    cv_uuid_text(uuid);
    *ret_location = cv_location_join(arena, metadata_folder,
                                     cv_arena_printf(arena, "%05lld-%s%s.metadata.json",
                                                     (long long)version, uuid, gzip ? ".gz" : ""));
    return CV_OK;
}

const struct cv_catalog_ops cv_sql_catalog_ops = {
    .type = "sql",
    .open = sql_open,
    .load = sql_load,
    .create = sql_create,
    .commit = sql_commit,
    .register_table = sql_register,
    .drop = sql_drop,
    .list = sql_list,
    .table_location = sql_table_location,
    .metadata_location = sql_metadata_location,
    .free = sql_free,
};
