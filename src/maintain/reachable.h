/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything that snapshots name: manifest lists, manifests, data and delete files, statistics,
 * metadata files. A set of locations in bounded memory: paths are kept as 128-bit hashes (a chance
 * of 10^-20 per billion files of keeping one too many; never of deleting one too many, since the
 * question is always "is it named by what stays"). */
#ifndef CALVE_MAINTAIN_REACHABLE_H
#define CALVE_MAINTAIN_REACHABLE_H

#include "iceberg/snapshot_files.h"

struct cv_location_set;
struct cv_location_set *cv_location_set_new(size_t memory_bytes);
void cv_location_set_free(struct cv_location_set *set);
CV_DEFINE_CLEANUP(struct cv_location_set *, cv_location_set_free)
/* CV_LIMIT when the memory does not do. *ret_new (may be NULL): it was not there before. */
enum cv_code cv_location_set_add(struct cv_location_set *set, struct cv_str location, bool *ret_new,
                                 struct cv_error *err);
bool cv_location_set_has(const struct cv_location_set *set, struct cv_str location);
size_t cv_location_set_count(const struct cv_location_set *set);

enum cv_reached_kind {
    CV_REACHED_DATA,
    CV_REACHED_POSITION_DELETES,
    CV_REACHED_EQUALITY_DELETES,
    CV_REACHED_MANIFEST,
    CV_REACHED_MANIFEST_LIST,
    CV_REACHED_STATISTICS,
    CV_REACHED_METADATA,
};

struct cv_reached {
    enum cv_reached_kind kind;
    const char *location;
    int64_t size; /* -1 = not told */
};

/* Calls `each` for every file that the snapshots name, any entry status, each manifest read once;
 * the order is data and delete files, manifests, manifest lists. `skip_manifests` (may be NULL) are
 * not opened nor told. */
enum cv_code cv_reach_snapshots(struct cv_store *store, const struct cv_table_metadata *metadata,
                                const struct cv_snapshot *const *snapshots, size_t count,
                                const struct cv_location_set *skip_manifests, int threads,
                                enum cv_code (*each)(void *context,
                                                     const struct cv_reached *reached,
                                                     struct cv_error *err),
                                void *context, struct cv_error *err);

#endif
