/* SPDX-License-Identifier: Apache-2.0
 *
 * The properties of the S3 store: what each does here, and what is known and not done. */
#include "storage/s3_options.h"

#include <strings.h>

#define AT(field) offsetof(struct cv_s3_settings, field)
#define TEXT(option_name, field, text)                                                             \
    {                                                                                              \
        .name = (option_name), .type = CV_OPTION_TEXT, .offset = AT(field), .help = (text)         \
    }
#define SECRET(option_name, field, text)                                                           \
    {                                                                                              \
        .name = (option_name), .type = CV_OPTION_TEXT, .offset = AT(field),                        \
        .flags = CV_OPTION_SECRET, .help = (text)                                                  \
    }
#define NUMBER(option_name, field, kind, value, least, most, text)                                 \
    {                                                                                              \
        .name = (option_name), .type = (kind), .offset = AT(field), .default_text = (value),       \
        .min = (least), .max = (most), .help = (text)                                              \
    }
#define SWITCH(option_name, field, value, text)                                                    \
    {                                                                                              \
        .name = (option_name), .type = CV_OPTION_BOOL, .offset = AT(field),                        \
        .default_text = (value), .help = (text)                                                    \
    }
#define ROLE                                                                                       \
    "use the role's web identity (AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE, or the same in a " \
    "profile), or session keys of the role"
#define JAVA "Accepted: it tunes the Java client only."

