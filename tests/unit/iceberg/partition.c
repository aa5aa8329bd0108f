/* SPDX-License-Identifier: Apache-2.0
 *
 * Partition specs as JSON and as DDL, and folder paths. Path texts are those that
 * iceberg-api 1.10.1 and PyIceberg give. */
#include "iceberg/partition.h"
#include "test.h"

struct fixture {
    struct cv_arena arena;
    struct cv_schema schema;
    struct cv_error err;
};

static int make_schema(void **state)
{
    struct fixture *f = cv_alloc(sizeof *f);
    static const char ddl[] =
        "id bigint NOT NULL, ts timestamp, name string, price decimal(38,23), day date, "
        "s struct<a: int, when: timestamp_ntz>, tags array<string>, `a.b` int, t time, f float, "
        "d double, u uuid, b binary, flag boolean, fx fixed[2], short decimal(9,2)";

    if (cv_schema_read_ddl(ddl, &f->arena, &f->schema, &f->err) != CV_OK)
        fail_msg("%s", f->err.message);
    *state = f;
    return 0;
}

static int drop_schema(void **state)
{
    struct fixture *f = *state;

    cv_arena_release(&f->arena);
    free(f);
    return 0;
}

static struct cv_partition_spec spec_of(struct fixture *f, const char *ddl)
{
    struct cv_partition_spec spec;

    CV_ASSERT_OK(cv_partition_spec_read_ddl(ddl, &f->schema, &f->arena, &spec, &f->err), &f->err);
    return spec;
}

static void assert_fields(const struct cv_partition_spec *spec, const char *json)
{
    struct cv_buf out = CV_BUF_INIT(0);

    cv_partition_fields_write_json(spec, &out);
    assert_string_equal(cv_buf_text(&out), json);
    cv_buf_release(&out);
}

static void ddl_gives_the_names_of_iceberg(void **state)
{
    struct fixture *f = *state;
    struct cv_partition_spec spec =
        spec_of(f, " days(ts) , bucket(16, id), truncate(4, name), day,hour(s.when), years(day)");

    assert_int_equal(spec.spec_id, 0);
    assert_fields(
        &spec,
        "[{\"name\":\"ts_day\",\"transform\":\"day\",\"source-id\":2,\"field-id\":1000},"
        "{\"name\":\"id_bucket\",\"transform\":\"bucket[16]\",\"source-id\":1,\"field-id\":1001},"
        "{\"name\":\"name_trunc\",\"transform\":\"truncate[4]\",\"source-id\":3,\"field-id\":1002},"
        "{\"name\":\"day\",\"transform\":\"identity\",\"source-id\":5,\"field-id\":1003},"
        "{\"name\":\"s.when_hour\",\"transform\":\"hour\",\"source-id\":18,\"field-id\":1004},"
        "{\"name\":\"day_year\",\"transform\":\"year\",\"source-id\":5,\"field-id\":1005}]");
    spec = spec_of(f, "truncate(NAME, 4), identity(`a.b`)");
    assert_fields(
        &spec, "[{\"name\":\"name_trunc\",\"transform\":\"truncate[4]\",\"source-id\":3,\"field-"
               "id\":1000},"
               "{\"name\":\"a.b\",\"transform\":\"identity\",\"source-id\":8,\"field-id\":1001}]");
    spec = spec_of(f, NULL);
    assert_int_equal(spec.field_count, 0);
    spec = spec_of(f, "  ");
    assert_int_equal(spec.field_count, 0);
}

static void ddl_says_what_is_wrong(void **state)
{
    static const struct {
        const char *ddl;
        enum cv_code code;
        const char *message;
    } rows[] = {
        {"bucket(id, 16)", CV_USAGE, "the number of buckets stands first"},
        {"bucket(16)", CV_USAGE, "a width and a column"},
        {"bucket(x, id)", CV_USAGE, "a width and a column"},
        {"bucket(0, id)", CV_SCHEMA, "from 1 to"},
        {"zorder(id)", CV_USAGE, "no transform zorder"},
        {"nope", CV_USAGE, "no column nope"},
        {"day(ts", CV_USAGE, "closing parenthesis expected at the end"},
        {"day(ts) id", CV_USAGE, "a comma expected at \"id\""},
        {"day()", CV_USAGE, "a column or transform expected"},
        {"`id", CV_USAGE, "closing backquote"},
        {"day(ts), hour(ts)", CV_SCHEMA, "redundant"},
        {"id, id", CV_SCHEMA, "used twice"},
        {"bucket(4, id), bucket(8, id)", CV_SCHEMA, "used twice"},
        {"hour(day)", CV_SCHEMA, "does not take"},
        {"tags", CV_SCHEMA, "does not take"},
        {"tags.element", CV_SCHEMA, "outside lists and maps"},
    };
    struct fixture *f = *state;
    struct cv_partition_spec spec;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++)
        CV_ASSERT_FAILS(
            cv_partition_spec_read_ddl(rows[i].ddl, &f->schema, &f->arena, &spec, &f->err),
            rows[i].code, rows[i].message, &f->err);
    (void)cv_partition_spec_read_ddl("bucket(id, 16)", &f->schema, &f->arena, &spec, &f->err);
    assert_string_equal(f->err.hint, "write bucket(16, id)");
}

