/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and counting of requests. */
#include "storage/requests.h"

#include <stddef.h>

const char *cv_request_kind_name(enum cv_request_kind kind)
{
    static const char *const names[] = {
#define X(kind, name) name,
        CV_REQUEST_LIST(X)
#undef X
    };

    return names[kind];
}

void cv_request_count(struct cv_request_counts *counts, enum cv_request_kind kind)
{
    if (counts)
        atomic_fetch_add_explicit(&counts->sent[kind], 1, memory_order_relaxed);
}

void cv_request_sums_add(struct cv_request_sums *sums, const struct cv_request_counts *counts)
{
    for (size_t i = 0; i < CV_REQUEST_KIND_COUNT; i++)
        sums->sent[i] += atomic_load_explicit(&counts->sent[i], memory_order_relaxed);
}

void cv_request_sums_subtract(struct cv_request_sums *sums, const struct cv_request_sums *other)
{
    for (size_t i = 0; i < CV_REQUEST_KIND_COUNT; i++)
        sums->sent[i] -= other->sent[i];
}
