/* SPDX-License-Identifier: Apache-2.0
 *
 * Not a test by itself: writes one Parquet file from a description, and beside it what any reader
 * should find, for tests/real/test_parquet_files.py.
 *
 *   files out=PATH schema=DDL [rows=N] [seed=N] [nulls=none|some|runs|all] [values=few|many|runs]
 *         [codec=zstd] [level=N] [page-rows=N] [page-bytes=N] [group-bytes=N] [dictionary-bytes=N]
 *         [delta=true] [batch=N] [select=all|odd|parts] [metrics=MODE] [files=N]
 *
 * PATH.rows holds one JSON array a row (print_rows.h), PATH.metrics Iceberg's metrics. */
#include "batch/builder.h"
#include "parquet/writer.h"
#include "print_rows.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

struct description {
    const char *out;
    const char *schema;
    const char *nulls;
    const char *values;
    const char *select;
    size_t rows;
    size_t batch;
    size_t files;
    uint64_t random;
    struct cv_properties properties;
    bool delta;
};

static uint64_t next(struct description *d)
{
    d->random = d->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return d->random >> 11;
}

static bool is_null(struct description *d, size_t row)
{
    if (strcmp(d->nulls, "all") == 0)
        return true;
    if (strcmp(d->nulls, "some") == 0)
        return next(d) % 4 == 0;
    return strcmp(d->nulls, "runs") == 0 && row / 700 % 2 == 1;
}

/* A number that says which value to make; few of them repeat. */
static uint64_t pick(struct description *d, size_t row)
{
    if (strcmp(d->values, "few") == 0)
        return next(d) % 13;
    if (strcmp(d->values, "runs") == 0)
        return row / 100;
    return next(d);
}

static void put_bytes(struct cv_builder *builder, uint64_t value)
{
    static const char *const texts[] = {"",         "a",         "é",    "💰",
                                        "zzzzzzzz", "zzzzzzzzz", "\x7f", "\xf4\x8f\xbf\xbf"};
    char text[256];
    size_t length = 0;

    if (value % 5 == 0) {
        cv_builder_bytes(builder, texts[value / 5 % 8], strlen(texts[value / 5 % 8]));
        return;
    }
    while (length < value % 90)
        length += (size_t)snprintf(text + length, sizeof text - length, "%llx-",
                                   (unsigned long long)(value * 2654435761u));
    cv_builder_bytes(builder, text, value % 90);
}

static void put_double(struct cv_builder *builder, uint64_t value, bool narrow)
{
    static const double special[] = {0.0, -0.0, 1e300 * 1e10, -1e300 * 1e10, 1.5, -1.5};
    double number = value % 3 == 0 ? special[value / 3 % 6] : (double)(int64_t)(value << 20) / 1e7;

    if (value % 17 == 1)
        number = (double)__builtin_nanf("");
    if (narrow)
        cv_builder_f32(builder, (float)number);
    else
        cv_builder_f64(builder, number);
}

static void put_decimal(struct cv_builder *builder, uint64_t value)
{
    cv_wide_int limit = 1;
    cv_wide_int wide = (cv_wide_int)(value * 31) * (int64_t)(value | 1);

    for (int i = 0; i < builder->type->precision; i++)
        limit *= 10;
    wide %= limit;
    cv_builder_decimal(builder, value % 2 ? -wide : wide);
}

static void put_value(struct description *d, struct cv_builder *builder, size_t row, bool required);

static void put_nested(struct description *d, struct cv_builder *builder, size_t row)
{
    const struct cv_type *type = builder->type;

    if (type->kind == CV_TYPE_STRUCT) {
        for (size_t i = 0; i < type->field_count; i++)
            put_value(d, &builder->children[i], row, type->fields[i].required);
        cv_builder_end_struct(builder);
        return;
    }
    for (size_t left = next(d) % 4; left > 0; left--)
        for (size_t i = 0; i < type->field_count; i++)
            put_value(d, &builder->children[i], row, type->fields[i].required);
    cv_builder_end_list(builder);
}

