/* SPDX-License-Identifier: Apache-2.0
 *
 * rewrite-data-files on tables of real files: rows stay, files become few, concurrent changes of
 * another writer (case 52) and partition specs (case 53) are met. */
#include "../table/fixture.h"

#include "batch/builder.h"
#include "data/scan.h"
#include "data/writer.h"
#include "maintain/procedure.h"
#include "table/expire.h"

static struct fixture f;
static struct cv_maintain_result result;
static int writers; /* opened so far: their file names differ */

static int set_up(void **state)
{
    (void)state;
    fixture_open(&f, "sql");
    cv_maintain_result_init(&result);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cv_maintain_result_release(&result);
    fixture_close(&f);
    return 0;
}

/* --- tables ---------------------------------------------------------------------------------- */

static void append_files(struct cv_table *table, const struct cv_data_file *files, size_t count)
{
    struct cv_append append = {.files = files, .file_count = count};
    struct cv_append_result appended;

    CV_ASSERT_OK(cv_table_append(table, &append, &appended, &err), &err);
}

/* Rows first … first + count - 1, spread over `days` days, as one file for each. */
static void write_rows(struct cv_table *table, int64_t first, int64_t count, int days,
                       const char *codec)
{
    const struct cv_data_writer_config config = {
        .metadata = table->metadata,
        .store = table->store,
        .name_prefix = cv_arena_printf(&f.arena, "test-%d", writers++),
        .fanout = true,
        .codec_override = codec,
    };
    struct cv_data_writer_counters counters;
    struct cv_batch_builder rows;
    struct cv_data_writer *writer;
    struct cv_data_file *files;
    struct cv_batch batch;
    size_t file_count;
    char item[64];

    cv_batch_builder_init(&rows, cv_table_metadata_schema(table->metadata));
    for (int64_t id = first; id < first + count; id++) {
        cv_builder_i64(&rows.columns[0], id);
        (void)snprintf(item, sizeof item, "item %lld", (long long)(id * 2654435761));
        cv_builder_bytes(&rows.columns[1], item, strlen(item));
        cv_builder_i32(&rows.columns[2], 20000 + (int32_t)(id % days));
    }
    cv_batch_builder_view(&rows, &batch);
    CV_ASSERT_OK(cv_data_writer_open(&config, &writer, &err), &err);
    CV_ASSERT_OK(cv_data_writer_append(writer, &batch, &err), &err);
    CV_ASSERT_OK(cv_data_writer_finish(writer, &f.arena, &files, &file_count, &counters, &err),
                 &err);
    append_files(table, files, file_count);
    cv_batch_builder_release(&rows);
}

struct live {
    struct cv_table *table;
    int64_t files, rows, sum, largest, old_specs;
    bool sorted; /* ids within each file */
    int32_t sort_order;
    int64_t lowest_sequence;
};

static enum cv_code read_file(void *context, const struct cv_scan_task *task,
                              struct cv_error *error)
{
    struct live *live = context;
    const struct cv_scan_config config = {.store = live->table->store,
                                          .metadata = live->table->metadata};
    CV_CLEANUP(cv_scanner_freep) struct cv_scanner *scanner = NULL;
    int64_t last = INT64_MIN;
    struct cv_batch batch;

    live->files++;
    live->largest = CV_MAX(live->largest, task->data.file.metrics.file_size);
    live->old_specs += task->data.file.spec_id != live->table->metadata->default_spec_id;
    live->sort_order = task->data.file.sort_order_id;
    live->lowest_sequence = CV_MIN(live->lowest_sequence, task->data.sequence_number);
    CV_DO(cv_scanner_open(&config, task, &scanner, error));
    for (;;) {
        CV_DO(cv_scanner_next(scanner, &batch, error));
        if (!batch.row_count)
            return CV_OK;
        for (size_t i = 0; i < batch.row_count; i++) {
            int64_t id = cv_column_value(&batch.columns[0], i).i64;

            live->rows++;
            live->sum += id;
            live->sorted &= id > last;
            last = id;
        }
    }
}

