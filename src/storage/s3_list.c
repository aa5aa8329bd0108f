/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects below a prefix (ListObjectsV2) and multipart uploads that nobody ended, page by page. */
#include "storage/s3_int.h"

#include "storage/sign.h"

#include <stdio.h>
#include <stdlib.h>

#define PAGES_MAX       1000000 /* of up to 1000 objects; a server that never ends is noticed */
#define EMPTY_PAGES_MAX 1000    /* in a row: a service may look through much for nothing */

struct lister;

/* One item of a page; its location lives as long as the page. */
typedef enum cv_code take_item(const struct lister *lister, const struct s3_listed *item,
                               const char *location, struct cv_error *err);

struct lister {
    struct s3_store *store;
    const char *location; /* the folder's, with a slash at its end: credentials may be for below */
    struct s3_location at;
    char root[S3_BUCKET_BYTES_MAX + 16]; /* "s3://bucket/" in the prefix's own scheme */
    const char *folder;                  /* the key with a slash at its end; "" = the bucket */
    const char *next, *next_upload;
    const char *query;
    struct s3_page page;
    const char *(*make_query)(const struct lister *lister, struct cv_arena *arena);
    take_item *take;
    const void *listener;
    bool one_key;     /* what is listed is a key, not a folder */
    int attempts_max; /* of each request; 0 = as the store's policy says */
    int pages, empty_pages;
    int next_mark; /* page that is the mark from then on */
    char *mark;    /* what its first item is called; NULL = none yet */
};

static void lister_release(struct lister *lister)
{
    cv_freep(&lister->mark);
}

/* In place: "a%2Fb+c" → "a/b c". */
static void decode_url(char *text)
{
    text[cv_uri_decode(text, strlen(text), true)] = '\0';
}

static enum cv_code begin_list(struct lister *lister, struct s3_store *store, const char *prefix,
                               struct cv_arena *arena, struct cv_error *err)
{
    size_t length;

    lister->store = store;
    lister->location = prefix;
    CV_DO(s3_location_split(prefix, &lister->at, err));
    (void)snprintf(lister->root, sizeof lister->root, "%.*s%s/",
                   (int)(strstr(prefix, "://") + 3 - prefix), prefix, lister->at.bucket);
    length = strlen(lister->at.key);
    lister->folder = length && lister->at.key[length - 1] != '/' && !lister->one_key
                         ? cv_arena_printf(arena, "%s/", lister->at.key)
                         : lister->at.key;
    lister->location = cv_arena_printf(arena, "%s%s", lister->root, lister->folder);
    return CV_OK;
}

static enum cv_code get_page(struct lister *lister, struct cv_arena *arena, struct cv_error *err)
{
    CV_CLEANUP(s3_answer_release) struct s3_answer answer = {0};
    const struct s3_request request = {
        .action = "list",
        .location = lister->location,
        .kind = CV_REQUEST_LIST,
        .method = "GET",
        .bucket = lister->at.bucket,
        .query = lister->query,
        .response_bytes_max = S3_LIST_BYTES_MAX,
        .attempts_max = lister->attempts_max,
        .xml = true,
    };

    CV_DO(s3_send(lister->store, &request, &answer, err));
    CV_TRY(s3_parse_page(answer.http.body.data, answer.http.body.length, arena, &lister->page, err),
           err, "cannot list %.1000s", lister->location);
    for (size_t i = 0; lister->page.encoded && i < lister->page.count; i++)
        decode_url((char *)lister->page.items[i].key);
    return CV_OK;
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Whether there is a next page; its beginning is copied, since the page's arena is reset. */
static enum cv_code go_on(struct lister *lister, struct cv_arena *kept, bool *ret_more,
                          struct cv_error *err)
{
    const struct s3_page *page = &lister->page;

