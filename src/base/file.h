/* SPDX-License-Identifier: Apache-2.0
 *
 * Local files that must survive a power cut: whole-file reads, and writes that appear at once
 * under their name or not at all. Used for the checkpoint and by the local store. */
#ifndef CALVE_BASE_FILE_H
#define CALVE_BASE_FILE_H

#include "base/buf.h"

/* Appends the file's bytes to `ret_bytes`; CV_NOT_FOUND, CV_LIMIT above max_bytes, CV_IO. */
enum cv_code cv_file_read(const char *path, size_t max_bytes, struct cv_buf *ret_bytes,
                          struct cv_error *err);

/* Writes a temporary file beside `path`, syncs it, links it to `path` and syncs the folder.
 * CV_EXISTS if the name is taken: nothing is overwritten. */
enum cv_code cv_file_write_new(const char *path, const void *bytes, size_t length,
                               struct cv_error *err);

/* The same, but replaces what is there. */
enum cv_code cv_file_write_replace(const char *path, const void *bytes, size_t length,
                                   struct cv_error *err);

bool cv_file_exists(const char *path);
enum cv_code cv_file_remove(const char *path, struct cv_error *err); /* absent is fine */

/* Makes the folder and its parents. */
enum cv_code cv_directory_make(const char *path, struct cv_error *err);
enum cv_code cv_directory_sync(const char *path, struct cv_error *err);
/* Names in the folder without "." and "..", sorted; CV_NOT_FOUND when it is absent. */
enum cv_code cv_directory_list(const char *path, struct cv_arena *arena, char ***ret_names,
                               size_t *ret_count, struct cv_error *err);

/* Waits until a read from the pipe or terminal would not wait; false when `stopping` (may be NULL)
 * says so before. A read alone is no way to wait: a signal just before it does not end it. */
bool cv_wait_readable(int descriptor, bool (*stopping)(void *context), void *context);

/* Writes all bytes to the descriptor, through interrupts and short writes. */
enum cv_code cv_write_all(int descriptor, const void *bytes, size_t length, const char *path,
                          struct cv_error *err);

#endif
