/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of rewrite-data-files with Spark's names and defaults, and their checks. */
#ifndef CALVE_MAINTAIN_REWRITE_OPTIONS_H
#define CALVE_MAINTAIN_REWRITE_OPTIONS_H

#include "config/option.h"
#include "iceberg/metadata.h"
#include "maintain/rewrite_plan.h"

enum cv_rewrite_strategy { CV_REWRITE_BINPACK, CV_REWRITE_SORT };

/* As given; texts are NULL and numbers 0 where nothing was. */
struct cv_rewrite_arguments {
    int strategy;
    const char *sort_order;
    const char *where;
    const char *branch;
    int64_t target_bytes, max_bytes;
    const char *min_bytes;
    int64_t min_input_files;
    bool rewrite_all;
    int64_t max_group_bytes, max_group_files, max_files;
    int64_t delete_file_threshold;
    const char *delete_ratio_threshold;
    int64_t max_concurrent;
    bool partial_progress;
    int64_t max_commits;
    const char *max_failed_commits;
    bool use_starting_sequence_number;
    int job_order;
    const char *output_spec_id;
    bool remove_dangling_deletes;
    const char *compression_factor;
    int64_t shuffle_partitions;
    int64_t var_length_contribution, max_output_size;
};

extern const struct cv_option_table cv_rewrite_option_table;

/* What they come to for a table. */
struct cv_rewrite_settings {
    struct cv_rewrite_rules rules;
    int64_t max_failed_commits;
    double compression;                   /* bytes after sorting by bytes before */
    const struct cv_partition_spec *spec; /* of the files written; the metadata's */
};

/* CV_USAGE with Spark's reasons. */
enum cv_code cv_rewrite_settings_read(const struct cv_rewrite_arguments *arguments,
                                      const struct cv_table_metadata *metadata,
                                      struct cv_rewrite_settings *ret_settings,
                                      struct cv_error *err);

/* Sizes of the rules from what was given: target, least (NULL = 75 % of it) and most (0 = 180 %)
 * size of files. CV_USAGE with Spark's reasons. */
enum cv_code cv_rewrite_sizes(int64_t target, const char *min_bytes, int64_t max_bytes,
                              struct cv_rewrite_rules *rules, struct cv_error *err);

#endif