    *ret_more = page->truncated;
    if (!page->truncated)
        return CV_OK;
    if (is_same(lister->next, page->next) && is_same(lister->next_upload, page->next_upload))
        return cv_fail(err, CV_FORMAT, "cannot list %.1000s: a page names itself as the next one",
                       lister->location);
    cv_arena_reset(kept);
    lister->next = cv_arena_strdup(kept, page->next);
    lister->next_upload = page->next_upload ? cv_arena_strdup(kept, page->next_upload) : NULL;
    return CV_OK;
}

/* A continuation token is opaque; markers are keys and come encoded where keys do. */
static const char *object_query(const struct lister *lister, struct cv_arena *arena)
{
    const char *token = lister->next ? cv_arena_printf(arena, "continuation-token=%s&",
                                                       cv_uri_encode(lister->next, false, arena))
                                     : "";

    return cv_arena_printf(arena, "%sencoding-type=url&list-type=2&max-keys=1000&prefix=%s", token,
                           cv_uri_encode(lister->folder, false, arena));
}

static const char *upload_query(const struct lister *lister, struct cv_arena *arena)
{
    char *marker = lister->next ? cv_arena_strdup(arena, lister->next) : NULL;
    const char *key = "";
    const char *id = "";

    if (marker && lister->page.encoded)
        decode_url(marker);
    if (marker)
        key = cv_arena_printf(arena, "key-marker=%s&", cv_uri_encode(marker, false, arena));
    if (lister->next_upload && *lister->next_upload)
        id = cv_arena_printf(arena, "&upload-id-marker=%s",
                             cv_uri_encode(lister->next_upload, false, arena));
    return cv_arena_printf(arena, "encoding-type=url&%smax-uploads=1000&prefix=%s%s&uploads=", key,
                           cv_uri_encode(lister->folder, false, arena), id);
}

/* An item comes once in a listing: where one begins a second page, the pages go round for ever. The
 * mark is at page 1, 2, 4, 8 …, so that any round is noticed. */
static enum cv_code check_progress(struct lister *lister, struct cv_arena *arena,
                                   struct cv_error *err)
{
    const struct s3_listed *item = lister->page.count ? lister->page.items : NULL;
    const char *first =
        item ? cv_arena_printf(arena, "%s?%s", item->key, item->id ? item->id : "") : NULL;

    lister->empty_pages = first ? 0 : lister->empty_pages + 1;
    if (lister->empty_pages > EMPTY_PAGES_MAX)
        return cv_fail(err, CV_LIMIT, "cannot list %.1000s: %d pages one after the other are empty",
                       lister->location, lister->empty_pages);
    if (first && lister->mark && strcmp(first, lister->mark) == 0)
        return cv_fail(err, CV_FORMAT,
                       "cannot list %.1000s: the service gives a page again that it gave before",
                       lister->location);
    if (++lister->pages > PAGES_MAX)
        return cv_fail(err, CV_LIMIT, "cannot list %.1000s: more than %d pages", lister->location,
                       PAGES_MAX);
    if (first && lister->pages >= lister->next_mark) {
        free(lister->mark);
        lister->mark = cv_strdup(first);
        lister->next_mark = lister->pages * 2;
    }
    return CV_OK;
}

static enum cv_code take_page(const struct lister *lister, struct cv_arena *arena,
                              struct cv_error *err)
{
    for (size_t i = 0; i < lister->page.count; i++) {
        const struct s3_listed *item = &lister->page.items[i];

        CV_DO(lister->take(lister, item, cv_arena_printf(arena, "%s%s", lister->root, item->key),
                           err));
    }
    return CV_OK;
}

static enum cv_code list_pages(struct lister *lister, struct cv_store *base, const char *prefix,
                               struct cv_error *err)
{
    struct cv_arena whole CV_CLEANUP(cv_arena_release) = CV_ARENA_INIT;
    struct cv_arena kept CV_CLEANUP(cv_arena_release) = CV_ARENA_INIT;
    struct cv_arena arena CV_CLEANUP(cv_arena_release) = CV_ARENA_INIT;
    bool more = true;

