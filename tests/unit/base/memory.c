/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers with their maximum, arenas, growable arrays, the map. */
#include "test.h"

#include "base/map.h"
#include "base/random.h"
#include "base/str.h"

static struct cv_error err;

static void a_buffer_stops_at_its_maximum(void **state)
{
    struct cv_buf buf = CV_BUF_INIT(10);

    (void)state;
    cv_buf_append(&buf, "12345678", 8);
    CV_ASSERT_OK(cv_buf_check(&buf, "text", &err), &err);
    cv_buf_append(&buf, "abc", 3);
    assert_true(buf.failed);
    assert_int_equal(buf.length, 8);
    cv_buf_append(&buf, "x", 1); /* would fit: a hole must not be written over */
    cv_buf_append_byte(&buf, 'y');
    CV_ASSERT_FAILS(cv_buf_check(&buf, "the text", &err), CV_LIMIT, "the text is larger than 10",
                    &err);
    cv_buf_clear(&buf);
    cv_buf_append(&buf, "0123456789", 10);
    CV_ASSERT_OK(cv_buf_check(&buf, "text", &err), &err);
    assert_string_equal(cv_buf_text(&buf), "0123456789"); /* the terminator does not count */
    assert_int_equal(buf.length, 10);
    cv_buf_append_byte(&buf, 'x');
    assert_int_equal(buf.length, 10);
    cv_buf_release(&buf);
}

/* A failed reservation must hold even where room is left in the capacity. */
static void a_failed_buffer_takes_nothing_more(void **state)
{
    struct cv_buf buf = CV_BUF_INIT(100);

    (void)state;
    cv_buf_append(&buf, "ab", 2);
    assert_false(cv_buf_reserve(&buf, 99));
    cv_buf_append(&buf, "cd", 2);
    cv_buf_printf(&buf, "%d", 5);
    assert_int_equal(buf.length, 2);
    cv_buf_release(&buf);
}

static void lengths_do_not_wrap(void **state)
{
    struct cv_buf buf = CV_BUF_INIT(0);

    (void)state;
    cv_buf_append(&buf, "x", 1);
    assert_false(cv_buf_reserve(&buf, SIZE_MAX));
    assert_false(cv_buf_reserve(&buf, SIZE_MAX - 1));
    cv_buf_release(&buf);
}

static void printf_fills_to_the_last_byte(void **state)
{
    struct cv_buf buf = CV_BUF_INIT(5);

    (void)state;
    cv_buf_printf(&buf, "%s", "12345");
    CV_ASSERT_OK(cv_buf_check(&buf, "text", &err), &err);
    assert_string_equal(cv_buf_text(&buf), "12345");
    cv_buf_release(&buf);
}

static void an_arena_gives_zeroed_aligned_memory(void **state)
{
    struct cv_arena arena = CV_ARENA_INIT;

    (void)state;
    for (size_t i = 0; i < 3000; i++) {
        size_t bytes = i % 97;
        uint8_t *memory = cv_arena_alloc(&arena, bytes);

        assert_int_equal((uintptr_t)memory % 16, 0);
        for (size_t k = 0; k < bytes; k++)
            assert_int_equal(memory[k], 0);
        memset(memory, 0xff, bytes);
        if (i == 1500)
            cv_arena_reset(&arena);
    }
    assert_string_equal(cv_arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
    assert_string_equal(cv_arena_strndup(&arena, "abcdef", 3), "abc");
    cv_arena_release(&arena);
    cv_arena_release(&arena);
    cv_arena_reset(&arena);
}

static void large_blocks_do_not_lose_the_small_one(void **state)
{
    struct cv_arena arena = CV_ARENA_INIT;
    char *before = cv_arena_strdup(&arena, "before");
    uint8_t *large = cv_arena_alloc(&arena, 5 << 20);
    char *after = cv_arena_strdup(&arena, "after");

    (void)state;
    large[(5 << 20) - 1] = 1;
    assert_string_equal(before, "before");
    assert_string_equal(after, "after");
    assert_true(arena.bytes >= (5u << 20));
    cv_arena_release(&arena);
    assert_int_equal(arena.bytes, 0);
}

static void arrays_grow(void **state)
{
    int *items = NULL;
    size_t capacity = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        cv_array_reserve(&items, &capacity, (size_t)i + 1);
        items[i] = i;
    }
    assert_true(capacity >= 1000 && capacity < 2100);
    assert_int_equal(items[999], 999);
    free(items);
}

