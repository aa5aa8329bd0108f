/* SPDX-License-Identifier: Apache-2.0
 *
 * Listing: all namespaces, nested ones below them, and their tables, page by page. */
#include "catalog/rest/rest_int.h"

#include "storage/sign.h"

#include <stdlib.h>

struct names {
    char **items;
    size_t count;
    size_t capacity;
};

static void names_release(struct names *names)
{
    free(names->items);
}

static enum cv_code add_name(struct names *names, char *name, size_t max, const char *what,
                             struct cv_error *err)
{
    if (names->count >= max)
        return cv_fail(err, CV_LIMIT, "the catalog has more than %zu %s", max, what);
    cv_array_reserve(&names->items, &names->capacity, names->count + 1);
    names->items[names->count++] = name;
    return CV_OK;
}

struct listing {
    struct cv_rest_catalog *catalog;
    struct cv_arena *arena;
    struct names namespaces; /* levels joined by 0x1f, in the order of finding */
    struct names tables;     /* "ns.table" */
};

static const char *page_url(const struct cv_rest_catalog *catalog, const char *path,
                            const char *parent, const char *token, struct cv_arena *arena)
{
    const char *url = cv_arena_printf(arena, "%s?pageToken=%s", cv_rest_url(catalog, path, arena),
                                      cv_uri_encode(token, false, arena));

    if (catalog->settings.page_size)
        url =
            cv_arena_printf(arena, "%s&pageSize=%lld", url, (long long)catalog->settings.page_size);
    if (parent)
        url = cv_arena_printf(arena, "%s&parent=%s", url, cv_uri_encode(parent, false, arena));
    return url;
}

/* All pages of one listing; `each` gets a page's names. */
static enum cv_code list_pages(struct listing *listing, const char *path, const char *parent,
                               bool tables, const char *what, struct names *found,
                               struct cv_error *err)
{
    const char *token = "";
    const char *last;

    for (int page = 0; token; page++) {
        CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
        struct cv_rest_call call = {
            .verb = CV_REST_READ, .kind = CV_REQUEST_CATALOG_READ, .method = "GET", .what = what};
        char **names;
        size_t count;

        if (page >= CV_REST_PAGES_MAX)
            return cv_fail(err, CV_LIMIT, "%s: more than %d pages", what, CV_REST_PAGES_MAX);
        last = token;
        call.url = page_url(listing->catalog, path, parent, token, listing->arena);
        CV_DO(cv_rest_send(listing->catalog, &call, &response, NULL, err));
        CV_TRY(cv_rest_read_page(response.body.data, response.body.length, tables, listing->arena,
                                 &names, &count, &token, err),
               err, "%s", what);
        if (token && strcmp(token, last) == 0)
            return cv_fail(err, CV_FORMAT, "%s: a page names itself as the next one", what);
        for (size_t i = 0; i < count; i++)
            CV_DO(add_name(found, names[i], tables ? CV_REST_TABLES_MAX : CV_REST_NAMESPACES_MAX,
                           tables ? "tables" : "namespaces", err));
    }
    return CV_OK;
}

/* "a\x1f b" → its levels. */
static const char **split_levels(const char *joined, struct cv_arena *arena, size_t *ret_count)
{
    const char **levels = cv_arena_array(arena, const char *, CV_REST_DEPTH_MAX + 1);
    size_t count = 0;

    for (;;) {
        size_t length = strcspn(joined, "\x1f");

        levels[count++] = cv_arena_strndup(arena, joined, length);
        if (!joined[length] || count > CV_REST_DEPTH_MAX)
            break;
        joined += length + 1;
    }
    *ret_count = count;
    return levels;
}

static const char *join(const char *const *levels, size_t count, const char *between,
                        struct cv_arena *arena)
{
    const char *joined = levels[0];

    for (size_t i = 1; i < count; i++)
        joined = cv_arena_printf(arena, "%s%s%s", joined, between, levels[i]);
    return joined;
}

/* Some servers have no namespaces below others, and say so in many ways. */
static bool is_refusal(enum cv_code code, const struct cv_error *why)
{
    return code == CV_NOT_FOUND || code == CV_UNSUPPORTED ||
           (code == CV_CATALOG && !(why->flags & CV_ERROR_RETRIABLE));
}

