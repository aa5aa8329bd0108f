/* SPDX-License-Identifier: Apache-2.0
 *
 * One value of a primitive type, outside a column: partition values, bounds, defaults, literals;
 * its Appendix D bytes, its text, and conversions from text. */
#ifndef CALVE_SCHEMA_VALUE_H
#define CALVE_SCHEMA_VALUE_H

#include "base/buf.h"
#include "schema/type.h"

__extension__ typedef __int128 cv_wide_int;

struct cv_value {
    bool is_null;
    enum cv_type_kind kind;
    union {
        bool boolean;
        int32_t i32; /* int, date */
        int64_t i64; /* long, time, timestamp, timestamptz */
        float f32;
        double f64;
        cv_wide_int decimal; /* unscaled */
        struct cv_str bytes; /* string, binary, uuid, fixed; not owned */
    };
};

/* Appendix D single-value bytes (little-endian numbers, minimal big-endian decimals). */
void cv_value_write_binary(const struct cv_value *value, struct cv_buf *out);
/* Reads them for a type, with the promotions by length (4 bytes under long or double). */
enum cv_code cv_value_read_binary(const struct cv_type *type, struct cv_str bytes,
                                  struct cv_value *ret_value, struct cv_error *err);
/* Minimal big-endian two's complement of an unscaled decimal; returns the length (1-16). */
size_t cv_decimal_minimal_bytes(cv_wide_int unscaled, uint8_t bytes[16]);
/* Bytes that a fixed of this precision needs (1-38 → 1-16). */
size_t cv_decimal_fixed_bytes(uint8_t precision);
bool cv_decimal_fits(cv_wide_int unscaled, uint8_t precision);
cv_wide_int cv_decimal_power_of_ten(unsigned exponent); /* 0-38 */

/* For people and JSON: dates and times in ISO 8601, decimals with their scale, uuid in lower case,
 * binary and fixed in hex. */
void cv_value_write_text(const struct cv_value *value, const struct cv_type *type,
                         struct cv_buf *out);

/* Total order within one type, nulls first, NaN last, -0.0 below +0.0, bytes unsigned. */
int cv_value_compare(const struct cv_value *a, const struct cv_value *b);

/* Text → value. They return false when the text is not one (out of range, malformed); nothing is
 * ever wrapped. Blanks around are the caller's business. */
bool cv_parse_decimal(struct cv_str text, uint8_t precision, uint8_t scale,
                      cv_wide_int *ret_unscaled); /* exponent allowed; rounds half up (Spark) */
/* Exact: false when digits would be lost by the scale. */
bool cv_parse_decimal_exact(struct cv_str text, uint8_t precision, uint8_t scale,
                            cv_wide_int *ret_unscaled);
/* Decimal text; also NaN, Infinity, -Infinity, Inf in any case. */
bool cv_parse_double(struct cv_str text, double *ret_value);
bool cv_parse_float(struct cv_str text, float *ret_value); /* rounded once */
/* [+-]y…y-m[m]-d[d], as Spark's cast. */
bool cv_parse_date(struct cv_str text, int32_t *ret_days);
/* ISO 8601 date and time, 'T' or blank between, a fraction (cut to µs), behind the seconds an
 * optional zone Z, +hh, +hhmm, +hh:mm, " UTC"; without a zone UTC. *ret_had_zone tells which. */
bool cv_parse_timestamp(struct cv_str text, int64_t *ret_us, bool *ret_had_zone);
bool cv_parse_time(struct cv_str text, int64_t *ret_us);
bool cv_parse_uuid(struct cv_str text, uint8_t ret_bytes[16]);

#endif
