/* SPDX-License-Identifier: Apache-2.0
 *
 * The SQL catalog: one row per table holds its metadata location; a commit is a compare-and-set of
 * that row. PyIceberg's SqlCatalog and Java's JdbcCatalog work on the same database. */
#include "catalog/sql/database.h"

#include "base/random.h"
#include "base/stop.h"

#include <stdlib.h>

#define RESENT_MAX 2 /* a statement whose answer was lost */

struct sql_settings {
    const char *user;
    const char *password;
    int schema;
};

#define SETTING(field) offsetof(struct sql_settings, field)

static const struct cv_option options[] = {
    {.name = "jdbc.user",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(user),
     .help = "User of a PostgreSQL database; counts over the one in `uri`."},
    {.name = "jdbc.password",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(password),
     .flags = CV_OPTION_SECRET,
     .help = "Password of that user; counts over the one in `uri`. Without either, PGPASSWORD and "
             "~/.pgpass are looked at."},
    {.name = "jdbc.schema-version",
     .type = CV_OPTION_CHOICE,
     .offset = SETTING(schema),
     .default_text = "V1",
     .choices = "V0|V1",
     .help =
         "Layout of the catalog's tables where calve makes them. Tables that are there are used "
         "as they are."},
    CV_OPTION_TAKES("jdbc.init-catalog-tables", "Tables are made when the first Iceberg table is."),
    CV_OPTION_TAKES("jdbc.strict-mode", "Missing namespaces are made by `calve table create`."),
    CV_OPTION_TAKES("init_catalog_tables", "Tables are made when the first Iceberg table is."),
    CV_OPTION_TAKES("pool_pre_ping", "A broken connection is always noticed."),
    CV_OPTION_TAKES("echo", "Python's log of statements."),
};

const struct cv_option_table cv_sql_options = {
    .section = "catalogs.<name>",
    .about = "Catalogs of type sql, beside the above.",
    .options = options,
    .count = CV_ARRAY_LENGTH(options),
};

struct sql_catalog {
    struct cv_catalog base;
    struct cv_arena arena;
    const char *name; /* catalog_name of the rows */
    const char *warehouse;
    struct cv_sql_database *database;
};

static void sql_free(struct cv_catalog *base)
{
    struct sql_catalog *catalog = (struct sql_catalog *)base;

    catalog->database->ops->free(catalog->database);
    cv_arena_release(&catalog->arena);
    free(catalog);
}

/* "sqlite", "postgresql": what may be said of a uri that may hold a password. */
static int scheme_length(const char *uri)
{
    size_t skip = cv_text_starts_with(uri, "jdbc:") ? 5 : 0;

    return (int)(skip + strcspn(uri + skip, ":+/@?"));
}

static enum cv_code new_sqlite(const char *uri, struct cv_sql_database **ret_database,
                               struct cv_error *err)
{
    const char *file = cv_catalog_uri_file(uri);

    if (!file) {
        (void)cv_fail(err, CV_UNSUPPORTED, "uri %.*s… is not supported", scheme_length(uri), uri);
        cv_hint(err, "an sql catalog is a SQLite file (sqlite:FILE) or a PostgreSQL database "
                     "(postgresql://user:password@host:5432/database)");
        return CV_UNSUPPORTED;
    }
    if (!*file || *file == ':' || cv_text_starts_with(file, "//"))
        return cv_fail(err, CV_CONFIG, "uri %.200s names no file", uri);
    if (strchr(file, '?'))
        return cv_fail(err, CV_CONFIG, "uri %.200s: parameters after ? are not supported", uri);
    if (strlen(file) >= CV_PATH_BYTES_MAX)
        return cv_fail(err, CV_LIMIT, "uri of %zu bytes is too long", strlen(uri));
    *ret_database = cv_sqlite_new(file);
    return CV_OK;
}

static enum cv_code read_settings(const struct cv_properties *properties, struct cv_arena *arena,
                                  struct sql_settings *ret_settings, struct cv_error *err)
{
    static const struct cv_option_table *const table = &cv_sql_options;
    size_t which;

