/* SPDX-License-Identifier: Apache-2.0
 *
 * Durable files: whole under their name or not there, never over another one. */
#include "test.h"

#include "base/file.h"

#include <sys/stat.h>

static struct cv_error err;
static struct cv_arena arena;
static const char *folder;

static int set_up(void **state)
{
    (void)state;
    folder = cv_arena_strdup(&arena, cv_test_folder());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cv_arena_release(&arena);
    return 0;
}

static const char *in_folder(const char *name)
{
    return cv_arena_printf(&arena, "%s/%s", folder, name);
}

static void assert_content(const char *path, const char *text)
{
    struct cv_buf bytes = CV_BUF_INIT(0);

    CV_ASSERT_OK(cv_file_read(path, 1000, &bytes, &err), &err);
    assert_string_equal(cv_buf_text(&bytes), text);
    cv_buf_release(&bytes);
}

static size_t entries(void)
{
    char **names;
    size_t count;

    CV_ASSERT_OK(cv_directory_list(folder, &arena, &names, &count, &err), &err);
    return count;
}

static void a_new_file_overwrites_nothing(void **state)
{
    (void)state;
    CV_ASSERT_OK(cv_file_write_new(in_folder("a"), "first", 5, &err), &err);
    CV_ASSERT_FAILS(cv_file_write_new(in_folder("a"), "second", 6, &err), CV_EXISTS, "/a exists",
                    &err);
    assert_content(in_folder("a"), "first");
    assert_int_equal(entries(), 1); /* no temporary file is left */
}

static void replace_changes_the_whole_file(void **state)
{
    (void)state;
    CV_ASSERT_OK(cv_file_write_replace(in_folder("a"), "long text", 9, &err), &err);
    CV_ASSERT_OK(cv_file_write_replace(in_folder("a"), "x", 1, &err), &err);
    assert_content(in_folder("a"), "x");
    CV_ASSERT_OK(cv_file_write_replace(in_folder("empty"), "", 0, &err), &err);
    assert_content(in_folder("empty"), "");
    assert_int_equal(entries(), 2);
}

static void a_missing_folder_is_reported(void **state)
{
    (void)state;
    CV_ASSERT_FAILS(cv_file_write_new(in_folder("no/a"), "x", 1, &err), CV_NOT_FOUND, "no/", &err);
    CV_ASSERT_FAILS(cv_directory_sync(in_folder("no"), &err), CV_NOT_FOUND, "no", &err);
}

static void reading_has_a_limit(void **state)
{
    struct cv_buf bytes = CV_BUF_INIT(0);

    (void)state;
    CV_ASSERT_OK(cv_file_write_new(in_folder("a"), "12345", 5, &err), &err);
    CV_ASSERT_FAILS(cv_file_read(in_folder("a"), 4, &bytes, &err), CV_LIMIT, "5 bytes", &err);
    CV_ASSERT_FAILS(cv_file_read(in_folder("b"), 4, &bytes, &err), CV_NOT_FOUND, "/b", &err);
    CV_ASSERT_FAILS(cv_file_read(folder, 4, &bytes, &err), CV_IO, "folder", &err);
    cv_buf_release(&bytes);
}

/* A buffer just as large as the file's limit is enough. */
static void a_small_buffer_is_enough(void **state)
{
    struct cv_buf bytes = CV_BUF_INIT(5);

    (void)state;
    CV_ASSERT_OK(cv_file_write_new(in_folder("a"), "12345", 5, &err), &err);
    CV_ASSERT_OK(cv_file_read(in_folder("a"), 5, &bytes, &err), &err);
    assert_int_equal(bytes.length, 5);
    cv_buf_release(&bytes);
}

static void folders_are_made_with_their_parents(void **state)
{
    char **names;
    size_t count;

    (void)state;
    CV_ASSERT_OK(cv_directory_make(in_folder("x/y/z"), &err), &err);
    CV_ASSERT_OK(cv_directory_make(in_folder("x/y/z/"), &err), &err);
    assert_true(cv_file_exists(in_folder("x/y/z")));
    CV_ASSERT_OK(cv_file_write_new(in_folder("x/2"), "", 0, &err), &err);
    CV_ASSERT_OK(cv_file_write_new(in_folder("x/1"), "", 0, &err), &err);
    CV_ASSERT_OK(cv_directory_list(in_folder("x"), &arena, &names, &count, &err), &err);
    assert_int_equal(count, 3);
    assert_string_equal(names[0], "1");
    assert_string_equal(names[1], "2");
    assert_string_equal(names[2], "y");
    CV_ASSERT_FAILS(cv_directory_list(in_folder("no"), &arena, &names, &count, &err), CV_NOT_FOUND,
                    "no", &err);
    CV_ASSERT_FAILS(cv_directory_make(in_folder("x/1/2"), &err), CV_IO, "x/1", &err);
    CV_ASSERT_OK(cv_file_remove(in_folder("x/1"), &err), &err);
    CV_ASSERT_OK(cv_file_remove(in_folder("x/1"), &err), &err);
    assert_false(cv_file_exists(in_folder("x/1")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_new_file_overwrites_nothing), TEST(replace_changes_the_whole_file),
        TEST(a_missing_folder_is_reported),  TEST(reading_has_a_limit),
        TEST(a_small_buffer_is_enough),      TEST(folders_are_made_with_their_parents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
