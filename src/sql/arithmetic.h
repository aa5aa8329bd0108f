/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic for the tables of functions. Private to sql/. */
#ifndef CALVE_SQL_ARITHMETIC_H
#define CALVE_SQL_ARITHMETIC_H

#include "sql/function_int.h"

/* The row's number is the operation: + - * / % q (whole quotient) p (positive remainder). */
cv_function_bind cv_bind_arithmetic;

/* The type of a decimal operation, and the operation with a result of another type. */
struct cv_type cv_decimal_result(char operation, const struct cv_type *a, const struct cv_type *b);
const struct cv_expr *cv_bind_decimal(struct cv_call *call, char operation,
                                      const struct cv_type *result);

/* + and - with dates, timestamps and intervals (moment_arithmetic.c); ret_done says whether there
 * were any. */
enum cv_code cv_bind_moments(struct cv_call *call, char operation, bool *ret_done,
                             const struct cv_expr **ret_expr, struct cv_error *err);

#endif
