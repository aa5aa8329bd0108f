/* SPDX-License-Identifier: Apache-2.0
 *
 * calve table scan: the rows of a table with its deletes applied, as a text table or as JSON. */
#include "cli/command.h"
#include "cli/lake.h"
#include "cli/rows.h"
#include "cli/text_table.h"

#include "data/scan.h"

#include <stddef.h>
#include <stdio.h>

#define TEXT_BYTES_MAX     ((size_t)256 << 20)
#define DELETES_BYTES_KEPT ((size_t)64 << 20)

struct scan_args {
    const char *config;
    const char *where;
    const char *columns;
    const char *snapshot;
    int64_t limit;
    bool json;
};

static const struct cv_flag flags[] = {
    {"where", CV_FLAG_TEXT, offsetof(struct scan_args, where), "CONDITION",
     "only rows that match, in Spark's SQL"},
    {"columns", CV_FLAG_TEXT, offsetof(struct scan_args, columns), "A,B", "only these columns"},
    {"limit", CV_FLAG_INTEGER, offsetof(struct scan_args, limit), "N", "at most so many rows"},
    {"snapshot", CV_FLAG_TEXT, offsetof(struct scan_args, snapshot), "ID",
     "the rows of an older snapshot"},
    {"json", CV_FLAG_BOOL, offsetof(struct scan_args, json), NULL, "one JSON document"},
    {"config", CV_FLAG_TEXT, offsetof(struct scan_args, config), "FILE", "file with the catalogs"},
};

struct scan {
    const struct scan_args *args;
    struct cv_scan_config config;
    struct cv_arena arena;
    struct cv_schema projection;
    struct cv_buf json; /* of one batch, or of all rows for the text table */
    int64_t rows_left;
    bool any;
};

static void scan_release(struct scan *scan)
{
    cv_arena_release(&scan->arena);
    cv_buf_release(&scan->json);
}

static enum cv_code choose_columns(struct scan *scan, const struct cv_schema *schema,
                                   struct cv_error *err)
{
    size_t count;
    char **names;
    struct cv_field *fields;

    scan->projection = *schema;
    scan->config.projection = &scan->projection;
    if (!scan->args->columns)
        return CV_OK;
    names = cv_split(&scan->arena, scan->args->columns, ',', &count);
    fields = cv_arena_array(&scan->arena, struct cv_field, count);
    for (size_t i = 0; i < count; i++) {
        const struct cv_field *field = NULL;

        for (size_t f = 0; !field && f < schema->root.field_count; f++)
            if (cv_text_equal_nocase(schema->root.fields[f].name, names[i]))
                field = &schema->root.fields[f];
        if (!field)
            return cv_fail(err, CV_USAGE, "--columns: there is no column %s", names[i]);
        fields[i] = *field;
    }
    scan->projection.root.fields = fields;
    scan->projection.root.field_count = count;
    return CV_OK;
}

static enum cv_code choose_snapshot(const struct cv_table *table, const struct scan_args *args,
                                    const struct cv_snapshot **ret_snapshot, struct cv_error *err)
{
    int64_t id;

    *ret_snapshot = cv_table_metadata_head(table->metadata, cv_table_branch(table));
    if (!args->snapshot)
        return CV_OK;
    if (!cv_parse_i64(cv_str_from(args->snapshot), &id))
        return cv_fail(err, CV_USAGE, "--snapshot: \"%s\" is not a number", args->snapshot);
    *ret_snapshot = cv_table_metadata_snapshot(table->metadata, id);
    if (!*ret_snapshot) {
        (void)cv_fail(err, CV_NOT_FOUND, "the table has no snapshot %s", args->snapshot);
        cv_hint(err, "`calve table snapshots NAME` shows them");
        return CV_NOT_FOUND;
    }
    return CV_OK;
}

/* The rows join the array that was begun; with --json they are printed at once. */
static enum cv_code put_rows(struct scan *scan, const struct cv_batch *batch, struct cv_error *err)
{
    size_t count = (size_t)CV_MIN((int64_t)batch->row_count, scan->rows_left);
    size_t start = scan->json.length;

