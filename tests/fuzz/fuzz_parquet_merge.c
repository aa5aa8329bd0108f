/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a Parquet file that is merged with itself: page headers, levels, dictionaries and
 * their indices, column and offset indexes. */
#include "fuzz.h"

#include "memory_store.h"
#include "parquet/merge.h"

static enum cv_code drop(struct cv_output *output, const void *bytes, size_t length,
                         struct cv_error *err)
{
    (void)bytes;
    (void)err;
    output->written += (int64_t)length;
    return CV_OK;
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

static const struct cv_output_ops nowhere = {
    .write = drop,
    .close = close_nothing,
    .abort = abort_nothing,
};

static const char ddl[] = "i int, l bigint NOT NULL, s string, b boolean, d decimal(12,3), "
                          "w decimal(25,3), t timestamp, li array<string>, st struct<x: int>";

static void merge(struct cv_store *store, struct cv_parquet_footer *footer, enum cv_merge_way way,
                  const struct cv_parquet_options *options)
{
    static const struct cv_metrics_config metrics; /* no column has any */
    struct cv_output output = {.ops = &nowhere};
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_parquet_merger *merger;
    struct cv_file_metrics ret;
    struct cv_schema schema;

    if (cv_schema_read_ddl(ddl, &arena, &schema, NULL) == CV_OK &&
        cv_parquet_merge_way(footer, NULL, &schema, options, &metrics, NULL) != CV_MERGE_DECODE &&
        cv_parquet_merger_open(&output, &schema, options, &metrics, &merger, NULL) == CV_OK) {
        for (int i = 0; i < 2; i++)
            (void)cv_parquet_merger_add(merger, store, "0", footer, NULL, way, 0,
                                        footer->group_count, NULL);
        (void)cv_parquet_merger_close(merger, &arena, &ret, NULL);
    }
    cv_arena_release(&arena);
}

/* The first byte is the codec and the limits: a dictionary may stay out, pages may be joined. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum cv_codec codecs[] = {CV_CODEC_NONE, CV_CODEC_ZSTD, CV_CODEC_SNAPPY,
                                           CV_CODEC_GZIP};
    CV_CLEANUP(cv_parquet_footer_freep) struct cv_parquet_footer *footer = NULL;
    struct memory_store store;
    struct cv_parquet_options options = {
        .level = CV_CODEC_LEVEL_DEFAULT,
        .row_group_bytes = 1 << 20,
        .page_bytes = 1 << 16,
    };

    if (size == 0)
        return 0;
    options.codec = codecs[data[0] & 3];
    options.dictionary_bytes = data[0] & 4 ? 8 : 1 << 16;
    options.page_rows = data[0] & 8 ? 8 : 1000;
    memory_store_init(&store, data + 1, size - 1);
    if (cv_parquet_footer_read(&store.store, "0", -1, &footer, NULL) == CV_OK &&
        footer->row_count < 1 << 14)
        merge(&store.store, footer, data[0] & 16 ? CV_MERGE_COPY : CV_MERGE_PAGES, &options);
    return 0;
}
