/* SPDX-License-Identifier: Apache-2.0
 *
 * S3 as a store: opening it, reads in one request each, sizes, and whole objects put at once. */
#include "storage/s3_int.h"

#include "base/random.h"
#include "base/time.h"
#include "codec/base64.h"
#include "codec/hex.h"
#include "codec/md5.h"
#include "storage/sign.h"
#include "storage/store_int.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* "bytes 0-9/1234" or "bytes * /1234": the size after the slash; -1 = not told. */
static int64_t size_of_range(const struct s3_answer *answer)
{
    struct cv_str range = cv_http_response_header(&answer->http, "Content-Range");
    const char *slash = range.length ? memrchr(range.ptr, '/', range.length) : NULL;
    int64_t size;

    if (!slash ||
        !cv_parse_i64((struct cv_str){slash + 1, range.length - (size_t)(slash + 1 - range.ptr)},
                      &size))
        return -1;
    return size;
}

/* Where the range that came begins; `asked` where it is not told. */
static int64_t offset_of_range(const struct s3_answer *answer, int64_t asked)
{
    struct cv_str range = cv_http_response_header(&answer->http, "Content-Range");
    const char *dash = range.length > 6 ? memchr(range.ptr, '-', range.length) : NULL;
    int64_t offset;

    if (!dash || strncasecmp(range.ptr, "bytes ", 6) != 0 ||
        !cv_parse_i64((struct cv_str){range.ptr + 6, (size_t)(dash - range.ptr) - 6}, &offset))
        return asked;
    return offset;
}

/* Hands the bytes on without a copy where the buffer is empty. */
static void give_bytes(struct cv_buf *body, size_t skip, size_t length, struct cv_buf *ret_bytes)
{
    if (ret_bytes->length == 0 && skip == 0) {
        free(ret_bytes->data);
        ret_bytes->data = cv_steal(body->data);
        ret_bytes->capacity = body->capacity;
        ret_bytes->length = length;
        *body = (struct cv_buf){0};
    } else {
        cv_buf_append(ret_bytes, body->data + skip, length);
    }
}

/* The ETag without its quotes, where it is an MD5: of an object that was put whole and not
 * encrypted with a key of the key management. */
static bool md5_of_etag(const struct s3_answer *answer, struct cv_str *ret_hex)
{
    struct cv_str etag = cv_http_response_header(&answer->http, "ETag");
    struct cv_str encryption =
        cv_http_response_header(&answer->http, "x-amz-server-side-encryption");

    if (etag.length == 34 && etag.ptr[0] == '"')
        etag = (struct cv_str){etag.ptr + 1, 32};
    if (etag.length != 32 || (encryption.length && !cv_str_is(encryption, "AES256")))
        return false;
    for (size_t i = 0; i < etag.length; i++)
        if (!isxdigit((unsigned char)etag.ptr[i]))
            return false;
    *ret_hex = etag;
    return true;
}

enum cv_code s3_check_etag(const struct s3_store *store, const struct s3_request *request,
                           const struct s3_answer *answer, const void *bytes, size_t length,
                           struct cv_error *err)
{
    struct cv_buf own CV_CLEANUP(cv_buf_release) = CV_BUF_INIT(64);
    uint8_t md5[CV_MD5_BYTES];
    struct cv_str hex;

    if (!store->settings.checksum || !md5_of_etag(answer, &hex))
        return CV_OK;
    cv_md5(bytes, length, md5);
    cv_hex_encode(md5, sizeof md5, &own);
    if (strncasecmp((const char *)own.data, hex.ptr, 32) == 0)
        return CV_OK;
    return cv_fail(err, CV_IO, "cannot %s %.1000s: the bytes have MD5 %.32s, the service says %.*s",
                   request->action, request->location, (const char *)own.data, CV_STR_ARG(hex));
}

struct range {
    int64_t offset;
    size_t length; /* SIZE_MAX = to the end */
    size_t room;   /* in the caller's buffer */
};

static enum cv_code fail_too_large(const char *location, int64_t size, size_t room,
                                   struct cv_error *err)
{
    return cv_fail(err, CV_LIMIT, "%.1500s has %lld bytes, more than the %zu allowed", location,
                   (long long)size, room);
}

static enum cv_code take_range(const struct range *range, const char *location,
                               struct s3_answer *answer, struct cv_buf *ret_bytes,
                               struct cv_error *err)
{
    struct cv_buf *body = &answer->http.body;
    const int64_t size = size_of_range(answer);
    size_t skip = 0;
    size_t got = body->length;

