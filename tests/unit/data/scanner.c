/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of data files with position and equality deletes: which are left, projections that lack the
 * columns of the deletes, and that shared delete files are read once. */
#include "batch/builder.h"
#include "codec/avro_file.h"
#include "data/scan.h"
#include "parquet/writer.h"
#include "test.h"

#define ROWS 100

struct fixture {
    struct cv_arena arena;
    struct cv_store *store;
    struct cv_table_metadata *metadata;
    const char *folder;
    struct cv_manifest_entry deletes[4];
    const struct cv_manifest_entry *list[4];
    struct cv_error err;
};

/* Writes rows of (text?, number) columns as the schema has them; `texts` may be NULL. */
static struct cv_data_file write_file(struct fixture *f, const char *name,
                                      const struct cv_schema *schema, const char *const *texts,
                                      const int64_t *numbers, size_t count)
{
    struct cv_data_file file = {.path = cv_arena_printf(&f->arena, "file://%s/%s", f->folder, name),
                                .format = "PARQUET"};
    struct cv_parquet_options options;
    struct cv_properties none = {0};
    struct cv_metrics_config metrics = {0};
    struct cv_batch_builder builder;
    struct cv_parquet_writer *writer;
    struct cv_output *output;
    struct cv_batch batch;
    struct cv_rows rows = {NULL, 0, count};

    CV_ASSERT_OK(cv_parquet_options_read(&none, &options, &f->err), &f->err);
    cv_batch_builder_init(&builder, schema);
    for (size_t i = 0; i < count; i++) {
        size_t column = 0;

        if (texts)
            cv_builder_bytes(&builder.columns[column++], texts[i], strlen(texts[i]));
        for (; column < builder.column_count; column++)
            cv_builder_i64(&builder.columns[column], numbers[i]);
    }
    cv_batch_builder_view(&builder, &batch);
    CV_ASSERT_OK(cv_store_create(f->store, file.path, &output, &f->err), &f->err);
    CV_ASSERT_OK(cv_parquet_writer_open(output, schema, &options, &metrics, &writer, &f->err),
                 &f->err);
    CV_ASSERT_OK(cv_parquet_writer_append(writer, &batch, &rows, &f->err), &f->err);
    CV_ASSERT_OK(cv_parquet_writer_close(writer, &f->arena, &file.metrics, &f->err), &f->err);
    cv_batch_builder_release(&builder);
    return file;
}

static struct cv_scan_task data_task(struct fixture *f, int number)
{
    struct cv_scan_task task = {.deletes = f->list, .delete_count = CV_ARRAY_LENGTH(f->list)};
    int64_t numbers[ROWS];

    for (int i = 0; i < ROWS; i++)
        numbers[i] = number * ROWS + i;
    task.data.file = write_file(f, cv_arena_printf(&f->arena, "d%d", number),
                                cv_table_metadata_schema(f->metadata), NULL, numbers, ROWS);
    return task;
}

static struct cv_manifest_entry equality_of(struct fixture *f, const char *name,
                                            const int64_t *keys, size_t count)
{
    static const int32_t ids[] = {2};
    struct cv_schema schema = {
        .root = {.kind = CV_TYPE_STRUCT,
                 .fields = &cv_table_metadata_schema(f->metadata)->root.fields[1],
                 .field_count = 1}};
    struct cv_manifest_entry entry = {.file = write_file(f, name, &schema, NULL, keys, count)};

    entry.file.content = CV_CONTENT_EQUALITY_DELETES;
    entry.file.equality_ids = ids;
    entry.file.equality_count = 1;
    return entry;
}

