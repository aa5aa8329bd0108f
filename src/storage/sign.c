/* SPDX-License-Identifier: Apache-2.0
 *
 * AWS Signature Version 4: canonical request → text to sign → signature. */
#include "storage/sign.h"

#include "base/time.h"
#include "codec/hex.h"
#include "codec/sha2.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ALGORITHM        "AWS4-HMAC-SHA256"
#define QUERY_PARTS_MAX  256
#define CANONICAL_MAX    ((size_t)1 << 20)
#define HASH_HEADER      "x-amz-content-sha256"
#define HASH_UNSIGNED    "UNSIGNED-PAYLOAD"
#define TIME_TEXT_BYTES  17 /* 20130524T000000Z */
#define DAY_TEXT_LENGTH  8
#define SHA256_BYTES     32
#define SHA256_HEX_BYTES 65
#define SCOPE_TERMINATOR "aws4_request"

struct url {
    struct cv_str scheme;
    struct cv_str host; /* with its port unless that is the scheme's own */
    struct cv_str path;
    struct cv_str query;
};

struct signed_header {
    char *name; /* lower case */
    char *value;
    size_t order; /* of headers with one name */
};

/* What one signing works on; all texts live in the arena. */
struct signing {
    const struct cv_sign *sign;
    const struct cv_http_request *request;
    struct cv_arena *arena;
    struct url url;
    char time[TIME_TEXT_BYTES];
    const char *scope;
    const char *body_hash;
    const char *signed_names;
    struct cv_http_header *headers; /* that will be sent */
    size_t count;
};

static bool unreserved(unsigned char byte)
{
    return (byte < 0x80 && isalnum(byte)) || byte == '-' || byte == '.' || byte == '_' ||
           byte == '~';
}

static void encode_to(struct cv_buf *out, struct cv_str text, bool keep_slash)
{
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];

        if (unreserved(byte) || (byte == '/' && keep_slash))
            cv_buf_append_byte(out, byte);
        else
            cv_buf_printf(out, "%%%02X", byte);
    }
}

const char *cv_uri_encode(const char *text, bool keep_slash, struct cv_arena *arena)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);

    encode_to(&out, cv_str_from(text), keep_slash);
    return cv_arena_strndup(arena, cv_buf_text(&out), out.length);
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit = (char)(digit | 0x20);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

size_t cv_uri_decode(char *text, size_t length, bool plus_is_blank)
{
    size_t kept = 0;

    for (size_t i = 0; i < length; i++) {
        int high = i + 2 < length && text[i] == '%' ? hex_value(text[i + 1]) : -1;
        int low = high >= 0 ? hex_value(text[i + 2]) : -1;

        if (low >= 0)
            text[kept++] = (char)(high * 16 + low);
        else
            text[kept++] = (char)(text[i] == '+' && plus_is_blank ? ' ' : text[i]);
        i += low >= 0 ? 2 : 0;
    }
    return kept;
}

/* A name or value of the query in the one form that is signed: decoded and encoded again. */
static struct cv_str canonical_part(struct cv_str part, struct cv_arena *arena)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    char *plain = cv_arena_strndup(arena, part.ptr, part.length);

    encode_to(&out, (struct cv_str){plain, cv_uri_decode(plain, part.length, false)}, false);
    return (struct cv_str){cv_arena_strndup(arena, cv_buf_text(&out), out.length), out.length};
}

static struct cv_str take_until(struct cv_str *rest, const char *ends)
{
    struct cv_str taken = {rest->ptr, 0};

    while (taken.length < rest->length && !strchr(ends, rest->ptr[taken.length]))
        taken.length++;
    rest->ptr += taken.length;
    rest->length -= taken.length;
    return taken;
}

static void skip(struct cv_str *rest, size_t count)
{
    rest->ptr += count;
    rest->length -= count;
}

static enum cv_code split_url(const char *text, struct url *ret_url, struct cv_error *err)
{
    struct cv_str rest = cv_str_from(text);
    struct url url = {.scheme = take_until(&rest, ":/?#")};
    const char *own_port = cv_str_is(url.scheme, "https") ? ":443" : ":80";
    const char *at;
    size_t port = strlen(own_port);

