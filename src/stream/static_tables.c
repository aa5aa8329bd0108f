/* SPDX-License-Identifier: Apache-2.0
 *
 * See static_tables.h. Iceberg tables are read by the project's own scanner, files by DuckDB, which
 * may open no others. */
#include "stream/static_tables.h"

#include "data/scan.h"
#include "sql/sql_text.h"
#include "stream/job.h"
#include "table/table.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define TABLE(field)  offsetof(struct cv_static_table_options, field)
#define DELETES_BYTES ((size_t)16 << 20)

static const struct cv_option static_table_options[] = {
    {"table", CV_OPTION_TEXT, TABLE(table), NULL, NULL,
     "An Iceberg table, catalog.namespace.table, with .branch_<name> for a branch.", 0, 0, 0},
    {"snapshot-id", CV_OPTION_INTEGER, TABLE(snapshot_id), NULL, NULL,
     "Snapshot of the Iceberg table; absent: the newest.", 0, 0, 0},
    {"path", CV_OPTION_TEXT, TABLE(path), NULL, NULL,
     "A local Parquet or CSV file, in the place of a table.", 0, 0, 0},
    {"format", CV_OPTION_TEXT, TABLE(format), NULL, NULL,
     "parquet or csv; absent: by the end of the path.", 0, 0, 0},
    {"schema", CV_OPTION_TEXT, TABLE(schema), NULL, NULL,
     "Columns as Spark DDL: of a CSV file by position (absent: all of them text), of a Parquet "
     "file "
     "by name.",
     0, 0, 0},
    {"header", CV_OPTION_BOOL, TABLE(header), "false", NULL,
     "The first line of the CSV file has names.", 0, 0, 0},
    {"sep", CV_OPTION_TEXT, TABLE(separator), ",", NULL, "What separates the columns of CSV.", 0, 0,
     0},
    {"nullValue", CV_OPTION_TEXT, TABLE(null_value), "", NULL, "Text of a NULL in CSV.", 0, 0, 0},
    {"reload", CV_OPTION_CHOICE, TABLE(reload), "batch", "batch|pinned",
     "batch: before each batch, when the table has a new snapshot or the file was changed; pinned: "
     "as it was at the start, or when the sink's columns were altered last.",
     0, 0, 0},
};

const struct cv_option_table cv_static_table_option_table = {
    "tables.<name>", "static tables that SQL joins the stream with", static_table_options,
    CV_ARRAY_LENGTH(static_table_options)};

/* What makes one state of a file another one than the state that was loaded. */
struct stamp {
    int64_t snapshot_id; /* Iceberg; -1 = the table is empty */
    int64_t size, changed_ns;
    uint64_t inode;
    bool loaded;
};

struct static_table {
    const struct cv_static_table_options *options;
    struct cv_schema schema;
    const char **sources; /* SQL of each column of a file */
    struct cv_catalog *catalog;
    struct cv_table *table;
    struct cv_table_metadata *first; /* at the start: what the schema is of */
    struct cv_duck_view *view;       /* of rows on their way into the database */
    struct stamp stamp;
};

struct cv_static_tables {
    struct cv_arena arena;
    struct cv_duck_connection *connection;
    struct static_table *items;
    struct cv_query_table *list;
    size_t count;
};

/* ---- options ---- */

static bool is_taken(const char *name)
{
    static const char *const names[] = {"stream", "input", "groups"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++)
        if (cv_text_equal_nocase(name, names[i]))
            return true;
    return false;
}

static enum cv_code check_name(const char *name, struct cv_error *err)
{
    bool good = isalpha((unsigned char)name[0]) || name[0] == '_';

    for (const char *c = name; *c; c++)
        good = good && (isalnum((unsigned char)*c) || *c == '_');
    if (!good)
        return cv_fail(err, CV_CONFIG, "tables.%s: a name has letters, digits and _", name);
    if (is_taken(name))
        return cv_fail(err, CV_CONFIG, "tables.%s: the name has a meaning of its own", name);
    return CV_OK;
}

