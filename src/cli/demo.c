/* SPDX-License-Identifier: Apache-2.0
 *
 * calve demo: the main job with nothing else installed. A Kafka broker in the process, a SQLite
 * catalog and local files; orders are produced while the job runs, and the folder stays. */
#include "cli/command.h"
#include "cli/demo_orders.h"
#include "cli/rows.h"
#include "cli/stop.h"
#include "cli/text_table.h"

#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "kafka/mock.h"
#include "stream/engine.h"
#include "table/inspect.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#define FIRST_ORDERS     1400
#define ORDERS_PER_TENTH 20
#define PARTITIONS       3
#define BATCHES          5

struct demo_args {
    const char *directory;
    bool keep;
};

static const struct cv_flag flags[] = {
    {"directory", CV_FLAG_TEXT, offsetof(struct demo_args, directory), "DIR",
     "folder to make and leave; default calve-demo, calve-demo-2, …"},
    {"keep", CV_FLAG_BOOL, offsetof(struct demo_args, keep), NULL, "go on until Ctrl-C"},
};

struct demo {
    struct cv_arena arena;
    const char *folder; /* absolute */
    const char *job_path;
    struct cv_mock_broker *broker;
    struct cv_demo_orders orders;
    uint64_t produced;
    pthread_t producer;
    bool producing;
    atomic_bool done;
};

static void demo_release(struct demo *demo)
{
    if (demo->producing) {
        atomic_store(&demo->done, true);
        (void)pthread_join(demo->producer, NULL);
    }
    cv_mock_broker_stop(demo->broker);
    cv_buf_release(&demo->orders.value);
    cv_arena_release(&demo->arena);
}

static enum cv_code make_folder(struct demo *demo, const char *wanted, struct cv_error *err)
{
    char working[CV_PATH_BYTES_MAX];

    if (!getcwd(working, sizeof working))
        return cv_fail(err, CV_IO, "the working folder cannot be told");
    demo->folder = cv_path_resolve(working, wanted ? wanted : "calve-demo", &demo->arena);
    for (int n = 2; cv_file_exists(demo->folder); n++) {
        if (wanted)
            return cv_fail(err, CV_EXISTS, "%s exists already", demo->folder);
        demo->folder = cv_arena_printf(&demo->arena, "%s/calve-demo-%d", working, n);
    }
    return cv_directory_make(demo->folder, err);
}

static enum cv_code put_file(const struct demo *demo, const char *name, const char *text,
                             struct cv_error *err)
{
    char path[CV_PATH_BYTES_MAX];

    (void)snprintf(path, sizeof path, "%s/%s", demo->folder, name);
    return cv_file_write_replace(path, text, strlen(text), err);
}

static enum cv_code write_job(struct demo *demo, struct cv_error *err)
{
    const char *text = cv_arena_printf(
        &demo->arena,
        "# The main job: Avro orders of a Kafka topic into an Iceberg table, exactly once.\n"
        "job: orders\n"
        "catalogs:\n"
        "  lake: {type: sql, uri: \"sqlite:lake.db\", warehouse: ./warehouse}\n"
        "source:\n"
        "  kafka.bootstrap.servers: %s\n"
        "  subscribe: orders\n"
        "  startingOffsets: earliest\n"
        "value:\n"
        "  format: avro\n"
        "  framing: none\n"
        "  schema.file: orders.avsc\n"
        "select: >\n"
        "  value.order_id, value.item, CAST(value.price AS DECIMAL(10,2)) AS price,\n"
        "  value.supplier, value.bid_time\n"
        "sink:\n"
        "  table: lake.shop.orders\n"
        "  trigger: 1 second\n"
        "  checkpointLocation: ./checkpoint\n",
        cv_mock_broker_bootstrap(demo->broker));

    demo->job_path = cv_arena_printf(&demo->arena, "%s/orders.yaml", demo->folder);
    CV_DO(put_file(demo, "orders.avsc", cv_demo_orders_schema, err));
    return put_file(demo, "orders.yaml", text, err);
}

