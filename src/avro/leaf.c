/* SPDX-License-Identifier: Apache-2.0
 *
 * Primitive values, the compiling half: what the bytes mean, whether that may be assigned or cast
 * to the column, and which op does it fastest. */
#include "avro/plan_int.h"

#include <stdio.h>

static void decimal_type(const struct cv_avro_type *avro, struct cv_type *type)
{
    *type = (struct cv_type){.kind = CV_TYPE_DECIMAL,
                             .precision = (uint8_t)CV_MIN(avro->precision, 255),
                             .scale = (uint8_t)CV_MIN(avro->scale, 255)};
}

static int32_t unit_of(enum cv_avro_logical logical)
{
    switch (logical) {
    case CV_AVRO_LOGICAL_TIME_MILLIS:
    case CV_AVRO_LOGICAL_TIMESTAMP_MILLIS:
    case CV_AVRO_LOGICAL_LOCAL_TIMESTAMP_MILLIS:
        return 1000;
    case CV_AVRO_LOGICAL_TIMESTAMP_NANOS:
    case CV_AVRO_LOGICAL_LOCAL_TIMESTAMP_NANOS:
        return -1000;
    default:
        return 0;
    }
}

static bool logical_kind(enum cv_avro_logical logical, enum cv_type_kind *ret_kind)
{
    switch (logical) {
    case CV_AVRO_LOGICAL_DATE:
        *ret_kind = CV_TYPE_DATE;
        return true;
    case CV_AVRO_LOGICAL_TIME_MILLIS:
    case CV_AVRO_LOGICAL_TIME_MICROS:
        *ret_kind = CV_TYPE_TIME;
        return true;
    case CV_AVRO_LOGICAL_TIMESTAMP_MILLIS:
    case CV_AVRO_LOGICAL_TIMESTAMP_MICROS:
    case CV_AVRO_LOGICAL_TIMESTAMP_NANOS:
        *ret_kind = CV_TYPE_TIMESTAMPTZ;
        return true;
    case CV_AVRO_LOGICAL_LOCAL_TIMESTAMP_MILLIS:
    case CV_AVRO_LOGICAL_LOCAL_TIMESTAMP_MICROS:
    case CV_AVRO_LOGICAL_LOCAL_TIMESTAMP_NANOS:
        *ret_kind = CV_TYPE_TIMESTAMP;
        return true;
    default:
        return false;
    }
}

void cv_avro_leaf_type(const struct cv_avro_type *avro, struct cv_type *type)
{
    static const enum cv_type_kind kinds[] = {
        [CV_AVRO_BOOLEAN] = CV_TYPE_BOOLEAN, [CV_AVRO_INT] = CV_TYPE_INT,
        [CV_AVRO_LONG] = CV_TYPE_LONG,       [CV_AVRO_FLOAT] = CV_TYPE_FLOAT,
        [CV_AVRO_DOUBLE] = CV_TYPE_DOUBLE,   [CV_AVRO_BYTES] = CV_TYPE_BINARY,
        [CV_AVRO_STRING] = CV_TYPE_STRING,   [CV_AVRO_ENUM] = CV_TYPE_STRING,
        [CV_AVRO_FIXED] = CV_TYPE_FIXED,
    };

    *type = (struct cv_type){.kind = kinds[avro->kind], .length = avro->size};
    if (avro->logical == CV_AVRO_LOGICAL_DECIMAL)
        decimal_type(avro, type);
    else if (avro->logical == CV_AVRO_LOGICAL_UUID && avro->kind == CV_AVRO_FIXED)
        type->kind = CV_TYPE_UUID;
    else
        (void)logical_kind(avro->logical, &type->kind);
}

/* Iceberg's write-compatibility rule, and what its Spark sink adds to it because Spark has no type
 * of its own for them: an instant to either timestamp, text to uuid, binary to fixed and back. */
