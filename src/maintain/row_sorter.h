/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorts rows by a sort plan in bounded memory: runs are sorted in memory and spilled to unnamed
 * files, then merged; equal rows keep their order. One thread.
 *
 *   run := { u32 rows, u32 length, fragment } in order */
#ifndef CALVE_MAINTAIN_ROW_SORTER_H
#define CALVE_MAINTAIN_ROW_SORTER_H

#include "maintain/sort_key.h"

#define CV_ROW_SORTER_FAN_IN_MAX       16 /* runs that are merged at once */
#define CV_ROW_SORTER_MEMORY_BYTES_MIN ((size_t)4 << 20)

struct cv_row_sorter;
/* Schema, plan and folder must outlive it. A smaller budget is taken as the least one. */
struct cv_row_sorter *cv_row_sorter_new(const struct cv_schema *schema,
                                        const struct cv_sort_plan *plan, size_t memory_bytes,
                                        const char *spill_directory);
void cv_row_sorter_free(struct cv_row_sorter *sorter);
CV_DEFINE_CLEANUP(struct cv_row_sorter *, cv_row_sorter_free)

enum cv_code cv_row_sorter_add(struct cv_row_sorter *sorter, const struct cv_batch *batch,
                               struct cv_error *err);
/* Hands out all rows in order, once. */
typedef enum cv_code cv_row_sorter_each(void *context, const struct cv_batch *batch,
                                        struct cv_error *err);
enum cv_code cv_row_sorter_drain(struct cv_row_sorter *sorter, cv_row_sorter_each *each,
                                 void *context, struct cv_error *err);
int64_t cv_row_sorter_spilled(const struct cv_row_sorter *sorter); /* bytes */

#endif
