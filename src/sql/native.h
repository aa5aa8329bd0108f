/* SPDX-License-Identifier: Apache-2.0
 *
 * Native functions: C code that DuckDB calls where SQL alone would not have Spark's value. Each is
 * written for one row of plain values; the driver in native.c takes vectors apart and fills them.
 * Private to sql/. */
#ifndef CALVE_SQL_NATIVE_H
#define CALVE_SQL_NATIVE_H

#include "batch/builder.h"
#include "schema/cast.h"
#include "sql/function.h"

struct cv_native;

/* One call: `in` has the arguments. The result goes to `out`, whose is_null is false before the
 * call; bytes of it may lie in `scratch`, which is empty before the call. */
struct cv_native_row {
    const struct cv_native *native;
    const struct cv_value *in;
    const struct cv_column *columns; /* of the arguments, for lists and maps */
    size_t row;
    struct cv_value out;
    struct cv_buf *scratch;
    struct cv_buf *work;
    struct cv_builder *list; /* a result of type list: elements go to its child here */
    void *state;             /* of the native's make_state(), one per thread at a time */
    char reason[CV_CAST_REASON_BYTES];
};

/* False with a reason: an error of the row. */
typedef bool cv_native_call(struct cv_native_row *row);

enum cv_native_flag {
    CV_NATIVE_NULLS = 1, /* called with NULL arguments too; else NULL in is NULL out */
    CV_NATIVE_TRY = 2,   /* what fails is NULL */
};

struct cv_native {
    char name[24]; /* in SQL */
    cv_native_call *call;
    unsigned flags;
    int64_t number;    /* the call's own: a unit, a mode */
    const void *extra; /* the same: a compiled pattern; lives as long as the natives */
    void *(*make_state)(const struct cv_native *native);
    void (*free_state)(void *state);
    struct cv_type result;
    struct cv_type *arguments;
    size_t argument_count;
    struct cv_schema in_schema, out_schema; /* the same as columns */
    struct cv_native *next;
};

#define CV_SKETCHES_MAX 64

struct cv_natives {
    struct cv_arena arena;
    struct cv_native *first, **last;
    size_t count;
    struct cv_schema
        sketches[CV_SKETCHES_MAX]; /* of the column that approx_count_distinct is used with */
    size_t sketch_count;
    struct cv_native_owned *owned; /* compiled patterns */
};

/* Makes `release(pointer)` part of freeing the natives. */
void cv_natives_own(struct cv_natives *natives, void *pointer, void (*release)(void *));

/* The native with these properties, made if there is none yet; `like` has call, flags, number,
 * extra and the result type. */
const struct cv_native *cv_native_use(struct cv_natives *natives, const struct cv_native *like,
                                      const struct cv_type *const *arguments, size_t count);

/* A schema of columns with these types. */
struct cv_schema cv_native_columns(struct cv_arena *arena, const struct cv_type *types,
                                   size_t count);

/* Sketches of approx_count_distinct (sketch.c). */
#define CV_SKETCH_BYTES 512
enum cv_code cv_sketch_register(const struct cv_natives *natives,
                                struct cv_duck_connection *connection, struct cv_error *err);
/* Name of the aggregate over values of this type; NULL = too many types. */
const char *cv_sketch_use(struct cv_natives *natives, const struct cv_type *type);
/* Spark's xxhash64 of one value; NULL leaves the seed. */
uint64_t cv_spark_xxhash64(const struct cv_value *value, const struct cv_type *type, uint64_t seed);
int64_t cv_sketch_estimate(const uint8_t registers[CV_SKETCH_BYTES]);
/* Name of the function that makes a number of a sketch. */
const char *cv_sketch_finish(struct cv_natives *natives);

#endif