    CV_DO(begin_list(lister, (struct s3_store *)base, prefix, &whole, err));
    while (more) {
        cv_arena_reset(&arena);
        lister->query = lister->make_query(lister, &arena);
        CV_DO(get_page(lister, &arena, err));
        CV_DO(check_progress(lister, &arena, err));
        CV_DO(take_page(lister, &arena, err));
        CV_DO(go_on(lister, &kept, &more, err));
    }
    return CV_OK;
}

struct file_listener {
    enum cv_code (*each)(void *context, const struct cv_listed_file *, struct cv_error *);
    void *context;
};

/* A file of somewhere else would be taken for one that nothing refers to. */
static enum cv_code take_file(const struct lister *lister, const struct s3_listed *item,
                              const char *location, struct cv_error *err)
{
    const struct file_listener *listener = lister->listener;
    const struct cv_listed_file file = {location, item->size, item->time_ms};
    const size_t length = strlen(item->key);

    if (!cv_text_starts_with(item->key, lister->folder))
        return cv_fail(err, CV_FORMAT,
                       "cannot list %.1000s: the answer has %.300s, which is not below",
                       lister->location, item->key);
    if (length == 0 || item->key[length - 1] == '/') /* what consoles make for a folder */
        return CV_OK;
    return listener->each(listener->context, &file, err);
}

enum cv_code s3_list(struct cv_store *base, const char *prefix,
                     enum cv_code (*each)(void *context, const struct cv_listed_file *,
                                          struct cv_error *),
                     void *context, struct cv_error *err)
{
    const struct file_listener listener = {each, context};
    CV_CLEANUP(lister_release)
    struct lister lister = {.make_query = object_query, .take = take_file, .listener = &listener};

    return list_pages(&lister, base, prefix, err);
}

struct upload_listener {
    enum cv_code (*each)(void *context, const struct cv_open_upload *, struct cv_error *);
    void *context;
};

/* Some services take no prefix here. */
static enum cv_code take_upload(const struct lister *lister, const struct s3_listed *item,
                                const char *location, struct cv_error *err)
{
    const struct upload_listener *listener = lister->listener;
    const struct cv_open_upload upload = {location, item->id, item->time_ms};

    if (!item->id || !cv_text_starts_with(item->key, lister->folder))
        return CV_OK;
    return listener->each(listener->context, &upload, err);
}

static enum cv_code list_uploads(struct lister lister, struct cv_store *base, const char *prefix,
                                 const struct upload_listener *listener, struct cv_error *err)
{
    CV_CLEANUP(lister_release) struct lister own = lister;

    own.make_query = upload_query;
    own.take = take_upload;
    own.listener = listener;
    return list_pages(&own, base, prefix, err);
}

enum cv_code s3_list_uploads(struct cv_store *base, const char *prefix,
                             enum cv_code (*each)(void *context, const struct cv_open_upload *,
                                                  struct cv_error *),
                             void *context, struct cv_error *err)
{
    const struct upload_listener listener = {each, context};

    return list_uploads((struct lister){0}, base, prefix, &listener, err);
}

enum cv_code s3_list_uploads_of(struct s3_store *store, const char *location, int attempts_max,
                                enum cv_code (*each)(void *context, const struct cv_open_upload *,
                                                     struct cv_error *),
                                void *context, struct cv_error *err)
{
    const struct upload_listener listener = {each, context};

    return list_uploads((struct lister){.one_key = true, .attempts_max = attempts_max},
                        &store->base, location, &listener, err);
}

enum cv_code s3_abort_upload(struct cv_store *base, const struct cv_open_upload *upload,
                             struct cv_error *err)
{
    struct cv_arena arena CV_CLEANUP(cv_arena_release) = CV_ARENA_INIT;
    CV_CLEANUP(s3_answer_release) struct s3_answer answer = {0};
    struct s3_location at;
    struct s3_request request = {
        .action = "abort the upload of",
        .location = upload->location,
        .kind = CV_REQUEST_MULTIPART,
        .method = "DELETE",
        .bucket = at.bucket,
        .key = at.key,
        .query = cv_arena_printf(&arena, "uploadId=%s", cv_uri_encode(upload->id, false, &arena)),
    };
    enum cv_code code;

    CV_DO(s3_location_split(upload->location, &at, err));
    code = s3_send((struct s3_store *)base, &request, &answer, err);
    return code == CV_NOT_FOUND ? CV_OK : code;
}
