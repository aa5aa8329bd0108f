/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that make lists, maps and structs, and that reach into them. */
#include "sql/function_int.h"

static const struct cv_type int_type = {.kind = CV_TYPE_INT};
static const struct cv_type long_type = {.kind = CV_TYPE_LONG};
static const struct cv_type boolean_type = {.kind = CV_TYPE_BOOLEAN};
static const struct cv_type string_type = {.kind = CV_TYPE_STRING};

/* A template over expressions that are not the call's own arguments. */
static const struct cv_expr *over(struct cv_call *call, const char *sql, const struct cv_type *type,
                                  const struct cv_expr *a, const struct cv_expr *b,
                                  const struct cv_expr *c)
{
    const struct cv_expr *all[3] = {a, b, c};

    return cv_expr_call(call->arena, sql, type, all, c ? 3 : b ? 2 : 1, call->position);
}

/* --- making ---------------------------------------------------------------------------------- */

static enum cv_code bind_list(const struct cv_function *function, struct cv_call *call,
                              const struct cv_expr **ret_expr, struct cv_error *err)
{
    struct cv_type element;
    struct cv_type type;

    if (call->argument_count == 0)
        return cv_fail(err, CV_UNSUPPORTED, "%s: an empty list has no type here",
                       function->signature);
    CV_DO(cv_bind_common(call, 0, 1, &element, err));
    type = cv_type_list_of(call->arena, &element);
    *ret_expr = cv_bind_sql(
        call, cv_bind_list_sql(call->arena, "list_value(", ", ", ")", call->argument_count), &type);
    return CV_OK;
}

static void put_name(struct cv_buf *out, const char *name)
{
    cv_buf_append_byte(out, '"');
    for (; *name; name++) {
        if (*name == '"' || *name == '$')
            cv_buf_append_byte(out, (uint8_t)*name);
        cv_buf_append_byte(out, (uint8_t)*name);
    }
    cv_buf_append_byte(out, '"');
}

static enum cv_code bind_struct(const struct cv_function *function, struct cv_call *call,
                                const struct cv_expr **ret_expr, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);
    size_t count = call->argument_count / 2;
    struct cv_field *fields = cv_arena_array(call->arena, struct cv_field, count + 1);
    struct cv_type type = {.kind = CV_TYPE_STRUCT, .fields = fields, .field_count = count};

    if (count == 0 || call->argument_count % 2)
        return cv_fail(err, CV_SCHEMA, "%s: names and values come in pairs", function->signature);
    cv_buf_append_text(&sql, "struct_pack(");
    for (size_t i = 0; i < count; i++) {
        CV_DO(cv_bind_constant_text(call, 2 * i, "a name", &fields[i].name, err));
        CV_DO(cv_bind_letter(call, 2 * i + 1, 'a', err));
        fields[i].type = call->arguments[2 * i + 1]->type;
        cv_buf_append_text(&sql, i ? ", " : "");
        put_name(&sql, fields[i].name);
        cv_buf_printf(&sql, " := $%zu", 2 * i + 2);
    }
    cv_buf_append_byte(&sql, ')');
    *ret_expr = cv_bind_sql(call, cv_arena_strdup(call->arena, cv_buf_text(&sql)), &type);
    return CV_OK;
}

static enum cv_code bind_map(const struct cv_function *function, struct cv_call *call,
                             const struct cv_expr **ret_expr, struct cv_error *err)
{
    struct cv_type type;

    CV_DO(cv_bind_letter(call, 0, 'L', err));
    CV_DO(cv_bind_letter(call, 1, 'L', err));
    type = cv_type_map_of(call->arena, &call->arguments[0]->type.fields[0].type,
                          &call->arguments[1]->type.fields[0].type);
    *ret_expr = cv_bind_sql(call, function->detail, &type);
    return CV_OK;
}

/* --- reaching in ----------------------------------------------------------------------------- */

