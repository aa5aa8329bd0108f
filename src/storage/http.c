/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP requests by libcurl's easy interface; one handle per client keeps connections. */
#include "storage/http.h"

#include <curl/curl.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REDIRECTS_MAX 5L

struct cv_http_client {
    CURL *curl;
    char *user_info;
    char *bearer_token;
    char *ca_file;
    long connect_timeout_ms;
    long timeout_ms;
    size_t response_bytes_max;
    char reason[CURL_ERROR_SIZE];
};

/* Of one request. */
struct answer {
    struct cv_buf *body;
    size_t before;
    size_t max;
    bool too_large;
};

static void init_library(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

static char *copy_or_null(const char *text)
{
    return text ? cv_strdup(text) : NULL;
}

enum cv_code cv_http_client_new(const struct cv_http_config *config,
                                struct cv_http_client **ret_client, struct cv_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct cv_http_client *client;
    CURL *curl;

    (void)pthread_once(&once, init_library);
    curl = curl_easy_init();
    if (!curl)
        return cv_fail(err, CV_INTERNAL, "cannot start the HTTP client");
    client = cv_alloc(sizeof *client);
    client->curl = curl;
    client->user_info = copy_or_null(config->user_info);
    client->bearer_token = copy_or_null(config->bearer_token);
    client->ca_file = copy_or_null(config->ca_file);
    client->connect_timeout_ms =
        (long)(config->connect_timeout_ms > 0 ? config->connect_timeout_ms
                                              : CV_HTTP_CONNECT_TIMEOUT_MS);
    client->timeout_ms = (long)(config->timeout_ms > 0 ? config->timeout_ms : CV_HTTP_TIMEOUT_MS);
    client->response_bytes_max =
        config->response_bytes_max ? config->response_bytes_max : CV_HTTP_RESPONSE_BYTES_MAX;
    *ret_client = client;
    return CV_OK;
}

void cv_http_client_free(struct cv_http_client *client)
{
    if (!client)
        return;
    curl_easy_cleanup(client->curl);
    free(client->user_info);
    free(client->bearer_token);
    free(client->ca_file);
    free(client);
}

void cv_http_url_for_message(const char *url, char text[512])
{
    const char *scheme_end = strstr(url, "://");
    const char *host = scheme_end ? scheme_end + 3 : url;
    size_t authority = strcspn(host, "/?#");
    const char *at = memrchr(host, '@', authority);
    int scheme_length = (int)(host - url);

    if (at)
        host = at + 1;
    (void)snprintf(text, 512, "%.*s%.*s", scheme_length, url, (int)strcspn(host, "?#"), host);
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
    struct answer *answer = context;
    size_t length = size * count;

    if (length > answer->max - (answer->body->length - answer->before)) {
        answer->too_large = true;
        return 0;
    }
    cv_buf_append(answer->body, bytes, length);
    answer->too_large = answer->body->failed;
    return answer->body->failed ? 0 : length;
}

static void free_headers(struct curl_slist **list)
{
    curl_slist_free_all(*list);
}

static enum cv_code add_header(struct curl_slist **list, const struct cv_http_header *header,
                               struct cv_error *err)
{
    CV_CLEANUP(cv_freep) char *line = NULL;
    size_t size = strlen(header->name) + strlen(header->value) + 3;
    struct curl_slist *longer;

    if (strpbrk(header->name, "\r\n:") || strpbrk(header->value, "\r\n"))
        return cv_fail(err, CV_CONFIG, "HTTP header %.100s holds a line break", header->name);
    line = cv_alloc(size);
    (void)snprintf(line, size, "%s: %s", header->name, header->value);
    longer = curl_slist_append(*list, line);
    if (!longer)
        return cv_fail(err, CV_INTERNAL, "out of memory for an HTTP header");
    *list = longer;
    return CV_OK;
}

static void set_security(struct cv_http_client *client, const char *url)
{
    CURL *curl = client->curl;

    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR,
                           strncasecmp(url, "https:", 6) == 0 ? "https" : "http,https");
    if (client->ca_file)
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, client->ca_file);
    if (client->user_info) {
        (void)curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        (void)curl_easy_setopt(curl, CURLOPT_USERPWD, client->user_info);
    }
    if (client->bearer_token) {
        (void)curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        (void)curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, client->bearer_token);
    }
}

static void set_request(struct cv_http_client *client, const char *url, struct curl_slist *headers,
                        struct answer *answer)
{
    CURL *curl = client->curl;

    curl_easy_reset(curl);
    client->reason[0] = '\0';
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, client->reason);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "calve/" CALVE_VERSION);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, client->connect_timeout_ms);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, client->timeout_ms);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    set_security(client, url);
}

static enum cv_code code_of(CURLcode result)
{
    switch (result) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_TOO_MANY_REDIRECTS:
        return CV_CONFIG;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
        return CV_AUTH;
    default:
        return CV_IO;
    }
}

static enum cv_code fail_request(const struct cv_http_client *client, const char *url,
                                 CURLcode result, const struct answer *answer, struct cv_error *err)
{
    enum cv_code code = code_of(result);
    char shown[512];

    cv_http_url_for_message(url, shown);
    if (answer->too_large)
        return cv_fail(err, CV_LIMIT, "%s answers with more than %zu bytes", shown, answer->max);
    (void)cv_fail(err, code, "no answer from %s: %s", shown,
                  client->reason[0] && result != CURLE_URL_MALFORMAT ? client->reason
                                                                     : curl_easy_strerror(result));
    if (code == CV_IO && err)
        err->flags |= CV_ERROR_RETRIABLE;
    if (code == CV_AUTH)
        cv_hint(err, "name the file of the authority that signed the server's certificate");
    return code;
}

enum cv_code cv_http_get(struct cv_http_client *client, const char *url,
                         const struct cv_http_header *headers, size_t header_count, int *ret_status,
                         struct cv_buf *ret_body, struct cv_error *err)
{
    CV_CLEANUP(free_headers) struct curl_slist *list = NULL;
    struct answer answer = {ret_body, ret_body->length, client->response_bytes_max, false};
    CURLcode result;
    long status = 0;

    if (header_count > CV_HTTP_HEADERS_MAX)
        return cv_fail(err, CV_LIMIT, "%zu HTTP headers are too many", header_count);
    for (size_t i = 0; i < header_count; i++)
        CV_DO(add_header(&list, &headers[i], err));
    set_request(client, url, list, &answer);
    result = curl_easy_perform(client->curl);
    if (result != CURLE_OK) {
        ret_body->length = answer.before;
        return fail_request(client, url, result, &answer, err);
    }
    (void)curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    *ret_status = (int)status;
    return CV_OK;
}
