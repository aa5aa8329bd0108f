/* SPDX-License-Identifier: Apache-2.0
 *
 * Avro container files: written here and read back, written by others (every codec), and broken. */
#include "test.h"

#include "base/file.h"
#include "codec/avro_file.h"

static void write_file(struct cv_buf *out, enum cv_codec codec, int objects)
{
    const struct cv_avro_metadata metadata[] = {{"format-version", cv_str_from("2")}};
    struct cv_avro_file_writer w;
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(
        cv_avro_file_writer_init(&w, out, cv_str_from("\"long\""), codec, metadata, 1, &err), &err);
    for (int i = 0; i < objects; i++) {
        cv_avro_put_long(cv_avro_file_object(&w), i);
        CV_ASSERT_OK(cv_avro_file_end_object(&w, &err), &err);
    }
    CV_ASSERT_OK(cv_avro_file_finish(&w, &err), &err);
    cv_avro_file_writer_release(&w);
}

static void reads_back(enum cv_codec codec, int objects)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf file = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_avro_file_reader r;
    struct cv_avro_reader items;
    int64_t count;
    int64_t value;
    int next = 0;

    write_file(&file, codec, objects);
    CV_ASSERT_OK(cv_avro_file_reader_init(&r, file.data, file.length, &err), &err);
    assert_true(cv_str_is(r.schema_json, "\"long\""));
    assert_true(cv_str_is(*cv_avro_file_metadata(&r, "format-version"), "2"));
    assert_null(cv_avro_file_metadata(&r, "none"));
    for (;;) {
        CV_ASSERT_OK(cv_avro_file_next_block(&r, &items, &count, &err), &err);
        if (count == 0)
            break;
        for (; count > 0; count--) {
            assert_true(cv_avro_read_long(&items, &value));
            assert_int_equal(value, next++);
        }
        assert_ptr_equal(items.at, items.end);
    }
    assert_int_equal(next, objects);
    cv_avro_file_reader_release(&r);
}

static void goes_both_ways(void **state)
{
    reads_back(CV_CODEC_NONE, 0);
    reads_back(CV_CODEC_NONE, 100000);
    reads_back(CV_CODEC_DEFLATE, 0);
    reads_back(CV_CODEC_DEFLATE, 100000);
}

/* All prefixes of a file, and every byte changed, give objects or an error, never a crash. */
static void survives_damage(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf file = CV_BUF_INIT(0);

    write_file(&file, CV_CODEC_DEFLATE, 50);
    for (size_t i = 0; i < 2 * file.length; i++) {
        size_t length = i < file.length ? i : file.length;
        uint8_t *exact = malloc(length + 1);
        struct cv_avro_file_reader r;
        struct cv_avro_reader items;
        int64_t count = 1;

        memcpy(exact, file.data, length);
        if (i >= file.length)
            exact[i - file.length] ^= 0xff;
        if (cv_avro_file_reader_init(&r, exact, length, NULL) == CV_OK) {
            while (count && cv_avro_file_next_block(&r, &items, &count, NULL) == CV_OK)
                ;
            cv_avro_file_reader_release(&r);
        }
        free(exact);
    }
}

static enum cv_code read_all(const struct cv_buf *file, struct cv_error *err)
{
    struct cv_avro_file_reader r;
    struct cv_avro_reader items;
    int64_t count = 1;
    enum cv_code code = cv_avro_file_reader_init(&r, file->data, file->length, err);

    while (code == CV_OK && count)
        code = cv_avro_file_next_block(&r, &items, &count, err);
    cv_avro_file_reader_release(&r);
    return code;
}

static void checks_sync_markers(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf file = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;

    write_file(&file, CV_CODEC_NONE, 5);
    CV_ASSERT_OK(read_all(&file, &err), &err);
    file.data[file.length - 1] ^= 1;
    CV_ASSERT_FAILS(read_all(&file, &err), CV_FORMAT, "without its sync marker", &err);
}

