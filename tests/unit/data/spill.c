/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting rows: order by group and stable within it, in memory and over many runs; nothing is left
 * in the folder; a folder that cannot be written to. */
#include "data/spill.h"

#include "base/file.h"
#include "test.h"

#define GROUPS 50

struct expected {
    uint32_t group;        /* the last one seen */
    uint32_t next[GROUPS]; /* the number that the next piece of each group must carry */
    size_t count;
};

static enum cv_code check(void *context, const struct cv_spill_fragment *fragment,
                          struct cv_error *err)
{
    struct expected *expected = context;
    uint32_t number;

    assert_true(fragment->group >= expected->group);
    assert_true(fragment->length >= 4);
    memcpy(&number, fragment->bytes, 4);
    assert_int_equal(number, expected->next[fragment->group]);
    assert_int_equal(fragment->rows, number % 7 + 1);
    for (size_t i = 4; i < fragment->length; i++)
        assert_int_equal(fragment->bytes[i], number & 0xff);
    expected->next[fragment->group]++;
    expected->group = fragment->group;
    expected->count++;
    return CV_OK;
}

static void fill_and_drain(size_t pieces, size_t memory, bool runs_wanted)
{
    CV_CLEANUP(cv_spill_release) struct cv_spill spill;
    CV_CLEANUP(cv_freep) uint8_t *bytes = cv_alloc(400000);
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const char *folder = cv_test_folder();
    struct cv_error err = CV_ERROR_INIT;
    struct expected expected = {0};
    uint32_t made[GROUPS] = {0};
    char **names;
    size_t count;

    cv_spill_init(&spill, folder, memory);
    assert_true(cv_spill_is_empty(&spill));
    for (size_t i = 0; i < pieces; i++) {
        /* some groups in each run, not the same ones in all */
        uint32_t group = (uint32_t)(i * 2654435761u >> 7) % 5 * 10 + (uint32_t)(i / 3000) % 10;
        size_t length = i % 1000 == 999 ? 400000 : 4 + i % 300;

        memset(bytes, (int)(made[group] & 0xff), length);
        memcpy(bytes, &made[group], 4);
        CV_ASSERT_OK(cv_spill_add(&spill, group, made[group] % 7 + 1, bytes, length, &err), &err);
        made[group]++;
        assert_true(cv_spill_memory(&spill) < memory + 2 * 1048576);
    }
    assert_int_equal(spill.run_count > 1, runs_wanted);
    assert_int_equal(spill.bytes_spilled > 0, runs_wanted);
    CV_ASSERT_OK(cv_directory_list(folder, &arena, &names, &count, &err), &err);
    assert_int_equal(count, 0); /* the file has no name: a crash leaves nothing */
    CV_ASSERT_OK(cv_spill_drain(&spill, check, &expected, &err), &err);
    assert_int_equal(expected.count, pieces);
    assert_memory_equal(expected.next, made, sizeof made);
}

static void pieces_in_memory_come_back_in_order(void **state)
{
    fill_and_drain(5000, 64 << 20, false);
}

static void pieces_of_many_runs_come_back_in_order(void **state)
{
    fill_and_drain(20000, 256 * 1024, true);
}

static void nothing_comes_out_of_an_empty_one(void **state)
{
    fill_and_drain(0, 1 << 20, false);
}

static void a_folder_that_cannot_be_written_to_is_named(void **state)
{
    CV_CLEANUP(cv_spill_release) struct cv_spill spill;
    struct cv_error err = CV_ERROR_INIT;
    enum cv_code code = CV_OK;

    cv_spill_init(&spill, "/proc/self/no-such-folder", 1);
    for (int i = 0; i < 3 && code == CV_OK; i++)
        code = cv_spill_add(&spill, 0, 1, "abcd", 4, &err);
    assert_int_not_equal(code, CV_OK);
    assert_non_null(strstr(err.message, "/proc/self/no-such-folder"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_in_memory_come_back_in_order),
        cmocka_unit_test(pieces_of_many_runs_come_back_in_order),
        cmocka_unit_test(nothing_comes_out_of_an_empty_one),
        cmocka_unit_test(a_folder_that_cannot_be_written_to_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
