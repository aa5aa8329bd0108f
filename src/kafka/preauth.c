/* SPDX-License-Identifier: Apache-2.0
 *
 * The login by Kafka's protocol: SaslHandshake v1, then two SaslAuthenticate v0, each a frame of
 * length, header (api key, version, correlation id, client id) and body. It runs in librdkafka's
 * broker thread, once per connection, with a deadline. */
#include "kafka/preauth.h"

#include "base/time.h"
#include "kafka/scram.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOGIN_US              (10 * CV_US_PER_SECOND)
#define ANSWER_BYTES_MAX      ((size_t)64 << 10)
#define API_SASL_HANDSHAKE    17
#define API_SASL_AUTHENTICATE 36
#define FIXED_VERSION         0x020601ff /* librdkafka 2.6.1 */

bool cv_preauth_is_needed(void)
{
    return rd_kafka_version() < FIXED_VERSION;
}

void cv_preauth_init(struct cv_preauth *preauth)
{
    (void)pthread_mutex_init(&preauth->lock, NULL);
}

void cv_preauth_take(struct cv_preauth *preauth, struct cv_properties *client)
{
    const char *protocol = cv_properties_get_or(client, "security.protocol", "");
    const char *mechanism = cv_properties_get_or(client, "sasl.mechanisms", "");

    if (!cv_preauth_is_needed() || !cv_text_equal_nocase(protocol, "SASL_PLAINTEXT") ||
        strncasecmp(mechanism, "SCRAM-", 6) != 0)
        return;
    if (!preauth->mechanism) {
        preauth->mechanism = cv_strdup(mechanism);
        preauth->user = cv_strdup(cv_properties_get_or(client, "sasl.username", ""));
        preauth->password = cv_strdup(cv_properties_get_or(client, "sasl.password", ""));
    }
    cv_properties_set(client, "security.protocol", "PLAINTEXT");
    (void)cv_properties_remove(client, "sasl.mechanisms");
    (void)cv_properties_remove(client, "sasl.username");
    (void)cv_properties_remove(client, "sasl.password");
}

void cv_preauth_release(struct cv_preauth *preauth)
{
    (void)pthread_mutex_destroy(&preauth->lock);
    free(preauth->mechanism);
    free(preauth->user);
    free(preauth->password);
    memset(preauth, 0, sizeof *preauth);
}

bool cv_preauth_refused(struct cv_preauth *preauth, char *text, size_t size)
{
    bool refused;

    (void)pthread_mutex_lock(&preauth->lock);
    refused = preauth->failure[0] != '\0';
    if (refused)
        (void)snprintf(text, size, "%s", preauth->failure);
    (void)pthread_mutex_unlock(&preauth->lock);
    return refused;
}

static void note_failure(struct cv_preauth *preauth, const char *text)
{
    (void)pthread_mutex_lock(&preauth->lock);
    (void)snprintf(preauth->failure, sizeof preauth->failure, "%s", text);
    (void)pthread_mutex_unlock(&preauth->lock);
}

struct link {
    int fd;
    int64_t deadline_us;
    int32_t correlation;
};

static int wait_for(const struct link *link, short events)
{
    struct pollfd poller = {link->fd, events, 0};
    int64_t left = (link->deadline_us - cv_monotonic_us()) / CV_US_PER_MS;
    int count;

    if (left <= 0)
        return ETIMEDOUT;
    count = poll(&poller, 1, (int)left);
    if (count < 0)
        return errno == EINTR ? 0 : errno;
    return count == 0 ? ETIMEDOUT : 0;
}

static int move_bytes(const struct link *link, void *bytes, size_t length, bool out)
{
    size_t done = 0;

    while (done < length) {
        ssize_t count = out ? send(link->fd, (char *)bytes + done, length - done, MSG_NOSIGNAL)
                            : recv(link->fd, (char *)bytes + done, length - done, 0);
        int error;

        if (count > 0) {
            done += (size_t)count;
            continue;
        }
        if (count == 0)
            return ECONNRESET;
        if (errno != EAGAIN && errno != EINTR)
            return errno;
        error = wait_for(link, out ? POLLOUT : POLLIN);
        if (error)
            return error;
    }
    return 0;
}

static void put_number(struct cv_buf *out, uint32_t value, int bytes)
{
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        cv_buf_append_byte(out, (uint8_t)(value >> shift));
}

