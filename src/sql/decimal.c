/* SPDX-License-Identifier: Apache-2.0
 *
 * Decimal arithmetic with one rounding, half up, at the end. In 128 bits where the numbers fit,
 * else in 512: 38 digits times 38 digits times a scale of 38. */
#include "sql/function_int.h"

#define LIMBS 8

struct wide { /* unsigned, least limb first */
    uint64_t limb[LIMBS];
};

static cv_uint128 magnitude(cv_wide_int value)
{
    return value < 0 ? (cv_uint128)0 - (cv_uint128)value : (cv_uint128)value;
}

static struct wide widen(cv_uint128 value)
{
    return (struct wide){{(uint64_t)value, (uint64_t)(value >> 64)}};
}

/* False when the product has more bits than there are. */
static bool multiply_limb(struct wide *w, uint64_t factor)
{
    cv_uint128 carry = 0;

    for (size_t i = 0; i < LIMBS; i++) {
        carry += (cv_uint128)w->limb[i] * factor;
        w->limb[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return carry == 0;
}

static bool multiply_power(struct wide *w, int exponent)
{
    for (; exponent >= 19; exponent -= 19)
        if (!multiply_limb(w, UINT64_C(10000000000000000000)))
            return false;
    return multiply_limb(w, (uint64_t)cv_decimal_power_of_ten((unsigned)exponent));
}

static struct wide product(cv_uint128 a, cv_uint128 b)
{
    struct wide low = widen(a);
    struct wide high = widen(a);
    cv_uint128 carry = 0;

    (void)multiply_limb(&low, (uint64_t)b);
    (void)multiply_limb(&high, (uint64_t)(b >> 64));
    for (size_t i = 1; i < LIMBS; i++) {
        carry += (cv_uint128)low.limb[i] + high.limb[i - 1];
        low.limb[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return low;
}

static int compare(const struct wide *a, const struct wide *b)
{
    for (size_t i = LIMBS; i-- > 0;)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

static void add(struct wide *a, const struct wide *b)
{
    cv_uint128 carry = 0;

    for (size_t i = 0; i < LIMBS; i++) {
        carry += (cv_uint128)a->limb[i] + b->limb[i];
        a->limb[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

static void subtract(struct wide *a, const struct wide *b)
{
    uint64_t borrow = 0;

    for (size_t i = 0; i < LIMBS; i++) {
        cv_uint128 difference = (cv_uint128)a->limb[i] - b->limb[i] - borrow;

        a->limb[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> 64) & 1;
    }
}

/* a = a / b, the rest is given back. Bit by bit: the way for numbers that are rarely met. */
static struct wide divide(struct wide *a, const struct wide *b)
{
    struct wide rest = {{0}};
    struct wide quotient = {{0}};

    for (int bit = LIMBS * 64 - 1; bit >= 0; bit--) {
        for (size_t i = LIMBS; i-- > 1;)
            rest.limb[i] = rest.limb[i] << 1 | rest.limb[i - 1] >> 63;
        rest.limb[0] = rest.limb[0] << 1 | (a->limb[bit / 64] >> (bit % 64) & 1);
        if (compare(&rest, b) >= 0) {
            subtract(&rest, b);
            quotient.limb[bit / 64] |= (uint64_t)1 << (bit % 64);
        }
    }
    *a = quotient;
    return rest;
}

static bool narrow(const struct wide *w, bool negative, cv_wide_int *ret_value)
{
    cv_uint128 low = (cv_uint128)w->limb[1] << 64 | w->limb[0];

    for (size_t i = 2; i < LIMBS; i++)
        if (w->limb[i])
            return false;
    if (low >> 127)
        return false;
    *ret_value = negative ? -(cv_wide_int)low : (cv_wide_int)low;
    return true;
}

/* a / b rounded half up, into the result's digits. */
static bool finish(struct wide *a, const struct wide *b, bool negative,
                   const struct cv_type *result, cv_wide_int *ret_value)
{
    struct wide rest = divide(a, b);
    const struct wide one = {{1}};

    add(&rest, &rest);
    if (compare(&rest, b) >= 0)
        add(a, &one);
    return narrow(a, negative, ret_value) && cv_decimal_fits(*ret_value, result->precision);
}

/* A value with a scale to the result's, rounded half up. */
static bool to_scale(struct wide *value, int scale, bool negative, const struct cv_type *result,
                     cv_wide_int *ret_value)
{
    struct wide divisor = {{1}};

    if (scale <= result->scale)
        return multiply_power(value, result->scale - scale) && narrow(value, negative, ret_value) &&
               cv_decimal_fits(*ret_value, result->precision);
    return multiply_power(&divisor, scale - result->scale) &&
           finish(value, &divisor, negative, result, ret_value);
}

/* Half up by a power of ten, in 128 bits. */
static cv_wide_int divide_power(cv_wide_int value, int exponent)
{
    cv_wide_int power = cv_decimal_power_of_ten((unsigned)exponent);
    cv_wide_int rest = value % power;

    value /= power;
    if ((rest < 0 ? -rest : rest) >= power - power / 2)
        value += rest < 0 ? -1 : 1;
    return value;
}

bool cv_decimal_add(cv_wide_int a, int scale_a, cv_wide_int b, int scale_b,
                    const struct cv_type *result, cv_wide_int *ret_value)
{
    int scale = CV_MAX(scale_a, scale_b);
    cv_wide_int x;
    cv_wide_int y;
    struct wide wide_a = widen(magnitude(a));
    struct wide wide_b = widen(magnitude(b));
    bool negative = a < 0;

    if (!__builtin_mul_overflow(a, cv_decimal_power_of_ten((unsigned)(scale - scale_a)), &x) &&
        !__builtin_mul_overflow(b, cv_decimal_power_of_ten((unsigned)(scale - scale_b)), &y) &&
        !__builtin_add_overflow(x, y, &x) && scale >= result->scale) {
        *ret_value = divide_power(x, scale - result->scale);
        return cv_decimal_fits(*ret_value, result->precision);
    }
    if (!multiply_power(&wide_a, scale - scale_a) || !multiply_power(&wide_b, scale - scale_b))
        return false;
    if ((a < 0) == (b < 0)) {
        add(&wide_a, &wide_b);
    } else if (compare(&wide_a, &wide_b) >= 0) {
        subtract(&wide_a, &wide_b);
    } else {
        subtract(&wide_b, &wide_a);
        wide_a = wide_b;
        negative = b < 0;
    }
    return to_scale(&wide_a, scale, negative, result, ret_value);
}

bool cv_decimal_multiply(cv_wide_int a, int scale_a, cv_wide_int b, int scale_b,
                         const struct cv_type *result, cv_wide_int *ret_value)
{
    int scale = scale_a + scale_b;
    cv_wide_int x;
    struct wide wide;

    if (scale >= result->scale && scale - result->scale <= 38 &&
        !__builtin_mul_overflow(a, b, &x)) {
        *ret_value = divide_power(x, scale - result->scale);
        return cv_decimal_fits(*ret_value, result->precision);
    }
    wide = product(magnitude(a), magnitude(b));
    return to_scale(&wide, scale, (a < 0) != (b < 0), result, ret_value);
}

bool cv_decimal_divide(cv_wide_int a, int scale_a, cv_wide_int b, int scale_b,
                       const struct cv_type *result, cv_wide_int *ret_value)
{
    int shift = result->scale + scale_b - scale_a;
    struct wide wide_a = widen(magnitude(a));
    struct wide wide_b = widen(magnitude(b));
    cv_wide_int x;

    if (b == 0)
        return false;
    if (shift >= 0 && shift <= 38 &&
        !__builtin_mul_overflow(a, cv_decimal_power_of_ten((unsigned)shift), &x)) {
        cv_uint128 rest = magnitude(x % b);
        cv_uint128 most = magnitude(b);

        x /= b;
        if (rest >= most - most / 2)
            x += (a < 0) != (b < 0) ? -1 : 1;
        *ret_value = x;
        return cv_decimal_fits(x, result->precision);
    }
    if (!multiply_power(shift >= 0 ? &wide_a : &wide_b, shift >= 0 ? shift : -shift))
        return false;
    return finish(&wide_a, &wide_b, (a < 0) != (b < 0), result, ret_value);
}

bool cv_decimal_quotient(cv_wide_int a, int scale_a, cv_wide_int b, int scale_b,
                         cv_wide_int *ret_value)
{
    struct wide wide_a = widen(magnitude(a));
    struct wide wide_b = widen(magnitude(b));

    if (b == 0 || !multiply_power(&wide_a, scale_b) || !multiply_power(&wide_b, scale_a))
        return false;
    (void)divide(&wide_a, &wide_b);
    return narrow(&wide_a, (a < 0) != (b < 0), ret_value);
}

bool cv_decimal_remainder(cv_wide_int a, int scale_a, cv_wide_int b, int scale_b,
                          const struct cv_type *result, cv_wide_int *ret_value)
{
    int scale = CV_MAX(scale_a, scale_b);
    struct wide wide_a = widen(magnitude(a));
    struct wide wide_b = widen(magnitude(b));
    cv_wide_int x;
    cv_wide_int y;

    if (b == 0)
        return false;
    if (scale == result->scale &&
        !__builtin_mul_overflow(a, cv_decimal_power_of_ten((unsigned)(scale - scale_a)), &x) &&
        !__builtin_mul_overflow(b, cv_decimal_power_of_ten((unsigned)(scale - scale_b)), &y)) {
        *ret_value = x % y;
        return cv_decimal_fits(*ret_value, result->precision);
    }
    if (!multiply_power(&wide_a, scale - scale_a) || !multiply_power(&wide_b, scale - scale_b))
        return false;
    wide_a = divide(&wide_a, &wide_b);
    return to_scale(&wide_a, scale, a < 0, result, ret_value);
}

static bool rounds_away(cv_wide_int quotient, cv_uint128 rest, cv_uint128 power, bool negative,
                        char mode)
{
    switch (mode) {
    case 'u':
        return rest >= power - power / 2;
    case 'e':
        return rest > power / 2 || (rest == power / 2 && quotient % 2 != 0);
    case 'c':
        return rest != 0 && !negative;
    default:
        return rest != 0 && negative;
    }
}

bool cv_decimal_round(cv_wide_int value, int value_scale, int scale, char mode,
                      const struct cv_type *result, cv_wide_int *ret_value)
{
    int cut = value_scale - scale;
    cv_wide_int power;
    cv_wide_int rest;

    if (cut > 38) {
        *ret_value = 0;
        return mode != 'c' || value <= 0;
    }
    if (cut > 0) {
        power = cv_decimal_power_of_ten((unsigned)cut);
        rest = value % power;
        value /= power;
        if (rounds_away(value, magnitude(rest), (cv_uint128)power, rest < 0, mode))
            value += rest < 0 ? -1 : 1;
        value_scale = scale;
    }
    if (__builtin_mul_overflow(
            value, cv_decimal_power_of_ten((unsigned)CV_MIN(result->scale - value_scale, 38)),
            &value))
        return false;
    *ret_value = value;
    return cv_decimal_fits(value, result->precision);
}