    if (!count)
        return CV_OK;
    scan->rows_left -= (int64_t)count;
    cv_rows_write_json(batch, count, &scan->json);
    if (scan->json.failed) {
        (void)cv_buf_check(&scan->json, "the text of the rows", err);
        cv_hint(err, "use --limit, --columns or --json");
        return CV_LIMIT;
    }
    scan->json.length--; /* the closing bracket */
    if (scan->any)
        scan->json.data[start] = ',';
    scan->any = true;
    if (scan->args->json) {
        (void)fwrite(scan->json.data, 1, scan->json.length, stdout);
        cv_buf_clear(&scan->json);
    }
    return CV_OK;
}

static enum cv_code scan_file(void *context, const struct cv_scan_task *task, struct cv_error *err)
{
    CV_CLEANUP(cv_scanner_freep) struct cv_scanner *scanner = NULL;
    struct scan *scan = context;
    struct cv_batch batch;

    if (scan->rows_left == 0)
        return CV_OK;
    CV_DO(cv_scanner_open(&scan->config, task, &scanner, err));
    do {
        CV_DO(cv_scanner_next(scanner, &batch, err));
        CV_DO(put_rows(scan, &batch, err));
    } while (batch.row_count && scan->rows_left > 0);
    return CV_OK;
}

static enum cv_code scan_table(struct scan *scan, const struct cv_table *table,
                               struct cv_error *err)
{
    CV_CLEANUP(cv_scan_plan_freep) struct cv_scan_plan *plan = NULL;
    CV_CLEANUP(cv_delete_cache_freep)
    struct cv_delete_cache *deletes = cv_delete_cache_new(DELETES_BYTES_KEPT);
    const struct cv_table_metadata *metadata = table->metadata;
    const struct cv_schema *schema = cv_table_metadata_schema(metadata);
    const struct cv_snapshot *snapshot;

    scan->config.store = table->store;
    scan->config.metadata = metadata;
    scan->config.deletes = deletes;
    if (scan->args->where)
        CV_TRY(cv_predicate_parse(scan->args->where, schema, &scan->arena, &scan->config.predicate,
                                  err),
               err, "--where");
    CV_DO(choose_snapshot(table, scan->args, &snapshot, err));
    if (scan->args->snapshot && cv_table_metadata_schema_by_id(metadata, snapshot->schema_id))
        schema = cv_table_metadata_schema_by_id(metadata, snapshot->schema_id);
    CV_DO(choose_columns(scan, schema, err));
    if (!snapshot)
        return CV_OK;
    CV_DO(cv_scan_plan_open(table->store, metadata, snapshot, scan->config.predicate, &plan, err));
    return cv_scan_plan_each(plan, scan_file, scan, err);
}

static enum cv_code print_end(struct scan *scan, struct cv_error *err)
{
    if (scan->args->json) {
        (void)printf(scan->any ? "]\n" : "[]\n");
        return CV_OK;
    }
    cv_buf_append_text(&scan->json, scan->any ? "]" : "[]");
    return cv_text_table_print((struct cv_str){cv_buf_text(&scan->json), scan->json.length}, NULL,
                               err);
}

static enum cv_code run_scan(int argc, char **argv, int *ret_status, struct cv_error *err)
{
    CV_CLEANUP(cv_lake_release) struct cv_lake lake = {0};
    struct scan_args args = {.limit = INT64_MAX};
    CV_CLEANUP(scan_release)
    struct scan scan = {.args = &args, .json = CV_BUF_INIT(TEXT_BYTES_MAX)};
    struct cv_text_list words = {0};

    CV_DO(cv_args_parse(flags, CV_ARRAY_LENGTH(flags), argc, argv, &args, &words, err));
    if (words.count != 1)
        return cv_fail(err, CV_USAGE, "calve table scan takes the name of a table");
    if (args.limit < 0)
        return cv_fail(err, CV_USAGE, "--limit must not be negative");
    scan.rows_left = args.limit;
    CV_DO(cv_lake_open_table(args.config, words.items[0], &lake, err));
    CV_TRY(scan_table(&scan, lake.table, err), err, "%s", words.items[0]);
    *ret_status = 0;
    return print_end(&scan, err);
}

const struct cv_command cv_command_table_scan = {
    "table scan",
    "NAME [--where CONDITION] [--columns A,B] [--limit N] [--json]",
    "the rows of a table",
    run_scan,
    flags,
    CV_ARRAY_LENGTH(flags)};
