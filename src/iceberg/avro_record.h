/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading Avro records of any writer by Iceberg field id: a plan per record type, and values with
 * their unions taken off. Private to iceberg/. Readers return false on malformed bytes or a value
 * of another type. */
#ifndef CALVE_ICEBERG_AVRO_RECORD_H
#define CALVE_ICEBERG_AVRO_RECORD_H

#include "codec/avro_binary.h"
#include "codec/avro_file.h"
#include "codec/avro_schema.h"

/* Where a file is read: its bytes, and how many values it may still skip. The budget keeps types
 * that take no bytes from being skipped for ever. */
struct cv_avro_source {
    struct cv_avro_reader in;
    uint64_t skips_left;
    int64_t objects_left; /* in the block */
};

/* Moves to the next object of the file, over the borders of blocks; zero the source before the
 * first. *ret_more is false at the end of the file. */
enum cv_code cv_avro_source_next(struct cv_avro_file_reader *file, struct cv_avro_source *source,
                                 bool *ret_more, struct cv_error *err);

struct cv_avro_slot {
    int32_t id; /* field id; -1 = not known, skipped */
    const char *name;
    const struct cv_avro_type *type;
};

struct cv_avro_plan {
    struct cv_avro_slot *slots; /* in the writer's order */
    size_t count;
};

/* Names of fields for writers that gave no ids. */
struct cv_avro_known {
    int32_t id;
    const char *name;
};

/* The type without its union with null. */
const struct cv_avro_type *cv_avro_strip(const struct cv_avro_type *type);
/* Plans a record (or union of null and record). CV_FORMAT naming `what` if it is none. */
enum cv_code cv_avro_plan_record(const struct cv_avro_type *type, const char *what,
                                 const struct cv_avro_known *known, size_t known_count,
                                 struct cv_arena *arena, struct cv_avro_plan *ret_plan,
                                 struct cv_error *err);
const struct cv_avro_slot *cv_avro_plan_find(const struct cv_avro_plan *plan, int32_t id);
/* CV_FORMAT when the plan lacks one of the ids. */
enum cv_code cv_avro_plan_need(const struct cv_avro_plan *plan, const char *what,
                               const int32_t *ids, size_t count, struct cv_error *err);

/* Takes the branch of a union: the type of the value that follows. NULL when malformed. */
const struct cv_avro_type *cv_avro_take_branch(struct cv_avro_source *source,
                                               const struct cv_avro_type *type);
bool cv_avro_take_long(struct cv_avro_source *source, const struct cv_avro_type *type,
                       bool *ret_null, int64_t *ret_value);
bool cv_avro_take_bool(struct cv_avro_source *source, const struct cv_avro_type *type,
                       bool *ret_null, bool *ret_value);
/* string, bytes and fixed; the span is in the source. ptr NULL = null. */
bool cv_avro_take_bytes(struct cv_avro_source *source, const struct cv_avro_type *type,
                        struct cv_str *ret_bytes);
bool cv_avro_skip(struct cv_avro_source *source, const struct cv_avro_type *type);
/* Start of an array or map block: its items; 0 = no more. */
bool cv_avro_take_block(struct cv_avro_source *source, uint64_t *ret_items);

#endif
