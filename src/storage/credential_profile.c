/* SPDX-License-Identifier: Apache-2.0
 *
 * The shared files of the AWS tools (~/.aws/credentials, ~/.aws/config): sections with settings,
 * comments, and indented lines that nest below a setting, which nothing here asks for. */
#include "storage/credentials_int.h"

#include "base/file.h"
#include "base/limits.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEY_BYTES_MAX 128

static struct cv_str take_line(struct cv_str *rest)
{
    const char *end = memchr(rest->ptr, '\n', rest->length);
    struct cv_str line = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->length};
    size_t taken = line.length + (end ? 1 : 0);

    rest->ptr += taken;
    rest->length -= taken;
    return line;
}

/* Without a comment that a blank sets off. */
static struct cv_str cut_comment(struct cv_str value)
{
    for (size_t i = 1; i < value.length; i++)
        if ((value.ptr[i] == '#' || value.ptr[i] == ';') &&
            (value.ptr[i - 1] == ' ' || value.ptr[i - 1] == '\t'))
            value.length = i;
    return cv_str_trim(value);
}

/* The name between the brackets, "profile NAME" as NAME; length 0 = none that counts. */
static struct cv_str section_name(struct cv_str line, bool config_file)
{
    const char *end = memchr(line.ptr, ']', line.length);
    struct cv_str name = {line.ptr + 1, end ? (size_t)(end - line.ptr) - 1 : 0};
    const struct cv_str none = {"", 0};

    name = cv_str_trim(name);
    if (!config_file || cv_str_is(name, "default"))
        return name;
    if (name.length < 9 || memcmp(name.ptr, "profile", 7) != 0 ||
        (name.ptr[7] != ' ' && name.ptr[7] != '\t'))
        return none;
    name = cv_str_trim((struct cv_str){name.ptr + 7, name.length - 7});
    if (name.length >= 2 && (name.ptr[0] == '"' || name.ptr[0] == '\'') &&
        name.ptr[name.length - 1] == name.ptr[0])
        name = (struct cv_str){name.ptr + 1, name.length - 2};
    return name;
}

static void take_setting(struct cv_str line, const char *equals, struct cv_properties *own)
{
    struct cv_str key = cv_str_trim((struct cv_str){line.ptr, (size_t)(equals - line.ptr)});
    struct cv_str value = {equals + 1, line.length - (size_t)(equals + 1 - line.ptr)};
    CV_CLEANUP(cv_freep) char *text = NULL;
    char name[KEY_BYTES_MAX];

    if (key.length >= sizeof name)
        return; /* no setting that counts is so long */
    for (size_t i = 0; i < key.length; i++)
        name[i] = (char)(key.ptr[i] >= 'A' && key.ptr[i] <= 'Z' ? key.ptr[i] | 0x20 : key.ptr[i]);
    name[key.length] = '\0';
    value = cut_comment(value);
    text = cv_alloc(value.length + 1);
    memcpy(text, value.ptr, value.length);
    cv_properties_set(own, name, text);
    explicit_bzero(text, value.length);
}

enum cv_code cv_profile_parse(struct cv_str text, bool config_file, const char *profile,
                              struct cv_properties *properties, bool *ret_found,
                              struct cv_error *err)
{
    CV_CLEANUP(cv_credential_settings_release) struct cv_properties own = {0};
    bool inside = false;
    bool found = false;

    if (text.length && memchr(text.ptr, '\0', text.length))
        return cv_fail(err, CV_FORMAT, "it is no text file");
    for (int number = 1; text.length; number++) {
        struct cv_str raw = take_line(&text);
        struct cv_str line = cv_str_trim(raw);
        const char *equals = line.length ? memchr(line.ptr, '=', line.length) : NULL;

        if (line.length == 0 || line.ptr[0] == '#' || line.ptr[0] == ';')
            continue;
        if (line.ptr[0] == '[') {
            if (!memchr(line.ptr, ']', line.length))
                return cv_fail(err, CV_FORMAT, "line %d: a section without ]", number);
            inside = cv_str_is(section_name(line, config_file), profile);
            found = found || inside;
        } else if (raw.ptr[0] == ' ' || raw.ptr[0] == '\t') {
            continue; /* nested below the setting before */
        } else if (!equals || equals == line.ptr) {
            return cv_fail(err, CV_FORMAT, "line %d is neither a section nor name = value", number);
        } else if (inside) {
            take_setting(line, equals, &own);
        }
    }
    for (size_t i = 0; i < own.count; i++)
        if (!cv_properties_get(properties, own.items[i].key))
            cv_properties_set(properties, own.items[i].key, own.items[i].value);
    *ret_found = *ret_found || found;
    return CV_OK;
}

static const char *home_folder(void)
{
    const char *home = cv_environment("HOME");
    const struct passwd *entry = home ? NULL : getpwuid(getuid());

    return home ? home : entry && entry->pw_dir ? entry->pw_dir : "/";
}

