/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of tables, the table of catalog types, and what all types share. */
#include "catalog/catalog_int.h"

#include "storage/s3_options.h"

#include <stdio.h>

static const struct cv_catalog_ops *const types[] = {&cv_sql_catalog_ops, &cv_hadoop_catalog_ops,
                                                     &cv_rest_catalog_ops};

#define SETTING(field) offsetof(struct cv_catalog_settings, field)

#define CACHED "Accepted: a table's metadata is kept and asked for anew when it may have changed."

#define SCHEME "Accepted: files are read and written by the scheme of their location."

static const struct cv_option options[] = {
    {.name = "type",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(type),
     .flags = CV_OPTION_REQUIRED,
     .help = "Kind of catalog: rest (a server with Iceberg's REST interface), sql (SQLite or "
             "PostgreSQL in the layout of Iceberg's JDBC catalog; jdbc is the same) or hadoop "
             "(folders with version-hint.text)."},
    {.name = "uri",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(uri),
     .help = "Address of a rest catalog, before /v1; database of an sql catalog: sqlite:FILE, "
             "sqlite:///FILE or jdbc:sqlite:FILE; "
             "postgresql://user:password@host:port/database?sslmode=verify-full, or the same as "
             "postgresql+psycopg2: or jdbc:postgresql: writes it."},
    {.name = "warehouse",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(warehouse),
     .help = "Folder below which new tables lie, as <warehouse>/<namespace>/<table>; of a rest "
             "catalog the name that its server knows it by."},
    {.name = "catalog-name",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(catalog_name),
     .help = "Name under which an sql catalog keeps its rows, when it is another one than the "
             "catalog's name here."},
    CV_OPTION_TAKES("catalog-impl",
                    "Stands for `type`: RESTCatalog, JdbcCatalog or HadoopCatalog, with "
                    "any package before it."),
    CV_OPTION_TAKES("io-impl", SCHEME),
    CV_OPTION_TAKES("py-io-impl", SCHEME),
    CV_OPTION_TAKES("cache-enabled", CACHED),
    CV_OPTION_TAKES("cache.expiration-interval-ms", CACHED),
    CV_OPTION_TAKES("cache.case-sensitive", CACHED),
    CV_OPTION_TAKES("io.manifest.cache-enabled", CACHED),
    CV_OPTION_TAKES("io.manifest.cache.expiration-interval-ms", CACHED),
    CV_OPTION_TAKES("io.manifest.cache.max-total-bytes", CACHED),
    CV_OPTION_TAKES("io.manifest.cache.max-content-length", CACHED),
    CV_OPTION_TAKES("default-namespace", "Accepted: tables are given by their full names."),
    CV_OPTION_TAKES("use-nullable-query-schema",
                    "Accepted: it is of Spark's CREATE TABLE AS SELECT."),
    CV_OPTION_TAKES("metrics-reporter-impl", "Accepted: rest-metrics-reporting-enabled is there."),
    CV_OPTION_REFUSES_ALL("lock.", "leave it out: commits need no lock"),
    CV_OPTION_REFUSES_ALL("table-default.",
                          "give new tables their properties with `calve table create "
                          "--property`"),
    CV_OPTION_REFUSES_ALL("table-override.",
                          "give new tables their properties with `calve table create "
                          "--property`"),
    CV_OPTION_REFUSES_ALL("glue.",
                          "reach Glue through its REST interface: type rest, rest.auth.type sigv4, "
                          "rest.signing-name glue, warehouse the account's id"),
};

const struct cv_option_table cv_catalog_options = {
    .section = "catalogs.<name>",
    .about = "A catalog finds tables and swaps their metadata.",
    .options = options,
    .count = CV_ARRAY_LENGTH(options),
};

static bool part_is_legal(const char *part)
{
    size_t length = strlen(part);

    if (length == 0 || length > CV_NAME_BYTES_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)part[i] < ' ' || part[i] == '/' || part[i] == 0x7f)
            return false;
    return true;
}

/* Splits at dots and keeps empty parts, which are errors. */
static const char **split_name(const char *text, struct cv_arena *arena, size_t *ret_count)
{
    size_t most = 1;
    const char **parts;

    for (const char *c = text; *c; c++)
        most += *c == '.';
    parts = cv_arena_array(arena, const char *, most);
    for (size_t i = 0; i < most; i++) {
        size_t length = strcspn(text, ".");

        parts[i] = cv_arena_strndup(arena, text, length);
        text += length + 1;
    }
    *ret_count = most;
    return parts;
}

