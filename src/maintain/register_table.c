/* SPDX-License-Identifier: Apache-2.0
 *
 * register_table: an existing metadata file becomes a table of the catalog. Nothing is copied: two
 * tables on the same files must not both be maintained. */
#include "maintain/procedure_int.h"

#include "codec/json.h"
#include "config/job_file.h"

#include <stdlib.h>
#include <unistd.h>

struct arguments {
    const char *metadata_file;
};

static const struct cv_option options[] = {
    {"metadata_file", CV_OPTION_TEXT, offsetof(struct arguments, metadata_file), NULL, NULL,
     "The metadata.json of the table.", 0, 0, CV_OPTION_REQUIRED},
};

static const struct cv_option_table table = {"maintenance.register-table",
                                             "an existing metadata file becomes a table", options,
                                             CV_ARRAY_LENGTH(options)};

/* A path without a scheme becomes a file: location, as the catalog's others are. */
static const char *location_of(const char *given, struct cv_arena *arena)
{
    CV_CLEANUP(cv_freep) char *folder = NULL;

    if (given[0] != '/' && strchr(given, ':'))
        return given;
    folder = getcwd(NULL, 0);
    return cv_arena_printf(arena, "file://%s",
                           cv_path_resolve(folder ? folder : "/", given, arena));
}

static enum cv_code read_metadata(struct cv_catalog *catalog, const char *location,
                                  struct cv_table_metadata **ret_metadata, struct cv_error *err)
{
    CV_CLEANUP(cv_store_freep) struct cv_store *store = NULL;
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_METADATA_BYTES_MAX);

    CV_DO(cv_catalog_open_store(catalog, location, NULL, NULL, &store, err));
    CV_DO(cv_store_read(store, location, CV_METADATA_BYTES_MAX, &bytes, err));
    CV_TRY(cv_table_metadata_read(bytes.data, bytes.length, ret_metadata, err), err, "%s",
           location);
    return CV_OK;
}

static enum cv_code check_absent(struct cv_catalog *catalog, const struct cv_table_name *name,
                                 struct cv_arena *arena, struct cv_error *err)
{
    const char *location;
    enum cv_code code = cv_catalog_find(catalog, name, arena, &location, err);

    if (code == CV_OK)
        return cv_fail(err, CV_EXISTS, "table %s exists already: its metadata is %s",
                       cv_table_name_text(name, arena), location);
    if (code != CV_NOT_FOUND)
        return code;
    cv_error_clear(err);
    return CV_OK;
}

/* A catalog that reads the file itself tells what it found there, and may be the only one who can.
 */
static enum cv_code register_file(struct cv_catalog *catalog, const struct cv_table_name *name,
                                  const char *file, bool dry_run, struct cv_arena *arena,
                                  struct cv_table_metadata **ret_metadata, struct cv_error *err)
{
    struct cv_catalog_entry entry = {0};

    if (dry_run || !catalog->ops->writes_metadata) {
        CV_DO(read_metadata(catalog, file, ret_metadata, err));
        return dry_run ? CV_OK : catalog->ops->register_table(catalog, name, file, err);
    }
    CV_DO(catalog->ops->register_table(catalog, name, file, err));
    CV_TRY(catalog->ops->load(catalog, name, NULL, arena, &entry, err), err,
           "%s is a table now, but", cv_table_name_text(name, arena));
    *ret_metadata = cv_steal(entry.metadata);
    cv_catalog_entry_release(&entry);
    return CV_OK;
}

/* A total of the summary; null where the snapshot has none. */
static void put_total(struct cv_json_writer *w, const char *column,
                      const struct cv_snapshot *snapshot, const char *key)
{
    const char *text = snapshot ? cv_properties_get(&snapshot->summary, key) : NULL;
    int64_t total;

    if (!text || !cv_parse_i64(cv_str_from(text), &total))
        total = -1;
    cv_maintain_put_id(w, column, total);
}

static void put_row(const struct cv_table_metadata *metadata, struct cv_buf *rows)
{
    const struct cv_snapshot *head = cv_table_metadata_head(metadata, "main");
    struct cv_json_writer w = CV_JSON_WRITER(rows);

    cv_json_begin_array(&w);
    cv_json_begin_object(&w);
    cv_maintain_put_id(&w, "current_snapshot_id", head ? head->id : -1);
    put_total(&w, "total_records_count", head, "total-records");
    put_total(&w, "total_data_files_count", head, "total-data-files");
    cv_json_end_object(&w);
    cv_json_end_array(&w);
}

static enum cv_code run(struct cv_maintenance *maintenance, const void *data,
                        struct cv_maintain_result *result, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_table_metadata_freep) struct cv_table_metadata *metadata = NULL;
    const struct arguments *arguments = data;
    struct cv_catalog *catalog = maintenance->catalog;
    struct cv_table_name name;
    const char *file = location_of(arguments->metadata_file, &arena);

    if (!catalog->ops->register_table)
        return cv_fail(err, CV_UNSUPPORTED,
                       "a %s catalog has no register_table: its tables are its folders",
                       catalog->ops->type);
    CV_DO(cv_table_name_parse(maintenance->table_name, &arena, &name, err));
    CV_DO(check_absent(catalog, &name, &arena, err));
    CV_TRY(register_file(catalog, &name, file, maintenance->dry_run, &arena, &metadata, err), err,
           "register_table");
    result->changed = true;
    put_row(metadata, &result->rows);
    cv_maintain_note(
        result, "%s %s a table at %s, format version %d", cv_table_name_text(&name, &arena),
        maintenance->dry_run ? "would become" : "is", metadata->location, metadata->format_version);
    return CV_OK;
}

const struct cv_procedure cv_procedure_register_table = {
    .name = "register-table",
    .spark_name = "register_table",
    .about = "make an existing metadata file a table of the catalog",
    .arguments = &table,
    .arguments_size = sizeof(struct arguments),
    .without_table = true,
    .run = run,
};
