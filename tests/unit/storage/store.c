/* SPDX-License-Identifier: Apache-2.0
 *
 * Local store: locations, exclusive creation, ranges, abort, listing. */
#include "test.h"

#include "base/file.h"
#include "storage/store.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct cv_error err;

static struct cv_store *open_store(void)
{
    struct cv_store *store;

    CV_ASSERT_OK(cv_store_open("file:///tmp", NULL, &store, &err), &err);
    return store;
}

static void local_path_of_a_location(void **state)
{
    char path[CV_PATH_BYTES_MAX];

    (void)state;
    assert_true(cv_location_local_path("file:///a/b", path));
    assert_string_equal(path, "/a/b");
    assert_true(cv_location_local_path("file:/a/b", path));
    assert_string_equal(path, "/a/b");
    assert_true(cv_location_local_path("/a/%20b+c", path));
    assert_string_equal(path, "/a/%20b+c"); /* never decoded */
    assert_false(cv_location_local_path("file://host/a", path));
    assert_false(cv_location_local_path("s3://bucket/a", path));
    assert_false(cv_location_local_path("a/b", path));
}

static void join_has_one_slash(void **state)
{
    struct cv_arena arena = CV_ARENA_INIT;

    (void)state;
    assert_string_equal(cv_location_join(&arena, "file:///w/", "/x"), "file:///w/x");
    assert_string_equal(cv_location_join(&arena, "file:///w", "x"), "file:///w/x");
    cv_arena_release(&arena);
}

static void unknown_schemes_are_named(void **state)
{
    struct cv_store *store;

    (void)state;
    CV_ASSERT_FAILS(cv_store_open("gs://b/k", NULL, &store, &err), CV_UNSUPPORTED, "gs:", &err);
    CV_ASSERT_FAILS(cv_store_open("relative/k", NULL, &store, &err), CV_CONFIG, "no scheme", &err);
    CV_ASSERT_FAILS(cv_store_open("file://host/k", NULL, &store, &err), CV_CONFIG, "local", &err);
}

/* Case 44: a name that is taken is never written over. */
static void create_is_exclusive(void **state)
{
    struct cv_store *store = open_store();
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_buf bytes = CV_BUF_INIT(1000);
    const char *location = cv_arena_printf(&arena, "file://%s/deep/er/a", cv_test_folder());

    (void)state;
    CV_ASSERT_OK(cv_store_write(store, location, "first", 5, &err), &err);
    CV_ASSERT_FAILS(cv_store_write(store, location, "second", 6, &err), CV_EXISTS, "deep/er/a",
                    &err);
    CV_ASSERT_OK(cv_store_read(store, location, 100, &bytes, &err), &err);
    assert_int_equal(bytes.length, 5);
    assert_memory_equal(bytes.data, "first", 5);
    cv_buf_release(&bytes);
    cv_arena_release(&arena);
    cv_store_free(store);
}

static void ranges_and_limits(void **state)
{
    struct cv_store *store = open_store();
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_buf bytes = CV_BUF_INIT(1000);
    const char *location = cv_arena_printf(&arena, "%s/a", cv_test_folder());
    int64_t size;

    (void)state;
    CV_ASSERT_OK(cv_store_write(store, location, "0123456789", 10, &err), &err);
    CV_ASSERT_OK(cv_store_size(store, location, &size, &err), &err);
    assert_int_equal(size, 10);
    CV_ASSERT_OK(cv_store_read_range(store, location, 7, 3, &bytes, &err), &err);
    assert_memory_equal(bytes.data, "789", 3);
    cv_buf_clear(&bytes);
    CV_ASSERT_OK(cv_store_read_range(store, location, 4, SIZE_MAX, &bytes, &err), &err);
    assert_int_equal(bytes.length, 6);
    CV_ASSERT_FAILS(cv_store_read_range(store, location, 8, 3, &bytes, &err), CV_FORMAT,
                    "ends at byte 10", &err);
    CV_ASSERT_FAILS(cv_store_read_range(store, location, 11, 1, &bytes, &err), CV_FORMAT, "outside",
                    &err);
    CV_ASSERT_FAILS(cv_store_read_range(store, location, -1, 1, &bytes, &err), CV_FORMAT, "outside",
                    &err);
    CV_ASSERT_FAILS(cv_store_read(store, location, 9, &bytes, &err), CV_LIMIT, "9 allowed", &err);
    CV_ASSERT_FAILS(cv_store_read(store, "/tmp/calve-absent", 9, &bytes, &err), CV_NOT_FOUND,
                    "calve-absent", &err);
    cv_buf_release(&bytes);
    cv_arena_release(&arena);
    cv_store_free(store);
}