static enum cv_code check_options(struct cv_static_table_options *o, const char *folder,
                                  struct cv_arena *arena, struct cv_error *err)
{
    if (!o->table == !o->path)
        return cv_fail(err, CV_CONFIG, "tables.%s: give either table or path", o->name);
    if (o->table && o->schema)
        return cv_fail(err, CV_CONFIG, "tables.%s: schema is for files", o->name);
    if (!o->path)
        return CV_OK;
    if (strstr(o->path, "://") && !cv_text_starts_with(o->path, "file:"))
        return cv_fail(err, CV_UNSUPPORTED,
                       "tables.%s: path %s is no local file; make it an Iceberg table", o->name,
                       o->path);
    if (cv_text_starts_with(o->path, "file:")) {
        char local[CV_PATH_BYTES_MAX];

        if (cv_location_local_path(o->path, local))
            o->path = cv_arena_strdup(arena, local);
    }
    o->path = cv_path_resolve(folder, o->path, arena);
    if (!o->format)
        o->format = cv_text_ends_with(o->path, ".csv")       ? "csv"
                    : cv_text_ends_with(o->path, ".parquet") ? "parquet"
                                                             : "";
    if (!cv_text_equal_nocase(o->format, "csv") && !cv_text_equal_nocase(o->format, "parquet"))
        return cv_fail(err, CV_CONFIG, "tables.%s: format \"%.40s\" is neither parquet nor csv",
                       o->name, o->format);
    return CV_OK;
}

static struct cv_static_table_options *find(struct cv_static_table_options *tables, size_t count,
                                            const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (cv_text_equal_nocase(tables[i].name, name))
            return &tables[i];
    return NULL;
}

enum cv_code cv_static_table_options_read(const struct cv_job_file *file, struct cv_arena *arena,
                                          struct cv_static_table_options **ret_tables,
                                          size_t *ret_count, struct cv_error *err)
{
    struct cv_static_table_options *tables =
        cv_arena_array(arena, struct cv_static_table_options, CV_STATIC_TABLES_MAX);
    size_t count = 0;

    for (size_t i = 0; i < file->count; i++) {
        const struct cv_job_entry *entry = &file->entries[i];
        struct cv_static_table_options *table;

        if (!cv_text_starts_with(entry->section, "tables."))
            continue;
        table = find(tables, count, entry->section + 7);
        if (!table && count == CV_STATIC_TABLES_MAX)
            return cv_fail(err, CV_LIMIT, "more than %d static tables", CV_STATIC_TABLES_MAX);
        if (!table) {
            table = &tables[count++];
            CV_DO(cv_options_defaults(&cv_static_table_option_table, table, arena, err));
            table->name = entry->section + 7;
            CV_DO(check_name(table->name, err));
        }
        CV_TRY(cv_options_set(&cv_static_table_option_table, table, arena, entry->key, entry->value,
                              err),
               err, "tables.%s", table->name);
    }
    for (size_t i = 0; i < count; i++)
        CV_DO(check_options(&tables[i], file->folder, arena, err));
    *ret_tables = tables;
    *ret_count = count;
    return CV_OK;
}

/* ---- columns ---- */

static enum cv_code open_iceberg(struct static_table *item, const struct cv_job_file *file,
                                 struct cv_error *err)
{
    CV_DO(cv_job_open_catalog(file, item->options->table, &item->catalog, err));
    CV_DO(cv_table_open(item->catalog, item->options->table, &item->table, err));
    item->first = cv_table_metadata_copy(item->table->metadata);
    item->schema = *cv_table_metadata_schema(item->first);
    return CV_OK;
}

static void write_reader(const struct cv_static_table_options *o, struct cv_buf *out)
{
    bool csv = cv_text_equal_nocase(o->format, "csv");

    cv_buf_append_text(out, csv ? "read_csv(" : "read_parquet(");
    cv_sql_write_text(out, o->path);
    if (csv) {
        cv_buf_append_text(out, o->header ? ", header = true" : ", header = false");
        cv_buf_append_text(out, ", all_varchar = true, auto_detect = true, quote = '\"', escape = "
                                "'\"', delim = ");
        cv_sql_write_text(out, o->separator);
        cv_buf_append_text(out, ", nullstr = ");
        cv_sql_write_text(out, o->null_value);
    }
    cv_buf_append_byte(out, ')');
}