static const struct cv_option options[] = {
    TEXT("s3.endpoint", endpoint,
         "URL of the S3 service, http or https; absent: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, "
         "else Amazon's for the region."),
    TEXT("client.region", region,
         "Region of the buckets; absent: AWS_REGION, AWS_DEFAULT_REGION, the profile's, else "
         "us-east-1. A bucket that lies elsewhere is found by the service's answer."),
    TEXT("s3.region", s3_region, "PyIceberg's name of client.region; counts before it."),
    TEXT("s3.path-style-access", path_style,
         "true: the bucket is the first part of the path, false: of the host name. Absent: of the "
         "path for an endpoint that is not Amazon's and for a bucket with a dot in its name."),
    SECRET("s3.access-key-id", access_key_id,
           "Access key. Absent: the environment, web identity, profile files, container or "
           "instance give one."),
    SECRET("s3.secret-access-key", secret_access_key, "Secret of the access key."),
    SECRET("s3.session-token", session_token, "Session token of temporary keys."),
    TEXT("s3.session-token-expires-at-ms", expires_at_ms,
         "When the session token ends, in ms since 1970; it is renewed before where the catalog "
         "gave it."),
    SWITCH("s3.anonymous", anonymous, "false", "true: requests are not signed."),
    TEXT("s3.connect-timeout", connect_timeout,
         "Longest wait for a connection, in seconds or with a unit; 10 seconds when absent."),
    TEXT("s3.request-timeout", request_timeout,
         "Longest time of one request, in seconds or with a unit; 30 seconds when absent. Large "
         "bodies get a second more for each 256 KiB."),
    TEXT("s3.ssl.ca.location", ca_file,
         "PEM file with the authorities to trust; absent: AWS_CA_BUNDLE, else the system's."),
    NUMBER("s3.multipart.part-size-bytes", part_bytes, CV_OPTION_BYTES, "8 MiB", (int64_t)5 << 20,
           ((int64_t)2 << 30) - 1,
           "Size of a part of a multipart upload, which is the memory that an open file takes; "
           "after each 1000 parts it doubles."),
    TEXT("s3.multipart.threshold", threshold,
         "Files of at least this many times the part size are uploaded in parts, from 1.0; 1.5 "
         "when absent."),
    NUMBER("s3.multipart.num-threads", threads, CV_OPTION_INTEGER, "4", 1, 64,
           "Uploads at a time for one table."),
    NUMBER("s3.delete.batch-size", delete_batch, CV_OPTION_INTEGER, "250", 1, 1000,
           "Files that one request deletes."),
    SWITCH("s3.delete-enabled", deletes, "true", "false: files are never deleted."),
    SWITCH("s3.checksum-enabled", checksum, "false",
           "true: MD5 of what is sent and received is compared with the service's."),
    {.name = "s3.sse.type",
     .type = CV_OPTION_CHOICE,
     .offset = AT(encryption),
     .choices = "none|s3|kms|dsse-kms",
     .default_text = "none",
     .help = "Encryption at the service: with its own key, or with one of its key management."},
    TEXT("s3.sse.key", encryption_key, "Key id for s3.sse.type kms and dsse-kms."),
    TEXT("s3.acl", acl, "Canned access control list of new files."),
    TEXT("s3.write.storage-class", storage_class, "Storage class of new files."),
    {.name = "s3.write.tags.",
     .type = CV_OPTION_PREFIX,
     .offset = AT(write_tags),
     .help = "Tags of new files."},
    NUMBER("s3.retry.num-retries", retries, CV_OPTION_INTEGER, "7", 0, 1000,
           "How often a request is sent again that was throttled or not answered."),
    NUMBER("s3.retry.min-wait-ms", retry_min_wait_ms, CV_OPTION_INTEGER, "100", 1, 600000,
           "Longest wait before the first retry; it doubles each time, the real wait is random."),
    NUMBER("s3.retry.max-wait-ms", retry_max_wait_ms, CV_OPTION_INTEGER, "20000", 1, 3600000,
           "Longest wait before any retry."),
    NUMBER("s3.retry.total-timeout-ms", retry_total_ms, CV_OPTION_INTEGER, "120000", 1, 86400000,
           "Longest time that one request is tried for."),
    SWITCH("s3.remote-signing-enabled", remote_signing, "false",
           "Must be false: calve signs requests itself."),
    TEXT("s3.signer", signer, "Must be absent: calve signs requests itself."),
    SWITCH("s3.access-grants.enabled", access_grants, "false", "Must be false."),
    CV_OPTION_TAKES("s3.access-grants.fallback-to-iam", JAVA),
    CV_OPTION_REFUSES_ALL("s3.access-points.", "access points are not supported; name the bucket"),
    CV_OPTION_REFUSES_ALL("s3.delete.tags.", "files are deleted and not tagged"),
    CV_OPTION_REFUSES("s3.sse.md5", "keys of the customer (s3.sse.type=custom) are not supported"),
    CV_OPTION_REFUSES_ALL("client.assume-role.", ROLE),
    CV_OPTION_REFUSES("s3.role-arn", ROLE),
    CV_OPTION_REFUSES("client.role-arn", ROLE),
    CV_OPTION_REFUSES("s3.proxy-uri", "set the environment variable https_proxy"),
    CV_OPTION_REFUSES("http-client.proxy-endpoint", "set the environment variable https_proxy"),
    CV_OPTION_TAKES("client.credentials-profile",
                    "Profile of the shared files; absent: AWS_PROFILE."),
    CV_OPTION_TAKES("client.profile-name", "PyIceberg's name of client.credentials-profile."),
    CV_OPTION_TAKES("s3.profile-name", "PyIceberg's name of client.credentials-profile."),
    CV_OPTION_TAKES("client.credentials-provider",
                    "Accepted: the order of the AWS clients is used; s3.anonymous for none."),
    CV_OPTION_TAKES("client.refresh-credentials-enabled", "Accepted: always done."),
    CV_OPTION_TAKES("client.refresh-credentials-endpoint", "Accepted: the catalog's own is used."),
    CV_OPTION_TAKES("client.legacy-md5-plugin-enabled", "Accepted: always so."),
    CV_OPTION_TAKES("client.factory", JAVA),
    CV_OPTION_TAKES("s3.client-factory-impl", JAVA),
    CV_OPTION_TAKES("s3.staging-dir", "Accepted: uploads need no local files."),
    CV_OPTION_TAKES("s3.use-arn-region-enabled", JAVA),
    CV_OPTION_TAKES("s3.acceleration-enabled", "Accepted: the regional endpoint is used."),
    CV_OPTION_TAKES("s3.dualstack-enabled", "Accepted: the regional endpoint is used."),
    CV_OPTION_TAKES("s3.cross-region-access-enabled", "Accepted: always done."),
    CV_OPTION_TAKES("s3.preload-client-enabled", JAVA),
    CV_OPTION_TAKES("s3.crt.enabled", JAVA),
    CV_OPTION_TAKES("s3.crt.max-concurrency", JAVA),
    CV_OPTION_TAKES("s3.delete.num-threads", JAVA),
    CV_OPTION_TAKES("s3.chunked-encoding-enabled", "Accepted: bodies have their length told."),
    CV_OPTION_TAKES("s3.write.table-tag-enabled", "Accepted: write s3.write.tags.* instead."),
    CV_OPTION_TAKES("s3.write.namespace-tag-enabled", "Accepted: write s3.write.tags.* instead."),
    CV_OPTION_TAKES("s3.directory-bucket.list-prefix-as-directory", "Accepted: always so."),
    CV_OPTION_TAKES("s3.force-virtual-addressing", "Accepted: s3.path-style-access decides."),
    CV_OPTION_TAKES("s3.resolve-region", "Accepted: always done."),
    CV_OPTION_TAKES("s3.retry-strategy-impl", JAVA),
    CV_OPTION_TAKES("s3.role-session-name", JAVA),
    CV_OPTION_TAKES("s3.signer.uri", JAVA),
    CV_OPTION_TAKES("s3.signer.endpoint", JAVA),
    {.name = "s3.analytics-accelerator.",
     .type = CV_OPTION_PREFIX,
     .offset = AT(ignored),
     .help = JAVA},
    {.name = "http-client.", .type = CV_OPTION_PREFIX, .offset = AT(ignored), .help = JAVA},
};