    if (rest.length < 3 || memcmp(rest.ptr, "://", 3) != 0)
        return cv_fail(err, CV_CONFIG, "a URL to sign has no scheme");
    skip(&rest, 3);
    url.host = take_until(&rest, "/?#");
    at = memrchr(url.host.ptr, '@', url.host.length);
    if (at)
        skip(&url.host, (size_t)(at + 1 - url.host.ptr));
    if (url.host.length > port &&
        memcmp(url.host.ptr + url.host.length - port, own_port, port) == 0)
        url.host.length -= port;
    url.path = take_until(&rest, "?#");
    if (rest.length && *rest.ptr == '?') {
        skip(&rest, 1);
        url.query = take_until(&rest, "#");
    }
    *ret_url = url;
    return CV_OK;
}

/* Without "." and ".." and empty segments, as every service but S3 reads a path. */
static struct cv_str normal_path(struct cv_str path, struct cv_arena *arena)
{
    char *out = cv_arena_alloc(arena, path.length + 2);
    size_t length = 0;
    struct cv_str rest = path;
    bool folder = path.length && path.ptr[path.length - 1] == '/';

    while (rest.length) {
        struct cv_str segment;

        skip(&rest, *rest.ptr == '/');
        segment = take_until(&rest, "/");
        if (cv_str_is(segment, "..")) {
            while (length && out[--length] != '/')
                ;
            continue;
        }
        if (segment.length == 0 || cv_str_is(segment, "."))
            continue;
        out[length++] = '/';
        memcpy(out + length, segment.ptr, segment.length);
        length += segment.length;
    }
    if (length == 0 || folder)
        out[length++] = '/';
    return (struct cv_str){out, length};
}

static void append_path(const struct signing *s, struct cv_buf *out)
{
    struct cv_str path = s->url.path;

    if (s->sign->encode_path_twice)
        encode_to(out, normal_path(path, s->arena), true);
    else if (path.length)
        cv_buf_append(out, path.ptr, path.length);
    else
        cv_buf_append_byte(out, '/');
}

static int compare_str(struct cv_str a, struct cv_str b)
{
    size_t common = CV_MIN(a.length, b.length);
    int order = common ? memcmp(a.ptr, b.ptr, common) : 0;

    if (order)
        return order;
    return a.length < b.length ? -1 : a.length > b.length;
}

struct query_part {
    struct cv_str name;
    struct cv_str value;
};

static int compare_parts(const void *a, const void *b)
{
    const struct query_part *x = a;
    const struct query_part *y = b;
    int order = compare_str(x->name, y->name);

    return order ? order : compare_str(x->value, y->value);
}

static enum cv_code append_query(const struct signing *s, struct cv_buf *out, struct cv_error *err)
{
    struct query_part *parts = cv_arena_array(s->arena, struct query_part, QUERY_PARTS_MAX);
    struct cv_str rest = s->url.query;
    size_t count = 0;

    while (rest.length) {
        struct cv_str value = take_until(&rest, "&");
        struct cv_str name = take_until(&value, "=");

        skip(&rest, rest.length > 0);
        skip(&value, value.length > 0);
        if (name.length == 0 && value.length == 0)
            continue;
        if (count == QUERY_PARTS_MAX)
            return cv_fail(err, CV_LIMIT, "more than %d parts in a query to sign", QUERY_PARTS_MAX);
        parts[count++] =
            (struct query_part){canonical_part(name, s->arena), canonical_part(value, s->arena)};
    }
    qsort(parts, count, sizeof *parts, compare_parts);
    for (size_t i = 0; i < count; i++)
        cv_buf_printf(out, "%s%.*s=%.*s", i ? "&" : "", CV_STR_ARG(parts[i].name),
                      CV_STR_ARG(parts[i].value));
    return CV_OK;
}

/* Trimmed, with one blank for several. */
static char *canonical_value(const char *value, struct cv_arena *arena)
{
    struct cv_str text = cv_str_trim(cv_str_from(value));
    char *out = cv_arena_alloc(arena, text.length + 1);
    size_t length = 0;

    for (size_t i = 0; i < text.length; i++)
        if (text.ptr[i] != ' ' || text.ptr[i - 1] != ' ')
            out[length++] = text.ptr[i];
    return out;
}

