/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP client against a server in a thread: what it sends, and what it makes of bad answers. */
#include "test.h"

#include "base/str.h"
#include "storage/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

static struct cv_error err;

/* One request per connection; the last one's text is kept. */
static struct {
    int listener;
    int port;
    pthread_t thread;
    pthread_mutex_t lock; /* of `request` */
    char request[8192];
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Where the last request has this text; NULL if it has not. */
static const char *request_has(const char *text)
{
    const char *found;

    (void)pthread_mutex_lock(&server.lock);
    found = strstr(server.request, text);
    (void)pthread_mutex_unlock(&server.lock);
    return found;
}

static const char *answer_to(const char *request)
{
    if (cv_text_starts_with(request, "GET /ok "))
        return "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    if (cv_text_starts_with(request, "GET /moved "))
        return "HTTP/1.1 302 Found\r\nLocation: /ok\r\nContent-Length: 0\r\nConnection: "
               "close\r\n\r\n";
    if (cv_text_starts_with(request, "GET /file "))
        return "HTTP/1.1 302 Found\r\nLocation: file:///etc/hostname\r\nContent-Length: 0\r\n"
               "Connection: close\r\n\r\n";
    if (cv_text_starts_with(request, "GET /cut "))
        return "HTTP/1.1 200 OK\r\nContent-Length: 50\r\nConnection: close\r\n\r\nhalf";
    if (cv_text_starts_with(request, "GET /hang"))
        return NULL;
    if (cv_text_starts_with(request, "GET /drop "))
        return "";
    return "HTTP/1.1 404 Not Found\r\nContent-Length: 6\r\nConnection: close\r\n\r\nabsent";
}

static void *serve(void *unused)
{
    (void)unused;
    for (;;) {
        int connection = accept(server.listener, NULL, NULL);
        char request[sizeof server.request];
        const char *answer;
        ssize_t got;

        if (connection < 0)
            return NULL;
        got = recv(connection, request, sizeof request - 1, 0);
        request[got > 0 ? got : 0] = '\0';
        (void)pthread_mutex_lock(&server.lock);
        memcpy(server.request, request, sizeof request);
        (void)pthread_mutex_unlock(&server.lock);
        answer = answer_to(request);
        if (!answer)
            (void)recv(connection, request, 1, 0); /* until the client gives up */
        else if (*answer)
            (void)send(connection, answer, strlen(answer), MSG_NOSIGNAL);
        (void)close(connection);
    }
}

static int start_server(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;

    (void)state;
    server.listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server.listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server.listener, 8), 0);
    assert_int_equal(getsockname(server.listener, (struct sockaddr *)&address, &length), 0);
    server.port = ntohs(address.sin_port);
    return pthread_create(&server.thread, NULL, serve, NULL);
}

static int stop_server(void **state)
{
    (void)state;
    (void)shutdown(server.listener, SHUT_RDWR);
    (void)pthread_join(server.thread, NULL);
    (void)close(server.listener);
    return 0;
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

static void gets_status_and_body(void **state)
{
    struct call call = {.header = {"Accept", "application/json"}};

    (void)state;
    CV_ASSERT_OK(get(&call, "/ok"), &err);
    assert_int_equal(call.status, 200);
    assert_string_equal(cv_buf_text(&call.body), "hello");
    assert_non_null(request_has("\r\nAccept: application/json\r\n"));
    assert_null(request_has("Authorization"));
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
    assert_non_null(request_has("\r\nAuthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"));
    CV_ASSERT_OK(get(&bearer, "/ok"), &err);
    assert_non_null(request_has("\r\nAuthorization: Bearer tok-123\r\n"));
    cv_buf_release(&basic.body);
    cv_buf_release(&bearer.body);
}

static void follows_a_redirect_but_not_to_a_file(void **state)
{
    struct call call = {0};

    (void)state;
    CV_ASSERT_OK(get(&call, "/moved"), &err);
    assert_int_equal(call.status, 200);
    CV_ASSERT_FAILS(get(&call, "/file"), CV_CONFIG, "/file", &err);
    cv_buf_release(&call.body);
}

static void no_answer_is_retriable(void **state)
{
    struct call call = {.config.timeout_ms = 200};

    (void)state;
    CV_ASSERT_FAILS(get(&call, "/drop"), CV_IO, "no answer from http://127.0.0.1", &err);
    assert_true(err.flags & CV_ERROR_RETRIABLE);
    CV_ASSERT_FAILS(get(&call, "/hang"), CV_IO, "no answer", &err);
    assert_true(err.flags & CV_ERROR_RETRIABLE);
    CV_ASSERT_FAILS(get(&call, "/cut"), CV_IO, "no answer", &err);
    assert_true(err.flags & CV_ERROR_RETRIABLE);
    assert_int_equal(call.body.length, 0); /* half an answer is none */
    cv_buf_release(&call.body);
}

static void the_answer_has_a_limit(void **state)
{
    struct call call = {.config.response_bytes_max = 4};

    (void)state;
    CV_ASSERT_FAILS(get(&call, "/ok"), CV_LIMIT, "more than 4 bytes", &err);
    assert_int_equal(call.body.length, 0);
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
    CV_CLEANUP(cv_http_client_freep) struct cv_http_client *client = NULL;
    const struct cv_http_config config = {0};
    struct cv_buf body = CV_BUF_INIT(100);
    int status;

    (void)state;
    CV_ASSERT_OK(cv_http_client_new(&config, &client, &err), &err);
    CV_ASSERT_FAILS(cv_http_get(client, "ftp://host/x", NULL, 0, &status, &body, &err), CV_CONFIG,
                    "ftp://host/x", &err);
    CV_ASSERT_FAILS(cv_http_get(client, "http://ho st/x", NULL, 0, &status, &body, &err), CV_CONFIG,
                    "no answer", &err);
    cv_buf_release(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gets_status_and_body),
        cmocka_unit_test(sends_credentials),
        cmocka_unit_test(follows_a_redirect_but_not_to_a_file),
        cmocka_unit_test(no_answer_is_retriable),
        cmocka_unit_test(the_answer_has_a_limit),
        cmocka_unit_test(secrets_stay_out_of_errors),
        cmocka_unit_test(url_without_its_secrets),
        cmocka_unit_test(a_bad_url_is_configuration),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
