/* SPDX-License-Identifier: Apache-2.0
 *
 * The one error type of the program. A fallible function returns enum cv_code (0 = ok) and
 * takes a struct cv_error last. Reporting never allocates. A caller on the way up prepends
 * where it was ("topic orders[3]@1042: field ts: …"); only stream/ and cli/ print. */
#ifndef CALVE_BASE_ERROR_H
#define CALVE_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* name, text, exit status of the program when this ends it. A value never changes meaning. */
#define CV_CODE_LIST(X)                                                                            \
    X(OK, "ok", 0)                                                                                 \
    X(USAGE, "wrong usage", 2)                                                                     \
    X(CONFIG, "wrong configuration", 2)                                                            \
    X(LIMIT, "limit exceeded", 3)                                                                  \
    X(IO, "input/output error", 3)                                                                 \
    X(NOT_FOUND, "not found", 3)                                                                   \
    X(EXISTS, "exists already", 3)                                                                 \
    X(FORMAT, "malformed bytes", 3)                                                                \
    X(UNSUPPORTED, "not supported", 2)                                                             \
    X(SCHEMA, "incompatible schema", 2)                                                            \
    X(RECORD, "undecodable record", 3)                                                             \
    X(DATA_LOSS, "data loss", 3)                                                                   \
    X(KAFKA, "Kafka error", 3)                                                                     \
    X(REGISTRY, "schema registry error", 3)                                                        \
    X(AUTH, "not authorised", 3)                                                                   \
    X(CATALOG, "catalog error", 3)                                                                 \
    X(CONFLICT, "commit conflict", 3)                                                              \
    X(UNKNOWN, "commit state unknown", 3)                                                          \
    X(CONTRADICTION, "table and checkpoint disagree", 3)                                           \
    X(LOCKED, "in use by another process", 3)                                                      \
    X(TIMEOUT, "timed out", 3)                                                                     \
    X(CANCELLED, "cancelled", 3)                                                                   \
    X(FAULT, "injected fault", 3)                                                                  \
    X(INTERNAL, "internal error", 3)

/* On a type, which only clang knows: no call that returns a cv_code may be ignored unless (void)
 * says so. */
#ifdef __clang__
#define CV_MUST_USE __attribute__((warn_unused_result))
#else
#define CV_MUST_USE
#endif

enum CV_MUST_USE cv_code {
#define CV_CODE_ENUM(name, text, status) CV_##name,
    CV_CODE_LIST(CV_CODE_ENUM)
#undef CV_CODE_ENUM
};

enum cv_error_flag {
    CV_ERROR_RETRIABLE = 1, /* the same call may succeed later */
    CV_ERROR_UNSENT = 2,    /* the server cannot have got the request */
    CV_ERROR_LOST = 4,      /* an attempt before the one that failed may have been carried out */
};

#define CV_ERROR_MESSAGE_BYTES 2048
#define CV_ERROR_HINT_BYTES    512

/* Zero-initialise with CV_ERROR_INIT. Untouched by calls that succeed. Not shared by threads. */
struct cv_error {
    enum cv_code code;
    unsigned flags;
    char message[CV_ERROR_MESSAGE_BYTES]; /* what and where, one line, no final stop */
    char hint[CV_ERROR_HINT_BYTES];       /* what to do next; may be empty */
};

#define CV_ERROR_INIT                                                                              \
    {                                                                                              \
        CV_OK, 0, "", ""                                                                           \
    }
#define CV_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Sets the error and returns code. `err` may be NULL (the code alone is wanted). */
enum cv_code cv_fail(struct cv_error *err, enum cv_code code, const char *format, ...)
    CV_PRINTF(3, 4);
enum cv_code cv_failv(struct cv_error *err, enum cv_code code, const char *format, va_list args);

/* Says what to do next; the last call wins. */
void cv_hint(struct cv_error *err, const char *format, ...) CV_PRINTF(2, 3);

/* Puts "context: " before the message. */
void cv_context(struct cv_error *err, const char *format, ...) CV_PRINTF(2, 3);

void cv_error_clear(struct cv_error *err);
const char *cv_code_name(enum cv_code code);
const char *cv_code_text(enum cv_code code);
int cv_code_exit_status(enum cv_code code);

/* Return early on failure: CV_DO as is, CV_TRY with context for the reader of the message. */
#define CV_DO(expression)                                                                          \
    do {                                                                                           \
        enum cv_code cv_do_code_ = (expression);                                                   \
        if (cv_do_code_ != CV_OK)                                                                  \
            return cv_do_code_;                                                                    \
    } while (0)

#define CV_TRY(expression, err, ...)                                                               \
    do {                                                                                           \
        enum cv_code cv_try_code_ = (expression);                                                  \
        if (cv_try_code_ != CV_OK) {                                                               \
            cv_context((err), __VA_ARGS__);                                                        \
            return cv_try_code_;                                                                   \
        }                                                                                          \
    } while (0)

#endif