    if (answer->http.status == 200) { /* the whole, whatever was asked for */
        if ((uint64_t)range->offset > got)
            return cv_fail(err, CV_FORMAT, "%.1500s has %zu bytes, offset %lld is outside",
                           location, got, (long long)range->offset);
        skip = (size_t)range->offset;
        got = CV_MIN(got - skip, range->length);
    } else if (size >= 0) {
        int64_t left = size - range->offset;

        if (left < 0 || got != CV_MIN((uint64_t)left, range->length) ||
            offset_of_range(answer, range->offset) != range->offset)
            return cv_fail(err, CV_IO,
                           "cannot read %.1000s: %zu bytes came from offset %lld of %lld, asked "
                           "was for %lld",
                           location, got, (long long)offset_of_range(answer, range->offset),
                           (long long)size, (long long)range->offset);
    } else if (range->length != SIZE_MAX && got > range->length) {
        return cv_fail(err, CV_IO, "cannot read %.1000s: %zu bytes came, %zu were asked for",
                       location, got, range->length);
    }
    if (got > range->room)
        return fail_too_large(location, size < 0 ? (int64_t)got : size, range->room, err);
    give_bytes(body, skip, got, ret_bytes);
    return CV_OK;
}

static enum cv_code read_object(struct s3_store *store, const char *location,
                                const struct range *range, struct cv_buf *ret_bytes,
                                struct cv_error *err)
{
    CV_CLEANUP(s3_answer_release) struct s3_answer answer = {0};
    const bool whole = range->offset == 0 && range->length == SIZE_MAX;
    struct s3_location at;
    char header[64];
    struct s3_request request = {
        .action = "read",
        .location = location,
        .kind = CV_REQUEST_GET,
        .method = "GET",
        .bucket = at.bucket,
        .key = at.key,
        .response_bytes_max = CV_MIN(range->length, range->room),
        .expected_bytes = range->length == SIZE_MAX ? 0 : range->length,
    };
    enum cv_code code;

    CV_DO(s3_location_split(location, &at, err));
    if (range->length == SIZE_MAX)
        (void)snprintf(header, sizeof header, "bytes=%lld-", (long long)range->offset);
    else
        (void)snprintf(header, sizeof header, "bytes=%lld-%lld", (long long)range->offset,
                       (long long)(range->offset + (int64_t)range->length - 1));
    if (!whole)
        s3_request_header(&request, "Range", header);
    code = s3_send(store, &request, &answer, err);
    if (answer.http.status == 416) {
        int64_t size = size_of_range(&answer);

        if (size == range->offset && range->length == SIZE_MAX)
            return CV_OK;
        if (size >= 0)
            (void)cv_fail(err, CV_FORMAT, "%.1500s has %lld bytes, offset %lld is outside",
                          location, (long long)size, (long long)range->offset);
    }
    CV_DO(code);
    if (whole)
        CV_DO(s3_check_etag(store, &request, &answer, answer.http.body.data,
                            answer.http.body.length, err));
    return take_range(range, location, &answer, ret_bytes, err);
}

static enum cv_code s3_read(struct cv_store *base, const char *location, int64_t offset,
                            size_t length, struct cv_buf *ret_bytes, struct cv_error *err)
{
    struct s3_store *store = (struct s3_store *)base;
    const size_t max = ret_bytes->max ? ret_bytes->max : CV_BUF_BYTES_MAX;
    struct range range = {offset, length, max - CV_MIN(max, ret_bytes->length)};

    if (offset < 0 || (length != SIZE_MAX && (uint64_t)offset + length > INT64_MAX))
        return cv_fail(err, CV_FORMAT, "%.1500s: offset %lld is outside", location,
                       (long long)offset);
    if (length != SIZE_MAX && length > range.room)
        return cv_fail(err, CV_LIMIT, "%.1500s: %zu bytes are more than the %zu allowed", location,
                       length, range.room);
    CV_DO(s3_uploads_wait(store, location, false, err));
    return length ? read_object(store, location, &range, ret_bytes, err) : CV_OK;
}