/* Servers answer a namespace below itself, or refuse to look below at all. */
static enum cv_code list_below(struct listing *listing, const char *joined, const char *parent,
                               const char *text, struct cv_error *err)
{
    CV_CLEANUP(names_release) struct names found = {0};
    struct cv_error why = CV_ERROR_INIT;
    size_t length = strlen(joined);
    enum cv_code code =
        list_pages(listing, "namespaces", parent, false,
                   cv_arena_printf(listing->arena, "namespaces below %s", text), &found, &why);

    if (is_refusal(code, &why))
        return CV_OK;
    if (code != CV_OK) {
        if (err)
            *err = why;
        return code;
    }
    for (size_t i = 0; i < found.count; i++)
        if (strncmp(found.items[i], joined, length) == 0 && found.items[i][length] == '\x1f')
            CV_DO(add_name(&listing->namespaces, found.items[i], CV_REST_NAMESPACES_MAX,
                           "namespaces", err));
    return CV_OK;
}

static enum cv_code list_namespace(struct listing *listing, const char *joined,
                                   struct cv_error *err)
{
    const struct cv_rest_catalog *catalog = listing->catalog;
    struct cv_arena *arena = listing->arena;
    CV_CLEANUP(names_release) struct names found = {0};
    size_t count;
    const char **levels = split_levels(joined, arena, &count);
    const char *text = join(levels, count, ".", arena);
    const char *path = cv_arena_printf(arena, "namespaces/%s/tables",
                                       cv_rest_namespace_segment(catalog, levels, count, arena));
    enum cv_code code = list_pages(listing, path, NULL, true,
                                   cv_arena_printf(arena, "tables of %s", text), &found, err);

    if (code == CV_NOT_FOUND) { /* dropped meanwhile */
        cv_error_clear(err);
        return CV_OK;
    }
    CV_DO(code);
    for (size_t i = 0; i < found.count; i++)
        CV_DO(add_name(&listing->tables, cv_arena_printf(arena, "%s.%s", text, found.items[i]),
                       CV_REST_TABLES_MAX, "tables", err));
    if (count < CV_REST_DEPTH_MAX)
        CV_DO(
            list_below(listing, joined, join(levels, count, catalog->separator, arena), text, err));
    return CV_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum cv_code list_all(struct listing *listing, struct cv_error *err)
{
    CV_DO(list_pages(listing, "namespaces", NULL, false, "namespaces", &listing->namespaces, err));
    for (size_t i = 0; i < listing->namespaces.count; i++)
        CV_DO(list_namespace(listing, listing->namespaces.items[i], err));
    if (listing->tables.count)
        qsort(listing->tables.items, listing->tables.count, sizeof *listing->tables.items,
              compare_names);
    return CV_OK;
}

enum cv_code cv_rest_list(struct cv_catalog *base, struct cv_arena *arena, char ***ret_names,
                          size_t *ret_count, struct cv_error *err)
{
    struct cv_rest_catalog *catalog = (struct cv_rest_catalog *)base;
    struct listing listing = {.catalog = catalog, .arena = arena};
    enum cv_code code = cv_rest_configure(catalog, err);

    if (code == CV_OK)
        code = list_all(&listing, err);
    if (code == CV_OK) {
        *ret_count = 0;
        *ret_names = cv_arena_array(arena, char *, listing.tables.count);
        for (size_t i = 0; i < listing.tables.count; i++)
            if (!i || strcmp(listing.tables.items[i], listing.tables.items[i - 1]) != 0)
                (*ret_names)[(*ret_count)++] = listing.tables.items[i];
    }
    names_release(&listing.namespaces);
    names_release(&listing.tables);
    return code;
}

enum cv_code cv_rest_try_listing(struct cv_rest_catalog *catalog, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    struct cv_rest_call call = {
        .verb = CV_REST_READ,
        .kind = CV_REQUEST_CATALOG_READ,
        .method = "GET",
        .url = cv_rest_url(catalog, "namespaces?pageToken=&pageSize=1", &arena),
        .what = "namespaces"};
    const char *next;
    char **names;
    size_t count;

    CV_DO(cv_rest_send(catalog, &call, &response, NULL, err));
    CV_TRY(cv_rest_read_page(response.body.data, response.body.length, false, &arena, &names,
                             &count, &next, err),
           err, "namespaces");
    return CV_OK;
}
