/* SPDX-License-Identifier: Apache-2.0
 *
 * Thrift compact protocol: bytes worked out from its specification, and broken input. */
#include "test.h"

#include "codec/thrift.h"

/* struct { 1: i32 = 1, 2: list<string> = ["a"], 3: bool = true, 20: i64 = -1, 4: binary = "xy",
 *          5: struct { 1: double = 1.5 } } */
static void write_sample(struct cv_buf *out)
{
    struct cv_thrift_writer w = CV_THRIFT_WRITER(out);

    cv_thrift_begin_struct(&w);
    cv_thrift_field_i32(&w, 1, 1);
    cv_thrift_field_list(&w, 2, CV_THRIFT_BINARY, 1);
    cv_thrift_put_string(&w, "a");
    cv_thrift_field_bool(&w, 3, true);
    cv_thrift_field_i64(&w, 20, -1);
    cv_thrift_field_string(&w, 4, "xy");
    cv_thrift_field_struct(&w, 5);
    cv_thrift_field_double(&w, 1, 1.5);
    cv_thrift_end_struct(&w);
    cv_thrift_end_struct(&w);
}

static void writes_the_specified_bytes(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);

    write_sample(&out);
    cv_test_assert_hex(out.data, out.length,
                       "15 02"                         /* delta 1, i32, zigzag 1 */
                       "19 18 01 61"                   /* list of 1 binary */
                       "11"                            /* true */
                       "06 28 01"                      /* long form: i64, id 20, -1 */
                       "08 08 02 78 79"                /* long form: binary, id 4 */
                       "1c 17 00 00 00 00 00 00 f8 3f" /* struct with a double */
                       "00 00");
}

static void writes_long_lists(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    struct cv_thrift_writer w = CV_THRIFT_WRITER(&out);

    cv_thrift_begin_struct(&w);
    cv_thrift_field_list(&w, 1, CV_THRIFT_I64, 200);
    for (int i = 0; i < 200; i++)
        cv_thrift_put_i64(&w, 0);
    cv_thrift_end_struct(&w);
    cv_test_assert_hex(out.data, 4, "19 f6 c8 01");
    assert_int_equal(out.length, 4 + 200 + 1);
}

struct sample {
    int32_t first;
    struct cv_str item;
    bool flag;
    int64_t big;
    struct cv_str bytes;
    double real;
};

static void read_inner(struct cv_thrift_reader *r, struct sample *sample)
{
    struct cv_thrift_field field;

    while (cv_thrift_read_field(r, &field)) {
        if (field.id == 1)
            sample->real = cv_thrift_read_double(r, &field);
        else
            cv_thrift_skip(r, field.type);
    }
}

static void read_sample(struct cv_thrift_reader *r, struct sample *sample)
{
    struct cv_thrift_field field;

    cv_thrift_read_begin_struct(r);
    while (cv_thrift_read_field(r, &field)) {
        switch (field.id) {
        case 1:
            sample->first = cv_thrift_read_i32(r, &field);
            break;
        case 2:
            for (size_t n = cv_thrift_read_list(r, &field, CV_THRIFT_BINARY); n > 0; n--)
                sample->item = cv_thrift_get_binary(r);
            break;
        case 3:
            sample->flag = cv_thrift_read_bool(r, &field);
            break;
        case 20:
            sample->big = cv_thrift_read_i64(r, &field);
            break;
        case 4:
            sample->bytes = cv_thrift_read_binary(r, &field);
            break;
        case 5:
            cv_thrift_read_struct(r, &field);
            read_inner(r, sample);
            break;
        default:
            cv_thrift_skip(r, field.type);
        }
    }
}

static void reads_it_back(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_thrift_reader r;
    struct sample sample = {0};

    write_sample(&out);
    cv_thrift_reader_init(&r, out.data, out.length);
    read_sample(&r, &sample);
    CV_ASSERT_OK(cv_thrift_reader_check(&r, "sample", &err), &err);
    assert_int_equal(cv_thrift_reader_used(&r), out.length);
    assert_int_equal(sample.first, 1);
    assert_true(cv_str_is(sample.item, "a"));
    assert_true(sample.flag);
    assert_int_equal(sample.big, -1);
    assert_true(cv_str_is(sample.bytes, "xy"));
    assert_true(sample.real == 1.5);
}

static void skips_everything(void **state)
{
    /* also a map<i32, string> {1: "b"}, a set<byte> {7} and a list<bool> [true, false] */
    uint8_t bytes[64];
    size_t length = cv_test_hex("1b 01 58 02 01 62  1a 13 07  19 21 01 02  00", bytes, 64);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_thrift_reader r;
    struct cv_thrift_field field;

    cv_thrift_reader_init(&r, bytes, length);
    cv_thrift_read_begin_struct(&r);
    while (cv_thrift_read_field(&r, &field))
        cv_thrift_skip(&r, field.type);
    CV_ASSERT_OK(cv_thrift_reader_check(&r, "sample", &err), &err);
    assert_int_equal(cv_thrift_reader_used(&r), length);
}

/* Every prefix fails, none is read past. */
static void refuses_every_prefix(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);

    write_sample(&out);
    for (size_t length = 0; length < out.length; length++) {
        uint8_t *exact = malloc(length ? length : 1);
        struct cv_thrift_reader r;
        struct sample sample = {0};

        if (length)
            memcpy(exact, out.data, length);
        cv_thrift_reader_init(&r, exact, length);
        read_sample(&r, &sample);
        assert_int_equal(cv_thrift_reader_check(&r, "sample", NULL), CV_FORMAT);
        free(exact);
    }
}

static void refuses(const char *hex, const char *reason)
{
    uint8_t bytes[256];
    size_t length = cv_test_hex(hex, bytes, sizeof bytes);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_thrift_reader r;
    struct sample sample = {0};

    cv_thrift_reader_init(&r, bytes, length);
    read_sample(&r, &sample);
    CV_ASSERT_FAILS(cv_thrift_reader_check(&r, "sample", &err), CV_FORMAT, reason, &err);
}

static void refuses_hostile_input(void **state)
{
    char deep[201] = "";

    refuses("29 f8 ff ff ff ff 0f", "a list is longer than its bytes");
    refuses("29 f8 e8 07 00 00 00 00", "a list is longer than its bytes");
    refuses("48 ff ff ff ff ff ff ff ff ff 01", "a length passes the end");
    refuses("15 ff ff ff ff ff ff ff ff ff 7f", "a varint is longer than 64 bits");
    refuses("15 80 80 80 80 10", "an integer is out of its range");
    refuses("1d", "unknown field type");
    refuses("18 01 61 00", "another type");           /* field 1 as binary */
    refuses("05 ff ff 07 02 00", "out of its range"); /* an id beyond 16 bits */
    for (int i = 0; i < 100; i++)
        memcpy(deep + 2 * i, "9c", 2);
    refuses(deep, "nested too deeply");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_the_specified_bytes),
        cmocka_unit_test(writes_long_lists),
        cmocka_unit_test(reads_it_back),
        cmocka_unit_test(skips_everything),
        cmocka_unit_test(refuses_every_prefix),
        cmocka_unit_test(refuses_hostile_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