const struct cv_option_table cv_s3_options = {
    "catalogs.<name>",
    "Files on S3, by the names of Iceberg's S3FileIO. A REST catalog may give them per table.",
    options,
    CV_ARRAY_LENGTH(options),
};

static bool is_known(const char *key)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(options); i++) {
        const char *name = options[i].name;
        size_t length = strlen(name);

        if (options[i].type == CV_OPTION_PREFIX ? strncasecmp(key, name, length) == 0 && key[length]
                                                : cv_text_equal_nocase(key, name))
            return true;
    }
    return false;
}

static enum cv_code check_settings(const struct cv_s3_settings *settings, struct cv_error *err)
{
    if (settings->remote_signing || settings->signer) {
        (void)cv_fail(err, CV_UNSUPPORTED, "%s asks for requests that the catalog signs",
                      settings->signer ? "s3.signer" : "s3.remote-signing-enabled");
        cv_hint(err, "let the catalog vend credentials (header.X-Iceberg-Access-Delegation: "
                     "vended-credentials) or configure keys");
        return CV_UNSUPPORTED;
    }
    if (settings->access_grants)
        return cv_fail(err, CV_UNSUPPORTED, "s3.access-grants.enabled is not supported");
    if (!settings->access_key_id != !settings->secret_access_key)
        return cv_fail(err, CV_CONFIG,
                       "s3.access-key-id and s3.secret-access-key go together; "
                       "%s is missing",
                       settings->access_key_id ? "s3.secret-access-key" : "s3.access-key-id");
    if (settings->path_style && !cv_text_equal_nocase(settings->path_style, "true") &&
        !cv_text_equal_nocase(settings->path_style, "false"))
        return cv_fail(err, CV_CONFIG,
                       "s3.path-style-access = \"%.100s\" is neither true nor false",
                       settings->path_style);
    return CV_OK;
}

enum cv_code cv_s3_settings_init(struct cv_s3_settings *settings,
                                 const struct cv_properties *properties, struct cv_arena *arena,
                                 struct cv_error *err)
{
    *settings = (struct cv_s3_settings){0};
    CV_DO(cv_options_defaults(&cv_s3_options, settings, arena, err));
    for (size_t i = 0; properties && i < properties->count; i++) {
        const struct cv_property *item = &properties->items[i];

        if (is_known(item->key))
            CV_DO(cv_options_set(&cv_s3_options, settings, arena, item->key, item->value, err));
    }
    if (settings->s3_region)
        settings->region = settings->s3_region;
    return check_settings(settings, err);
}

void cv_s3_settings_release(struct cv_s3_settings *settings)
{
    cv_properties_release(&settings->write_tags);
    cv_properties_release(&settings->ignored);
}
