/* SPDX-License-Identifier: Apache-2.0
 *
 * What S3's XML answers say. */
#include "storage/s3_int.h"

#include "base/time.h"
#include "storage/xml.h"

#include <stdio.h>

/* The path without its root element: "Error/Code" → "Code". */
static const char *below_root(const char *path)
{
    const char *slash = strchr(path, '/');

    return slash ? slash + 1 : "";
}

static void copy_text(char *to, size_t size, struct cv_str text)
{
    size_t length = CV_MIN(text.length, size - 1);

    memcpy(to, text.ptr, length);
    to[length] = '\0';
    for (char *c = to; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
}

static void take_error(void *context, const char *path, struct cv_str text)
{
    struct s3_error *error = context;

    if (!cv_text_starts_with(path, "Error/"))
        return;
    if (strcmp(path, "Error/Code") == 0)
        copy_text(error->code, sizeof error->code, text);
    else if (strcmp(path, "Error/Message") == 0)
        copy_text(error->message, sizeof error->message, text);
    else if (strcmp(path, "Error/RequestId") == 0)
        copy_text(error->request_id, sizeof error->request_id, text);
    else if (strcmp(path, "Error/Region") == 0)
        copy_text(error->region, sizeof error->region, text);
}

bool s3_parse_error(const void *bytes, size_t length, struct s3_error *ret_error)
{
    *ret_error = (struct s3_error){0};
    if (length == 0 || length > S3_ERROR_BYTES_MAX)
        return false;
    /* what was read before a fault of the XML counts: some proxies cut an answer */
    (void)cv_xml_read(bytes, length, take_error, ret_error, NULL);
    return ret_error->code[0] != '\0';
}

/* "2009-10-12T17:50:30.000Z", the fraction optional; -1 = something else. */
static int64_t parse_time(const char *text)
{
    int year, month, day, hour, minute, second;
    int used = 0;
    int64_t ms = 0;

    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second,
               &used) != 6 ||
        month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 23 || minute < 0 ||
        minute > 59 || second < 0 || second > 60 || year < 1970)
        return -1;
    text += used;
    if (*text == '.')
        for (int scale = 100; *++text >= '0' && *text <= '9'; scale /= 10)
            ms += (*text - '0') * scale;
    return cv_days_from_civil(year, month, day) * 86400000 +
           ((int64_t)hour * 3600 + (int64_t)minute * 60 + second) * 1000 + ms;
}

struct page_reader {
    struct s3_page *page;
    struct cv_arena *arena;
    struct s3_listed item;
    bool is_page;
    bool wrong;
};

static void finish_item(struct page_reader *reader, bool sized)
{
    struct s3_page *page = reader->page;

    if (!reader->item.key || (sized && reader->item.size < 0))
        reader->wrong = true;
    if (!page->items || page->count == page->capacity) {
        size_t capacity = page->capacity ? page->capacity * 2 : 64;
        struct s3_listed *items = cv_arena_array(reader->arena, struct s3_listed, capacity);

        if (page->count)
            memcpy(items, page->items, page->count * sizeof *items);
        page->items = items;
        page->capacity = capacity;
    }
    page->items[page->count++] = reader->item;
    reader->item = (struct s3_listed){.size = -1, .time_ms = -1};
}

static void take_item(struct page_reader *reader, const char *name, struct cv_str text)
{
    if (strcmp(name, "Key") == 0)
        reader->item.key = cv_arena_strndup(reader->arena, text.ptr, text.length);
    else if (strcmp(name, "UploadId") == 0)
        reader->item.id = cv_arena_strndup(reader->arena, text.ptr, text.length);
    else if (strcmp(name, "Size") == 0)
        reader->wrong |= !cv_parse_i64(text, &reader->item.size);
    else if (strcmp(name, "LastModified") == 0 || strcmp(name, "Initiated") == 0)
        reader->item.time_ms = parse_time(text.ptr);
}

static void take_page(void *context, const char *path, struct cv_str text)
{
    struct page_reader *reader = context;
    struct s3_page *page = reader->page;
    const char *name = below_root(path);

    if (!*name)
        reader->is_page = strcmp(path, "ListBucketResult") == 0 ||
                          strcmp(path, "ListMultipartUploadsResult") == 0;
    else if (strcmp(name, "Contents") == 0)
        finish_item(reader, true);
    else if (strcmp(name, "Upload") == 0)
        finish_item(reader, false);
    else if (cv_text_starts_with(name, "Contents/"))
        take_item(reader, name + 9, text);
    else if (cv_text_starts_with(name, "Upload/"))
        take_item(reader, name + 7, text);
    else if (strcmp(name, "IsTruncated") == 0)
        page->truncated = cv_str_is(cv_str_trim(text), "true");
    else if (strcmp(name, "EncodingType") == 0)
        page->encoded = cv_str_is(cv_str_trim(text), "url");
    else if (strcmp(name, "NextContinuationToken") == 0 || strcmp(name, "NextKeyMarker") == 0)
        page->next = cv_arena_strndup(reader->arena, text.ptr, text.length);
    else if (strcmp(name, "NextUploadIdMarker") == 0)
        page->next_upload = cv_arena_strndup(reader->arena, text.ptr, text.length);
}

