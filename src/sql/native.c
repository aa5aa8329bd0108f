/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of natives of a query, and the driver that DuckDB calls for each vector of rows. */
#include "sql/native.h"

#include "sql/duck_int.h"

#include <stdio.h>
#include <stdlib.h>

struct cv_native_owned {
    void *pointer;
    void (*release)(void *);
    struct cv_native_owned *next;
};

struct cv_natives *cv_natives_new(void)
{
    struct cv_natives *natives = cv_alloc(sizeof *natives);

    natives->last = &natives->first;
    return natives;
}

void cv_natives_free(struct cv_natives *natives)
{
    if (!natives)
        return;
    for (struct cv_native_owned *o = natives->owned; o; o = o->next)
        o->release(o->pointer);
    cv_arena_release(&natives->arena);
    free(natives);
}

void cv_natives_own(struct cv_natives *natives, void *pointer, void (*release)(void *))
{
    struct cv_native_owned *owned = cv_arena_new(&natives->arena, struct cv_native_owned);

    *owned = (struct cv_native_owned){pointer, release, natives->owned};
    natives->owned = owned;
}

static bool same_native(const struct cv_native *a, const struct cv_native *like,
                        const struct cv_type *const *arguments, size_t count)
{
    if (a->call != like->call || a->flags != like->flags || a->number != like->number ||
        a->extra != like->extra || a->argument_count != count ||
        !cv_type_equal(&a->result, &like->result))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!cv_type_equal(&a->arguments[i], arguments[i]))
            return false;
    return true;
}

struct cv_schema cv_native_columns(struct cv_arena *arena, const struct cv_type *types,
                                   size_t count)
{
    struct cv_field *fields = cv_arena_array(arena, struct cv_field, count + 1);

    for (size_t i = 0; i < count; i++)
        fields[i] = (struct cv_field){.id = (int32_t)i + 1, .name = "column", .type = types[i]};
    return (struct cv_schema){
        .root = {.kind = CV_TYPE_STRUCT, .fields = fields, .field_count = count}};
}

const struct cv_native *cv_native_use(struct cv_natives *natives, const struct cv_native *like,
                                      const struct cv_type *const *arguments, size_t count)
{
    struct cv_native *native;

    for (native = natives->first; native; native = native->next)
        if (same_native(native, like, arguments, count))
            return native;
    native = cv_arena_new(&natives->arena, struct cv_native);
    *native = *like;
    native->arguments = cv_arena_array(&natives->arena, struct cv_type, count ? count : 1);
    native->argument_count = count;
    native->next = NULL;
    for (size_t i = 0; i < count; i++)
        native->arguments[i] = *arguments[i];
    native->in_schema = cv_native_columns(&natives->arena, native->arguments, count);
    native->out_schema = cv_native_columns(&natives->arena, &native->result, 1);
    (void)snprintf(native->name, sizeof native->name, "calve_%zu", natives->count++);
    *natives->last = native;
    natives->last = &native->next;
    return native;
}

/* --- the driver ------------------------------------------------------------------------------ */

static void append_value(struct cv_builder *builder, const struct cv_type *type,
                         const struct cv_value *value)
{
    if (value->is_null) {
        cv_builder_null(builder);
        return;
    }
    switch (type->kind) {
    case CV_TYPE_BOOLEAN:
        cv_builder_bool(builder, value->boolean);
        return;
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        cv_builder_i32(builder, value->i32);
        return;
    case CV_TYPE_FLOAT:
        cv_builder_f32(builder, value->f32);
        return;
    case CV_TYPE_DOUBLE:
        cv_builder_f64(builder, value->f64);
        return;
    case CV_TYPE_DECIMAL:
        cv_builder_decimal(builder, value->decimal);
        return;
    case CV_TYPE_UUID:
    case CV_TYPE_FIXED:
        cv_builder_fixed(builder, value->bytes.ptr);
        return;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
        cv_builder_bytes(builder, value->bytes.ptr, value->bytes.length);
        return;
    case CV_TYPE_LIST:
        cv_builder_end_list(builder);
        return;
    default:
        cv_builder_i64(builder, value->i64);
        return;
    }
}

/* What one call of DuckDB works with. */
struct work {
    const struct cv_native *native;
    struct cv_batch_builder in, out;
    struct cv_batch batch;
    struct cv_value *values;
    struct cv_native_row row;
    struct cv_buf scratch, work;
};

/* False when NULL goes to NULL without a call. */
static bool load_row(struct work *w, size_t row)
{
    bool nulls = (w->native->flags & CV_NATIVE_NULLS) != 0;

    for (size_t i = 0; i < w->native->argument_count; i++) {
        const struct cv_column *column = &w->batch.columns[i];

        if (cv_type_is_nested(column->type))
            w->values[i] = (struct cv_value){.is_null = cv_column_is_null(column, row),
                                             .kind = column->type->kind};
        else
            w->values[i] = cv_column_value(column, row);
        if (w->values[i].is_null && !nulls)
            return false;
    }
    return true;
}