static bool assignable(const struct cv_type *from, const struct cv_type *to)
{
    if (from->kind == CV_TYPE_DECIMAL && to->kind == CV_TYPE_DECIMAL)
        return from->scale == to->scale && from->precision <= to->precision;
    if (from->kind == CV_TYPE_FIXED && to->kind == CV_TYPE_FIXED)
        return from->length == to->length;
    if (from->kind == to->kind)
        return true;
    switch (from->kind) {
    case CV_TYPE_INT:
        return to->kind == CV_TYPE_LONG;
    case CV_TYPE_FLOAT:
        return to->kind == CV_TYPE_DOUBLE;
    case CV_TYPE_TIMESTAMPTZ:
        return to->kind == CV_TYPE_TIMESTAMP;
    case CV_TYPE_STRING:
        return to->kind == CV_TYPE_UUID;
    case CV_TYPE_UUID:
        return to->kind == CV_TYPE_FIXED && to->length == 16;
    case CV_TYPE_BINARY:
        return to->kind == CV_TYPE_FIXED;
    case CV_TYPE_FIXED:
        return to->kind == CV_TYPE_BINARY;
    default:
        return false;
    }
}

static void describe(const struct cv_avro_type *avro, char text[CV_TYPE_TEXT_BYTES])
{
    if (avro->logical == CV_AVRO_LOGICAL_DECIMAL)
        (void)snprintf(text, CV_TYPE_TEXT_BYTES, "decimal(%d, %d)", avro->precision, avro->scale);
    else if (avro->logical != CV_AVRO_LOGICAL_NONE)
        (void)snprintf(text, CV_TYPE_TEXT_BYTES, "%s (%s)", cv_avro_kind_name(avro->kind),
                       cv_avro_logical_name(avro->logical));
    else if (avro->name)
        (void)snprintf(text, CV_TYPE_TEXT_BYTES, "%s %s", cv_avro_kind_name(avro->kind),
                       avro->name);
    else
        (void)snprintf(text, CV_TYPE_TEXT_BYTES, "%s", cv_avro_kind_name(avro->kind));
}

static bool check_cast(struct cv_plan_compiler *c, const struct cv_avro_type *reader,
                       const struct cv_plan_leaf *leaf, const char *path)
{
    char from[CV_TYPE_TEXT_BYTES];
    char to[CV_TYPE_TEXT_BYTES];
    bool cast = leaf->cast != CV_AVRO_ASSIGN;

    describe(reader, from);
    if (leaf->natural.kind == CV_TYPE_DECIMAL && leaf->natural.precision > 38) {
        cv_plan_problem(c, path, "%s has more than the 38 digits of Iceberg", from);
        return false;
    }
    if (cast && !cv_cast_allowed(&leaf->natural, &leaf->cast_type)) {
        cv_type_text(&leaf->cast_type, to);
        cv_plan_problem(c, path, "%s cannot be cast to %s", from, to);
        return false;
    }
    if (assignable(cast ? &leaf->cast_type : &leaf->natural, &leaf->column))
        return true;
    cv_type_text(&leaf->column, to);
    if (cast)
        cv_type_text(&leaf->cast_type, from);
    cv_plan_problem(c, path, "%s cannot be written to a column of type %s", from, to);
    return false;
}

static bool is_instant(enum cv_type_kind kind)
{
    return kind == CV_TYPE_TIMESTAMP || kind == CV_TYPE_TIMESTAMPTZ;
}

/* The op for a value that needs no CAST, from the wire to a column; CV_OP_VALUE if no fast one. */
static enum cv_plan_op_code plain_op(const struct cv_plan_leaf *leaf)
{
    enum cv_type_kind from = leaf->natural.kind;
    enum cv_type_kind to = leaf->column.kind;

