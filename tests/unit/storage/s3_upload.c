/* SPDX-License-Identifier: Apache-2.0
 *
 * Files written to S3, against a scripted server: whole and in parts, in the background, failing,
 * and completions whose answer is lost. */
#include "test.h"

#include "http_script.h"

#include "base/stop.h"
#include "base/time.h"
#include "storage/s3_upload_int.h"

#define MIB         ((size_t)1 << 20)
#define ERROR(code) "<Error><Code>" code "</Code><Message>told so</Message></Error>"
#define BEGUN                                                                                      \
    "<InitiateMultipartUploadResult><UploadId>U 1</UploadId></InitiateMultipartUploadResult>"
#define COMPLETED                                                                                  \
    "<CompleteMultipartUploadResult><ETag>\"x-3\"</ETag></CompleteMultipartUploadResult>"

static struct cv_error err;
static struct script_server server;

static int start(void **state)
{
    (void)state;
    script_start(&server);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    script_stop(&server);
    return 0;
}

static void rule(const char *match, int status, const char *headers, const char *body, int times)
{
    script_rule(&server, (struct script_rule){match, status, body, headers, .times = times});
}

static struct cv_store *open_store(void)
{
    static const char *const settings[][2] = {
        {"s3.access-key-id", "AKID"},      {"s3.secret-access-key", "very-secret"},
        {"s3.retry.num-retries", "2"},     {"s3.retry.min-wait-ms", "1"},
        {"s3.retry.max-wait-ms", "2"},     {"s3.multipart.part-size-bytes", "5 MiB"},
        {"s3.multipart.num-threads", "3"},
    };
    struct cv_properties properties = {0};
    struct cv_store_config config = {.properties = &properties};
    struct cv_store *store;
    char endpoint[64];

    script_reset(&server);
    err = (struct cv_error)CV_ERROR_INIT;
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d", server.port);
    cv_properties_set(&properties, "s3.endpoint", endpoint);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(settings); i++)
        cv_properties_set(&properties, settings[i][0], settings[i][1]);
    CV_ASSERT_OK(cv_store_open("s3://b/t", &config, &store, &err), &err);
    cv_properties_release(&properties);
    return store;
}

/* Begins, writes `count` bytes in steps, leaves the output open. */
static struct cv_output *write_bytes(struct cv_store *store, size_t count, enum cv_code *ret_code)
{
    static uint8_t bytes[3 * MIB];
    struct cv_output *output;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 31 % 251);
    CV_ASSERT_OK(cv_store_create(store, "s3://b/k", &output, &err), &err);
    *ret_code = CV_OK;
    for (size_t step; count && *ret_code == CV_OK; count -= step) {
        step = CV_MIN(count, sizeof bytes);
        *ret_code = cv_output_write(output, bytes, step, &err);
        assert_true(output->held <= (size_t)(6 * 5 * MIB));
    }
    return output;
}

static struct cv_output *write_well(struct cv_store *store, size_t count)
{
    enum cv_code code;
    struct cv_output *output = write_bytes(store, count, &code);

    CV_ASSERT_OK(code, &err);
    return output;
}

static void script_upload(void)
{
    rule("POST /b/k?uploads= HTTP", 200, NULL, BEGUN, 0);
    rule("PUT /b/k?partNumber=1&uploadId=U%201 HTTP", 200, "ETag: \"one\"\r\n", NULL, 0);
    rule("PUT /b/k?partNumber=2&uploadId=U%201 HTTP", 200, "ETag: \"two\"\r\n", NULL, 0);
    rule("PUT /b/k?partNumber=3&uploadId=U%201 HTTP", 200, "ETag: \"three\"\r\n", NULL, 0);
}

static void a_small_file_is_one_put(void **state)
{
    struct cv_store *store = open_store();

    (void)state;
    rule("PUT /b/k HTTP", 200, NULL, NULL, 0);
    CV_ASSERT_OK(cv_output_close(write_well(store, 7 * MIB), &err), &err); /* below 1.5 parts */
    CV_ASSERT_OK(cv_output_close(write_well(store, 0), &err), &err);
    assert_int_equal(script_total(&server), 2);
    assert_int_equal(script_get(&server, "PUT", 0)->body.length, 7 * MIB);
    assert_int_equal(script_get(&server, "PUT", 1)->body.length, 0);
    assert_non_null(strstr(script_get(&server, "PUT", 1)->head, "\r\nContent-Length: 0\r\n"));
    cv_store_free(store);
}