static bool run_row(struct work *w, size_t row)
{
    struct cv_builder *result = &w->out.columns[0];
    const struct cv_type *type = &w->native->result;

    if (!load_row(w, row)) {
        cv_builder_null(result);
        return true;
    }
    cv_buf_clear(&w->scratch);
    w->row.row = row;
    w->row.out = (struct cv_value){.kind = type->kind};
    w->row.list = type->kind == CV_TYPE_LIST ? &result->children[0] : NULL;
    if (!w->native->call(&w->row)) {
        if (!(w->native->flags & CV_NATIVE_TRY))
            return false;
        w->row.out.is_null = true;
    }
    append_value(result, type, &w->row.out);
    return true;
}

static enum cv_code run_rows(struct work *w, struct duckdb_chunk *input,
                             struct duckdb_vector *output, struct cv_error *err)
{
    size_t rows = cv_duck_api.data_chunk_get_size(input);
    struct cv_batch result;

    for (size_t i = 0; i < w->native->argument_count; i++)
        CV_DO(cv_duck_import(cv_duck_api.data_chunk_get_vector(input, i), 0, rows,
                             &w->in.columns[i], err));
    cv_batch_builder_view(&w->in, &w->batch);
    w->row.columns = w->batch.columns;
    for (size_t row = 0; row < rows; row++)
        if (!run_row(w, row))
            return cv_fail(err, CV_RECORD, "%s", w->row.reason);
    if (w->scratch.failed || w->work.failed || cv_batch_builder_overflow(&w->out))
        return cv_fail(err, CV_RECORD, "a text is longer than can be held");
    cv_batch_builder_view(&w->out, &result);
    cv_duck_export_copy(&result.columns[0], 0, rows, output);
    return CV_OK;
}

static void call_native(struct duckdb_info *info, struct duckdb_chunk *input,
                        struct duckdb_vector *output)
{
    const struct cv_native *native = cv_duck_api.scalar_function_get_extra_info(info);
    struct cv_error err = CV_ERROR_INIT;
    struct work w = {.native = native, .scratch = CV_BUF_INIT(CV_BUF_BYTES_MAX / 2)};

    cv_batch_builder_init(&w.in, &native->in_schema);
    cv_batch_builder_init(&w.out, &native->out_schema);
    w.values = cv_alloc((native->argument_count + 1) * sizeof *w.values);
    w.row.native = native;
    w.row.in = w.values;
    w.row.scratch = &w.scratch;
    w.row.work = &w.work;
    if (native->make_state)
        w.row.state = native->make_state(native);
    if (run_rows(&w, input, output, &err) != CV_OK)
        cv_duck_api.scalar_function_set_error(info, err.message);
    if (native->make_state)
        native->free_state(w.row.state);
    cv_batch_builder_release(&w.in);
    cv_batch_builder_release(&w.out);
    free(w.values);
    cv_buf_release(&w.scratch);
    cv_buf_release(&w.work);
}

/* --- registration ---------------------------------------------------------------------------- */

static enum cv_code register_one(const struct cv_native *native,
                                 struct cv_duck_connection *connection, struct cv_error *err)
{
    struct duckdb_scalar_function *function = cv_duck_api.create_scalar_function();
    struct duckdb_logical_type *type;
    int failed;

    cv_duck_api.scalar_function_set_name(function, native->name);
    for (size_t i = 0; i < native->argument_count; i++) {
        type = cv_duck_logical_type(&native->arguments[i]);
        cv_duck_api.scalar_function_add_parameter(function, type);
        cv_duck_api.destroy_logical_type(&type);
    }
    type = cv_duck_logical_type(&native->result);
    cv_duck_api.scalar_function_set_return_type(function, type);
    cv_duck_api.destroy_logical_type(&type);
    cv_duck_api.scalar_function_set_special_handling(function);
    cv_duck_api.scalar_function_set_extra_info(function, (void *)native, NULL);
    cv_duck_api.scalar_function_set_function(function, call_native);
    failed = cv_duck_api.register_scalar_function(connection->handle, function);
    cv_duck_api.destroy_scalar_function(&function);
    if (failed)
        return cv_fail(err, CV_INTERNAL, "DuckDB does not take the function %s", native->name);
    return CV_OK;
}

enum cv_code cv_natives_register(const struct cv_natives *natives,
                                 struct cv_duck_connection *connection, struct cv_error *err)
{
    for (const struct cv_native *n = natives->first; n; n = n->next)
        CV_DO(register_one(n, connection, err));
    return cv_sketch_register(natives, connection, err);
}
