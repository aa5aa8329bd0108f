/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON documents: the view, the checks of fields, the writer. */
#include "test.h"

#include "codec/json.h"

static struct cv_json *parse(const char *text)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_json *root;

    CV_ASSERT_OK(cv_json_parse(text, strlen(text), &root, &err), &err);
    return root;
}

static void views_a_document(void **state)
{
    CV_CLEANUP(cv_json_freep)
    struct cv_json *root =
        parse("{\"b\":[1,2.5,true,null,\"x\\u0000y\"],\"a\":9007199254740993,\"c\":{}}");
    const struct cv_json *array = cv_json_get(root, "b");
    const struct cv_json *value;
    size_t position = 0;

    assert_int_equal(cv_json_size(root), 3);
    assert_int_equal(cv_json_integer(cv_json_get(root, "a")), INT64_C(9007199254740993));
    assert_int_equal(cv_json_size(array), 5);
    assert_true(cv_json_is_integer(cv_json_at(array, 0)));
    assert_true(cv_json_real(cv_json_at(array, 1)) == 2.5);
    assert_true(cv_json_bool(cv_json_at(array, 2)));
    assert_true(cv_json_is_null(cv_json_at(array, 3)));
    assert_int_equal(cv_json_text_length(cv_json_at(array, 4)), 3);
    assert_null(cv_json_at(array, 5));
    assert_null(cv_json_get(root, "d"));
    assert_null(cv_json_get(NULL, "d"));
    assert_string_equal(cv_json_next(root, &position, &value), "b");
    assert_string_equal(cv_json_next(root, &position, &value), "a");
    assert_string_equal(cv_json_next(root, &position, &value), "c");
    assert_true(cv_json_is_object(value));
    assert_null(cv_json_next(root, &position, &value));
}

static void refuses_bad_documents(void **state)
{
    static char deep[2002];
    struct cv_error err = CV_ERROR_INIT;
    struct cv_json *root;

    CV_ASSERT_FAILS(cv_json_parse("{\"a\":1,\"a\":2}", 13, &root, &err), CV_FORMAT, "duplicate",
                    &err);
    CV_ASSERT_FAILS(cv_json_parse("[1,]", 4, &root, &err), CV_FORMAT, "at byte", &err);
    CV_ASSERT_FAILS(cv_json_parse("[1] x", 5, &root, &err), CV_FORMAT, "at byte", &err);
    CV_ASSERT_FAILS(cv_json_parse("", 0, &root, &err), CV_FORMAT, "JSON", &err);
    CV_ASSERT_FAILS(cv_json_parse("\"\xff\"", 3, &root, &err), CV_FORMAT, "JSON", &err);
    memset(deep, '[', 1000);
    memset(deep + 1000, ']', 1000);
    CV_ASSERT_FAILS(cv_json_parse(deep, 2000, &root, &err), CV_LIMIT, "nested deeper", &err);
}

static void checks_fields(void **state)
{
    CV_CLEANUP(cv_json_freep)
    struct cv_json *root = parse("{\"s\":\"x\",\"n\":null,\"big\":4294967296,\"f\":1.5,\"l\":[]}");
    struct cv_error err = CV_ERROR_INIT;
    const char *text = "kept";
    int32_t narrow = 7;
    int64_t wide = 7;
    bool flag;
    const struct cv_json *array;

    CV_ASSERT_OK(cv_json_read_string(root, "s", &text, &err), &err);
    assert_string_equal(text, "x");
    CV_ASSERT_OK(cv_json_read_i64(root, "big", &wide, &err), &err);
    CV_ASSERT_OK(cv_json_read_array(root, "l", &array, &err), &err);
    CV_ASSERT_FAILS(cv_json_read_i32(root, "big", &narrow, &err), CV_FORMAT, "\"big\"", &err);
    CV_ASSERT_FAILS(cv_json_read_i64(root, "f", &wide, &err), CV_FORMAT, "\"f\"", &err);
    CV_ASSERT_FAILS(cv_json_read_bool(root, "s", &flag, &err), CV_FORMAT, "\"s\"", &err);
    CV_ASSERT_FAILS(cv_json_read_string(root, "none", &text, &err), CV_FORMAT, "missing", &err);
    CV_ASSERT_OK(cv_json_optional_i32(root, "n", &narrow, &err), &err);
    CV_ASSERT_OK(cv_json_optional_i32(root, "none", &narrow, &err), &err);
    assert_int_equal(narrow, 7);
    CV_ASSERT_FAILS(cv_json_optional_string(root, "l", &text, &err), CV_FORMAT, "array", &err);
}

static void writes_json(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    struct cv_json_writer w = CV_JSON_WRITER(&out);

    cv_json_begin_object(&w);
    cv_json_key(&w, "a\"\n");
    cv_json_begin_array(&w);
    cv_json_put_i64(&w, INT64_MIN);
    cv_json_put_double(&w, 0.1);
    cv_json_put_double(&w, 10);
    cv_json_put_double(&w, 1e300);
    cv_json_put_double(&w, 0.30000000000000004);
    cv_json_put_bool(&w, false);
    cv_json_put_null(&w);
    cv_json_end_array(&w);
    cv_json_key(&w, "b");
    cv_json_begin_object(&w);
    cv_json_end_object(&w);
    cv_json_key(&w, "c");
    cv_json_put_text(&w, (struct cv_str){"\x00\x1f\xc3\xa9/\\", 6});
    cv_json_key(&w, "d");
    cv_json_put_raw(&w, "[1]", 3);
    cv_json_end_object(&w);
    assert_string_equal(cv_buf_text(&out), "{\"a\\\"\\n\":[-9223372036854775808,0.1,10.0,1e+300,"
                                           "0.30000000000000004,false,null],\"b\":{},"
                                           "\"c\":\"\\u0000\\u001f\xc3\xa9/\\\\\",\"d\":[1]}");
}

static void writes_nodes_back(void **state)
{
    static const char text[] = "{\"z\":[1,-2.5,\"\\t\",{\"k\":[]}],\"a\":null,\"t\":true}";
    CV_CLEANUP(cv_json_freep) struct cv_json *root = parse(text);
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);

    cv_json_write_node(root, &out);
    assert_string_equal(cv_buf_text(&out), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_a_document),  cmocka_unit_test(refuses_bad_documents),
        cmocka_unit_test(checks_fields),     cmocka_unit_test(writes_json),
        cmocka_unit_test(writes_nodes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
