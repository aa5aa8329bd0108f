/* SPDX-License-Identifier: Apache-2.0
 *
 * A predicate asked of bounds and of rows. Values are compared as Spark does: NaN equals NaN and is
 * above every number, -0.0 equals 0.0, bytes are unsigned. */
#include "schema/predicate.h"

#include <math.h>

static struct cv_value without_sign_of_zero(const struct cv_value *value)
{
    struct cv_value plain = *value;

    if (!plain.is_null && plain.kind == CV_TYPE_DOUBLE && plain.f64 == 0)
        plain.f64 = 0;
    if (!plain.is_null && plain.kind == CV_TYPE_FLOAT && plain.f32 == 0)
        plain.f32 = 0;
    return plain;
}

static int compare(const struct cv_value *a, const struct cv_value *b)
{
    struct cv_value left, right;

    if (a->kind != CV_TYPE_FLOAT && a->kind != CV_TYPE_DOUBLE)
        return cv_value_compare(a, b);
    left = without_sign_of_zero(a);
    right = without_sign_of_zero(b);
    return cv_value_compare(&left, &right);
}

static bool is_fractional(const struct cv_field *field)
{
    return field->type.kind == CV_TYPE_FLOAT || field->type.kind == CV_TYPE_DOUBLE;
}

static bool is_nan(const struct cv_value *value)
{
    return (value->kind == CV_TYPE_DOUBLE && isnan(value->f64)) ||
           (value->kind == CV_TYPE_FLOAT && isnan(value->f32));
}

static bool has_prefix(struct cv_str text, struct cv_str prefix)
{
    return text.length >= prefix.length &&
           (!prefix.length || memcmp(text.ptr, prefix.ptr, prefix.length) == 0);
}