static struct live read_table(struct cv_table *table)
{
    CV_CLEANUP(cv_scan_plan_freep) struct cv_scan_plan *plan = NULL;
    struct live live = {.table = table, .sorted = true, .lowest_sequence = INT64_MAX};

    CV_ASSERT_OK(cv_table_refresh(table, &err), &err);
    CV_ASSERT_OK(cv_scan_plan_open(table->store, table->metadata,
                                   cv_table_metadata_head(table->metadata, "main"), NULL, &plan,
                                   &err),
                 &err);
    CV_ASSERT_OK(cv_scan_plan_each(plan, read_file, &live, &err), &err);
    return live;
}

/* All rows from 0 to count - 1 are there once. */
static void assert_rows(const struct live *live, int64_t count)
{
    assert_int_equal(live->rows, count);
    assert_int_equal(live->sum, count * (count - 1) / 2);
}

static const struct cv_snapshot *head_of(struct cv_table *table)
{
    return cv_table_metadata_head(table->metadata, "main");
}

/* Files in the data folder, also those that no snapshot names. */
static size_t files_on_disk(struct cv_table *table)
{
    char command[512];
    FILE *pipe;
    unsigned long count = 0;

    (void)snprintf(command, sizeof command, "find %s/data -name '*.parquet' | wc -l",
                   table->metadata->location + strlen("file://"));
    pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%lu", &count), 1);
    (void)pclose(pipe);
    return count;
}

/* --- the procedure --------------------------------------------------------------------------- */

struct rival {
    void (*act)(struct cv_table *table);
    struct cv_table *table;
    int asked;
};

/* Asked first when the groups are planned, and nothing is committed. */
static bool act_once(void *context)
{
    struct rival *rival = context;

    if (rival->asked++ == 0 && rival->act)
        rival->act(rival->table);
    return false;
}

static enum cv_code rewrite_beside(struct cv_table *table, void (*act)(struct cv_table *table),
                                   const char *const *arguments)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties properties = {0};
    CV_CLEANUP(cv_table_freep) struct cv_table *other = NULL;
    struct rival rival = {.act = act};
    struct cv_maintenance maintenance = {.catalog = f.catalog,
                                         .table_name = "lake.shop.orders",
                                         .table = table,
                                         .memory_bytes = CV_MAINTAIN_MEMORY_DEFAULT,
                                         .threads = 2,
                                         .stopping = act_once,
                                         .context = &rival};

    for (; *arguments; arguments += 2) {
        if (strcmp(arguments[0], "dry-run") == 0)
            maintenance.dry_run = true;
        else
            cv_properties_set(&properties, arguments[0], arguments[1]);
    }
    CV_ASSERT_OK(cv_table_open(f.catalog, "lake.shop.orders", &other, &err), &err);
    rival.table = other;
    cv_maintain_result_release(&result);
    cv_maintain_result_init(&result);
    cv_error_clear(&err);
    return cv_procedure_run(cv_procedure_find("rewrite_data_files"), &maintenance, &properties,
                            &result, &err);
}

static void rewrite(struct cv_table *table, const char *const *arguments)
{
    CV_ASSERT_OK(rewrite_beside(table, NULL, arguments), &err);
}

static void assert_counts(int rewritten, int added)
{
    char wanted[256];

    (void)snprintf(wanted, sizeof wanted,
                   "[{\"rewritten_data_files_count\":%d,\"added_data_files_count\":%d,", rewritten,
                   added);
    if (strncmp(cv_buf_text(&result.rows), wanted, strlen(wanted)) != 0)
        fail_msg("%s, want %s", cv_buf_text(&result.rows), wanted);
}

static const char *const none[] = {NULL};

