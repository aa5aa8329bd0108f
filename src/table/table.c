/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening, refreshing and creating tables. */
#include "table/table_int.h"

#include "codec/compress.h"
#include "codec/hash.h"

#include <stdlib.h>

const char *cv_table_branch(const struct cv_table *table)
{
    return table->name.branch ? table->name.branch : "main";
}

/* A folder property may be a location, an absolute path or relative to the table. */
static const char *folder_of(const struct cv_table_metadata *metadata, const char *property,
                             const char *fallback, struct cv_arena *arena)
{
    const char *path = cv_properties_get_or(&metadata->properties, property, fallback);
    size_t length = strlen(path);

    while (length > 1 && path[length - 1] == '/')
        length--;
    if (path[0] == '/' || strstr(path, ":/"))
        return cv_arena_strndup(arena, path, length);
    return cv_location_join(arena, metadata->location, cv_arena_strndup(arena, path, length));
}

const char *cv_metadata_folder(const struct cv_catalog *catalog,
                               const struct cv_table_metadata *metadata, struct cv_arena *arena)
{
    if (catalog->ops->fixed_layout)
        return cv_location_join(arena, metadata->location, "metadata");
    return folder_of(metadata, "write.metadata.path", "metadata", arena);
}

const char *cv_table_data_folder(const struct cv_table *table, struct cv_arena *arena)
{
    const struct cv_table_metadata *metadata = table->metadata;
    const char *property = "write.data.path";

    /* what write.data.path was called before, as the Java library still takes it */
    if (!cv_properties_get(&metadata->properties, property))
        property = "write.folder-storage.path";
    return folder_of(metadata, property, "data", arena);
}

/* *ret_metadata stays as it is when the file has the bytes of `*hash`, which becomes the file's. */
static enum cv_code read_metadata(struct cv_store *store, const char *location, uint64_t *hash,
                                  struct cv_table_metadata **ret_metadata, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_METADATA_BYTES_MAX);
    uint64_t found;

    CV_DO(cv_store_read(store, location, CV_METADATA_BYTES_MAX, &bytes, err));
    found = cv_xxh64(bytes.data, bytes.length);
    if (found == *hash)
        return CV_OK;
    CV_TRY(cv_table_metadata_read(bytes.data, bytes.length, ret_metadata, err), err, "%s",
           location);
    *hash = found;
    return CV_OK;
}

static void free_compressor(struct cv_compressor **compressor)
{
    if (*compressor)
        cv_compressor_free(*compressor);
}

static enum cv_code pack(const struct cv_buf *plain, struct cv_buf *out, struct cv_error *err)
{
    CV_CLEANUP(free_compressor) struct cv_compressor *compressor = NULL;

    CV_DO(cv_compressor_new(CV_CODEC_GZIP, CV_CODEC_LEVEL_DEFAULT, &compressor, err));
    return cv_compress(compressor, plain->data, plain->length, out, err);
}

static enum cv_code wants_gzip(const struct cv_table_metadata *metadata, bool *ret_gzip,
                               struct cv_error *err)
{
    const char *key = "write.metadata.compression-codec";
    const char *codec = cv_properties_get_or(&metadata->properties, key, "none");

    *ret_gzip = cv_text_equal_nocase(codec, "gzip");
    if (!*ret_gzip && !cv_text_equal_nocase(codec, "none"))
        return cv_fail(err, CV_CONFIG, "%s = \"%.100s\" is neither none nor gzip", key, codec);
    return CV_OK;
}

enum cv_code cv_table_write_metadata(struct cv_catalog *catalog, struct cv_store *store,
                                     const struct cv_table_metadata *metadata, const char *base,
                                     struct cv_arena *arena, const char **ret_location,
                                     uint64_t *ret_hash, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(CV_METADATA_BYTES_MAX);
    CV_CLEANUP(cv_buf_release) struct cv_buf packed = CV_BUF_INIT(CV_METADATA_BYTES_MAX);
    const char *folder = cv_metadata_folder(catalog, metadata, arena);
    const struct cv_buf *bytes = &text;
    const char *location;
    bool gzip;

    CV_DO(wants_gzip(metadata, &gzip, err));
    gzip &= !catalog->ops->plain_metadata;
    cv_table_metadata_write(metadata, &text);
    CV_DO(cv_buf_check(&text, "the table's metadata", err));
    if (gzip) {
        CV_DO(pack(&text, &packed, err));
        bytes = &packed;
    }
    CV_DO(catalog->ops->metadata_location(catalog, folder, base, gzip, arena, &location, err));
    CV_DO(cv_store_write_unsynced(store, location, bytes->data, bytes->length, err));
    *ret_location = location;
    *ret_hash = cv_xxh64(bytes->data, bytes->length);
    return CV_OK;
}

