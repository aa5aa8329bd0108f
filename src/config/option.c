/* SPDX-License-Identifier: Apache-2.0
 *
 * Option tables: defaults, parsing with checks, and the nearest name for a typing error. */
#include "config/option.h"

#include "base/time.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#define DISTANCE_NAME_BYTES 64 /* longer names are compared by their beginning */

static const char *section_prefix(const struct cv_option_table *table, char text[64])
{
    if (!table->section[0])
        return "";
    (void)snprintf(text, 64, "%s.", table->section);
    return text;
}

static const struct cv_option *find_option(const struct cv_option_table *table, const char *key)
{
    const struct cv_option *prefix = NULL;

    for (size_t i = 0; i < table->count; i++) {
        const struct cv_option *option = &table->options[i];

        if (option->type == CV_OPTION_PREFIX) {
            size_t length = strlen(option->name);

            if (strncasecmp(key, option->name, length) == 0 && key[length])
                prefix = option;
        } else if (cv_text_equal_nocase(option->name, key)) {
            return option;
        }
    }
    return prefix;
}

/* Levenshtein distance of the names' first bytes, without regard to case. */
static size_t name_distance(const char *a, const char *b)
{
    size_t row[DISTANCE_NAME_BYTES + 1];
    size_t a_length = strnlen(a, DISTANCE_NAME_BYTES);
    size_t b_length = strnlen(b, DISTANCE_NAME_BYTES);

    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            size_t best = CV_MIN(CV_MIN(row[j], row[j - 1]) + 1, diagonal + !same);

            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[b_length];
}

const char *cv_nearest_name(const char *name, const char *(*name_at)(const void *, size_t),
                            const void *context, size_t count)
{
    const char *nearest = NULL;
    size_t nearest_distance = strlen(name) / 3 + 2;

    for (size_t i = 0; i < count; i++) {
        size_t distance = name_distance(name, name_at(context, i));

        if (distance < nearest_distance) {
            nearest = name_at(context, i);
            nearest_distance = distance;
        }
    }
    return nearest;
}

struct table_list {
    const struct cv_option_table *const *tables;
    size_t count;
};

static const char *option_name_at(const void *context, size_t i)
{
    const struct table_list *list = context;
    size_t t = 0;

    while (i >= list->tables[t]->count)
        i -= list->tables[t++]->count;
    return list->tables[t]->options[i].name;
}

static enum cv_code fail_unknown(const struct cv_option_table *const *tables, size_t count,
                                 const char *key, struct cv_error *err)
{
    const struct table_list list = {tables, count};
    const char *nearest;
    size_t names = 0;
    char prefix[64];

    for (size_t t = 0; t < count; t++)
        names += tables[t]->count;
    nearest = cv_nearest_name(key, option_name_at, &list, names);
    (void)cv_fail(err, CV_CONFIG, "unknown option %s%.200s", section_prefix(tables[0], prefix),
                  key);
    if (nearest)
        cv_hint(err, "did you mean %s%s? `calve config` lists every option",
                section_prefix(tables[0], prefix), nearest);
    else
        cv_hint(err, "`calve config` lists every option");
    return CV_CONFIG;
}

static enum cv_code fail_refused(const struct cv_option_table *table,
                                 const struct cv_option *option, struct cv_error *err)
{
    char prefix[64];

    return cv_fail(err, CV_CONFIG, "%s%s is not taken: %s", section_prefix(table, prefix),
                   option->name, option->help);
}

enum cv_code cv_options_find(const struct cv_option_table *const *tables, size_t count,
                             const char *key, size_t *ret_table, struct cv_error *err)
{
    for (size_t t = 0; t < count; t++) {
        const struct cv_option *option = find_option(tables[t], key);

        if (!option)
            continue;
        if (option->flags & CV_OPTION_REFUSED)
            return fail_refused(tables[t], option, err);
        *ret_table = t;
        return CV_OK;
    }
    return fail_unknown(tables, count, key, err);
}

enum cv_code cv_parse_bytes(const char *text, int64_t *ret_bytes, struct cv_error *err)
{
    static const char *const units[] = {"k", "m", "g", "t"};
    const char *c = text;
    struct cv_str digits;
    struct cv_str unit;
    int64_t bytes;

    while (isspace((unsigned char)*c))
        c++;
    digits.ptr = c;
    while (isdigit((unsigned char)*c))
        c++;
    digits.length = (size_t)(c - digits.ptr);
    unit = cv_str_trim(cv_str_from(c));
    if (!cv_parse_i64(digits, &bytes))
        goto malformed;
    if (unit.length && tolower((unsigned char)unit.ptr[unit.length - 1]) == 'b')
        unit.length--;
    if (unit.length == 2 && tolower((unsigned char)unit.ptr[1]) == 'i')
        unit.length--;
    if (unit.length == 0) {
        *ret_bytes = bytes;
        return CV_OK;
    }
    for (size_t i = 0; i < CV_ARRAY_LENGTH(units); i++)
        if (unit.length == 1 && tolower((unsigned char)unit.ptr[0]) == units[i][0] &&
            !__builtin_mul_overflow(bytes, INT64_C(1) << (10 * (i + 1)), &bytes)) {
            *ret_bytes = bytes;
            return CV_OK;
        }
malformed:
    (void)cv_fail(err, CV_CONFIG, "\"%.100s\" is not a size", text);
    cv_hint(err, "write a number of bytes, or a number and KiB, MiB or GiB");
    return CV_CONFIG;
}

