/* SPDX-License-Identifier: Apache-2.0
 *
 * What delete files hold, for whoever reads or writes them. */
#ifndef CALVE_DATA_DELETES_H
#define CALVE_DATA_DELETES_H

#include "iceberg/delete_index.h"
#include "storage/store.h"

/* The columns of a position delete file: file_path, pos. */
extern const struct cv_schema cv_position_delete_schema;
/* Its rows, batch by batch; CV_UNSUPPORTED for deletion vectors. */
enum cv_code cv_position_deletes_read(struct cv_store *store, const struct cv_data_file *deletes,
                                      enum cv_code (*each)(void *context,
                                                           const struct cv_batch *batch,
                                                           struct cv_error *err),
                                      void *context, struct cv_error *err);

/* What scanners of one thread keep of delete files that apply to several data files, so that each
 * is read once. Over the budget everything is forgotten when the next scanner opens. */
struct cv_delete_cache;
struct cv_delete_cache *cv_delete_cache_new(size_t memory_bytes);
void cv_delete_cache_free(struct cv_delete_cache *cache);
CV_DEFINE_CLEANUP(struct cv_delete_cache *, cv_delete_cache_free)
int64_t cv_delete_cache_reads(const struct cv_delete_cache *cache); /* delete files read so far */

#endif
