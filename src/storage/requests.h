/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests by kind, counted where they are sent. A store and a catalog have one each; progress
 * events and the bench print the difference over a batch. Any thread. */
#ifndef CALVE_STORAGE_REQUESTS_H
#define CALVE_STORAGE_REQUESTS_H

#include <stdatomic.h>
#include <stdint.h>

/* kind, name in JSON */
#define CV_REQUEST_LIST(X)                                                                         \
    X(PUT, "put")             /* whole objects */                                                  \
    X(MULTIPART, "multipart") /* begin, part, complete, abort */                                   \
    X(GET, "get")                                                                                  \
    X(HEAD, "head")                                                                                \
    X(LIST, "list")                                                                                \
    X(DELETE, "delete")                                                                            \
    X(CATALOG_READ, "catalog-read")                                                                \
    X(CATALOG_COMMIT, "catalog-commit")                                                            \
    X(CATALOG_REPORT, "catalog-report") /* metrics, nobody waits for them */                       \
    X(TOKEN, "token") /* credentials and tokens */                                                 \
    X(RETRY, "retry") /* of any kind, sent again; counted in its kind too */

enum cv_request_kind {
#define X(kind, name) CV_REQUEST_##kind,
    CV_REQUEST_LIST(X)
#undef X
        CV_REQUEST_KIND_COUNT
};

struct cv_request_counts {
    _Atomic int64_t sent[CV_REQUEST_KIND_COUNT];
    _Atomic int64_t bytes_sent, bytes_received; /* of bodies */
};

/* What was counted at one time, or between two. */
struct cv_request_sums {
    int64_t sent[CV_REQUEST_KIND_COUNT];
};

/* Adds `counts` to the sums, or takes them off. */
void cv_request_sums_add(struct cv_request_sums *sums, const struct cv_request_counts *counts);
void cv_request_sums_subtract(struct cv_request_sums *sums, const struct cv_request_sums *other);

const char *cv_request_kind_name(enum cv_request_kind kind);
/* `counts` may be NULL. */
void cv_request_count(struct cv_request_counts *counts, enum cv_request_kind kind);

#endif