static uint32_t read_number(const uint8_t *at, int bytes)
{
    uint32_t value = 0;

    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

/* Sends one request and reads its answer without the correlation id. */
static int exchange(struct link *link, uint32_t api, uint32_t version, const struct cv_buf *body,
                    struct cv_buf *answer)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf frame = CV_BUF_INIT(ANSWER_BYTES_MAX);
    uint8_t head[4];
    uint32_t length;
    int error;

    put_number(&frame, (uint32_t)(2 + 2 + 4 + 2 + 5 + body->length), 4);
    put_number(&frame, api, 2);
    put_number(&frame, version, 2);
    put_number(&frame, (uint32_t)++link->correlation, 4);
    put_number(&frame, 5, 2);
    cv_buf_append(&frame, "calve", 5);
    cv_buf_append(&frame, body->data, body->length);
    error = frame.failed ? EMSGSIZE : move_bytes(link, frame.data, frame.length, true);
    if (!error)
        error = move_bytes(link, head, sizeof head, false);
    if (error)
        return error;
    length = read_number(head, 4);
    if (length < 4 + 2 || length > ANSWER_BYTES_MAX)
        return EPROTO;
    cv_buf_clear(answer);
    if (!cv_buf_reserve(answer, length))
        return EMSGSIZE;
    error = move_bytes(link, answer->data, length, false);
    if (error || read_number(answer->data, 4) != (uint32_t)link->correlation)
        return error ? error : EPROTO;
    answer->length = length - 4;
    memmove(answer->data, answer->data + 4, answer->length);
    return 0;
}

static int handshake(struct cv_preauth *preauth, struct link *link)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf body = CV_BUF_INIT(256);
    CV_CLEANUP(cv_buf_release) struct cv_buf answer = CV_BUF_INIT(ANSWER_BYTES_MAX);
    int error;

    put_number(&body, (uint32_t)strlen(preauth->mechanism), 2);
    cv_buf_append_text(&body, preauth->mechanism);
    error = exchange(link, API_SASL_HANDSHAKE, 1, &body, &answer);
    if (!error && read_number(answer.data, 2) != 0) {
        note_failure(preauth, "the broker does not offer this SASL mechanism");
        return EACCES;
    }
    return error;
}

/* One step of the login: the answer's error and message, then the mechanism's bytes. */
static int authenticate(struct cv_preauth *preauth, struct link *link, const struct cv_buf *message,
                        struct cv_buf *answer, struct cv_str *ret_bytes)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf body = CV_BUF_INIT(ANSWER_BYTES_MAX);
    size_t text = 0;
    int error;

    put_number(&body, (uint32_t)message->length, 4);
    cv_buf_append(&body, message->data, message->length);
    error = exchange(link, API_SASL_AUTHENTICATE, 0, &body, answer);
    if (error)
        return error;
    if (answer->length < 4)
        return EPROTO;
    if ((int16_t)read_number(answer->data + 2, 2) > 0)
        text = read_number(answer->data + 2, 2);
    if (answer->length < 4 + text + 4)
        return EPROTO;
    if (read_number(answer->data, 2) != 0) {
        char reason[200];

        (void)snprintf(reason, sizeof reason, "%.*s", (int)text, (const char *)answer->data + 4);
        note_failure(preauth, text ? reason : "the broker refused the login");
        return EACCES;
    }
    ret_bytes->ptr = (const char *)answer->data + 4 + text + 4;
    ret_bytes->length = answer->length - 4 - text - 4;
    return read_number(answer->data + 4 + text, 4) == ret_bytes->length ? 0 : EPROTO;
}

static int log_in(struct cv_preauth *preauth, struct link *link, struct cv_scram *scram)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf message = CV_BUF_INIT(ANSWER_BYTES_MAX);
    CV_CLEANUP(cv_buf_release) struct cv_buf answer = CV_BUF_INIT(ANSWER_BYTES_MAX);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_str bytes;
    int error = handshake(preauth, link);

    if (error)
        return error;
    cv_scram_client_first(scram, &message);
    error = authenticate(preauth, link, &message, &answer, &bytes);
    if (error)
        return error;
    cv_buf_clear(&message);
    if (cv_scram_client_final(scram, bytes, &message, &err) != CV_OK) {
        note_failure(preauth, err.message);
        return EACCES;
    }
    error = authenticate(preauth, link, &message, &answer, &bytes);
    if (error)
        return error;
    if (cv_scram_check_server_final(scram, bytes, &err) != CV_OK) {
        note_failure(preauth, err.message);
        return EACCES;
    }
    note_failure(preauth, "");
    return 0;
}

static int connect_socket(const struct link *link, const struct sockaddr *address, int length)
{
    socklen_t size = sizeof(int);
    int error = 0;

    if (connect(link->fd, address, (socklen_t)length) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    error = wait_for(link, POLLOUT);
    if (!error && getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        error = errno;
    return error;
}

int cv_preauth_connect(struct cv_preauth *preauth, int fd, const struct sockaddr *address,
                       int length)
{
    struct link link = {fd, cv_monotonic_us() + LOGIN_US, 0};
    struct cv_scram scram;
    int error = connect_socket(&link, address, length);

    if (error)
        return error;
    if (cv_scram_init(&scram, preauth->mechanism, preauth->user, preauth->password, NULL, NULL) !=
        CV_OK) {
        note_failure(preauth, "the SASL mechanism is not supported");
        return EACCES;
    }
    error = log_in(preauth, &link, &scram);
    cv_scram_release(&scram);
    return error;
}