enum cv_code s3_head(struct s3_store *store, const char *location, int64_t *ret_size,
                     char etag[128], struct cv_error *err)
{
    CV_CLEANUP(s3_answer_release) struct s3_answer answer = {0};
    struct s3_location at;
    struct s3_request request = {
        .action = "look at",
        .location = location,
        .kind = CV_REQUEST_HEAD,
        .method = "HEAD",
        .bucket = at.bucket,
        .key = at.key,
    };
    struct cv_str tag;
    int64_t size;

    CV_DO(s3_location_split(location, &at, err));
    CV_DO(s3_send(store, &request, &answer, err));
    if (!cv_parse_i64(cv_http_response_header(&answer.http, "Content-Length"), &size) || size < 0)
        return cv_fail(err, CV_FORMAT, "cannot look at %.1500s: the answer tells no length",
                       location);
    tag = cv_http_response_header(&answer.http, "ETag");
    if (etag)
        (void)snprintf(etag, 128, "%.*s", (int)CV_MIN(tag.length, (size_t)127),
                       tag.ptr ? tag.ptr : "");
    *ret_size = size;
    return CV_OK;
}

enum cv_code s3_size(struct cv_store *base, const char *location, int64_t *ret_size,
                     struct cv_error *err)
{
    struct s3_store *store = (struct s3_store *)base;

    CV_DO(s3_uploads_wait(store, location, false, err));
    return s3_head(store, location, ret_size, NULL, err);
}

void s3_object_headers(const struct s3_store *store, struct s3_request *request)
{
    static const char *const kinds[] = {NULL, "AES256", "aws:kms", "aws:kms:dsse"};
    const struct cv_s3_settings *settings = &store->settings;

    s3_request_header(request, "Content-Type", "application/octet-stream");
    if (settings->encryption)
        s3_request_header(request, "x-amz-server-side-encryption", kinds[settings->encryption]);
    if (settings->encryption >= CV_S3_SSE_KMS && settings->encryption_key)
        s3_request_header(request, "x-amz-server-side-encryption-aws-kms-key-id",
                          settings->encryption_key);
    if (settings->acl)
        s3_request_header(request, "x-amz-acl", settings->acl);
    if (settings->storage_class)
        s3_request_header(request, "x-amz-storage-class", settings->storage_class);
    if (store->tagging)
        s3_request_header(request, "x-amz-tagging", store->tagging);
}

void s3_md5_text(const void *bytes, size_t length, char text[32])
{
    struct cv_buf encoded CV_CLEANUP(cv_buf_release) = CV_BUF_INIT(64);
    uint8_t md5[CV_MD5_BYTES];

    cv_md5(bytes, length, md5);
    cv_base64_encode(md5, sizeof md5, &encoded);
    (void)snprintf(text, 32, "%.*s", (int)encoded.length, (const char *)encoded.data);
}

/* The name is taken: by an attempt of our own, whose answer was lost, where it has our bytes. */
static enum cv_code compare_object(struct s3_store *store, const char *location, const void *bytes,
                                   size_t length, struct cv_error *err)
{
    struct cv_buf there CV_CLEANUP(cv_buf_release) = CV_BUF_INIT(0);
    struct range range = {0, SIZE_MAX, length};
    struct cv_error why = CV_ERROR_INIT;
    enum cv_code code = read_object(store, location, &range, &there, &why);

    if (code == CV_OK && there.length == length &&
        (length == 0 || memcmp(there.data, bytes, length) == 0))
        return CV_OK;
    if (code == CV_OK || code == CV_LIMIT)
        return cv_fail(err, CV_EXISTS, "%.1500s exists already", location);
    if (err)
        *err = why;
    s3_note_lost(err);
    return code;
}

enum cv_code s3_put_object(struct s3_store *store, const char *location, const void *bytes,
                           size_t length, bool only_new, struct cv_error *err)
{
    CV_CLEANUP(s3_answer_release) struct s3_answer answer = {0};
    struct s3_location at;
    char md5[32];
    struct s3_request request = {
        .action = "write",
        .location = location,
        .kind = CV_REQUEST_PUT,
        .method = "PUT",
        .bucket = at.bucket,
        .key = at.key,
        .body = length ? bytes : "",
        .body_length = length,
        .tagged = true,
        .conditional = only_new,
    };

    CV_DO(s3_location_split(location, &at, err));
    s3_object_headers(store, &request);
    if (only_new)
        s3_request_header(&request, "If-None-Match", "*");
    if (store->settings.checksum) {
        s3_md5_text(bytes, length, md5);
        s3_request_header(&request, "Content-MD5", md5);
    }
    CV_DO(s3_send(store, &request, &answer, err));
    if (answer.http.status == 412)
        return answer.lost ? compare_object(store, location, bytes, length, err)
                           : cv_fail(err, CV_EXISTS, "%.1500s exists already", location);
    return s3_check_etag(store, &request, &answer, bytes, length, err);
}