static void joins_small_files(void **state)
{
    struct cv_table *table = fixture_table(&f, NULL, NULL, 0);
    static const char *const dry[] = {"dry-run", "true", NULL};
    struct live live;
    int64_t snapshot;

    (void)state;
    for (int i = 0; i < 6; i++)
        write_rows(table, i * 1000, 1000, 3, NULL);
    snapshot = head_of(table)->id;
    rewrite(table, dry);
    assert_counts(6, 1);
    assert_true(result.changed);
    assert_int_equal(head_of(table)->id, snapshot);
    assert_int_equal(files_on_disk(table), 6);

    rewrite(table, none);
    assert_counts(6, 1);
    live = read_table(table);
    assert_int_equal(live.files, 1);
    assert_rows(&live, 6000);
    /* Later equality deletes must still apply: the data keeps the sequence planned from. */
    assert_int_equal(live.lowest_sequence, 6);
    assert_string_equal(cv_properties_get(&head_of(table)->summary, "operation"), "replace");
    assert_string_equal(cv_properties_get(&head_of(table)->summary, "total-records"), "6000");
    assert_string_equal(cv_properties_get(&head_of(table)->summary, "total-data-files"), "1");
    assert_string_equal(cv_properties_get(&head_of(table)->summary, "deleted-data-files"), "6");

    snapshot = head_of(table)->id;
    rewrite(table, none);
    assert_counts(0, 0);
    assert_false(result.changed);
    assert_int_equal(head_of(table)->id, snapshot);
}

static void joins_by_partition_and_leaves_few_alone(void **state)
{
    struct cv_table *table = fixture_table(&f, "day", NULL, 0);
    static const char *const where[] = {"where", "day = DATE '2024-10-04'", NULL};
    struct live live;

    (void)state;
    for (int i = 0; i < 5; i++)
        write_rows(table, i * 300, 300, 3, NULL);
    rewrite(table, where); /* day 20000 is 2024-10-04 */
    assert_counts(5, 1);
    live = read_table(table);
    assert_int_equal(live.files, 11);
    assert_rows(&live, 1500);
    rewrite(table, none);
    assert_counts(10, 2);
    live = read_table(table);
    assert_int_equal(live.files, 3);
    assert_rows(&live, 1500);
    for (int i = 5; i < 8; i++)
        write_rows(table, i * 300, 300, 3, NULL);
    rewrite(table, none); /* four small files of each day: fewer than min-input-files */
    assert_counts(0, 0);
}

/* Files of another codec, or that must be sorted, are decoded; the result is sorted within each
 * file. */
static void sorts_and_decodes(void **state)
{
    struct cv_table *table = fixture_table(&f, NULL, NULL, 0);
    static const char *const descending[] = {
        "strategy", "sort", "sort-order", "id ASC NULLS LAST", "rewrite-all", "true", NULL};
    static const char *const zorder[] = {"strategy",    "sort", "sort-order", "zorder(id, day)",
                                         "rewrite-all", "true", NULL};
    static const char *const missing[] = {"strategy", "sort", NULL};
    struct live live;

    (void)state;
    for (int i = 4; i >= 0; i--)
        write_rows(table, i * 1000, 1000, 2, i % 2 ? "snappy" : NULL);
    assert_int_equal(rewrite_beside(table, NULL, missing), CV_USAGE);
    rewrite(table, descending);
    assert_counts(5, 1);
    live = read_table(table);
    assert_rows(&live, 5000);
    assert_true(live.sorted);
    assert_int_equal(live.sort_order, 0); /* it is not the table's order */
    rewrite(table, zorder);
    live = read_table(table);
    assert_rows(&live, 5000);
}

static void splits_at_the_target(void **state)
{
    struct cv_table *table = fixture_table(&f, NULL, NULL, 0);
    static const char *const sizes[] = {"target-file-size-bytes", "100000", "max-file-size-bytes",
                                        "140000", NULL};
    struct live live;

    (void)state;
    write_rows(table, 0, 60000, 1, NULL);
    live = read_table(table);
    assert_true(live.largest > 250000);
    rewrite(table, sizes);
    live = read_table(table);
    assert_true(live.files >= 3);
    assert_rows(&live, 60000);
    assert_true(live.largest <= 120000);
    rewrite(table, sizes);
    assert_counts(0, 0);
}

static void assert_notes(const char *wanted)
{
    if (!strstr(cv_buf_text(&result.notes), wanted))
        fail_msg("\"%s\" is not in \"%s\"", wanted, cv_buf_text(&result.notes));
}

