/* SPDX-License-Identifier: Apache-2.0
 *
 * A store that holds one file in memory, whatever its location. */
#ifndef CALVE_TESTS_SUPPORT_MEMORY_STORE_H
#define CALVE_TESTS_SUPPORT_MEMORY_STORE_H

#include "storage/store.h"

struct memory_store {
    struct cv_store store;
    const uint8_t *bytes;
    size_t length;
    size_t reads;
    size_t read_bytes;
};

static inline enum cv_code memory_store_read(struct cv_store *store, const char *location,
                                             int64_t offset, size_t length,
                                             struct cv_buf *ret_bytes, struct cv_error *err)
{
    struct memory_store *memory = (struct memory_store *)store;

    if (offset < 0 || (uint64_t)offset > memory->length)
        return cv_fail(err, CV_IO, "offset %lld of %s", (long long)offset, location);
    length = CV_MIN(length, memory->length - (size_t)offset);
    cv_buf_append(ret_bytes, memory->bytes + offset, length);
    memory->reads++;
    memory->read_bytes += length;
    return cv_buf_check(ret_bytes, location, err);
}

static inline enum cv_code memory_store_size(struct cv_store *store, const char *location,
                                             int64_t *ret_size, struct cv_error *err)
{
    (void)location;
    (void)err;
    *ret_size = (int64_t)((struct memory_store *)store)->length;
    return CV_OK;
}

static inline void memory_store_init(struct memory_store *memory, const void *bytes, size_t length)
{
    static const struct cv_store_ops ops = {
        .name = "memory",
        .read = memory_store_read,
        .size = memory_store_size,
    };

    *memory = (struct memory_store){.store = {&ops}, .bytes = bytes, .length = length};
}

#endif
