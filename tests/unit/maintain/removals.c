/* SPDX-License-Identifier: Apache-2.0
 *
 * Removal of files: order of the kinds, what is absent or refused, an end in the middle, and more
 * files than the memory holds. The store only counts. */
#include "test.h"

#include "maintain/removals.h"

#include <pthread.h>
#include <stdatomic.h>

struct counting_store {
    struct cv_store base;
    atomic_int removed; /* refusals too */
    atomic_int lots;
    atomic_int data_left; /* files of the first stage that are still there */
    atomic_bool disorder; /* a manifest went before the last of them */
};

static enum cv_code count_removal(struct cv_store *base, const char *location, struct cv_error *err)
{
    struct counting_store *store = (struct counting_store *)base;

    atomic_fetch_add(&store->removed, 1);
    if (strstr(location, "refused"))
        return cv_fail(err, CV_IO, "cannot remove %s", location);
    if (strstr(location, "data"))
        atomic_fetch_sub(&store->data_left, 1);
    else if (atomic_load(&store->data_left) > 0)
        atomic_store(&store->disorder, true);
    return CV_OK;
}

static const struct cv_store_ops counting_ops = {.name = "counting", .remove = count_removal};

struct heard {
    int warnings;
    atomic_int asked;
    int stop_after; /* 0 = never */
};

static void count_warning(void *context, const char *message)
{
    (void)message;
    ((struct heard *)context)->warnings++;
}

static bool stop_now(void *context)
{
    struct heard *heard = context;

    return heard->stop_after && atomic_fetch_add(&heard->asked, 1) >= heard->stop_after;
}

static void add(struct cv_removals *removals, enum cv_reached_kind kind, const char *name, int n,
                int64_t size)
{
    struct cv_error err = CV_ERROR_INIT;
    char location[128];
    int length = snprintf(location, sizeof location, "file:///%s/%d", name, n);
    struct cv_reached file = {kind, {location, (size_t)length}, size};

    CV_ASSERT_OK(cv_removals_add(removals, &file, &err), &err);
}

static void removes_in_order(void **state)
{
    struct counting_store store = {.base = {&counting_ops}, .data_left = 60};
    struct heard heard = {0};
    struct cv_maintenance maintenance = {
        .threads = 4, .warn = count_warning, .stopping = stop_now, .context = &heard};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_removals removals;
    struct cv_removed removed;

    (void)state;
    cv_removals_init(&removals, NULL);
    for (int i = 0; i < 50; i++)
        add(&removals, CV_REACHED_DATA, "data", i, 10);
    for (int i = 0; i < 10; i++)
        add(&removals, CV_REACHED_POSITION_DELETES, "data", i, -1);
    for (int i = 0; i < 13; i++)
        add(&removals, CV_REACHED_MANIFEST, "refused", i, 1);
    for (int i = 0; i < 7; i++)
        add(&removals, CV_REACHED_MANIFEST_LIST, "list", i, -1);
    assert_int_equal(cv_removals_files(&removals), 80);
    assert_int_equal(cv_removals_bytes(&removals), 513);
    CV_ASSERT_OK(cv_removals_run(&removals, &maintenance, &store.base, "test", 4, &removed, &err),
                 &err);
    assert_false(store.disorder);
    assert_int_equal(removed.files[CV_REACHED_DATA], 50);
    assert_int_equal(removed.files[CV_REACHED_POSITION_DELETES], 10);
    assert_int_equal(removed.files[CV_REACHED_MANIFEST], 0);
    assert_int_equal(removed.files[CV_REACHED_MANIFEST_LIST], 7);
    assert_int_equal(removed.failed, 13);
    assert_int_equal(heard.warnings, 11); /* ten, and how many more */
    cv_removals_release(&removals);
}

static void ends_when_told(void **state)
{
    struct counting_store store = {.base = {&counting_ops}};
    struct heard heard = {.stop_after = 20};
    struct cv_maintenance maintenance = {.threads = 1, .stopping = stop_now, .context = &heard};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_removals removals;
    struct cv_removed removed;

    (void)state;
    cv_removals_init(&removals, NULL);
    for (int i = 0; i < 100; i++)
        add(&removals, CV_REACHED_DATA, "data", i, 10);
    CV_ASSERT_FAILS(
        cv_removals_run(&removals, &maintenance, &store.base, "test", 1, &removed, &err),
        CV_CANCELLED, "stopped", &err);
    assert_int_equal(removed.files[CV_REACHED_DATA], 20);
    assert_int_equal(store.removed, 20);
    cv_removals_release(&removals);
}

static enum cv_code count_lot(struct cv_store *base, const char *const *locations, size_t count,
                              cv_remove_failed *failed, void *context, struct cv_error *err)
{
    struct counting_store *store = (struct counting_store *)base;

    atomic_fetch_add(&store->lots, 1);
    if (strstr(locations[0], "unreachable"))
        return cv_fail(err, CV_IO, "no answer");
    for (size_t i = 0; i < count; i++) {
        struct cv_error why = CV_ERROR_INIT;

        if (count_removal(base, locations[i], &why) != CV_OK)
            failed(context, i, &why);
    }
    return CV_OK;
}