static void takes_the_cheapest_way(void **state)
{
    static const char *const properties[] = {"write.parquet.row-group-size-bytes=20000",
                                             "write.parquet.compression-codec=uncompressed"};
    struct cv_table *table = fixture_table(&f, NULL, properties, 2);
    struct live live;

    (void)state;
    for (int i = 0; i < 5; i++)
        write_rows(table, i * 500, 500, 1, NULL);
    rewrite(table, none);
    assert_counts(5, 1);
    assert_notes("5 copied by row group, 0 by page, 0 decoded");
    live = read_table(table);
    assert_rows(&live, 2500);
}

/* One file of another codec among many: only it is decoded when that makes no file more, and all
 * are when it would. */
static void decodes_only_what_must_be(void **state)
{
    struct cv_table *table = fixture_table(&f, NULL, NULL, 0);
    static const char *const one[] = {"rewrite-all", "true", NULL};
    char target[32];
    const char *const many[] = {"rewrite-all", "true", "target-file-size-bytes", target, NULL};
    struct live live;

    (void)state;
    write_rows(table, 0, 4000, 1, NULL);
    live = read_table(table);
    (void)snprintf(target, sizeof target, "%lld", (long long)(live.largest * 10 / 7));
    for (int i = 1; i < 8; i++)
        write_rows(table, i * 4000, 4000, 1, i == 3 ? "snappy" : NULL);
    rewrite(table, many);
    assert_notes("0 copied by row group, 7 by page, 1 decoded: codec snappy, table has zstd");
    live = read_table(table);
    assert_true(live.files <= 7);
    assert_rows(&live, 32000);
    write_rows(table, 32000, 4000, 1, "gzip");
    rewrite(table, one);
    live = read_table(table);
    assert_int_equal(live.files, 1);
    assert_rows(&live, 36000);
    assert_notes("0 by page");
}

static bool is_busy(void *context, const struct cv_partition_spec *spec,
                    const struct cv_value *partition)
{
    (void)context;
    assert_int_equal(spec->field_count, 1);
    return partition[0].i32 == 20001;
}

static void leaves_what_the_stream_writes(void **state)
{
    struct cv_table *table = fixture_table(&f, "day", NULL, 0);
    CV_CLEANUP(cv_properties_release) struct cv_properties properties = {0};
    struct cv_maintenance maintenance = {.catalog = f.catalog,
                                         .table_name = "lake.shop.orders",
                                         .table = table,
                                         .memory_bytes = CV_MAINTAIN_MEMORY_DEFAULT,
                                         .threads = 2,
                                         .partition_busy = is_busy};
    struct live live;

    (void)state;
    for (int i = 0; i < 5; i++)
        write_rows(table, i * 300, 300, 3, NULL);
    CV_ASSERT_OK(cv_procedure_run(cv_procedure_find("rewrite_data_files"), &maintenance,
                                  &properties, &result, &err),
                 &err);
    assert_counts(10, 2);
    assert_notes("5 files are in partitions that the stream writes");
    live = read_table(table);
    assert_int_equal(live.files, 7);
    assert_rows(&live, 1500);
}

static void refuses_wrong_arguments(void **state)
{
    struct cv_table *table = fixture_table(&f, NULL, NULL, 0);
    static const char *const wrong[] = {"min-input-files", "0", NULL};
    static const char *const branch[] = {"branch", "absent", NULL};

    (void)state;
    assert_int_equal(rewrite_beside(table, NULL, wrong), CV_CONFIG);
    assert_int_equal(rewrite_beside(table, NULL, branch), CV_USAGE);
    rewrite(table, none); /* a table without a snapshot */
    assert_counts(0, 0);
}

/* --- case 52 --------------------------------------------------------------------------------- */

static void append_more(struct cv_table *table)
{
    write_rows(table, 5000, 1000, 1, NULL);
}

