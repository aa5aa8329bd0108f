/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of Avro plans: compile from texts, decode hex, and show the row as text, so that a
 * test reads as: this schema, this table, these bytes, this row.
 *
 * A row is shown as {a: 1, b: "x", c: [1, null], d: {"k": 2}, e: {f: 1}}. */
#ifndef CALVE_TESTS_AVRO_TEST_H
#define CALVE_TESTS_AVRO_TEST_H

#include "test.h"

#include "avro/plan.h"
#include "schema/value.h"

struct plan_test {
    struct cv_arena arena;
    struct cv_avro_schema *writer;
    struct cv_avro_schema *reader;
    struct cv_schema table;
    struct cv_avro_target *targets;
    size_t target_count;
    struct cv_avro_plan *plan;
    struct cv_batch_builder builder;
    struct cv_avro_fault fault;
    struct cv_error err;
    bool null;
};

/* Each column from the field of its name, unless `sources` says otherwise: a comma-separated list
 * of "path" or "CAST path" or "TRY path" in column order; a CAST goes to the column's type. */
static inline void plan_test_targets(struct plan_test *t, const char *sources)
{
    size_t count = t->table.root.field_count;
    char **texts = sources ? cv_split(&t->arena, sources, ',', &count) : NULL;

    assert_int_equal(count, t->table.root.field_count);
    t->targets = cv_arena_array(&t->arena, struct cv_avro_target, count);
    t->target_count = count;
    for (size_t i = 0; i < count; i++) {
        const char *path = texts ? texts[i] : t->table.root.fields[i].name;
        struct cv_avro_target *target = &t->targets[i];

        *target = (struct cv_avro_target){.column = i, .cast_type = t->table.root.fields[i].type};
        if (cv_text_starts_with(path, "CAST "))
            target->cast = CV_AVRO_CAST;
        if (cv_text_starts_with(path, "TRY "))
            target->cast = CV_AVRO_TRY_CAST;
        path += target->cast == CV_AVRO_CAST ? 5 : target->cast == CV_AVRO_TRY_CAST ? 4 : 0;
        target->path = (const char *const *)cv_split(&t->arena, path, '.', &target->path_length);
    }
}

static inline void plan_test_release(struct plan_test *t)
{
    cv_avro_plan_free(t->plan);
    cv_avro_schema_free(t->writer);
    cv_avro_schema_free(t->reader);
    cv_batch_builder_release(&t->builder);
    cv_arena_release(&t->arena);
}

/* A schema text with ' for ", which keeps it readable in C. */
static inline struct cv_avro_schema *plan_test_schema(struct plan_test *t, const char *text)
{
    char *json = cv_arena_strdup(&t->arena, text);
    struct cv_avro_schema *schema;

    for (char *quote = strchr(json, '\''); quote; quote = strchr(quote, '\''))
        *quote = '"';
    CV_ASSERT_OK(cv_avro_schema_parse(cv_str_from(json), NULL, 0, &schema, &t->err), &t->err);
    return schema;
}

static inline enum cv_code plan_test_compile(struct plan_test *t, const char *writer,
                                             const char *reader, const char *ddl,
                                             const char *sources, bool case_sensitive)
{
    *t = (struct plan_test){.err = CV_ERROR_INIT};
    t->writer = plan_test_schema(t, writer);
    t->reader = reader ? plan_test_schema(t, reader) : NULL;
    CV_ASSERT_OK(cv_schema_read_ddl(ddl, &t->arena, &t->table, &t->err), &t->err);
    plan_test_targets(t, sources);
    cv_batch_builder_init(&t->builder, &t->table);
    return cv_avro_plan_compile(t->writer->root, reader ? t->reader->root : NULL, &t->table,
                                t->targets, t->target_count, case_sensitive, &t->plan, &t->err);
}

static inline bool plan_test_run(struct plan_test *t, const uint8_t *bytes, size_t length)
{
    uint8_t *exact = malloc(length + 1); /* so that a sanitizer sees a read past the end */
    bool good;

    if (length)
        memcpy(exact + 1, bytes, length);
    good = cv_avro_plan_run(t->plan, exact + 1, length, &t->builder, &t->null, &t->fault);
    free(exact);
    return good;
}

static inline void show_value(const struct cv_column *column, size_t row, struct cv_buf *out);

static inline void show_primitive(const struct cv_column *column, size_t row, struct cv_buf *out)
{
    struct cv_value value = {.kind = column->type->kind};
    size_t width = cv_type_width(column->type);

    switch (column->type->kind) {
    case CV_TYPE_BOOLEAN:
        value.boolean = cv_bit_get(column->data, row);
        break;
    case CV_TYPE_DECIMAL:
        value.decimal = cv_column_decimal(column, row);
        break;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
        value.bytes = cv_column_bytes(column, row);
        break;
    case CV_TYPE_UUID:
    case CV_TYPE_FIXED:
        value.bytes = (struct cv_str){(const char *)column->data + row * width, width};
        break;
    default:
        memcpy(&value.i64, column->data + row * width, width);
    }
    if (value.kind == CV_TYPE_STRING)
        cv_buf_append_byte(out, '"');
    cv_value_write_text(&value, column->type, out);
    if (value.kind == CV_TYPE_STRING)
        cv_buf_append_byte(out, '"');
}