static enum cv_code fail_unconditional(const char *bucket, struct cv_error *err)
{
    (void)cv_fail(err, CV_UNSUPPORTED,
                  "the S3 service of bucket %s does not keep a file from being written over "
                  "(If-None-Match)",
                  bucket);
    cv_hint(err, "use a catalog (type rest or sql), and a checkpointLocation on local files");
    return CV_UNSUPPORTED;
}

/* Whether the service keeps its promise is tried with a file of our own: the second put of other
 * bytes must be refused. */
static enum cv_code probe_condition(struct s3_store *store, const char *location,
                                    const struct s3_location *at, struct cv_error *err)
{
    struct cv_arena arena CV_CLEANUP(cv_arena_release) = CV_ARENA_INIT;
    const size_t folder = (size_t)(strrchr(location, '/') + 1 - location);
    char uuid[CV_UUID_TEXT_BYTES];
    const char *probe;
    enum cv_code code;

    cv_uuid_text(uuid);
    probe = cv_arena_printf(&arena, "%.*s.calve-probe-%s", (int)folder, location, uuid);
    code = s3_put_object(store, probe, "1", 1, true, err);
    if (code == CV_OK) {
        code = s3_put_object(store, probe, "2", 1, true, err);
        (void)s3_remove(&store->base, probe, NULL);
    }
    if (code != CV_OK && code != CV_EXISTS && code != CV_UNSUPPORTED)
        return code;
    s3_bucket_set_conditional(store, at->bucket, code == CV_EXISTS ? 1 : -1);
    return code == CV_EXISTS ? CV_OK : fail_unconditional(at->bucket, err);
}

static enum cv_code s3_put(struct cv_store *base, const char *location, const void *bytes,
                           size_t length, enum cv_put how, struct cv_error *err)
{
    struct s3_store *store = (struct s3_store *)base;
    struct s3_location at;
    int conditional;

    CV_DO(s3_location_split(location, &at, err));
    if (how == CV_PUT_NEW && !store->amazon) {
        conditional = s3_bucket_conditional(store, at.bucket);
        if (conditional < 0)
            return fail_unconditional(at.bucket, err);
        if (conditional == 0)
            CV_DO(probe_condition(store, location, &at, err));
    }
    return s3_put_object(store, location, bytes, length, how == CV_PUT_NEW, err);
}

static void s3_free(struct cv_store *base)
{
    struct s3_store *store = (struct s3_store *)base;

    s3_uploads_finish(store);
    s3_sources_release(store);
    cv_http_client_free(store->http);
    for (struct s3_bucket *bucket = store->buckets, *next; bucket; bucket = next) {
        next = bucket->next;
        free(bucket);
    }
    cv_s3_settings_release(&store->settings);
    cv_arena_release(&store->arena);
    (void)pthread_mutex_destroy(&store->lock);
    (void)pthread_mutex_destroy(&store->refresh_lock);
    free(store->location);
    free(store);
}

static const struct cv_store_ops s3_ops = {
    .name = "s3",
    .create = s3_create,
    .read = s3_read,
    .size = s3_size,
    .remove = s3_remove,
    .list = s3_list,
    .put = s3_put,
    .remove_many = s3_remove_many,
    .uploads = s3_list_uploads,
    .abort_upload = s3_abort_upload,
    .sync = s3_sync,
    .free = s3_free,
};

/* "60", "60.5" → thousandths. */
static bool parse_thousandths(const char *text, int64_t *ret_value)
{
    size_t digits = strcspn(text, ".");
    int64_t whole;
    int64_t part = 0;

    if (!cv_parse_i64((struct cv_str){text, digits}, &whole) || whole < 0 || whole > 1000000)
        return false;
    text += digits + (text[digits] == '.');
    for (int scale = 100; *text; text++, scale /= 10) {
        if (*text < '0' || *text > '9')
            return false;
        part += (*text - '0') * scale;
    }
    *ret_value = whole * 1000 + part;
    return true;
}

static enum cv_code parse_timeout(const char *name, const char *text, int64_t *ret_ms,
                                  struct cv_error *err)
{
    int64_t us;

