/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU time of writing and reading Parquet alone: the orders of the bench (5 columns) and its wide
 * rows (100 columns, one value in ten null), to memory and back. Prints µs per row and bytes.
 *
 *   micro_parquet [orders|wide] [rows] [codec] [level] [batch rows] */
#include "base/time.h"
#include "batch/builder.h"
#include "memory_store.h"
#include "parquet/reader.h"
#include "parquet/writer.h"

#include <stdio.h>
#include <stdlib.h>

#define WIDE_COLUMNS 100
#define BATCHES      16 /* different ones, used in turn */
#define START_US     INT64_C(1772000000000000)

static uint64_t state = 1;

static uint64_t below(uint64_t bound)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 20) % bound;
}

static void must(enum cv_code code, const struct cv_error *err)
{
    if (code == CV_OK)
        return;
    (void)fprintf(stderr, "%s\n", err->message);
    exit(1);
}

struct kept {
    struct cv_output output;
    struct cv_buf bytes;
};

static enum cv_code keep_bytes(struct cv_output *output, const void *bytes, size_t length,
                               struct cv_error *err)
{
    cv_buf_append(&((struct kept *)output)->bytes, bytes, length);
    output->written += (int64_t)length;
    return cv_buf_check(&((struct kept *)output)->bytes, "the file", err);
}

static enum cv_code close_nothing(struct cv_output *output, struct cv_error *err)
{
    (void)output;
    (void)err;
    return CV_OK;
}

static void abort_nothing(struct cv_output *output)
{
    (void)output;
}

static const struct cv_output_ops in_memory = {
    .write = keep_bytes, .close = close_nothing, .abort = abort_nothing};

static void put_text(struct cv_builder *builder, const char *text)
{
    cv_builder_bytes(builder, text, strlen(text));
}

static void put_order(struct cv_batch_builder *batch, int64_t row)
{
    static const char *const suppliers[] = {"Alice", "Bob",   "Carol", "Alex",
                                            "Joe",   "James", "Jane",  "Jack"};
    static const char *const adjectives[] = {"Handcrafted", "Ergonomic", "Refined", "Incredible",
                                             "Practical",   "Gorgeous",  "Rustic",  "Sleek"};
    static const char *const materials[] = {"Cotton", "Wooden", "Granite", "Concrete",
                                            "Rubber", "Frozen", "Plastic", "Metal"};
    static const char *const products[] = {"Keyboard", "Computer", "Chair", "Sausages",
                                           "Shoes",    "Chicken",  "Pants", "Table"};
    char text[80];

    (void)snprintf(text, sizeof text, "%08x-%04x-4%03x-a%03x-%012llx", (unsigned)below(1u << 31),
                   (unsigned)below(65536), (unsigned)below(4096), (unsigned)below(4096),
                   (unsigned long long)below(UINT64_C(1) << 44) * 16);
    put_text(&batch->columns[0], text);
    (void)snprintf(text, sizeof text, "%s %s %s No. %02u", adjectives[below(8)],
                   materials[below(8)], products[below(8)], (unsigned)below(100));
    put_text(&batch->columns[1], text);
    cv_builder_i64(&batch->columns[2], 100 + (int64_t)below(14901));
    put_text(&batch->columns[3], suppliers[below(8)]);
    cv_builder_i64(&batch->columns[4],
                   START_US + (row / 250 - (int64_t)below(5)) * CV_US_PER_SECOND);
}

static void put_wide_value(struct cv_builder *builder, int64_t row, int column)
{
    char text[32];

    if (below(10) == 0) {
        cv_builder_null(builder);
        return;
    }
    switch (column % 10) {
    case 0:
        cv_builder_i32(builder, (int32_t)below(1000));
        return;
    case 1:
        cv_builder_i64(builder, (int64_t)below(UINT64_C(1) << 40));
        return;
    case 2:
        cv_builder_f64(builder, (double)below(1000000000) / 1e4);
        return;
    case 3:
    case 8:
        (void)snprintf(text, sizeof text, "%s-%012llx", column % 10 == 3 ? "value" : "item",
                       (unsigned long long)below(UINT64_C(1) << (column % 10 == 3 ? 8 : 43)));
        put_text(builder, text);
        return;
    case 4:
        cv_builder_bool(builder, below(2));
        return;
    case 5:
        cv_builder_i64(builder, START_US + row * 100 + (int64_t)below(100));
        return;
    case 6:
        cv_builder_i32(builder, 20000 + (int32_t)below(365));
        return;
    case 7:
        cv_builder_f32(builder, (float)below(1000000000) / 1e4f);
        return;
    default:
        cv_builder_i64(builder, row + column);
    }
}