static enum cv_code bind_field(const struct cv_function *function, struct cv_call *call,
                               const struct cv_expr **ret_expr, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);
    const struct cv_type *type = &call->arguments[0]->type;
    const struct cv_field *field = NULL;
    const char *name;

    (void)function;
    CV_DO(cv_bind_constant_text(call, 1, "the name of a field", &name, err));
    if (type->kind != CV_TYPE_STRUCT || cv_expr_is_interval(call->arguments[0]))
        return cv_bind_refuse(call, 0, "a struct", err);
    for (size_t i = 0; i < type->field_count && !field; i++)
        if (strcmp(type->fields[i].name, name) == 0)
            field = &type->fields[i];
    for (size_t i = 0; i < type->field_count && !field; i++)
        if (cv_text_equal_nocase(type->fields[i].name, name))
            field = &type->fields[i];
    if (!field)
        return cv_fail(err, CV_NOT_FOUND, "there is no field %s", name);
    cv_buf_append_text(&sql, "struct_extract($1, '");
    for (const char *c = field->name; *c; c++) {
        if (*c == '\'' || *c == '$')
            cv_buf_append_byte(&sql, (uint8_t)*c);
        cv_buf_append_byte(&sql, (uint8_t)*c);
    }
    cv_buf_append_text(&sql, "')");
    call->argument_count = 1;
    *ret_expr = cv_bind_sql(call, cv_arena_strdup(call->arena, cv_buf_text(&sql)), &field->type);
    return CV_OK;
}

/* Of a list's length and a position from 1, or from the end from -1. */
static bool native_index(struct cv_native_row *row)
{
    int64_t length = row->in[0].i64;
    int64_t index = row->in[1].i32;

    row->out.i64 = index;
    if (row->native->number == 'g') { /* get(): from 0, NULL outside */
        row->out.is_null = index < 0 || index >= length;
        row->out.i64 = index + 1;
        return true;
    }
    if (index == 0)
        return cv_native_fail(row, "the elements of a list are counted from 1");
    if (index > length || index < -length)
        return cv_native_fail(row, "the list has %lld elements, none at %lld", (long long)length,
                              (long long)index);
    return true;
}

/* One of the natives over the length of the list in argument 0 and further arguments. */
static const struct cv_expr *index_expr(struct cv_call *call, cv_native_call *native,
                                        int64_t number)
{
    struct cv_call inner = *call;

    inner.arguments =
        cv_arena_copy(call->arena, call->arguments, call->argument_count * sizeof(void *));
    inner.arguments[0] = over(call, "len($1)", &long_type, call->arguments[0], NULL, NULL);
    return cv_bind_native(
        &inner, &(struct cv_native){.call = native, .number = number, .result = long_type});
}

static enum cv_code bind_element(const struct cv_function *function, struct cv_call *call,
                                 const struct cv_expr **ret_expr, struct cv_error *err)
{
    const struct cv_type *type = &call->arguments[0]->type;

    if (type->kind == CV_TYPE_MAP && function->number != 'g') {
        CV_DO(cv_bind_implicit(call, 1, &type->fields[0].type, err));
        *ret_expr = cv_bind_sql(call, "$1[$2]", &type->fields[1].type);
        return CV_OK;
    }
    CV_DO(cv_bind_letter(call, 0, 'L', err));
    CV_DO(cv_bind_letter(call, 1, 'i', err));
    *ret_expr = over(call, "list_extract($1, $2)", &type->fields[0].type, call->arguments[0],
                     index_expr(call, native_index, function->number), NULL);
    return CV_OK;
}

static bool native_slice_start(struct cv_native_row *row)
{
    int64_t length = row->in[0].i64;
    int64_t start = row->in[1].i32;

    if (start == 0)
        return cv_native_fail(row, "slice: the elements of a list are counted from 1");
    if (row->in[2].i32 < 0)
        return cv_native_fail(row, "slice: the length is negative");
    if (start < 0)
        start += length + 1;
    row->out.i64 = start < 1 || row->in[2].i32 == 0 ? length + 1 : start;
    return true;
}

static enum cv_code bind_slice(const struct cv_function *function, struct cv_call *call,
                               const struct cv_expr **ret_expr, struct cv_error *err)
{
    (void)function;
    CV_DO(cv_bind_letter(call, 0, 'L', err));
    CV_DO(cv_bind_letter(call, 1, 'i', err));
    CV_DO(cv_bind_letter(call, 2, 'i', err));
    *ret_expr =
        over(call, "list_slice($1, $2, $2 + $3 - 1)", &call->arguments[0]->type, call->arguments[0],
             index_expr(call, native_slice_start, 0), call->arguments[2]);
    return CV_OK;
}