/* What began without an answer stays open for ever unless it is looked for. */
static void a_lost_beginning_is_aborted(void **state)
{
    struct cv_store *store = open_store();

    (void)state;
    rule("POST /b/k?uploads= HTTP", 500, NULL, NULL, 1);
    rule("GET /b?encoding-type=url&max-uploads=1000&prefix=k&uploads= HTTP", 200, NULL,
         "<ListMultipartUploadsResult><Upload><Key>k</Key><UploadId>U0</UploadId></Upload>"
         "<Upload><Key>k</Key><UploadId>U 1</UploadId></Upload>"
         "<Upload><Key>kk</Key><UploadId>U2</UploadId></Upload></ListMultipartUploadsResult>",
         0);
    rule("DELETE /b/k?uploadId=U0 HTTP", 204, NULL, NULL, 0);
    script_upload();
    rule("POST /b/k?uploadId=U%201 HTTP", 200, NULL, COMPLETED, 0);
    CV_ASSERT_OK(cv_output_close(write_well(store, 12 * MIB), &err), &err);
    assert_int_equal(script_total(&server), 8); /* two beginnings, three parts, the end */
    assert_non_null(script_get(&server, "DELETE", 0));
    cv_store_free(store);
}

static void a_large_file_goes_in_parts(void **state)
{
    static const char body[] =
        "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        "<Part><PartNumber>1</PartNumber><ETag>&quot;one&quot;</ETag></Part>"
        "<Part><PartNumber>2</PartNumber><ETag>&quot;two&quot;</ETag></Part>"
        "<Part><PartNumber>3</PartNumber><ETag>&quot;three&quot;</ETag></Part>"
        "</CompleteMultipartUpload>";
    struct cv_store *store = open_store();
    const struct script_request *complete;
    size_t at = 0;

    (void)state;
    script_upload();
    rule("POST /b/k?uploadId=U%201 HTTP", 200, NULL, COMPLETED, 0);
    CV_ASSERT_OK(cv_output_close(write_well(store, 12 * MIB), &err), &err);
    assert_int_equal(script_total(&server), 5);
    complete = script_get(&server, "POST /b/k?uploadId", 0);
    assert_int_equal(complete->body.length, strlen(body));
    assert_memory_equal(complete->body.data, body, strlen(body));
    for (int part = 1; part <= 3; part++) {
        char match[64];
        const struct script_request *request;

        (void)snprintf(match, sizeof match, "PUT /b/k?partNumber=%d&", part);
        request = script_get(&server, match, 0);
        assert_int_equal(request->body.length, part < 3 ? 5 * MIB : 2 * MIB);
        for (size_t i = 0; i < request->body.length; i++, at++)
            if (request->body.data[i] != (uint8_t)(at % (3 * MIB) * 31 % 251))
                fail_msg("part %d differs at %zu", part, i);
    }
    assert_int_equal(store->counts.sent[CV_REQUEST_MULTIPART], 5);
    cv_store_free(store);
}

static void a_refused_part_aborts_the_upload(void **state)
{
    struct cv_store *store = open_store();
    struct cv_output *output;

    (void)state;
    rule("PUT /b/k?partNumber=2", 403, NULL, ERROR("AccessDenied"), 0);
    script_upload();
    rule("DELETE /b/k?uploadId=U%201 HTTP", 204, NULL, NULL, 0);
    output = write_well(store, 12 * MIB);
    CV_ASSERT_FAILS(cv_output_close(output, &err), CV_AUTH, "cannot write s3://b/k: 403", &err);
    cv_output_abort(output);
    assert_int_equal(script_count(&server, "DELETE"), 1);
    assert_int_equal(script_count(&server, "POST /b/k?uploadId"), 0);
    script_reset(&server);
    script_upload();
    rule("DELETE /b/k?uploadId=U%201 HTTP", 204, NULL, NULL, 0);
    cv_output_abort(write_well(store, 12 * MIB)); /* given up halfway */
    assert_int_equal(script_count(&server, "DELETE"), 1);
    cv_store_free(store);
}

