/* SPDX-License-Identifier: Apache-2.0
 *
 * Iceberg types and schemas with field ids (spec: Schemas and Data Types; Appendix C for the JSON).
 * A schema is immutable once built and lives in the arena that it was built in. Types of format
 * version 3 (timestamp_ns, variant, geometry, unknown, …) are refused by name. */
#ifndef CALVE_SCHEMA_TYPE_H
#define CALVE_SCHEMA_TYPE_H

#include "base/limits.h"
#include "base/str.h"

enum cv_type_kind {
    CV_TYPE_BOOLEAN,
    CV_TYPE_INT,
    CV_TYPE_LONG,
    CV_TYPE_FLOAT,
    CV_TYPE_DOUBLE,
    CV_TYPE_DECIMAL,
    CV_TYPE_DATE,        /* days since 1970-01-01, 32 bits */
    CV_TYPE_TIME,        /* µs since midnight */
    CV_TYPE_TIMESTAMP,   /* µs since 1970-01-01T00:00:00, no zone */
    CV_TYPE_TIMESTAMPTZ, /* µs since the epoch, UTC */
    CV_TYPE_STRING,
    CV_TYPE_UUID,  /* 16 bytes, big-endian */
    CV_TYPE_FIXED, /* `length` bytes */
    CV_TYPE_BINARY,
    CV_TYPE_STRUCT,
    CV_TYPE_LIST,
    CV_TYPE_MAP,
};

struct cv_field;

struct cv_type {
    enum cv_type_kind kind;
    uint8_t precision; /* decimal: 1-38 */
    uint8_t scale;     /* decimal: 0-precision */
    uint32_t length;   /* fixed */
    /* struct: its fields; list: [element]; map: [key, value] */
    const struct cv_field *fields;
    size_t field_count;
};

struct cv_field {
    int32_t id;
    const char *name; /* of list and map children: element, key, value */
    bool required;
    struct cv_type type;
    const char *doc;             /* NULL when absent */
    const char *initial_default; /* JSON text, NULL when absent; kept, not interpreted (v3) */
    const char *write_default;   /* the same */
};

struct cv_schema {
    int32_t schema_id;
    struct cv_type root; /* a struct: the columns */
    const int32_t *identifier_ids;
    size_t identifier_count;
    int32_t highest_id; /* of all fields, nested ones too; 0 for an empty schema */
};

static inline bool cv_type_is_nested(const struct cv_type *type)
{
    return type->kind >= CV_TYPE_STRUCT;
}

bool cv_type_equal(const struct cv_type *a, const struct cv_type *b); /* ids and names too */

/* Bytes of one value in a column (batch/column.h): 1, 4, 8 or 16, the length of uuid and fixed;
 * 0 for boolean (one bit), string, binary and nested types. Decimals: 4, 8 or 16 by precision. */
size_t cv_type_width(const struct cv_type *type);
/* Primitive types in it, itself included. */
size_t cv_type_leaf_count(const struct cv_type *type);

/* "decimal(9, 2)", "list<string>", "struct<a: int, b: string>" for messages; Iceberg's words for
 * primitives. The text is cut to fit. */
#define CV_TYPE_TEXT_BYTES 256
void cv_type_text(const struct cv_type *type, char text[CV_TYPE_TEXT_BYTES]);
/* A primitive type's text in Iceberg JSON ("decimal(9, 2)", "fixed[16]"), parsed. */
enum cv_code cv_type_parse_primitive(struct cv_str text, struct cv_type *ret_type,
                                     struct cv_error *err);

/* The field with this id, at any depth; NULL if none. */
const struct cv_field *cv_schema_find_id(const struct cv_schema *schema, int32_t id);
/* The field by dotted path ("a.b", list children as element, map children as key/value). A column
 * whose own name holds dots wins over a path. NULL if none. */
const struct cv_field *cv_schema_find_name(const struct cv_schema *schema, const char *path,
                                           bool case_sensitive);
/* Dotted path of the field with this id, in the arena; NULL if none. */
const char *cv_schema_path_of(const struct cv_schema *schema, int32_t id, struct cv_arena *arena);

/* Writes the Iceberg JSON object {"type":"struct","schema-id":…,"fields":[…]}. */
struct cv_buf;
void cv_schema_write_json(const struct cv_schema *schema, struct cv_buf *out);

/* Reads it. Duplicate ids or names, dotted paths that clash ("A.B" beside A with child B), depth
 * and count above the limits, v3 types: errors that name the path. `json` is a cv_json object
 * (codec/json.h). */
struct cv_json;
enum cv_code cv_schema_read_json(const struct cv_json *json, struct cv_arena *arena,
                                 struct cv_schema *ret_schema, struct cv_error *err);

/* Reads Spark DDL: "id bigint NOT NULL, price decimal(10,2) COMMENT 'x', tags array<string>,
 * m map<string,int>, s struct<a:int, b:string NOT NULL>, ts timestamp, ts2 timestamp_ntz". Ids are
 * assigned as a new table has them: all fields of a struct in order, then each one's children.
 * Iceberg's words (long, timestamptz, fixed[16], uuid, time) are accepted too. Note that Spark's
 * `timestamp` is Iceberg's timestamptz and `timestamp_ntz` is Iceberg's timestamp. */
enum cv_code cv_schema_read_ddl(const char *text, struct cv_arena *arena,
                                struct cv_schema *ret_schema, struct cv_error *err);

/* The same type tree with ids assigned anew from 1 in the order above. */
void cv_schema_assign_ids(struct cv_schema *schema, struct cv_arena *arena);

#endif