static void an_append_meanwhile_is_kept(void **state)
{
    struct cv_table *table = fixture_table(&f, NULL, NULL, 0);
    struct live live;

    (void)state;
    for (int i = 0; i < 5; i++)
        write_rows(table, i * 1000, 1000, 1, NULL);
    CV_ASSERT_OK(rewrite_beside(table, append_more, none), &err);
    assert_counts(5, 1);
    live = read_table(table);
    assert_int_equal(live.files, 2);
    assert_rows(&live, 6000);
}

static void rewrite_all(struct cv_table *table)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties properties = {0};
    struct cv_maintain_result own = {0};
    struct cv_maintenance maintenance = {.catalog = f.catalog,
                                         .table_name = "lake.shop.orders",
                                         .table = table,
                                         .memory_bytes = CV_MAINTAIN_MEMORY_DEFAULT,
                                         .threads = 1};

    cv_properties_set(&properties, "rewrite-all", "true");
    CV_ASSERT_OK(cv_procedure_run(cv_procedure_find("rewrite_data_files"), &maintenance,
                                  &properties, &own, &err),
                 &err);
    assert_true(own.changed);
    cv_maintain_result_release(&own);
}

/* Another job removed the inputs: the group is abandoned, its own outputs only are removed. */
static void removed_inputs_end_a_group(void **state)
{
    struct cv_table *table = fixture_table(&f, NULL, NULL, 0);
    struct live live;

    (void)state;
    for (int i = 0; i < 5; i++)
        write_rows(table, i * 1000, 1000, 1, NULL);
    CV_ASSERT_OK(rewrite_beside(table, rewrite_all, none), &err);
    assert_counts(0, 0);
    live = read_table(table);
    assert_int_equal(live.files, 1);
    assert_rows(&live, 5000);
    assert_int_equal(files_on_disk(table), 6); /* five old ones and the other job's */
}

/* A delete file of the given content with rows (path, position) or (id), committed as another
 * engine does. */
static void commit_delete(struct cv_table *table, const char *ddl, const int32_t *field_ids,
                          const char *path, int64_t number, bool equality)
{
    const char *location = cv_arena_printf(&f.arena, "%s/data/delete-%d.parquet",
                                           table->metadata->location, writers++);
    static const int32_t id_column[] = {1};
    struct cv_parquet_options options;
    struct cv_metrics_config metrics = {0};
    struct cv_properties summary = {0};
    struct cv_parquet_writer *writer;
    struct cv_append_result appended;
    struct cv_batch_builder rows;
    struct cv_output *output;
    struct cv_schema schema;
    struct cv_batch batch;
    struct cv_data_file file = {.content = equality ? CV_CONTENT_EQUALITY_DELETES
                                                    : CV_CONTENT_POSITION_DELETES,
                                .path = location,
                                .format = "PARQUET",
                                .referenced_data_file = path,
                                .equality_ids = equality ? id_column : NULL,
                                .equality_count = equality};
    struct cv_append append = {.files = &file, .file_count = 1, .summary = &summary};
    struct cv_field *fields;

    CV_ASSERT_OK(cv_schema_read_ddl(ddl, &f.arena, &schema, &err), &err);
    fields = cv_arena_copy(&f.arena, schema.root.fields,
                           schema.root.field_count * sizeof *schema.root.fields);
    for (size_t i = 0; i < schema.root.field_count; i++)
        fields[i].id = field_ids[i];
    schema.root.fields = fields;
    cv_batch_builder_init(&rows, &schema);
    if (!equality)
        cv_builder_bytes(&rows.columns[0], path, strlen(path));
    cv_builder_i64(&rows.columns[equality ? 0 : 1], number);
    cv_batch_builder_view(&rows, &batch);
    CV_ASSERT_OK(cv_parquet_options_read(&table->metadata->properties, &options, &err), &err);
    CV_ASSERT_OK(cv_store_create(table->store, location, &output, &err), &err);
    CV_ASSERT_OK(cv_parquet_writer_open(output, &schema, &options, &metrics, &writer, &err), &err);
    CV_ASSERT_OK(cv_parquet_writer_append(writer, &batch, &(struct cv_rows){.count = 1}, &err),
                 &err);
    CV_ASSERT_OK(cv_parquet_writer_close(writer, &f.arena, &file.metrics, &err), &err);
    cv_properties_set(&summary, "operation", "delete");
    CV_ASSERT_OK(cv_table_append(table, &append, &appended, &err), &err);
    cv_properties_release(&summary);
    cv_batch_builder_release(&rows);
}

