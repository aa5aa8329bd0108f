/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores by scheme, whole-file helpers over the vtable, and the arithmetic of locations. */
#include "storage/store_int.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cv_location_local_path(const char *location, char path[CV_PATH_BYTES_MAX])
{
    size_t length;

    if (cv_text_starts_with(location, "file:///"))
        location += 7;
    else if (cv_text_starts_with(location, "file:/") && location[6] != '/')
        location += 5;
    if (location[0] != '/')
        return false;
    length = strlen(location);
    if (length >= CV_PATH_BYTES_MAX)
        return false;
    memcpy(path, location, length + 1);
    return true;
}

char *cv_location_join(struct cv_arena *arena, const char *base, const char *name)
{
    size_t length = strlen(base);

    while (length && base[length - 1] == '/')
        length--;
    while (*name == '/')
        name++;
    return cv_arena_printf(arena, "%.*s/%s", (int)length, base, name);
}

void cv_store_grants_release(struct cv_store_grants *grants)
{
    for (size_t i = 0; i < grants->count; i++) {
        free(grants->items[i].prefix);
        cv_properties_release(&grants->items[i].properties);
    }
    free(grants->items);
    *grants = (struct cv_store_grants){0};
}

static struct cv_str scheme_of(const char *location)
{
    size_t length = 0;

    while (isalnum((unsigned char)location[length]) || location[length] == '+' ||
           location[length] == '-' || location[length] == '.')
        length++;
    return (struct cv_str){location, location[length] == ':' ? length : 0};
}

enum cv_code cv_store_open(const char *location, const struct cv_store_config *config,
                           struct cv_store **ret_store, struct cv_error *err)
{
    struct cv_str scheme = scheme_of(location);

    if (strlen(location) >= CV_PATH_BYTES_MAX)
        return cv_fail(err, CV_LIMIT, "location of %zu bytes is too long: %.100s…",
                       strlen(location), location);
    if (location[0] == '/' || cv_str_is(scheme, "file")) {
        char path[CV_PATH_BYTES_MAX];

        if (!cv_location_local_path(location, path))
            return cv_fail(err, CV_CONFIG, "location %.500s names no local path (file:///…)",
                           location);
        *ret_store = cv_local_store_new();
        return CV_OK;
    }
    if (cv_str_is(scheme, "s3") || cv_str_is(scheme, "s3a") || cv_str_is(scheme, "s3n"))
        return cv_s3_store_new(location, config, ret_store, err);
    if (scheme.length)
        return cv_fail(err, CV_UNSUPPORTED, "storage %.*s: (location %.500s) is not supported yet",
                       CV_STR_ARG(scheme), location);
    return cv_fail(err, CV_CONFIG, "location \"%.500s\" has no scheme and is not absolute",
                   location);
}

void cv_store_free(struct cv_store *store)
{
    if (store)
        store->ops->free(store);
}

enum cv_code cv_store_create(struct cv_store *store, const char *location,
                             struct cv_output **ret_output, struct cv_error *err)
{
    return store->ops->create(store, location, ret_output, err);
}

enum cv_code cv_store_read_range(struct cv_store *store, const char *location, int64_t offset,
                                 size_t length, struct cv_buf *ret_bytes, struct cv_error *err)
{
    size_t before = ret_bytes->length;

    CV_DO(store->ops->read(store, location, offset, length, ret_bytes, err));
    if (length != SIZE_MAX && ret_bytes->length - before != length)
        return cv_fail(err, CV_FORMAT, "%s ends at byte %lld, %zu bytes wanted from %lld", location,
                       (long long)offset + (long long)(ret_bytes->length - before), length,
                       (long long)offset);
    return CV_OK;
}

/* One call: the size is not asked for before. */
enum cv_code cv_store_read(struct cv_store *store, const char *location, size_t max_bytes,
                           struct cv_buf *ret_bytes, struct cv_error *err)
{
    const size_t max = ret_bytes->max;
    const size_t allowed = max ? max : CV_BUF_BYTES_MAX;
    const size_t before = ret_bytes->length;
    enum cv_code code;

