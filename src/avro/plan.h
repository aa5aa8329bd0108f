/* SPDX-License-Identifier: Apache-2.0
 *
 * A compiled plan from one Avro writer schema into column builders: a flat program that reads each
 * field once, in the writer's order, and appends to a builder or skips. No allocation per record.
 * A plan is immutable and may be shared by threads; the builders belong to the caller. */
#ifndef CALVE_AVRO_PLAN_H
#define CALVE_AVRO_PLAN_H

#include "batch/builder.h"
#include "codec/avro_binary.h"
#include "codec/avro_schema.h"

/* What a path of the writer's (or reader's) record goes to. */
enum cv_avro_cast {
    CV_AVRO_ASSIGN,   /* by Iceberg's write-compatibility rule */
    CV_AVRO_CAST,     /* ANSI cast: a value that does not convert is a bad record */
    CV_AVRO_TRY_CAST, /* a value that does not convert is NULL */
};

struct cv_avro_target {
    const char *const *path; /* field names from the root record, e.g. {"a", "b"} */
    size_t path_length;
    size_t column; /* index into the batch builder's columns */
    enum cv_avro_cast cast;
    struct cv_type cast_type; /* of the CAST; then assigned to the column's type */
};

struct cv_avro_plan;

/* Compiles. `reader` NULL: writer fields meet the targets by name, then alias (of the writer's own
 * schema). With a reader schema, Avro's resolution rules apply first (names, aliases, promotions,
 * defaults, enum defaults). All problems of the schema are collected into one CV_SCHEMA message.
 * A target whose path the schema lacks gives NULL (or the reader's default); that is a problem only
 * when its column is required. Other fields are passed over. The plan keeps nothing of the schemas
 * and targets, but the table's schema must outlive it. */
enum cv_code cv_avro_plan_compile(const struct cv_avro_type *writer,
                                  const struct cv_avro_type *reader, const struct cv_schema *table,
                                  const struct cv_avro_target *targets, size_t target_count,
                                  bool case_sensitive, struct cv_avro_plan **ret_plan,
                                  struct cv_error *err);
void cv_avro_plan_free(struct cv_avro_plan *plan);
CV_DEFINE_CLEANUP(struct cv_avro_plan *, cv_avro_plan_free)

/* Why a record is bad. */
struct cv_avro_fault {
    const char *field; /* dotted path, "" for the record as a whole; lives in the plan */
    char reason[256];
};

/* Decodes one datum and appends one value to every target's column; *ret_null tells that the datum
 * as a whole was null (a top-level union), which gives NULL everywhere. False on a bad record: then
 * ret_fault says why, and the caller truncates the builders. Trailing bytes are a bad record. */
bool cv_avro_plan_run(const struct cv_avro_plan *plan, const uint8_t *bytes, size_t length,
                      struct cv_batch_builder *builder, bool *ret_null,
                      struct cv_avro_fault *ret_fault);
/* The same for a datum that others follow, as in a container file; moves behind it. */
bool cv_avro_plan_run_next(const struct cv_avro_plan *plan, struct cv_avro_reader *objects,
                           struct cv_batch_builder *builder, struct cv_avro_fault *ret_fault);

#endif