static enum cv_code produce(struct demo *demo, int count, struct cv_error *err)
{
    for (int i = 0; i < count; i++) {
        int64_t now_ms = cv_now_ms();

        cv_demo_orders_next(&demo->orders, now_ms);
        CV_DO(cv_mock_broker_produce(
            demo->broker, "orders", (int32_t)(demo->produced % PARTITIONS),
            (struct cv_str){demo->orders.order_id, strlen(demo->orders.order_id)},
            (struct cv_str){(const char *)demo->orders.value.data, demo->orders.value.length},
            now_ms, err));
        demo->produced++;
    }
    return cv_mock_broker_flush(demo->broker, err);
}

static void *producer_main(void *context)
{
    struct demo *demo = context;
    struct cv_error err = CV_ERROR_INIT;

    while (!atomic_load(&demo->done)) {
        if (produce(demo, ORDERS_PER_TENTH, &err) != CV_OK) {
            cv_log_error(&err);
            return NULL;
        }
        cv_sleep_ms(100);
    }
    return NULL;
}

static void warn(void *context, const char *message)
{
    (void)context;
    cv_log_warning("%s", message);
}

static enum cv_code open_table(const struct cv_job *job, struct cv_catalog **ret_catalog,
                               struct cv_table **ret_table, struct cv_error *err)
{
    CV_CLEANUP(cv_catalog_freep) struct cv_catalog *catalog = NULL;

    CV_DO(cv_job_open_catalog(&job->file, job->sink.table, &catalog, err));
    if (cv_table_open(catalog, job->sink.table, ret_table, err) != CV_OK) {
        CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
        struct cv_properties none = {0};
        struct cv_partition_spec spec;
        struct cv_schema schema;

        CV_DO(cv_schema_read_ddl(cv_demo_orders_columns, &arena, &schema, err));
        CV_DO(cv_partition_spec_read_ddl("day(bid_time)", &schema, &arena, &spec, err));
        CV_DO(
            cv_table_create(catalog, job->sink.table, &schema, &spec, &none, NULL, ret_table, err));
    }
    *ret_catalog = cv_steal(catalog);
    return CV_OK;
}

static enum cv_code print_json_table(const char *title, struct cv_buf *json, const char *columns,
                                     struct cv_error *err)
{
    (void)printf("\n%s\n", title);
    CV_DO(cv_text_table_print((struct cv_str){cv_buf_text(json), json->length}, columns, err));
    cv_buf_clear(json);
    return CV_OK;
}

static enum cv_code print_rows(const struct cv_job *job, const struct cv_table *table,
                               struct cv_error *err)
{
    CV_CLEANUP(cv_source_freep) struct cv_source *source = NULL;
    CV_CLEANUP(cv_decoder_freep) struct cv_decoder *decoder = NULL;
    CV_CLEANUP(cv_buf_release) struct cv_buf json = CV_BUF_INIT(0);
    struct cv_source_config source_config = {
        .options = &job->source, .job = "demo", .memory_bytes = (size_t)16 << 20};
    struct cv_decoder_config config = {.options = &job->value,
                                       .select = job->options.select,
                                       .table = cv_table_metadata_schema(table->metadata)};
    struct cv_decode_worker *worker;
    struct cv_chunk *chunk = NULL;
    struct cv_batch batch;
    enum cv_code code;

    CV_DO(cv_source_open(&source_config, &source, err));
    CV_DO(cv_decoder_open(&config, &decoder, err));
    CV_DO(cv_source_sample(source, 5, &chunk, err));
    if (!chunk)
        return CV_OK;
    worker = cv_decode_worker_new(decoder);
    code = cv_decode_worker_run(worker, chunk, &batch, err);
    if (code == CV_OK) {
        cv_rows_write_json(&batch, 5, &json);
        code = print_json_table("Records of the topic, decoded:", &json, NULL, err);
    }
    chunk->release(chunk);
    cv_decode_worker_free(worker);
    return code;
}

