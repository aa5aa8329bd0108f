/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two programs of the bench share: ending with a message, options of the form
 * `--name value`, and the settings that both give librdkafka. */
#ifndef CALVE_TESTS_BENCH_H
#define CALVE_TESTS_BENCH_H

#include <librdkafka/rdkafka.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BENCH_PRINTF(text, first) __attribute__((format(printf, text, first)))

static inline _Noreturn void bench_die(const char *format, ...) BENCH_PRINTF(1, 2);
static inline _Noreturn void bench_die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

/* The text after `--name`, or `otherwise`; NULL as `otherwise` makes the option a required one. */
static inline const char *bench_option(int argc, char **argv, const char *name,
                                       const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0)
            return argv[i + 1];
    }
    if (otherwise == NULL)
        bench_die("--%s is missing", name);
    return otherwise;
}

static inline int64_t bench_number(int argc, char **argv, const char *name, const char *otherwise)
{
    const char *text = bench_option(argc, argv, name, otherwise);
    char *end;
    long long number = strtoll(text, &end, 10);

    if (*end != '\0' || end == text || number < 0)
        bench_die("--%s: \"%s\" is no number", name, text);
    return number;
}

static inline void bench_set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char message[512];

    if (rd_kafka_conf_set(conf, name, value, message, sizeof message) != RD_KAFKA_CONF_OK)
        bench_die("%s", message);
}

static inline rd_kafka_t *bench_client(rd_kafka_type_t type, rd_kafka_conf_t *conf)
{
    char message[512];
    rd_kafka_t *client = rd_kafka_new(type, conf, message, sizeof message);

    if (client == NULL)
        bench_die("%s", message);
    return client;
}

#endif