static void the_map_keeps_what_it_is_given(void **state)
{
    struct cv_map map = {0};
    static int values[5000];
    size_t position = 0;
    size_t seen = 0;

    (void)state;
    assert_null(cv_map_get(&map, "x", 1));
    assert_false(cv_map_has(&map, "x", 1));
    for (int i = 0; i < 5000; i++)
        assert_null(cv_map_set(&map, &i, sizeof i, &values[i]));
    for (int i = 0; i < 5000; i++)
        assert_ptr_equal(cv_map_get(&map, &i, sizeof i), &values[i]);
    assert_int_equal(map.count, 5000);
    assert_ptr_equal(cv_map_set(&map, &(int){7}, sizeof(int), &values[0]), &values[7]);
    assert_int_equal(map.count, 5000);
    while (cv_map_next(&map, &position))
        seen++;
    assert_int_equal(seen, 5000);
    cv_map_release(&map);
    cv_map_release(&map);
}

static void keys_are_bytes_and_may_be_empty(void **state)
{
    struct cv_map map = {0};
    int a, b, c;

    (void)state;
    (void)cv_map_set(&map, "", 0, &a);
    (void)cv_map_set(&map, "\0", 1, &b);
    (void)cv_map_set(&map, "\0\0", 2, &c);
    assert_ptr_equal(cv_map_get(&map, NULL, 0), &a);
    assert_ptr_equal(cv_map_get(&map, "\0", 1), &b);
    assert_ptr_equal(cv_map_get(&map, "\0\0", 2), &c);
    assert_int_equal(map.count, 3);
    cv_map_release(&map);
}

static void ids_are_positive_and_uuids_are_version_4(void **state)
{
    char text[CV_UUID_TEXT_BYTES];

    (void)state;
    for (int i = 0; i < 1000; i++) {
        assert_true(cv_random_id() >= 0);
        cv_uuid_text(text);
        assert_int_equal(strlen(text), 36);
        assert_int_equal(text[14], '4');
        assert_non_null(strchr("89ab", text[19]));
        assert_int_equal(strspn(text, "0123456789abcdef-"), 36);
    }
}

static void numbers_are_parsed_whole_or_not(void **state)
{
    int64_t value = 5;

    (void)state;
    assert_true(cv_parse_i64(cv_str_from("9223372036854775807"), &value));
    assert_int_equal(value, INT64_MAX);
    assert_true(cv_parse_i64(cv_str_from("-9223372036854775808"), &value));
    assert_int_equal(value, INT64_MIN);
    assert_true(cv_parse_i64(cv_str_from("+007"), &value));
    assert_int_equal(value, 7);
    assert_false(cv_parse_i64(cv_str_from("9223372036854775808"), &value));
    assert_false(cv_parse_i64(cv_str_from("-9223372036854775809"), &value));
    assert_false(cv_parse_i64(cv_str_from(""), &value));
    assert_false(cv_parse_i64(cv_str_from("-"), &value));
    assert_false(cv_parse_i64(cv_str_from(" 1"), &value));
    assert_false(cv_parse_i64(cv_str_from("1x"), &value));
    assert_int_equal(value, 7); /* untouched by failures */
}

static void texts_are_split_and_compared(void **state)
{
    struct cv_arena arena = CV_ARENA_INIT;
    size_t count;
    char **parts = cv_split(&arena, " a, ,b c ,,d", ',', &count);

    (void)state;
    assert_int_equal(count, 3);
    assert_string_equal(parts[0], "a");
    assert_string_equal(parts[1], "b c");
    assert_string_equal(parts[2], "d");
    assert_true(cv_text_equal_nocase("AbC", "aBc"));
    assert_false(cv_text_equal_nocase("ab", "abc"));
    assert_true(cv_text_ends_with("x.json", ".json"));
    assert_false(cv_text_ends_with("n", ".json"));
    assert_true(cv_str_is(cv_str_trim(cv_str_from("\t x y\n")), "x y"));
    cv_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_stops_at_its_maximum),
        cmocka_unit_test(a_failed_buffer_takes_nothing_more),
        cmocka_unit_test(lengths_do_not_wrap),
        cmocka_unit_test(printf_fills_to_the_last_byte),
        cmocka_unit_test(an_arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(large_blocks_do_not_lose_the_small_one),
        cmocka_unit_test(arrays_grow),
        cmocka_unit_test(the_map_keeps_what_it_is_given),
        cmocka_unit_test(keys_are_bytes_and_may_be_empty),
        cmocka_unit_test(ids_are_positive_and_uuids_are_version_4),
        cmocka_unit_test(numbers_are_parsed_whole_or_not),
        cmocka_unit_test(texts_are_split_and_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