static enum cv_code print_result(const struct demo *demo, struct cv_table *table,
                                 struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf json = CV_BUF_INIT(0);

    CV_DO(cv_table_refresh(table, err));
    CV_DO(cv_table_inspect(table, "snapshots", &json, err));
    CV_DO(print_json_table("Snapshots of lake.shop.orders (calve table snapshots):", &json,
                           "committed_at,snapshot_id,parent_id,operation", err));
    CV_DO(cv_table_inspect(table, "files", &json, err));
    CV_DO(print_json_table("Data files (calve table files):", &json,
                           "partition,record_count,file_size_in_bytes,file_format", err));
    (void)printf(
        "\nEverything is in %s; orders.yaml is the job. Read the table with PyIceberg:\n\n"
        "  python3 -c \"from pyiceberg.catalog.sql import SqlCatalog as C; print(C('lake', "
        "uri='sqlite:///%s/lake.db', warehouse='file://%s/warehouse')"
        ".load_table('shop.orders').scan().to_arrow())\"\n\n"
        "or its files with DuckDB:\n\n"
        "  duckdb -c \"SELECT supplier, count(*), sum(price) FROM "
        "read_parquet('%s/warehouse/shop/orders/data/**/*.parquet') GROUP BY ALL\"\n",
        demo->folder, demo->folder, demo->folder, demo->folder);
    return CV_OK;
}

static void on_progress(void *context, const struct cv_progress *progress)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf line = CV_BUF_INIT(0);

    (void)context;
    if (!progress->ran)
        return;
    cv_progress_write_line(progress, &line);
    (void)printf("%s\n", cv_buf_text(&line));
    (void)fflush(stdout);
}

static enum cv_code run_job(struct demo *demo, const struct cv_job *job, bool keep,
                            struct cv_error *err)
{
    CV_CLEANUP(cv_catalog_freep) struct cv_catalog *catalog = NULL;
    CV_CLEANUP(cv_table_freep) struct cv_table *table = NULL;
    struct cv_engine_config config = {.job = job,
                                      .progress = on_progress,
                                      .stopping = cv_stop_requested,
                                      .batches_max = keep ? 0 : BATCHES};

    CV_DO(open_table(job, &catalog, &table, err));
    CV_DO(print_rows(job, table, err));
    (void)printf("\nRunning orders.yaml, %s:\n", keep ? "until Ctrl-C" : "5 batches, one a second");
    CV_DO(cv_engine_run(&config, err));
    return print_result(demo, table, err);
}

static enum cv_code run(int argc, char **argv, int *ret_status, struct cv_error *err)
{
    CV_CLEANUP(demo_release) struct demo demo = {.orders = {.state = 42}};
    struct demo_args args = {0};
    struct cv_text_list words = {0};
    struct cv_job job;
    enum cv_code code;

    CV_DO(cv_args_parse(flags, CV_ARRAY_LENGTH(flags), argc, argv, &args, &words, err));
    if (words.count)
        return cv_fail(err, CV_USAGE, "calve demo takes no argument \"%s\"", words.items[0]);
    cv_stop_install();
    cv_log_quiet(true);
    CV_DO(make_folder(&demo, args.directory, err));
    CV_DO(cv_mock_broker_start(1, &demo.broker, err));
    CV_DO(cv_mock_broker_create_topic(demo.broker, "orders", PARTITIONS, err));
    (void)printf("A Kafka broker runs in this process at %s; topic orders, %d partitions.\n",
                 cv_mock_broker_bootstrap(demo.broker), PARTITIONS);
    CV_DO(produce(&demo, FIRST_ORDERS, err));
    CV_DO(write_job(&demo, err));
    demo.producing = pthread_create(&demo.producer, NULL, producer_main, &demo) == 0;
    CV_DO(cv_job_load(demo.job_path, NULL, 0, warn, NULL, &job, err));
    code = run_job(&demo, &job, args.keep, err);
    cv_job_release(&job);
    *ret_status = 0;
    return code;
}

const struct cv_command cv_command_demo = {
    "demo",
    "[--directory DIR] [--keep]",
    "run the main job on made-up orders with everything in this process",
    run,
    flags,
    CV_ARRAY_LENGTH(flags)};