static const struct cv_store_ops lot_ops = {
    .name = "lots", .remove = count_removal, .remove_many = count_lot};

static void a_store_gets_lots(void **state)
{
    struct counting_store store = {.base = {&lot_ops}, .data_left = 600};
    struct heard heard = {0};
    struct cv_maintenance maintenance = {
        .threads = 4, .warn = count_warning, .stopping = stop_now, .context = &heard};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_removals removals;
    struct cv_removed removed;

    (void)state;
    cv_removals_init(&removals, NULL);
    for (int i = 0; i < 600; i++)
        add(&removals, CV_REACHED_DATA, "data", i, 10);
    for (int i = 0; i < 13; i++)
        add(&removals, CV_REACHED_MANIFEST, i % 2 ? "refused" : "manifest", i, 1);
    CV_ASSERT_OK(cv_removals_run(&removals, &maintenance, &store.base, "test", 4, &removed, &err),
                 &err);
    assert_false(store.disorder);
    assert_int_equal(store.lots, 4); /* 250, 250, 100, 13 */
    assert_int_equal(removed.files[CV_REACHED_DATA], 600);
    assert_int_equal(removed.files[CV_REACHED_MANIFEST], 7);
    assert_int_equal(removed.failed, 6);
    assert_int_equal(heard.warnings, 6);
    cv_removals_release(&removals);
}

/* What a lot without an answer holds stays; after three in a row the work ends. */
static void a_store_that_does_not_answer_ends_the_work(void **state)
{
    struct counting_store store = {.base = {&lot_ops}};
    struct heard heard = {0};
    struct cv_maintenance maintenance = {
        .threads = 1, .warn = count_warning, .stopping = stop_now, .context = &heard};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_removals removals;
    struct cv_removed removed;

    (void)state;
    cv_removals_init(&removals, NULL);
    for (int i = 0; i < 500; i++)
        add(&removals, CV_REACHED_DATA, "unreachable", i, 10);
    for (int i = 0; i < 250; i++)
        add(&removals, CV_REACHED_DATA, "data", i, 10);
    for (int i = 0; i < 1000; i++)
        add(&removals, CV_REACHED_DATA, "unreachable", i, 10);
    CV_ASSERT_FAILS(
        cv_removals_run(&removals, &maintenance, &store.base, "test", 1, &removed, &err), CV_IO,
        "no answer", &err);
    assert_int_equal(store.lots, 6); /* two lost, one done, three lost */
    assert_int_equal(removed.files[CV_REACHED_DATA], 250);
    assert_int_equal(removed.failed, 1250);
    cv_removals_release(&removals);
}

static enum cv_code check_next(void *context, const struct cv_reached *file, struct cv_error *err)
{
    int *next = context;
    char location[128];

    (void)snprintf(location, sizeof location, "file:///a/long/folder/of/data/files/%d", *next);
    if (strcmp(file->location.ptr, location) != 0 || file->size != *next)
        return cv_fail(err, CV_INTERNAL, "%s is not %s", file->location.ptr, location);
    (*next)++;
    return CV_OK;
}

/* Some seven megabytes: several chunks in the temporary file. */
static void spills(void **state)
{
    struct counting_store store = {.base = {&counting_ops}};
    struct cv_maintenance maintenance = {.threads = 2};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_removals removals;
    struct cv_removed removed;
    int next = 0;

    (void)state;
    cv_removals_init(&removals, cv_test_folder());
    for (int i = 0; i < 120000; i++)
        add(&removals, CV_REACHED_DATA, "a/long/folder/of/data/files", i, i);
    assert_in_range(removals.chunk_count, 3, 5);
    CV_ASSERT_OK(cv_removals_each(&removals, check_next, &next, &err), &err);
    assert_int_equal(next, 120000);
    CV_ASSERT_OK(cv_removals_run(&removals, &maintenance, &store.base, "test", 2, &removed, &err),
                 &err);
    assert_int_equal(removed.files[CV_REACHED_DATA], 120000);
    assert_int_equal(store.removed, 120000);
    cv_removals_clear(&removals);
    assert_int_equal(cv_removals_files(&removals), 0);
    next = 0;
    CV_ASSERT_OK(cv_removals_each(&removals, check_next, &next, &err), &err);
    assert_int_equal(next, 0);
    cv_removals_release(&removals);
    cv_removals_init(&removals, "/dev/null/folder");
    for (int i = 0; i < 40000; i++)
        if (removals.tail.length < ((size_t)2 << 20))
            add(&removals, CV_REACHED_DATA, "a/long/folder/of/data/files", i, i);
    CV_ASSERT_FAILS(cv_removals_add(&removals,
                                    &(struct cv_reached){CV_REACHED_DATA, cv_str_from("x"), 1},
                                    &err),
                    CV_IO, "/dev/null", &err);
    cv_removals_release(&removals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(removes_in_order),
        cmocka_unit_test(ends_when_told),
        cmocka_unit_test(a_store_gets_lots),
        cmocka_unit_test(a_store_that_does_not_answer_ends_the_work),
        cmocka_unit_test(spills),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