enum cv_code s3_parse_page(const void *bytes, size_t length, struct cv_arena *arena,
                           struct s3_page *ret_page, struct cv_error *err)
{
    struct s3_page page = {0};
    struct page_reader reader = {
        .page = &page, .arena = arena, .item = {.size = -1, .time_ms = -1}};

    CV_DO(cv_xml_read(bytes, length, take_page, &reader, err));
    if (!reader.is_page) /* what something on the way says is no empty folder */
        return cv_fail(err, CV_FORMAT, "answer is neither a list of files nor of uploads");
    if (reader.wrong)
        return cv_fail(err, CV_FORMAT, "answer lists a file without a key or with a bad size");
    if (page.truncated && !page.next)
        return cv_fail(err, CV_FORMAT, "answer is cut and does not say where it goes on");
    *ret_page = page;
    return CV_OK;
}

struct deleted_reader {
    struct cv_arena *arena;
    struct s3_refused *items;
    size_t count, capacity;
    struct s3_refused item;
    bool is_result;
};

static void take_deleted(void *context, const char *path, struct cv_str text)
{
    struct deleted_reader *reader = context;
    const char *name = below_root(path);

    if (!*name) {
        reader->is_result = strcmp(path, "DeleteResult") == 0;
    } else if (strcmp(name, "Error") == 0) {
        if (reader->count == reader->capacity) {
            struct s3_refused *items;

            reader->capacity = reader->capacity ? reader->capacity * 2 : 16;
            items = cv_arena_array(reader->arena, struct s3_refused, reader->capacity);
            if (reader->count)
                memcpy(items, reader->items, reader->count * sizeof *items);
            reader->items = items;
        }
        reader->items[reader->count++] = reader->item;
        reader->item = (struct s3_refused){"", "", ""};
    } else if (strcmp(name, "Error/Key") == 0) {
        reader->item.key = cv_arena_strndup(reader->arena, text.ptr, text.length);
    } else if (strcmp(name, "Error/Code") == 0) {
        reader->item.code = cv_arena_strndup(reader->arena, text.ptr, CV_MIN(text.length, 64));
    } else if (strcmp(name, "Error/Message") == 0) {
        reader->item.message = cv_arena_strndup(reader->arena, text.ptr, CV_MIN(text.length, 512));
    }
}

enum cv_code s3_parse_deleted(const void *bytes, size_t length, struct cv_arena *arena,
                              struct s3_refused **ret_items, size_t *ret_count,
                              struct cv_error *err)
{
    struct deleted_reader reader = {.arena = arena, .item = {"", "", ""}};

    CV_DO(cv_xml_read(bytes, length, take_deleted, &reader, err));
    if (!reader.is_result)
        return cv_fail(err, CV_FORMAT, "answer is no DeleteResult");
    *ret_items = reader.items;
    *ret_count = reader.count;
    return CV_OK;
}

struct id_reader {
    struct cv_arena *arena;
    const char *id;
};

static void take_id(void *context, const char *path, struct cv_str text)
{
    struct id_reader *reader = context;

    if (strcmp(below_root(path), "UploadId") == 0 && text.length)
        reader->id = cv_arena_strndup(reader->arena, text.ptr, text.length);
}

enum cv_code s3_parse_upload_id(const void *bytes, size_t length, struct cv_arena *arena,
                                const char **ret_id, struct cv_error *err)
{
    struct id_reader reader = {arena, NULL};

    CV_DO(cv_xml_read(bytes, length, take_id, &reader, err));
    if (!reader.id)
        return cv_fail(err, CV_FORMAT, "answer has no UploadId");
    *ret_id = reader.id;
    return CV_OK;
}

static void take_completed(void *context, const char *path, struct cv_str text)
{
    (void)text;
    if (strcmp(path, "CompleteMultipartUploadResult") == 0)
        *(bool *)context = true;
}

enum cv_code s3_parse_completed(const void *bytes, size_t length, struct cv_error *err)
{
    bool completed = false;

    CV_DO(cv_xml_read(bytes, length, take_completed, &completed, err));
    if (!completed)
        return cv_fail(err, CV_FORMAT, "answer is no CompleteMultipartUploadResult");
    return CV_OK;
}

bool s3_xml_can_hold(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' && *c != '\t' && *c != '\n' && *c != '\r')
            return false;
    return strstr(text, "\xef\xbf\xbe") == NULL && strstr(text, "\xef\xbf\xbf") == NULL;
}

void s3_xml_escape(struct cv_buf *out, const char *text)
{
    for (const char *c = text; *c; c++)
        switch (*c) {
        case '&':
            cv_buf_append_text(out, "&amp;");
            break;
        case '<':
            cv_buf_append_text(out, "&lt;");
            break;
        case '>':
            cv_buf_append_text(out, "&gt;");
            break;
        case '"':
            cv_buf_append_text(out, "&quot;");
            break;
        case '\r':
        case '\n':
        case '\t':
            cv_buf_printf(out, "&#%d;", *c);
            break;
        default:
            cv_buf_append_byte(out, (uint8_t)*c);
        }
}
