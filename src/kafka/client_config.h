/* SPDX-License-Identifier: Apache-2.0
 *
 * kafka.* settings: names of the Java client translated into those of librdkafka. */
#ifndef CALVE_KAFKA_CLIENT_CONFIG_H
#define CALVE_KAFKA_CLIENT_CONFIG_H

#include "kafka/source.h"

enum cv_client_action {
    CV_CLIENT_PASS,   /* librdkafka has it, under `name` */
    CV_CLIENT_TUNING, /* tunes the Java client only: accepted with a warning */
    CV_CLIENT_REFUSE, /* `help` says why and what to write instead */
    CV_CLIENT_OWN,    /* read by client_config.c itself */
};

struct cv_client_name {
    const char *java;
    const char *name;
    enum cv_client_action action;
    const char *help;
    bool secret;
};

extern const struct cv_client_name cv_client_names[];
extern const size_t cv_client_name_count;

/* Every problem of the settings at once. */
enum cv_code cv_client_config_check(const struct cv_properties *kafka,
                                    void (*warn)(void *context, const char *message), void *context,
                                    struct cv_error *err);

/* The settings as librdkafka knows them; call after the check. Values may be secret. */
enum cv_code cv_client_config_translate(const struct cv_properties *kafka,
                                        struct cv_properties *ret_client, struct cv_error *err);
bool cv_client_name_is_secret(const char *name);

/* User name and password of sasl.jaas.config for PLAIN and SCRAM. */
enum cv_code cv_jaas_parse(const char *text, struct cv_arena *arena, const char **ret_user,
                           const char **ret_password, struct cv_error *err);

#endif
