/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to catalog/hadoop/: one layout, two ways to give a version's file its name. */
#ifndef CALVE_CATALOG_HADOOP_HADOOP_INT_H
#define CALVE_CATALOG_HADOOP_HADOOP_INT_H

#include "catalog/catalog_int.h"

#define HINT_FILE      "version-hint.text"
#define HINT_BYTES_MAX 64

/* For a warehouse that is not a local folder. */
enum cv_code cv_hadoop_objects_open(const char *warehouse, struct cv_catalog **ret_catalog,
                                    struct cv_error *err);

/* The version that the bytes of a hint name; -1 = none. */
int64_t cv_hadoop_hint_version(const struct cv_buf *text);
/* A name that no reader takes for a version; the commit gives the file its own. */
enum cv_code cv_hadoop_metadata_location(struct cv_catalog *base, const char *metadata_folder,
                                         const char *current, bool gzip, struct cv_arena *arena,
                                         const char **ret_location, struct cv_error *err);

#endif