static const char *ddl_of(struct cv_arena *arena, const char *set)
{
    static const char *const types[] = {"int",       "bigint", "double", "string", "boolean",
                                        "timestamp", "date",   "float",  "string", "bigint"};
    const char *text = "";

    if (strcmp(set, "orders") == 0)
        return "order_id string, item string, price decimal(10,2), supplier string, "
               "bid_time timestamp";
    for (int i = 0; i < WIDE_COLUMNS; i++)
        text = cv_arena_printf(arena, "%s%sc%d %s", text, i ? ", " : "", i, types[i % 10]);
    return text;
}

static void read_back(const struct cv_schema *schema, const struct cv_buf *bytes, size_t rows)
{
    CV_CLEANUP(cv_parquet_reader_freep) struct cv_parquet_reader *reader = NULL;
    struct cv_parquet_read read = {.schema = schema};
    struct cv_error err = CV_ERROR_INIT;
    struct memory_store store;
    struct cv_batch batch;
    int64_t position;
    int64_t start = cv_cpu_us();
    double us;

    memory_store_init(&store, bytes->data, bytes->length);
    must(cv_parquet_reader_open(&store.store, "memory", -1, NULL, &read, &reader, &err), &err);
    do
        must(cv_parquet_reader_next(reader, &batch, &position, &err), &err);
    while (batch.row_count);
    us = (double)(cv_cpu_us() - start);
    printf("  read: %.4f us/row, %.0f MB of file a second\n", us / (double)rows,
           (double)bytes->length / us);
}

static void run(const struct cv_schema *schema, struct cv_batch_builder *builders, size_t rows,
                struct cv_parquet_options *options, struct cv_arena *arena)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_properties none = {0};
    struct cv_metrics_config config;
    struct cv_parquet_writer *writer;
    struct cv_file_metrics metrics;
    struct kept kept = {.output = {&in_memory, 0}};
    size_t memory = 0;
    int64_t start = cv_cpu_us();
    size_t done = 0;

    must(cv_metrics_config_read(schema, &none, NULL, 0, arena, &config, &err), &err);
    must(cv_parquet_writer_open(&kept.output, schema, options, &config, &writer, &err), &err);
    for (size_t i = 0; done < rows; i++) {
        struct cv_batch batch;
        struct cv_rows selection = {0};

        cv_batch_builder_view(&builders[i % BATCHES], &batch);
        selection.count = CV_MIN(batch.row_count, rows - done);
        must(cv_parquet_writer_append(writer, &batch, &selection, &err), &err);
        memory = CV_MAX(memory, cv_parquet_writer_memory(writer));
        done += selection.count;
    }
    must(cv_parquet_writer_close(writer, arena, &metrics, &err), &err);
    printf("%.4f us/row, %.2f bytes/row, writer memory %.1f MB\n",
           (double)(cv_cpu_us() - start) / (double)rows, (double)metrics.file_size / (double)rows,
           (double)memory / 1e6);
    read_back(schema, &kept.bytes, rows);
    cv_buf_release(&kept.bytes);
    for (size_t i = 0; i < CV_MIN(metrics.column_count, (size_t)10); i++)
        printf("  column %d: %.3f bytes/row\n", metrics.columns[i].field_id,
               (double)metrics.columns[i].column_size / (double)rows);
}

int main(int argc, char **argv)
{
    const char *set = argc > 1 ? argv[1] : "orders";
    size_t rows = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000;
    size_t batch_rows = argc > 5 ? strtoul(argv[5], NULL, 10) : 8192;
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_batch_builder builders[BATCHES];
    struct cv_error err = CV_ERROR_INIT;
    struct cv_properties properties = {0};
    struct cv_parquet_options options;
    struct cv_schema schema;

    must(cv_schema_read_ddl(ddl_of(&arena, set), &arena, &schema, &err), &err);
    cv_properties_set(&properties, "write.parquet.compression-codec", argc > 3 ? argv[3] : "zstd");
    if (argc > 4 && strcmp(argv[4], "-") != 0)
        cv_properties_set(&properties, "write.parquet.compression-level", argv[4]);
    must(cv_parquet_options_read(&properties, &options, &err), &err);
    options.workspace = cv_parquet_workspace_new();
    for (size_t i = 0; i < BATCHES; i++) {
        cv_batch_builder_init(&builders[i], &schema);
        for (size_t j = 0; j < batch_rows; j++) {
            int64_t row = (int64_t)(i * batch_rows + j);

            if (strcmp(set, "orders") == 0)
                put_order(&builders[i], row);
            else
                for (int c = 0; c < WIDE_COLUMNS; c++)
                    put_wide_value(&builders[i].columns[c], row, c);
        }
    }
    for (int i = 0; i < 3; i++)
        run(&schema, builders, rows, &options, &arena);
    for (size_t i = 0; i < BATCHES; i++)
        cv_batch_builder_release(&builders[i]);
    cv_parquet_workspace_free(options.workspace);
    cv_properties_release(&properties);
    cv_arena_release(&arena);
    return 0;
}