static void put_value(struct description *d, struct cv_builder *builder, size_t row, bool required)
{
    uint8_t bytes[64];
    uint64_t value;

    if (!required && is_null(d, row)) {
        cv_builder_null(builder);
        return;
    }
    if (cv_type_is_nested(builder->type)) {
        put_nested(d, builder, row);
        return;
    }
    value = pick(d, row);
    switch (builder->type->kind) {
    case CV_TYPE_BOOLEAN:
        cv_builder_bool(builder, value % 2);
        return;
    case CV_TYPE_INT:
        cv_builder_i32(builder, (int32_t)(uint32_t)(value * 2654435761u));
        return;
    case CV_TYPE_DATE:
        cv_builder_i32(builder, (int32_t)(value % 40000) - 10000);
        return;
    case CV_TYPE_LONG:
        cv_builder_i64(builder, (int64_t)(value * UINT64_C(0x9e3779b97f4a7c15)));
        return;
    case CV_TYPE_TIME:
        cv_builder_i64(builder, (int64_t)(value * 7919 % UINT64_C(86400000000)));
        return;
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        cv_builder_i64(builder, (int64_t)(value % UINT64_C(4000000000000000)) - 1000000000000000);
        return;
    case CV_TYPE_FLOAT:
    case CV_TYPE_DOUBLE:
        put_double(builder, value, builder->type->kind == CV_TYPE_FLOAT);
        return;
    case CV_TYPE_DECIMAL:
        put_decimal(builder, value);
        return;
    case CV_TYPE_UUID:
    case CV_TYPE_FIXED:
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)(value * (i + 1) * 2654435761u >> 24);
        cv_builder_fixed(builder, bytes);
        return;
    default:
        put_bytes(builder, value);
        return;
    }
}

static void print_bound(FILE *out, const char *name, struct cv_str bound)
{
    fprintf(out, ", \"%s\": ", name);
    if (bound.ptr)
        print_hex(out, bound.ptr, bound.length);
    else
        fputs("null", out);
}

static void print_metrics(FILE *out, const struct cv_file_metrics *metrics)
{
    fprintf(out, "{\"record_count\": %lld, \"file_size\": %lld, \"split_offsets\": [",
            (long long)metrics->record_count, (long long)metrics->file_size);
    for (size_t i = 0; i < metrics->split_count; i++)
        fprintf(out, "%s%lld", i ? ", " : "", (long long)metrics->split_offsets[i]);
    fputs("], \"columns\": [", out);
    for (size_t i = 0; i < metrics->column_count; i++) {
        const struct cv_column_metrics *c = &metrics->columns[i];

        fprintf(out,
                "%s\n{\"id\": %d, \"size\": %lld, \"values\": %lld, \"nulls\": %lld, "
                "\"nans\": %lld",
                i ? "," : "", c->field_id, (long long)c->column_size, (long long)c->value_count,
                (long long)c->null_count, (long long)c->nan_count);
        print_bound(out, "lower", c->lower);
        print_bound(out, "upper", c->upper);
        fputc('}', out);
    }
    fputs("]}\n", out);
}

static enum cv_code append(struct description *d, struct cv_parquet_writer *writer,
                           const struct cv_batch *batch, FILE *expected, struct cv_error *err)
{
    struct cv_rows rows = {.count = batch->row_count};
    uint32_t *index;
    enum cv_code code;

    if (strcmp(d->select, "parts") == 0) {
        for (rows.start = 0; rows.start < batch->row_count; rows.start += rows.count) {
            rows.count = next(d) % 3000;
            rows.count = CV_MIN(rows.count, batch->row_count - rows.start);
            print_rows(expected, batch, &rows);
            CV_DO(cv_parquet_writer_append(writer, batch, &rows, err));
        }
        return CV_OK;
    }
    if (strcmp(d->select, "odd") != 0) {
        print_rows(expected, batch, &rows);
        return cv_parquet_writer_append(writer, batch, &rows, err);
    }
    index = cv_realloc_array(NULL, batch->row_count, sizeof *index);
    rows.count = 0;
    for (size_t i = 1; i < batch->row_count; i += 2)
        index[rows.count++] = (uint32_t)(batch->row_count - i);
    rows.index = index;
    print_rows(expected, batch, &rows);
    code = cv_parquet_writer_append(writer, batch, &rows, err);
    free(index);
    return code;
}

static enum cv_code fill(struct description *d, const struct cv_schema *schema,
                         struct cv_parquet_writer *writer, FILE *expected, struct cv_error *err)
{
    struct cv_batch_builder builder;
    struct cv_batch batch;
    enum cv_code code = CV_OK;

    cv_batch_builder_init(&builder, schema);
    for (size_t row = 0; code == CV_OK && row < d->rows;) {
        size_t end = CV_MIN(row + d->batch, d->rows);

        cv_batch_builder_clear(&builder);
        for (; row < end; row++)
            for (size_t i = 0; i < builder.column_count; i++)
                put_value(d, &builder.columns[i], row, schema->root.fields[i].required);
        cv_batch_builder_view(&builder, &batch);
        code = append(d, writer, &batch, expected, err);
    }
    cv_batch_builder_release(&builder);
    return code;
}