static enum cv_code read_json(struct fixture *f, const char *text, struct cv_partition_spec *spec)
{
    struct cv_json *json = NULL;
    enum cv_code code;

    CV_ASSERT_OK(cv_json_parse(text, strlen(text), &json, &f->err), &f->err);
    code = cv_partition_spec_read_json(json, &f->arena, spec, &f->err);
    cv_json_free(json);
    return code;
}

static void json_is_read_in_both_forms(void **state)
{
    static const char object[] =
        "{\"spec-id\":3,\"fields\":[{\"name\":\"x\",\"transform\":\"bucket[4]\",\"source-id\":1,"
        "\"field-id\":1004}]}";
    struct fixture *f = *state;
    struct cv_buf out = CV_BUF_INIT(0);
    struct cv_partition_spec spec;

    CV_ASSERT_OK(read_json(f, object, &spec), &f->err);
    cv_partition_spec_write_json(&spec, &out);
    assert_string_equal(cv_buf_text(&out), object);
    CV_ASSERT_OK(read_json(f,
                           "[{\"name\":\"x\",\"transform\":\"day\",\"source-id\":2},"
                           "{\"source-id\":1,\"transform\":\"future[7]\",\"name\":\"y\"}]",
                           &spec),
                 &f->err);
    assert_fields(
        &spec, "[{\"name\":\"x\",\"transform\":\"day\",\"source-id\":2,\"field-id\":1000},"
               "{\"name\":\"y\",\"transform\":\"future[7]\",\"source-id\":1,\"field-id\":1001}]");
    CV_ASSERT_FAILS(read_json(f, "[{\"name\":\"x\",\"transform\":\"day\"}]", &spec), CV_FORMAT,
                    "source-id", &f->err);
    CV_ASSERT_FAILS(read_json(f, "[7]", &spec), CV_FORMAT, "field 0", &f->err);
    CV_ASSERT_FAILS(read_json(f, "7", &spec), CV_FORMAT, "neither", &f->err);
    CV_ASSERT_FAILS(
        read_json(f, "[{\"name\":\"x\",\"transform\":\"t\",\"source-ids\":[1,2]}]", &spec),
        CV_UNSUPPORTED, "format version 3", &f->err);
    cv_buf_release(&out);
}

/* The path of one field: `transform` of a type, with a value that is a result of it. */
static void assert_path(const char *name, const char *transform, const char *type,
                        struct cv_value value, const char *wanted)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_buf out = CV_BUF_INIT(0);
    struct cv_partition_field field = {.name = name};
    struct cv_partition_spec spec = {0, &field, 1};
    struct cv_type source;
    struct cv_type result;

    CV_ASSERT_OK(cv_type_parse_primitive(cv_str_from(type), &source, &err), &err);
    CV_ASSERT_OK(cv_transform_parse(transform, &arena, &field.transform, &err), &err);
    CV_ASSERT_OK(cv_transform_result_type(&field.transform, &source, &result, &err), &err);
    value.kind = result.kind;
    cv_partition_path(&spec, &result, &value, &out);
    assert_string_equal(cv_buf_text(&out), wanted);
    cv_buf_release(&out);
    cv_arena_release(&arena);
}

