/* SPDX-License-Identifier: Apache-2.0
 *
 * The Hadoop catalog: versions by link(), the hint and the probing past it. */
#include "test.h"

#include "base/file.h"
#include "catalog/catalog.h"

static struct cv_error err;

struct fixture {
    struct cv_arena arena;
    const char *warehouse;
    const char *folder; /* metadata/ of the table, as a path */
    struct cv_catalog *catalog;
    struct cv_table_name name;
};

static int set_up(void **state)
{
    struct fixture *f = cv_alloc(sizeof *f);
    struct cv_properties properties = {0};

    f->warehouse = cv_arena_strdup(&f->arena, cv_test_folder());
    f->folder = cv_arena_printf(&f->arena, "%s/shop/eu/orders/metadata", f->warehouse);
    cv_properties_set(&properties, "type", "hadoop");
    cv_properties_set(&properties, "warehouse",
                      cv_arena_printf(&f->arena, "file://%s", f->warehouse));
    CV_ASSERT_OK(cv_catalog_open("lake", &properties, &f->catalog, &err), &err);
    CV_ASSERT_OK(cv_table_name_parse("lake.shop.eu.orders", &f->arena, &f->name, &err), &err);
    CV_ASSERT_OK(cv_directory_make(f->folder, &err), &err);
    cv_properties_release(&properties);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cv_catalog_free(f->catalog);
    cv_arena_release(&f->arena);
    free(f);
    return 0;
}

static const char *path_of(struct fixture *f, const char *file)
{
    return cv_arena_printf(&f->arena, "%s/%s", f->folder, file);
}

static void put(struct fixture *f, const char *file, const char *text)
{
    CV_ASSERT_OK(cv_file_write_replace(path_of(f, file), text, strlen(text), &err), &err);
}

/* Writes a metadata file as the table layer would and returns its location. */
static const char *write_next(struct fixture *f, const char *base, bool gzip)
{
    const char *location;

    CV_ASSERT_OK(f->catalog->ops->metadata_location(
                     f->catalog, cv_arena_printf(&f->arena, "file://%s", f->folder), base, gzip,
                     &f->arena, &location, &err),
                 &err);
    CV_ASSERT_OK(cv_file_write_new(location + 7, "{}", 2, &err), &err);
    return location;
}

static enum cv_code try_create(struct fixture *f, const char **ret_now)
{
    struct cv_catalog_change change = {.next_location = write_next(f, NULL, false)};
    struct cv_catalog_entry entry = {0};
    enum cv_code code =
        f->catalog->ops->create(f->catalog, &f->name, &change, &f->arena, &entry, &err);

    *ret_now = entry.metadata_location;
    return code;
}

static const char *create(struct fixture *f)
{
    const char *now;

    CV_ASSERT_OK(try_create(f, &now), &err);
    return now;
}

static enum cv_code commit(struct fixture *f, const char *base, const char *next,
                           const char **ret_now)
{
    struct cv_catalog_change change = {.base_location = base, .next_location = next};
    struct cv_catalog_entry entry = {0};
    enum cv_code code =
        f->catalog->ops->commit(f->catalog, &f->name, &change, &f->arena, &entry, &err);

    *ret_now = entry.metadata_location;
    return code;
}

static const char *load(struct fixture *f)
{
    const char *location;

    CV_ASSERT_OK(cv_catalog_find(f->catalog, &f->name, &f->arena, &location, &err), &err);
    return location;
}

static void versions_count_from_one(void **state)
{
    struct fixture *f = *state;
    CV_CLEANUP(cv_buf_release) struct cv_buf hint = CV_BUF_INIT(0);
    const char *first = create(f);
    const char *next = write_next(f, first, false);
    const char *second;

    assert_true(cv_text_ends_with(first, "/shop/eu/orders/metadata/v1.metadata.json"));
    assert_true(cv_text_starts_with(first, "file:///"));
    CV_ASSERT_OK(commit(f, first, next, &second), &err);
    assert_true(cv_text_ends_with(second, "/v2.metadata.json"));
    assert_string_equal(load(f), second);
    assert_false(cv_file_exists(next + 7)); /* only under its own name */
    CV_ASSERT_OK(cv_file_read(path_of(f, "version-hint.text"), 100, &hint, &err), &err);
    assert_string_equal(cv_buf_text(&hint), "2");
}

