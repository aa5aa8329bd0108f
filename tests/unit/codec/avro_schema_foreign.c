/* SPDX-License-Identifier: Apache-2.0
 *
 * Schema texts of Apache Avro's own tests: what is read is written in the Parsing Canonical Form
 * (specification: Transforming into Parsing Canonical Form), which its tests state too. */
#include "test.h"

#include "base/file.h"
#include "base/map.h"
#include "codec/avro_schema.h"

static void put_type(const struct cv_avro_type *type, struct cv_map *seen, struct cv_buf *out);

static void put_head(const struct cv_avro_type *type, struct cv_buf *out)
{
    cv_buf_printf(out, "{\"name\":\"%s\",\"type\":\"%s\"", type->name,
                  cv_avro_kind_name(type->kind));
}

static void put_named(const struct cv_avro_type *type, struct cv_map *seen, struct cv_buf *out)
{
    if (cv_map_set(seen, type->name, strlen(type->name), seen)) {
        cv_buf_printf(out, "\"%s\"", type->name);
        return;
    }
    put_head(type, out);
    if (type->kind == CV_AVRO_FIXED)
        cv_buf_printf(out, ",\"size\":%u", type->size);
    if (type->kind == CV_AVRO_ENUM) {
        cv_buf_append_text(out, ",\"symbols\":[");
        for (size_t i = 0; i < type->symbol_count; i++)
            cv_buf_printf(out, "%s\"%s\"", i ? "," : "", type->symbols[i]);
        cv_buf_append_byte(out, ']');
    }
    if (type->kind == CV_AVRO_RECORD) {
        cv_buf_append_text(out, ",\"fields\":[");
        for (size_t i = 0; i < type->field_count; i++) {
            cv_buf_printf(out, "%s{\"name\":\"%s\",\"type\":", i ? "," : "", type->fields[i].name);
            put_type(type->fields[i].type, seen, out);
            cv_buf_append_byte(out, '}');
        }
        cv_buf_append_byte(out, ']');
    }
    cv_buf_append_byte(out, '}');
}

static void put_type(const struct cv_avro_type *type, struct cv_map *seen, struct cv_buf *out)
{
    if (type->name) {
        put_named(type, seen, out);
    } else if (type->kind == CV_AVRO_UNION) {
        cv_buf_append_byte(out, '[');
        for (size_t i = 0; i < type->branch_count; i++) {
            if (i)
                cv_buf_append_byte(out, ',');
            put_type(type->branches[i], seen, out);
        }
        cv_buf_append_byte(out, ']');
    } else if (type->items) {
        cv_buf_printf(out, "{\"type\":\"%s\",\"%s\":", cv_avro_kind_name(type->kind),
                      type->kind == CV_AVRO_ARRAY ? "items" : "values");
        put_type(type->items, seen, out);
        cv_buf_append_byte(out, '}');
    } else {
        cv_buf_printf(out, "\"%s\"", cv_avro_kind_name(type->kind));
    }
}

static void check_canonical(const char *input, size_t length, const char *wanted)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    CV_CLEANUP(cv_avro_schema_freep) struct cv_avro_schema *schema = NULL;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_map seen = {0};

    CV_ASSERT_OK(cv_avro_schema_parse((struct cv_str){input, length}, NULL, 0, &schema, &err),
                 &err);
    put_type(schema->root, &seen, &out);
    cv_map_release(&seen);
    assert_string_equal(cv_buf_text(&out), wanted);
}

/* A test is "<<INPUT schema" or "<<INPUT" with lines up to one that says INPUT, then "<<canonical
 * schema". */
static void canonical_forms(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf file = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;
    const char *at;
    int count = 0;

    CV_ASSERT_OK(cv_file_read(cv_test_data("avro/data/schema-tests.txt"), 1 << 20, &file, &err),
                 &err);
    at = cv_buf_text(&file);
    while ((at = strstr(at, "\n<<INPUT")) != NULL) {
        const char *input = at + strlen("\n<<INPUT");
        const char *end = strchr(input, '\n');
        const char *canonical = strstr(input, "\n<<canonical ");
        char wanted[4096];
        size_t length;

        if (cv_str_trim((struct cv_str){input, (size_t)(end - input)}).length == 0)
            end = strstr(end, "\nINPUT");
        assert_non_null(end);
        assert_non_null(canonical);
        canonical += strlen("\n<<canonical ");
        length = strcspn(canonical, "\n");
        assert_true(length < sizeof wanted);
        memcpy(wanted, canonical, length);
        wanted[length] = '\0';
        check_canonical(input, (size_t)(end - input), wanted);
        at = canonical;
        count++;
    }
    assert_true(count > 20);
}

static void schemas_of_the_project(void **state)
{
    static const char *const names[] = {
        "avro/schemas/interop.avsc",
        "avro/schemas/weather.avsc",
        "avro/schemas/fooBar.avsc",
        "avro/schemas/FooBarSpecificRecord.avsc",
        "avro/schemas/RecordWithRequiredFields.avsc",
        "avro/data/schemas/withUnion/schema.json",
        "avro/data/schemas/simple/schema.json",
        "avro/data/messageV1/test_schema.avsc",
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf file = CV_BUF_INIT(0);
        CV_CLEANUP(cv_avro_schema_freep) struct cv_avro_schema *schema = NULL;
        struct cv_error err = CV_ERROR_INIT;

        CV_ASSERT_OK(cv_file_read(cv_test_data(names[i]), 1 << 20, &file, &err), &err);
        CV_ASSERT_OK(cv_avro_schema_parse((struct cv_str){(const char *)file.data, file.length},
                                          NULL, 0, &schema, &err),
                     &err);
        assert_int_equal(schema->root->kind, CV_AVRO_RECORD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_forms),
        cmocka_unit_test(schemas_of_the_project),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