    if (!text)
        return CV_OK;
    if (!parse_thousandths(text, ret_ms)) {
        CV_TRY(cv_parse_duration(text, CV_US_PER_SECOND, &us, err), err, "%s", name);
        *ret_ms = us / CV_US_PER_MS;
    }
    if (*ret_ms < 1 || *ret_ms > 3600000)
        return cv_fail(err, CV_CONFIG, "%s = %.100s is outside 1 ms … 1 hour", name, text);
    return CV_OK;
}

static const char *join_tags(const struct cv_properties *tags, struct cv_arena *arena)
{
    const char *joined = NULL;

    for (size_t i = 0; i < tags->count; i++)
        joined = cv_arena_printf(arena, "%s%s%s=%s", joined ? joined : "", joined ? "&" : "",
                                 cv_uri_encode(tags->items[i].key, false, arena),
                                 cv_uri_encode(tags->items[i].value, false, arena));
    return joined;
}

/* What is configured, and over it what comes with the keys that are vended: endpoint, region. */
static void merge_properties(const struct cv_store_config *config, const char *location,
                             struct cv_properties *ret_properties)
{
    const struct cv_store_grant *grant =
        config && config->grants ? s3_grant_for(config->grants, location) : NULL;

    if (config && config->properties)
        cv_properties_copy(ret_properties, config->properties);
    if (grant)
        cv_properties_copy(ret_properties, &grant->properties);
}

static enum cv_code configure(struct s3_store *store, const struct cv_store_config *config,
                              struct cv_error *err)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties properties = {0};
    struct cv_s3_settings *settings = &store->settings;
    struct cv_http_config http = {.ca_option = "s3.ssl.ca.location"};
    int64_t threshold = 1500;

    merge_properties(config, store->location, &properties);
    CV_DO(cv_s3_settings_init(settings, &properties, &store->arena, err));
    CV_DO(s3_address_init(store, &properties, err));
    store->timeout_ms = CV_HTTP_TIMEOUT_MS;
    CV_DO(parse_timeout("s3.request-timeout", settings->request_timeout, &store->timeout_ms, err));
    http.connect_timeout_ms = CV_HTTP_CONNECT_TIMEOUT_MS;
    CV_DO(parse_timeout("s3.connect-timeout", settings->connect_timeout, &http.connect_timeout_ms,
                        err));
    if (settings->threshold && (!parse_thousandths(settings->threshold, &threshold) ||
                                threshold < 1000 || threshold > 1000000))
        return cv_fail(err, CV_CONFIG, "s3.multipart.threshold = %.100s is not a factor from 1.0",
                       settings->threshold);
    store->threshold_bytes = CV_MIN(settings->part_bytes * threshold / 1000, S3_PART_BYTES_MAX);
    store->tagging = join_tags(&settings->write_tags, &store->arena);
    store->retry = (struct cv_retry_policy){
        .attempts = (int)settings->retries + 1,
        .min_wait_ms = settings->retry_min_wait_ms,
        .max_wait_ms = CV_MAX(settings->retry_max_wait_ms, settings->retry_min_wait_ms),
        .total_ms = settings->retry_total_ms,
    };
    http.timeout_ms = store->timeout_ms;
    http.ca_file = settings->ca_file ? settings->ca_file : getenv("AWS_CA_BUNDLE");
    CV_DO(cv_http_client_new(&http, &store->http, err));
    if (config && config->refresh) {
        store->refresh = config->refresh;
        store->refresh_context = config->refresh_context;
    }
    return s3_sources_init(store, config, err);
}

enum cv_code cv_s3_store_new(const char *location, const struct cv_store_config *config,
                             struct cv_store **ret_store, struct cv_error *err)
{
    struct s3_store *store = cv_alloc(sizeof *store);
    struct s3_location at;
    enum cv_code code;

    store->base.ops = &s3_ops;
    store->location = cv_strdup(location);
    (void)pthread_mutex_init(&store->lock, NULL);
    (void)pthread_mutex_init(&store->refresh_lock, NULL);
    s3_uploads_init(&store->uploads);
    code = s3_location_split(location, &at, err);
    if (code == CV_OK)
        code = configure(store, config, err);
    if (code != CV_OK) {
        cv_context(err, "%.500s", location);
        s3_free(&store->base);
        return code;
    }
    *ret_store = &store->base;
    return CV_OK;
}
