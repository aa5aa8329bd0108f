/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets and removes properties of a table in one commit that makes no snapshot. */
#ifndef CALVE_TABLE_SET_PROPERTIES_H
#define CALVE_TABLE_SET_PROPERTIES_H

#include "table/table.h"

/* `removed` may be NULL. *ret_changed false: the table had them so already, nothing was committed.
 * format-version and the like, which are no properties of the metadata, are CV_USAGE. */
enum cv_code cv_table_set_properties(struct cv_table *table, const struct cv_properties *set,
                                     const char *const *removed, size_t removed_count,
                                     bool *ret_changed, struct cv_error *err);

#endif