static enum cv_code keep_path(void *context, const struct cv_scan_task *task,
                              struct cv_error *error)
{
    const char **path = context;

    (void)error;
    if (!*path || strcmp(task->data.file.path, *path) < 0)
        *path = cv_arena_strdup(&f.arena, task->data.file.path);
    return CV_OK;
}

/* Deletes one row of the file whose path is the lowest. */
static void delete_by_position(struct cv_table *table)
{
    static const int32_t ids[] = {2147483546, 2147483545};
    CV_CLEANUP(cv_scan_plan_freep) struct cv_scan_plan *plan = NULL;
    const char *path = NULL;

    CV_ASSERT_OK(cv_scan_plan_open(table->store, table->metadata,
                                   cv_table_metadata_head(table->metadata, "main"), NULL, &plan,
                                   &err),
                 &err);
    CV_ASSERT_OK(cv_scan_plan_each(plan, keep_path, &path, &err), &err);
    commit_delete(table, "file_path string NOT NULL, pos bigint NOT NULL", ids, path, 0, false);
}

static void delete_by_id(struct cv_table *table)
{
    static const int32_t ids[] = {1};

    commit_delete(table, "id bigint NOT NULL", ids, NULL, 1234, true);
}

/* b: the group with the new row delete is planned again, with the delete; the other is committed
 * as it is. */
static void a_position_delete_meanwhile_is_applied(void **state)
{
    struct cv_table *table = fixture_table(&f, NULL, NULL, 0);
    static const char *const two_groups[] = {"max-file-group-input-files", "5",
                                             "max-concurrent-file-group-rewrites", "1", NULL};
    struct live live;

    (void)state;
    for (int i = 0; i < 10; i++)
        write_rows(table, i * 1000, 1000, 1, NULL);
    CV_ASSERT_OK(rewrite_beside(table, delete_by_position, two_groups), &err);
    assert_counts(10, 2);
    live = read_table(table);
    assert_int_equal(live.files, 2);
    assert_int_equal(live.rows, 9999);
    assert_string_equal(cv_properties_get(&head_of(table)->summary, "total-delete-files"), "0");
    assert_int_equal(files_on_disk(table), 10 + 2 + 1); /* the delete file too */
}

/* c: the new file keeps the sequence number planned from, so that the delete applies to it. */
static void an_equality_delete_meanwhile_still_applies(void **state)
{
    struct cv_table *table = fixture_table(&f, NULL, NULL, 0);
    static const char *const all[] = {"rewrite-all", "true", NULL};
    struct live live;

    (void)state;
    for (int i = 0; i < 5; i++)
        write_rows(table, i * 1000, 1000, 1, NULL);
    CV_ASSERT_OK(rewrite_beside(table, delete_by_id, none), &err);
    assert_counts(5, 1);
    live = read_table(table);
    assert_int_equal(live.files, 1);
    assert_int_equal(live.lowest_sequence, 5);
    assert_int_equal(live.rows, 4999);
    assert_int_equal(live.sum, INT64_C(4999) * 5000 / 2 - 1234);
    rewrite(table, all);
    live = read_table(table);
    assert_int_equal(live.rows, 4999);
    /* Applied, and older than all data: it goes with the commit. */
    assert_string_equal(cv_properties_get(&head_of(table)->summary, "total-delete-files"), "0");
}

/* Without the kept sequence number the delete would be lost: the group is planned again. */
static void an_equality_delete_is_a_conflict_for_new_sequences(void **state)
{
    struct cv_table *table = fixture_table(&f, NULL, NULL, 0);
    static const char *const fresh[] = {"use-starting-sequence-number", "false", NULL};
    struct live live;

    (void)state;
    for (int i = 0; i < 5; i++)
        write_rows(table, i * 1000, 1000, 1, NULL);
    CV_ASSERT_OK(rewrite_beside(table, delete_by_id, fresh), &err);
    assert_counts(5, 1);
    live = read_table(table);
    assert_int_equal(live.rows, 4999);
    assert_int_equal(live.lowest_sequence, 7);
}

