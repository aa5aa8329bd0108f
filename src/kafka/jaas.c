/* SPDX-License-Identifier: Apache-2.0
 *
 * sasl.jaas.config: "<login module> required username="…" password="…";" as the Java client reads
 * it. Only user name and password leave this file; messages never show them. */
#include "kafka/client_config.h"

#include <ctype.h>

struct scanner {
    const char *c;
    struct cv_arena *arena;
};

static void skip_blanks(struct scanner *s)
{
    while (isspace((unsigned char)*s->c))
        s->c++;
}

static char unescape(char c)
{
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    default:
        return c;
    }
}

/* A quoted text with backslash escapes; NULL when the closing quote is missing. */
static const char *scan_quoted(struct scanner *s)
{
    char quote = *s->c++;
    char *text = cv_arena_alloc(s->arena, strlen(s->c) + 1);
    size_t length = 0;

    while (*s->c && *s->c != quote) {
        if (*s->c == '\\' && s->c[1]) {
            text[length++] = unescape(s->c[1]);
            s->c += 2;
        } else {
            text[length++] = *s->c++;
        }
    }
    if (*s->c != quote)
        return NULL;
    s->c++;
    text[length] = '\0';
    return text;
}

/* A word or a quoted text; NULL at the end or when malformed. */
static const char *scan_token(struct scanner *s)
{
    const char *begin;

    skip_blanks(s);
    if (*s->c == '"' || *s->c == '\'')
        return scan_quoted(s);
    begin = s->c;
    while (*s->c && !isspace((unsigned char)*s->c) && *s->c != '=' && *s->c != ';')
        s->c++;
    return s->c == begin ? NULL : cv_arena_strndup(s->arena, begin, (size_t)(s->c - begin));
}

static enum cv_code fail_syntax(struct cv_error *err)
{
    (void)cv_fail(err, CV_CONFIG, "kafka.sasl.jaas.config is malformed (its text is not shown)");
    cv_hint(err, "org.apache.kafka.common.security.plain.PlainLoginModule required "
                 "username=\"…\" password=\"…\";");
    return CV_CONFIG;
}

static enum cv_code check_module(const char *module, struct cv_error *err)
{
    if (cv_text_ends_with(module, ".PlainLoginModule") ||
        cv_text_ends_with(module, ".ScramLoginModule"))
        return CV_OK;
    (void)cv_fail(err, CV_UNSUPPORTED,
                  "kafka.sasl.jaas.config: login module %.120s is not supported", module);
    cv_hint(err,
            "PlainLoginModule and ScramLoginModule are; OAuthBearer and Kerberos logins are not");
    return CV_UNSUPPORTED;
}

enum cv_code cv_jaas_parse(const char *text, struct cv_arena *arena, const char **ret_user,
                           const char **ret_password, struct cv_error *err)
{
    struct scanner s = {text, arena};
    const char *module = scan_token(&s);
    const char *control = module ? scan_token(&s) : NULL;
    const char *user = NULL;
    const char *password = NULL;

    if (!control)
        return fail_syntax(err);
    CV_DO(check_module(module, err));
    for (;;) {
        const char *key;
        const char *value;

        skip_blanks(&s);
        if (*s.c == ';' || *s.c == '\0')
            break;
        key = scan_token(&s);
        skip_blanks(&s);
        if (!key || *s.c++ != '=')
            return fail_syntax(err);
        value = scan_token(&s);
        if (!value)
            return fail_syntax(err);
        if (strcmp(key, "username") == 0)
            user = value;
        else if (strcmp(key, "password") == 0)
            password = value;
    }
    if (!user || !password)
        return cv_fail(err, CV_CONFIG, "kafka.sasl.jaas.config lacks %s",
                       user ? "password" : "username");
    *ret_user = user;
    *ret_password = password;
    return CV_OK;
}
