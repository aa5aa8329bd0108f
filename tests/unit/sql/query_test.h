/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream of orders and its queries, for the tests of the binder. */
#ifndef CALVE_TESTS_SQL_QUERY_TEST_H
#define CALVE_TESTS_SQL_QUERY_TEST_H

#include "duck_test.h"
#include "sql/query.h"

#define CV_TEST_STREAM(value)                                                                      \
    "key binary, value " value ", topic string NOT NULL, partition int NOT NULL, "                 \
    "`offset` bigint NOT NULL, timestamp timestamp, timestampType int"

static const char cv_test_orders[] = CV_TEST_STREAM(
    "struct<id: bigint NOT NULL, item: string, price: string, amount: int, total: decimal(10,2), "
    "supplier: string, ts: timestamp, tags: array<string>, place: struct<city: string, zip: int>, "
    "marks: map<string, int>, Case: int, case: int>");

struct cv_test_query {
    struct cv_arena arena;
    struct cv_schema stream, sink, suppliers;
    struct cv_query_table tables[1];
    struct cv_query_config config;
};

static inline void cv_test_query_release(struct cv_test_query *q)
{
    cv_arena_release(&q->arena);
}

/* The config over the stream of orders and a sink of this DDL. */
static inline struct cv_query_config *cv_test_query_init(struct cv_test_query *q, const char *sink)
{
    struct cv_error err = CV_ERROR_INIT;

    *q = (struct cv_test_query){0};
    CV_ASSERT_OK(cv_schema_read_ddl(cv_test_orders, &q->arena, &q->stream, &err), &err);
    CV_ASSERT_OK(cv_schema_read_ddl(sink, &q->arena, &q->sink, &err), &err);
    CV_ASSERT_OK(cv_schema_read_ddl("name string, country string, rate decimal(5,2), item string",
                                    &q->arena, &q->suppliers, &err),
                 &err);
    q->tables[0] = (struct cv_query_table){"suppliers", &q->suppliers};
    q->config = (struct cv_query_config){.stream = &q->stream,
                                         .sink = &q->sink,
                                         .case_sensitive = true,
                                         .tables = q->tables,
                                         .table_count = 1,
                                         .watermark_delay_us = 600000000};
    return &q->config;
}

/* JSON without a schema instead. */
static inline void cv_test_query_open(struct cv_test_query *q)
{
    struct cv_field *value = (struct cv_field *)(uintptr_t)&q->stream.root.fields[1];

    value->type.field_count = 0;
    q->config.value_open = true;
}

#endif