static void delete_files_that_apply_to_nothing_go(void **state)
{
    struct cv_table *table = fixture_table(&f, NULL, NULL, 0);
    static const char *const few[] = {"min-input-files", "100", "remove-dangling-deletes", "true",
                                      NULL};
    struct live live;

    (void)state;
    write_rows(table, 0, 1000, 1, NULL);
    delete_by_id(table);
    write_rows(table, 1000, 1000, 1, NULL);
    delete_by_position(table);
    rewrite(table, few);
    assert_counts(0, 0);
    live = read_table(table);
    assert_int_equal(live.rows, 1999); /* id 1234 came later than its delete */
    assert_string_equal(cv_properties_get(&head_of(table)->summary, "total-delete-files"), "2");
    rewrite_all(table);
    rewrite(table, few);
    live = read_table(table);
    assert_int_equal(live.rows, 1999);
    assert_string_equal(cv_properties_get(&head_of(table)->summary, "total-delete-files"), "0");
}

static void partial_progress_commits_in_parts(void **state)
{
    struct cv_table *table = fixture_table(&f, NULL, NULL, 0);
    static const char *const parts[] = {"partial-progress.enabled",
                                        "true",
                                        "partial-progress.max-commits",
                                        "3",
                                        "max-file-group-input-files",
                                        "5",
                                        NULL};
    size_t snapshots;
    struct live live;

    (void)state;
    for (int i = 0; i < 25; i++)
        write_rows(table, i * 10, 10, 1, NULL);
    snapshots = table->metadata->snapshot_count;
    rewrite(table, parts); /* 5 groups, 2 in a commit */
    assert_counts(25, 5);
    live = read_table(table);
    assert_int_equal(table->metadata->snapshot_count, snapshots + 3);
    assert_rows(&live, 250);
}

static void expire_the_start(struct cv_table *table)
{
    const struct cv_expire expire = {
        .rules = {.now_ms = INT64_C(1) << 60, .older_than_ms = INT64_C(1) << 59, .retain_last = 1}};
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_expire_result expired;

    write_rows(table, 5000, 1000, 1, NULL);
    CV_ASSERT_OK(cv_table_expire(table, &expire, &arena, &expired, &err), &err);
    assert_int_equal(table->metadata->snapshot_count, 1);
    cv_table_metadata_free(expired.before);
}

/* The history from the snapshot planned from is gone: whether rows were deleted cannot be known. */
static void an_expired_start_fails_closed(void **state)
{
    struct cv_table *table = fixture_table(&f, NULL, NULL, 0);
    struct live live;

    (void)state;
    for (int i = 0; i < 5; i++)
        write_rows(table, i * 1000, 1000, 1, NULL);
    assert_int_equal(rewrite_beside(table, expire_the_start, none), CV_CONFLICT);
    live = read_table(table);
    assert_int_equal(live.files, 6);
    assert_rows(&live, 6000);
    assert_int_equal(files_on_disk(table), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(joins_small_files),
        TEST(joins_by_partition_and_leaves_few_alone),
        TEST(sorts_and_decodes),
        TEST(splits_at_the_target),
        TEST(takes_the_cheapest_way),
        TEST(decodes_only_what_must_be),
        TEST(leaves_what_the_stream_writes),
        TEST(refuses_wrong_arguments),
        TEST(an_append_meanwhile_is_kept),
        TEST(a_position_delete_meanwhile_is_applied),
        TEST(an_equality_delete_meanwhile_still_applies),
        TEST(an_equality_delete_is_a_conflict_for_new_sequences),
        TEST(delete_files_that_apply_to_nothing_go),
        TEST(partial_progress_commits_in_parts),
        TEST(removed_inputs_end_a_group),
        TEST(an_expired_start_fails_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
