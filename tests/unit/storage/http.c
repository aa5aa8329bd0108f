/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP client against a scripted server: what it sends, what it makes of bad answers, and that
 * threads share it. */
#include "http_server.h"

#include "base/error_part.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/time.h"
#include "storage/http.h"

#include <sys/wait.h>

static struct cv_error err;
static struct cv_test_server server;

static void put(struct cv_test_answer *answer, const char *text)
{
    cv_buf_append_text(&answer->bytes, text);
}

/* Answers that break off or never come. */
static bool answer_badly(const struct cv_test_request *request, struct cv_test_answer *answer)
{
    answer->close = true;
    if (cv_test_is(request, "GET /cut"))
        put(answer, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf");
    else if (cv_test_is(request, "GET /cut-chunk"))
        put(answer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nhe");
    else if (cv_test_is(request, "GET /cut-header"))
        put(answer, "HTTP/1.1 200 OK\r\nContent-Le");
    else if (cv_test_is(request, "GET /garbage"))
        put(answer, "\x16\x03\x01 what is this?");
    else if (cv_test_is(request, "GET /headers"))
        for (int i = 0; i < 3000; i++)
            put(answer, i ? "X-Long-Header: 0123456789 0123456789\r\n" : "HTTP/1.1 200 OK\r\n");
    else if (cv_test_is(request, "GET /hang"))
        answer->hang = true;
    else if (cv_test_is(request, "GET /slow")) {
        answer->hang = true;
        put(answer, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf");
    } else if (cv_test_has(request, " /reset"))
        answer->reset = true;
    else if (!cv_test_is(request, "GET /drop"))
        return false;
    return true;
}

static void answer(struct cv_test_server *of, const struct cv_test_request *request,
                   struct cv_test_answer *ret_answer)
{
    char text[64];

    (void)of;
    if (answer_badly(request, ret_answer))
        return;
    ret_answer->close = false;
    if (cv_test_is(request, "GET /ok"))
        cv_test_reply(ret_answer, 200, "X-Id: first\r\nX-ID:  second \r\nRetry-After: 3\r\n",
                      "hello");
    else if (cv_test_is(request, "HEAD /ok"))
        put(ret_answer, "HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n");
    else if (cv_test_is(request, "GET /moved"))
        cv_test_reply(ret_answer, 302, "Location: /ok\r\n", "elsewhere");
    else if (cv_test_is(request, "GET /file"))
        cv_test_reply(ret_answer, 302, "Location: file:///etc/hostname\r\n", "");
    else if (cv_test_has(request, " /last-then-dead ")) { /* says keep-alive, and closes */
        cv_test_reply(ret_answer, 200, NULL, "ok");
        ret_answer->close = true;
    } else if (cv_test_has(request, " /echo")) {
        (void)snprintf(text, sizeof text, "%zu %02x %02x", request->body_length,
                       request->body_length ? request->body[0] : 0,
                       request->body_length ? request->body[request->body_length - 1] : 0);
        cv_test_reply(ret_answer, 200, NULL, text);
    } else if (cv_test_has(request, " /none"))
        put(ret_answer, "HTTP/1.1 204 No Content\r\n\r\n");
}

static int start_server(void **state)
{
    (void)state;
    cv_test_server_start(&server, answer, NULL);
    return 0;
}

static int stop_server(void **state)
{
    (void)state;
    cv_test_server_stop(&server);
    return 0;
}

static char *url_of(const char *path, char url[256])
{
    (void)snprintf(url, 256, "http://127.0.0.1:%d%s", server.port, path);
    return url;
}

struct call {
    struct cv_http_config config;
    const char *user_in_url;
    struct cv_http_header header;
    int status;
    struct cv_buf body;
};

static enum cv_code get(struct call *call, const char *path)
{
    CV_CLEANUP(cv_http_client_freep) struct cv_http_client *client = NULL;
    char url[256];

    (void)snprintf(url, sizeof url, "http://%s127.0.0.1:%d%s",
                   call->user_in_url ? call->user_in_url : "", server.port, path);
    CV_DO(cv_http_client_new(&call->config, &client, &err));
    return cv_http_get(client, url, &call->header, call->header.name ? 1 : 0, &call->status,
                       &call->body, &err);
}

static struct cv_http_client *new_client(int64_t timeout_ms)
{
    struct cv_http_client *client = NULL;
    const struct cv_http_config config = {.timeout_ms = timeout_ms};

    CV_ASSERT_OK(cv_http_client_new(&config, &client, &err), &err);
    return client;
}

static enum cv_code send_body(struct cv_http_client *client, const char *method, const char *path,
                              const void *body, size_t length, struct cv_http_response *response)
{
    char url[256];
    const struct cv_http_request request = {
        .method = method, .url = url_of(path, url), .body = body, .body_length = length};

    cv_error_clear(&err);
    return cv_http_send(client, &request, response, &err);
}

static void gets_status_and_body(void **state)
{
    struct call call = {.header = {"Accept", "application/json"}};

    (void)state;
    CV_ASSERT_OK(get(&call, "/ok"), &err);
    assert_int_equal(call.status, 200);
    assert_string_equal(cv_buf_text(&call.body), "hello");
    assert_true(cv_test_server_saw(&server, "\r\nAccept: application/json\r\n"));
    assert_false(cv_test_server_saw(&server, "Authorization"));
    cv_buf_clear(&call.body);
    CV_ASSERT_OK(get(&call, "/nowhere"), &err);
    assert_int_equal(call.status, 404);
    assert_string_equal(cv_buf_text(&call.body), "absent");
    cv_buf_release(&call.body);
}

/* RFC 7617: base64("Aladdin:open sesame") = QWxhZGRpbjpvcGVuIHNlc2FtZQ== */
static void sends_credentials(void **state)
{
    struct call basic = {.config.user_info = "Aladdin:open sesame"};
    struct call bearer = {.config.bearer_token = "tok-123"};

    (void)state;
    CV_ASSERT_OK(get(&basic, "/ok"), &err);
    assert_true(
        cv_test_server_saw(&server, "\r\nAuthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"));
    CV_ASSERT_OK(get(&bearer, "/ok"), &err);
    assert_true(cv_test_server_saw(&server, "\r\nAuthorization: Bearer tok-123\r\n"));
    cv_buf_release(&basic.body);
    cv_buf_release(&bearer.body);
}

static void follows_a_redirect_but_not_to_a_file(void **state)
{
    struct call call = {0};

    (void)state;
    CV_ASSERT_OK(get(&call, "/moved"), &err);
    assert_int_equal(call.status, 200);
    assert_string_equal(cv_buf_text(&call.body), "hello");
    CV_ASSERT_FAILS(get(&call, "/file"), CV_CONFIG, "/file", &err);
    cv_buf_release(&call.body);
}

static void a_send_follows_nothing_unless_told(void **state)
{
    CV_CLEANUP(cv_http_client_freep) struct cv_http_client *client = new_client(0);
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};

    (void)state;
    CV_ASSERT_OK(send_body(client, "GET", "/moved", NULL, 0, &response), &err);
    assert_int_equal(response.status, 302);
    assert_true(cv_str_is(cv_http_response_header(&response, "location"), "/ok"));
}

static void no_answer_is_retriable(void **state)
{
    static const char *const paths[] = {"/drop",       "/hang",    "/cut",  "/cut-chunk",
                                        "/cut-header", "/garbage", "/reset"};
    struct call call = {.config.timeout_ms = 200};

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(paths); i++) {
        cv_error_clear(&err);
        CV_ASSERT_FAILS(get(&call, paths[i]), CV_IO, "answer from http://127.0.0.1", &err);
        assert_int_equal(err.flags, CV_ERROR_RETRIABLE);
        assert_int_equal(call.body.length, 0); /* half an answer is none */
    }
    CV_ASSERT_FAILS(get(&call, "/hang"), CV_IO, "timed out", &err);
    CV_ASSERT_FAILS(get(&call, "/cut"), CV_IO, "half an answer", &err);
    cv_buf_release(&call.body);
}

static void tells_how_far_it_came(void **state)
{
    CV_CLEANUP(cv_http_client_freep) struct cv_http_client *client = new_client(2000);
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    struct cv_http_request request = {.method = "GET", .url = "http://host.invalid/x"};
    char url[256];

    (void)state;
    CV_ASSERT_FAILS(cv_http_send(client, &request, &response, &err), CV_IO,
                    "no address for http://host.invalid: ", &err);
    assert_int_equal(err.flags, CV_ERROR_RETRIABLE | CV_ERROR_UNSENT | CV_PART_DNS);
    assert_non_null(strstr(err.hint, "DNS"));

    cv_error_clear(&err);
    request.url = "http://127.0.0.1:1/x";
    CV_ASSERT_FAILS(cv_http_send(client, &request, &response, &err), CV_IO,
                    "no connection to http://127.0.0.1:1: ", &err);
    assert_int_equal(err.flags, CV_ERROR_RETRIABLE | CV_ERROR_UNSENT | CV_PART_CONNECTION);

    cv_error_clear(&err); /* this server does not speak TLS */
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%d", server.port);
    request.url = url;
    request.timeout_ms = 300;
    CV_ASSERT_FAILS(cv_http_send(client, &request, &response, &err), CV_IO, url, &err);
    assert_int_equal(err.flags & (CV_ERROR_RETRIABLE | CV_ERROR_UNSENT),
                     CV_ERROR_RETRIABLE | CV_ERROR_UNSENT);
}

static void the_answer_has_a_limit(void **state)
{
    struct call call = {.config.response_bytes_max = 4};

    (void)state;
    CV_ASSERT_FAILS(get(&call, "/ok"), CV_LIMIT, "more than 4 bytes", &err);
    assert_int_equal(call.body.length, 0);
    CV_ASSERT_FAILS(get(&call, "/headers"), CV_LIMIT, "bytes of headers", &err);
    cv_buf_release(&call.body);
}

static void secrets_stay_out_of_errors(void **state)
{
    struct call call = {.config = {.bearer_token = "hush-token", .timeout_ms = 200},
                        .user_in_url = "joe:hush-url@"};
    struct call broken = {.header = {"X-Key", "hush\r\nX: y"}};

    (void)state;
    CV_ASSERT_FAILS(get(&call, "/hang?key=hush-query"), CV_IO, "/hang", &err);
    assert_null(strstr(err.message, "hush-"));
    CV_ASSERT_FAILS(get(&broken, "/ok"), CV_CONFIG, "line break", &err);
    assert_null(strstr(err.message, "hush"));
    cv_buf_release(&call.body);
}

static void url_without_its_secrets(void **state)
{
    char text[512];

    (void)state;
    cv_http_url_for_message("https://u:p@ss@host:81/a/b?token=x#f", text);
    assert_string_equal(text, "https://host:81/a/b");
    cv_http_url_for_message("http://host/a@b", text);
    assert_string_equal(text, "http://host/a@b");
}

static void a_bad_url_is_configuration(void **state)
{
    CV_CLEANUP(cv_http_client_freep) struct cv_http_client *client = new_client(0);
    struct cv_buf body = CV_BUF_INIT(100);
    int status;

    (void)state;
    CV_ASSERT_FAILS(cv_http_get(client, "ftp://host/x", NULL, 0, &status, &body, &err), CV_CONFIG,
                    "ftp://host/x", &err);
    CV_ASSERT_FAILS(cv_http_get(client, "http://ho st/x", NULL, 0, &status, &body, &err), CV_CONFIG,
                    "no answer", &err);
    cv_buf_release(&body);
}

static void sends_bodies_of_any_method(void **state)
{
    CV_CLEANUP(cv_http_client_freep) struct cv_http_client *client = new_client(0);
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    const size_t length = (size_t)5 << 20;
    CV_CLEANUP(cv_freep) uint8_t *body = cv_alloc(length);

    (void)state;
    body[0] = 0xab;
    body[length - 1] = 0xcd;
    CV_ASSERT_OK(send_body(client, "PUT", "/echo", body, length, &response), &err);
    assert_string_equal(cv_buf_text(&response.body), "5242880 ab cd");
    assert_true(cv_test_server_saw(&server, "PUT /echo HTTP/1.1\r\n"));
    assert_true(cv_test_server_saw(&server, "\r\nContent-Length: 5242880\r\n"));
    assert_false(cv_test_server_saw(&server, "Expect"));
    assert_false(cv_test_server_saw(&server, "Content-Type"));
    CV_ASSERT_OK(send_body(client, "POST", "/echo?x=%20//../", "ab", 2, &response), &err);
    assert_string_equal(cv_buf_text(&response.body), "2 61 62");
    assert_true(cv_test_server_saw(&server, "POST /echo?x=%20//../ HTTP/1.1\r\n"));
    CV_ASSERT_OK(send_body(client, "POST", "/echo", NULL, 0, &response), &err);
    assert_true(cv_test_server_saw(&server, "\r\nContent-Length: 0\r\n"));
    CV_ASSERT_OK(send_body(client, "PUT", "/echo", NULL, 0, &response), &err);
    assert_true(cv_test_server_saw(&server, "\r\nContent-Length: 0\r\n"));
    CV_ASSERT_OK(send_body(client, "DELETE", "/none", NULL, 0, &response), &err);
    assert_int_equal(response.status, 204);
    assert_int_equal(response.body.length, 0);
    CV_ASSERT_OK(send_body(client, "HEAD", "/ok", NULL, 0, &response), &err);
    assert_int_equal(response.status, 200);
    assert_true(cv_str_is(cv_http_response_header(&response, "content-length"), "12345"));
    assert_int_equal(response.body.length, 0);
    CV_ASSERT_OK(send_body(client, "GET", "/a//b/../%2e%2E", NULL, 0, &response), &err);
    assert_true(cv_test_server_saw(&server, "GET /a//b/../%2e%2E HTTP/1.1\r\n"));
}

static void headers_of_an_answer(void **state)
{
    CV_CLEANUP(cv_http_client_freep) struct cv_http_client *client = new_client(0);
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    char date[128];
    int64_t wait_ms;

    (void)state;
    CV_ASSERT_OK(send_body(client, "GET", "/ok", NULL, 0, &response), &err);
    assert_true(cv_str_is(cv_http_response_header(&response, "x-id"), "second"));
    assert_int_equal(cv_http_response_header(&response, "x-i").length, 0);
    assert_int_equal(cv_http_retry_after_ms(&response), 3000);
    cv_buf_clear(&response.headers);
    assert_int_equal(cv_http_retry_after_ms(&response), -1);
    assert_int_equal(cv_http_response_date_ms(&response), -1);
    cv_buf_append_text(&response.headers, "HTTP/1.1 503 x\r\nretry-after: 99999999999\r\n\r\n");
    assert_int_equal(cv_http_retry_after_ms(&response), 3600000);
    cv_buf_clear(&response.headers);
    cv_buf_append_text(&response.headers, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
    assert_int_equal(cv_http_response_date_ms(&response), 784111777000); /* RFC 9110, 5.6.7 */
    cv_buf_append_text(&response.headers, "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
    assert_int_equal(cv_http_retry_after_ms(&response), 0);
    cv_buf_append_text(&response.headers, "Retry-After: Fri, 06 Nov 2094 08:49:37 GMT\r\n");
    wait_ms = cv_http_retry_after_ms(&response);
    assert_int_equal(wait_ms, 3600000);
    (void)snprintf(date, sizeof date, "Retry-After: soon\r\n");
    cv_buf_append_text(&response.headers, date);
    assert_int_equal(cv_http_retry_after_ms(&response), -1);
}

/* A kept connection that the server closed: what only reads is simply sent on a new one; what may
 * have changed something is not sent twice, whether it has a body or not. */
static void a_change_is_never_sent_twice(void **state)
{
    CV_CLEANUP(cv_http_client_freep) struct cv_http_client *client = new_client(0);
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    int before;

    (void)state;
    CV_ASSERT_OK(send_body(client, "GET", "/ok", NULL, 0, &response), &err);
    before = cv_test_server_requests(&server);
    CV_ASSERT_FAILS(send_body(client, "POST", "/reset", "body", 4, &response), CV_IO, "", &err);
    assert_int_equal(err.flags, CV_ERROR_RETRIABLE); /* not UNSENT: the server had it */
    assert_int_equal(cv_test_server_requests(&server), before + 1);
    for (int i = 0; i < 2; i++) {
        CV_ASSERT_OK(send_body(client, "GET", "/ok", NULL, 0, &response), &err);
        before = cv_test_server_requests(&server);
        CV_ASSERT_FAILS(send_body(client, i ? "POST" : "DELETE", "/reset", NULL, 0, &response),
                        CV_IO, "the server closed the connection", &err);
        assert_int_equal(err.flags, CV_ERROR_RETRIABLE);
        assert_int_equal(cv_test_server_requests(&server), before + 1);
    }
    CV_ASSERT_OK(send_body(client, "GET", "/ok", NULL, 0, &response), &err);
    before = cv_test_server_requests(&server);
    CV_ASSERT_FAILS(send_body(client, "GET", "/reset", NULL, 0, &response), CV_IO, "", &err);
    assert_int_equal(cv_test_server_requests(&server), before + 2);
    CV_ASSERT_OK(send_body(client, "GET", "/last-then-dead", NULL, 0, &response), &err);
    CV_ASSERT_OK(send_body(client, "GET", "/ok", NULL, 0, &response), &err);
}

struct worker {
    struct cv_http_client *client;
    int number;
    int failures;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct cv_http_response response = {0};
    struct cv_error error = CV_ERROR_INIT;
    uint8_t body[1000];
    char url[256];
    char wanted[64];
    const struct cv_http_request request = {
        .method = "PUT", .url = url_of("/echo", url), .body = body, .body_length = sizeof body};

    memset(body, worker->number, sizeof body);
    (void)snprintf(wanted, sizeof wanted, "1000 %02x %02x", worker->number, worker->number);
    for (int i = 0; i < 50; i++)
        if (cv_http_send(worker->client, &request, &response, &error) != CV_OK ||
            strcmp(cv_buf_text(&response.body), wanted) != 0)
            worker->failures++;
    cv_http_response_release(&response);
    return NULL;
}

static void threads_share_a_client_and_its_connections(void **state)
{
    CV_CLEANUP(cv_http_client_freep) struct cv_http_client *client = new_client(0);
    struct worker workers[8];
    pthread_t threads[8];
    int before = cv_test_server_connections(&server);

    (void)state;
    for (int i = 0; i < 8; i++) {
        workers[i] = (struct worker){client, i + 1, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        (void)pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].failures, 0);
    }
    assert_true(cv_test_server_connections(&server) - before <= 8);
}

/* In a child, since a process that shall end stays so. */
static void a_stop_cuts_a_request(void **state)
{
    pid_t child = fork();
    int status;

    (void)state;
    if (child == 0) {
        struct call call = {0};
        int64_t start_us = cv_monotonic_us();
        bool right;

        cv_stop_request();
        right = get(&call, "/hang") == CV_CANCELLED;
        start_us = cv_monotonic_us() - start_us;
        _exit(right && start_us > CV_HTTP_STOP_MS * 1000 && start_us < 20000000 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_body_that_stands_still_is_cut(void **state)
{
    struct call call = {0};
    int64_t start_us = cv_monotonic_us();

    (void)state;
    CV_ASSERT_FAILS(get(&call, "/slow"), CV_IO, "/slow moves less than", &err);
    assert_int_equal(err.flags, CV_ERROR_RETRIABLE);
    assert_true(cv_monotonic_us() - start_us < (CV_HTTP_SLOW_MS + 15000) * CV_US_PER_MS);
    assert_int_equal(call.body.length, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gets_status_and_body),
        cmocka_unit_test(sends_credentials),
        cmocka_unit_test(follows_a_redirect_but_not_to_a_file),
        cmocka_unit_test(a_send_follows_nothing_unless_told),
        cmocka_unit_test(no_answer_is_retriable),
        cmocka_unit_test(tells_how_far_it_came),
        cmocka_unit_test(the_answer_has_a_limit),
        cmocka_unit_test(secrets_stay_out_of_errors),
        cmocka_unit_test(url_without_its_secrets),
        cmocka_unit_test(a_bad_url_is_configuration),
        cmocka_unit_test(sends_bodies_of_any_method),
        cmocka_unit_test(headers_of_an_answer),
        cmocka_unit_test(a_change_is_never_sent_twice),
        cmocka_unit_test(threads_share_a_client_and_its_connections),
        cmocka_unit_test(a_stop_cuts_a_request),
        cmocka_unit_test(a_body_that_stands_still_is_cut),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
