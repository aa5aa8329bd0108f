/* SPDX-License-Identifier: Apache-2.0
 *
 * The properties of the S3 store by Iceberg's names, as a catalog section of the job file, a
 * catalog's answer or a table may give them. */
#ifndef CALVE_STORAGE_S3_OPTIONS_H
#define CALVE_STORAGE_S3_OPTIONS_H

#include "config/option.h"

enum cv_s3_encryption { CV_S3_SSE_NONE, CV_S3_SSE_S3, CV_S3_SSE_KMS, CV_S3_SSE_DSSE_KMS };

/* Texts live in the arena that they were set with; NULL = not set. */
struct cv_s3_settings {
    const char *endpoint, *region, *s3_region;
    const char
        *path_style; /* "true", "false"; NULL = where a custom endpoint or a dot asks for it */
    const char *access_key_id, *secret_access_key, *session_token, *expires_at_ms;
    bool anonymous;
    const char *connect_timeout, *request_timeout; /* seconds, or a number with its unit */
    const char *ca_file;
    int64_t part_bytes;
    const char *threshold; /* a factor of the part's size */
    int64_t threads;
    int64_t delete_batch;
    bool deletes;
    bool checksum;
    int encryption; /* enum cv_s3_encryption */
    const char *encryption_key;
    const char *acl, *storage_class;
    struct cv_properties write_tags;
    int64_t retries, retry_min_wait_ms, retry_max_wait_ms, retry_total_ms;
    bool remote_signing, access_grants; /* true is refused */
    const char *signer;                 /* any is refused */
    struct cv_properties ignored;
};

extern const struct cv_option_table cv_s3_options;

/* Defaults, then what the table knows of `properties`; names that it does not know are others'.
 * CV_UNSUPPORTED where a property asks for what calve does not do. */
enum cv_code cv_s3_settings_init(struct cv_s3_settings *settings,
                                 const struct cv_properties *properties, struct cv_arena *arena,
                                 struct cv_error *err);
void cv_s3_settings_release(struct cv_s3_settings *settings);

#endif
