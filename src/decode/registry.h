/* SPDX-License-Identifier: Apache-2.0
 *
 * Client of a schema registry (Confluent's API): schemas by id with their references, and the
 * latest one of a subject. An outage (no answer, 5xx, 429) is waited out for as long as it takes,
 * with a warning each minute. One thread at a time. */
#ifndef CALVE_DECODE_REGISTRY_H
#define CALVE_DECODE_REGISTRY_H

#include "codec/avro_schema.h"
#include "decode/decoder.h"

#define CV_REGISTRY_REFERENCES_MAX 1000 /* of one schema, transitive ones counted */

struct cv_registry;

/* `config` outlives the registry. */
enum cv_code cv_registry_open(const struct cv_decoder_config *config,
                              struct cv_registry **ret_registry, struct cv_error *err);
void cv_registry_free(struct cv_registry *registry);

/* The schema of an id. CV_NOT_FOUND: the registry answers and has none; CV_SCHEMA: it is not Avro
 * or not valid; CV_AUTH; CV_REGISTRY: an answer that is none of a registry; CV_CANCELLED. */
enum cv_code cv_registry_schema_by_id(struct cv_registry *registry, uint32_t id,
                                      struct cv_avro_schema **ret_schema, struct cv_error *err);

/* The latest schema of a subject; CV_NOT_FOUND when the subject has none. */
enum cv_code cv_registry_latest(struct cv_registry *registry, const char *subject,
                                struct cv_avro_schema **ret_schema, uint32_t *ret_id,
                                struct cv_error *err);

struct cv_registry_reference {
    const char *name;
    const char *subject;
    int64_t version;
};

/* A schema as a registry tells it. */
struct cv_registry_answer {
    const char *schema;
    size_t schema_length;
    const char *type; /* AVRO when the answer has none */
    int64_t id;       /* -1 when the answer has none */
    struct cv_registry_reference *references;
    size_t reference_count;
};

/* Reads the body of an answer with status 200 into the arena; CV_REGISTRY when it is malformed. */
enum cv_code cv_registry_parse_answer(struct cv_str body, struct cv_arena *arena,
                                      struct cv_registry_answer *ret_answer, struct cv_error *err);
/* The error_code of an answer with another status; 0 when the body has none. */
int64_t cv_registry_parse_error(struct cv_str body);
/* Percent-encodes one path segment. */
char *cv_registry_encode(struct cv_arena *arena, const char *segment);

#endif
