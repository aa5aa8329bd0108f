/* SPDX-License-Identifier: Apache-2.0
 *
 * The `select` of a job: which parts of a record become which columns. The grammar is the part of
 * SQL that compiles straight into the decoder (see select.c); everything else is refused with the
 * very part that is not supported. */
#ifndef CALVE_DECODE_SELECT_H
#define CALVE_DECODE_SELECT_H

#include "schema/type.h"

#define CV_SELECT_BYTES_MAX ((size_t)1 << 20)
#define CV_SELECT_ITEMS_MAX CV_FIELDS_MAX

/* The columns of Spark's Kafka source, in its order. */
enum cv_kafka_column {
    CV_KAFKA_KEY,
    CV_KAFKA_VALUE,
    CV_KAFKA_TOPIC,
    CV_KAFKA_PARTITION,
    CV_KAFKA_OFFSET,
    CV_KAFKA_TIMESTAMP,
    CV_KAFKA_TIMESTAMP_TYPE,
    CV_KAFKA_HEADERS,
    CV_KAFKA_COLUMNS,
};

enum cv_select_cast {
    CV_SELECT_ASSIGN,
    CV_SELECT_CAST,     /* ANSI: a value that does not convert makes the record bad */
    CV_SELECT_TRY_CAST, /* … becomes NULL */
};

struct cv_select_item {
    enum cv_kafka_column column;
    bool star;               /* value.* */
    const char *const *path; /* below the column: {"a", "b"} of value.a.b */
    size_t path_length;
    enum cv_select_cast cast;
    struct cv_type cast_type;
    const char *name;        /* of the output column; NULL for value.* */
    const char *text;        /* as written, for messages */
    int line, column_number; /* of the text, from 1; 0 = not from a text */
};

struct cv_select {
    struct cv_select_item *items;
    size_t count;
};

/* Everything in the result lives in the arena. Messages begin with "select: " and tell the position
 * (characters from 1). CV_UNSUPPORTED for SQL beyond the grammar, CV_CONFIG for what is wrong. */
enum cv_code cv_select_parse(const char *text, struct cv_arena *arena, struct cv_select *ret_select,
                             struct cv_error *err);

/* The items that a job without `select` has: the Kafka columns, or value.* when the value has
 * fields. */
void cv_select_default(bool value_has_fields, bool headers, struct cv_arena *arena,
                       struct cv_select *ret_select);

const char *cv_kafka_column_name(enum cv_kafka_column column);
/* In any letter case; false when there is none of this name. */
bool cv_kafka_column_find(const char *name, enum cv_kafka_column *ret_column);

#endif