enum cv_code cv_table_name_parse(const char *text, struct cv_arena *arena,
                                 struct cv_table_name *ret_name, struct cv_error *err)
{
    struct cv_table_name name = {0};
    const char **parts;
    size_t count;

    if (strlen(text) > CV_PATH_BYTES_MAX / 2)
        return cv_fail(err, CV_CONFIG, "table name of %zu bytes is too long", strlen(text));
    parts = split_name(text, arena, &count);
    for (size_t i = 0; i < count; i++)
        if (!part_is_legal(parts[i]))
            return cv_fail(err, CV_CONFIG,
                           "table name \"%s\": part %zu is empty, too long or holds "
                           "a slash or control character",
                           text, i + 1);
    if (count >= 4 && cv_text_starts_with(parts[count - 1], "branch_") && parts[count - 1][7])
        name.branch = parts[--count] + 7;
    if (count < 3) {
        (void)cv_fail(err, CV_CONFIG, "\"%s\" is not the full name of a table", text);
        cv_hint(err, "write catalog.namespace.table");
        return CV_CONFIG;
    }
    name.catalog = parts[0];
    name.levels = parts + 1;
    name.level_count = count - 2;
    name.table = parts[count - 1];
    *ret_name = name;
    return CV_OK;
}

const char *cv_table_name_namespace(const struct cv_table_name *name, struct cv_arena *arena)
{
    const char *joined = name->levels[0];

    for (size_t i = 1; i < name->level_count; i++)
        joined = cv_arena_printf(arena, "%s.%s", joined, name->levels[i]);
    return joined;
}

const char *cv_table_name_text(const struct cv_table_name *name, struct cv_arena *arena)
{
    return cv_arena_printf(arena, "%s.%s", cv_table_name_namespace(name, arena), name->table);
}

const char *cv_catalog_uri_file(const char *uri)
{
    if (cv_text_starts_with(uri, "jdbc:"))
        uri += 5;
    if (!cv_text_starts_with(uri, "sqlite:"))
        return NULL;
    uri += 7;
    if (cv_text_starts_with(uri, "file:"))
        uri += 5;
    if (cv_text_starts_with(uri, "///"))
        return uri + 3;
    return uri;
}

enum cv_code cv_catalog_warehouse_location(const char *warehouse, const struct cv_table_name *name,
                                           struct cv_arena *arena, const char **ret_location,
                                           struct cv_error *err)
{
    const char *location = warehouse;

    if (!warehouse || !*warehouse)
        return cv_fail(err, CV_CONFIG, "catalog %s has no `warehouse`, where new tables would lie",
                       name->catalog);
    for (size_t i = 0; i < name->level_count; i++)
        location = cv_location_join(arena, location, name->levels[i]);
    *ret_location = cv_location_join(arena, location, name->table);
    return CV_OK;
}

int64_t cv_metadata_file_version(const char *location, size_t skip, char end)
{
    const char *slash = strrchr(location, '/');
    const char *file = slash ? slash + 1 : location;
    const char *stop = strchr(file, end);
    int64_t version;

    if (!stop || stop < file + skip ||
        !cv_parse_i64((struct cv_str){file + skip, (size_t)(stop - file) - skip}, &version) ||
        version < 0 || version >= INT32_MAX)
        return -1;
    return version;
}

/* Names that other programs have for a type, and Java's classes. */
static const char *const synonyms[][2] = {
    {"jdbc", "sql"}, {"RESTCatalog", "rest"}, {"JdbcCatalog", "sql"}, {"HadoopCatalog", "hadoop"}};

static const char *own_name(const char *type)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(synonyms); i++)
        if (cv_text_equal_nocase(synonyms[i][0], type))
            return synonyms[i][1];
    return type;
}

static enum cv_code find_type(const char *type, const struct cv_catalog_ops **ret_ops,
                              struct cv_error *err)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(types); i++)
        if (cv_text_equal_nocase(types[i]->type, type)) {
            *ret_ops = types[i];
            return CV_OK;
        }
    (void)cv_fail(err, CV_UNSUPPORTED, "type %.100s is not supported", type);
    cv_hint(err, "the types are rest, sql and hadoop");
    return CV_UNSUPPORTED;
}

static const char *find_type_name(const struct cv_properties *properties)
{
    const char *name = NULL;

    for (size_t i = 0; i < properties->count; i++) {
        const char *value = properties->items[i].value;
        const char *dot = strrchr(value, '.');

        if (cv_text_equal_nocase(properties->items[i].key, "type"))
            return own_name(value);
        if (cv_text_equal_nocase(properties->items[i].key, "catalog-impl"))
            name = own_name(dot ? dot + 1 : value);
    }
    return name;
}