static enum cv_code write_file(struct description *d, const char *path, FILE *expected,
                               struct cv_parquet_workspace *workspace, struct cv_arena *arena,
                               struct cv_file_metrics *ret_metrics, struct cv_error *err)
{
    struct cv_schema *schema = cv_arena_new(arena, struct cv_schema);
    struct cv_parquet_options options;
    struct cv_metrics_config config;
    CV_CLEANUP(cv_store_freep) struct cv_store *store = NULL;
    struct cv_parquet_writer *writer = NULL;
    struct cv_output *output = NULL;
    enum cv_code code;

    CV_DO(cv_schema_read_ddl(d->schema, arena, schema, err));
    CV_DO(cv_parquet_options_read(&d->properties, &options, err));
    options.delta = d->delta;
    options.workspace = workspace;
    CV_DO(cv_metrics_config_read(schema, &d->properties, NULL, 0, arena, &config, err));
    CV_DO(cv_store_open(path, NULL, &store, err));
    CV_DO(cv_store_create(store, path, &output, err));
    CV_DO(cv_parquet_writer_open(output, schema, &options, &config, &writer, err));
    code = fill(d, schema, writer, expected, err);
    if (code != CV_OK) {
        cv_parquet_writer_abort(writer);
        return code;
    }
    return cv_parquet_writer_close(writer, arena, ret_metrics, err);
}

static enum cv_code write_files(struct description *d, struct cv_error *err)
{
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_parquet_workspace *workspace = cv_parquet_workspace_new();
    enum cv_code code = CV_OK;

    for (size_t i = 0; code == CV_OK && i < d->files; i++) {
        char *path = cv_arena_printf(&arena, i ? "%s.%zu" : "%s", d->out, i);
        FILE *expected = fopen(cv_arena_printf(&arena, "%s.rows", path), "w");
        FILE *metrics_file = fopen(cv_arena_printf(&arena, "%s.metrics", path), "w");
        struct cv_file_metrics metrics = {0};

        if (!expected || !metrics_file)
            return cv_fail(err, CV_IO, "cannot write beside %s", path);
        code = write_file(d, path, expected, workspace, &arena, &metrics, err);
        print_metrics(metrics_file, &metrics);
        fclose(expected);
        fclose(metrics_file);
    }
    cv_parquet_workspace_free(workspace);
    cv_arena_release(&arena);
    return code;
}

static void read_argument(struct description *d, const char *argument)
{
    static const struct {
        const char *key;
        const char *property;
    } properties[] = {
        {"codec=", "write.parquet.compression-codec"},
        {"level=", "write.parquet.compression-level"},
        {"page-rows=", "write.parquet.page-row-limit"},
        {"page-bytes=", "write.parquet.page-size-bytes"},
        {"group-bytes=", "write.parquet.row-group-size-bytes"},
        {"dictionary-bytes=", "write.parquet.dict-size-bytes"},
        {"metrics=", "write.metadata.metrics.default"},
    };
    const char *value = strchr(argument, '=');

    value = value ? value + 1 : "";
    for (size_t i = 0; i < CV_ARRAY_LENGTH(properties); i++)
        if (cv_text_starts_with(argument, properties[i].key))
            cv_properties_set(&d->properties, properties[i].property, value);
    if (cv_text_starts_with(argument, "out="))
        d->out = value;
    else if (cv_text_starts_with(argument, "schema="))
        d->schema = value;
    else if (cv_text_starts_with(argument, "nulls="))
        d->nulls = value;
    else if (cv_text_starts_with(argument, "values="))
        d->values = value;
    else if (cv_text_starts_with(argument, "select="))
        d->select = value;
    else if (cv_text_starts_with(argument, "rows="))
        d->rows = strtoul(value, NULL, 10);
    else if (cv_text_starts_with(argument, "batch="))
        d->batch = strtoul(value, NULL, 10);
    else if (cv_text_starts_with(argument, "files="))
        d->files = strtoul(value, NULL, 10);
    else if (cv_text_starts_with(argument, "seed="))
        d->random = strtoul(value, NULL, 10);
    else if (cv_text_starts_with(argument, "delta="))
        d->delta = strcmp(value, "true") == 0;
}

int main(int argc, char **argv)
{
    struct cv_error err = CV_ERROR_INIT;
    struct description d = {
        .out = "out.parquet",
        .schema = "a bigint",
        .nulls = "none",
        .values = "many",
        .select = "all",
        .rows = 1000,
        .batch = 8192,
        .files = 1,
        .random = 1,
    };

    for (int i = 1; i < argc; i++)
        read_argument(&d, argv[i]);
    if (write_files(&d, &err) != CV_OK) {
        fprintf(stderr, "%s: %s\n", cv_code_name(err.code), err.message);
        return 1;
    }
    cv_properties_release(&d.properties);
    return 0;
}