static int set_up(void **state)
{
    struct fixture *f = cv_alloc(sizeof *f);
    struct cv_schema schema;
    const char *paths[] = {NULL, NULL, NULL, "file:///elsewhere"};
    static const int64_t positions[] = {1, 5, 7, 9};
    static const int64_t some[] = {10, 210}, other[] = {11, 12};

    f->folder = cv_arena_strdup(&f->arena, cv_test_folder());
    CV_ASSERT_OK(cv_store_open("file:///", NULL, &f->store, &f->err), &f->err);
    CV_ASSERT_OK(cv_schema_read_ddl("id bigint, k bigint", &f->arena, &schema, &f->err), &f->err);
    CV_ASSERT_OK(cv_table_metadata_create(
                     &(struct cv_table_create){cv_arena_printf(&f->arena, "file://%s", f->folder),
                                               &schema, NULL, NULL},
                     &f->metadata, &f->err),
                 &f->err);
    paths[0] = paths[1] = cv_arena_printf(&f->arena, "file://%s/d0", f->folder);
    paths[2] = cv_arena_printf(&f->arena, "file://%s/d1", f->folder);
    f->deletes[0].file =
        write_file(f, "positions", &cv_position_delete_schema, paths, positions, 4);
    f->deletes[0].file.content = CV_CONTENT_POSITION_DELETES;
    f->deletes[1] = equality_of(f, "some", some, 2);
    f->deletes[2] = equality_of(f, "other", other, 2);
    f->deletes[3].file = write_file(f, "one", &cv_position_delete_schema, paths, positions, 1);
    f->deletes[3].file.content = CV_CONTENT_POSITION_DELETES;
    f->deletes[3].file.referenced_data_file = paths[0];
    for (size_t i = 0; i < CV_ARRAY_LENGTH(f->list); i++)
        f->list[i] = &f->deletes[i];
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cv_store_free(f->store);
    cv_table_metadata_free(f->metadata);
    cv_arena_release(&f->arena);
    free(f);
    return 0;
}

/* The ids that are left, and that the batches have the projection's columns only. */
static size_t scan(struct fixture *f, const struct cv_scan_config *config,
                   const struct cv_scan_task *task, int64_t ids[ROWS], int64_t *ret_deleted)
{
    CV_CLEANUP(cv_scanner_freep) struct cv_scanner *scanner = NULL;
    struct cv_batch batch;
    size_t count = 0;

    CV_ASSERT_OK(cv_scanner_open(config, task, &scanner, &f->err), &f->err);
    for (;;) {
        CV_ASSERT_OK(cv_scanner_next(scanner, &batch, &f->err), &f->err);
        if (!batch.row_count)
            break;
        assert_int_equal(batch.column_count, config->projection->root.field_count);
        for (size_t i = 0; i < batch.row_count; i++)
            ids[count++] = cv_column_value(&batch.columns[0], i).i64;
    }
    *ret_deleted = cv_scanner_deleted(scanner);
    return count;
}

static void check_files(struct fixture *f, struct cv_delete_cache *cache)
{
    static const int64_t gone[3][5] = {{1, 5, 10, 11, 12}, {107}, {210}};
    static const size_t gone_count[] = {5, 1, 1};
    struct cv_schema projection = *cv_table_metadata_schema(f->metadata);
    struct cv_scan_config config = {.store = f->store,
                                    .metadata = f->metadata,
                                    .projection = &projection,
                                    .batch_rows = 16,
                                    .deletes = cache};
    int64_t ids[ROWS], deleted;

    projection.root.field_count = 1; /* without the column that the deletes compare */
    for (int number = 0; number < 3; number++) {
        struct cv_scan_task task = data_task(f, number);
        size_t count = scan(f, &config, &task, ids, &deleted);

        assert_int_equal(deleted, gone_count[number]);
        assert_int_equal(count, ROWS - gone_count[number]);
        for (size_t i = 0; i < count; i++)
            for (size_t g = 0; g < gone_count[number]; g++)
                assert_int_not_equal(ids[i], gone[number][g]);
        task.deletes = NULL;
        task.delete_count = 0;
        assert_int_equal(scan(f, &config, &task, ids, &deleted), ROWS);
        CV_ASSERT_OK(cv_store_remove(f->store, task.data.file.path, &f->err), &f->err);
    }
}

static void deleted_rows_are_left_out(void **state)
{
    check_files(*state, NULL);
}