/* The Iceberg type of a DuckDB type by its name; false for those that have none here. */
static bool type_of(const char *name, struct cv_type *ret_type)
{
    static const struct {
        const char *name;
        enum cv_type_kind kind;
    } kinds[] = {
        {"BOOLEAN", CV_TYPE_BOOLEAN},
        {"TINYINT", CV_TYPE_INT},
        {"SMALLINT", CV_TYPE_INT},
        {"UTINYINT", CV_TYPE_INT},
        {"USMALLINT", CV_TYPE_INT},
        {"INTEGER", CV_TYPE_INT},
        {"UINTEGER", CV_TYPE_LONG},
        {"BIGINT", CV_TYPE_LONG},
        {"FLOAT", CV_TYPE_FLOAT},
        {"DOUBLE", CV_TYPE_DOUBLE},
        {"DATE", CV_TYPE_DATE},
        {"TIME", CV_TYPE_TIME},
        {"TIMESTAMP", CV_TYPE_TIMESTAMP},
        {"TIMESTAMP_NS", CV_TYPE_TIMESTAMP},
        {"TIMESTAMP_MS", CV_TYPE_TIMESTAMP},
        {"TIMESTAMP_S", CV_TYPE_TIMESTAMP},
        {"TIMESTAMP WITH TIME ZONE", CV_TYPE_TIMESTAMPTZ},
        {"VARCHAR", CV_TYPE_STRING},
        {"UUID", CV_TYPE_STRING},
        {"BLOB", CV_TYPE_BINARY},
    };
    int precision, scale;

    *ret_type = (struct cv_type){0};
    if (sscanf(name, "DECIMAL(%d,%d)", &precision, &scale) == 2) {
        ret_type->kind = CV_TYPE_DECIMAL;
        ret_type->precision = (uint8_t)precision;
        ret_type->scale = (uint8_t)scale;
        return precision >= 1 && precision <= 38 && scale >= 0 && scale <= precision;
    }
    for (size_t i = 0; i < CV_ARRAY_LENGTH(kinds); i++) {
        if (strcmp(name, kinds[i].name) != 0)
            continue;
        ret_type->kind = kinds[i].kind;
        return true;
    }
    return false;
}

static const char *column_sql(const char *source, const char *source_type,
                              const struct cv_type *type, struct cv_arena *arena)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    bool zoned = strcmp(source_type, "TIMESTAMP WITH TIME ZONE") == 0;

    cv_buf_append_text(&out, "CAST(");
    if (zoned)
        cv_buf_append_text(&out, "make_timestamp(epoch_us(");
    cv_sql_write_name(&out, source);
    if (zoned)
        cv_buf_append_text(&out, "))");
    cv_buf_append_text(&out, " AS ");
    cv_sql_type_text(type, &out);
    cv_buf_append_byte(&out, ')');
    return cv_arena_strdup(arena, cv_buf_text(&out));
}

/* Names and types of the file's own columns: a batch of two text columns. */
static enum cv_code describe_file(struct cv_static_tables *t, const struct static_table *item,
                                  struct cv_duck_query **ret_query, struct cv_batch *ret_batch,
                                  struct cv_error *err)
{
    static const struct cv_field fields[2] = {
        {.id = 1, .name = "column_name", .type = {.kind = CV_TYPE_STRING}},
        {.id = 2, .name = "column_type", .type = {.kind = CV_TYPE_STRING}},
    };
    static const struct cv_schema schema = {
        .root = {.kind = CV_TYPE_STRUCT, .fields = fields, .field_count = 2}};
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);

    cv_buf_append_text(&sql, "SELECT column_name::VARCHAR, column_type::VARCHAR FROM (DESCRIBE "
                             "SELECT * FROM ");
    write_reader(item->options, &sql);
    cv_buf_append_byte(&sql, ')');
    CV_DO(cv_duck_query_prepare(t->connection, cv_buf_text(&sql), &schema, ret_query, err));
    CV_DO(cv_duck_query_start(*ret_query, NULL, 0, err));
    return cv_duck_query_next(*ret_query, SIZE_MAX, ret_batch, err);
}

