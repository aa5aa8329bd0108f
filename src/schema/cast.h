/* SPDX-License-Identifier: Apache-2.0
 *
 * CAST of one value between primitive types with the results of Spark's ANSI mode: nothing wraps,
 * nothing is silently lost but what SQL's CAST is meant to lose (fractions towards zero for
 * integers, half up for decimals, time of day for dates). The session zone is UTC. */
#ifndef CALVE_SCHEMA_CAST_H
#define CALVE_SCHEMA_CAST_H

#include "schema/value.h"

#define CV_CAST_REASON_BYTES 160

/* Whether values of `from` can be cast to `to` at all; decided once, when a plan is compiled. */
bool cv_cast_allowed(const struct cv_type *from, const struct cv_type *to);

/* Casts a value of type `from`. False with a reason when this value does not convert. Text and
 * bytes of the result may lie in `scratch`, which is cleared at each call. NULL stays NULL. */
bool cv_cast_value(const struct cv_value *in, const struct cv_type *from, const struct cv_type *to,
                   struct cv_buf *scratch, struct cv_value *ret_out,
                   char reason[CV_CAST_REASON_BYTES]);

/* The common case apart, without a struct cv_value: plain decimal text ("-12.5") whose digits fit
 * an unscaled decimal of at most 18 digits without rounding. False = ask cv_cast_value(), which
 * knows all forms and has the reason. */
extern const int64_t cv_cast_powers_of_ten_[19];

static inline bool cv_cast_text_to_decimal64(struct cv_str text, uint8_t precision, uint8_t scale,
                                             int64_t *ret_unscaled)
{
    const char *at = text.ptr;
    const char *end = at + text.length;
    bool negative = at < end && *at == '-';
    int64_t value = 0;
    unsigned fraction = 0;
    const char *digits;

    at += negative;
    digits = at;
    if (end - at > 18)
        return false;
    for (; at < end && (unsigned char)(*at - '0') < 10; at++)
        value = value * 10 + (*at - '0');
    if (at == digits)
        return false;
    if (at < end && *at == '.') {
        digits = ++at;
        for (; at < end && (unsigned char)(*at - '0') < 10; at++)
            value = value * 10 + (*at - '0');
        fraction = (unsigned)(at - digits);
    }
    if (at != end || fraction > scale || precision > 18)
        return false;
    if (value >= cv_cast_powers_of_ten_[precision - (scale - fraction)])
        return false;
    value *= cv_cast_powers_of_ten_[scale - fraction];
    *ret_unscaled = negative ? -value : value;
    return true;
}

#endif
