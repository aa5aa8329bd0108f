/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns to DuckDB's vectors: fixed-width values by one memcpy, strings by reference where the
 * column stays in memory. */
#include "sql/duck_bits.h"
#include "sql/duck_int.h"

struct target {
    struct duckdb_vector *vector;
    size_t at; /* the values before it are filled already */
    bool copy; /* strings too */
};

static void export_values(const struct cv_column *column, size_t start, size_t count,
                          struct target to);

static void export_validity(const struct cv_column *column, size_t start, size_t count,
                            const struct target *to)
{
    uint8_t *bits;

    if (column->validity && cv_bits_clear_count(column->validity, start, count)) {
        cv_duck_api.vector_ensure_validity_writable(to->vector);
        bits = (uint8_t *)cv_duck_api.vector_get_validity(to->vector);
        cv_bits_copy(bits, to->at, column->validity, start, count);
        return;
    }
    bits = (uint8_t *)cv_duck_api.vector_get_validity(to->vector);
    if (bits)
        cv_bits_fill(bits, to->at, count);
}

static inline void set_string(struct duckdb_string *string, const char *bytes, size_t length)
{
    string->length = (uint32_t)length;
    if (length <= CV_DUCK_STRING_INLINE) {
        memset(string->inlined, 0, sizeof string->inlined);
        if (length)
            memcpy(string->inlined, bytes, length);
        return;
    }
    memcpy(string->out.prefix, bytes, sizeof string->out.prefix);
    string->out.ptr = bytes;
}

static void export_bytes(const struct cv_column *column, size_t start, size_t count,
                         const struct target *to)
{
    struct duckdb_string *strings = cv_duck_api.vector_get_data(to->vector);
    size_t width = cv_type_width(column->type);
    struct cv_str bytes;

    for (size_t i = 0; i < count; i++) {
        if (width)
            bytes = (struct cv_str){(const char *)column->data + (start + i) * width, width};
        else
            bytes = cv_column_bytes(column, start + i);
        if (to->copy && bytes.length > CV_DUCK_STRING_INLINE)
            cv_duck_api.vector_assign_string_element_len(to->vector, to->at + i, bytes.ptr,
                                                         bytes.length);
        else
            set_string(&strings[to->at + i], bytes.ptr, bytes.length);
    }
}

static void export_list(const struct cv_column *column, size_t start, size_t count,
                        const struct target *to)
{
    struct duckdb_list_entry *entries = cv_duck_api.vector_get_data(to->vector);
    size_t first = (size_t)column->offsets[start];
    size_t total = (size_t)column->offsets[start + count] - first;
    size_t size = to->at ? cv_duck_api.list_vector_get_size(to->vector) : 0;
    struct target child = {.at = size, .copy = to->copy};
    struct target member = child;

    for (size_t i = 0; i < count; i++) {
        entries[to->at + i].offset = size + (size_t)column->offsets[start + i] - first;
        entries[to->at + i].length =
            (uint64_t)(column->offsets[start + i + 1] - column->offsets[start + i]);
    }
    (void)cv_duck_api.list_vector_reserve(to->vector, size + total);
    (void)cv_duck_api.list_vector_set_size(to->vector, size + total);
    child.vector = cv_duck_api.list_vector_get_child(to->vector);
    if (column->type->kind == CV_TYPE_LIST) {
        export_values(&column->children[0], first, total, child);
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        member.vector = cv_duck_api.struct_vector_get_child(child.vector, i);
        export_values(&column->children[i], first, total, member);
    }
}

static void export_decimal(const struct cv_column *column, size_t start, size_t count,
                           const struct target *to)
{
    size_t width = cv_type_width(column->type);
    char *data = cv_duck_api.vector_get_data(to->vector);
    int16_t *small = (int16_t *)data + to->at;
    int32_t value;

    if (column->type->precision > 4) {
        memcpy(data + to->at * width, column->data + start * width, count * width);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(&value, column->data + (start + i) * 4, 4);
        small[i] = (int16_t)value;
    }
}

static void export_values(const struct cv_column *column, size_t start, size_t count,
                          struct target to)
{
    size_t width = cv_type_width(column->type);
    struct target child = to;
    char *data;

    if (count == 0)
        return;
    export_validity(column, start, count, &to);
    switch (column->type->kind) {
    case CV_TYPE_BOOLEAN:
        data = cv_duck_api.vector_get_data(to.vector);
        for (size_t i = 0; i < count; i++)
            data[to.at + i] = cv_bit_get(column->data, start + i);
        return;
    case CV_TYPE_DECIMAL:
        export_decimal(column, start, count, &to);
        return;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
    case CV_TYPE_UUID:
    case CV_TYPE_FIXED:
        export_bytes(column, start, count, &to);
        return;
    case CV_TYPE_LIST:
    case CV_TYPE_MAP:
        export_list(column, start, count, &to);
        return;
    case CV_TYPE_STRUCT:
        for (size_t i = 0; i < column->child_count; i++) {
            child.vector = cv_duck_api.struct_vector_get_child(to.vector, i);
            export_values(&column->children[i], start, count, child);
        }
        return;
    default:
        data = cv_duck_api.vector_get_data(to.vector);
        memcpy(data + to.at * width, column->data + start * width, count * width);
    }
}

void cv_duck_export(const struct cv_column *column, size_t start, size_t count,
                    struct duckdb_vector *vector, size_t at)
{
    export_values(column, start, count, (struct target){.vector = vector, .at = at});
}

void cv_duck_export_copy(const struct cv_column *column, size_t start, size_t count,
                         struct duckdb_vector *vector)
{
    export_values(column, start, count, (struct target){.vector = vector, .copy = true});
}
