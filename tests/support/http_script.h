/* SPDX-License-Identifier: Apache-2.0
 *
 * An HTTP server in a thread that answers by rules and keeps what it was asked. The first rule that
 * matches and is not used up answers; without one it is 404. Connections are kept alive.
 *
 *   script_rule(&server, (struct script_rule){"GET /b/k ", 200, .body = "hello"});
 */
#ifndef CALVE_TESTS_SUPPORT_HTTP_SCRIPT_H
#define CALVE_TESTS_SUPPORT_HTTP_SCRIPT_H

#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#define SCRIPT_RULES_MAX       64
#define SCRIPT_REQUESTS_MAX    256
#define SCRIPT_CONNECTIONS_MAX 64

enum script_how {
    SCRIPT_ANSWER,
    SCRIPT_DROP, /* closes the connection without a word */
    SCRIPT_CUT,  /* sends half of the body and closes */
    SCRIPT_HOLD, /* never answers */
};

struct script_rule {
    const char *match; /* how the request's head begins, or after '*' a text that it has */
    int status;
    const char *body;
    const char *headers; /* more of them, each with "\r\n" */
    enum script_how how;
    int times; /* 0 = always */
    int used;
};

struct script_request {
    char *head; /* "GET /b/k HTTP/1.1\r\nHost: …" */
    struct cv_buf body;
};

struct script_server {
    int listener;
    int port;
    int connections[SCRIPT_CONNECTIONS_MAX];
    size_t connection_count;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    struct script_rule rules[SCRIPT_RULES_MAX];
    size_t rule_count;
    struct script_request requests[SCRIPT_REQUESTS_MAX];
    size_t request_count;
};

static inline bool script_matches(const char *head, const char *match)
{
    return *match == '*' ? strstr(head, match + 1) != NULL
                         : strncmp(head, match, strlen(match)) == 0;
}

static inline struct script_rule script_choose(struct script_server *server, const char *head)
{
    for (size_t i = 0; i < server->rule_count; i++) {
        struct script_rule *rule = &server->rules[i];

        if ((rule->times == 0 || rule->used < rule->times) && script_matches(head, rule->match)) {
            rule->used++;
            return *rule;
        }
    }
    return (struct script_rule){"", 404, .body = "no rule"};
}

/* Reads one request; false when the connection ended. */
static inline bool script_receive(int connection, struct script_request *request)
{
    struct cv_buf all = CV_BUF_INIT(0);
    const char *end = NULL;
    const char *length_at;
    size_t head;
    size_t length = 0;

    while (!end) {
        ssize_t got;

        cv_buf_reserve(&all, 65536);
        got = recv(connection, all.data + all.length, 65536, 0);
        if (got <= 0) {
            cv_buf_release(&all);
            return false;
        }
        all.length += (size_t)got;
        end = memmem(all.data, all.length, "\r\n\r\n", 4);
    }
    head = (size_t)(end - (const char *)all.data) + 4;
    request->head = strndup((const char *)all.data, head);
    length_at = strcasestr(request->head, "\r\ncontent-length:");
    if (length_at)
        length = strtoul(length_at + 17, NULL, 10);
    request->body = (struct cv_buf)CV_BUF_INIT(0);
    cv_buf_append(&request->body, all.data + head, all.length - head);
    cv_buf_release(&all);
    while (request->body.length < length) {
        ssize_t got;

        cv_buf_reserve(&request->body, length - request->body.length);
        got = recv(connection, request->body.data + request->body.length,
                   length - request->body.length, 0);
        if (got <= 0)
            return false;
        request->body.length += (size_t)got;
    }
    return true;
}

/* False: the connection is to be closed. */
static inline bool script_answer(int connection, const struct script_rule *rule, bool is_head)
{
    struct cv_buf out = CV_BUF_INIT(0);
    const char *body = rule->body ? rule->body : "";
    bool told = rule->headers && strcasestr(rule->headers, "content-length:");
    size_t length;

    if (rule->how == SCRIPT_DROP)
        return false;
    if (rule->how == SCRIPT_HOLD)
        return true;
    cv_buf_printf(&out, "HTTP/1.1 %d Status\r\n%s", rule->status,
                  rule->headers ? rule->headers : "");
    if (!told)
        cv_buf_printf(&out, "Content-Length: %zu\r\n", strlen(body));
    cv_buf_append_text(&out, "\r\n");
    length = is_head ? 0 : strlen(body);
    cv_buf_append(&out, body, rule->how == SCRIPT_CUT ? length / 2 : length);
    (void)send(connection, out.data, out.length, MSG_NOSIGNAL);
    cv_buf_release(&out);
    return rule->how != SCRIPT_CUT;
}

