/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes one Parquet file of several without decoding values: row groups that are large already are
 * copied as they are; small ones are joined page by page into full-size row groups, with their
 * dictionaries united (indices are renumbered, values never decoded) and pages that are too small
 * joined. The result is what a writer of the rows would have made: same schema text, same order of
 * rows, exact counts, bounds and page indexes. */
#ifndef CALVE_PARQUET_MERGE_H
#define CALVE_PARQUET_MERGE_H

#include "parquet/footer.h"
#include "parquet/writer.h"

/* The cheapest way in which a file's rows can go into a file of `schema`. */
enum cv_merge_way {
    CV_MERGE_COPY,   /* whole row groups, byte by byte */
    CV_MERGE_PAGES,  /* pages into larger row groups */
    CV_MERGE_DECODE, /* values must be decoded: another schema, codec, type, or metrics missing */
};

/* `known` are the metrics that the table has of the file; `ret_reason` (may be NULL) says in a few
 * words why it is no cheaper way ("codec snappy, table has zstd"). Lives as long as the footer. */
enum cv_merge_way
cv_parquet_merge_way(struct cv_parquet_footer *footer, const struct cv_file_metrics *known,
                     const struct cv_schema *schema, const struct cv_parquet_options *options,
                     const struct cv_metrics_config *metrics, const char **ret_reason);

/* Whether row groups of the file may go into different files: what the table knows is of all of
 * them together, and what the footer tells of each may not be enough. */
bool cv_parquet_merge_may_split(struct cv_parquet_footer *footer, const struct cv_schema *schema,
                                const struct cv_metrics_config *metrics);

struct cv_parquet_merger;
/* Takes over `output`. Schema, options and metrics must outlive the merger. */
enum cv_code cv_parquet_merger_open(struct cv_output *output, const struct cv_schema *schema,
                                    const struct cv_parquet_options *options,
                                    const struct cv_metrics_config *metrics,
                                    struct cv_parquet_merger **ret_merger, struct cv_error *err);
/* Appends row groups [first, first + count) of a file, by the way that was found for it (COPY may
 * be given where PAGES was found when the groups are large; large groups are copied in both ways).
 * Groups that wait are read when their row group is full, or at the end: the store must be there
 * until then. A part of a file that may not be split is CV_UNSUPPORTED. Memory: the pages of one
 * column at a time, up to 24 MiB of it held, 16 MiB of dictionary numbers, 24 MiB of what is known
 * of waiting groups, and one page. */
enum cv_code cv_parquet_merger_add(struct cv_parquet_merger *merger, struct cv_store *store,
                                   const char *location, struct cv_parquet_footer *footer,
                                   const struct cv_file_metrics *known, enum cv_merge_way way,
                                   size_t first_group, size_t group_count, struct cv_error *err);
int64_t cv_parquet_merger_length(const struct cv_parquet_merger *merger); /* if closed now, about */
size_t cv_parquet_merger_memory(const struct cv_parquet_merger *merger);
/* Writes the footer, closes the output and frees the merger (also on failure). */
enum cv_code cv_parquet_merger_close(struct cv_parquet_merger *merger, struct cv_arena *arena,
                                     struct cv_file_metrics *ret_metrics, struct cv_error *err);
void cv_parquet_merger_abort(struct cv_parquet_merger *merger); /* NULL is fine */
CV_DEFINE_CLEANUP(struct cv_parquet_merger *, cv_parquet_merger_abort)

#endif
