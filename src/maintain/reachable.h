/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything that snapshots name: manifest lists, manifests, data and delete files. A set of
 * locations in bounded memory: each is kept as a hash of 128 bits (a chance of 10^-20 per billion
 * files of keeping one too many; never of deleting one too many, since the question is always "is
 * it named by what stays"). */
#ifndef CALVE_MAINTAIN_REACHABLE_H
#define CALVE_MAINTAIN_REACHABLE_H

#include "iceberg/metadata.h"
#include "maintain/procedure.h"

/* One thread at a time. About 20 bytes per location. Where the memory does not hold all of them,
 * the work is done once per share of the hashes: a set takes only those of its own. */
struct cv_location_set;
struct cv_location_set *cv_location_set_new(size_t memory_bytes, unsigned share, unsigned shares);
void cv_location_set_free(struct cv_location_set *set);
CV_DEFINE_CLEANUP(struct cv_location_set *, cv_location_set_free)
/* CV_LIMIT when the memory does not do. *ret_new (may be NULL): it is of this share and was not
 * there before. */
enum cv_code cv_location_set_add(struct cv_location_set *set, struct cv_str location, bool *ret_new,
                                 struct cv_error *err);
bool cv_location_set_has(const struct cv_location_set *set, struct cv_str location);
/* The location belongs to the set's share. */
bool cv_location_set_covers(const struct cv_location_set *set, struct cv_str location);
/* An addition failed for want of memory. */
bool cv_location_set_full(const struct cv_location_set *set);
size_t cv_location_set_count(const struct cv_location_set *set);

enum cv_reached_kind {
    CV_REACHED_DATA,
    CV_REACHED_POSITION_DELETES,
    CV_REACHED_EQUALITY_DELETES,
    CV_REACHED_MANIFEST,
    CV_REACHED_MANIFEST_LIST,
    CV_REACHED_STATISTICS,
    CV_REACHED_KINDS,
};

struct cv_reached {
    enum cv_reached_kind kind;
    struct cv_str location; /* only during the call */
    int64_t size;           /* -1 = not told */
};

/* How to read: lists and manifests in parallel, each once, `each` under a lock. */
struct cv_reach {
    const struct cv_maintenance *maintenance; /* threads, stopping, progress */
    struct cv_store *store;
    const char *procedure;              /* for progress */
    const struct cv_location_set *skip; /* manifests neither opened nor told; may be NULL */
    enum cv_code (*each)(void *context, const struct cv_reached *reached, struct cv_error *err);
    /* A list or manifest cannot be read: CV_OK goes on without it. NULL: that is a failure. */
    enum cv_code (*unreadable)(void *context, const char *location, struct cv_error *err);
    void *context;
};

/* The manifests of the snapshots, each once. Nothing is told. Locations live in the arena. */
enum cv_code cv_reach_manifests(const struct cv_reach *reach,
                                const struct cv_snapshot *const *snapshots, size_t count,
                                struct cv_arena *arena, struct cv_reached **ret_manifests,
                                size_t *ret_count, struct cv_error *err);
/* Tells the data and delete files that are alive in manifests, as often as they are named. A
 * deleted entry reaches nothing, as in the Java library: where another snapshot still has the file,
 * a manifest of that one names it alive. */
enum cv_code cv_reach_files(const struct cv_reach *reach, const struct cv_reached *manifests,
                            size_t count, struct cv_error *err);
/* Both: data and delete files, manifests, manifest lists, in this order. */
enum cv_code cv_reach_snapshots(const struct cv_reach *reach,
                                const struct cv_snapshot *const *snapshots, size_t count,
                                struct cv_error *err);

#endif