static void writing_stops_after_a_failed_part(void **state)
{
    struct cv_store *store = open_store();
    struct cv_output *output;
    enum cv_code code;

    (void)state;
    rule("POST /b/k?uploads= HTTP", 200, NULL, BEGUN, 0);
    rule("PUT", 500, NULL, ERROR("InternalError"), 0);
    rule("DELETE", 204, NULL, NULL, 0);
    output = write_bytes(store, 200 * MIB, &code);
    CV_ASSERT_FAILS(code, CV_IO, "500 InternalError", &err);
    cv_output_abort(output);
    assert_true(script_count(&server, "PUT") < 20);
    assert_int_equal(script_count(&server, "DELETE"), 1);
    cv_store_free(store);
}

/* Case 55: 200 with an error inside; a completion whose answer is lost is settled by HEAD. */
static void completions_are_judged_by_their_body(void **state)
{
    static const struct {
        const char *first;  /* answer to Complete; NULL = the connection drops */
        const char *second; /* NULL = 404 NoSuchUpload */
        const char *length; /* of HEAD */
        enum cv_code code;
    } cases[] = {
        {ERROR("InternalError"), COMPLETED, NULL, CV_OK},
        {"\r\n  \r\n" COMPLETED, NULL, NULL, CV_OK},
        {NULL, NULL, "Content-Length: 12582912\r\nETag: \"x-3\"\r\n", CV_OK},
        {NULL, NULL, "Content-Length: 12582911\r\nETag: \"x-3\"\r\n", CV_NOT_FOUND},
        {NULL, NULL, "Content-Length: 12582912\r\nETag: \"x-4\"\r\n", CV_NOT_FOUND},
        {ERROR("AccessDenied"), NULL, NULL, CV_IO},
        {"garbage", NULL, "Content-Length: 12582912\r\nETag: \"x-3\"\r\n", CV_OK},
        {"garbage", NULL, "Content-Length: 1\r\n", CV_FORMAT},
    };

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        struct cv_store *store = open_store();
        struct cv_output *output;
        enum cv_code code;

        script_upload();
        if (cases[i].first)
            rule("POST /b/k?uploadId", 200, NULL, cases[i].first, 1);
        else
            script_rule(&server,
                        (struct script_rule){"POST /b/k?uploadId", .how = SCRIPT_DROP, .times = 1});
        if (cases[i].second)
            rule("POST /b/k?uploadId", 200, NULL, cases[i].second, 0);
        else
            rule("POST /b/k?uploadId", 404, NULL, ERROR("NoSuchUpload"), 0);
        if (cases[i].length)
            rule("HEAD /b/k", 200, cases[i].length, NULL, 0);
        output = write_well(store, 12 * MIB);
        code = cv_output_close(output, &err);
        if (code != cases[i].code)
            fail_msg("case %zu: %s, %s", i, cv_code_name(code), err.message);
        if (code != CV_OK)
            cv_output_abort(output);
        cv_store_free(store);
    }
}

static void files_closed_unsynced_are_told_by_sync(void **state)
{
    static const char *const locations[] = {"s3://b/0", "s3://b/1", "s3://b/2",
                                            "s3://b/3", "s3://b/4", "s3://b/5"};
    struct cv_store *store = open_store();
    struct cv_buf bytes = CV_BUF_INIT(0);

    (void)state;
    rule("PUT /b/3", 403, NULL, ERROR("AccessDenied"), 0);
    rule("PUT", 200, NULL, NULL, 0);
    rule("GET /b/0", 200, NULL, "x", 0);
    for (size_t i = 0; i < 6; i++)
        CV_ASSERT_OK(cv_store_write_unsynced(store, locations[i], "x", 1, &err), &err);
    CV_ASSERT_OK(cv_store_read(store, locations[0], 1, &bytes, &err), &err); /* waits for its PUT */
    assert_int_equal(script_count(&server, "PUT /b/0"), 1);
    for (int i = 0; i < 2; i++) /* a second question has the same answer */
        CV_ASSERT_FAILS(cv_store_sync(store, locations, 6, &err), CV_AUTH,
                        "cannot write s3://b/3: 403", &err);
    assert_int_equal(script_count(&server, "PUT"), 6);
    CV_ASSERT_OK(cv_store_sync(store, locations, 3, &err), &err);
    rule("DELETE /b/3", 204, NULL, NULL, 0);
    CV_ASSERT_OK(cv_store_remove(store, locations[3], &err), &err);
    CV_ASSERT_OK(cv_store_sync(store, locations, 6, &err), &err);
    cv_buf_release(&bytes);
    cv_store_free(store);
}