static inline bool script_serve_one(struct script_server *server, int connection)
{
    struct script_request request = {0};
    struct script_rule rule;
    bool is_head;

    if (!script_receive(connection, &request)) {
        free(request.head);
        cv_buf_release(&request.body);
        return false;
    }
    is_head = strncmp(request.head, "HEAD ", 5) == 0;
    (void)pthread_mutex_lock(&server->lock);
    rule = script_choose(server, request.head);
    if (server->request_count < SCRIPT_REQUESTS_MAX) {
        server->requests[server->request_count++] = request;
    } else {
        free(request.head);
        cv_buf_release(&request.body);
    }
    (void)pthread_mutex_unlock(&server->lock);
    return script_answer(connection, &rule, is_head);
}

static inline void *script_serve(void *context)
{
    struct script_server *server = context;
    struct pollfd polled[SCRIPT_CONNECTIONS_MAX + 1];

    for (;;) {
        const size_t count = server->connection_count;
        size_t kept = 0;

        polled[count] = (struct pollfd){server->listener, POLLIN, 0};
        for (size_t i = 0; i < count; i++)
            polled[i] = (struct pollfd){server->connections[i], POLLIN, 0};
        (void)poll(polled, (nfds_t)count + 1, -1);
        for (size_t i = 0; i < count; i++) {
            if (polled[i].revents && !script_serve_one(server, polled[i].fd))
                (void)close(polled[i].fd);
            else
                server->connections[kept++] = polled[i].fd;
        }
        server->connection_count = kept;
        if (polled[count].revents) {
            int connection = accept(server->listener, NULL, NULL);
            int on = 1;

            if (connection < 0)
                return NULL;
            (void)setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            server->connections[server->connection_count++] = connection;
        }
    }
}

static inline void script_start(struct script_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;

    *server = (struct script_server){.listener = socket(AF_INET, SOCK_STREAM, 0)};
    (void)pthread_mutex_init(&server->lock, NULL);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->listener, 64), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &length), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, script_serve, server), 0);
}

/* Forgets rules and requests. */
static inline void script_reset(struct script_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < server->request_count; i++) {
        free(server->requests[i].head);
        cv_buf_release(&server->requests[i].body);
    }
    server->request_count = 0;
    server->rule_count = 0;
    (void)pthread_mutex_unlock(&server->lock);
}

static inline void script_stop(struct script_server *server)
{
    (void)shutdown(server->listener, SHUT_RDWR);
    (void)pthread_join(server->thread, NULL);
    for (size_t i = 0; i < server->connection_count; i++)
        (void)close(server->connections[i]);
    (void)close(server->listener);
    script_reset(server);
    (void)pthread_mutex_destroy(&server->lock);
}

static inline void script_rule(struct script_server *server, struct script_rule rule)
{
    (void)pthread_mutex_lock(&server->lock);
    assert_true(server->rule_count < SCRIPT_RULES_MAX);
    server->rules[server->rule_count++] = rule;
    (void)pthread_mutex_unlock(&server->lock);
}

static inline size_t script_total(struct script_server *server)
{
    size_t count;

    (void)pthread_mutex_lock(&server->lock);
    count = server->request_count;
    (void)pthread_mutex_unlock(&server->lock);
    return count;
}

/* How many requests matched; only when nothing is under way. */
static inline size_t script_count(struct script_server *server, const char *match)
{
    size_t count = 0;

    (void)pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < server->request_count; i++)
        count += script_matches(server->requests[i].head, match);
    (void)pthread_mutex_unlock(&server->lock);
    return count;
}

/* The nth request that matched, from 0; lives until script_reset(). */
static inline const struct script_request *script_get(struct script_server *server,
                                                      const char *match, size_t nth)
{
    const struct script_request *found = NULL;

    (void)pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < server->request_count && !found; i++)
        if (script_matches(server->requests[i].head, match) && nth-- == 0)
            found = &server->requests[i];
    (void)pthread_mutex_unlock(&server->lock);
    if (!found)
        fail_msg("no request %s", match);
    return found;
}

#endif