static int compare_headers(const void *a, const void *b)
{
    const struct signed_header *x = a;
    const struct signed_header *y = b;
    int order = strcmp(x->name, y->name);

    return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* What a proxy or libcurl may change on the way is not signed. */
static bool is_signed(const char *name)
{
    static const char *const left_out[] = {"authorization", "connection", "expect", "user-agent",
                                           "transfer-encoding"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(left_out); i++)
        if (strcasecmp(name, left_out[i]) == 0)
            return false;
    return true;
}

/* The canonical headers, and their names in s->signed_names. */
static void append_headers(struct signing *s, struct cv_buf *out)
{
    struct signed_header *headers = cv_arena_array(s->arena, struct signed_header, s->count);
    CV_CLEANUP(cv_buf_release) struct cv_buf names = CV_BUF_INIT(0);
    size_t count = 0;

    for (size_t i = 0; i < s->count; i++) {
        char *name;

        if (!is_signed(s->headers[i].name))
            continue;
        name = cv_arena_strdup(s->arena, s->headers[i].name);
        for (char *at = name; *at; at++)
            *at = (char)tolower((unsigned char)*at);
        headers[count++] =
            (struct signed_header){name, canonical_value(s->headers[i].value, s->arena), i};
    }
    qsort(headers, count, sizeof *headers, compare_headers);
    for (size_t i = 0; i < count; i++) {
        if (i && strcmp(headers[i].name, headers[i - 1].name) == 0) {
            cv_buf_printf(out, ",%s", headers[i].value);
            continue;
        }
        cv_buf_printf(out, "%s%s:%s", i ? "\n" : "", headers[i].name, headers[i].value);
        cv_buf_printf(&names, "%s%s", i ? ";" : "", headers[i].name);
    }
    cv_buf_append_byte(out, '\n');
    s->signed_names = cv_arena_strndup(s->arena, cv_buf_text(&names), names.length);
}

static void hash_hex(const void *bytes, size_t length, char text[SHA256_HEX_BYTES])
{
    CV_CLEANUP(cv_buf_release) struct cv_buf hex = CV_BUF_INIT(0);
    uint8_t hash[CV_SHA2_BYTES_MAX];

    cv_sha2(CV_SHA256, bytes, length, hash);
    cv_hex_encode(hash, SHA256_BYTES, &hex);
    memcpy(text, cv_buf_text(&hex), SHA256_HEX_BYTES);
}

static void add(struct signing *s, const char *name, const char *value)
{
    s->headers[s->count++] = (struct cv_http_header){name, value};
}

/* The request's own headers and those that signing adds, but Authorization. */
static void collect_headers(struct signing *s)
{
    const struct cv_http_request *request = s->request;
    const char *token = s->sign->credentials->session_token;
    char hash[SHA256_HEX_BYTES];

    add(s, "Host", cv_arena_strndup(s->arena, s->url.host.ptr, s->url.host.length));
    for (size_t i = 0; i < request->header_count; i++) {
        const struct cv_http_header *header = &request->headers[i];
        bool moved = strcasecmp(header->name, "Authorization") == 0;

        if (strcasecmp(header->name, "Host") == 0)
            continue;
        if (strcasecmp(header->name, HASH_HEADER) == 0)
            s->body_hash = header->value; /* known from an attempt before */
        add(s, moved ? "Original-Authorization" : header->name, header->value);
    }
    add(s, "x-amz-date", cv_arena_strdup(s->arena, s->time));
    if (!s->body_hash) {
        if (s->sign->unsigned_payload) {
            s->body_hash = HASH_UNSIGNED;
        } else {
            hash_hex(request->body, request->body_length, hash);
            s->body_hash = cv_arena_strdup(s->arena, hash);
        }
        add(s, HASH_HEADER, s->body_hash);
    }
    if (token)
        add(s, "x-amz-security-token", token);
}

static void format_time(int64_t ms, char text[TIME_TEXT_BYTES])
{
    char plain[CV_TIME_TEXT_BYTES]; /* 2013-05-24T00:00:00.000Z */

    cv_format_ms_utc(ms, plain);
    (void)snprintf(text, TIME_TEXT_BYTES, "%.4s%.2s%.2sT%.2s%.2s%.2sZ", plain, plain + 5, plain + 8,
                   plain + 11, plain + 14, plain + 17);
}

/* HMACs of day, region, service and terminator, each keyed by the one before. */
static void derive_key(const struct signing *s, uint8_t key[CV_SHA2_BYTES_MAX])
{
    CV_CLEANUP(cv_buf_release) struct cv_buf first = CV_BUF_INIT(0);
    const char *steps[] = {s->sign->region, s->sign->service, SCOPE_TERMINATOR};

    cv_buf_printf(&first, "AWS4%s", s->sign->credentials->secret_access_key);
    cv_hmac(CV_SHA256, first.data, first.length, s->time, DAY_TEXT_LENGTH, key);
    explicit_bzero(first.data, first.capacity);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(steps); i++) {
        uint8_t next[CV_SHA2_BYTES_MAX];

        cv_hmac(CV_SHA256, key, SHA256_BYTES, steps[i], strlen(steps[i]), next);
        memcpy(key, next, SHA256_BYTES);
        explicit_bzero(next, sizeof next);
    }
}

