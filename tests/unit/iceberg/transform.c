/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms of single values: the hash, truncate and time vectors of the spec and of the Java
 * library, and texts of transforms. */
#include "iceberg/partition.h"
#include "test.h"

#include <time.h>

#define TEXT(text)                                                                                 \
    (struct cv_str)                                                                                \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static struct cv_type type_of(const char *text)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_type type;

    CV_ASSERT_OK(cv_type_parse_primitive(cv_str_from(text), &type, &err), &err);
    return type;
}

/* A value from its text; binary, fixed and uuid from hex. */
static struct cv_value value_of(const struct cv_type *type, const char *text)
{
    static uint8_t bytes[8][64];
    static size_t next;
    struct cv_value value = {.kind = type->kind};
    struct cv_str span = cv_str_from(text);
    int64_t number = 0;
    bool zoned;

    switch (type->kind) {
    case CV_TYPE_INT:
        assert_true(cv_parse_i64(span, &number));
        value.i32 = (int32_t)number;
        break;
    case CV_TYPE_DATE:
        assert_true(cv_parse_date(span, &value.i32));
        break;
    case CV_TYPE_LONG:
        assert_true(cv_parse_i64(span, &value.i64));
        break;
    case CV_TYPE_TIME:
        assert_true(cv_parse_time(span, &value.i64));
        break;
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        assert_true(cv_parse_timestamp(span, &value.i64, &zoned));
        break;
    case CV_TYPE_DECIMAL:
        assert_true(cv_parse_decimal_exact(span, type->precision, type->scale, &value.decimal));
        break;
    case CV_TYPE_STRING:
        value.bytes = span;
        break;
    default:
        next = (next + 1) % 8;
        value.bytes.length = cv_test_hex(text, bytes[next], sizeof bytes[next]);
        value.bytes.ptr = (const char *)bytes[next];
        break;
    }
    return value;
}

static struct cv_value apply(const char *transform, const struct cv_type *type,
                             const struct cv_value *value)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_transform parsed;
    struct cv_value result;

    CV_ASSERT_OK(cv_transform_parse(transform, &arena, &parsed, &err), &err);
    CV_ASSERT_OK(cv_transform_apply(&parsed, type, value, &result, &err), &err);
    cv_arena_release(&arena);
    return result;
}

static void buckets_follow_the_hash_of_the_spec(void **state)
{
    static const struct {
        const char *type;
        const char *text;
        int32_t hash;
        int32_t bucket_16;
        int32_t bucket_100;
    } rows[] = {
        {"int", "34", 2017239379, 3, 79},
        {"long", "34", 2017239379, 3, 79},
        {"decimal(9, 2)", "14.20", -500754589, 3, 59},
        {"date", "2017-11-16", -653330422, 10, 26},
        {"time", "22:31:08", -662762989, 3, 59},
        {"timestamp", "2017-11-16T22:31:08", -2047944441, 7, 7},
        {"timestamp", "2017-11-16T22:31:08.000001", -1207196810, 6, 38},
        {"timestamptz", "2017-11-16T14:31:08-08:00", -2047944441, 7, 7},
        {"timestamptz", "2017-11-16T14:31:08.000001-08:00", -1207196810, 6, 38},
        {"string", "iceberg", 1210000089, 9, 89},
        {"uuid", "f79c3e09677c4bbda4793f349cb785e7", 1488055340, 12, 40},
        {"fixed[4]", "00010203", -188683207, 9, 41},
        {"binary", "00010203", -188683207, 9, 41},
        {"int", "0", 1669671676, 12, 76},
        {"int", "1", 1392991556, 4, 56},
        {"int", "-1", 1651860712, 8, 12},
        {"long", "-1", 1651860712, 8, 12},
        {"int", "2147483647", 1819228606, 14, 6},
        {"int", "-2147483648", -2073034792, 8, 56},
        {"long", "-2147483648", -2073034792, 8, 56},
        {"long", "9223372036854775807", -2106506049, 15, 99},
        {"long", "-9223372036854775808", 1366273829, 5, 29},
        {"decimal(9, 0)", "0", 1364076727, 7, 27},
        {"decimal(9, 0)", "-1", -43192051, 13, 97},
        {"decimal(9, 0)", "127", 1435096473, 9, 73},
        {"decimal(9, 0)", "128", 1544076949, 5, 49},
        {"decimal(9, 0)", "-128", 267099677, 13, 77},
        {"decimal(9, 0)", "-129", -435537839, 1, 9},
        {"decimal(38, 0)", "99999999999999999999999999999999999999", -1079967834, 6, 14},
        {"decimal(38, 0)", "-99999999999999999999999999999999999999", -1954217638, 10, 10},
        {"date", "1969-12-31", 1651860712, 8, 12},
        {"timestamp", "1969-12-31T23:59:59.999999", 1651860712, 8, 12},
        {"time", "00:00:00", 1669671676, 12, 76},
        {"string", "", 0, 0, 0},
        {"string", "a", 1009084850, 2, 50},
        {"string", "ab", -1681926305, 15, 43},
        {"string", "abc", -1277324294, 10, 54},
        {"string", "abcd", 1139631978, 10, 78},
        {"string", "é", 269551495, 7, 95},
        {"string", "測試", -1223093868, 4, 80},
        {"string", "💰", -1486360756, 12, 92},
        {"binary", "", 0, 0, 0},
        {"binary", "ff", -43192051, 13, 97},
        {"binary", "ffffffffff", 2048059228, 12, 28},
        {"uuid", "00000000000000000000000000000000", -2127245832, 8, 16},
        {"uuid", "ffffffffffffffffffffffffffffffff", -451333010, 14, 38},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct cv_type type = type_of(rows[i].type);
        struct cv_value value = value_of(&type, rows[i].text);

        assert_int_equal(apply("bucket[16]", &type, &value).i32, rows[i].bucket_16);
        assert_int_equal(apply("bucket[100]", &type, &value).i32, rows[i].bucket_100);
        assert_int_equal(apply("bucket[2147483647]", &type, &value).i32,
                         (rows[i].hash & INT32_MAX) % INT32_MAX);
    }
}

