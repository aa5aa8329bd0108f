/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to table/: the live entries of manifests, sorted by partition, into new manifests. What
 * fits into the memory is read once; else a pass makes compact keys, and a pass for each part of
 * the output reads the entries of that part. */
#ifndef CALVE_TABLE_MANIFEST_SORT_H
#define CALVE_TABLE_MANIFEST_SORT_H

#include "table/produce.h"

struct cv_manifest_sort {
    struct cv_commit *commit;
    const struct cv_table_metadata *metadata;
    const struct cv_partition_spec *spec;
    bool deletes;
    const struct cv_manifest_file *inputs; /* of that spec and kind */
    size_t input_count;
    size_t output_count;
    const size_t *fields; /* indices into the spec's fields, first the most significant */
    size_t field_count;   /* 0 = the order of the inputs */
    size_t memory_bytes;
};
/* Entries become EXISTING with their own snapshot id and sequence numbers, evenly over at most
 * output_count manifests. CV_LIMIT when the memory does not hold the keys. */
enum cv_code cv_manifest_sort(const struct cv_manifest_sort *sort,
                              struct cv_new_manifests *manifests, size_t *ret_entry_count,
                              struct cv_error *err);

#endif
