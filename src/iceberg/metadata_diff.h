/* SPDX-License-Identifier: Apache-2.0
 *
 * A change of the table metadata as a catalog takes it that writes the metadata itself (REST
 * specification, CommitTableRequest): requirements, which the catalog checks on its newest state,
 * and updates, which it applies in order. Pure. */
#ifndef CALVE_ICEBERG_METADATA_DIFF_H
#define CALVE_ICEBERG_METADATA_DIFF_H

#include "iceberg/metadata.h"

/* Appends {"requirements":[…],"updates":[…]} that leads from base to next; CV_UNSUPPORTED where
 * next has what calve never changes (sort orders, statistics files, unknown members). Requirements
 * are paired with updates as in the Java library; beyond that, whoever removes a snapshot or ref
 * asserts the refs that the choice was made on, and with `keeps_definitions` the current schema,
 * spec and sort order are asserted. */
enum cv_code cv_metadata_diff_write(const struct cv_table_metadata *base,
                                    const struct cv_table_metadata *next, bool keeps_definitions,
                                    struct cv_buf *out, struct cv_error *err);
/* Whether `now`, a later state of the table at base, has all that leads from base to next; also
 * where more was committed on top. A ref counts as moved when its history meets next's snapshot
 * before base's. */
bool cv_metadata_diff_is_in(const struct cv_table_metadata *base,
                            const struct cv_table_metadata *next,
                            const struct cv_table_metadata *now);

#endif