static void large_and_small_writes_keep_their_order(void **state)
{
    struct cv_store *store = open_store();
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_buf written = CV_BUF_INIT(0);
    struct cv_buf read = CV_BUF_INIT(0);
    const char *location = cv_arena_printf(&arena, "file:%s/a", cv_test_folder());
    struct cv_output *output;
    static const size_t lengths[] = {1, 65535, 65536, 3, 0, 200000, 65530, 10, 7};

    (void)state;
    CV_ASSERT_OK(cv_store_create(store, location, &output, &err), &err);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(lengths); i++) {
        size_t before = written.length;

        for (size_t k = 0; k < lengths[i]; k++)
            cv_buf_append_byte(&written, (uint8_t)(k * 31 + i));
        CV_ASSERT_OK(cv_output_write(output, written.data + before, lengths[i], &err), &err);
    }
    assert_int_equal(output->written, written.length);
    CV_ASSERT_OK(cv_output_close_unsynced(output, &err), &err);
    CV_ASSERT_OK(cv_store_sync(store, &location, 1, &err), &err);
    CV_ASSERT_OK(cv_store_read(store, location, SIZE_MAX, &read, &err), &err);
    assert_int_equal(read.length, written.length);
    assert_memory_equal(read.data, written.data, read.length);
    cv_buf_release(&read);
    cv_buf_release(&written);
    cv_arena_release(&arena);
    cv_store_free(store);
}

static void abort_leaves_nothing(void **state)
{
    struct cv_store *store = open_store();
    struct cv_arena arena = CV_ARENA_INIT;
    const char *path = cv_arena_printf(&arena, "%s/a", cv_test_folder());
    struct cv_output *output;

    (void)state;
    CV_ASSERT_OK(cv_store_create(store, path, &output, &err), &err);
    CV_ASSERT_OK(cv_output_write(output, "half", 4, &err), &err);
    cv_output_abort(output);
    assert_false(cv_file_exists(path));
    CV_ASSERT_OK(cv_store_remove(store, path, &err), &err); /* absent is fine */
    cv_output_abort(NULL);
    cv_arena_release(&arena);
    cv_store_free(store);
}

static void put_new_and_put_replace(void **state)
{
    struct cv_store *store = open_store();
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_buf bytes = CV_BUF_INIT(1000);
    const char *location = cv_arena_printf(&arena, "file://%s/deep/er/a", cv_test_folder());

    (void)state;
    CV_ASSERT_OK(cv_store_put(store, location, "first", 5, CV_PUT_NEW, &err), &err);
    CV_ASSERT_FAILS(cv_store_put(store, location, "2nd", 3, CV_PUT_NEW, &err), CV_EXISTS,
                    "deep/er/a", &err);
    CV_ASSERT_OK(cv_store_read(store, location, 5, &bytes, &err), &err);
    assert_memory_equal(bytes.data, "first", 5);
    CV_ASSERT_OK(cv_store_put(store, location, "third!", 6, CV_PUT_REPLACE, &err), &err);
    cv_buf_clear(&bytes);
    CV_ASSERT_FAILS(cv_store_read(store, location, 5, &bytes, &err), CV_LIMIT, "5 allowed", &err);
    assert_int_equal(bytes.length, 0);
    assert_int_equal(bytes.max, 1000);
    CV_ASSERT_OK(cv_store_read(store, location, 6, &bytes, &err), &err);
    assert_memory_equal(bytes.data, "third!", 6);
    cv_buf_release(&bytes);
    cv_arena_release(&arena);
    cv_store_free(store);
}

static void note_failure(void *context, size_t index, const struct cv_error *why)
{
    *(size_t *)context = index;
    assert_non_null(strstr(why->message, "folder"));
}