static void checks_sums(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf snappy = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(
        cv_file_read(cv_test_data("avro/data/weather-snappy.avro"), 1 << 20, &snappy, &err), &err);
    snappy.data[snappy.length - 17] ^= 1; /* the checksum stands before the marker */
    CV_ASSERT_FAILS(read_all(&snappy, &err), CV_FORMAT, "wrong checksum", &err);
}

struct weather {
    char station[32];
    int64_t time;
    int32_t temp;
};

/* share/test/data/weather.json of Apache Avro. */
static const struct weather truth[] = {
    {"011990-99999", -619524000000, 0},   {"011990-99999", -619506000000, 22},
    {"011990-99999", -619484400000, -11}, {"012650-99999", -655531200000, 111},
    {"012650-99999", -655509600000, 78},
};

static void read_weather(const char *name)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf file = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_avro_file_reader r;
    struct cv_avro_reader items;
    int64_t count;
    size_t row = 0;

    CV_ASSERT_OK(cv_file_read(cv_test_data(name), 1 << 20, &file, &err), &err);
    CV_ASSERT_OK(cv_avro_file_reader_init(&r, file.data, file.length, &err), &err);
    for (;;) {
        CV_ASSERT_OK(cv_avro_file_next_block(&r, &items, &count, &err), &err);
        if (count == 0)
            break;
        for (; count > 0; count--, row++) {
            const uint8_t *station;
            size_t length;
            int64_t time;
            int32_t temp;

            assert_true(cv_avro_read_bytes(&items, &station, &length));
            assert_true(cv_avro_read_long(&items, &time));
            assert_true(cv_avro_read_int(&items, &temp));
            assert_true(row < CV_ARRAY_LENGTH(truth));
            assert_memory_equal(station, truth[row].station, length);
            assert_int_equal(time, truth[row].time);
            assert_int_equal(temp, truth[row].temp);
        }
    }
    assert_int_equal(row, CV_ARRAY_LENGTH(truth));
    cv_avro_file_reader_release(&r);
}

static void reads_every_codec(void **state)
{
    read_weather("avro/data/weather.avro");
    read_weather("avro/data/weather-deflate.avro");
    read_weather("avro/data/weather-snappy.avro");
    read_weather("avro/data/weather-zstd.avro");
}

static void reads_a_sync_marker_in_metadata(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf file = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_avro_file_reader r;
    struct cv_avro_reader items;
    int64_t count = 1;
    int64_t total = 0;

    CV_ASSERT_OK(cv_file_read(cv_test_data("avro/data/syncInMeta.avro"), 1 << 20, &file, &err),
                 &err);
    CV_ASSERT_OK(cv_avro_file_reader_init(&r, file.data, file.length, &err), &err);
    while (count) {
        CV_ASSERT_OK(cv_avro_file_next_block(&r, &items, &count, &err), &err);
        total += count;
    }
    assert_int_equal(total, 6001);
    cv_avro_file_reader_release(&r);
}

static void names_what_it_lacks(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf file = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_avro_file_reader r;

    CV_ASSERT_FAILS(cv_avro_file_reader_init(&r, "PAR1", 4, &err), CV_FORMAT, "magic", &err);
    CV_ASSERT_OK(
        cv_file_read(cv_test_data("avro/arrow/avro/alltypes_plain.xz.avro"), 1 << 20, &file, &err),
        &err);
    CV_ASSERT_FAILS(cv_avro_file_reader_init(&r, file.data, file.length, &err), CV_UNSUPPORTED,
                    "codec \"xz\"", &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_both_ways),      cmocka_unit_test(survives_damage),
        cmocka_unit_test(checks_sync_markers), cmocka_unit_test(checks_sums),
        cmocka_unit_test(reads_every_codec),   cmocka_unit_test(reads_a_sync_marker_in_metadata),
        cmocka_unit_test(names_what_it_lacks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