static const char *text_at(const struct cv_batch *batch, size_t column, size_t row,
                           struct cv_arena *arena)
{
    struct cv_value value = cv_column_value(&batch->columns[column], row);

    return cv_arena_strndup(arena, value.bytes.ptr, value.bytes.length);
}

/* Columns as the file has them. */
static enum cv_code take_columns(struct cv_static_tables *t, struct static_table *item,
                                 const struct cv_batch *found, struct cv_error *err)
{
    size_t count = found->row_count;
    struct cv_field *fields = cv_arena_array(&t->arena, struct cv_field, count);

    for (size_t i = 0; i < count; i++) {
        const char *type = text_at(found, 1, i, &t->arena);

        fields[i].name = text_at(found, 0, i, &t->arena);
        if (!type_of(type, &fields[i].type)) {
            (void)cv_fail(err, CV_UNSUPPORTED, "column %s is %.100s", fields[i].name, type);
            cv_hint(err, "leave it out by naming the columns in tables.%s.schema",
                    item->options->name);
            return CV_UNSUPPORTED;
        }
        item->sources[i] = column_sql(fields[i].name, type, &fields[i].type, &t->arena);
    }
    item->schema.root =
        (struct cv_type){.kind = CV_TYPE_STRUCT, .fields = fields, .field_count = count};
    return CV_OK;
}

/* Columns as `schema` names them: CSV by position, Parquet by name. */
static enum cv_code choose_columns(struct cv_static_tables *t, struct static_table *item,
                                   const struct cv_batch *found, struct cv_error *err)
{
    bool csv = cv_text_equal_nocase(item->options->format, "csv");
    const struct cv_type *root = &item->schema.root;

    CV_TRY(cv_schema_read_ddl(item->options->schema, &t->arena, &item->schema, err), err, "schema");
    if (csv && root->field_count != found->row_count)
        return cv_fail(err, CV_SCHEMA, "the file has %zu columns, schema names %zu",
                       found->row_count, root->field_count);
    for (size_t i = 0; i < root->field_count; i++) {
        size_t at = csv ? i : 0;

        while (!csv && at < found->row_count &&
               !cv_text_equal_nocase(text_at(found, 0, at, &t->arena), root->fields[i].name))
            at++;
        if (at == found->row_count)
            return cv_fail(err, CV_SCHEMA, "the file has no column %s", root->fields[i].name);
        item->sources[i] =
            column_sql(text_at(found, 0, at, &t->arena), text_at(found, 1, at, &t->arena),
                       &root->fields[i].type, &t->arena);
    }
    return CV_OK;
}

static enum cv_code look_at_file(const struct static_table *item, struct stamp *ret_stamp,
                                 struct cv_error *err)
{
    struct stat status;

    if (stat(item->options->path, &status) != 0)
        return cv_fail(err, errno == ENOENT ? CV_NOT_FOUND : CV_IO, "%s: %s", item->options->path,
                       strerror(errno));
    *ret_stamp = (struct stamp){.size = status.st_size,
                                .changed_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 +
                                              status.st_mtim.tv_nsec,
                                .inode = status.st_ino,
                                .loaded = true};
    return CV_OK;
}

static enum cv_code open_file(struct cv_static_tables *t, struct static_table *item,
                              struct cv_error *err)
{
    CV_CLEANUP(cv_duck_query_freep) struct cv_duck_query *query = NULL;
    struct cv_batch found;
    struct stamp stamp;

    CV_DO(look_at_file(item, &stamp, err));
    CV_TRY(describe_file(t, item, &query, &found, err), err, "%s", item->options->path);
    item->sources =
        cv_arena_array(&t->arena, const char *, CV_MAX(found.row_count, (size_t)CV_FIELDS_MAX));
    if (item->options->schema)
        CV_TRY(choose_columns(t, item, &found, err), err, "%s", item->options->path);
    else
        CV_TRY(take_columns(t, item, &found, err), err, "%s", item->options->path);
    cv_schema_assign_ids(&item->schema, &t->arena);
    return CV_OK;
}

