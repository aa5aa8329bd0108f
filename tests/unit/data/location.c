/* SPDX-License-Identifier: Apache-2.0
 *
 * Locations of data files: folders by the table's properties, hashed folders against values of the
 * Java library's tests, names that would be too long for a store. */
#include "data/location.h"

#include "test.h"

static struct cv_arena arena;

static int teardown(void **state)
{
    cv_arena_release(&arena);
    return 0;
}

static const char *locate(const char *location, const char *const properties[][2], size_t count,
                          const char *partition, const char *name)
{
    struct cv_table_metadata metadata = {.location = location};
    struct cv_data_locations locations;
    struct cv_error err = CV_ERROR_INIT;

    for (size_t i = 0; i < count; i++)
        cv_properties_set(&metadata.properties, properties[i][0], properties[i][1]);
    CV_ASSERT_OK(cv_data_locations_read(&metadata, &arena, &locations, &err), &err);
    cv_properties_release(&metadata.properties);
    return cv_data_location(&locations, partition, name, &arena);
}

static void files_lie_in_the_data_folder(void **state)
{
    static const char *const elsewhere[][2] = {{"write.data.path", "file:///other/place/"}};
    static const char *const below[][2] = {{"write.data.path", "rows"}};

    assert_string_equal(locate("file:///wh/t", NULL, 0, "", "x.parquet"),
                        "file:///wh/t/data/x.parquet");
    assert_string_equal(locate("file:///wh/t", NULL, 0, "d=2026-01-01/b=3", "x.parquet"),
                        "file:///wh/t/data/d=2026-01-01/b=3/x.parquet");
    assert_string_equal(locate("file:///wh/t", elsewhere, 1, "", "x.parquet"),
                        "file:///other/place/x.parquet");
    assert_string_equal(locate("file:///wh/t", below, 1, "p=1", "x.parquet"),
                        "file:///wh/t/rows/p=1/x.parquet");
}

/* The folders of four names are asserted in the Java library's TestLocationProvider. */
static void hashed_folders_are_those_of_java(void **state)
{
    static const char *const hashed[][2] = {{"write.object-storage.enabled", "true"}};
    static const char *const joined[][2] = {{"write.object-storage.enabled", "true"},
                                            {"write.object-storage.partitioned-paths", "false"}};
    static const char *const elsewhere[][2] = {{"write.object-storage.enabled", "true"},
                                               {"write.data.path", "s3://bucket/data"}};
    static const char *const names[][2] = {
        {"a", "0101/0110/1001/10110010"},
        {"b", "1110/0111/1110/00000011"},
        {"c", "0010/1101/0110/01011111"},
        {"d", "1001/0001/0100/01110011"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++)
        assert_string_equal(
            locate("file:///wh/ns/t", hashed, 1, "", names[i][0]),
            cv_arena_printf(&arena, "file:///wh/ns/t/data/%s/%s", names[i][1], names[i][0]));
    assert_string_equal(locate("file:///wh/ns/t", joined, 2, "p=1", "a"),
                        "file:///wh/ns/t/data/0101/0110/1001/10110010-a");
    assert_string_equal(locate("file:///wh/ns/t", elsewhere, 2, "", "a"),
                        "s3://bucket/data/0101/0110/1001/10110010/ns/t/a");
    /* with partition folders the hash is that of folder and name together */
    assert_non_null(strstr(locate("file:///wh/ns/t", hashed, 1, "p=1", "a"), "/p=1/a"));
    assert_null(strstr(locate("file:///wh/ns/t", hashed, 1, "p=1", "a"), names[0][1]));
}

static char *repeat(const char *text, size_t times)
{
    char *out = cv_arena_alloc(&arena, strlen(text) * times + 1);

    for (size_t i = 0; i < times; i++)
        strcat(out, text);
    return out;
}

static void long_folders_are_cut_and_stay_apart(void **state)
{
    const char *long_value = repeat("a", 3000);
    const char *encoded = repeat("%C3%A9", 100);
    const char *first =
        locate("file:///t", NULL, 0, cv_arena_printf(&arena, "p=%s1/q=2", long_value), "x.parquet");
    const char *second =
        locate("file:///t", NULL, 0, cv_arena_printf(&arena, "p=%s2/q=2", long_value), "x.parquet");
    const char *folder = first + strlen("file:///t/data/");

    assert_int_equal(strcspn(folder, "/"), CV_FOLDER_NAME_BYTES_MAX);
    assert_string_equal(folder + CV_FOLDER_NAME_BYTES_MAX, "/q=2/x.parquet");
    assert_string_not_equal(first, second);
    assert_string_equal(first,
                        locate("file:///t", NULL, 0,
                               cv_arena_printf(&arena, "p=%s1/q=2", long_value), "x.parquet"));
    /* never inside %XX */
    folder = strstr(locate("file:///t", NULL, 0, encoded, "x.parquet"), "data/") + 5;
    for (const char *at = strchr(folder, '%'); at; at = strchr(at + 1, '%'))
        assert_true(strncmp(at, "%C3", 3) == 0 || strncmp(at, "%A9", 3) == 0);
    assert_true(strcspn(folder, "/") <= CV_FOLDER_NAME_BYTES_MAX);
    /* exactly at the limit nothing is cut */
    folder = repeat("b", CV_FOLDER_NAME_BYTES_MAX);
    assert_non_null(strstr(locate("file:///t", NULL, 0, folder, "x"), folder));
}

static void locations_stay_below_the_key_limit(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf partition = CV_BUF_INIT(0);
    const char *long_value = repeat("a", 3000);
    const char *location;

    for (int fields = 1; fields < 100; fields++) {
        cv_buf_printf(&partition, "%sf%d=%s", fields > 1 ? "/" : "", fields, long_value);
        location = locate("file:///warehouse/ns/t", NULL, 0, cv_buf_text(&partition), "x.parquet");
        assert_true(strlen(location) <= CV_LOCATION_BYTES_MAX);
        assert_true(cv_text_ends_with(location, "/x.parquet"));
    }
    assert_non_null(strstr(location, "/data/partition-"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_lie_in_the_data_folder),
        cmocka_unit_test(hashed_folders_are_those_of_java),
        cmocka_unit_test(long_folders_are_cut_and_stay_apart),
        cmocka_unit_test(locations_stay_below_the_key_limit),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
