/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a decoder over values given as text and shows the rows as text, one line per row, columns
 * separated by |: NULL, true, numbers, "text", x'bytes', µs, days, [list], {key: value}, (struct).
 */
#ifndef CALVE_TESTS_DECODE_TEST_H
#define CALVE_TESTS_DECODE_TEST_H

#include "test.h"

#include "decode/decoder.h"
#include "schema/value.h"

#define RECORDS_MAX 64

struct decoding {
    struct cv_value_options options;
    struct cv_decoder_config config;
    struct cv_arena arena;
    struct cv_schema schema;
    struct cv_decoder *decoder;
    struct cv_decode_worker *worker;
    struct cv_topic_partition source;
    struct cv_record records[RECORDS_MAX];
    size_t count;
    struct cv_batch batch;
    struct cv_error err;
    char warned[4][1024];
    size_t warn_count;
};

static inline void decoding_warn(void *context, const char *message)
{
    struct decoding *d = context;

    if (d->warn_count < 4)
        (void)snprintf(d->warned[d->warn_count++], 1024, "%s", message);
}

static inline void decoding_init(struct decoding *d, const char *format, const char *ddl,
                                 const char *select)
{
    *d = (struct decoding){
        .options = {.format = format, .case_sensitive = true, .registry_retry_us = 300000},
        .source = {"orders", 3},
    };
    CV_ASSERT_OK(cv_schema_read_ddl(ddl, &d->arena, &d->schema, &d->err), &d->err);
    d->config = (struct cv_decoder_config){
        .options = &d->options,
        .select = select,
        .table = &d->schema,
        .warn = decoding_warn,
        .warn_context = d,
    };
}

static inline void decoding_close(struct decoding *d)
{
    cv_decode_worker_free(d->worker);
    cv_decoder_free(d->decoder);
    d->worker = NULL;
    d->decoder = NULL;
}

static inline void decoding_clear(struct decoding *d)
{
    for (size_t i = 0; i < d->count; i++)
        free((void *)(uintptr_t)d->records[i].value);
    d->count = 0;
}

static inline void decoding_release(struct decoding *d)
{
    decoding_close(d);
    decoding_clear(d);
    cv_arena_release(&d->arena);
}

static inline void decoding_open(struct decoding *d)
{
    decoding_close(d);
    cv_error_clear(&d->err);
    CV_ASSERT_OK(cv_decoder_open(&d->config, &d->decoder, &d->err), &d->err);
    d->worker = cv_decode_worker_new(d->decoder);
}

/* The next record, at offset 1042 + n; NULL value = tombstone. The bytes are copied to their very
 * end, so that a sanitizer sees reads behind it. */
static inline struct cv_record *decoding_add_bytes(struct decoding *d, const char *key,
                                                   const void *value, size_t length)
{
    struct cv_record *record = &d->records[d->count];
    uint8_t *copy = value ? malloc(length ? length : 1) : NULL;

    if (value)
        memcpy(copy, value, length);
    *record = (struct cv_record){
        .key = (const uint8_t *)key,
        .key_length = key ? (uint32_t)strlen(key) : 0,
        .value = copy,
        .value_length = value ? (uint32_t)length : 0,
        .offset = 1042 + (int64_t)d->count,
        .timestamp_ms = 1000,
        .source = &d->source,
    };
    d->count++;
    return record;
}

static inline struct cv_record *decoding_add(struct decoding *d, const char *value)
{
    return decoding_add_bytes(d, NULL, value, value ? strlen(value) : 0);
}

static inline struct cv_record *decoding_add_hex(struct decoding *d, const char *hex)
{
    uint8_t bytes[4096];

    return decoding_add_bytes(d, NULL, bytes, cv_test_hex(hex, bytes, sizeof bytes));
}

static inline enum cv_code decoding_run(struct decoding *d)
{
    struct cv_chunk chunk = {.records = d->records, .count = d->count};

    cv_error_clear(&d->err);
    return cv_decode_worker_run(d->worker, &chunk, &d->batch, &d->err);
}

static inline void show_value(const struct cv_column *c, size_t row, struct cv_buf *out);

static inline void show_nested(const struct cv_column *c, size_t row, struct cv_buf *out)
{
    if (c->type->kind == CV_TYPE_STRUCT) {
        for (size_t i = 0; i < c->child_count; i++) {
            cv_buf_append_text(out, i ? ", " : "(");
            show_value(&c->children[i], row, out);
        }
        cv_buf_append_byte(out, ')');
        return;
    }
    cv_buf_append_byte(out, c->type->kind == CV_TYPE_LIST ? '[' : '{');
    for (int32_t i = c->offsets[row]; i < c->offsets[row + 1]; i++) {
        if (i > c->offsets[row])
            cv_buf_append_text(out, ", ");
        show_value(&c->children[0], (size_t)i, out);
        if (c->type->kind == CV_TYPE_MAP) {
            cv_buf_append_text(out, ": ");
            show_value(&c->children[1], (size_t)i, out);
        }
    }
    cv_buf_append_byte(out, c->type->kind == CV_TYPE_LIST ? ']' : '}');
}

