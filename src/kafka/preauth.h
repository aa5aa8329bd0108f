/* SPDX-License-Identifier: Apache-2.0
 *
 * SCRAM logins that librdkafka cannot do. Its releases before 2.6.1 repeat the client's nonce in
 * the last message, which brokers refuse that compare it exactly (Kafka 4). On a SASL_PLAINTEXT
 * listener the login can be done before librdkafka gets the connection: it is then a plain one. */
#ifndef CALVE_KAFKA_PREAUTH_H
#define CALVE_KAFKA_PREAUTH_H

#include "base/properties.h"

#include <librdkafka/rdkafka.h>

#include <pthread.h>

struct cv_preauth {
    pthread_mutex_t lock; /* librdkafka's threads connect, the batch thread asks */
    char *mechanism;      /* NULL: not in use */
    char *user;
    char *password;
    char failure[256]; /* of the last login that a broker refused; "" = none */
};

void cv_preauth_init(struct cv_preauth *preauth);
void cv_preauth_release(struct cv_preauth *preauth);
/* Takes over if the settings ask for SCRAM without TLS and the library needs it: `mechanism` is set
 * and `client` becomes a plain connection. */
void cv_preauth_take(struct cv_preauth *preauth, struct cv_properties *client);
/* Connects the socket and logs in; 0 or an errno value. */
int cv_preauth_connect(struct cv_preauth *preauth, int fd, const struct sockaddr *address,
                       int length);
/* True if a broker refused the login; copies what it said. */
bool cv_preauth_refused(struct cv_preauth *preauth, char *text, size_t size);
/* True for a library that cannot log in by SCRAM at brokers of Kafka 4. */
bool cv_preauth_is_needed(void);

#endif
