/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that could not be decoded, beside the batch of those that could: where each stands, its
 * bytes and why. A dead-letter table can be filled from it. The spans live as long as the chunk;
 * fields and reasons live in the list's arena. Counts go on when the list is full. */
#ifndef CALVE_BATCH_BAD_LIST_H
#define CALVE_BATCH_BAD_LIST_H

#include "batch/record.h"

#define CV_BAD_LIST_MAX 1000 /* entries kept with their detail */

struct cv_bad_record {
    const struct cv_record *record;
    const char *field;  /* dotted path, "" when the record as a whole is meant */
    const char *reason; /* one line */
};

struct cv_bad_list {
    struct cv_arena arena;
    struct cv_bad_record *entries;
    size_t count;
    size_t capacity;
    uint64_t total; /* of all bad records since clear, kept or not */
};

/* The texts are copied, the record is not: it must outlive the list's entries. Beyond
 * CV_BAD_LIST_MAX only `total` grows. */
void cv_bad_list_add(struct cv_bad_list *list, const struct cv_record *record, const char *field,
                     const char *format, ...) CV_PRINTF(4, 5);
void cv_bad_list_clear(struct cv_bad_list *list);
void cv_bad_list_release(struct cv_bad_list *list);

#endif
