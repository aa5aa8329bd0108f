/* SPDX-License-Identifier: Apache-2.0
 *
 * Where S3 credentials come from, in the order of the AWS chain (reference/iceberg.md 9.2): given
 * by the catalog or the configuration, environment, web identity, shared files and profile,
 * container, instance metadata. A source keeps what it got, asks again before it ends, and once
 * when a server says that it has ended; while asking anew fails, the old ones serve until their
 * end. Any thread. */
#ifndef CALVE_STORAGE_CREDENTIALS_H
#define CALVE_STORAGE_CREDENTIALS_H

#include "base/properties.h"
#include "storage/requests.h"

#define CV_CREDENTIAL_BYTES_MAX 16000 /* a key or a token */

struct cv_credentials {
    char *access_key_id; /* NULL = requests are not signed */
    char *secret_access_key;
    char *session_token; /* NULL = none */
    int64_t expires_ms;  /* -1 = not told */
    uint64_t version;    /* of the source; for cv_credential_source_renew() */
};
void cv_credentials_release(struct cv_credentials *credentials); /* wipes the secrets */

struct cv_credential_source;

/* Gives properties (s3.access-key-id, …, s3.session-token-expires-at-ms) anew. */
typedef enum cv_code cv_credential_refresh(void *context, struct cv_properties *ret_properties,
                                           struct cv_error *err);

struct cv_credential_config {
    const struct cv_properties
        *properties;                /* Iceberg's names: s3.access-key-id, s3.secret-access-key,
                                     * s3.session-token, s3.session-token-expires-at-ms,
                                     * s3.profile-name, s3.anonymous, and those of client.* */
    cv_credential_refresh *refresh; /* NULL = the properties' keys do not change */
    void *refresh_context;
    struct cv_request_counts *counts; /* may be NULL */
};

enum cv_code cv_credential_source_new(const struct cv_credential_config *config,
                                      struct cv_credential_source **ret_source,
                                      struct cv_error *err);
void cv_credential_source_free(struct cv_credential_source *source);
CV_DEFINE_CLEANUP(struct cv_credential_source *, cv_credential_source_free)

/* A copy of what is valid now. */
enum cv_code cv_credential_source_get(struct cv_credential_source *source,
                                      struct cv_credentials *ret_credentials, struct cv_error *err);
/* A server refused `version` as expired: asks anew unless somebody did already. */
enum cv_code cv_credential_source_renew(struct cv_credential_source *source, uint64_t version,
                                        struct cv_error *err);
/* "static keys", "profile prod of ~/.aws/credentials": for `calve check`; no secrets. */
const char *cv_credential_source_name(const struct cv_credential_source *source);
/* Region of the profile that counts; NULL where it has none. */
enum cv_code cv_credential_profile_region(const struct cv_properties *properties,
                                          struct cv_arena *arena, const char **ret_region,
                                          struct cv_error *err);

#endif