void cv_table_install(struct cv_table *table, struct cv_table_metadata *metadata,
                      const char *location, uint64_t hash)
{
    table->metadata_hash = hash;
    cv_table_metadata_free(table->metadata);
    table->metadata = metadata;
    free(table->metadata_location);
    table->metadata_location = cv_strdup(location);
}

static struct cv_table *new_table(struct cv_catalog *catalog)
{
    struct cv_table *table = cv_alloc(sizeof *table);

    table->catalog = catalog;
    table->manifest_snapshot_id = -1;
    return table;
}

void cv_table_free(struct cv_table *table)
{
    if (!table)
        return;
    cv_table_metadata_free(table->metadata);
    free(table->metadata_location);
    cv_store_free(table->store);
    cv_arena_release(&table->manifest_arena);
    cv_arena_release(&table->arena);
    free(table);
}

static void hint_create(const char *name, struct cv_error *err)
{
    if (err && !err->hint[0])
        cv_hint(err, "make it with: calve table create %s --schema \"id bigint, …\"", name);
}

static enum cv_code open_store(struct cv_table *table, const char *location,
                               const struct cv_catalog_entry *entry, struct cv_error *err)
{
    table->vendee = (struct cv_catalog_vendee){table->catalog, &table->name};
    return cv_catalog_open_store(table->catalog, location, entry, &table->vendee, &table->store,
                                 err);
}

/* The entry's own metadata, or that of its file unless the bytes have `*hash`. */
static enum cv_code metadata_of(const struct cv_table *table, struct cv_catalog_entry *entry,
                                uint64_t *hash, struct cv_table_metadata **ret_metadata,
                                struct cv_error *err)
{
    if (!entry->metadata)
        return read_metadata(table->store, entry->metadata_location, hash, ret_metadata, err);
    *ret_metadata = cv_steal(entry->metadata);
    *hash = 0;
    return CV_OK;
}

static enum cv_code open_table(struct cv_table *table, const char *name, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_catalog_entry_release) struct cv_catalog_entry entry = {0};
    struct cv_table_metadata *metadata = NULL;
    uint64_t hash = 0;
    enum cv_code code =
        table->catalog->ops->load(table->catalog, &table->name, NULL, &arena, &entry, err);

    if (code == CV_NOT_FOUND)
        hint_create(name, err);
    CV_DO(code);
    CV_DO(open_store(table, entry.metadata ? entry.metadata->location : entry.metadata_location,
                     &entry, err));
    CV_DO(metadata_of(table, &entry, &hash, &metadata, err));
    cv_table_install(table, metadata, entry.metadata_location, hash);
    return CV_OK;
}

enum cv_code cv_table_open(struct cv_catalog *catalog, const char *name,
                           struct cv_table **ret_table, struct cv_error *err)
{
    CV_CLEANUP(cv_table_freep) struct cv_table *table = new_table(catalog);

    CV_DO(cv_table_name_parse(name, &table->arena, &table->name, err));
    CV_TRY(open_table(table, name, err), err, "table %s", name);
    *ret_table = cv_steal(table);
    return CV_OK;
}

static enum cv_code take_entry(struct cv_table *table, struct cv_catalog_entry *entry,
                               const char *name, struct cv_error *err)
{
    CV_CLEANUP(cv_table_metadata_freep) struct cv_table_metadata *metadata = NULL;
    uint64_t hash = 0;

    if (strcmp(entry->metadata_location, table->metadata_location) == 0)
        hash = table->metadata_hash;
    CV_TRY(metadata_of(table, entry, &hash, &metadata, err), err, "table %s", name);
    if (!metadata)
        return CV_OK;
    if (strcmp(metadata->table_uuid, table->metadata->table_uuid) != 0)
        return cv_fail(err, CV_CONTRADICTION,
                       "table %s was dropped and made anew: its uuid was %s and is %s", name,
                       table->metadata->table_uuid, metadata->table_uuid);
    cv_table_install(table, cv_steal(metadata), entry->metadata_location, hash);
    return CV_OK;
}