    CV_DO(cv_options_defaults(table, ret_settings, arena, err));
    for (size_t i = 0; i < properties->count; i++) {
        const struct cv_property *item = &properties->items[i];

        if (cv_options_find(&table, 1, item->key, &which, NULL) == CV_OK)
            CV_DO(cv_options_set(table, ret_settings, arena, item->key, item->value, err));
    }
    return CV_OK;
}

static enum cv_code sql_open(const char *name, const struct cv_catalog_settings *settings,
                             const struct cv_properties *properties,
                             struct cv_catalog **ret_catalog, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct sql_settings own = {0};
    struct cv_sql_database *database;
    struct sql_catalog *catalog;

    if (!settings->uri)
        return cv_fail(err, CV_CONFIG, "an sql catalog needs `uri`, for example sqlite:lake.db");
    CV_DO(read_settings(properties, &arena, &own, err));
    if (cv_postgres_is_uri(settings->uri))
        CV_DO(cv_postgres_new(settings->uri, own.user, own.password, &database, err));
    else
        CV_DO(new_sqlite(settings->uri, &database, err));
    database->schema = own.schema == 0 ? CV_SQL_SCHEMA_V0 : CV_SQL_SCHEMA_V1;
    catalog = cv_alloc(sizeof *catalog);
    catalog->base.ops = &cv_sql_catalog_ops;
    catalog->name =
        cv_arena_strdup(&catalog->arena, settings->catalog_name ? settings->catalog_name : name);
    if (settings->warehouse)
        catalog->warehouse = cv_arena_strdup(&catalog->arena, settings->warehouse);
    catalog->database = database;
    database->counts = &catalog->base.counts;
    *ret_catalog = &catalog->base;
    return CV_OK;
}

static enum cv_code open_database(struct sql_catalog *catalog, bool create, struct cv_error *err)
{
    return catalog->database->ops->open(catalog->database, create, err);
}

static enum cv_code run(struct sql_catalog *catalog, enum cv_sql_statement which,
                        const char *const *texts, struct cv_arena *arena,
                        struct cv_sql_result *ret_result, struct cv_error *err)
{
    cv_request_count(&catalog->base.counts,
                     cv_sql_writes(which) ? CV_REQUEST_CATALOG_COMMIT : CV_REQUEST_CATALOG_READ);
    return catalog->database->ops->run(catalog->database, which, texts, arena, ret_result, err);
}

/* A statement that writes. Where its answer is lost it goes out again: each of them does nothing
 * when it finds its own work done. *ret_lost: an earlier one may have done it. */
static enum cv_code write_row(struct sql_catalog *catalog, enum cv_sql_statement which,
                              const char *const *texts, struct cv_arena *arena,
                              struct cv_sql_result *ret_result, bool *ret_lost,
                              struct cv_error *err)
{
    enum cv_code code = run(catalog, which, texts, arena, ret_result, err);

    *ret_lost = code == CV_UNKNOWN;
    for (int i = 0; i < RESENT_MAX && code == CV_UNKNOWN && !cv_stop_requested(NULL); i++) {
        cv_request_count(&catalog->base.counts, CV_REQUEST_RETRY);
        code = run(catalog, which, texts, arena, ret_result, err);
    }
    if (!*ret_lost || code == CV_OK || code == CV_EXISTS)
        return code;
    if (err)
        err->code = CV_UNKNOWN; /* a later failure does not tell about that one */
    return CV_UNKNOWN;
}

/* The one mistake that is hard to see: the row is there, under another catalog's name. */
static void hint_elsewhere(struct sql_catalog *catalog, const char *const *keys,
                           struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_sql_result result;

    if (err && run(catalog, CV_SQL_ELSEWHERE, keys + 1, &arena, &result, NULL) == CV_OK &&
        result.count && result.values[0] && strcmp(result.values[0], keys[0]) != 0)
        cv_hint(err, "the database has it in catalog \"%.100s\": set catalog-name to that",
                result.values[0]);
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
    struct cv_sql_result result;

    CV_DO(run(catalog, CV_SQL_LOAD, keys, arena, &result, err));
    if (!result.count)
        return fail_not_found(catalog, keys, err);
    if (!result.values[0])
        return cv_fail(err, CV_CATALOG, "table %s.%s has no metadata_location", keys[1], keys[2]);
    *ret_location = result.values[0];
    return CV_OK;
}

