/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows that wait for their turn: collected by table partition in memory, beyond a budget in one
 * temporary file as runs ordered by partition, and handed back partition by partition, each in the
 * order in which its rows came. The file has no name once it is open, so that nothing is left
 * behind however the process ends.
 *
 *   run := { u32 group, u32 rows, u64 length, fragment } ordered by group */
#ifndef CALVE_DATA_SPILL_H
#define CALVE_DATA_SPILL_H

#include "base/buf.h"
#include "base/memory.h"
#include "base/spill_file.h"

#include <pthread.h>

struct cv_spill_fragment {
    uint32_t group;
    uint32_t rows;
    size_t length;
    const uint8_t *bytes;
};

struct cv_spill_run {
    int64_t start; /* in the file */
    int64_t end;
};

struct cv_spill {
    pthread_mutex_t lock; /* of everything; taken by cv_spill_add */
    const char *folder;   /* of the file */
    size_t memory_max;
    struct cv_arena arena; /* bytes of the fragments in memory */
    struct cv_spill_fragment *fragments;
    size_t count, capacity;
    int descriptor; /* -1 before the first run */
    int64_t file_length;
    struct cv_spill_run *runs;
    size_t run_count, run_capacity;
    int64_t rows_spilled;
    int64_t bytes_spilled;
};

void cv_spill_init(struct cv_spill *spill, const char *folder, size_t memory_max);
void cv_spill_release(struct cv_spill *spill);

/* Keeps rows of a group; the bytes are copied. Any thread. */
enum cv_code cv_spill_add(struct cv_spill *spill, uint32_t group, uint32_t rows, const void *bytes,
                          size_t length, struct cv_error *err);
bool cv_spill_is_empty(const struct cv_spill *spill);
size_t cv_spill_memory(struct cv_spill *spill);

/* Hands back every fragment, ascending by group, within a group in the order of adding. One thread,
 * after the last add. */
typedef enum cv_code cv_spill_each(void *context, const struct cv_spill_fragment *fragment,
                                   struct cv_error *err);
enum cv_code cv_spill_drain(struct cv_spill *spill, cv_spill_each *each, void *context,
                            struct cv_error *err);

#endif
