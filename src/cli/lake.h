/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands outside a job: which file has the catalogs, and opening a table by its full name. */
#ifndef CALVE_CLI_LAKE_H
#define CALVE_CLI_LAKE_H

#include "config/job_file.h"
#include "table/table.h"

struct cv_lake {
    struct cv_job_file file;
    struct cv_catalog *catalog;
    struct cv_table *table;
};

/* Reads --config FILE, else $CALVE_CONFIG, else ./calve.yaml, and opens the catalog of the name. */
enum cv_code cv_lake_open_catalog(const char *config, const char *table_name,
                                  struct cv_lake *ret_lake, struct cv_error *err);
/* The same, and the table. */
enum cv_code cv_lake_open_table(const char *config, const char *table_name,
                                struct cv_lake *ret_lake, struct cv_error *err);
void cv_lake_release(struct cv_lake *lake);

#endif
