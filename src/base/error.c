/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors: filling, prefixing, and the texts of the codes. */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    const char *text;
    int exit_status;
} codes[] = {
#define CV_CODE_ROW(name, text, status) {#name, text, status},
    CV_CODE_LIST(CV_CODE_ROW)
#undef CV_CODE_ROW
};

static bool code_known(enum cv_code code)
{
    return (size_t)code < sizeof codes / sizeof codes[0];
}

enum cv_code cv_failv(struct cv_error *err, enum cv_code code, const char *format, va_list args)
{
    if (!err)
        return code;
    err->code = code;
    err->flags = 0;
    err->hint[0] = '\0';
    (void)vsnprintf(err->message, sizeof err->message, format, args);
    return code;
}

enum cv_code cv_fail(struct cv_error *err, enum cv_code code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)cv_failv(err, code, format, args);
    va_end(args);
    return code;
}

void cv_hint(struct cv_error *err, const char *format, ...)
{
    va_list args;

    if (!err)
        return;
    va_start(args, format);
    (void)vsnprintf(err->hint, sizeof err->hint, format, args);
    va_end(args);
}

void cv_context(struct cv_error *err, const char *format, ...)
{
    char prefix[CV_ERROR_MESSAGE_BYTES / 2];
    size_t prefix_len;
    size_t message_len;
    va_list args;

    if (!err)
        return;
    va_start(args, format);
    (void)vsnprintf(prefix, sizeof prefix - 2, format, args);
    va_end(args);
    strcat(prefix, ": ");
    prefix_len = strlen(prefix);
    message_len = strlen(err->message);
    if (message_len > sizeof err->message - prefix_len - 1)
        message_len = sizeof err->message - prefix_len - 1;
    memmove(err->message + prefix_len, err->message, message_len);
    err->message[prefix_len + message_len] = '\0';
    memcpy(err->message, prefix, prefix_len);
}

void cv_error_clear(struct cv_error *err)
{
    if (!err)
        return;
    err->code = CV_OK;
    err->flags = 0;
    err->message[0] = '\0';
    err->hint[0] = '\0';
}

const char *cv_code_name(enum cv_code code)
{
    return code_known(code) ? codes[code].name : "UNKNOWN_CODE";
}

const char *cv_code_text(enum cv_code code)
{
    return code_known(code) ? codes[code].text : "unknown code";
}

int cv_code_exit_status(enum cv_code code)
{
    return code_known(code) ? codes[code].exit_status : 3;
}
