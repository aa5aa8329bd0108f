/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of other programs (web requests, earthquakes) into nested columns; counts and sums are
 * those that Python's json module finds in the same files. */
#include "decode_test.h"

#include "base/file.h"

static struct cv_buf read_data(const char *name)
{
    struct cv_buf text = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(cv_file_read(cv_test_data(name), 1 << 24, &text, &err), &err);
    return text;
}

static int64_t i64_at(const struct cv_column *column, size_t row)
{
    int64_t value;

    memcpy(&value, column->data + row * 8, 8);
    return value;
}

static void web_requests(void **state)
{
    struct cv_buf text = read_data("events/web_requests-100.json");
    struct decoding d;
    int64_t times = 0;
    int64_t statuses = 0;
    size_t rows = 0;

    decoding_init(&d, "json",
                  "meta struct<producer: struct<timestamp: timestamp>>, at timestamp, method "
                  "string, status bigint, uuid uuid",
                  "value.*, value.meta.producer.timestamp AS at");
    decoding_open(&d);
    for (char *line = strtok((char *)(uintptr_t)cv_buf_text(&text), "\n"); line;
         line = strtok(NULL, "\n")) {
        (void)decoding_add(&d, line);
        CV_ASSERT_OK(decoding_run(&d), &d.err);
        assert_int_equal(d.batch.row_count, 1);
        assert_int_equal(i64_at(&d.batch.columns[0].children[0].children[0], 0),
                         i64_at(&d.batch.columns[1], 0));
        times += i64_at(&d.batch.columns[1], 0);
        statuses += i64_at(&d.batch.columns[3], 0);
        rows++;
        decoding_clear(&d);
    }
    assert_int_equal(rows, 100);
    assert_int_equal(statuses, 33427);
    assert_int_equal(times, 161659837732380956);
    decoding_release(&d);
    cv_buf_release(&text);
}

static void earthquakes(void **state)
{
    struct cv_buf text = read_data("events/earthquakes.json");
    const struct cv_column *features;
    struct decoding d;
    int64_t times = 0;
    size_t count;

    decoding_init(
        &d, "json",
        "features array<struct<properties: struct<mag: double, time: bigint, felt: int, title: "
        "string>, geometry: struct<coordinates: array<double>>, id: string>>, "
        "generated bigint, api string",
        "value.features, value.metadata.generated, value.metadata.api");
    decoding_open(&d);
    (void)decoding_add_bytes(&d, NULL, text.data, text.length);
    CV_ASSERT_OK(decoding_run(&d), &d.err);
    features = &d.batch.columns[0].children[0];
    count = (size_t)d.batch.columns[0].offsets[1];
    assert_int_equal(count, 1707);
    for (size_t i = 0; i < count; i++)
        times += i64_at(&features->children[0].children[1], i);
    assert_int_equal(times, 2590660358845828);
    assert_int_equal(features->children[1].children[0].offsets[count], 5121);
    assert_int_equal(i64_at(&d.batch.columns[1], 0), 1517968154000);
    decoding_clear(&d);
    decoding_release(&d);
    cv_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(web_requests),
        cmocka_unit_test(earthquakes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