enum cv_code cv_table_refresh(struct cv_table *table, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_catalog_entry_release) struct cv_catalog_entry entry = {0};
    const char *name = cv_table_name_text(&table->name, &arena);

    CV_TRY(table->catalog->ops->load(table->catalog, &table->name, table->metadata_location, &arena,
                                     &entry, err),
           err, "table %s", name);
    return entry.unchanged ? CV_OK : take_entry(table, &entry, name, err);
}

static enum cv_code check_absent(struct cv_table *table, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const char *location;
    enum cv_code code = cv_catalog_find(table->catalog, &table->name, &arena, &location, err);

    if (code == CV_OK)
        return cv_fail(err, CV_EXISTS, "table %s exists already",
                       cv_table_name_text(&table->name, &arena));
    if (code == CV_NOT_FOUND) {
        cv_error_clear(err);
        return CV_OK;
    }
    return code;
}

/* Writes the metadata file and tells the catalog. */
static enum cv_code create_with_file(struct cv_table *table,
                                     const struct cv_table_metadata *metadata,
                                     struct cv_arena *arena, struct cv_catalog_entry *ret_entry,
                                     uint64_t *ret_hash, struct cv_error *err)
{
    struct cv_catalog *catalog = table->catalog;
    struct cv_catalog_change change = {.next = metadata};
    const char *file;
    enum cv_code code;

    CV_DO(cv_table_write_metadata(catalog, table->store, metadata, NULL, arena, &file, ret_hash,
                                  err));
    change.next_location = file;
    code = cv_store_sync(table->store, &file, 1, err);
    if (code == CV_OK)
        code = catalog->ops->create(catalog, &table->name, &change, arena, ret_entry, err);
    if (code != CV_OK && code != CV_UNKNOWN)
        (void)cv_store_remove(table->store, file, NULL);
    return code;
}

/* The catalog makes the metadata, and chooses the location where none is given. */
static enum cv_code create_in_catalog(struct cv_table *table, struct cv_table_create *create,
                                      struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_table_metadata_freep) struct cv_table_metadata *metadata = NULL;
    CV_CLEANUP(cv_catalog_entry_release) struct cv_catalog_entry entry = {0};
    struct cv_catalog_change change = {0};

    if (!create->location)
        create->location = "";
    CV_DO(cv_table_metadata_create(create, &metadata, err));
    change.next = metadata;
    CV_DO(table->catalog->ops->create(table->catalog, &table->name, &change, &arena, &entry, err));
    CV_DO(open_store(table, entry.metadata->location, &entry, err));
    cv_table_install(table, cv_steal(entry.metadata), entry.metadata_location, 0);
    return CV_OK;
}

static enum cv_code create_at(struct cv_table *table, const struct cv_table_create *create,
                              struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_table_metadata_freep) struct cv_table_metadata *metadata = NULL;
    CV_CLEANUP(cv_catalog_entry_release) struct cv_catalog_entry entry = {0};
    uint64_t hash;

    CV_DO(open_store(table, create->location, NULL, err));
    CV_DO(cv_table_metadata_create(create, &metadata, err));
    CV_DO(create_with_file(table, metadata, &arena, &entry, &hash, err));
    cv_table_install(table, cv_steal(metadata), entry.metadata_location, hash);
    return CV_OK;
}

enum cv_code cv_table_create(struct cv_catalog *catalog, const char *name,
                             const struct cv_schema *schema, const struct cv_partition_spec *spec,
                             const struct cv_properties *properties, const char *location,
                             struct cv_table **ret_table, struct cv_error *err)
{
    CV_CLEANUP(cv_table_freep) struct cv_table *table = new_table(catalog);
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_table_create create = {location, schema, spec, properties};

    CV_DO(cv_table_name_parse(name, &table->arena, &table->name, err));
    if (table->name.branch)
        return cv_fail(err, CV_CONFIG, "%s names a branch: a table is made without", name);
    if (catalog->ops->writes_metadata) {
        CV_TRY(create_in_catalog(table, &create, err), err, "table %s", name);
        *ret_table = cv_steal(table);
        return CV_OK;
    }
    CV_DO(check_absent(table, err));
    if (location && catalog->ops->fixed_layout)
        return cv_fail(err, CV_CONFIG, "a %s catalog gives its tables their location",
                       catalog->ops->type);
    if (!location)
        CV_DO(catalog->ops->table_location(catalog, &table->name, &arena, &create.location, err));
    CV_TRY(create_at(table, &create, err), err, "table %s", name);
    *ret_table = cv_steal(table);
    return CV_OK;
}
