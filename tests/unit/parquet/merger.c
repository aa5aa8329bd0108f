/* SPDX-License-Identifier: Apache-2.0
 *
 * Not a test by itself: merges Parquet files into one, for tests/real/test_parquet_merge.py and for
 * measuring.
 *
 *   parquet_merger out=PATH schema=DDL [metrics=MODE] [codec=zstd] [group-bytes=N] [page-bytes=N]
 *               [page-rows=N] [dictionary-bytes=N] FILE…
 *
 * A FILE may have the metrics that a table would have of it beside it, as FILE.known: one line a
 * column: id, nulls, NaNs, lower and upper bound in hex ("-" = none). Prints the way of each file,
 * then the metrics of the result in the same form. */
#include "parquet/merge.h"

#include <stdio.h>
#include <stdlib.h>

struct run {
    const char *out;
    struct cv_arena arena;
    struct cv_properties properties;
    struct cv_schema schema;
    struct cv_parquet_options options;
    struct cv_metrics_config metrics;
    struct cv_store *store;
    struct cv_parquet_merger *merger;
    int64_t bytes;
};

static struct cv_str from_hex(struct cv_arena *arena, const char *hex)
{
    size_t length = strlen(hex) / 2;
    char *bytes = cv_arena_alloc(arena, length + 1);

    if (strcmp(hex, "-") == 0)
        return (struct cv_str){NULL, 0};
    for (size_t i = 0; i < length; i++) {
        unsigned value = 0;

        (void)sscanf(hex + 2 * i + 1, "%2x", &value);
        bytes[i] = (char)value;
    }
    return (struct cv_str){bytes, length};
}

/* Bounds begin with "x", so that an empty one is a word too. */
static bool read_known(struct run *run, const char *file, int64_t record_count,
                       struct cv_file_metrics *ret)
{
    static char lower[1 << 16];
    static char upper[1 << 16];
    char path[CV_PATH_BYTES_MAX];
    struct cv_column_metrics column;
    FILE *in;

    (void)snprintf(path, sizeof path, "%s.known", file);
    in = fopen(path, "r");
    if (!in)
        return false;
    *ret = (struct cv_file_metrics){
        .record_count = record_count,
        .columns = cv_arena_array(&run->arena, struct cv_column_metrics, 1000),
    };
    while (fscanf(in, "%d %ld %ld %ld %65535s %65535s", &column.field_id, &column.value_count,
                  &column.null_count, &column.nan_count, lower, upper) == 6) {
        column.lower = from_hex(&run->arena, lower);
        column.upper = from_hex(&run->arena, upper);
        ret->columns[ret->column_count++] = column;
    }
    (void)fclose(in);
    return true;
}

static void print_bound(struct cv_str bound)
{
    if (!bound.ptr) {
        printf(" -");
        return;
    }
    printf(" x");
    for (size_t i = 0; i < bound.length; i++)
        printf("%02x", (uint8_t)bound.ptr[i]);
}

static void print_metrics(const struct cv_file_metrics *metrics)
{
    printf("rows %lld size %lld groups %zu\n", (long long)metrics->record_count,
           (long long)metrics->file_size, metrics->split_count);
    for (size_t i = 0; i < metrics->column_count; i++) {
        const struct cv_column_metrics *column = &metrics->columns[i];

        printf("%d %lld %lld %lld", column->field_id, (long long)column->value_count,
               (long long)column->null_count, (long long)column->nan_count);
        print_bound(column->lower);
        print_bound(column->upper);
        printf("\n");
    }
}

static enum cv_code add(struct run *run, const char *file, struct cv_error *err)
{
    static const char *const ways[] = {"copy", "pages", "decode"};
    CV_CLEANUP(cv_parquet_footer_freep) struct cv_parquet_footer *footer = NULL;
    struct cv_file_metrics known;
    const struct cv_file_metrics *metrics;
    const char *reason;
    enum cv_merge_way way;

    CV_DO(cv_parquet_footer_read(run->store, file, -1, &footer, err));
    metrics = read_known(run, file, footer->row_count, &known) ? &known : NULL;
    way =
        cv_parquet_merge_way(footer, metrics, &run->schema, &run->options, &run->metrics, &reason);
    printf("%s%s%s\n", ways[way], *reason ? ": " : "", reason);
    run->bytes += footer->file_size;
    if (way == CV_MERGE_DECODE)
        return CV_OK;
    return cv_parquet_merger_add(run->merger, run->store, file, footer, metrics, way, 0,
                                 footer->group_count, err);
}

static enum cv_code open_run(struct run *run, const char *ddl, struct cv_error *err)
{
    struct cv_output *output;

    CV_DO(cv_schema_read_ddl(ddl, &run->arena, &run->schema, err));
    CV_DO(cv_parquet_options_read(&run->properties, &run->options, err));
    CV_DO(cv_metrics_config_read(&run->schema, &run->properties, NULL, 0, &run->arena,
                                 &run->metrics, err));
    CV_DO(cv_store_open(run->out, NULL, &run->store, err));
    CV_DO(cv_store_create(run->store, run->out, &output, err));
    return cv_parquet_merger_open(output, &run->schema, &run->options, &run->metrics, &run->merger,
                                  err);
}

static const char *property_of(const char *name)
{
    static const char *const names[][2] = {
        {"metrics", "write.metadata.metrics.default"},
        {"codec", "write.parquet.compression-codec"},
        {"group-bytes", "write.parquet.row-group-size-bytes"},
        {"page-bytes", "write.parquet.page-size-bytes"},
        {"page-rows", "write.parquet.page-row-limit"},
        {"dictionary-bytes", "write.parquet.dict-size-bytes"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++)
        if (strcmp(names[i][0], name) == 0)
            return names[i][1];
    return NULL;
}

static enum cv_code work(struct run *run, int argc, char **argv, struct cv_error *err)
{
    const char *ddl = "";
    struct cv_file_metrics metrics;
    size_t memory = 0;

    for (int i = 1; i < argc; i++) {
        char *value = strchr(argv[i], '=');

        if (argv[i][0] == '/' || !value)
            continue;
        *value++ = '\0';
        if (strcmp(argv[i], "out") == 0)
            run->out = value;
        else if (strcmp(argv[i], "schema") == 0)
            ddl = value;
        else if (property_of(argv[i]))
            cv_properties_set(&run->properties, property_of(argv[i]), value);
        else
            return cv_fail(err, CV_USAGE, "unknown word %s", argv[i]);
    }
    CV_DO(open_run(run, ddl, err));
    for (int i = 1; i < argc; i++)
        if (argv[i][0] == '/') {
            CV_DO(add(run, argv[i], err));
            memory = CV_MAX(memory, cv_parquet_merger_memory(run->merger));
        }
    CV_DO(cv_parquet_merger_close(cv_steal(run->merger), &run->arena, &metrics, err));
    print_metrics(&metrics);
    (void)fprintf(stderr, "%lld bytes in, %zu of memory\n", (long long)run->bytes, memory);
    return CV_OK;
}

int main(int argc, char **argv)
{
    struct cv_error err = CV_ERROR_INIT;
    struct run run = {.out = "/tmp/out.parquet"};
    enum cv_code code;

    cv_properties_set(&run.properties, "write.parquet.compression-codec", "zstd");
    code = work(&run, argc, argv, &err);
    if (code != CV_OK)
        (void)fprintf(stderr, "%s: %s\n", cv_code_name(code), err.message);
    cv_parquet_merger_abort(run.merger);
    cv_store_free(run.store);
    cv_properties_release(&run.properties);
    cv_arena_release(&run.arena);
    return code == CV_OK ? 0 : 1;
}
