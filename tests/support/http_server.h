/* SPDX-License-Identifier: Apache-2.0
 *
 * A scripted HTTP server on a port of the loopback interface, a thread per connection, with
 * keep-alive: the test's function gets each request and writes the bytes of the answer.
 *
 *   static void answer(struct cv_test_server *server, const struct cv_test_request *request,
 *                      struct cv_test_answer *ret_answer)
 *   {
 *       if (cv_test_is(request, "GET /ok"))
 *           cv_test_reply(ret_answer, 200, "X-Id: 7\r\n", "hello");
 *   }
 *   struct cv_test_server server; cv_test_server_start(&server, answer, &context); …
 *   cv_test_server_stop(&server);
 */
#ifndef CALVE_TESTS_SUPPORT_HTTP_SERVER_H
#define CALVE_TESTS_SUPPORT_HTTP_SERVER_H

#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

#define CV_TEST_CONNECTIONS_MAX 256
#define CV_TEST_BODY_BYTES_MAX  ((size_t)64 << 20)

struct cv_test_request {
    const char *head; /* request line and headers, terminated */
    const uint8_t *body;
    size_t body_length;
    int number;     /* of the server, from 1 */
    int connection; /* from 0 */
};

/* Nothing in `bytes` and not `hang`: 404. */
struct cv_test_answer {
    struct cv_buf bytes;
    bool hang;  /* send `bytes`, then nothing more until the client goes */
    bool close; /* send `bytes`, which may be none, then end the connection */
    bool reset; /* the same with RST */
};

struct cv_test_server {
    void (*answer)(struct cv_test_server *, const struct cv_test_request *,
                   struct cv_test_answer *);
    void *context;
    int listener;
    int port;
    pthread_t acceptor;
    pthread_mutex_t lock; /* of what follows; answer() is called without it */
    int requests;
    int connections; /* ever made */
    int sockets[CV_TEST_CONNECTIONS_MAX];
    pthread_t threads[CV_TEST_CONNECTIONS_MAX];
    char last[16384]; /* head of the last request */
};

struct cv_test_connection {
    struct cv_test_server *server;
    int number;
    int socket;
};

/* "GET /path" with a blank, "?" or the end behind it. */
static inline bool cv_test_is(const struct cv_test_request *request, const char *line)
{
    size_t length = strlen(line);

    return strncmp(request->head, line, length) == 0 && strchr(" ?", request->head[length]);
}

static inline bool cv_test_has(const struct cv_test_request *request, const char *text)
{
    return strstr(request->head, text) != NULL;
}

/* `headers`: whole lines with \r\n; NULL = none. */
static inline void cv_test_reply(struct cv_test_answer *answer, int status, const char *headers,
                                 const char *body)
{
    cv_buf_clear(&answer->bytes);
    cv_buf_printf(&answer->bytes, "HTTP/1.1 %d Status\r\nContent-Length: %zu\r\n%s\r\n%s", status,
                  strlen(body), headers ? headers : "", body);
}

/* Whether the last request's head had this text. */
static inline bool cv_test_server_saw(struct cv_test_server *server, const char *text)
{
    bool found;

    (void)pthread_mutex_lock(&server->lock);
    found = strstr(server->last, text) != NULL;
    (void)pthread_mutex_unlock(&server->lock);
    return found;
}

static inline int cv_test_server_requests(struct cv_test_server *server)
{
    int requests;

    (void)pthread_mutex_lock(&server->lock);
    requests = server->requests;
    (void)pthread_mutex_unlock(&server->lock);
    return requests;
}

static inline int cv_test_server_connections(struct cv_test_server *server)
{
    int connections;

    (void)pthread_mutex_lock(&server->lock);
    connections = server->connections;
    (void)pthread_mutex_unlock(&server->lock);
    return connections;
}

/* Reads one request into `buf`; the length of its head, 0 when the client went. */
static inline size_t cv_test_read_request(int from, struct cv_buf *buf, size_t *ret_body_length)
{
    size_t head = 0;
    size_t body = 0;

    cv_buf_clear(buf);
    while (head == 0 || buf->length < head + body) {
        char bytes[65536];
        size_t want = head ? CV_MIN(sizeof bytes, head + body - buf->length) : sizeof bytes;
        ssize_t got = recv(from, bytes, want, 0);
        const char *end;
        const char *length;

        if (got <= 0)
            return 0;
        cv_buf_append(buf, bytes, (size_t)got);
        if (head)
            continue;
        end = strstr(cv_buf_text(buf), "\r\n\r\n");
        if (!end)
            continue;
        head = (size_t)(end + 4 - (const char *)buf->data);
        length = strcasestr((const char *)buf->data, "\r\nContent-Length:");
        body = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
    }
    *ret_body_length = body;
    return head;
}

