/* SPDX-License-Identifier: Apache-2.0
 *
 * Avro schemas as a tree (Avro 1.12 specification, Schema Declaration). Named types that are used
 * again point to the one definition, so a recursive schema is a cycle: walkers bound their depth
 * or use cv_avro_schema_cycle(). Lives in an arena; immutable. */
#ifndef CALVE_CODEC_AVRO_SCHEMA_H
#define CALVE_CODEC_AVRO_SCHEMA_H

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "codec/json.h"

enum cv_avro_kind {
    CV_AVRO_NULL,
    CV_AVRO_BOOLEAN,
    CV_AVRO_INT,
    CV_AVRO_LONG,
    CV_AVRO_FLOAT,
    CV_AVRO_DOUBLE,
    CV_AVRO_BYTES,
    CV_AVRO_STRING,
    CV_AVRO_RECORD,
    CV_AVRO_ENUM,
    CV_AVRO_ARRAY,
    CV_AVRO_MAP,
    CV_AVRO_UNION,
    CV_AVRO_FIXED,
};

/* Logical types; one that does not fit its type (decimal without precision, a scale above it, …) is
 * ignored, as the specification says, and stays CV_AVRO_LOGICAL_NONE. */
enum cv_avro_logical {
    CV_AVRO_LOGICAL_NONE,
    CV_AVRO_LOGICAL_DECIMAL,
    CV_AVRO_LOGICAL_BIG_DECIMAL,
    CV_AVRO_LOGICAL_UUID,
    CV_AVRO_LOGICAL_DATE,
    CV_AVRO_LOGICAL_TIME_MILLIS,
    CV_AVRO_LOGICAL_TIME_MICROS,
    CV_AVRO_LOGICAL_TIMESTAMP_MILLIS,
    CV_AVRO_LOGICAL_TIMESTAMP_MICROS,
    CV_AVRO_LOGICAL_TIMESTAMP_NANOS,
    CV_AVRO_LOGICAL_LOCAL_TIMESTAMP_MILLIS,
    CV_AVRO_LOGICAL_LOCAL_TIMESTAMP_MICROS,
    CV_AVRO_LOGICAL_LOCAL_TIMESTAMP_NANOS,
    CV_AVRO_LOGICAL_DURATION,
    CV_AVRO_LOGICAL_MAP, /* Iceberg's array of key-value records */
};

struct cv_avro_field {
    const char *name;
    const struct cv_avro_type *type;
    const char *const *aliases;
    size_t alias_count;
    const struct cv_json *default_value; /* NULL = none; as long as the arena's document */
    int32_t field_id;                    /* Iceberg's field-id; -1 when absent */
};

struct cv_avro_type {
    enum cv_avro_kind kind;
    enum cv_avro_logical logical;
    int32_t precision;
    int32_t scale;
    bool adjust_to_utc;         /* Iceberg's adjust-to-utc */
    const char *name;           /* full name of record, enum, fixed; NULL otherwise */
    const char *const *aliases; /* full names */
    size_t alias_count;
    struct cv_avro_field *fields; /* record */
    size_t field_count;
    const struct cv_avro_type **branches; /* union */
    size_t branch_count;
    const struct cv_avro_type *items; /* array items, map values */
    const char *const *symbols;       /* enum */
    size_t symbol_count;
    const char *enum_default; /* NULL = none */
    uint32_t size;            /* fixed */
    int32_t element_id;       /* array: element-id; map: value-id; -1 when absent */
    int32_t key_id;           /* map: key-id */
};

/* A schema text that others refer to by full name (registry references). */
struct cv_avro_reference {
    const char *name;
    struct cv_str text;
};

/* A parsed schema and the memory it lives in. Free with cv_avro_schema_free(). */
struct cv_avro_schema {
    struct cv_arena arena;
    struct cv_json **documents; /* keep the defaults alive */
    size_t document_count;
    const struct cv_avro_type *root;
};

/* Parses a schema; the named types of `references` (already in dependency order) may be used. */
enum cv_code cv_avro_schema_parse(struct cv_str text, const struct cv_avro_reference *references,
                                  size_t reference_count, struct cv_avro_schema **ret_schema,
                                  struct cv_error *err);
void cv_avro_schema_free(struct cv_avro_schema *schema);
CV_DEFINE_CLEANUP(struct cv_avro_schema *, cv_avro_schema_free)

/* NULL when the type is a tree, else the path of the cycle ("N.next.N") in the arena. */
const char *cv_avro_schema_cycle(const struct cv_avro_type *type, struct cv_arena *arena);
const char *cv_avro_kind_name(enum cv_avro_kind kind);
const char *cv_avro_logical_name(enum cv_avro_logical logical);

#endif