/* Each key belongs to every catalog, to the stores of its tables, or to its type, which reads it in
 * open(). */
static enum cv_code read_settings(const struct cv_properties *properties,
                                  const struct cv_catalog_ops *ops,
                                  struct cv_catalog_settings *settings,
                                  struct cv_properties *store_properties, struct cv_arena *arena,
                                  struct cv_error *err)
{
    const struct cv_option_table *const tables[] = {&cv_catalog_options, &cv_s3_options,
                                                    ops->options};
    size_t table_count = ops->options ? 3 : 2;

    for (size_t i = 0; i < properties->count; i++) {
        const struct cv_property *item = &properties->items[i];
        size_t which;

        CV_DO(cv_options_find(tables, table_count, item->key, &which, err));
        if (tables[which] == &cv_catalog_options)
            CV_DO(cv_options_set(tables[which], settings, arena, item->key, item->value, err));
        else if (tables[which] == &cv_s3_options)
            cv_properties_set(store_properties, item->key, item->value);
    }
    return CV_OK;
}

static enum cv_code check_store(const struct cv_properties *properties, struct cv_arena *arena,
                                struct cv_error *err)
{
    struct cv_s3_settings settings = {0};
    enum cv_code code = cv_s3_settings_init(&settings, properties, arena, err);

    cv_s3_settings_release(&settings);
    return code;
}

static enum cv_code open_catalog(const char *name, const struct cv_properties *properties,
                                 struct cv_catalog **ret_catalog, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_properties_release) struct cv_properties store_properties = {0};
    struct cv_catalog_settings settings = {0};
    const char *type = find_type_name(properties);
    const struct cv_catalog_ops *ops;

    CV_DO(cv_options_defaults(&cv_catalog_options, &settings, &arena, err));
    if (!type)
        return cv_options_check_required(&cv_catalog_options, &settings, err);
    CV_DO(find_type(type, &ops, err));
    CV_DO(read_settings(properties, ops, &settings, &store_properties, &arena, err));
    CV_DO(check_store(&store_properties, &arena, err));
    CV_DO(ops->open(name, &settings, properties, ret_catalog, err));
    cv_properties_copy(&(*ret_catalog)->store_properties, &store_properties);
    return CV_OK;
}

enum cv_code cv_catalog_open(const char *name, const struct cv_properties *properties,
                             struct cv_catalog **ret_catalog, struct cv_error *err)
{
    CV_TRY(open_catalog(name, properties, ret_catalog, err), err, "catalog %s", name);
    return CV_OK;
}

void cv_catalog_free(struct cv_catalog *catalog)
{
    if (!catalog)
        return;
    cv_properties_release(&catalog->store_properties);
    catalog->ops->free(catalog);
}

void cv_catalog_entry_release(struct cv_catalog_entry *entry)
{
    cv_table_metadata_free(entry->metadata);
    cv_properties_release(&entry->config);
    cv_store_grants_release(&entry->grants);
    *entry = (struct cv_catalog_entry){0};
}

enum cv_code cv_catalog_find(struct cv_catalog *catalog, const struct cv_table_name *name,
                             struct cv_arena *arena, const char **ret_location,
                             struct cv_error *err)
{
    struct cv_catalog_entry entry = {0};

    CV_DO(catalog->ops->load(catalog, name, NULL, arena, &entry, err));
    *ret_location = entry.metadata_location;
    cv_catalog_entry_release(&entry);
    return CV_OK;
}

static enum cv_code vend(void *context, struct cv_store_grants *ret_grants, struct cv_error *err)
{
    const struct cv_catalog_vendee *vendee = context;

    return vendee->catalog->ops->vend(vendee->catalog, vendee->name, ret_grants, err);
}

enum cv_code cv_catalog_open_store(struct cv_catalog *catalog, const char *location,
                                   const struct cv_catalog_entry *entry,
                                   const struct cv_catalog_vendee *vendee,
                                   struct cv_store **ret_store, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_properties_release) struct cv_properties properties = {0};
    CV_CLEANUP(cv_catalog_entry_release) struct cv_catalog_entry asked = {0};
    struct cv_store_config config = {.properties = &properties};

    if (!entry && vendee && catalog->ops->vend)
        CV_DO(catalog->ops->load(catalog, vendee->name, NULL, &arena, &asked, err));
    if (!entry)
        entry = &asked;
    cv_properties_copy(&properties, &catalog->store_properties);
    cv_properties_copy(&properties, &entry->config);
    config.grants = &entry->grants;
    if (vendee && config.grants->count) {
        config.refresh = vend;
        config.refresh_context = (void *)vendee;
    }
    return cv_store_open(location, &config, ret_store, err);
}
