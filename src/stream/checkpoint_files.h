/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the files of a checkpoint are: in a local folder, or in a store below a location. Names are
 * relative to it ("offsets/7"). A file appears under its name at once and durably, in both. */
#ifndef CALVE_STREAM_CHECKPOINT_FILES_H
#define CALVE_STREAM_CHECKPOINT_FILES_H

#include "stream/checkpoint.h"

/* The path or location of a file; returns `path`. */
const char *cv_checkpoint_path(const struct cv_checkpoint *checkpoint, const char *name,
                               char path[CV_PATH_BYTES_MAX]);
/* "offsets/7" */
const char *cv_checkpoint_log_name(const char *log, int64_t batch, char name[64]);

/* CV_NOT_FOUND, CV_LIMIT. */
enum cv_code cv_checkpoint_read_file(const struct cv_checkpoint *checkpoint, const char *name,
                                     size_t max_bytes, struct cv_buf *ret_bytes,
                                     struct cv_error *err);
/* CV_EXISTS where `how` is CV_PUT_NEW: nothing is overwritten. On a local disk the checksum that
 * Hadoop may have left beside an earlier file of the name goes. */
enum cv_code cv_checkpoint_write_file(const struct cv_checkpoint *checkpoint, const char *name,
                                      const void *bytes, size_t length, enum cv_put how,
                                      struct cv_error *err);
/* Absent is fine. */
enum cv_code cv_checkpoint_remove_file(const struct cv_checkpoint *checkpoint, const char *name,
                                       struct cv_error *err);
/* The same for many; the first that stays is the error. */
enum cv_code cv_checkpoint_remove_files(const struct cv_checkpoint *checkpoint,
                                        const char *const *names, size_t count,
                                        struct cv_error *err);
/* The names in a folder of the checkpoint, without those in folders below; none when it is absent.
 */
enum cv_code cv_checkpoint_list_folder(const struct cv_checkpoint *checkpoint, const char *folder,
                                       struct cv_arena *arena, char ***ret_names, size_t *ret_count,
                                       struct cv_error *err);

/* cv_checkpoint_rebase() and its end in a store, which cannot rename a folder (rebase_store.c). */
enum cv_code cv_checkpoint_rebase_stored(struct cv_checkpoint *checkpoint,
                                         const struct cv_rebase *rebase, struct cv_error *err);
enum cv_code cv_checkpoint_finish_stored(struct cv_checkpoint *checkpoint, struct cv_error *err);
/* metadata, logs and calve.json of a rebase, written to `target`. */
enum cv_code cv_checkpoint_write_logs(struct cv_checkpoint *target, const struct cv_rebase *rebase,
                                      struct cv_error *err);

#endif