static inline void show_number(const struct cv_column *c, size_t row, struct cv_buf *out)
{
    struct cv_value value = {.kind = c->type->kind};
    int64_t i64 = 0;
    int32_t i32 = 0;
    double f64;
    float f32;

    switch (cv_type_width(c->type)) {
    case 4:
        memcpy(&i32, c->data + row * 4, 4);
        break;
    case 8:
        memcpy(&i64, c->data + row * 8, 8);
        break;
    }
    switch (c->type->kind) {
    case CV_TYPE_BOOLEAN:
        cv_buf_append_text(out, cv_bit_get(c->data, row) ? "true" : "false");
        break;
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        cv_buf_printf(out, "%d", i32);
        break;
    case CV_TYPE_FLOAT:
        memcpy(&f32, &i32, 4);
        cv_buf_printf(out, "%.9g", (double)f32);
        break;
    case CV_TYPE_DOUBLE:
        memcpy(&f64, &i64, 8);
        cv_buf_printf(out, "%.17g", f64);
        break;
    case CV_TYPE_DECIMAL:
        value.decimal = cv_column_decimal(c, row);
        cv_value_write_text(&value, c->type, out);
        break;
    default:
        cv_buf_printf(out, "%lld", (long long)i64);
    }
}

static inline void show_value(const struct cv_column *c, size_t row, struct cv_buf *out)
{
    struct cv_str bytes = {NULL, 0};

    if (cv_column_is_null(c, row)) {
        cv_buf_append_text(out, "NULL");
        return;
    }
    if (cv_type_is_nested(c->type)) {
        show_nested(c, row, out);
        return;
    }
    if (c->type->kind == CV_TYPE_STRING || c->type->kind == CV_TYPE_BINARY)
        bytes = cv_column_bytes(c, row);
    else if (c->type->kind == CV_TYPE_UUID || c->type->kind == CV_TYPE_FIXED)
        bytes = (struct cv_str){(const char *)c->data + row * cv_type_width(c->type),
                                cv_type_width(c->type)};
    else {
        show_number(c, row, out);
        return;
    }
    if (c->type->kind == CV_TYPE_STRING) {
        cv_buf_printf(out, "\"%.*s\"", CV_STR_ARG(bytes));
        return;
    }
    cv_buf_append_text(out, "x'");
    for (size_t i = 0; i < bytes.length; i++)
        cv_buf_printf(out, "%02x", (uint8_t)bytes.ptr[i]);
    cv_buf_append_text(out, "'");
}

static inline const char *decoding_rows(struct decoding *d)
{
    static struct cv_buf out;

    cv_buf_clear(&out);
    for (size_t row = 0; row < d->batch.row_count; row++) {
        for (size_t i = 0; i < d->batch.column_count; i++) {
            if (i)
                cv_buf_append_byte(&out, '|');
            show_value(&d->batch.columns[i], row, &out);
        }
        cv_buf_append_byte(&out, '\n');
    }
    return cv_buf_text(&out);
}

/* All records decode to these rows. */
static inline void decoding_expect(struct decoding *d, const char *rows)
{
    CV_ASSERT_OK(decoding_run(d), &d->err);
    assert_string_equal(decoding_rows(d), rows);
}

/* One value in one column `v` of a type: the shown value, or "bad: reason". */
static inline const char *decode_one(const char *format, const char *type, const char *value)
{
    static char shown[1024];
    char ddl[256];
    struct decoding d;
    struct cv_decode_counters counters;

    (void)snprintf(ddl, sizeof ddl, "v %s", type);
    decoding_init(&d, format, ddl, NULL);
    d.options.mode = CV_MODE_DROPMALFORMED;
    decoding_open(&d);
    (void)decoding_add(&d, value);
    CV_ASSERT_OK(decoding_run(&d), &d.err);
    cv_decode_worker_counters(d.worker, &counters);
    if (counters.bad)
        (void)snprintf(shown, sizeof shown, "bad: %s",
                       cv_decode_worker_bad(d.worker)->entries[0].reason);
    else
        (void)snprintf(shown, sizeof shown, "%s", decoding_rows(&d));
    shown[strcspn(shown, "\n")] = '\0';
    decoding_clear(&d);
    decoding_release(&d);
    return shown;
}

#endif