static enum cv_code sql_load(struct cv_catalog *base, const struct cv_table_name *name,
                             const char *known, struct cv_arena *arena,
                             struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    struct sql_catalog *catalog = (struct sql_catalog *)base;
    const char *keys[] = {catalog->name, cv_table_name_namespace(name, arena), name->table};
    const char *location;

    CV_DO(open_database(catalog, false, err));
    CV_DO(load_keys(catalog, keys, arena, &location, err));
    *ret_entry = (struct cv_catalog_entry){.unchanged = known && strcmp(known, location) == 0,
                                           .metadata_location = location};
    return CV_OK;
}

/* Whether the row is what an earlier statement, whose answer was lost, was to make of it. */
static bool is_at(struct sql_catalog *catalog, const char *const *keys, const char *wanted,
                  struct cv_arena *arena)
{
    const char *location;

    return load_keys(catalog, keys, arena, &location, NULL) == CV_OK &&
           strcmp(location, wanted) == 0;
}

/* A namespace that was made for a table that could not be is left: it harms nobody. */
static enum cv_code sql_register(struct cv_catalog *base, const struct cv_table_name *name,
                                 const char *metadata_location, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct sql_catalog *catalog = (struct sql_catalog *)base;
    const char *keys[] = {catalog->name, cv_table_name_namespace(name, &arena), name->table,
                          metadata_location};
    struct cv_sql_result result;
    enum cv_code code;
    bool lost;

    CV_DO(open_database(catalog, true, err));
    CV_DO(write_row(catalog, CV_SQL_ADD_NAMESPACE, keys, &arena, &result, &lost, err));
    code = write_row(catalog, CV_SQL_ADD_TABLE, keys, &arena, &result, &lost, err);
    if (code == CV_EXISTS && lost && is_at(catalog, keys, metadata_location, &arena))
        return CV_OK;
    if (code == CV_EXISTS) /* where an answer was lost somebody may have gone on from our row */
        return cv_fail(err, lost ? CV_UNKNOWN : CV_EXISTS, "table %s.%s exists already", keys[1],
                       keys[2]);
    return code;
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

/* Nothing was changed: somebody else moved the row, or an earlier try of ours got through. Where
 * the answer to that one was lost, somebody may have gone on from it already. */
static enum cv_code explain_no_change(struct sql_catalog *catalog, const char *const *keys,
                                      bool lost, struct cv_arena *arena, struct cv_error *err)
{
    const char *current;
    enum cv_code code = load_keys(catalog, keys, arena, &current, err);

    if (code == CV_OK && strcmp(current, keys[3]) == 0)
        return CV_OK;
    if (code == CV_OK)
        code = cv_fail(err, CV_CONFLICT, "another commit to %s.%s was first: %s", keys[1], keys[2],
                       current);
    if (lost && err)
        err->code = CV_UNKNOWN;
    return lost ? CV_UNKNOWN : code;
}

static enum cv_code sql_commit(struct cv_catalog *base, const struct cv_table_name *name,
                               const struct cv_catalog_change *change, struct cv_arena *arena,
                               struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    struct sql_catalog *catalog = (struct sql_catalog *)base;
    const char *keys[] = {catalog->name, cv_table_name_namespace(name, arena), name->table,
                          change->next_location, change->base_location};
    struct cv_sql_result result;
    bool lost;

    CV_DO(open_database(catalog, false, err));
    CV_DO(write_row(catalog, CV_SQL_SWAP, keys, arena, &result, &lost, err));
    if (result.changed == 0)
        CV_DO(explain_no_change(catalog, keys, lost, arena, err));
    *ret_entry = (struct cv_catalog_entry){.metadata_location =
                                               cv_arena_strdup(arena, change->next_location)};
    return CV_OK;
}

/* As Spark does: a new namespace is made on purpose, not by a slip of the pen. */
static enum cv_code check_namespace(struct sql_catalog *catalog, const char *namespace,
                                    struct cv_arena *arena, struct cv_error *err)
{
    const char *texts[] = {catalog->name, namespace, cv_arena_printf(arena, "%s.", namespace)};
    struct cv_sql_result result;

    CV_DO(run(catalog, CV_SQL_HAS_NAMESPACE, texts, arena, &result, err));
    if (!result.count)
        return cv_fail(err, CV_NOT_FOUND, "namespace %s does not exist in catalog %s", namespace,
                       catalog->name);
    return CV_OK;
}

static enum cv_code sql_rename(struct cv_catalog *base, const struct cv_table_name *from,
                               const struct cv_table_name *to, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct sql_catalog *catalog = (struct sql_catalog *)base;
    const char *keys[] = {catalog->name, cv_table_name_namespace(from, &arena), from->table,
                          cv_table_name_namespace(to, &arena), to->table};
    const char *new_keys[] = {keys[0], keys[3], keys[4]};
    struct cv_sql_result result;
    const char *location;
    enum cv_code code;
    bool lost;

    CV_DO(open_database(catalog, false, err));
    CV_DO(check_namespace(catalog, keys[3], &arena, err));
    CV_DO(load_keys(catalog, keys, &arena, &location, err));
    code = write_row(catalog, CV_SQL_RENAME, keys, &arena, &result, &lost, err);
    if (code == CV_OK && result.changed)
        return CV_OK;
    if ((code == CV_OK || code == CV_EXISTS) && lost && is_at(catalog, new_keys, location, &arena))
        return CV_OK;
    if (code == CV_EXISTS)
        return cv_fail(err, CV_EXISTS, "table %s.%s exists already", keys[3], keys[4]);
    CV_DO(code);
    return fail_not_found(catalog, keys, err);
}

static enum cv_code sql_drop(struct cv_catalog *base, const struct cv_table_name *name,
                             struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct sql_catalog *catalog = (struct sql_catalog *)base;
    const char *keys[] = {catalog->name, cv_table_name_namespace(name, &arena), name->table};
    struct cv_sql_result result;
    const char *left;
    enum cv_code code;

    CV_DO(open_database(catalog, false, err));
    code = run(catalog, CV_SQL_DROP, keys, &arena, &result, err);
    /* not again: by then the name may be another table's */
    if (code == CV_UNKNOWN && load_keys(catalog, keys, &arena, &left, NULL) == CV_NOT_FOUND)
        return CV_OK;
    CV_DO(code);
    return result.changed ? CV_OK : fail_not_found(catalog, keys, err);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum cv_code sql_list(struct cv_catalog *base, struct cv_arena *arena, char ***ret_names,
                             size_t *ret_count, struct cv_error *err)
{
    struct sql_catalog *catalog = (struct sql_catalog *)base;
    struct cv_sql_result result;
    char **names;

    CV_DO(open_database(catalog, false, err));
    CV_DO(run(catalog, CV_SQL_LIST, &catalog->name, arena, &result, err));
    names = cv_arena_array(arena, char *, result.count);
    for (size_t i = 0; i < result.count; i++)
        names[i] = cv_arena_strdup(arena, result.values[i] ? result.values[i] : "");
    if (result.count) /* a server sorts by the rules of some language */
        qsort(names, result.count, sizeof *names, compare_names);
    *ret_names = names;
    *ret_count = result.count;
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

static enum cv_code sql_check(struct cv_catalog *base, cv_catalog_report *report, void *context,
                              struct cv_error *err)
{
    struct sql_catalog *catalog = (struct sql_catalog *)base;

    CV_DO(catalog->database->ops->check(catalog->database, report, context, err));
    report(context, "warehouse",
           catalog->warehouse ? catalog->warehouse
                              : "none: new tables need a location of their own",
           NULL);
    return CV_OK;
}

const struct cv_catalog_ops cv_sql_catalog_ops = {
    .type = "sql",
    .options = &cv_sql_options,
    .open = sql_open,
    .load = sql_load,
    .create = sql_create,
    .commit = sql_commit,
    .register_table = sql_register,
    .rename = sql_rename,
    .drop = sql_drop,
    .list = sql_list,
    .table_location = sql_table_location,
    .metadata_location = sql_metadata_location,
    .check = sql_check,
    .free = sql_free,
};
