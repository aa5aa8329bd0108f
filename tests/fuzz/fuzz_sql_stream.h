/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream and a table for the fuzz targets of SQL. */
#ifndef CALVE_TESTS_FUZZ_SQL_STREAM_H
#define CALVE_TESTS_FUZZ_SQL_STREAM_H

#include "sql/plan_int.h"

#include <stdlib.h>

struct cv_fuzz_sql {
    struct cv_arena arena;
    struct cv_schema stream, sink, suppliers;
    struct cv_query_table tables[1];
    struct cv_query_config config;
};

static inline void cv_fuzz_sql_init(struct cv_fuzz_sql *fuzz)
{
    static const char stream[] =
        "key binary, value struct<id: bigint NOT NULL, item: string, price: string, amount: int, "
        "total: decimal(10,2), ts: timestamp, tags: array<string>, place: struct<city: string>, "
        "marks: map<string, int>, u: uuid, f: double>, topic string NOT NULL, partition int NOT "
        "NULL, `offset` bigint NOT NULL, timestamp timestamp, timestampType int";
    struct cv_error err = CV_ERROR_INIT;

    if (cv_schema_read_ddl(stream, &fuzz->arena, &fuzz->stream, &err) != CV_OK ||
        cv_schema_read_ddl("a bigint, b string, c double, t timestamp, d decimal(38,6)",
                           &fuzz->arena, &fuzz->sink, &err) != CV_OK ||
        cv_schema_read_ddl("name string, rate decimal(5,2)", &fuzz->arena, &fuzz->suppliers,
                           &err) != CV_OK)
        abort();
    fuzz->tables[0] = (struct cv_query_table){"suppliers", &fuzz->suppliers};
    fuzz->config = (struct cv_query_config){.stream = &fuzz->stream,
                                            .sink = &fuzz->sink,
                                            .ignore_unknown = true,
                                            .tables = fuzz->tables,
                                            .table_count = 1,
                                            .watermark_delay_us = 1000000};
}

/* What every query and every refusal is like. */
static inline void cv_fuzz_sql_check(enum cv_code code, const struct cv_query *query,
                                     const struct cv_error *err)
{
    if (code != CV_OK) {
        if (err->message[0] == '\0')
            abort();
        return;
    }
    if (!query->rows_sql || !query->description || query->input_schema.root.field_count < 3)
        abort();
    if (query->kind == CV_QUERY_AGGREGATE && (!query->final_sql || !query->fingerprint))
        abort();
}

#endif
