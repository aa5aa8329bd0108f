/* SPDX-License-Identifier: Apache-2.0
 *
 * What a table holds, as JSON for `calve table …`: the metadata tables of Iceberg's Spark module
 * with their column names, and `show`. Instants are ISO 8601 in UTC, binary values base64,
 * partition values and bounds typed or as text. */
#ifndef CALVE_TABLE_INSPECT_H
#define CALVE_TABLE_INSPECT_H

#include "table/table.h"

/* Appends an array of objects for "snapshots", "history", "refs", "manifests", "files" or
 * "partitions" (the last three of the branch head), one object for "show". Else CV_USAGE. */
enum cv_code cv_table_inspect(struct cv_table *table, const char *view, struct cv_buf *out,
                              struct cv_error *err);

#endif