static void a_large_file_closed_unsynced(void **state)
{
    static const char *const location = "s3://b/k";
    struct cv_store *store = open_store();
    const int64_t wanted = 5;

    (void)state;
    script_upload();
    rule("POST /b/k?uploadId=U%201 HTTP", 200, NULL, COMPLETED, 1);
    rule("POST /b/k?uploadId=U%201 HTTP", 404, NULL, ERROR("NoSuchUpload"), 1);
    rule("DELETE", 204, NULL, NULL, 0);
    CV_ASSERT_OK(cv_output_close_unsynced(write_well(store, 12 * MIB), &err), &err);
    CV_ASSERT_OK(cv_store_sync(store, &location, 1, &err), &err);
    assert_int_equal(script_total(&server), wanted);
    CV_ASSERT_OK(cv_output_close_unsynced(write_well(store, 12 * MIB), &err), &err);
    CV_ASSERT_FAILS(cv_store_sync(store, &location, 1, &err), CV_NOT_FOUND, "NoSuchUpload", &err);
    assert_int_equal(script_count(&server, "DELETE"), 1);
    cv_store_free(store);
}

static void a_store_ends_after_its_uploads(void **state)
{
    struct cv_store *store = open_store();

    (void)state;
    rule("PUT", 200, NULL, NULL, 0);
    for (int i = 0; i < 20; i++)
        CV_ASSERT_OK(cv_store_write_unsynced(store, "s3://b/k", "x", 1, &err), &err);
    cv_store_free(store);
    assert_int_equal(script_count(&server, "PUT"), 20);
}

static void an_answer_of_something_on_the_way_is_none(void **state)
{
    struct cv_store *store = open_store();

    (void)state;
    rule("PUT /b/k", 200, NULL, "<html>log in</html>", 1);
    rule("PUT /b/k", 200, "ETag: \"x\"\r\n", NULL, 1);
    rule("PUT /b/k", 200, NULL, "<html>log in</html>", 0);
    CV_ASSERT_OK(cv_store_write(store, "s3://b/k", "x", 1, &err), &err);
    assert_int_equal(script_total(&server), 2);
    CV_ASSERT_FAILS(cv_store_put(store, "s3://b/k", "x", 1, CV_PUT_REPLACE, &err), CV_IO,
                    "cannot write s3://b/k: 200: the answer is not one of an S3 service", &err);
    cv_store_free(store);
}

static void close_unsynced(struct cv_store *store, int number)
{
    char location[64];

    (void)snprintf(location, sizeof location, "s3://b/%d", number);
    CV_ASSERT_OK(cv_store_write_unsynced(store, location, location, 10, &err), &err);
}

/* One thread is idle, three files come at once: none waits for another. */
static void files_that_come_at_once_go_at_once(void **state)
{
    struct cv_store *store = open_store();
    struct s3_uploads *uploads = &((struct s3_store *)store)->uploads;
    const char *one = "s3://b/0";
    size_t count = 0;

    (void)state;
    ((struct s3_store *)store)->timeout_ms = 500;
    rule("PUT /b/0", 200, NULL, NULL, 0);
    script_rule(&server, (struct script_rule){"PUT", .how = SCRIPT_HOLD, .times = 3});
    rule("PUT", 200, NULL, NULL, 0);
    close_unsynced(store, 0);
    CV_ASSERT_OK(cv_store_sync(store, &one, 1, &err), &err);
    while (count == 0) {
        (void)pthread_mutex_lock(&uploads->lock);
        count = uploads->idle_count;
        (void)pthread_mutex_unlock(&uploads->lock);
    }
    for (int i = 1; i <= 3; i++)
        close_unsynced(store, i);
    (void)pthread_mutex_lock(&uploads->lock);
    count = uploads->thread_count;
    (void)pthread_mutex_unlock(&uploads->lock);
    assert_int_equal(count, 3);
    cv_store_free(store);
}