    if (max_bytes == 0 && before == 0)
        return cv_fail(err, CV_LIMIT, "%s: no byte of it is allowed", location);
    if (before < allowed && max_bytes < allowed - before)
        ret_bytes->max = before + max_bytes;
    code = store->ops->read(store, location, 0, SIZE_MAX, ret_bytes, err);
    ret_bytes->max = max;
    if (code != CV_OK) {
        ret_bytes->length = before;
        ret_bytes->failed = false;
    }
    return code;
}

static enum cv_code write_whole(struct cv_store *store, const char *location, const void *bytes,
                                size_t length, bool synced, struct cv_error *err)
{
    struct cv_output *output;
    enum cv_code code;

    CV_DO(cv_store_create(store, location, &output, err));
    code = cv_output_write(output, bytes, length, err);
    if (code == CV_OK)
        code = synced ? cv_output_close(output, err) : cv_output_close_unsynced(output, err);
    if (code != CV_OK)
        cv_output_abort(output);
    return code;
}

enum cv_code cv_store_write(struct cv_store *store, const char *location, const void *bytes,
                            size_t length, struct cv_error *err)
{
    return write_whole(store, location, bytes, length, true, err);
}

enum cv_code cv_store_write_unsynced(struct cv_store *store, const char *location,
                                     const void *bytes, size_t length, struct cv_error *err)
{
    return write_whole(store, location, bytes, length, false, err);
}

enum cv_code cv_store_sync(struct cv_store *store, const char *const *locations, size_t count,
                           struct cv_error *err)
{
    return store->ops->sync ? store->ops->sync(store, locations, count, err) : CV_OK;
}

enum cv_code cv_store_size(struct cv_store *store, const char *location, int64_t *ret_size,
                           struct cv_error *err)
{
    return store->ops->size(store, location, ret_size, err);
}

enum cv_code cv_store_remove(struct cv_store *store, const char *location, struct cv_error *err)
{
    return store->ops->remove(store, location, err);
}

enum cv_code cv_store_put(struct cv_store *store, const char *location, const void *bytes,
                          size_t length, enum cv_put how, struct cv_error *err)
{
    if (!store->ops->put)
        return cv_fail(err, CV_UNSUPPORTED, "%s: this store puts no whole files", location);
    return store->ops->put(store, location, bytes, length, how, err);
}

enum cv_code cv_store_remove_many(struct cv_store *store, const char *const *locations,
                                  size_t count, cv_remove_failed *failed, void *context,
                                  struct cv_error *err)
{
    if (store->ops->remove_many)
        return store->ops->remove_many(store, locations, count, failed, context, err);
    for (size_t i = 0; i < count; i++) {
        struct cv_error why = CV_ERROR_INIT;

        if (store->ops->remove(store, locations[i], &why) != CV_OK && failed)
            failed(context, i, &why);
    }
    return CV_OK;
}

enum cv_code cv_store_list(struct cv_store *store, const char *prefix,
                           enum cv_code (*each)(void *context, const struct cv_listed_file *,
                                                struct cv_error *),
                           void *context, struct cv_error *err)
{
    return store->ops->list(store, prefix, each, context, err);
}

enum cv_code cv_store_uploads(struct cv_store *store, const char *prefix,
                              enum cv_code (*each)(void *context, const struct cv_open_upload *,
                                                   struct cv_error *),
                              void *context, struct cv_error *err)
{
    return store->ops->uploads ? store->ops->uploads(store, prefix, each, context, err) : CV_OK;
}

enum cv_code cv_store_abort_upload(struct cv_store *store, const struct cv_open_upload *upload,
                                   struct cv_error *err)
{
    return store->ops->abort_upload ? store->ops->abort_upload(store, upload, err) : CV_OK;
}

enum cv_code cv_output_write(struct cv_output *output, const void *bytes, size_t length,
                             struct cv_error *err)
{
    CV_DO(output->ops->write(output, bytes, length, err));
    output->written += (int64_t)length;
    return CV_OK;
}

enum cv_code cv_output_close(struct cv_output *output, struct cv_error *err)
{
    return output->ops->close(output, err);
}

enum cv_code cv_output_close_unsynced(struct cv_output *output, struct cv_error *err)
{
    if (output->ops->close_unsynced)
        return output->ops->close_unsynced(output, err);
    return output->ops->close(output, err);
}

void cv_output_abort(struct cv_output *output)
{
    if (output)
        output->ops->abort(output);
}