static inline void cv_test_send(int to, const struct cv_buf *bytes)
{
    for (size_t sent = 0; sent < bytes->length;) {
        ssize_t got = send(to, bytes->data + sent, bytes->length - sent, MSG_NOSIGNAL);

        if (got <= 0)
            return;
        sent += (size_t)got;
    }
}

/* False: the connection is to end. */
static inline bool cv_test_serve_one(struct cv_test_connection *connection, struct cv_buf *buf)
{
    struct cv_test_server *server = connection->server;
    struct cv_test_request request = {.connection = connection->number};
    struct cv_test_answer answer = {.bytes = CV_BUF_INIT(CV_TEST_BODY_BYTES_MAX)};
    struct linger at_once = {1, 0};
    size_t head = cv_test_read_request(connection->socket, buf, &request.body_length);
    char text[sizeof server->last];

    if (head == 0)
        return false;
    (void)snprintf(text, sizeof text, "%.*s", (int)head, (const char *)buf->data);
    (void)pthread_mutex_lock(&server->lock);
    request.number = ++server->requests;
    memcpy(server->last, text, sizeof text);
    (void)pthread_mutex_unlock(&server->lock);
    request.head = text;
    request.body = buf->data + head;
    server->answer(server, &request, &answer);
    if (answer.bytes.length == 0 && !answer.hang && !answer.close && !answer.reset)
        cv_test_reply(&answer, 404, NULL, "absent");
    cv_test_send(connection->socket, &answer.bytes);
    cv_buf_release(&answer.bytes);
    if (answer.hang)
        (void)recv(connection->socket, text, 1, 0);
    if (answer.reset)
        (void)setsockopt(connection->socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    return !answer.hang && !answer.close && !answer.reset;
}

static inline void *cv_test_serve(void *argument)
{
    struct cv_test_connection *connection = argument;
    struct cv_test_server *server = connection->server;
    struct cv_buf buf = CV_BUF_INIT(CV_TEST_BODY_BYTES_MAX);

    while (cv_test_serve_one(connection, &buf))
        ;
    cv_buf_release(&buf);
    (void)pthread_mutex_lock(&server->lock);
    server->sockets[connection->number] = -1;
    (void)pthread_mutex_unlock(&server->lock);
    (void)close(connection->socket);
    free(connection);
    return NULL;
}

static inline void *cv_test_accept(void *argument)
{
    struct cv_test_server *server = argument;

    for (;;) {
        struct cv_test_connection *connection;
        int got = accept(server->listener, NULL, NULL);

        if (got < 0)
            return NULL;
        connection = cv_alloc(sizeof *connection);
        (void)pthread_mutex_lock(&server->lock);
        assert_true(server->connections < CV_TEST_CONNECTIONS_MAX);
        *connection = (struct cv_test_connection){server, server->connections++, got};
        server->sockets[connection->number] = got;
        (void)pthread_create(&server->threads[connection->number], NULL, cv_test_serve, connection);
        (void)pthread_mutex_unlock(&server->lock);
    }
}

static inline void cv_test_server_start(struct cv_test_server *server,
                                        void (*answer)(struct cv_test_server *,
                                                       const struct cv_test_request *,
                                                       struct cv_test_answer *),
                                        void *context)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;

    memset(server, 0, sizeof *server);
    server->answer = answer;
    server->context = context;
    (void)pthread_mutex_init(&server->lock, NULL);
    server->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->listener, 64), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &length), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server->acceptor, NULL, cv_test_accept, server), 0);
}

static inline void cv_test_server_stop(struct cv_test_server *server)
{
    (void)shutdown(server->listener, SHUT_RDWR);
    (void)pthread_join(server->acceptor, NULL);
    (void)close(server->listener);
    (void)pthread_mutex_lock(&server->lock);
    for (int i = 0; i < server->connections; i++)
        if (server->sockets[i] >= 0)
            (void)shutdown(server->sockets[i], SHUT_RDWR);
    (void)pthread_mutex_unlock(&server->lock);
    for (int i = 0; i < server->connections; i++)
        (void)pthread_join(server->threads[i], NULL);
    (void)pthread_mutex_destroy(&server->lock);
}

#endif
