/* SPDX-License-Identifier: Apache-2.0
 *
 * Other tables under the same folder: their files are no orphans. They are found by the catalog,
 * and by metadata files with another table-uuid, of whatever catalog. */
#include "maintain/orphan_int.h"

#include "iceberg/metadata_change.h"

#define HEAD_BYTES ((size_t)64 * 1024) /* where writers put the uuid */

static enum cv_code fail_other(const struct cv_orphan_search *search, const char *what,
                               struct cv_error *err)
{
    (void)cv_fail(err, CV_CONTRADICTION,
                  "another table has files below %.1000s: %.900s; nothing is deleted",
                  search->location, what);
    cv_hint(err, "name a folder of this table alone by --location, for example its data folder");
    return CV_CONTRADICTION;
}

static enum cv_code check_table(struct cv_orphan_search *search, const char *name,
                                struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_catalog *catalog = search->maintenance->catalog;
    const struct cv_table *table = search->maintenance->table;
    const char *full = cv_arena_printf(&arena, "%s.%s", table->name.catalog, name);
    struct cv_location_key key;
    struct cv_table_name parsed;
    const char *location;
    enum cv_code code;

    if (strcmp(name, cv_table_name_text(&table->name, &arena)) == 0 ||
        cv_table_name_parse(full, &arena, &parsed, NULL) != CV_OK || parsed.branch)
        return CV_OK;
    code = cv_catalog_find(catalog, &parsed, &arena, &location, err);
    if (code == CV_NOT_FOUND) { /* dropped meanwhile */
        cv_error_clear(err);
        return CV_OK;
    }
    CV_TRY(code, err, "where the files of %.300s are is not known, nothing is deleted", full);
    if (!cv_location_key_make(&search->rules, cv_str_from(location), &key) ||
        !cv_location_key_below(&key, &search->folder))
        return CV_OK;
    return fail_other(search, cv_arena_printf(&arena, "%s (%s)", full, location), err);
}

enum cv_code cv_orphan_check_catalog(struct cv_orphan_search *search, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_catalog *catalog = search->maintenance->catalog;
    char **names;
    size_t count;

    CV_DO(catalog->ops->list(catalog, &arena, &names, &count, err));
    for (size_t i = 0; i < count; i++)
        CV_DO(check_table(search, names[i], err));
    return CV_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The value of "table-uuid" in JSON text that may be cut off. */
static bool find_uuid(struct cv_str text, struct cv_str *ret_uuid)
{
    static const char key[] = "\"table-uuid\"";
    const char *end = text.ptr + text.length;
    const char *at = text.length ? memmem(text.ptr, text.length, key, sizeof key - 1) : NULL;
    const char *close;

    if (!at)
        return false;
    at += sizeof key - 1;
    while (at < end && (is_blank(*at) || *at == ':'))
        at++;
    if (at == end || *at != '"')
        return false;
    at++;
    close = memchr(at, '"', (size_t)(end - at));
    if (!close)
        return false;
    *ret_uuid = (struct cv_str){at, (size_t)(close - at)};
    return true;
}

/* The first metadata of a table at the very same place: it names no file, so that nothing of it can
 * be taken for an orphan. A creation that was sent twice because its answer was late leaves such a
 * file; so does a table of another catalog, which is why it stays. */
static bool is_blank_table(const struct cv_table_metadata *other,
                           const struct cv_table_metadata *own)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_statistics_file *statistics;
    size_t count = 0;

    return cv_table_metadata_statistics(other, &arena, &statistics, &count, NULL) == CV_OK &&
           count == 0 && other->snapshot_count == 0 && other->metadata_log_count == 0 &&
           strcmp(other->location, own->location) == 0;
}

/* Metadata of another uuid, or without one in its first bytes: packed, of old tables, or torn. A
 * torn one without a uuid is nobody's table. */
static enum cv_code check_whole(struct cv_orphan_search *search, const char *location,
                                bool has_other_uuid, bool *ret_blank, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_METADATA_BYTES_MAX);
    CV_CLEANUP(cv_table_metadata_freep) struct cv_table_metadata *other = NULL;
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const struct cv_table_metadata *own = search->maintenance->table->metadata;
    struct cv_error problem = CV_ERROR_INIT;
    enum cv_code code;

    CV_DO(cv_store_read(search->store, location, CV_METADATA_BYTES_MAX, &bytes, err));
    code = cv_table_metadata_read(bytes.data, bytes.length, &other, &problem);
    if (code == CV_UNSUPPORTED || (code != CV_OK && has_other_uuid))
        return fail_other(search, location, err);
    if (code != CV_OK || (strcmp(other->table_uuid, own->table_uuid) == 0 &&
                          strcmp(other->location, own->location) == 0))
        return CV_OK;
    if (*other->table_uuid && strcmp(other->table_uuid, own->table_uuid) == 0)
        return CV_OK; /* moved */
    if (is_blank_table(other, own)) {
        *ret_blank = true;
        return CV_OK;
    }
    return fail_other(search,
                      cv_arena_printf(&arena,
                                      "%s is of the table with uuid %s at %s, this one is "
                                      "%s",
                                      location, other->table_uuid, other->location,
                                      own->table_uuid),
                      err);
}

enum cv_code cv_orphan_check_metadata(struct cv_orphan_search *search, const char *location,
                                      bool *ret_blank, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf head = CV_BUF_INIT(HEAD_BYTES + 4096);
    const char *own = search->maintenance->table->metadata->table_uuid;
    struct cv_str uuid;
    int64_t size;
    enum cv_code code = cv_store_size(search->store, location, &size, err);

    if (code == CV_OK)
        code = cv_store_read_range(search->store, location, 0,
                                   (size_t)CV_MIN(size, (int64_t)HEAD_BYTES), &head, err);
    if (code == CV_NOT_FOUND) { /* removed meanwhile */
        cv_error_clear(err);
        return CV_OK;
    }
    CV_DO(code);
    if (!find_uuid((struct cv_str){(const char *)head.data, head.length}, &uuid))
        return check_whole(search, location, false, ret_blank, err);
    return cv_str_is(uuid, own) ? CV_OK : check_whole(search, location, true, ret_blank, err);
}
