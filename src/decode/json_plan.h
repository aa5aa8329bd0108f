/* SPDX-License-Identifier: Apache-2.0
 *
 * The compiled form of a JSON value: a tree of objects whose keys lead to columns. Immutable and
 * shared by the workers; what a worker learns about the order of keys is its own (json_keys.h). */
#ifndef CALVE_DECODE_JSON_PLAN_H
#define CALVE_DECODE_JSON_PLAN_H

#include "base/map.h"
#include "decode/decoder_int.h"

/* How one JSON value is read, and what becomes of it. */
struct cv_json_value {
    const struct cv_type *type;   /* what it is read as */
    const struct cv_type *column; /* of the builder; differs from `type` under a cast only */
    enum cv_select_cast cast;
    struct cv_type cast_type;
    bool required;                 /* NULL makes the record bad */
    struct cv_json_object *object; /* struct */
    struct cv_json_value *key;     /* map */
    struct cv_json_value *element; /* list: element; map: value */
    const char *path;              /* dotted, for messages */
};

/* What a key's value does. Several actions read it several times. */
struct cv_json_action {
    struct cv_json_object *descend; /* its keys lead to columns of the same builders; or NULL */
    struct cv_json_value value;     /* appended to builder `column` */
    size_t column;
    struct cv_json_action *next;
};

struct cv_json_key {
    const char *name; /* as the select or the table has it */
    size_t length;
    struct cv_json_action *actions;
};

struct cv_json_object {
    size_t index; /* among all objects of the plan */
    struct cv_json_key *keys;
    size_t key_count;
    size_t key_capacity;
    struct cv_map by_name; /* folded to lower case when the plan is case-insensitive */
    const char *path;
};

struct cv_json_plan {
    struct cv_arena *arena;
    bool case_sensitive;
    bool nonnumeric;
    bool confluent; /* values carry Confluent framing */
    int64_t timestamp_unit_us;
    struct cv_json_action *root; /* what the whole value does; NULL: it is only checked */
    struct cv_json_object **objects;
    size_t object_count;
    size_t object_capacity;
};

/* Compiles the feeds of the decoder; problems are added to the list. */
enum cv_code cv_json_plan_compile(const struct cv_decoder *decoder, struct cv_arena *arena,
                                  struct cv_json_plan **ret_plan, struct cv_buf *problems,
                                  struct cv_error *err);
void cv_json_plan_free(struct cv_json_plan *plan);

/* The key by its name in the text; NULL when there is none. */
const struct cv_json_key *cv_json_object_find(const struct cv_json_plan *plan,
                                              const struct cv_json_object *object,
                                              struct cv_str name);

#endif