enum cv_code cv_static_tables_open(const struct cv_job_file *file,
                                   const struct cv_static_table_options *options, size_t count,
                                   struct cv_duck_connection *connection,
                                   struct cv_static_tables **ret_tables, struct cv_error *err)
{
    struct cv_static_tables *t = cv_alloc(sizeof *t);
    enum cv_code code = CV_OK;

    t->connection = connection;
    t->items = cv_arena_array(&t->arena, struct static_table, count);
    t->list = cv_arena_array(&t->arena, struct cv_query_table, count);
    for (size_t i = 0; i < count && code == CV_OK; i++) {
        struct static_table *item = &t->items[t->count++];

        item->options = &options[i];
        code = options[i].table ? open_iceberg(item, file, err) : open_file(t, item, err);
        if (code != CV_OK)
            cv_context(err, "tables.%s", options[i].name);
        t->list[i] = (struct cv_query_table){options[i].name, &item->schema};
    }
    if (code != CV_OK) {
        cv_static_tables_free(t);
        return code;
    }
    *ret_tables = t;
    return CV_OK;
}

void cv_static_tables_free(struct cv_static_tables *tables)
{
    if (!tables)
        return;
    for (size_t i = 0; i < tables->count; i++) {
        cv_duck_view_free(tables->items[i].view);
        cv_table_metadata_free(tables->items[i].first);
        cv_table_free(tables->items[i].table);
        cv_catalog_free(tables->items[i].catalog);
    }
    cv_arena_release(&tables->arena);
    free(tables);
}

const struct cv_query_table *cv_static_tables_list(const struct cv_static_tables *tables)
{
    return tables->list;
}

/* ---- rows ---- */

static enum cv_code choose_snapshot(const struct static_table *item,
                                    const struct cv_snapshot **ret_snapshot, struct cv_error *err)
{
    const struct cv_table *table = item->table;

    *ret_snapshot = item->options->snapshot_id
                        ? cv_table_metadata_snapshot(table->metadata, item->options->snapshot_id)
                        : cv_table_metadata_head(table->metadata, cv_table_branch(table));
    if (!*ret_snapshot && item->options->snapshot_id)
        return cv_fail(err, CV_NOT_FOUND, "table %s has no snapshot %lld", item->options->table,
                       (long long)item->options->snapshot_id);
    return CV_OK;
}

static bool equal_stamps(const struct stamp *a, const struct stamp *b)
{
    return a->loaded == b->loaded && a->snapshot_id == b->snapshot_id && a->size == b->size &&
           a->changed_ns == b->changed_ns && a->inode == b->inode;
}

struct loading {
    struct cv_static_tables *tables;
    struct static_table *item;
    struct cv_scan_config config;
    const char *insert;
};

static enum cv_code load_task(void *context, const struct cv_scan_task *task, struct cv_error *err)
{
    CV_CLEANUP(cv_scanner_freep) struct cv_scanner *scanner = NULL;
    struct loading *loading = context;
    struct cv_batch batch;

    CV_DO(cv_scanner_open(&loading->config, task, &scanner, err));
    for (;;) {
        CV_DO(cv_scanner_next(scanner, &batch, err));
        if (!batch.row_count)
            return CV_OK;
        cv_duck_view_set_batch(loading->item->view, &batch);
        CV_DO(cv_duck_execute(loading->tables->connection, loading->insert, err));
    }
}

