/* SPDX-License-Identifier: Apache-2.0
 *
 * What `calve check` tries of a table's store: one object is put, listed, read and deleted, so that
 * each right that a run needs is seen on its own. */
#ifndef CALVE_CLI_CHECK_STORE_H
#define CALVE_CLI_CHECK_STORE_H

#include "catalog/catalog.h"

/* Reports "put", "list", "read" and "delete". The object lies in a folder of its own below
 * `location`, or below the nearest folder that is there, and nothing of it is left. */
void cv_check_store(struct cv_store *store, const char *location, cv_catalog_report *report,
                    void *context);

#endif
