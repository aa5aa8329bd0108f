/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the files rewrite_*.c: what the ways of rewriting a group share. */
#ifndef CALVE_MAINTAIN_REWRITE_INT_H
#define CALVE_MAINTAIN_REWRITE_INT_H

#include "maintain/rewrite_group.h"

struct cv_rewrite_way {
    enum cv_merge_way way;
    const char *reason; /* why it is DECODE */
};

/* rewrite_group.c */
void cv_rewrite_output_add(struct cv_rewrite_output *output, const struct cv_data_file *file);

/* rewrite_merge.c: those files of the group whose way is not DECODE. */
enum cv_code cv_rewrite_merge(const struct cv_rewrite_run *run,
                              const struct cv_rewrite_group *group,
                              const struct cv_rewrite_way *ways, struct cv_rewrite_output *output,
                              struct cv_error *err);
/* Bytes of a row group in the file. */
int64_t cv_rewrite_packed_bytes(const struct cv_parquet_footer *footer, size_t group);

#endif
