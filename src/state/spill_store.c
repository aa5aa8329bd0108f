/* SPDX-License-Identifier: Apache-2.0
 *
 * Files without names behind the interface of a store. */
#include "state/spill_store.h"

#include "base/file.h"
#include "base/map.h"
#include "base/spill_file.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define WRITE_BUFFER_BYTES ((size_t)64 << 10)

struct spilled {
    int descriptor;
    int64_t size;
};

struct spill_store {
    struct cv_store base;
    char *folder;
    pthread_mutex_t lock; /* of files */
    struct cv_map files;  /* by location; a removed one has no descriptor */
};

struct spill_output {
    struct cv_output base;
    struct spill_store *store;
    struct spilled *file;
    struct cv_buf buffer;
};

static struct spilled *find(struct cv_store *store, const char *location)
{
    struct spill_store *spill = (struct spill_store *)store;
    struct spilled *file;

    (void)pthread_mutex_lock(&spill->lock);
    file = cv_map_get(&spill->files, location, strlen(location));
    (void)pthread_mutex_unlock(&spill->lock);
    return file && file->descriptor >= 0 ? file : NULL;
}

static enum cv_code flush(struct spill_output *output, struct cv_error *err)
{
    CV_DO(cv_write_all(output->file->descriptor, output->buffer.data, output->buffer.length,
                       output->store->folder, err));
    output->file->size += (int64_t)output->buffer.length;
    cv_buf_clear(&output->buffer);
    return CV_OK;
}

static enum cv_code spill_write(struct cv_output *base, const void *bytes, size_t length,
                                struct cv_error *err)
{
    struct spill_output *output = (struct spill_output *)base;

    cv_buf_append(&output->buffer, bytes, length);
    return output->buffer.length < WRITE_BUFFER_BYTES
               ? cv_buf_check(&output->buffer, "a spill", err)
               : flush(output, err);
}

static void free_output(struct spill_output *output)
{
    cv_buf_release(&output->buffer);
    free(output);
}

static enum cv_code spill_close(struct cv_output *base, struct cv_error *err)
{
    struct spill_output *output = (struct spill_output *)base;

    CV_DO(flush(output, err));
    free_output(output);
    return CV_OK;
}

static void drop(struct spilled *file)
{
    if (file && file->descriptor >= 0)
        (void)close(file->descriptor);
    if (file)
        file->descriptor = -1;
}

static void spill_abort(struct cv_output *base)
{
    struct spill_output *output = (struct spill_output *)base;

    drop(output->file);
    free_output(output);
}

static const struct cv_output_ops output_ops = {
    .write = spill_write,
    .close = spill_close,
    .abort = spill_abort,
};

static enum cv_code spill_create(struct cv_store *store, const char *location,
                                 struct cv_output **ret_output, struct cv_error *err)
{
    struct spill_store *spill = (struct spill_store *)store;
    struct spill_output *output;
    struct spilled *file;
    int descriptor;

    CV_DO(cv_spill_file_open(spill->folder, &descriptor, err));
    file = cv_alloc(sizeof *file);
    file->descriptor = descriptor;
    (void)pthread_mutex_lock(&spill->lock);
    free(cv_map_set(&spill->files, location, strlen(location), file));
    (void)pthread_mutex_unlock(&spill->lock);
    output = cv_alloc(sizeof *output);
    output->base.ops = &output_ops;
    output->store = spill;
    output->file = file;
    *ret_output = &output->base;
    return CV_OK;
}

static enum cv_code spill_read(struct cv_store *store, const char *location, int64_t offset,
                               size_t length, struct cv_buf *ret_bytes, struct cv_error *err)
{
    struct spill_store *spill = (struct spill_store *)store;
    struct spilled *file = find(store, location);

    if (!file || offset < 0 || offset > file->size)
        return cv_fail(err, CV_NOT_FOUND, "%s in %s: no such rows", location, spill->folder);
    length = CV_MIN(length, (size_t)(file->size - offset));
    if (!cv_buf_reserve(ret_bytes, length))
        return cv_buf_check(ret_bytes, "spilled rows", err);
    CV_DO(cv_spill_file_read(file->descriptor, spill->folder, ret_bytes->data + ret_bytes->length,
                             length, offset, err));
    ret_bytes->length += length;
    return CV_OK;
}

static enum cv_code spill_size(struct cv_store *store, const char *location, int64_t *ret_size,
                               struct cv_error *err)
{
    struct spilled *file = find(store, location);

    if (!file)
        return cv_fail(err, CV_NOT_FOUND, "%s: no such rows", location);
    *ret_size = file->size;
    return CV_OK;
}

static enum cv_code spill_remove(struct cv_store *store, const char *location, struct cv_error *err)
{
    (void)err;
    drop(find(store, location));
    return CV_OK;
}

static void spill_free(struct cv_store *store)
{
    struct spill_store *spill = (struct spill_store *)store;
    size_t position = 0;

    for (const struct cv_map_slot *slot; (slot = cv_map_next(&spill->files, &position));) {
        drop(slot->value);
        free(slot->value);
    }
    cv_map_release(&spill->files);
    (void)pthread_mutex_destroy(&spill->lock);
    free(spill->folder);
    free(spill);
}

static const struct cv_store_ops store_ops = {
    .name = "spill",
    .create = spill_create,
    .read = spill_read,
    .size = spill_size,
    .remove = spill_remove,
    .free = spill_free,
};

struct cv_store *cv_spill_store_new(const char *folder)
{
    struct spill_store *spill = cv_alloc(sizeof *spill);

    spill->base.ops = &store_ops;
    spill->folder = cv_strdup(folder);
    (void)pthread_mutex_init(&spill->lock, NULL);
    return &spill->base;
}
