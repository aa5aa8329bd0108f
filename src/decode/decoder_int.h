/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of decode/ share: the compiled decoder, the state of one worker, and the vtable
 * that a value format fills. */
#ifndef CALVE_DECODE_DECODER_INT_H
#define CALVE_DECODE_DECODER_INT_H

#include "base/buf.h"
#include "decode/decoder.h"
#include "decode/select.h"
#include "schema/cast.h"

enum cv_feed_kind {
    CV_FEED_NONE,  /* nothing: the column is NULL */
    CV_FEED_KAFKA, /* a column of the record */
    CV_FEED_VALUE, /* a path inside the decoded value; the format appends it */
};

/* What one table column gets. */
struct cv_feed {
    enum cv_feed_kind kind;
    enum cv_kafka_column column;
    bool star; /* by value.* */
    const char *const *path;
    size_t path_length;
    enum cv_select_cast cast;
    struct cv_type source_type; /* CV_FEED_KAFKA: before the cast */
    struct cv_type cast_type;   /* of the cast; without one the source's */
    const char *text;           /* the item, for messages */
    int line, column_number;    /* of the item; see struct cv_select_item */
};

/* Why the current record is bad. The field is static, in a plan, or in `buffer`. */
struct cv_decode_fault {
    const char *field;
    char reason[256];
};

struct cv_format_ops;

/* Shared by the workers; read-only after cv_decoder_open() but for what a format guards itself. */
struct cv_decoder {
    struct cv_arena arena;
    struct cv_decoder_config config;
    const struct cv_format_ops *format;
    struct cv_select select;
    struct cv_feed *feeds; /* one per table column */
    size_t column_count;
    size_t *required; /* indices of the required columns */
    size_t required_count;
    size_t *valued; /* of those that the format appends */
    size_t valued_count;
    size_t *own; /* of the others */
    size_t own_count;
    bool star;      /* the select has value.* */
    void *compiled; /* the format's own */
};

struct cv_decode_worker {
    struct cv_decoder *decoder;
    struct cv_batch_builder builder;
    size_t row; /* of the current record: what every column holds before it */
    struct cv_bad_list bad;
    struct cv_decode_counters counters;
    struct cv_decode_fault fault;
    struct cv_buf scratch; /* of casts */
    void *state;           /* the format's own */
};

enum cv_decode_result {
    CV_DECODED,
    CV_BAD,     /* worker->fault says why; columns may be half-filled */
    CV_STOPPED, /* err says why: not the record's fault */
};

/* A value format. `decode` appends one value to each column whose feed is CV_FEED_VALUE. All but
 * the name may be NULL. */
struct cv_format_ops {
    const char *name;
    bool has_fields; /* value.a is a path */
    /* Of the columns key and value when they are taken as they are. Text also fits binary columns.
     */
    enum cv_type_kind key_kind, value_kind;
    bool value_fed_by_format; /* the bare `value` goes through decode() too */
    /* Adds what does not fit to `problems` (decode/assign.h), so that all are told at once. */
    enum cv_code (*compile)(struct cv_decoder *decoder, struct cv_buf *problems,
                            struct cv_error *err);
    void (*release)(struct cv_decoder *decoder);
    void (*worker_init)(struct cv_decode_worker *worker);
    void (*worker_release)(struct cv_decode_worker *worker);
    enum cv_decode_result (*decode)(struct cv_decode_worker *worker, const struct cv_record *record,
                                    struct cv_error *err);
};

/* NULL when there is none of this name. */
const struct cv_format_ops *cv_format_find(const char *name);
/* "raw, string, …" for messages, in the arena. */
const char *cv_format_names(struct cv_arena *arena);

extern const struct cv_format_ops cv_format_raw;
extern const struct cv_format_ops cv_format_string;
extern const struct cv_format_ops cv_format_json;
extern const struct cv_format_ops cv_format_avro;

/* Sets the worker's fault. */
void cv_decode_fault_set(struct cv_decode_worker *worker, const char *field, const char *format,
                         ...) CV_PRINTF(3, 4);

/* Type of a column of Spark's Kafka source; key and value by the format. */
struct cv_type cv_kafka_column_type(enum cv_kafka_column column,
                                    const struct cv_format_ops *format);

/* Appends a record's column to builder column `index` by its feed. False: the value does not
 * convert, the fault is set and nothing was appended. */
bool cv_kafka_column_append(struct cv_decode_worker *worker, size_t index,
                            const struct cv_record *record);

#endif
