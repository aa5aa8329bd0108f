/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to credentials: a place that gives them, and the parsers of what comes from outside.
 *
 *   credentials.c        keeps what was got and asks again   credential_chain.c   which place
 * counts credential_profile.c shared files                        credential_server.c  container,
 * instance credential_sts.c     web identity */
#ifndef CALVE_STORAGE_CREDENTIALS_INT_H
#define CALVE_STORAGE_CREDENTIALS_INT_H

#include "base/limits.h"
#include "storage/credentials.h"
#include "storage/http.h"

#define CV_CREDENTIAL_FILE_BYTES_MAX   ((size_t)1 << 20)
#define CV_CREDENTIAL_ANSWER_BYTES_MAX ((size_t)256 << 10)
#define CV_CREDENTIAL_TIMEOUT_MS       10000 /* of one request */
#define CV_CREDENTIAL_CONNECT_MS       3000
#define CV_CREDENTIAL_INSTANCE_MS      1000 /* to connect to a service that may well not exist */

/* Where credentials are asked for. Used by one thread at a time: the one that asks. */
struct cv_credential_place {
    enum cv_code (*ask)(struct cv_credential_place *, struct cv_credentials *ret_credentials,
                        struct cv_error *err);
    char *name;                      /* for people */
    bool lasting;                    /* what it gives does not change while the process runs */
    struct cv_properties properties; /* settings: those of the configuration or of the profile */
    cv_credential_refresh *refresh;
    void *refresh_context;
    struct cv_request_counts *counts;
    struct cv_http_client *client; /* made when first asked */
};

/* Which place counts. CV_CONFIG where the settings contradict themselves or name what is not
 * there. The place is zeroed before. */
enum cv_code cv_credential_place_init(struct cv_credential_place *place,
                                      const struct cv_credential_config *config,
                                      struct cv_error *err);
void cv_credential_place_release(struct cv_credential_place *place);

/* The environment's value; NULL for an empty one. */
const char *cv_environment(const char *name);

/* From properties with Iceberg's names; CV_CONFIG where half a pair is missing, CV_NOT_FOUND
 * without keys. */
enum cv_code cv_credentials_from_properties(const struct cv_properties *properties,
                                            struct cv_credentials *ret_credentials,
                                            struct cv_error *err);
/* Copies; checks lengths and that nothing in them breaks a header. */
enum cv_code cv_credentials_set(struct cv_credentials *credentials, const char *key_id,
                                const char *secret, const char *token, int64_t expires_ms,
                                struct cv_error *err);

/* The settings of one profile. `config_file`: sections are called "profile NAME" there. Properties
 * already set are kept. */
enum cv_code cv_profile_parse(struct cv_str text, bool config_file, const char *profile,
                              struct cv_properties *properties, bool *ret_found,
                              struct cv_error *err);
/* Both files. `ret_file` (CV_PATH_BYTES_MAX) is the credentials file. Absent files are empty. */
enum cv_code cv_profile_read(const char *profile, struct cv_properties *ret_properties,
                             char *ret_file, bool *ret_found, struct cv_error *err);
/* Wipes the values. */
void cv_credential_settings_release(struct cv_properties *settings);
/* The profile that the configuration names; NULL = none. */
const char *cv_profile_configured(const struct cv_properties *properties);
/* By the configuration or the environment, else "default". */
const char *cv_profile_name(const struct cv_properties *properties, bool *ret_named);
enum cv_code cv_credential_ask_profile(struct cv_credential_place *place,
                                       struct cv_credentials *ret_credentials,
                                       struct cv_error *err);

/* credential_server.c: sends until it is answered for good, counted as CV_REQUEST_TOKEN; the client
 * is made by the first request of a place. */
enum cv_code cv_credential_send(struct cv_credential_place *place, int64_t connect_ms,
                                bool through_proxy, const struct cv_http_request *request,
                                struct cv_http_response *ret_response, struct cv_error *err);
/* These wipe what they release. */
void cv_credential_response_release(struct cv_http_response *response);
void cv_credential_buf_release(struct cv_buf *buf);
/* The trimmed text of a token's file. */
enum cv_code cv_credential_read_token(const char *path, struct cv_buf *ret_token,
                                      struct cv_error *err);
enum cv_code cv_credential_ask_container(struct cv_credential_place *place,
                                         struct cv_credentials *ret_credentials,
                                         struct cv_error *err);
enum cv_code cv_credential_ask_instance(struct cv_credential_place *place,
                                        struct cv_credentials *ret_credentials,
                                        struct cv_error *err);
/* Role and token file by the environment, or by the settings of a profile. */
enum cv_code cv_credential_ask_web_identity(struct cv_credential_place *place,
                                            struct cv_credentials *ret_credentials,
                                            struct cv_error *err);
enum cv_code cv_credential_ask_web_identity_of(struct cv_credential_place *place,
                                               const struct cv_properties *settings,
                                               struct cv_credentials *ret_credentials,
                                               struct cv_error *err);
/* The answer of STS to AssumeRoleWithWebIdentity; an <Error> in it is CV_AUTH. */
enum cv_code cv_credential_parse_sts(const void *text, size_t length,
                                     struct cv_credentials *ret_credentials, struct cv_error *err);
/* {"AccessKeyId", "SecretAccessKey", "Token", "Expiration"} */
enum cv_code cv_credential_parse_json(const void *text, size_t length,
                                      struct cv_credentials *ret_credentials, struct cv_error *err);
/* "2026-01-01T00:00:00Z", with a fraction too; -1 = it is no such time. */
int64_t cv_credential_time_ms(const char *text);

#endif
