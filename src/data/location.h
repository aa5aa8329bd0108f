/* SPDX-License-Identifier: Apache-2.0
 *
 * Where data files go: the data folder of the table, partition folders, and the hashed folders of
 * write.object-storage.enabled, as the Java library lays them out. */
#ifndef CALVE_DATA_LOCATION_H
#define CALVE_DATA_LOCATION_H

#include "iceberg/metadata.h"

/* Limits of stores: a name of a local file, a key of an object store. Partition folders are
 * decoration only (the manifest holds the values), so where they would pass one of these they are
 * cut and end in a hash of the whole. */
#define CV_FOLDER_NAME_BYTES_MAX 255
#define CV_LOCATION_BYTES_MAX    1024

struct cv_data_locations {
    const char *folder;  /* without a slash at the end */
    const char *context; /* "<parent>/<table>" when the data folder is outside the table, or NULL */
    bool object_storage;
    bool partitioned_paths; /* of object storage */
};

/* Lives in the arena. */
enum cv_code cv_data_locations_read(const struct cv_table_metadata *metadata,
                                    struct cv_arena *arena, struct cv_data_locations *ret_locations,
                                    struct cv_error *err);
/* The location of a file; `partition` is its path ("a=1/b=2"), "" when unpartitioned. */
const char *cv_data_location(const struct cv_data_locations *locations, const char *partition,
                             const char *file_name, struct cv_arena *arena);

#endif