static enum cv_code parse_bool(const char *value, bool *ret_value, struct cv_error *err)
{
    if (cv_text_equal_nocase(value, "true"))
        *ret_value = true;
    else if (cv_text_equal_nocase(value, "false"))
        *ret_value = false;
    else
        return cv_fail(err, CV_CONFIG, "\"%.100s\" is neither true nor false", value);
    return CV_OK;
}

static enum cv_code parse_number(const struct cv_option *option, const char *value,
                                 int64_t *ret_value, struct cv_error *err)
{
    int64_t number = 0;
    int64_t max = option->max ? option->max : INT64_MAX;

    if (option->type == CV_OPTION_BYTES)
        CV_DO(cv_parse_bytes(value, &number, err));
    else if (option->type == CV_OPTION_DURATION)
        CV_DO(cv_parse_duration(value, CV_US_PER_MS, &number, err));
    else if (!cv_parse_i64(cv_str_trim(cv_str_from(value)), &number))
        return cv_fail(err, CV_CONFIG, "\"%.100s\" is not an integer", value);
    if (number < option->min || number > max)
        return cv_fail(err, CV_CONFIG, "%.100s is outside %lld … %lld", value,
                       (long long)option->min, (long long)max);
    *ret_value = number;
    return CV_OK;
}

static enum cv_code parse_choice(const struct cv_option *option, const char *value, int *ret_index,
                                 struct cv_error *err)
{
    int index = 0;

    for (const char *choice = option->choices; *choice; index++) {
        size_t length = strcspn(choice, "|");

        if (strlen(value) == length && strncasecmp(choice, value, length) == 0) {
            *ret_index = index;
            return CV_OK;
        }
        choice += length + (choice[length] == '|');
    }
    return cv_fail(err, CV_CONFIG, "\"%.100s\" is none of %s", value, option->choices);
}

static enum cv_code store_value(const struct cv_option *option, void *target,
                                struct cv_arena *arena, const char *key, const char *value,
                                struct cv_error *err)
{
    void *slot = (char *)target + option->offset;

    switch (option->type) {
    case CV_OPTION_BOOL:
        return parse_bool(value, slot, err);
    case CV_OPTION_INTEGER:
    case CV_OPTION_BYTES:
    case CV_OPTION_DURATION:
        return parse_number(option, value, slot, err);
    case CV_OPTION_CHOICE:
        return parse_choice(option, value, slot, err);
    case CV_OPTION_TEXT:
        *(const char **)slot = cv_arena_strdup(arena, value);
        return CV_OK;
    case CV_OPTION_PREFIX:
        cv_properties_set(slot, key + strlen(option->name), value);
        return CV_OK;
    case CV_OPTION_ACCEPTED:
        return CV_OK;
    }
    return cv_fail(err, CV_INTERNAL, "option %s has no type", option->name);
}

enum cv_code cv_options_defaults(const struct cv_option_table *table, void *target,
                                 struct cv_arena *arena, struct cv_error *err)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct cv_option *option = &table->options[i];

        if (option->default_text && option->type != CV_OPTION_ACCEPTED &&
            !(option->flags & CV_OPTION_REFUSED))
            CV_TRY(store_value(option, target, arena, option->name, option->default_text, err), err,
                   "default of %s", option->name);
    }
    return CV_OK;
}

enum cv_code cv_options_set(const struct cv_option_table *table, void *target,
                            struct cv_arena *arena, const char *key, const char *value,
                            struct cv_error *err)
{
    const struct cv_option *option = find_option(table, key);
    char prefix[64];

    if (!option)
        return fail_unknown(&table, 1, key, err);
    if (option->flags & CV_OPTION_REFUSED)
        return fail_refused(table, option, err);
    CV_TRY(store_value(option, target, arena, key, value, err), err, "%s%s",
           section_prefix(table, prefix), option->name);
    return CV_OK;
}

enum cv_code cv_options_check_required(const struct cv_option_table *table, const void *target,
                                       struct cv_error *err)
{
    char prefix[64];

    for (size_t i = 0; i < table->count; i++) {
        const struct cv_option *option = &table->options[i];

        if (!(option->flags & CV_OPTION_REQUIRED) || option->type != CV_OPTION_TEXT)
            continue;
        if (!*(const char *const *)((const char *)target + option->offset)) {
            (void)cv_fail(err, CV_CONFIG, "%s%s is missing", section_prefix(table, prefix),
                          option->name);
            cv_hint(err, "%s", option->help);
            return CV_CONFIG;
        }
    }
    return CV_OK;
}
