/* SPDX-License-Identifier: Apache-2.0
 *
 * A schema registry of a few answers, in a thread of the test: one connection per request. */
#ifndef CALVE_TESTS_REGISTRY_SERVER_H
#define CALVE_TESTS_REGISTRY_SERVER_H

#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#define ANSWERS_MAX 16

struct registry_server {
    int listener;
    int port;
    char url[64];
    pthread_t thread;
    pthread_mutex_t lock;
    struct {
        const char *path;
        int status;
        const char *body;
        int count; /* of requests */
    } answers[ANSWERS_MAX];
    size_t answer_count;
    atomic_int outage; /* so many requests get outage_status (0 = the connection is cut) */
    int outage_status;
    const char *wants_auth; /* a line that the request must hold; else 401 */
    atomic_int requests;
};

static inline void registry_answer(struct registry_server *s, const char *path, int status,
                                   const char *body)
{
    s->answers[s->answer_count].path = path;
    s->answers[s->answer_count].status = status;
    s->answers[s->answer_count++].body = body;
}

static inline void registry_reply(int connection, int status, const char *body)
{
    char head[256];

    (void)snprintf(head, sizeof head,
                   "HTTP/1.1 %d x\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                   "Connection: close\r\n\r\n",
                   status, strlen(body));
    (void)!write(connection, head, strlen(head));
    (void)!write(connection, body, strlen(body));
}

static inline void registry_serve(struct registry_server *s, int connection)
{
    char request[8192];
    size_t length = 0;
    char path[1024];

    while (length < sizeof request - 1) {
        ssize_t got = read(connection, request + length, sizeof request - 1 - length);

        if (got <= 0)
            return;
        length += (size_t)got;
        request[length] = '\0';
        if (strstr(request, "\r\n\r\n"))
            break;
    }
    atomic_fetch_add(&s->requests, 1);
    if (atomic_load(&s->outage) > 0) {
        atomic_fetch_sub(&s->outage, 1);
        if (s->outage_status)
            registry_reply(connection, s->outage_status, "{\"error_code\":50001}");
        return;
    }
    if (s->wants_auth && !strstr(request, s->wants_auth)) {
        registry_reply(connection, 401, "{\"error_code\":401,\"message\":\"Unauthorized\"}");
        return;
    }
    if (sscanf(request, "GET %1023s", path) != 1)
        return;
    for (size_t i = 0; i < s->answer_count; i++) {
        if (strcmp(s->answers[i].path, path) == 0) {
            s->answers[i].count++;
            registry_reply(connection, s->answers[i].status, s->answers[i].body);
            return;
        }
    }
    registry_reply(connection, 404, "{\"error_code\":40403,\"message\":\"Schema not found\"}");
}

static inline void *registry_main(void *context)
{
    struct registry_server *s = context;

    for (;;) {
        int connection = accept(s->listener, NULL, NULL);

        if (connection < 0)
            return NULL;
        registry_serve(s, connection);
        (void)shutdown(connection, SHUT_RDWR);
        (void)close(connection);
    }
}

static inline void registry_start(struct registry_server *s)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;

    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(s->listener, 16), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&address, &size), 0);
    s->port = ntohs(address.sin_port);
    (void)snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d", s->port);
    assert_int_equal(pthread_create(&s->thread, NULL, registry_main, s), 0);
}

static inline void registry_stop(struct registry_server *s)
{
    (void)shutdown(s->listener, SHUT_RDWR);
    (void)pthread_join(s->thread, NULL);
    (void)close(s->listener);
}

#endif
