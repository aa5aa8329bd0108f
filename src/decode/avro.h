/* SPDX-License-Identifier: Apache-2.0
 *
 * Value format `avro`: the plans of a job's writer schemas. */
#ifndef CALVE_DECODE_AVRO_H
#define CALVE_DECODE_AVRO_H

#include "avro/plan.h"
#include "base/map.h"
#include "decode/decoder_int.h"
#include "decode/registry.h"

#include <pthread.h>

#define CV_WRITER_SCHEMAS_MAX 10000 /* of one job */

/* What is known of one writer schema; immutable once workers can see it, and kept until the decoder
 * is freed, so that a worker may remember it without a lock. */
struct cv_writer_schema {
    struct cv_avro_schema *schema;
    struct cv_avro_plan *plan; /* NULL: `reason` says why its records are bad */
    const char *reason;
    struct cv_writer_schema *next; /* all of them, to free them */
};

/* Compiled state, shared by the workers. */
struct cv_avro_format {
    pthread_mutex_t lock; /* guards all below but what is set at open */
    struct cv_registry *registry;
    struct cv_map schemas; /* id, 4 bytes → struct cv_writer_schema */
    struct cv_map unknown; /* id, 4 bytes → struct unknown_id, asked for again later */
    struct cv_map warned;  /* paths of fields without a column */
    struct cv_writer_schema *all;
    struct cv_arena arena;
    /* set at open */
    bool confluent;
    struct cv_avro_schema *reader; /* schema.file */
    struct cv_writer_schema *only; /* one writer schema for all values: there is no registry */
    struct cv_avro_target *targets;
    size_t target_count;
};

/* The schema of value.schema.file. */
enum cv_code cv_avro_read_schema_file(const char *path, struct cv_avro_schema **ret_schema,
                                      struct cv_error *err);

/* Calls `each` for every field of the schema that feeds value.* (or a struct below it) and has no
 * column; `path` is dotted. */
void cv_avro_unknown_fields(const struct cv_decoder *decoder, const struct cv_avro_type *root,
                            void (*each)(void *context, const char *path), void *context);

/* The cycle ("N.next.N", in the arena) of a recursive type that would have to become a column;
 * NULL when there is none. A recursive field that nothing takes does no harm. */
const char *cv_avro_fed_cycle(const struct cv_decoder *decoder, const struct cv_avro_type *root,
                              struct cv_arena *arena);

/* Whether the schema has the path of a feed. */
bool cv_avro_has_path(const struct cv_decoder *decoder, const struct cv_avro_type *root,
                      const struct cv_feed *feed);

#endif
