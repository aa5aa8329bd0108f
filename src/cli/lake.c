/* SPDX-License-Identifier: Apache-2.0
 *
 * Catalogs for commands outside a job. */
#include "cli/lake.h"

#include "stream/job.h"

#include <stdlib.h>

void cv_lake_release(struct cv_lake *lake)
{
    cv_table_free(lake->table);
    cv_catalog_free(lake->catalog);
    cv_job_file_release(&lake->file);
    lake->table = NULL;
    lake->catalog = NULL;
}

static enum cv_code read_config(const char *config, struct cv_job_file *file, struct cv_error *err)
{
    const char *path = config ? config : getenv("CALVE_CONFIG");
    enum cv_code code = cv_job_file_read(path ? path : "calve.yaml", file, err);

    if (code != CV_OK)
        cv_hint(err, "name a file with `catalogs:` by --config FILE or in CALVE_CONFIG; a job file "
                     "will do");
    return code;
}

static enum cv_code open_catalog(const char *config, const char *table_name, struct cv_lake *lake,
                                 struct cv_error *err)
{
    CV_DO(read_config(config, &lake->file, err));
    return cv_job_open_catalog(&lake->file, table_name, &lake->catalog, err);
}

enum cv_code cv_lake_open_catalog(const char *config, const char *table_name,
                                  struct cv_lake *ret_lake, struct cv_error *err)
{
    struct cv_lake lake = {0};
    enum cv_code code = open_catalog(config, table_name, &lake, err);

    if (code != CV_OK) {
        cv_lake_release(&lake);
        return code;
    }
    *ret_lake = lake;
    return CV_OK;
}

enum cv_code cv_lake_open_table(const char *config, const char *table_name,
                                struct cv_lake *ret_lake, struct cv_error *err)
{
    struct cv_lake lake = {0};
    enum cv_code code = open_catalog(config, table_name, &lake, err);

    if (code == CV_OK)
        code = cv_table_open(lake.catalog, table_name, &lake.table, err);
    if (code != CV_OK) {
        cv_lake_release(&lake);
        return code;
    }
    *ret_lake = lake;
    return CV_OK;
}
