/* SPDX-License-Identifier: Apache-2.0
 *
 * The set of locations, its memory, and work by several threads. */
#include "test.h"

#include "maintain/parallel.h"
#include "maintain/reachable.h"

#include <stdatomic.h>

static struct cv_str location_at(size_t i, char text[128])
{
    int length =
        snprintf(text, 128, "file:///warehouse/shop/orders/data/day=%zu/%zu.parquet", i % 365, i);

    return (struct cv_str){text, (size_t)length};
}

static void remembers_locations(void **state)
{
    CV_CLEANUP(cv_location_set_freep)
    struct cv_location_set *set = cv_location_set_new((size_t)16 << 20, 0, 1);
    struct cv_error err = CV_ERROR_INIT;
    char text[128];
    bool is_new;

    (void)state;
    assert_false(cv_location_set_has(set, cv_str_from("a")));
    for (size_t i = 0; i < 200000; i++) {
        CV_ASSERT_OK(cv_location_set_add(set, location_at(i, text), &is_new, &err), &err);
        assert_true(is_new);
    }
    for (size_t i = 0; i < 200000; i++) {
        CV_ASSERT_OK(cv_location_set_add(set, location_at(i, text), &is_new, &err), &err);
        assert_false(is_new);
        assert_false(cv_location_set_has(set, location_at(i + 200000, text)));
    }
    assert_int_equal(cv_location_set_count(set), 200000);
}

/* Half a million locations within 20 bytes each and the segments' own; then the limit is told. */
static void keeps_within_its_memory(void **state)
{
    CV_CLEANUP(cv_location_set_freep)
    struct cv_location_set *set = cv_location_set_new((size_t)12 << 20, 0, 1);
    struct cv_error err = CV_ERROR_INIT;
    enum cv_code code = CV_OK;
    char text[128];
    size_t count = 0;

    (void)state;
    while (code == CV_OK)
        code = cv_location_set_add(set, location_at(count++, text), NULL, &err);
    assert_int_equal(code, CV_LIMIT);
    assert_true(count > 500000);
    assert_non_null(strstr(err.message, "fill the memory"));
    for (size_t i = 0; i + 1 < count; i += 997)
        assert_true(cv_location_set_has(set, location_at(i, text)));
}

/* Of three shares each location is in exactly one. */
static void shares_locations(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    char text[128];
    size_t total = 0;
    bool is_new;

    (void)state;
    for (unsigned share = 0; share < 3; share++) {
        CV_CLEANUP(cv_location_set_freep)
        struct cv_location_set *set = cv_location_set_new((size_t)1 << 20, share, 3);
        size_t before = total;

        for (size_t i = 0; i < 30000; i++) {
            CV_ASSERT_OK(cv_location_set_add(set, location_at(i, text), &is_new, &err), &err);
            total += is_new;
        }
        assert_int_equal(cv_location_set_count(set), total - before);
        assert_in_range(total - before, 9500, 10500);
    }
    assert_int_equal(total, 30000);
}

struct tally {
    atomic_size_t calls;
    atomic_size_t sum;
    size_t fails_at;
};

static enum cv_code add_index(void *context, size_t index, struct cv_error *err)
{
    struct tally *tally = context;

    if (index == tally->fails_at)
        return cv_fail(err, CV_IO, "item %zu", index);
    atomic_fetch_add(&tally->calls, 1);
    atomic_fetch_add(&tally->sum, index);
    return CV_OK;
}

static void works_in_parallel(void **state)
{
    struct tally tally = {.fails_at = SIZE_MAX};
    struct cv_error err = CV_ERROR_INIT;

    (void)state;
    CV_ASSERT_OK(cv_parallel(4, 1000, add_index, &tally, &err), &err);
    assert_int_equal(tally.calls, 1000);
    assert_int_equal(tally.sum, 499500);
    CV_ASSERT_OK(cv_parallel(4, 0, add_index, &tally, &err), &err);
    assert_int_equal(tally.calls, 1000);
    tally.fails_at = 10;
    CV_ASSERT_FAILS(cv_parallel(1, 1000, add_index, &tally, &err), CV_IO, "item 10", &err);
    assert_int_equal(tally.calls, 1010);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remembers_locations),
        cmocka_unit_test(keeps_within_its_memory),
        cmocka_unit_test(shares_locations),
        cmocka_unit_test(works_in_parallel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