static bool is_in(const struct cv_predicate *predicate, const struct cv_value *value)
{
    size_t low = 0, high = predicate->value_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(&predicate->values[middle], value);

        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* A leaf of one value that is not null. */
static bool value_matches(const struct cv_predicate *predicate, const struct cv_value *value)
{
    const struct cv_value *literal = predicate->values;

    switch (predicate->kind) {
    case CV_PREDICATE_LESS:
        return compare(value, literal) < 0;
    case CV_PREDICATE_LESS_EQUAL:
        return compare(value, literal) <= 0;
    case CV_PREDICATE_GREATER:
        return compare(value, literal) > 0;
    case CV_PREDICATE_GREATER_EQUAL:
        return compare(value, literal) >= 0;
    case CV_PREDICATE_EQUAL:
        return compare(value, literal) == 0;
    case CV_PREDICATE_NOT_EQUAL:
        return compare(value, literal) != 0;
    case CV_PREDICATE_IN:
        return is_in(predicate, value);
    case CV_PREDICATE_NOT_IN:
        return !is_in(predicate, value);
    case CV_PREDICATE_STARTS_WITH:
        return has_prefix(value->bytes, literal->bytes);
    case CV_PREDICATE_NOT_STARTS_WITH:
        return !has_prefix(value->bytes, literal->bytes);
    default:
        return predicate->kind == CV_PREDICATE_NOT_NULL;
    }
}

/* --- bounds ---------------------------------------------------------------------------------- */

/* Whether a value within the bounds may equal the literal. */
static bool may_equal(const struct cv_predicate_column *column, const struct cv_value *literal)
{
    return (column->lower.is_null || compare(&column->lower, literal) <= 0) &&
           (column->upper.is_null || compare(&column->upper, literal) >= 0);
}

static int compare_prefix(struct cv_str bound, struct cv_str prefix)
{
    struct cv_value a = {.kind = CV_TYPE_STRING, .bytes = bound};
    struct cv_value b = {.kind = CV_TYPE_STRING, .bytes = prefix};

    a.bytes.length = CV_MIN(bound.length, prefix.length);
    b.bytes.length = a.bytes.length;
    return cv_value_compare(&a, &b);
}

/* Whether a value that is neither null nor NaN may match. */
static bool bounds_may_match(const struct cv_predicate *predicate,
                             const struct cv_predicate_column *column)
{
    const struct cv_value *lower = &column->lower, *upper = &column->upper;
    const struct cv_value *literal = predicate->values;

    switch (predicate->kind) {
    case CV_PREDICATE_LESS:
        return lower->is_null || compare(lower, literal) < 0;
    case CV_PREDICATE_LESS_EQUAL:
        return lower->is_null || compare(lower, literal) <= 0;
    case CV_PREDICATE_GREATER:
        return upper->is_null || compare(upper, literal) > 0;
    case CV_PREDICATE_GREATER_EQUAL:
        return upper->is_null || compare(upper, literal) >= 0;
    case CV_PREDICATE_EQUAL:
        return may_equal(column, literal);
    case CV_PREDICATE_IN:
        for (size_t i = 0; i < predicate->value_count; i++)
            if (may_equal(column, &literal[i]))
                return true;
        return false;
    case CV_PREDICATE_NOT_EQUAL:
    case CV_PREDICATE_NOT_IN:
        /* bounds that meet are exact: one value only */
        return lower->is_null || upper->is_null || compare(lower, upper) != 0 ||
               value_matches(predicate, lower);
    case CV_PREDICATE_STARTS_WITH:
        return (lower->is_null || compare_prefix(lower->bytes, literal->bytes) <= 0) &&
               (upper->is_null || compare_prefix(upper->bytes, literal->bytes) >= 0);
    case CV_PREDICATE_NOT_STARTS_WITH:
        return lower->is_null || upper->is_null || !has_prefix(lower->bytes, literal->bytes) ||
               !has_prefix(upper->bytes, literal->bytes);
    default:
        return true;
    }
}

/* Bounds that do not say what they seem to: inverted ones, NaN (old writers), and those of uuid,
 * which Java orders by signed halves. */
static void drop_doubtful_bounds(const struct cv_field *field, struct cv_predicate_column *column)
{
    struct cv_value *lower = &column->lower, *upper = &column->upper;
    bool both;

    if (!lower->is_null && (lower->kind != field->type.kind || is_nan(lower)))
        lower->is_null = true;
    if (!upper->is_null && (upper->kind != field->type.kind || is_nan(upper)))
        upper->is_null = true;
    both = !lower->is_null && !upper->is_null;
    if ((both && compare(lower, upper) > 0) ||
        (field->type.kind == CV_TYPE_UUID && !(both && compare(lower, upper) == 0)))
        lower->is_null = upper->is_null = true;
}

static bool leaf_may_match(const struct cv_predicate *predicate, struct cv_predicate_column *column)
{
    struct cv_value nan = {.kind = predicate->field->type.kind};
    bool counted = column->value_count >= 0 && column->null_count >= 0;

    if (predicate->kind == CV_PREDICATE_IS_NULL)
        return column->null_count != 0;
    if (column->value_count == 0 || (counted && column->null_count >= column->value_count))
        return false;
    if (predicate->kind == CV_PREDICATE_NOT_NULL)
        return true;
    drop_doubtful_bounds(predicate->field, column);
    if (is_fractional(predicate->field) && column->nan_count != 0) {
        if (nan.kind == CV_TYPE_DOUBLE)
            nan.f64 = (double)NAN;
        else
            nan.f32 = NAN;
        if (value_matches(predicate, &nan))
            return true;
        if (counted && column->nan_count >= column->value_count - column->null_count)
            return false;
    }
    return bounds_may_match(predicate, column);
}

bool cv_predicate_may_match(const struct cv_predicate *predicate,
                            bool (*column)(void *context, const struct cv_field *field,
                                           struct cv_predicate_column *ret_column),
                            void *context)
{
    struct cv_predicate_column known;

    switch (predicate->kind) {
    case CV_PREDICATE_TRUE:
    case CV_PREDICATE_FALSE:
        return predicate->kind == CV_PREDICATE_TRUE;
    case CV_PREDICATE_AND:
        return cv_predicate_may_match(predicate->left, column, context) &&
               cv_predicate_may_match(predicate->right, column, context);
    case CV_PREDICATE_OR:
        return cv_predicate_may_match(predicate->left, column, context) ||
               cv_predicate_may_match(predicate->right, column, context);
    default:
        return !column(context, predicate->field, &known) || leaf_may_match(predicate, &known);
    }
}

/* --- rows ------------------------------------------------------------------------------------ */

bool cv_predicate_matches(const struct cv_predicate *predicate,
                          struct cv_value (*value)(void *context, const struct cv_field *field),
                          void *context)
{
    struct cv_value found;

    switch (predicate->kind) {
    case CV_PREDICATE_TRUE:
    case CV_PREDICATE_FALSE:
        return predicate->kind == CV_PREDICATE_TRUE;
    case CV_PREDICATE_AND:
        return cv_predicate_matches(predicate->left, value, context) &&
               cv_predicate_matches(predicate->right, value, context);
    case CV_PREDICATE_OR:
        return cv_predicate_matches(predicate->left, value, context) ||
               cv_predicate_matches(predicate->right, value, context);
    default:
        found = value(context, predicate->field);
        if (found.is_null)
            return predicate->kind == CV_PREDICATE_IS_NULL;
        return value_matches(predicate, &found);
    }
}
