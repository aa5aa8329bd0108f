/* SPDX-License-Identifier: Apache-2.0
 *
 * Iceberg's types as DuckDB's, by the table in duck.h. */
#include "sql/duck_int.h"

static int type_id(enum cv_type_kind kind)
{
    switch (kind) {
    case CV_TYPE_BOOLEAN:
        return DUCKDB_BOOLEAN;
    case CV_TYPE_INT:
        return DUCKDB_INTEGER;
    case CV_TYPE_LONG:
        return DUCKDB_BIGINT;
    case CV_TYPE_FLOAT:
        return DUCKDB_FLOAT;
    case CV_TYPE_DOUBLE:
        return DUCKDB_DOUBLE;
    case CV_TYPE_DECIMAL:
        return DUCKDB_DECIMAL;
    case CV_TYPE_DATE:
        return DUCKDB_DATE;
    case CV_TYPE_TIME:
        return DUCKDB_TIME;
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        return DUCKDB_TIMESTAMP;
    case CV_TYPE_STRING:
        return DUCKDB_VARCHAR;
    case CV_TYPE_STRUCT:
        return DUCKDB_STRUCT;
    case CV_TYPE_LIST:
        return DUCKDB_LIST;
    case CV_TYPE_MAP:
        return DUCKDB_MAP;
    default:
        return DUCKDB_BLOB;
    }
}

static struct duckdb_logical_type *struct_type(const struct cv_type *type)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct duckdb_logical_type **members;
    struct duckdb_logical_type *result;
    const char **names;

    members = cv_arena_array(&arena, struct duckdb_logical_type *, type->field_count);
    names = cv_arena_array(&arena, const char *, type->field_count);
    for (size_t i = 0; i < type->field_count; i++) {
        members[i] = cv_duck_logical_type(&type->fields[i].type);
        names[i] = type->fields[i].name;
    }
    result = cv_duck_api.create_struct_type(members, names, type->field_count);
    for (size_t i = 0; i < type->field_count; i++)
        cv_duck_api.destroy_logical_type(&members[i]);
    return result;
}

struct duckdb_logical_type *cv_duck_logical_type(const struct cv_type *type)
{
    struct duckdb_logical_type *first;
    struct duckdb_logical_type *second = NULL;
    struct duckdb_logical_type *result;

    if (type->kind == CV_TYPE_DECIMAL)
        return cv_duck_api.create_decimal_type(type->precision, type->scale);
    if (!cv_type_is_nested(type))
        return cv_duck_api.create_logical_type(type_id(type->kind));
    if (type->kind == CV_TYPE_STRUCT)
        return struct_type(type);
    first = cv_duck_logical_type(&type->fields[0].type);
    if (type->kind == CV_TYPE_MAP) {
        second = cv_duck_logical_type(&type->fields[1].type);
        result = cv_duck_api.create_map_type(first, second);
        cv_duck_api.destroy_logical_type(&second);
    } else {
        result = cv_duck_api.create_list_type(first);
    }
    cv_duck_api.destroy_logical_type(&first);
    return result;
}

static bool child_matches(const struct cv_type *type, struct duckdb_logical_type *child)
{
    bool matches = cv_duck_type_matches(type, child);

    cv_duck_api.destroy_logical_type(&child);
    return matches;
}

bool cv_duck_type_matches(const struct cv_type *type, struct duckdb_logical_type *duck)
{
    if (cv_duck_api.get_type_id(duck) != type_id(type->kind))
        return false;
    switch (type->kind) {
    case CV_TYPE_DECIMAL:
        return cv_duck_api.decimal_width(duck) == type->precision &&
               cv_duck_api.decimal_scale(duck) == type->scale;
    case CV_TYPE_LIST:
        return child_matches(&type->fields[0].type, cv_duck_api.list_type_child_type(duck));
    case CV_TYPE_MAP:
        return child_matches(&type->fields[0].type, cv_duck_api.map_type_key_type(duck)) &&
               child_matches(&type->fields[1].type, cv_duck_api.map_type_value_type(duck));
    case CV_TYPE_STRUCT:
        if (cv_duck_api.struct_type_child_count(duck) != type->field_count)
            return false;
        for (size_t i = 0; i < type->field_count; i++)
            if (!child_matches(&type->fields[i].type, cv_duck_api.struct_type_child_type(duck, i)))
                return false;
        return true;
    default:
        return true;
    }
}