static void whole_numbers_truncate_downwards(void **state)
{
    static const int32_t rows[][2] = {{1, 0},
                                      {-1, -10},
                                      {0, 0},
                                      {5, 0},
                                      {9, 0},
                                      {10, 10},
                                      {11, 10},
                                      {-5, -10},
                                      {-10, -10},
                                      {-11, -20},
                                      {INT32_MIN, 2147483646}};
    struct cv_type narrow = type_of("int");
    struct cv_type wide = type_of("long");

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct cv_value value = {.kind = CV_TYPE_INT, .i32 = rows[i][0]};
        struct cv_value same = {.kind = CV_TYPE_LONG, .i64 = rows[i][0]};

        assert_int_equal(apply("truncate[10]", &narrow, &value).i32, rows[i][1]);
        if (rows[i][0] != INT32_MIN)
            assert_int_equal(apply("truncate[10]", &wide, &same).i64, rows[i][1]);
    }
}

/* Results of iceberg-api 1.10.1, whose arithmetic wraps at each step. */
static void truncation_near_the_ends_wraps_as_java_does(void **state)
{
    static const int32_t rows[][2] = {{2000000001, 2000000000},
                                      {1999999999, -2000000000},
                                      {-1, -2000000000},
                                      {-2000000001, 294967296}};
    struct cv_type narrow = type_of("int");
    struct cv_type wide = type_of("long");
    struct cv_value lowest = {.kind = CV_TYPE_LONG, .i64 = INT64_MIN};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct cv_value value = {.kind = CV_TYPE_INT, .i32 = rows[i][0]};

        assert_int_equal(apply("truncate[2000000000]", &narrow, &value).i32, rows[i][1]);
    }
    assert_int_equal(apply("truncate[10]", &wide, &lowest).i64, INT64_C(9223372036854775806));
}

static void decimals_truncate_on_the_unscaled_value(void **state)
{
    static const char *const rows[][4] = {
        {"truncate[50]", "10.65", "10.50"}, {"truncate[10]", "12.34", "12.30"},
        {"truncate[10]", "12.30", "12.30"}, {"truncate[10]", "12.29", "12.20"},
        {"truncate[10]", "0.05", "0.00"},   {"truncate[10]", "-0.05", "-0.10"}};
    struct cv_type type = type_of("decimal(9, 2)");

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct cv_value value = value_of(&type, rows[i][1]);
        struct cv_value wanted = value_of(&type, rows[i][2]);

        assert_true(apply(rows[i][0], &type, &value).decimal == wanted.decimal);
    }
}

static void a_decimal_that_leaves_its_type_is_an_error(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_type type = type_of("decimal(8, 2)");
    struct cv_value value = value_of(&type, "-999999.99");
    struct cv_transform transform;
    struct cv_value result;

    CV_ASSERT_OK(cv_transform_parse("truncate[256]", &arena, &transform, &err), &err);
    CV_ASSERT_FAILS(cv_transform_apply(&transform, &type, &value, &result, &err), CV_RECORD,
                    "more than 8 digits", &err);
    cv_arena_release(&arena);
}

