/* SPDX-License-Identifier: Apache-2.0
 *
 * The planning of rewrite-data-files, numbers in and groups out: which files are rewritten, which
 * of them together, into how many (Iceberg's SizeBasedFileRewritePlanner and
 * BinPackRewriteFilePlanner). Nothing is read here. */
#ifndef CALVE_MAINTAIN_REWRITE_PLAN_H
#define CALVE_MAINTAIN_REWRITE_PLAN_H

#include "base/memory.h"

enum cv_rewrite_job_order {
    CV_REWRITE_ORDER_NONE,
    CV_REWRITE_BYTES_ASC,
    CV_REWRITE_BYTES_DESC,
    CV_REWRITE_FILES_ASC,
    CV_REWRITE_FILES_DESC,
};

/* Checked: 0 <= min < target < max, every count at least 1. */
struct cv_rewrite_rules {
    int64_t target_bytes, min_bytes, max_bytes;
    int64_t min_input_files;
    bool rewrite_all;
    int64_t max_group_bytes;
    int64_t max_group_files;
    int64_t max_files; /* INT64_MAX = as many as there are */
    int64_t delete_file_threshold;
    double delete_ratio_threshold;
    enum cv_rewrite_job_order job_order;
};

/* A live data file. */
struct cv_rewrite_file {
    int64_t bytes;
    int64_t records;
    int64_t delete_files;  /* that apply to it */
    int64_t known_deletes; /* rows of those that name only this file */
    uint32_t bucket;       /* only files of one bucket are written together; dense from 0 */
    void *context;         /* the caller's */
};

struct cv_rewrite_group {
    const struct cv_rewrite_file **files;
    size_t count;
    int64_t bytes;
    int64_t records;
    int64_t expected_outputs;
    int64_t split_bytes; /* size at which an output is closed */
    uint32_t bucket;
    const char *reason; /* why it is rewritten */
};

/* Why the file is worth rewriting ("smaller than 384 MiB"); NULL if it is not. */
const char *cv_rewrite_file_reason(const struct cv_rewrite_rules *rules,
                                   const struct cv_rewrite_file *file);
/* Files that an input of so many bytes shall become: at least 1. */
int64_t cv_rewrite_output_count(const struct cv_rewrite_rules *rules, int64_t bytes);
/* Where an output ends for an input of so many bytes: between target and ceiling. */
int64_t cv_rewrite_split_bytes(const struct cv_rewrite_rules *rules, int64_t bytes);
/* No output is larger. */
int64_t cv_rewrite_ceiling_bytes(const struct cv_rewrite_rules *rules);

/* Groups of the files, buckets in order of their number unless a job order is given, files in the
 * order given. Refers to the files; lists live in the arena. */
void cv_rewrite_plan(const struct cv_rewrite_rules *rules, const struct cv_rewrite_file *files,
                     size_t count, struct cv_arena *arena, struct cv_rewrite_group **ret_groups,
                     size_t *ret_count);

#endif