static enum cv_code load_iceberg(struct cv_static_tables *t, struct static_table *item,
                                 const struct cv_snapshot *snapshot, struct cv_error *err)
{
    CV_CLEANUP(cv_scan_plan_freep) struct cv_scan_plan *plan = NULL;
    CV_CLEANUP(cv_delete_cache_freep)
    struct cv_delete_cache *deletes = cv_delete_cache_new(DELETES_BYTES);
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const char *view = cv_arena_printf(&arena, "load_%s", item->options->name);
    struct loading loading = {t,
                              item,
                              {.store = item->table->store,
                               .metadata = item->table->metadata,
                               .projection = &item->schema,
                               .deletes = deletes},
                              cv_arena_printf(&arena, "INSERT INTO \"%s\" SELECT * FROM \"%s\"",
                                              item->options->name, view)};

    if (!item->view)
        CV_DO(cv_duck_view_create(t->connection, view, &item->schema, &item->view, err));
    if (!snapshot)
        return CV_OK;
    CV_DO(cv_scan_plan_open(item->table->store, item->table->metadata, snapshot, NULL, &plan, err));
    return cv_scan_plan_each(plan, load_task, &loading, err);
}

static enum cv_code create_table(struct cv_static_tables *t, const struct static_table *item,
                                 struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);

    cv_buf_printf(&sql, "CREATE OR REPLACE TABLE \"%s\" (", item->options->name);
    for (size_t i = 0; i < item->schema.root.field_count; i++) {
        cv_buf_append_text(&sql, i ? ", " : "");
        cv_sql_write_name(&sql, item->schema.root.fields[i].name);
        cv_buf_append_byte(&sql, ' ');
        cv_sql_type_text(&item->schema.root.fields[i].type, &sql);
    }
    cv_buf_append_byte(&sql, ')');
    return cv_duck_execute(t->connection, cv_buf_text(&sql), err);
}

static enum cv_code load_file(struct cv_static_tables *t, const struct static_table *item,
                              struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);

    cv_buf_printf(&sql, "INSERT INTO \"%s\" SELECT ", item->options->name);
    for (size_t i = 0; i < item->schema.root.field_count; i++)
        cv_buf_printf(&sql, "%s%s", i ? ", " : "", item->sources[i]);
    cv_buf_append_text(&sql, " FROM ");
    write_reader(item->options, &sql);
    return cv_duck_execute(t->connection, cv_buf_text(&sql), err);
}

/* All of it or nothing, so that a failure leaves the rows of before. */
static enum cv_code load(struct cv_static_tables *t, struct static_table *item,
                         const struct cv_snapshot *snapshot, struct cv_error *err)
{
    enum cv_code code;

    CV_DO(cv_duck_execute(t->connection, "BEGIN", err));
    code = create_table(t, item, err);
    if (code == CV_OK)
        code = item->table ? load_iceberg(t, item, snapshot, err) : load_file(t, item, err);
    if (code == CV_OK)
        return cv_duck_execute(t->connection, "COMMIT", err);
    (void)cv_duck_execute(t->connection, "ROLLBACK", NULL);
    if (code == CV_RECORD && err)
        err->code = code = CV_FORMAT; /* it is no record of the topic */
    cv_context(err, "%s", item->table ? item->options->table : item->options->path);
    return code;
}

static enum cv_code load_if_new(struct cv_static_tables *t, struct static_table *item,
                                struct cv_error *err)
{
    const struct cv_snapshot *snapshot = NULL;
    struct stamp stamp = {.loaded = true};

    if (item->stamp.loaded && item->options->reload == 1)
        return CV_OK;
    if (item->table) {
        CV_DO(cv_table_refresh(item->table, err));
        CV_DO(choose_snapshot(item, &snapshot, err));
        stamp.snapshot_id = snapshot ? snapshot->id : -1;
    } else {
        CV_DO(look_at_file(item, &stamp, err));
    }
    if (equal_stamps(&stamp, &item->stamp))
        return CV_OK;
    CV_DO(load(t, item, snapshot, err));
    item->stamp = stamp;
    return CV_OK;
}

enum cv_code cv_static_tables_load(struct cv_static_tables *tables, const bool *used,
                                   struct cv_error *err)
{
    for (size_t i = 0; i < tables->count; i++)
        if (used[i])
            CV_TRY(load_if_new(tables, &tables->items[i], err), err, "tables.%s",
                   tables->list[i].name);
    return CV_OK;
}