static void a_taken_version_is_a_conflict(void **state)
{
    struct fixture *f = *state;
    const char *first = create(f);
    const char *mine = write_next(f, first, false);
    const char *now;

    put(f, "v2.metadata.json", "{\"other\":1}");
    CV_ASSERT_FAILS(commit(f, first, mine, &now), CV_CONFLICT, "v2.metadata.json", &err);
    assert_true(cv_file_exists(mine + 7)); /* the caller's to remove */
    put(f, "v3.gz.metadata.json", "");
    CV_ASSERT_FAILS(
        commit(f, cv_arena_printf(&f->arena, "file://%s/v2.metadata.json", f->folder), mine, &now),
        CV_CONFLICT, "v3.gz", &err);
}

/* A sleeper whose next version was cleaned up meanwhile must not take its name. */
static void a_version_that_was_removed_is_not_free(void **state)
{
    struct fixture *f = *state;
    const char *first = create(f);
    const char *mine = write_next(f, first, false);
    const char *now;

    put(f, "v5.metadata.json", "{}");
    put(f, "version-hint.text", "5");
    CV_ASSERT_FAILS(commit(f, first, mine, &now), CV_CONFLICT, "v5", &err);
}

static void an_old_bad_or_missing_hint_is_survived(void **state)
{
    struct fixture *f = *state;
    const char *first = create(f);

    for (int i = 2; i <= 12; i++)
        put(f, cv_arena_printf(&f->arena, "v%d.metadata.json", i), "{}");
    put(f, "version-hint.text", "3\n");
    assert_true(cv_text_ends_with(load(f), "/v12.metadata.json")); /* probed on */
    put(f, "version-hint.text", "");
    assert_true(cv_text_ends_with(load(f), "/v12.metadata.json"));
    put(f, "version-hint.text", "99999999999999999999");
    assert_true(cv_text_ends_with(load(f), "/v12.metadata.json"));
    put(f, "version-hint.text", "40"); /* ahead of what is there */
    assert_true(cv_text_ends_with(load(f), "/v12.metadata.json"));
    CV_ASSERT_OK(cv_file_remove(path_of(f, "version-hint.text"), &err), &err);
    assert_true(cv_text_ends_with(load(f), "/v12.metadata.json"));
    (void)first;
}

static void gzip_versions_keep_their_ending(void **state)
{
    struct fixture *f = *state;
    const char *first = create(f);
    const char *now;

    CV_ASSERT_OK(commit(f, first, write_next(f, first, true), &now), &err);
    assert_true(cv_text_ends_with(now, "/v2.gz.metadata.json"));
    assert_string_equal(load(f), now);
}

static void creates_lists_and_drops(void **state)
{
    struct fixture *f = *state;
    const char *now;
    char **names;
    size_t count;

    CV_ASSERT_FAILS(cv_catalog_find(f->catalog, &f->name, &f->arena, &now, &err), CV_NOT_FOUND,
                    "shop.eu.orders", &err);
    (void)create(f);
    CV_ASSERT_FAILS(try_create(f, &now), CV_EXISTS, "shop.eu.orders", &err);
    CV_ASSERT_OK(f->catalog->ops->list(f->catalog, &f->arena, &names, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_string_equal(names[0], "shop.eu.orders");
    CV_ASSERT_OK(f->catalog->ops->drop(f->catalog, &f->name, &err), &err);
    assert_false(cv_file_exists(f->folder));
    CV_ASSERT_FAILS(cv_catalog_find(f->catalog, &f->name, &f->arena, &now, &err), CV_NOT_FOUND,
                    "shop.eu.orders", &err);
    CV_ASSERT_OK(f->catalog->ops->list(f->catalog, &f->arena, &names, &count, &err), &err);
    assert_int_equal(count, 0);
    assert_true(cv_file_exists(cv_arena_printf(&f->arena, "%s/shop/eu", f->warehouse)));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(versions_count_from_one),
        TEST(a_taken_version_is_a_conflict),
        TEST(a_version_that_was_removed_is_not_free),
        TEST(an_old_bad_or_missing_hint_is_survived),
        TEST(gzip_versions_keep_their_ending),
        TEST(creates_lists_and_drops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