static void texts_truncate_by_code_points(void **state)
{
    static const char *const rows[][3] = {
        {"truncate[3]", "iceberg", "ice"}, {"truncate[5]", "abcdefg", "abcde"},
        {"truncate[5]", "abc", "abc"},     {"truncate[5]", "abcde", "abcde"},
        {"truncate[2]", "a💰é", "a💰"},      {"truncate[3]", "a💰é", "a💰é"}};
    struct cv_type text = type_of("string");
    struct cv_type binary = type_of("binary");
    struct cv_value value;
    struct cv_value result;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        value = value_of(&text, rows[i][1]);
        assert_true(cv_str_is(apply(rows[i][0], &text, &value).bytes, rows[i][2]));
    }
    value = value_of(&binary, "0102030405");
    result = apply("truncate[3]", &binary, &value);
    cv_test_assert_hex(result.bytes.ptr, result.bytes.length, "010203");
    value = (struct cv_value){.kind = CV_TYPE_BINARY, .bytes = TEXT("abcdefg")};
    assert_true(cv_str_is(apply("truncate[4]", &binary, &value).bytes, "abcd"));
    value = (struct cv_value){.kind = CV_TYPE_BINARY, .bytes = TEXT("abc")};
    assert_true(cv_str_is(apply("truncate[4]", &binary, &value).bytes, "abc"));
}

static void times_are_floored(void **state)
{
    static const struct {
        const char *text;
        int64_t us;
        int32_t year, month, day, hour;
    } rows[] = {
        {"1969-12-31T23:59:59.999999", -1, -1, -1, -1, -1},
        {"1969-12-31T23:00:00", -3600000000, -1, -1, -1, -1},
        {"1969-12-31T22:59:59.999999", -3600000001, -1, -1, -1, -2},
        {"1969-12-01T00:00:00", -2678400000000, -1, -1, -31, -744},
        {"1969-11-30T23:59:59.999999", -2678400000001, -1, -2, -32, -745},
        {"1969-01-01T00:00:00", -31536000000000, -1, -12, -365, -8760},
        {"1968-12-31T23:59:59.999999", -31536000000001, -2, -13, -366, -8761},
        {"1970-01-01T00:00:00", 0, 0, 0, 0, 0},
        {"1970-01-01T00:59:59.999999", 3599999999, 0, 0, 0, 0},
        {"2000-02-29T00:00:00", 951782400000000, 30, 361, 11016, 264384},
        {"2017-12-01T10:12:55.038194", 1512123175038194, 47, 575, 17501, 420034},
        {"2038-01-19T03:14:08", 2147483648000000, 68, 816, 24855, 596523},
        {"1900-02-28T12:00:00", -2203934400000000, -70, -839, -25509, -612204},
        {"0001-01-01T00:00:00", -62135596800000000, -1969, -23628, -719162, -17259888},
        {"9999-12-31T23:59:59.999999", 253402300799999999, 8029, 96359, 2932896, 70389527},
    };
    const char *const zones[] = {"UTC", "Asia/Kolkata", "America/New_York"};
    struct cv_type plain = type_of("timestamp");
    struct cv_type zoned = type_of("timestamptz");

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows) * CV_ARRAY_LENGTH(zones); i++) {
        size_t row = i % CV_ARRAY_LENGTH(rows);
        struct cv_value value = value_of(&plain, rows[row].text);
        struct cv_value same = {.kind = CV_TYPE_TIMESTAMPTZ, .i64 = rows[row].us};

        (void)setenv("TZ", zones[i / CV_ARRAY_LENGTH(rows)], 1);
        tzset();
        assert_int_equal(value.i64, rows[row].us);
        assert_int_equal(apply("year", &plain, &value).i32, rows[row].year);
        assert_int_equal(apply("month", &plain, &value).i32, rows[row].month);
        assert_int_equal(apply("day", &plain, &value).i32, rows[row].day);
        assert_int_equal(apply("day", &plain, &value).kind, CV_TYPE_DATE);
        assert_int_equal(apply("hour", &plain, &value).i32, rows[row].hour);
        assert_int_equal(apply("hour", &zoned, &same).i32, rows[row].hour);
    }
}

static void dates_have_the_same_periods(void **state)
{
    static const struct {
        const char *text;
        int32_t year, month, day;
    } rows[] = {{"2017-12-01", 47, 575, 17501},
                {"1970-01-01", 0, 0, 0},
                {"1969-12-31", -1, -1, -1},
                {"1960-01-01", -10, -120, -3653},
                {"0001-01-01", -1969, -23628, -719162}};
    struct cv_type date = type_of("date");
    struct cv_type zoned = type_of("timestamptz");
    struct cv_value value;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        value = value_of(&date, rows[i].text);
        assert_int_equal(apply("year", &date, &value).i32, rows[i].year);
        assert_int_equal(apply("month", &date, &value).i32, rows[i].month);
        assert_int_equal(apply("day", &date, &value).i32, rows[i].day);
    }
    value = value_of(&zoned, "2017-12-01T10:12:55.038194-08:00");
    assert_int_equal(apply("hour", &zoned, &value).i32, 420042);
}