static void remove_many_tells_what_stays(void **state)
{
    struct cv_store *store = open_store();
    struct cv_arena arena = CV_ARENA_INIT;
    const char *root = cv_test_folder();
    const char *locations[] = {
        cv_arena_printf(&arena, "%s/a", root), cv_arena_printf(&arena, "%s/absent", root),
        cv_arena_printf(&arena, "%s/folder", root), cv_arena_printf(&arena, "%s/folder/b", root)};
    size_t failed = 99;

    (void)state;
    CV_ASSERT_OK(cv_store_write(store, locations[0], "1", 1, &err), &err);
    CV_ASSERT_OK(cv_store_write(store, locations[3], "1", 1, &err), &err);
    CV_ASSERT_OK(cv_store_remove_many(store, locations, 4, note_failure, &failed, &err), &err);
    assert_int_equal(failed, 2);
    assert_false(cv_file_exists(locations[0]));
    assert_false(cv_file_exists(locations[3]));
    cv_arena_release(&arena);
    cv_store_free(store);
}

/* /dev/full answers every write with ENOSPC. */
static void a_full_disk_is_an_error_with_a_hint(void **state)
{
    struct cv_store *store = open_store();
    struct cv_arena arena = CV_ARENA_INIT;
    const char *path = cv_arena_printf(&arena, "%s/a", cv_test_folder());
    struct cv_output *output;
    int descriptor = open("/dev/full", O_WRONLY);
    uint8_t *bytes = cv_alloc(1 << 20);

    (void)state;
    assert_true(descriptor >= 0);
    CV_ASSERT_OK(cv_store_create(store, path, &output, &err), &err);
    /* the descriptor just opened is one above; point it to the full device */
    assert_true(dup2(descriptor, descriptor + 1) == descriptor + 1);
    CV_ASSERT_FAILS(cv_output_write(output, bytes, 1 << 20, &err), CV_IO, "No space", &err);
    cv_output_abort(output);
    assert_false(cv_file_exists(path));
    free(bytes);
    (void)close(descriptor);
    cv_arena_release(&arena);
    cv_store_free(store);
}

struct listing {
    int files;
    int64_t bytes;
    bool deep;
};

static enum cv_code take_file(void *context, const struct cv_listed_file *file,
                              struct cv_error *ignored)
{
    struct listing *listing = context;

    (void)ignored;
    listing->files++;
    listing->bytes += file->size;
    listing->deep = listing->deep || strstr(file->location, "/x/y/c");
    assert_true(cv_text_starts_with(file->location, "file:///tmp/"));
    assert_true(file->modified_ms > INT64_C(1600000000000));
    return CV_OK;
}

static void list_finds_files_at_every_depth(void **state)
{
    struct cv_store *store = open_store();
    struct cv_arena arena = CV_ARENA_INIT;
    const char *root = cv_arena_printf(&arena, "file://%s", cv_test_folder());
    struct listing listing = {0};

    (void)state;
    CV_ASSERT_OK(cv_store_write(store, cv_location_join(&arena, root, "a"), "1", 1, &err), &err);
    CV_ASSERT_OK(cv_store_write(store, cv_location_join(&arena, root, "x/b"), "22", 2, &err), &err);
    CV_ASSERT_OK(cv_store_write(store, cv_location_join(&arena, root, "x/y/c"), "333", 3, &err),
                 &err);
    CV_ASSERT_OK(cv_store_list(store, root, take_file, &listing, &err), &err);
    assert_int_equal(listing.files, 3);
    assert_int_equal(listing.bytes, 6);
    assert_true(listing.deep);
    CV_ASSERT_OK(
        cv_store_list(store, cv_location_join(&arena, root, "absent"), take_file, &listing, &err),
        &err);
    assert_int_equal(listing.files, 3);
    cv_arena_release(&arena);
    cv_store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_path_of_a_location),
        cmocka_unit_test(join_has_one_slash),
        cmocka_unit_test(unknown_schemes_are_named),
        cmocka_unit_test(create_is_exclusive),
        cmocka_unit_test(ranges_and_limits),
        cmocka_unit_test(large_and_small_writes_keep_their_order),
        cmocka_unit_test(abort_leaves_nothing),
        cmocka_unit_test(put_new_and_put_replace),
        cmocka_unit_test(remove_many_tells_what_stays),
        cmocka_unit_test(a_full_disk_is_an_error_with_a_hint),
        cmocka_unit_test(list_finds_files_at_every_depth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