static void paths_are_form_url_encoded(void **state)
{
    static const char *const rows[][3] = {
        {"x", "a/b/c/d", "x=a%2Fb%2Fc%2Fd"},
        {"\"esc\"#1", "a b", "%22esc%22%231=a+b"},
        {"my#str%bucket", "my+str", "my%23str%25bucket=my%2Bstr"},
        {"( )", "my!int:bucket", "%28+%29=my%21int%3Abucket"},
        {"x", "100%", "x=100%25"},
        {"x", "é", "x=%C3%A9"},
        {"x", "💰", "x=%F0%9F%92%B0"},
        {"x", "#x?y=1", "x=%23x%3Fy%3D1"},
        {"x", "a=b", "x=a%3Db"},
        {"x", "a:b", "x=a%3Ab"},
        {"x", "a\\b", "x=a%5Cb"},
        {"x", "~x*", "x=%7Ex*"},
        {"x", "..", "x=.."},
        {"x", "null", "x=null"},
        {"x", "", "x="},
        {"a.b-c_d*", "Az09", "a.b-c_d*=Az09"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++)
        assert_path(rows[i][0], "identity", "string",
                    (struct cv_value){.bytes = cv_str_from(rows[i][1])}, rows[i][2]);
    assert_path("x", "identity", "string", (struct cv_value){.is_null = true}, "x=null");
}

static void paths_name_periods(void **state)
{
    static const struct {
        int32_t value;
        const char *year, *month, *day, *hour;
    } rows[] = {
        {-1, "p=1969", "p=1969-12", "p=1969-12-31", "p=1969-12-31-23"},
        {-12, "p=1958", "p=1969-01", "p=1969-12-20", "p=1969-12-31-12"},
        {-13, "p=1957", "p=1968-12", "p=1969-12-19", "p=1969-12-31-11"},
        {0, "p=1970", "p=1970-01", "p=1970-01-01", "p=1970-01-01-00"},
        {96359, "p=98329", "p=9999-12", "p=2233-10-28", "p=1980-12-28-23"},
        {-2000, "p=-030", "p=1803-05", "p=1964-07-11", "p=1969-10-09-16"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct cv_value value = {.i32 = rows[i].value};

        assert_path("p", "year", "date", value, rows[i].year);
        assert_path("p", "month", "timestamp", value, rows[i].month);
        assert_path("p", "day", "timestamptz", value, rows[i].day);
        assert_path("p", "hour", "timestamptz", value, rows[i].hour);
    }
    assert_path("p", "hour", "timestamp", (struct cv_value){.i32 = 420034}, "p=2017-12-01-10");
}

static void paths_hold_dates_and_times_in_iso_form(void **state)
{
    static const struct {
        int64_t us;
        const char *timestamp, *timestamptz;
    } rows[] = {
        {0, "p=1970-01-01T00%3A00%3A00", "p=1970-01-01T00%3A00%3A00%2B00%3A00"},
        {-1, "p=1969-12-31T23%3A59%3A59.999999", "p=1969-12-31T23%3A59%3A59.999999%2B00%3A00"},
        {1500000, "p=1970-01-01T00%3A00%3A01.5", "p=1970-01-01T00%3A00%3A01.5%2B00%3A00"},
        {1512123175038000, "p=2017-12-01T10%3A12%3A55.038",
         "p=2017-12-01T10%3A12%3A55.038%2B00%3A00"},
        {-62198755200000000, "p=-0001-01-01T00%3A00%3A00", "p=-0001-01-01T00%3A00%3A00%2B00%3A00"},
        {INT64_MAX, "p=%2B294247-01-10T04%3A00%3A54.775807",
         "p=%2B294247-01-10T04%3A00%3A54.775807%2B00%3A00"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct cv_value value = {.i64 = rows[i].us};

        assert_path("p", "identity", "timestamp", value, rows[i].timestamp);
        assert_path("p", "identity", "timestamptz", value, rows[i].timestamptz);
    }
    assert_path("p", "identity", "time", (struct cv_value){.i64 = 0}, "p=00%3A00");
    assert_path("p", "identity", "time", (struct cv_value){.i64 = 81068000000}, "p=22%3A31%3A08");
    assert_path("p", "identity", "time", (struct cv_value){.i64 = 1}, "p=00%3A00%3A00.000001");
    assert_path("p", "identity", "time", (struct cv_value){.i64 = 1000}, "p=00%3A00%3A00.001");
    assert_path("p", "identity", "date", (struct cv_value){.i32 = 17501}, "p=2017-12-01");
    assert_path("p", "identity", "date", (struct cv_value){.i32 = -719529}, "p=-001-12-31");
    assert_path("p", "identity", "date", (struct cv_value){.i32 = 2932897}, "p=10000-01-01");
}

static void paths_hold_numbers_as_java_prints_them(void **state)
{
    static const struct {
        const char *text, *path;
    } decimals[] = {{"0", "p=0E-23"},
                    {"1E-23", "p=1E-23"},
                    {"0.50000000000000000000000", "p=0.50000000000000000000000"},
                    {"-9876.54321098765432109876543", "p=-9876.54321098765432109876543"},
                    {"1.23E-20", "p=1.230E-20"},
                    {"123", "p=123.00000000000000000000000"}};
    static const struct {
        double value;
        const char *path;
    } doubles[] = {{0, "p=0.0"},
                   {-0.0, "p=-0.0"},
                   {1, "p=1.0"},
                   {1e7, "p=1.0E7"},
                   {9999999.5, "p=9999999.5"},
                   {1e-3, "p=0.001"},
                   {1e-4, "p=1.0E-4"},
                   {1e21, "p=1.0E21"},
                   {0.1, "p=0.1"},
                   {123456.789, "p=123456.789"},
                   {-1e10, "p=-1.0E10"},
                   {100, "p=100.0"},
                   {1.7976931348623157e308, "p=1.7976931348623157E308"}};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(decimals); i++) {
        struct cv_value value = {0};

        assert_true(cv_parse_decimal_exact(cv_str_from(decimals[i].text), 38, 23, &value.decimal));
        assert_path("p", "identity", "decimal(38, 23)", value, decimals[i].path);
    }
    for (size_t i = 0; i < CV_ARRAY_LENGTH(doubles); i++)
        assert_path("p", "identity", "double", (struct cv_value){.f64 = doubles[i].value},
                    doubles[i].path);
    assert_path("p", "identity", "float", (struct cv_value){.f32 = 0.1f}, "p=0.1");
    assert_path("p", "identity", "float", (struct cv_value){.f32 = 3.4e38f}, "p=3.4E38");
    assert_path("p", "identity", "float", (struct cv_value){.f32 = 9.9e-4f}, "p=9.9E-4");
    assert_path("p", "identity", "float", (struct cv_value){.f32 = __builtin_nanf("")}, "p=NaN");
    assert_path("p", "identity", "boolean", (struct cv_value){.boolean = true}, "p=true");
    assert_path("p", "bucket[4]", "string", (struct cv_value){.i32 = 3}, "p=3");
    assert_path("p", "truncate[10]", "decimal(9, 2)", (struct cv_value){.decimal = 1230},
                "p=12.30");
    assert_path("p", "identity", "decimal(9, 2)", (struct cv_value){.decimal = -1}, "p=-0.01");
    assert_path("p", "void", "string", (struct cv_value){.is_null = true}, "p=null");
}

static void paths_hold_bytes_as_base64(void **state)
{
    static const unsigned char uuid[] = {0xf7, 0x9c, 0x3e, 0x09, 0x67, 0x7c, 0x4b, 0xbd,
                                         0xa4, 0x79, 0x3f, 0x34, 0x9c, 0xb7, 0x85, 0xe7};

    assert_path("p", "identity", "binary", (struct cv_value){.bytes = {"\xaa\xbb\xcc", 3}},
                "p=qrvM");
    assert_path("p", "identity", "binary", (struct cv_value){.bytes = {"\1\2\3", 3}}, "p=AQID");
    assert_path("p", "identity", "fixed[2]", (struct cv_value){.bytes = {"\xff\xfe", 2}},
                "p=%2F%2F4%3D");
    assert_path("p", "identity", "uuid", (struct cv_value){.bytes = {(const char *)uuid, 16}},
                "p=f79c3e09-677c-4bbd-a479-3f349cb785e7");
}

static void paths_join_fields(void **state)
{
    struct fixture *f = *state;
    struct cv_partition_spec spec = spec_of(f, "day(ts), bucket(16, id)");
    struct cv_type types[] = {{.kind = CV_TYPE_DATE}, {.kind = CV_TYPE_INT}};
    struct cv_value tuple[] = {{.kind = CV_TYPE_DATE, .i32 = 20454},
                               {.kind = CV_TYPE_INT, .i32 = 3}};
    struct cv_buf out = CV_BUF_INIT(0);

    cv_partition_path(&spec, types, tuple, &out);
    assert_string_equal(cv_buf_text(&out), "ts_day=2026-01-01/id_bucket=3");
    cv_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ddl_gives_the_names_of_iceberg),
        cmocka_unit_test(ddl_says_what_is_wrong),
        cmocka_unit_test(json_is_read_in_both_forms),
        cmocka_unit_test(paths_are_form_url_encoded),
        cmocka_unit_test(paths_name_periods),
        cmocka_unit_test(paths_hold_dates_and_times_in_iso_form),
        cmocka_unit_test(paths_hold_numbers_as_java_prints_them),
        cmocka_unit_test(paths_hold_bytes_as_base64),
        cmocka_unit_test(paths_join_fields),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
