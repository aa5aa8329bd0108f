/* SPDX-License-Identifier: Apache-2.0
 *
 * Cut bounds (vectors V-BOUND: Java's TestMetricsTruncation) and the modes of the columns. */
#include "schema/metrics.h"

#include "base/buf.h"
#include "test.h"

#define TEN_A "aaaaaaaaaa"
#define A_14  TEN_A "aaaa"
#define A_15  TEN_A "aaaaa"
#define A_16  TEN_A "aaaaaa"
#define LAST  "\xf4\x8f\xbf\xbf"

static void text_bounds_are_those_of_java(void **state)
{
    static const struct {
        const char *value;
        int32_t length;
        const char *lower;
        const char *upper; /* NULL = none */
    } rows[] = {
        {"イロハニホヘト", 2, "イロ", "イヮ"},
        {"イロハニホヘト", 3, "イロハ", "イロバ"},
        {"щщаεはчωいにπάほхεろへσκζ", 7, "щщаεはчω", "щщаεはчϊ"},
        {"aनि\xef\xbf\xbf\xef\xbf\xbf", 3, "aनि", "aनी"},
        {"\xef\xbf\xbf\xef\xbf\xbf", 1, "\xef\xbf\xbf", "\xf0\x90\x80\x80"},
        {LAST LAST, 1, LAST, NULL},
        {"\xf0\x90\x8f\xbf\xf0\x90\x8f\xbf", 1, "\xf0\x90\x8f\xbf", "\xf0\x90\x90\x80"},
        {"😂😂😂", 1, "😂", "😃"},
        {"😂😂😂", 2, "😂😂", "😂😃"},
        {"a" LAST "c", 2, "a" LAST, "b"},
        {"a\xed\x9f\xbf"
         "b",
         2, "a\xed\x9f\xbf", "a\xee\x80\x80"},
        {A_16 "b", 16, A_16, A_15 "b"},
        {A_15 "\xed\x9f\xbfz", 16, A_15 "\xed\x9f\xbf", A_15 "\xee\x80\x80"},
        {A_15 "\xef\xbf\xbfz", 16, A_15 "\xef\xbf\xbf", A_15 "\xf0\x90\x80\x80"},
        {A_15 LAST "z", 16, A_15 LAST, A_14 "b"},
        {LAST LAST LAST LAST LAST LAST LAST LAST LAST LAST LAST LAST LAST LAST LAST LAST LAST, 16,
         LAST LAST LAST LAST LAST LAST LAST LAST LAST LAST LAST LAST LAST LAST LAST LAST, NULL},
        {"abc", 3, "abc", "abc"},
        {"", 16, "", ""},
        /* byte 16 stands inside a character of two bytes */
        {A_15 "\xc3\xa9", 16, A_15 "\xc3\xa9", A_15 "\xc3\xa9"},
        {A_15 "\xc3\xa9z", 16, A_15 "\xc3\xa9", A_15 "\xc3\xaa"},
        {"a\xff\xff", 2, "a\xff", NULL}, /* not UTF-8 */
        {"\x7fz", 1, "\x7f", "\xc2\x80"},
        {"\xdf\xbfz", 1, "\xdf\xbf", "\xe0\xa0\x80"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);

        cv_bound_lower_text(cv_str_from(rows[i].value), rows[i].length, &out);
        assert_string_equal(cv_buf_text(&out), rows[i].lower);
        assert_int_equal(cv_bound_upper_text(cv_str_from(rows[i].value), rows[i].length, &out),
                         rows[i].upper != NULL);
        if (rows[i].upper)
            assert_string_equal(cv_buf_text(&out), rows[i].upper);
    }
}

static void binary_bounds_are_those_of_java(void **state)
{
    static const struct {
        const char *value;
        int32_t length;
        const char *lower;
        const char *upper;
    } rows[] = {
        {"01 01 00", 2, "01 01", "01 02"},
        {"01 01 ff 02", 2, "01 01", "01 02"},
        {"01 ff ff", 2, "01 ff", "02"},
        {"ff ff ff", 2, "ff ff", NULL},
        {"ff ff", 2, "ff ff", "ff ff"},
        {"", 2, "", ""},
        {"ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff", 16,
         "ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff", NULL},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
        uint8_t bytes[32];
        struct cv_str value = {(char *)bytes, cv_test_hex(rows[i].value, bytes, sizeof bytes)};

        cv_bound_lower_binary(value, rows[i].length, &out);
        cv_test_assert_hex(out.data, out.length, rows[i].lower);
        assert_int_equal(cv_bound_upper_binary(value, rows[i].length, &out), rows[i].upper != NULL);
        if (rows[i].upper)
            cv_test_assert_hex(out.data, out.length, rows[i].upper);
    }
}