static inline void show_items(const struct cv_column *column, size_t row, struct cv_buf *out)
{
    bool is_map = column->type->kind == CV_TYPE_MAP;

    cv_buf_append_text(out, is_map ? "{" : "[");
    for (int32_t i = column->offsets[row]; i < column->offsets[row + 1]; i++) {
        if (i > column->offsets[row])
            cv_buf_append_text(out, ", ");
        show_value(&column->children[0], (size_t)i, out);
        if (is_map) {
            cv_buf_append_text(out, ": ");
            show_value(&column->children[1], (size_t)i, out);
        }
    }
    cv_buf_append_text(out, is_map ? "}" : "]");
}

static inline void show_struct(const struct cv_type *type, const struct cv_column *children,
                               size_t row, struct cv_buf *out)
{
    cv_buf_append_text(out, "{");
    for (size_t i = 0; i < type->field_count; i++) {
        cv_buf_printf(out, "%s%s: ", i ? ", " : "", type->fields[i].name);
        show_value(&children[i], row, out);
    }
    cv_buf_append_text(out, "}");
}

static inline void show_value(const struct cv_column *column, size_t row, struct cv_buf *out)
{
    if (cv_column_is_null(column, row))
        cv_buf_append_text(out, "null");
    else if (column->type->kind == CV_TYPE_STRUCT)
        show_struct(column->type, column->children, row, out);
    else if (cv_type_is_nested(column->type))
        show_items(column, row, out);
    else
        show_primitive(column, row, out);
}

/* The last row, in memory of the fixture. */
static inline const char *plan_test_row(struct plan_test *t)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    struct cv_batch batch;

    cv_batch_builder_view(&t->builder, &batch);
    assert_true(batch.row_count > 0);
    show_struct(&t->table.root, batch.columns, batch.row_count - 1, &out);
    return cv_arena_strdup(&t->arena, cv_buf_text(&out));
}

/* The bytes decode to this row; the prefixes of them are bad records. */
static inline void check_row(struct plan_test *t, const char *hex, const char *row)
{
    uint8_t bytes[8192];
    size_t length = cv_test_hex(hex, bytes, sizeof bytes);
    size_t before = t->builder.column_count ? t->builder.columns[0].length : 0;

    for (size_t i = 0; i < length; i++) {
        if (plan_test_run(t, bytes, i))
            fail_msg("%zu of the bytes %s are taken for a record", i, hex);
        cv_batch_builder_truncate(&t->builder, before);
    }
    if (!plan_test_run(t, bytes, length))
        fail_msg("%s: %s: %s", hex, t->fault.field, t->fault.reason);
    assert_string_equal(plan_test_row(t), row);
}

/* The bytes are a bad record because of this field and reason. */
static inline void check_bad(struct plan_test *t, const char *hex, const char *field,
                             const char *reason)
{
    uint8_t bytes[8192];
    size_t length = cv_test_hex(hex, bytes, sizeof bytes);
    size_t before = t->builder.column_count ? t->builder.columns[0].length : 0;

    if (plan_test_run(t, bytes, length))
        fail_msg("%s became %s", hex, plan_test_row(t));
    assert_string_equal(t->fault.field, field);
    if (!strstr(t->fault.reason, reason))
        fail_msg("reason \"%s\" lacks \"%s\"", t->fault.reason, reason);
    cv_batch_builder_truncate(&t->builder, before);
}

/* One record by one schema, no reader. */
static inline void check_one(const char *writer, const char *ddl, const char *hex, const char *row)
{
    struct plan_test t;

    CV_ASSERT_OK(plan_test_compile(&t, writer, NULL, ddl, NULL, true), &t.err);
    check_row(&t, hex, row);
    plan_test_release(&t);
}

static inline void check_read(const char *writer, const char *reader, const char *ddl,
                              const char *hex, const char *row)
{
    struct plan_test t;

    CV_ASSERT_OK(plan_test_compile(&t, writer, reader, ddl, NULL, true), &t.err);
    check_row(&t, hex, row);
    plan_test_release(&t);
}

static inline void check_refused(const char *writer, const char *reader, const char *ddl,
                                 const char *sources, const char *reason)
{
    struct plan_test t;

    CV_ASSERT_FAILS(plan_test_compile(&t, writer, reader, ddl, sources, true), CV_SCHEMA, reason,
                    &t.err);
    plan_test_release(&t);
}

/* Short schemas in C: RECORD("R", FIELD("a", NULLABLE(STRING))); long ones are written as JSON. */
#define RECORD(name, fields)         "{'type':'record','name':'" name "','fields':[" fields "]}"
#define FIELD(name, type)            "{'name':'" name "','type':" type "}"
#define FIELD_MORE(name, type, more) "{'name':'" name "','type':" type "," more "}"
#define NULLABLE(type)               "['null'," type "]"
#define ARRAY(items)                 "{'type':'array','items':" items "}"
#define MAP(values)                  "{'type':'map','values':" values "}"
#define LOGICAL(type, logical)       "{'type':'" type "','logicalType':'" logical "'}"
#define FIXED(name, size)            "{'type':'fixed','name':'" name "','size':" size "}"
#define DECIMAL(precision, scale)                                                                  \
    "{'type':'bytes','logicalType':'decimal','precision':" precision ",'scale':" scale "}"
#define INT     "'int'"
#define LONG    "'long'"
#define FLOAT   "'float'"
#define DOUBLE  "'double'"
#define STRING  "'string'"
#define BYTES   "'bytes'"
#define BOOLEAN "'boolean'"

#endif