static void shared_delete_files_are_read_once(void **state)
{
    CV_CLEANUP(cv_delete_cache_freep)
    struct cv_delete_cache *cache = cv_delete_cache_new((size_t)1 << 20);

    check_files(*state, cache);
    /* three files that may name several data files, and the one of d0 for each of three */
    assert_int_equal(cv_delete_cache_reads(cache), 3 + 3);
}

static void a_small_cache_changes_nothing(void **state)
{
    CV_CLEANUP(cv_delete_cache_freep) struct cv_delete_cache *cache = cv_delete_cache_new(1);

    check_files(*state, cache);
}

static void deletes_beyond_the_memory_are_refused(void **state)
{
    struct fixture *f = *state;
    CV_CLEANUP(cv_scanner_freep) struct cv_scanner *scanner = NULL;
    struct cv_scan_task task = data_task(f, 0);
    struct cv_scan_config config = {
        .store = f->store, .metadata = f->metadata, .memory_bytes = 1000};

    CV_ASSERT_FAILS(cv_scanner_open(&config, &task, &scanner, &f->err), CV_LIMIT, "need more than",
                    &f->err);
}

/* The rows of data_task() 0 in Avro. */
static struct cv_scan_task avro_task(struct fixture *f)
{
    struct cv_scan_task task = {.deletes = f->list, .delete_count = 1};
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(0);
    struct cv_str schema = cv_str_from("{\"type\":\"record\",\"name\":\"table\",\"fields\":["
                                       "{\"name\":\"id\",\"type\":\"long\",\"field-id\":1},"
                                       "{\"name\":\"k\",\"type\":\"long\",\"field-id\":2}]}");
    struct cv_avro_file_writer writer;

    CV_ASSERT_OK(cv_avro_file_writer_init(&writer, &bytes, schema, CV_CODEC_NONE, NULL, 0, &f->err),
                 &f->err);
    for (int64_t i = 0; i < ROWS; i++) {
        cv_avro_put_long(cv_avro_file_object(&writer), i);
        cv_avro_put_long(cv_avro_file_object(&writer), i);
        CV_ASSERT_OK(cv_avro_file_end_object(&writer, &f->err), &f->err);
    }
    CV_ASSERT_OK(cv_avro_file_finish(&writer, &f->err), &f->err);
    cv_avro_file_writer_release(&writer);
    task.data.file =
        (struct cv_data_file){.path = cv_arena_printf(&f->arena, "file://%s/d0", f->folder),
                              .format = "AVRO",
                              .metrics = {.record_count = ROWS}};
    CV_ASSERT_OK(cv_store_write(f->store, task.data.file.path, bytes.data, bytes.length, &f->err),
                 &f->err);
    return task;
}

/* Positions 1 and 5 are deleted: a manifest that tells of 5 rows must not bring row 5 back. */
static void a_wrong_row_count_loses_no_deletes(void **state)
{
    struct fixture *f = *state;
    struct cv_scan_task task = avro_task(f);

    for (int cached = 0; cached < 2; cached++) {
        CV_CLEANUP(cv_scanner_freep) struct cv_scanner *scanner = NULL;
        CV_CLEANUP(cv_delete_cache_freep)
        struct cv_delete_cache *cache = cached ? cv_delete_cache_new((size_t)1 << 20) : NULL;
        struct cv_scan_config config = {
            .store = f->store,
            .metadata = f->metadata,
            .projection = cv_table_metadata_schema(f->metadata),
            .deletes = cache,
        };
        int64_t ids[ROWS], deleted;
        struct cv_batch batch;

        task.data.file.metrics.record_count = ROWS;
        assert_int_equal(scan(f, &config, &task, ids, &deleted), ROWS - 2);
        task.data.file.metrics.record_count = 5;
        CV_ASSERT_OK(cv_scanner_open(&config, &task, &scanner, &f->err), &f->err);
        CV_ASSERT_FAILS(cv_scanner_next(scanner, &batch, &f->err), CV_FORMAT,
                        "has more rows than the 5 of its manifest", &f->err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(deleted_rows_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shared_delete_files_are_read_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_small_cache_changes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(deletes_beyond_the_memory_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wrong_row_count_loses_no_deletes, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
