/* SPDX-License-Identifier: Apache-2.0
 *
 * Some rows of a batch as bytes, column after column: what is kept in memory or spilled to disk
 * until the rows of one table partition are written together. Written and read by one process;
 * the form may change with any release.
 *
 *   column  := u8 has_nulls, [bitmap of ceil(rows / 8) bytes], values
 *   values  := boolean: bitmap | fixed width: rows × width | text: u32 length per row, bytes
 *              | list, map: u32 length per row, the child columns | struct: the child columns */
#ifndef CALVE_DATA_FRAGMENT_H
#define CALVE_DATA_FRAGMENT_H

#include "base/buf.h"
#include "batch/builder.h"

/* Appends the rows to `out`; `scratch` is reset. The buffer's maximum limits the size. */
void cv_fragment_write(const struct cv_batch *batch, const struct cv_rows *rows,
                       struct cv_arena *scratch, struct cv_buf *out);
/* Appends the rows to the builder. CV_IO when the bytes are damaged. */
enum cv_code cv_fragment_read(const void *bytes, size_t length, size_t row_count,
                              struct cv_batch_builder *builder, struct cv_error *err);

#endif
