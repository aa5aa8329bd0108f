/* SPDX-License-Identifier: Apache-2.0
 *
 * Another process on the fixture's table, and a moment for it: right before the table's swap. */
#ifndef CALVE_TESTS_UNIT_TABLE_RIVAL_H
#define CALVE_TESTS_UNIT_TABLE_RIVAL_H

#include "fixture.h"

static struct fixture rival;
static void (*before_swap)(void); /* once */

static struct cv_catalog_ops rival_real_ops;
static struct cv_catalog_ops rival_hooked_ops;

static inline enum cv_code rival_hooked_commit(struct cv_catalog *catalog,
                                               const struct cv_table_name *name,
                                               const struct cv_catalog_change *change,
                                               struct cv_arena *arena,
                                               struct cv_catalog_entry *ret_entry,
                                               struct cv_error *error)
{
    void (*hook)(void) = before_swap;

    before_swap = NULL;
    if (hook)
        hook();
    return rival_real_ops.commit(catalog, name, change, arena, ret_entry, error);
}

/* Its files are numbered from `files`. To be closed before the fixture. */
static inline void rival_open(struct fixture *f, int files)
{
    rival = (struct fixture){.folder = f->folder, .files = files};
    rival.catalog = fixture_catalog(&rival, "sql");
    CV_ASSERT_OK(cv_table_open(rival.catalog, "lake.shop.orders", &rival.table, &err), &err);
    rival_real_ops = *f->catalog->ops;
    rival_hooked_ops = rival_real_ops;
    rival_hooked_ops.commit = rival_hooked_commit;
    f->catalog->ops = &rival_hooked_ops;
    before_swap = NULL;
}

#endif