/* --- asking ---------------------------------------------------------------------------------- */

static enum cv_code bind_size(const struct cv_function *function, struct cv_call *call,
                              const struct cv_expr **ret_expr, struct cv_error *err)
{
    bool is_map = call->arguments[0]->type.kind == CV_TYPE_MAP && !call->arguments[0]->untyped;

    if (!is_map || function->number)
        CV_DO(cv_bind_letter(call, 0, 'L', err));
    *ret_expr = cv_bind_sql(
        call, is_map ? "CAST(cardinality($1) AS INTEGER)" : "CAST(len($1) AS INTEGER)", &int_type);
    return CV_OK;
}

/* The list's elements and the value in one type; lists of plain values only. */
static enum cv_code coerce_element(struct cv_call *call, struct cv_error *err)
{
    struct cv_type type;
    struct cv_type list;

    CV_DO(cv_bind_letter(call, 0, 'L', err));
    type = call->arguments[0]->type.fields[0].type;
    if (call->arguments[1]->untyped)
        return cv_fail(err, CV_SCHEMA, "%s: NULL has no type", call->name);
    if (cv_type_is_nested(&type))
        return cv_bind_refuse(call, 0, "a list of plain values", err);
    if (!call->arguments[1]->untyped && !cv_type_common(&type, &call->arguments[1]->type, &type))
        return cv_bind_refuse(call, 1, "a value like the list's elements", err);
    list = cv_type_list_of(call->arena, &type);
    CV_DO(cv_expr_cast(call, call->arguments[0], &list, false, &call->arguments[0], err));
    return cv_expr_cast(call, call->arguments[1], &type, false, &call->arguments[1], err);
}

static bool values_equal(const struct cv_value *a, const struct cv_value *b)
{
    if (a->kind == CV_TYPE_DOUBLE && a->f64 == b->f64)
        return true; /* -0.0 and 0.0 */
    if (a->kind == CV_TYPE_FLOAT && a->f32 == b->f32)
        return true;
    return cv_value_compare(a, b) == 0;
}

/* Where the value is first, from 1; 0 = nowhere, and whether a NULL was met. */
static int64_t find_value(const struct cv_native_row *row, bool *ret_null)
{
    const struct cv_column *list = &row->columns[0];
    const struct cv_column *elements = &list->children[0];
    size_t start = (size_t)list->offsets[row->row];

    *ret_null = false;
    for (size_t i = start; i < (size_t)list->offsets[row->row + 1]; i++) {
        struct cv_value value = cv_column_value(elements, i);

        *ret_null = *ret_null || value.is_null;
        if (!value.is_null && values_equal(&value, &row->in[1]))
            return (int64_t)(i - start) + 1;
    }
    return 0;
}

static bool native_array_contains(struct cv_native_row *row)
{
    bool null;

    row->out.boolean = find_value(row, &null) > 0;
    row->out.is_null = !row->out.boolean && null;
    return true;
}

static bool native_array_position(struct cv_native_row *row)
{
    bool null;

    row->out.i64 = find_value(row, &null);
    return true;
}

static enum cv_code bind_find(const struct cv_function *function, struct cv_call *call,
                              const struct cv_expr **ret_expr, struct cv_error *err)
{
    CV_DO(coerce_element(call, err));
    *ret_expr = cv_bind_native(
        call, &(struct cv_native){.call = function->native,
                                  .result = {.kind = (enum cv_type_kind)function->number}});
    return CV_OK;
}

static bool native_array_join(struct cv_native_row *row)
{
    const struct cv_column *list = &row->columns[0];
    bool first = true;

    for (int32_t i = list->offsets[row->row]; i < list->offsets[row->row + 1]; i++) {
        struct cv_value value = cv_column_value(&list->children[0], (size_t)i);

        if (value.is_null && row->native->argument_count < 3)
            continue;
        if (value.is_null)
            value.bytes = row->in[2].bytes;
        if (!first)
            cv_buf_append(row->scratch, row->in[1].bytes.ptr, row->in[1].bytes.length);
        first = false;
        cv_buf_append(row->scratch, value.bytes.ptr, value.bytes.length);
    }
    row->out.bytes = (struct cv_str){(const char *)row->scratch->data, row->scratch->length};
    return true;
}

