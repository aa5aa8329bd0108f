/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys of locations. */
#include "maintain/location_key.h"

#include <ctype.h>
#include <stdio.h>

static enum cv_code read_map(const char *argument, const char *text, struct cv_properties *map,
                             struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    size_t entry_count;
    char **entries = cv_split(&arena, text, ';', &entry_count);

    for (size_t i = 0; i < entry_count; i++) {
        char *equals = strchr(entries[i], '=');
        size_t count;
        char **names;
        struct cv_str target;

        if (!equals || !equals[1])
            return cv_fail(err, CV_USAGE, "%s: \"%.100s\" is not a,b=c", argument, entries[i]);
        *equals = '\0';
        target = cv_str_trim(cv_str_from(equals + 1));
        names = cv_split(&arena, entries[i], ',', &count);
        for (size_t k = 0; k < count; k++)
            cv_properties_set(map, names[k], cv_arena_strndup(&arena, target.ptr, target.length));
    }
    return CV_OK;
}

enum cv_code cv_location_rules_read(const char *equal_schemes, const char *equal_authorities,
                                    struct cv_location_rules *ret_rules, struct cv_error *err)
{
    struct cv_location_rules rules = {{0}, {0}};
    enum cv_code code = read_map("equal_schemes", "s3n,s3a=s3", &rules.schemes, err);

    if (code == CV_OK && equal_schemes)
        code = read_map("equal_schemes", equal_schemes, &rules.schemes, err);
    if (code == CV_OK && equal_authorities)
        code = read_map("equal_authorities", equal_authorities, &rules.authorities, err);
    if (code != CV_OK) {
        cv_location_rules_release(&rules);
        return code;
    }
    *ret_rules = rules;
    return CV_OK;
}

void cv_location_rules_release(struct cv_location_rules *rules)
{
    cv_properties_release(&rules->schemes);
    cv_properties_release(&rules->authorities);
}

static struct cv_str scheme_of(struct cv_str location)
{
    size_t length = 0;

    while (length < location.length &&
           (isalnum((unsigned char)location.ptr[length]) || location.ptr[length] == '+' ||
            location.ptr[length] == '-' || location.ptr[length] == '.'))
        length++;
    if (length == location.length || location.ptr[length] != ':')
        length = 0;
    return (struct cv_str){location.ptr, length};
}

/* The text or what it stands for. */
static const char *equal_name(const struct cv_properties *map, struct cv_str name, bool fold,
                              char text[CV_LOCATION_PREFIX_BYTES / 2])
{
    for (size_t i = 0; i < name.length; i++)
        text[i] = fold ? (char)tolower((unsigned char)name.ptr[i]) : name.ptr[i];
    text[name.length] = '\0';
    return cv_properties_get_or(map, text, text);
}

/* Takes the last part off. */
static size_t cut_part(const char *path, size_t length)
{
    while (length && path[length - 1] != '/')
        length--;
    return length ? length - 1 : 0;
}

static void put_path(struct cv_str text, struct cv_location_key *key)
{
    size_t at = 0;
    size_t length = 0;

    while (at < text.length) {
        size_t start;
        size_t part;

        while (at < text.length && text.ptr[at] == '/')
            at++;
        start = at;
        while (at < text.length && text.ptr[at] != '/')
            at++;
        part = at - start;
        if (part == 0 || (part == 1 && text.ptr[start] == '.'))
            continue;
        if (part == 2 && text.ptr[start] == '.' && text.ptr[start + 1] == '.') {
            length = cut_part(key->path, length);
            continue;
        }
        key->path[length++] = '/';
        memcpy(key->path + length, text.ptr + start, part);
        length += part;
    }
    key->path[length] = '\0';
    key->path_length = length;
}

bool cv_location_key_make(const struct cv_location_rules *rules, struct cv_str location,
                          struct cv_location_key *ret_key)
{
    struct cv_str scheme = scheme_of(location);
    struct cv_str authority = {"", 0};
    char scheme_text[CV_LOCATION_PREFIX_BYTES / 2];
    char authority_text[CV_LOCATION_PREFIX_BYTES / 2];

    if (location.length + 2 >= CV_PATH_BYTES_MAX)
        return false;
    ret_key->prefix[0] = '\0';
    if (scheme.length) {
        location.ptr += scheme.length + 1;
        location.length -= scheme.length + 1;
        if (location.length >= 2 && memcmp(location.ptr, "//", 2) == 0) {
            authority.ptr = location.ptr + 2;
            while (authority.length < location.length - 2 && authority.ptr[authority.length] != '/')
                authority.length++;
            location.ptr += 2 + authority.length;
            location.length -= 2 + authority.length;
        }
        if (scheme.length + authority.length + 4 > sizeof scheme_text)
            return false;
        (void)snprintf(ret_key->prefix, sizeof ret_key->prefix, "%s://%s",
                       equal_name(&rules->schemes, scheme, true, scheme_text),
                       equal_name(&rules->authorities, authority, false, authority_text));
    }
    put_path(location, ret_key);
    return true;
}

bool cv_location_key_below(const struct cv_location_key *key, const struct cv_location_key *folder)
{
    return key->path_length >= folder->path_length &&
           memcmp(key->path, folder->path, folder->path_length) == 0 &&
           (key->path[folder->path_length] == '/' || !key->path[folder->path_length]);
}

static bool is_hidden(struct cv_str part, const struct cv_table_metadata *metadata)
{
    if (!part.length || (part.ptr[0] != '_' && part.ptr[0] != '.'))
        return false;
    for (size_t i = 0; i < metadata->spec_count; i++)
        for (size_t k = 0; k < metadata->specs[i].field_count; k++) {
            struct cv_str name = cv_str_from(metadata->specs[i].fields[k].name);

            if (part.length > name.length && part.ptr[name.length] == '=' &&
                memcmp(part.ptr, name.ptr, name.length) == 0)
                return false;
        }
    return true;
}

bool cv_location_key_hidden(const struct cv_location_key *key, const struct cv_location_key *folder,
                            const struct cv_table_metadata *metadata)
{
    const char *at = key->path + CV_MIN(folder->path_length, key->path_length);

    while (*at) {
        size_t length = strcspn(at, "/");

        if (is_hidden((struct cv_str){at, length}, metadata))
            return true;
        at += length + (at[length] == '/');
    }
    return false;
}
