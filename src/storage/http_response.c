/* SPDX-License-Identifier: Apache-2.0
 *
 * What an answer's headers say, and URLs for messages. */
#include "base/time.h"
#include "storage/http.h"

#include <curl/curl.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define RETRY_AFTER_MS_MAX INT64_C(3600000)

void cv_http_response_release(struct cv_http_response *response)
{
    cv_buf_release(&response->body);
    cv_buf_release(&response->headers);
    response->status = 0;
}

/* One line of the header block and the rest behind it. */
static struct cv_str take_line(struct cv_str *rest)
{
    const char *end = memchr(rest->ptr, '\n', rest->length);
    struct cv_str line = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->length};
    size_t taken = line.length + (end ? 1 : 0);

    rest->ptr += taken;
    rest->length -= taken;
    return line;
}

struct cv_str cv_http_response_header(const struct cv_http_response *response, const char *name)
{
    struct cv_str rest = {(const char *)response->headers.data, response->headers.length};
    struct cv_str found = {"", 0};
    size_t name_length = strlen(name);

    while (rest.length) {
        struct cv_str line = take_line(&rest);

        if (line.length > name_length && line.ptr[name_length] == ':' &&
            strncasecmp(line.ptr, name, name_length) == 0)
            found = cv_str_trim(
                (struct cv_str){line.ptr + name_length + 1, line.length - name_length - 1});
    }
    return found;
}

/* An HTTP date (RFC 9110, 5.6.7) as ms since the epoch; -1 when it is none. */
static int64_t parse_date_ms(struct cv_str text)
{
    char copy[64];
    time_t seconds;

    if (text.length == 0 || text.length >= sizeof copy)
        return -1;
    (void)snprintf(copy, sizeof copy, "%.*s", CV_STR_ARG(text));
    seconds = curl_getdate(copy, NULL);
    return seconds < 0 ? -1 : (int64_t)seconds * 1000;
}

int64_t cv_http_retry_after_ms(const struct cv_http_response *response)
{
    struct cv_str value = cv_http_response_header(response, "Retry-After");
    int64_t date_ms;
    int64_t seconds;

    if (value.length == 0)
        return -1;
    if (cv_parse_i64(value, &seconds)) {
        seconds = CV_MAX(seconds, 0);
        return seconds > RETRY_AFTER_MS_MAX / 1000 ? RETRY_AFTER_MS_MAX : seconds * 1000;
    }
    date_ms = parse_date_ms(value);
    if (date_ms < 0)
        return -1;
    return CV_MIN(CV_MAX(date_ms - cv_now_ms(), 0), RETRY_AFTER_MS_MAX);
}

int64_t cv_http_response_date_ms(const struct cv_http_response *response)
{
    return parse_date_ms(cv_http_response_header(response, "Date"));
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