static void a_failed_put_is_deleted(void **state)
{
    struct cv_store *store = open_store();
    struct cv_output *output;

    (void)state;
    rule("PUT", 500, NULL, ERROR("InternalError"), 0);
    rule("DELETE /b/k", 204, NULL, NULL, 0);
    output = write_well(store, 10);
    CV_ASSERT_FAILS(cv_output_close(output, &err), CV_IO, "500", &err);
    cv_output_abort(output);
    assert_int_equal(script_count(&server, "PUT"), 3);
    assert_int_equal(script_count(&server, "DELETE"), 1);
    cv_store_free(store);
}

struct writer {
    struct cv_store *store;
    int number;
    enum cv_code code;
};

static void *write_files(void *context)
{
    struct writer *writer = context;
    struct cv_error why = CV_ERROR_INIT;

    for (int i = 0; i < 20 && writer->code == CV_OK; i++) {
        char location[64];
        const char *one = location;

        (void)snprintf(location, sizeof location, "s3://b/%d/%d", writer->number, i);
        writer->code = cv_store_write_unsynced(writer->store, location, location, 10, &why);
        if (writer->code == CV_OK && i % 2)
            writer->code = cv_store_sync(writer->store, &one, 1, &why);
    }
    return NULL;
}

static void many_threads_write_at_once(void **state)
{
    struct cv_store *store = open_store();
    struct writer writers[8];
    pthread_t threads[8];

    (void)state;
    rule("PUT", 503, NULL, ERROR("SlowDown"), 2);
    rule("PUT", 200, NULL, NULL, 0);
    for (int i = 0; i < 8; i++) {
        writers[i] = (struct writer){store, i, CV_OK};
        assert_int_equal(pthread_create(&threads[i], NULL, write_files, &writers[i]), 0);
    }
    for (int i = 0; i < 8; i++)
        (void)pthread_join(threads[i], NULL);
    for (int i = 0; i < 8; i++)
        assert_int_equal(writers[i].code, CV_OK);
    cv_store_free(store);
    assert_int_equal(script_total(&server), 8 * 20 + 2);
}

static void parts_grow_so_that_ten_thousand_suffice(void **state)
{
    int64_t sum = 0;

    (void)state;
    assert_int_equal(s3_part_bytes(8 * (int64_t)MIB, 1), 8 * MIB);
    assert_int_equal(s3_part_bytes(8 * (int64_t)MIB, 1000), 8 * MIB);
    assert_int_equal(s3_part_bytes(8 * (int64_t)MIB, 1001), 16 * MIB);
    for (int part = 1; part <= S3_PARTS_MAX; part++)
        sum += s3_part_bytes(8 * (int64_t)MIB, part);
    assert_true(sum > (int64_t)5 << 40);
    assert_int_equal(s3_part_bytes(S3_PART_BYTES_MAX, 10000), S3_PART_BYTES_MAX);
}

/* A stop waits for a server that hangs once, and not for each file. It cannot be taken back: this
 * is the last test. */
static void a_stop_waits_once(void **state)
{
    struct cv_store *store = open_store();
    int64_t start_us;

    (void)state;
    script_rule(&server, (struct script_rule){"PUT", .how = SCRIPT_HOLD});
    cv_stop_request();
    start_us = cv_monotonic_us();
    for (int i = 0; i < 15; i++)
        close_unsynced(store, i);
    cv_store_free(store);
    assert_true(cv_monotonic_us() - start_us < 4 * CV_HTTP_STOP_MS * CV_US_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_file_is_one_put),
        cmocka_unit_test(a_large_file_goes_in_parts),
        cmocka_unit_test(a_lost_beginning_is_aborted),
        cmocka_unit_test(a_refused_part_aborts_the_upload),
        cmocka_unit_test(writing_stops_after_a_failed_part),
        cmocka_unit_test(completions_are_judged_by_their_body),
        cmocka_unit_test(files_closed_unsynced_are_told_by_sync),
        cmocka_unit_test(a_large_file_closed_unsynced),
        cmocka_unit_test(a_store_ends_after_its_uploads),
        cmocka_unit_test(an_answer_of_something_on_the_way_is_none),
        cmocka_unit_test(files_that_come_at_once_go_at_once),
        cmocka_unit_test(a_failed_put_is_deleted),
        cmocka_unit_test(many_threads_write_at_once),
        cmocka_unit_test(parts_grow_so_that_ten_thousand_suffice),
        cmocka_unit_test(a_stop_waits_once),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
