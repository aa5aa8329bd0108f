/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to catalog/: the implementations, and what they share. */
#ifndef CALVE_CATALOG_CATALOG_INT_H
#define CALVE_CATALOG_CATALOG_INT_H

#include "catalog/catalog.h"

extern const struct cv_catalog_ops cv_sql_catalog_ops;
extern const struct cv_catalog_ops cv_hadoop_catalog_ops;
extern const struct cv_catalog_ops cv_rest_catalog_ops;

/* <warehouse>/<namespace…>/<table>; CV_CONFIG without a warehouse. */
enum cv_code cv_catalog_warehouse_location(const char *warehouse, const struct cv_table_name *name,
                                           struct cv_arena *arena, const char **ret_location,
                                           struct cv_error *err);
/* The integer before `end` ('-' or '.') of a metadata file's name, after `skip` characters; -1. */
int64_t cv_metadata_file_version(const char *location, size_t skip, char end);

#endif