/* --- modes ----------------------------------------------------------------------------------- */

struct fixture {
    struct cv_arena arena;
    struct cv_schema schema;
    struct cv_properties properties;
    struct cv_metrics_config config;
};

static void fixture_release(struct fixture *f)
{
    cv_arena_release(&f->arena);
    cv_properties_release(&f->properties);
}

static void read_config(struct fixture *f, const char *ddl, const int32_t *sorted, size_t count)
{
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(cv_schema_read_ddl(ddl, &f->arena, &f->schema, &err), &err);
    CV_ASSERT_OK(cv_metrics_config_read(&f->schema, &f->properties, sorted, count, &f->arena,
                                        &f->config, &err),
                 &err);
}

static void assert_mode(const struct fixture *f, int32_t id, enum cv_metrics_mode_kind kind,
                        int32_t length)
{
    struct cv_metrics_mode mode = cv_metrics_mode_of(&f->config, id);

    if (mode.kind != kind || mode.length != length)
        fail_msg("field %d has mode %d(%d)", id, (int)mode.kind, (int)mode.length);
}

static void modes_come_from_the_properties(void **state)
{
    CV_CLEANUP(fixture_release) struct fixture f = {0};

    cv_properties_set(&f.properties, "write.metadata.metrics.column.b", "none");
    cv_properties_set(&f.properties, "write.metadata.metrics.column.s.x", "truncate(4)");
    cv_properties_set(&f.properties, "write.metadata.metrics.column.a.b", "Full");
    cv_properties_set(&f.properties, "write.metadata.metrics.column.c", "counts");
    cv_properties_set(&f.properties, "write.metadata.metrics.column.d", "truncate(0)");
    read_config(&f,
                "a int, b string, s struct<x: string, y: int>, `a.b` int, c int, d string,"
                " l array<string>",
                NULL, 0);
    assert_int_equal(f.config.count, 8);
    assert_mode(&f, 1, CV_METRICS_TRUNCATE, 16);
    assert_mode(&f, 2, CV_METRICS_NONE, 0);
    assert_mode(&f, 8, CV_METRICS_TRUNCATE, 4);
    assert_mode(&f, 9, CV_METRICS_TRUNCATE, 16);
    assert_mode(&f, 4, CV_METRICS_FULL, 0);
    assert_mode(&f, 5, CV_METRICS_COUNTS, 0);
    assert_mode(&f, 6, CV_METRICS_TRUNCATE, 16); /* misspelt: the default */
    assert_mode(&f, 3, CV_METRICS_NONE, 0);      /* the struct itself has no entry */
}

static void sorted_columns_get_bounds(void **state)
{
    static const int32_t sorted[] = {2};
    CV_CLEANUP(fixture_release) struct fixture f = {0};

    cv_properties_set(&f.properties, "write.metadata.metrics.default", "counts");
    read_config(&f, "a int, b string", sorted, 1);
    assert_mode(&f, 1, CV_METRICS_COUNTS, 0);
    assert_mode(&f, 2, CV_METRICS_TRUNCATE, 16);
}

static void a_wide_schema_infers_only_for_the_first(void **state)
{
    CV_CLEANUP(fixture_release) struct fixture f = {0};

    cv_properties_set(&f.properties, "write.metadata.metrics.max-inferred-column-defaults", "2");
    read_config(&f, "s struct<x: int>, a int, b int, c int", NULL, 0);
    assert_mode(&f, 2, CV_METRICS_TRUNCATE, 16);
    assert_mode(&f, 3, CV_METRICS_TRUNCATE, 16);
    assert_mode(&f, 4, CV_METRICS_NONE, 0);
    assert_mode(&f, 5, CV_METRICS_NONE, 0); /* nested: after the top level */
    cv_properties_set(&f.properties, "write.metadata.metrics.default", "truncate(8)");
    read_config(&f, "s struct<x: int>, a int, b int, c int", NULL, 0);
    assert_mode(&f, 5, CV_METRICS_TRUNCATE, 8); /* said explicitly: everywhere */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_bounds_are_those_of_java),
        cmocka_unit_test(binary_bounds_are_those_of_java),
        cmocka_unit_test(modes_come_from_the_properties),
        cmocka_unit_test(sorted_columns_get_bounds),
        cmocka_unit_test(a_wide_schema_infers_only_for_the_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