static enum cv_code bind_array_join(const struct cv_function *function, struct cv_call *call,
                                    const struct cv_expr **ret_expr, struct cv_error *err)
{
    struct cv_type list = cv_type_list_of(call->arena, &string_type);

    CV_DO(cv_bind_letter(call, 0, 'L', err));
    if (cv_type_is_nested(&call->arguments[0]->type.fields[0].type))
        return cv_bind_refuse(call, 0, "a list of texts", err);
    CV_DO(cv_expr_cast(call, call->arguments[0], &list, false, &call->arguments[0], err));
    for (size_t i = 1; i < call->argument_count; i++)
        CV_DO(cv_bind_letter(call, i, 's', err));
    *ret_expr =
        cv_bind_native(call, &(struct cv_native){.call = function->native, .result = string_type});
    return CV_OK;
}

enum { RESULT_ELEMENT, RESULT_LIST, RESULT_INNER, RESULT_KEYS, RESULT_VALUES };

/* Templates over one list or map. Sorting and comparing is for plain values. */
static enum cv_code bind_over(const struct cv_function *function, struct cv_call *call,
                              const struct cv_expr **ret_expr, struct cv_error *err)
{
    bool is_map = function->number >= RESULT_KEYS;
    struct cv_type type;

    CV_DO(cv_bind_letter(call, 0, is_map ? 'M' : 'L', err));
    type = call->arguments[0]->type;
    if (is_map)
        type = cv_type_list_of(call->arena, &type.fields[function->number - RESULT_KEYS].type);
    else if (function->number == RESULT_INNER && type.fields[0].type.kind != CV_TYPE_LIST)
        return cv_bind_refuse(call, 0, "a list of lists", err);
    else if (function->number != RESULT_INNER && cv_type_is_nested(&type.fields[0].type))
        return cv_bind_refuse(call, 0, "a list of plain values", err);
    else if (function->number != RESULT_LIST)
        type = type.fields[0].type;
    *ret_expr = cv_bind_sql(call, function->detail, &type);
    return CV_OK;
}

static enum cv_code bind_sort(const struct cv_function *function, struct cv_call *call,
                              const struct cv_expr **ret_expr, struct cv_error *err)
{
    struct cv_function row = *function;
    bool descending = false;

    row.number = RESULT_LIST;
    if (call->argument_count == 2) {
        const struct cv_expr *order = call->arguments[1];

        if (order->type.kind != CV_TYPE_BOOLEAN || order->untyped || order->argument_count > 1)
            return cv_bind_refuse(call, 1, "TRUE or FALSE", err);
        while (order->kind == CV_EXPR_CALL && order->argument_count == 1)
            order = order->arguments[0];
        if (order->kind != CV_EXPR_CONSTANT)
            return cv_fail(err, CV_UNSUPPORTED, "sort_array: the order has to be a constant");
        descending = strpbrk(order->sql, "fF") != NULL; /* false, or 'f' that is cast */
        call->argument_count = 1;
    }
    row.detail = descending ? "list_sort($1, 'DESC', 'NULLS LAST')" : function->detail;
    return bind_over(&row, call, ret_expr, err);
}

static enum cv_code bind_has_key(const struct cv_function *function, struct cv_call *call,
                                 const struct cv_expr **ret_expr, struct cv_error *err)
{
    CV_DO(cv_bind_letter(call, 0, 'M', err));
    CV_DO(cv_bind_implicit(call, 1, &call->arguments[0]->type.fields[0].type, err));
    *ret_expr = cv_bind_sql(call, function->detail, &boolean_type);
    return CV_OK;
}

#define OP CV_FUNCTION_OPERATOR

