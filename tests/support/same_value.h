/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares values of columns of any type, one by one, as a reader sees them. */
#ifndef CALVE_TESTS_SUPPORT_SAME_VALUE_H
#define CALVE_TESTS_SUPPORT_SAME_VALUE_H

#include "batch/column.h"
#include "test.h"

static inline void cv_test_same_value(const struct cv_column *a, size_t i,
                                      const struct cv_column *b, size_t k)
{
    assert_int_equal(cv_column_is_null(a, i), cv_column_is_null(b, k));
    if (cv_column_is_null(a, i))
        return;
    if (a->type->kind == CV_TYPE_STRUCT) {
        for (size_t c = 0; c < a->child_count; c++)
            cv_test_same_value(&a->children[c], i, &b->children[c], k);
    } else if (cv_type_is_nested(a->type)) {
        size_t count = (size_t)(a->offsets[i + 1] - a->offsets[i]);

        assert_int_equal(count, b->offsets[k + 1] - b->offsets[k]);
        for (size_t n = 0; n < count; n++)
            for (size_t c = 0; c < a->child_count; c++)
                cv_test_same_value(&a->children[c], (size_t)a->offsets[i] + n, &b->children[c],
                                   (size_t)b->offsets[k] + n);
    } else {
        struct cv_value left = cv_column_value(a, i), right = cv_column_value(b, k);

        assert_int_equal(cv_value_compare(&left, &right), 0);
    }
}

#endif
