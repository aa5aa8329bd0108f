/* SPDX-License-Identifier: Apache-2.0
 *
 * Command-line arguments. */
#include "cli/command.h"

#include "config/option.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct flag_list {
    const struct cv_flag *flags;
    size_t count;
};

static bool same_name(const char *flag, const char *given, size_t given_length)
{
    if (strlen(flag) != given_length)
        return false;
    for (size_t i = 0; i < given_length; i++) {
        char c = given[i] == '_' ? '-' : given[i];

        if (flag[i] != c)
            return false;
    }
    return true;
}

static const char *flag_name_at(const void *context, size_t i)
{
    return ((const struct flag_list *)context)->flags[i].name;
}

static const struct cv_flag *find_flag(const struct flag_list *list, const char *name,
                                       size_t length, struct cv_error *err)
{
    const char *nearest;
    char given[64];

    for (size_t i = 0; i < list->count; i++)
        if (same_name(list->flags[i].name, name, length))
            return &list->flags[i];
    (void)snprintf(given, sizeof given, "%.*s", (int)length, name);
    (void)cv_fail(err, CV_USAGE, "there is no flag --%s here", given);
    nearest = cv_nearest_name(given, flag_name_at, list, list->count);
    if (nearest)
        cv_hint(err, "did you mean --%s?", nearest);
    else
        cv_hint(err, "--help lists the flags");
    return NULL;
}

static enum cv_code store_flag(const struct cv_flag *flag, const char *value, void *target,
                               struct cv_error *err)
{
    void *slot = (char *)target + flag->offset;
    struct cv_text_list *list = slot;

    switch (flag->type) {
    case CV_FLAG_BOOL:
        if (value && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            return cv_fail(err, CV_USAGE, "--%s is true or false, not \"%s\"", flag->name, value);
        *(bool *)slot = !value || strcmp(value, "true") == 0;
        return CV_OK;
    case CV_FLAG_SWITCH:
        *(const char **)slot = value ? value : "true";
        return CV_OK;
    case CV_FLAG_TEXT:
        *(const char **)slot = value;
        return CV_OK;
    case CV_FLAG_INTEGER:
        if (!cv_parse_i64(cv_str_from(value), slot))
            return cv_fail(err, CV_USAGE, "--%s takes an integer, not \"%s\"", flag->name, value);
        return CV_OK;
    case CV_FLAG_LIST:
        if (list->count == CV_ARRAY_LENGTH(list->items))
            return cv_fail(err, CV_USAGE, "--%s is given too often", flag->name);
        list->items[list->count++] = value;
        return CV_OK;
    }
    return CV_OK;
}

enum cv_code cv_args_parse(const struct cv_flag *flags, size_t flag_count, int argc, char **argv,
                           void *target, struct cv_text_list *words, struct cv_error *err)
{
    const struct flag_list list = {flags, flag_count};
    bool only_words = false;

    for (int i = 0; i < argc; i++) {
        const char *argument = argv[i];
        const char *name = argument + 1 + (argument[0] == '-' && argument[1] == '-');
        const char *equals = strchr(argument, '=');
        const struct cv_flag *flag;
        const char *value = equals ? equals + 1 : NULL;

        if (!only_words && strcmp(argument, "--") == 0) {
            only_words = true;
            continue;
        }
        if (only_words || argument[0] != '-' || !argument[1]) {
            if (words->count == CV_ARRAY_LENGTH(words->items))
                return cv_fail(err, CV_USAGE, "too many arguments");
            words->items[words->count++] = argument;
            continue;
        }
        if (argument[1] != '-') /* -o key=value: the sign belongs to the value */
            value = NULL, equals = NULL;
        flag = find_flag(&list, name, equals ? (size_t)(equals - name) : strlen(name), err);
        if (!flag)
            return CV_USAGE;
        if (flag->type != CV_FLAG_BOOL && flag->type != CV_FLAG_SWITCH && !value) {
            if (i + 1 == argc)
                return cv_fail(err, CV_USAGE, "--%s wants a value", flag->name);
            value = argv[++i];
        }
        CV_DO(store_flag(flag, value, target, err));
    }
    return CV_OK;
}

bool cv_terminal(void)
{
    return isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
}

enum cv_code cv_args_properties(const struct cv_text_list *list, const char *flag,
                                struct cv_properties *properties, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;

    for (size_t i = 0; i < list->count; i++) {
        const char *equals = strchr(list->items[i], '=');

        if (!equals || equals == list->items[i])
            return cv_fail(err, CV_USAGE, "%s %s is not key=value", flag, list->items[i]);
        cv_properties_set(
            properties, cv_arena_strndup(&arena, list->items[i], (size_t)(equals - list->items[i])),
            equals + 1);
    }
    return CV_OK;
}