const struct cv_function cv_functions_nested[] = {
    {"list_value", "[a, …] → list", 0, 255, bind_list, NULL, OP, NULL, NULL, 0},
    {"struct_pack", "{'name': value, …} → struct", 2, 254, bind_struct, NULL, OP, NULL, NULL, 0},
    {"named_struct", "named_struct('name', value, …) → struct", 2, 254, bind_struct, NULL, 0, NULL,
     NULL, 0},
    {"map", "MAP {key: value, …} → map", 2, 2, bind_map, "MAP($1, $2)", OP,
     "a key that comes twice is an error of the row", NULL, 0},
    {"map_from_arrays", "map_from_arrays(keys, values) → map", 2, 2, bind_map, "MAP($1, $2)", 0,
     NULL, NULL, 0},
    {"struct_extract", "struct.field", 2, 2, bind_field, NULL, OP, NULL, NULL, 0},
    {"array_extract", "list[position], map[key]", 2, 2, bind_element, NULL, OP,
     "positions count from 1 as in DuckDB (Spark's from 0), from the end from -1; outside is an "
     "error of the row; a key that is not there gives NULL",
     NULL, 'x'},
    {"element_at", "element_at(list or map, position or key)", 2, 2, bind_element, NULL, 0,
     "from 1; outside is an error of the row", NULL, 'x'},
    {"get", "get(list, position)", 2, 2, bind_element, NULL, 0, "from 0; NULL outside", NULL, 'g'},
    {"size", "size(list or map) → int", 1, 1, bind_size, NULL, 0, "NULL for NULL", NULL, 0},
    {"cardinality", "cardinality(list or map) → int", 1, 1, bind_size, NULL, 0, NULL, NULL, 0},
    {"array_size", "array_size(list) → int", 1, 1, bind_size, NULL, 0, NULL, NULL, 1},
    {"array_length", "array_length(list) → int", 1, 1, bind_size, NULL, 0, "Spark's array_size",
     NULL, 1},
    {"array_contains", "array_contains(list, value) → boolean", 2, 2, bind_find, NULL, 0,
     "NULL if it is not found but a NULL is", native_array_contains, CV_TYPE_BOOLEAN},
    {"list_contains", "list_contains(list, value) → boolean", 2, 2, bind_find, NULL, 0,
     "Spark's array_contains", native_array_contains, CV_TYPE_BOOLEAN},
    {"array_position", "array_position(list, value) → bigint", 2, 2, bind_find, NULL, 0,
     "from 1; 0 if it is not found", native_array_position, CV_TYPE_LONG},
    {"array_join", "array_join(list, separator[, for NULL]) → string", 2, 3, bind_array_join, NULL,
     0, NULL, native_array_join, 0},
    {"array_min", "array_min(list) → element", 1, 1, bind_over, "list_min($1)", 0, NULL, NULL,
     RESULT_ELEMENT},
    {"array_max", "array_max(list) → element", 1, 1, bind_over, "list_max($1)", 0, NULL, NULL,
     RESULT_ELEMENT},
    {"slice", "slice(list, start, length) → list", 3, 3, bind_slice, NULL, 0,
     "from 1, or from the end from -1", NULL, 0},
    {"sort_array", "sort_array(list[, ascending]) → list", 1, 2, bind_sort,
     "list_sort($1, 'ASC', 'NULLS FIRST')", 0, NULL, NULL, 0},
    {"array_sort", "array_sort(list) → list", 1, 1, bind_over, "list_sort($1, 'ASC', 'NULLS LAST')",
     0, NULL, NULL, RESULT_LIST},
    {"array_distinct", "array_distinct(list) → list", 1, 1, bind_over,
     "list_filter($1, lambda x, i: list_position($1, x) = i)", 0, NULL, NULL, RESULT_LIST},
    {"flatten", "flatten(list of lists) → list", 1, 1, bind_over,
     "CASE WHEN len(list_filter($1, lambda x: x IS NULL)) = 0 THEN flatten($1) END", 0,
     "NULL if a list in it is NULL", NULL, RESULT_INNER},
    {"map_keys", "map_keys(map) → list", 1, 1, bind_over, "map_keys($1)", 0, NULL, NULL,
     RESULT_KEYS},
    {"map_values", "map_values(map) → list", 1, 1, bind_over, "map_values($1)", 0, NULL, NULL,
     RESULT_VALUES},
    {"map_contains_key", "map_contains_key(map, key) → boolean", 2, 2, bind_has_key,
     "list_contains(map_keys($1), $2)", 0, NULL, NULL, 0},
};
const size_t cv_functions_nested_count = CV_ARRAY_LENGTH(cv_functions_nested);
