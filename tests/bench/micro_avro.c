/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU time of decoding Avro alone: the orders record (5 nullable fields, price cast from text to a
 * decimal) and a wide one of 100 columns. Prints µs per record. */
#include "avro/plan.h"
#include "base/time.h"

#include <stdio.h>
#include <stdlib.h>

#define RECORDS      4096
#define ROUNDS       400
#define WIDE_COLUMNS 100

struct bench {
    struct cv_arena arena;
    struct cv_avro_schema *avro;
    struct cv_schema table;
    struct cv_avro_target *targets;
    struct cv_avro_plan *plan;
    struct cv_buf records;
    size_t starts[RECORDS + 1];
};

static void must(enum cv_code code, const struct cv_error *err)
{
    if (code == CV_OK)
        return;
    (void)fprintf(stderr, "%s\n", err->message);
    exit(1);
}

static void prepare(struct bench *b, const char *avro, const char *ddl, size_t cast_column)
{
    struct cv_error err = CV_ERROR_INIT;
    size_t count;

    must(cv_avro_schema_parse(cv_str_from(avro), NULL, 0, &b->avro, &err), &err);
    must(cv_schema_read_ddl(ddl, &b->arena, &b->table, &err), &err);
    count = b->table.root.field_count;
    b->targets = cv_arena_array(&b->arena, struct cv_avro_target, count);
    for (size_t i = 0; i < count; i++) {
        const char **path = cv_arena_array(&b->arena, const char *, 1);

        path[0] = b->table.root.fields[i].name;
        b->targets[i] = (struct cv_avro_target){.path = path, .path_length = 1, .column = i};
        if (i == cast_column) {
            b->targets[i].cast = CV_AVRO_CAST;
            b->targets[i].cast_type = b->table.root.fields[i].type;
        }
    }
    must(cv_avro_plan_compile(b->avro->root, NULL, &b->table, b->targets, count, true, &b->plan,
                              &err),
         &err);
}

static void run(struct bench *b, const char *name)
{
    struct cv_batch_builder builder;
    struct cv_avro_fault fault;
    int64_t start = cv_cpu_us();
    double each;
    bool null;

    cv_batch_builder_init(&builder, &b->table);
    for (size_t round = 0; round < ROUNDS; round++) {
        cv_batch_builder_clear(&builder);
        for (size_t i = 0; i < RECORDS; i++)
            if (!cv_avro_plan_run(b->plan, b->records.data + b->starts[i],
                                  b->starts[i + 1] - b->starts[i], &builder, &null, &fault)) {
                (void)fprintf(stderr, "%s: %s\n", fault.field, fault.reason);
                exit(1);
            }
    }
    each = (double)(cv_cpu_us() - start) / ((double)RECORDS * ROUNDS);
    printf("%-8s %zu bytes a record, %.4f us a record\n", name, b->starts[RECORDS] / RECORDS, each);
    cv_batch_builder_release(&builder);
}

static void release(struct bench *b)
{
    cv_avro_plan_free(b->plan);
    cv_avro_schema_free(b->avro);
    cv_buf_release(&b->records);
    cv_arena_release(&b->arena);
    free(b);
}

static void orders(void)
{
    static const char *const items[] = {"Rustic Wooden Chair", "Sleek Cotton Lamp",
                                        "Awesome Granite Keyboard"};
    static const char *const suppliers[] = {"Alice", "Bob", "Carol", "Joe"};
    struct bench *b = cv_alloc(sizeof *b);

    prepare(b,
            "{\"type\":\"record\",\"name\":\"Gen0\",\"fields\":["
            "{\"name\":\"supplier\",\"type\":[\"null\",\"string\"]},"
            "{\"name\":\"item\",\"type\":[\"null\",\"string\"]},"
            "{\"name\":\"price\",\"type\":[\"null\",\"string\"]},"
            "{\"name\":\"bid_time\",\"type\":[\"null\",{\"type\":\"long\","
            "\"logicalType\":\"timestamp-millis\"}]},"
            "{\"name\":\"order_id\",\"type\":[\"null\",\"string\"]}]}",
            "order_id string, item string, price decimal(10,2), supplier string, "
            "bid_time timestamp",
            2);
    for (size_t i = 0; i < RECORDS; i++) {
        char text[64];

        b->starts[i] = b->records.length;
        cv_avro_put_long(&b->records, 1);
        cv_avro_put_string(&b->records, suppliers[i % 4]);
        cv_avro_put_long(&b->records, 1);
        cv_avro_put_string(&b->records, items[i % 3]);
        cv_avro_put_long(&b->records, 1);
        (void)snprintf(text, sizeof text, "%zu.%zu", 1 + i % 149, i % 100);
        cv_avro_put_string(&b->records, text);
        cv_avro_put_long(&b->records, 1);
        cv_avro_put_long(&b->records, INT64_C(1760000000000) + (int64_t)i * 1000);
        cv_avro_put_long(&b->records, 1);
        (void)snprintf(text, sizeof text, "f79c3e09-677c-4bbd-a479-%012zx", i);
        cv_avro_put_string(&b->records, text);
    }
    b->starts[RECORDS] = b->records.length;
    run(b, "orders");
    release(b);
}

static void put_wide(struct cv_buf *out, size_t column, size_t row)
{
    double real = (double)row * 1.25;
    char text[32];

    switch (column % 4) {
    case 0:
        cv_avro_put_long(out, (int64_t)(row * column));
        return;
    case 1:
        cv_avro_put_long(out, 1);
        (void)snprintf(text, sizeof text, "value-%zu", row % 1000);
        cv_avro_put_string(out, text);
        return;
    case 2:
        cv_buf_append(out, &real, sizeof real);
        return;
    default:
        cv_avro_put_long(out, row % 3 != 0);
        if (row % 3)
            cv_avro_put_long(out, (int64_t)(row % 50000));
    }
}

static void wide(void)
{
    static const char *const avro_types[] = {"\"long\"", "[\"null\",\"string\"]", "\"double\"",
                                             "[\"null\",\"int\"]"};
    static const char *const types[] = {"bigint", "string", "double", "int"};
    CV_CLEANUP(cv_buf_release) struct cv_buf avro = CV_BUF_INIT(0);
    CV_CLEANUP(cv_buf_release) struct cv_buf ddl = CV_BUF_INIT(0);
    struct bench *b = cv_alloc(sizeof *b);

    cv_buf_append_text(&avro, "{\"type\":\"record\",\"name\":\"Wide\",\"fields\":[");
    for (int i = 0; i < WIDE_COLUMNS; i++) {
        cv_buf_printf(&avro, "%s{\"name\":\"c%d\",\"type\":%s}", i ? "," : "", i,
                      avro_types[i % 4]);
        cv_buf_printf(&ddl, "%sc%d %s", i ? ", " : "", i, types[i % 4]);
    }
    cv_buf_append_text(&avro, "]}");
    prepare(b, cv_buf_text(&avro), cv_buf_text(&ddl), SIZE_MAX);
    for (size_t i = 0; i < RECORDS; i++) {
        b->starts[i] = b->records.length;
        for (size_t k = 0; k < WIDE_COLUMNS; k++)
            put_wide(&b->records, k, i);
    }
    b->starts[RECORDS] = b->records.length;
    run(b, "wide");
    release(b);
}

int main(void)
{
    orders();
    wide();
    return 0;
}
