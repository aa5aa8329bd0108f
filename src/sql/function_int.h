/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tables of functions share: argument letters, type rules and shortcuts to bind. Private
 * to sql/.
 *
 * Letters of a detail text, one per argument, "*" = the one before again and again:
 *   b boolean  i int  l long  d double  s string  B binary  D date  T timestamptz
 *   t timestamp with or without zone  n any number (text becomes double)  x any primitive
 *   a any value  L list  M map
 * then ":" and the result: a letter, "=" for the type of the first argument, "S" for a list of
 * strings; then a blank and the SQL, or nothing when the row has a native. Alternatives by count of
 * arguments stand one behind another with "|". */
#ifndef CALVE_SQL_FUNCTION_INT_H
#define CALVE_SQL_FUNCTION_INT_H

#include "sql/native.h"

/* A type without more to say than its kind. */
#define CV_PLAIN(kind_) ((struct cv_type){.kind = CV_TYPE_##kind_})

extern const struct cv_function cv_functions_operator[];
extern const size_t cv_functions_operator_count;
extern const struct cv_function cv_functions_interval[];
extern const size_t cv_functions_interval_count;
extern const struct cv_function cv_functions_number[];
extern const size_t cv_functions_number_count;
extern const struct cv_function cv_functions_text[];
extern const size_t cv_functions_text_count;
extern const struct cv_function cv_functions_pattern[];
extern const size_t cv_functions_pattern_count;
extern const struct cv_function cv_functions_time[];
extern const size_t cv_functions_time_count;
extern const struct cv_function cv_functions_nested[];
extern const size_t cv_functions_nested_count;

typedef enum cv_code cv_function_bind(const struct cv_function *function, struct cv_call *call,
                                      const struct cv_expr **ret_expr, struct cv_error *err);

/* By letters, see above: most functions are bound by it. */
cv_function_bind cv_bind_letters;

/* "concat: argument 2 is …": what is wrong with an argument, counted from 0. */
enum cv_code cv_bind_refuse(const struct cv_call *call, size_t argument, const char *expected,
                            struct cv_error *err);
/* Casts an argument as Spark does without being asked: any primitive to string, a string to any
 * primitive, numbers to numbers, dates to timestamps and back. */
enum cv_code cv_bind_implicit(struct cv_call *call, size_t argument, const struct cv_type *type,
                              struct cv_error *err);
/* One argument as a letter wants it. */
enum cv_code cv_bind_letter(struct cv_call *call, size_t argument, char letter,
                            struct cv_error *err);
/* All arguments from `from` on to their common type, which is given back. */
enum cv_code cv_bind_common(struct cv_call *call, size_t from, size_t step,
                            struct cv_type *ret_type, struct cv_error *err);
/* The expression of a native over the call's arguments. `like`: see cv_native_use(). */
const struct cv_expr *cv_bind_native(struct cv_call *call, const struct cv_native *like);
/* The expression of a template over the call's arguments. */
const struct cv_expr *cv_bind_sql(struct cv_call *call, const char *sql,
                                  const struct cv_type *type);
/* NULL of a type. */
const struct cv_expr *cv_bind_null(struct cv_call *call, const struct cv_type *type);
/* "name($1, $2)" or "$1 sep $2 sep $3", in the arena. */
const char *cv_bind_list_sql(struct cv_arena *arena, const char *open, const char *separator,
                             const char *close, size_t count);
/* An argument that has to be a constant text; the message names it. */
enum cv_code cv_bind_constant_text(const struct cv_call *call, size_t argument, const char *what,
                                   const char **ret_text, struct cv_error *err);
/* The same of a whole number, a minus before it allowed. */
enum cv_code cv_bind_constant_int(const struct cv_call *call, size_t argument, const char *what,
                                  int64_t *ret_value, struct cv_error *err);
bool cv_expr_constant_int(const struct cv_expr *expr, int64_t *ret_value);

/* Equal but for ids, names of list and map children, and what is required. */
bool cv_type_same(const struct cv_type *a, const struct cv_type *b);
bool cv_type_is_number(const struct cv_type *type);
/* Text for messages, interval too. */
void cv_type_say(const struct cv_type *type, char text[CV_TYPE_TEXT_BYTES]);
/* List, map and struct types over others, in the arena. */
struct cv_type cv_type_list_of(struct cv_arena *arena, const struct cv_type *element);
struct cv_type cv_type_map_of(struct cv_arena *arena, const struct cv_type *key,
                              const struct cv_type *value);

/* Spark's decimal(p, s) with the scale cut where p is above 38 (adjustPrecisionScale). */
struct cv_type cv_decimal_adjusted(int precision, int scale);
/* The decimal that holds all values of an integer type or a literal of one; others as they are. */
struct cv_type cv_decimal_of(const struct cv_expr *expr, const struct cv_type *type);

/* An INTERVAL is a constant and no column: a struct type by which it is known. */
struct cv_interval {
    int64_t months, days, us;
    bool whole_days; /* written with units of days and more: date + it is a date */
};
bool cv_expr_interval(const struct cv_expr *expr, struct cv_interval *ret_interval);

/* Decimal arithmetic (decimal.c): exact, rounded half up to the result's scale; false = more digits
 * than it has, or division by zero. */
bool cv_decimal_add(cv_wide_int a, int scale_a, cv_wide_int b, int scale_b,
                    const struct cv_type *result, cv_wide_int *ret_value);
bool cv_decimal_multiply(cv_wide_int a, int scale_a, cv_wide_int b, int scale_b,
                         const struct cv_type *result, cv_wide_int *ret_value);
bool cv_decimal_divide(cv_wide_int a, int scale_a, cv_wide_int b, int scale_b,
                       const struct cv_type *result, cv_wide_int *ret_value);
/* The whole part of the quotient. */
bool cv_decimal_quotient(cv_wide_int a, int scale_a, cv_wide_int b, int scale_b,
                         cv_wide_int *ret_value);
bool cv_decimal_remainder(cv_wide_int a, int scale_a, cv_wide_int b, int scale_b,
                          const struct cv_type *result, cv_wide_int *ret_value);
/* To fewer digits behind the point (`scale` may be negative): mode 'u' half up, 'e' half even,
 * 'c' ceiling, 'f' floor. The result's type has its own scale. */
bool cv_decimal_round(cv_wide_int value, int value_scale, int scale, char mode,
                      const struct cv_type *result, cv_wide_int *ret_value);

/* Fails a row: the reason's text. */
bool cv_native_fail(struct cv_native_row *row, const char *format, ...) CV_PRINTF(2, 3);

/* Natives that more than one table uses. */
cv_native_call cv_native_lower, cv_native_cast;

#endif