/* 250000-01-01T00:00:00: hour 2174186328, as Java gives it in 32 bits. */
static void an_hour_beyond_int_wraps_as_java_does(void **state)
{
    struct cv_type type = type_of("timestamp");
    struct cv_value value = {.kind = CV_TYPE_TIMESTAMP, .i64 = INT64_C(7827070780800000000)};

    assert_int_equal(apply("hour", &type, &value).i32, -2120780968);
}

static void null_gives_null(void **state)
{
    static const char *const transforms[] = {"identity", "bucket[4]", "truncate[4]", "void"};
    struct cv_type type = type_of("string");
    struct cv_value null = {.kind = CV_TYPE_STRING, .is_null = true};
    struct cv_value some = value_of(&type, "abc");

    for (size_t i = 0; i < CV_ARRAY_LENGTH(transforms); i++)
        assert_true(apply(transforms[i], &type, &null).is_null);
    assert_true(apply("void", &type, &some).is_null);
}

static void texts_of_transforms_are_read(void **state)
{
    static const struct {
        const char *text;
        enum cv_transform_kind kind;
        int32_t width;
        const char *kept;
    } rows[] = {
        {"identity", CV_TRANSFORM_IDENTITY, 0, "identity"},
        {"Bucket[16]", CV_TRANSFORM_BUCKET, 16, "bucket[16]"},
        {"TRUNCATE[4]", CV_TRANSFORM_TRUNCATE, 4, "truncate[4]"},
        {"DAY", CV_TRANSFORM_DAY, 0, "day"},
        {"void", CV_TRANSFORM_VOID, 0, "void"},
        {"days", CV_TRANSFORM_UNKNOWN, 0, "days"},
        {"zorder", CV_TRANSFORM_UNKNOWN, 0, "zorder"},
        {"bucket[-1]", CV_TRANSFORM_UNKNOWN, 0, "bucket[-1]"},
        {"bucket[]", CV_TRANSFORM_UNKNOWN, 0, "bucket[]"},
        {"bucket[1", CV_TRANSFORM_UNKNOWN, 0, "bucket[1"},
        {"", CV_TRANSFORM_UNKNOWN, 0, ""},
    };
    struct cv_error err = CV_ERROR_INIT;
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_transform transform;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        CV_ASSERT_OK(cv_transform_parse(rows[i].text, &arena, &transform, &err), &err);
        assert_int_equal(transform.kind, rows[i].kind);
        assert_int_equal(transform.width, rows[i].width);
        assert_string_equal(transform.text, rows[i].kept);
    }
    CV_ASSERT_FAILS(cv_transform_parse("truncate[0]", &arena, &transform, &err), CV_SCHEMA,
                    "from 1 to", &err);
    CV_ASSERT_FAILS(cv_transform_parse("bucket[99999999999]", &arena, &transform, &err), CV_SCHEMA,
                    "from 1 to", &err);
    CV_ASSERT_FAILS(cv_transform_parse("bucket[99999999999999999999]", &arena, &transform, &err),
                    CV_SCHEMA, "too large", &err);
    cv_arena_release(&arena);
}

static void transforms_refuse_types_they_do_not_take(void **state)
{
    static const char *const refused[][2] = {{"bucket[4]", "boolean"}, {"bucket[4]", "double"},
                                             {"truncate[4]", "date"},  {"truncate[4]", "uuid"},
                                             {"hour", "date"},         {"day", "long"},
                                             {"year", "time"},         {"month", "string"}};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_transform transform;
    struct cv_type result;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(refused); i++) {
        struct cv_type source = type_of(refused[i][1]);

        CV_ASSERT_OK(cv_transform_parse(refused[i][0], &arena, &transform, &err), &err);
        CV_ASSERT_FAILS(cv_transform_result_type(&transform, &source, &result, &err), CV_SCHEMA,
                        refused[i][1], &err);
    }
    cv_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_follow_the_hash_of_the_spec),
        cmocka_unit_test(whole_numbers_truncate_downwards),
        cmocka_unit_test(truncation_near_the_ends_wraps_as_java_does),
        cmocka_unit_test(decimals_truncate_on_the_unscaled_value),
        cmocka_unit_test(a_decimal_that_leaves_its_type_is_an_error),
        cmocka_unit_test(texts_truncate_by_code_points),
        cmocka_unit_test(times_are_floored),
        cmocka_unit_test(dates_have_the_same_periods),
        cmocka_unit_test(an_hour_beyond_int_wraps_as_java_does),
        cmocka_unit_test(null_gives_null),
        cmocka_unit_test(texts_of_transforms_are_read),
        cmocka_unit_test(transforms_refuse_types_they_do_not_take),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