static enum cv_code canonical_request(struct signing *s, struct cv_buf *out, struct cv_error *err)
{
    cv_buf_printf(out, "%s\n", s->request->method);
    append_path(s, out);
    cv_buf_append_byte(out, '\n');
    CV_DO(append_query(s, out, err));
    cv_buf_append_byte(out, '\n');
    append_headers(s, out);
    cv_buf_printf(out, "\n%s\n%s", s->signed_names, s->body_hash);
    return cv_buf_check(out, "request to sign", err);
}

static const char *signature_of(struct signing *s, const struct cv_buf *canonical)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    CV_CLEANUP(cv_buf_release) struct cv_buf hex = CV_BUF_INIT(0);
    uint8_t key[CV_SHA2_BYTES_MAX];
    uint8_t signature[CV_SHA2_BYTES_MAX];
    char hash[SHA256_HEX_BYTES];

    hash_hex(canonical->data, canonical->length, hash);
    cv_buf_printf(&text, ALGORITHM "\n%s\n%s\n%s", s->time, s->scope, hash);
    derive_key(s, key);
    cv_hmac(CV_SHA256, key, SHA256_BYTES, text.data, text.length, signature);
    explicit_bzero(key, sizeof key);
    cv_hex_encode(signature, SHA256_BYTES, &hex);
    return cv_arena_strdup(s->arena, cv_buf_text(&hex));
}

enum cv_code cv_sign_request(const struct cv_sign *sign, const struct cv_http_request *request,
                             struct cv_arena *arena, const struct cv_http_header **ret_headers,
                             size_t *ret_count, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf canonical = CV_BUF_INIT(CANONICAL_MAX);
    struct signing s = {.sign = sign, .request = request, .arena = arena};

    if (!sign->credentials->access_key_id) {
        *ret_headers = request->headers;
        *ret_count = request->header_count;
        return CV_OK;
    }
    if (request->header_count > CV_HTTP_HEADERS_MAX - CV_SIGN_HEADERS_MAX)
        return cv_fail(err, CV_LIMIT, "%zu HTTP headers are too many to sign",
                       request->header_count);
    CV_DO(split_url(request->url, &s.url, err));
    s.headers =
        cv_arena_array(arena, struct cv_http_header, request->header_count + CV_SIGN_HEADERS_MAX);
    format_time(sign->now_ms, s.time);
    s.scope = cv_arena_printf(arena, "%.*s/%s/%s/" SCOPE_TERMINATOR, DAY_TEXT_LENGTH, s.time,
                              sign->region, sign->service);
    collect_headers(&s);
    CV_DO(canonical_request(&s, &canonical, err));
    add(&s, "Authorization",
        cv_arena_printf(arena, ALGORITHM " Credential=%s/%s, SignedHeaders=%s, Signature=%s",
                        sign->credentials->access_key_id, s.scope, s.signed_names,
                        signature_of(&s, &canonical)));
    *ret_headers = s.headers;
    *ret_count = s.count;
    return CV_OK;
}