static void file_path(const char *variable, const char *name, char path[CV_PATH_BYTES_MAX])
{
    const char *given = cv_environment(variable);

    if (!given)
        (void)snprintf(path, CV_PATH_BYTES_MAX, "%s/.aws/%s", home_folder(), name);
    else if (cv_text_starts_with(given, "~/"))
        (void)snprintf(path, CV_PATH_BYTES_MAX, "%s/%s", home_folder(), given + 2);
    else
        (void)snprintf(path, CV_PATH_BYTES_MAX, "%s", given);
}

static enum cv_code read_one(const char *path, bool config_file, const char *profile,
                             struct cv_properties *properties, bool *ret_found,
                             struct cv_error *err)
{
    struct cv_buf bytes = CV_BUF_INIT(CV_CREDENTIAL_FILE_BYTES_MAX);
    enum cv_code code = cv_file_read(path, CV_CREDENTIAL_FILE_BYTES_MAX, &bytes, err);

    if (code == CV_OK) {
        code = cv_profile_parse((struct cv_str){(const char *)bytes.data, bytes.length},
                                config_file, profile, properties, ret_found, err);
        if (code != CV_OK)
            cv_context(err, "%s", path);
    } else if (code == CV_NOT_FOUND) {
        code = CV_OK;
    }
    if (bytes.data)
        explicit_bzero(bytes.data, bytes.length);
    cv_buf_release(&bytes);
    return code;
}

enum cv_code cv_profile_read(const char *profile, struct cv_properties *ret_properties,
                             char *ret_file, bool *ret_found, struct cv_error *err)
{
    char config[CV_PATH_BYTES_MAX];

    *ret_found = false;
    file_path("AWS_SHARED_CREDENTIALS_FILE", "credentials", ret_file);
    file_path("AWS_CONFIG_FILE", "config", config);
    CV_DO(read_one(ret_file, false, profile, ret_properties, ret_found, err));
    return read_one(config, true, profile, ret_properties, ret_found, err);
}

const char *cv_profile_configured(const struct cv_properties *properties)
{
    static const char *const names[] = {"s3.profile-name", "client.profile-name",
                                        "client.credentials-profile"};
    const char *name = NULL;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(names) && !name && properties; i++)
        name = cv_properties_get(properties, names[i]);
    return name && *name ? name : NULL;
}

const char *cv_profile_name(const struct cv_properties *properties, bool *ret_named)
{
    const char *name = cv_profile_configured(properties);

    if (!name)
        name = cv_environment("AWS_PROFILE");
    *ret_named = name != NULL;
    return name ? name : "default";
}

enum cv_code cv_credential_profile_region(const struct cv_properties *properties,
                                          struct cv_arena *arena, const char **ret_region,
                                          struct cv_error *err)
{
    CV_CLEANUP(cv_credential_settings_release) struct cv_properties settings = {0};
    char file[CV_PATH_BYTES_MAX];
    bool named;
    bool found;
    const char *region;

    CV_DO(cv_profile_read(cv_profile_name(properties, &named), &settings, file, &found, err));
    region = cv_properties_get(&settings, "region");
    *ret_region = region && *region ? cv_arena_strdup(arena, region) : NULL;
    return CV_OK;
}

/* What a profile can ask for and is not done here. */
static enum cv_code refuse(const struct cv_properties *settings, struct cv_error *err)
{
    static const char *const names[] = {"credential_process", "credential_source", "source_profile",
                                        "role_arn",           "sso_session",       "sso_start_url"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++) {
        if (!cv_properties_get(settings, names[i]))
            continue;
        (void)cv_fail(err, CV_UNSUPPORTED, "%s of a profile is not supported", names[i]);
        cv_hint(err, "give keys in the profile, in the environment or as s3.access-key-id; "
                     "`aws configure export-credentials` prints some");
        return CV_UNSUPPORTED;
    }
    return cv_fail(err, CV_CONFIG, "it holds no aws_access_key_id any more");
}

enum cv_code cv_credential_ask_profile(struct cv_credential_place *place,
                                       struct cv_credentials *ret_credentials, struct cv_error *err)
{
    CV_CLEANUP(cv_credential_settings_release) struct cv_properties settings = {0};
    char file[CV_PATH_BYTES_MAX];
    bool named;
    bool found;
    const char *id;
    const char *secret;

    CV_DO(
        cv_profile_read(cv_profile_name(&place->properties, &named), &settings, file, &found, err));
    if (cv_properties_get(&settings, "web_identity_token_file"))
        return cv_credential_ask_web_identity_of(place, &settings, ret_credentials, err);
    id = cv_properties_get(&settings, "aws_access_key_id");
    secret = cv_properties_get(&settings, "aws_secret_access_key");
    if (!id || cv_properties_get(&settings, "role_arn"))
        return refuse(&settings, err);
    if (!secret || !*secret || !*id)
        return cv_fail(err, CV_CONFIG,
                       "it holds only one of aws_access_key_id and "
                       "aws_secret_access_key");
    return cv_credentials_set(ret_credentials, id, secret,
                              cv_properties_get(&settings, "aws_session_token"), -1, err);
}