    switch (leaf->wire) {
    case CV_AVRO_BOOLEAN:
        return CV_OP_BOOL;
    case CV_AVRO_INT:
        if (from == to && (to == CV_TYPE_INT || to == CV_TYPE_DATE))
            return CV_OP_I32;
        return to == CV_TYPE_LONG ? CV_OP_I32_TO_I64 : CV_OP_VALUE;
    case CV_AVRO_LONG:
        if (from == CV_TYPE_LONG && to == CV_TYPE_LONG)
            return CV_OP_I64;
        if (!is_instant(from))
            return CV_OP_VALUE;
        return leaf->unit == 0 ? CV_OP_I64 : leaf->unit > 0 ? CV_OP_I64_TIMES : CV_OP_I64_FLOOR;
    case CV_AVRO_FLOAT:
        return to == CV_TYPE_FLOAT ? CV_OP_F32 : CV_OP_F32_TO_F64;
    case CV_AVRO_DOUBLE:
        return CV_OP_F64;
    case CV_AVRO_STRING:
        return from == CV_TYPE_STRING && to == CV_TYPE_STRING ? CV_OP_STRING : CV_OP_VALUE;
    case CV_AVRO_BYTES:
        if (from == CV_TYPE_DECIMAL && leaf->natural.precision <= 18)
            return CV_OP_DECIMAL64;
        return from == CV_TYPE_BINARY && to == CV_TYPE_BINARY ? CV_OP_BYTES : CV_OP_VALUE;
    case CV_AVRO_FIXED:
        return from != CV_TYPE_DECIMAL && to != CV_TYPE_BINARY ? CV_OP_FIXED : CV_OP_VALUE;
    default:
        return CV_OP_VALUE;
    }
}

static struct cv_plan_op choose_op(const struct cv_plan_leaf *leaf, const struct cv_plan_dest *dest)
{
    struct cv_plan_op op = {.code = CV_OP_VALUE,
                            .null_byte = CV_OP_NOT_NULLABLE,
                            .required = dest->required,
                            .slot = dest->slot,
                            .path = dest->path,
                            .leaf = leaf};

    if (leaf->cast == CV_AVRO_ASSIGN)
        op.code = (uint8_t)plain_op(leaf);
    else if (leaf->wire == CV_AVRO_STRING && leaf->natural.kind == CV_TYPE_STRING &&
             leaf->cast_type.kind == CV_TYPE_DECIMAL && leaf->cast_type.precision <= 18)
        op.code = CV_OP_TEXT_DECIMAL64;
    if (op.code == CV_OP_I64_TIMES || op.code == CV_OP_I64_FLOOR)
        op.count = 1000;
    return op;
}

/* The texts of a writer's symbols as the reader knows them. */
static void read_symbols(struct cv_plan_compiler *c, const struct cv_avro_type *writer,
                         const struct cv_avro_type *reader, struct cv_plan_leaf *leaf)
{
    struct cv_str *symbols = cv_arena_array(c->arena, struct cv_str, writer->symbol_count);

    for (size_t i = 0; i < writer->symbol_count; i++) {
        const char *chosen = reader->enum_default;

        for (size_t k = 0; k < reader->symbol_count; k++)
            if (strcmp(reader->symbols[k], writer->symbols[i]) == 0)
                chosen = reader->symbols[k];
        if (chosen)
            symbols[i] = cv_str_from(cv_arena_strdup(c->arena, chosen));
    }
    leaf->symbols = symbols;
    leaf->symbol_count = writer->symbol_count;
}

void cv_plan_compile_leaf(struct cv_plan_compiler *c, struct cv_plan_code *code,
                          const struct cv_avro_type *writer, const struct cv_avro_type *reader,
                          const struct cv_plan_dest *dest)
{
    struct cv_plan_leaf *leaf = cv_arena_new(c->arena, struct cv_plan_leaf);

    *leaf = (struct cv_plan_leaf){.wire = writer->kind,
                                  .size = writer->size,
                                  .unit = unit_of(reader->logical),
                                  .column = *dest->type};
    cv_avro_leaf_type(reader, &leaf->natural);
    if (dest->cast != CV_AVRO_ASSIGN) {
        leaf->cast = dest->cast;
        leaf->cast_type = *dest->cast_type;
        if (leaf->cast_type.kind == leaf->natural.kind && leaf->natural.kind != CV_TYPE_DECIMAL)
            leaf->cast = CV_AVRO_ASSIGN;
    }
    if (!check_cast(c, reader, leaf, dest->path))
        return;
    if (writer->kind == CV_AVRO_ENUM)
        read_symbols(c, writer, reader, leaf);
    cv_plan_emit(c, code, choose_op(leaf, dest));
}
