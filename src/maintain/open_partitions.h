/* SPDX-License-Identifier: Apache-2.0
 *
 * Which partitions a running stream writes, with the times of their newest files, so that
 * maintenance beside it leaves them alone until they close. The stream's thread notes, the
 * scheduler's asks. */
#ifndef CALVE_MAINTAIN_OPEN_PARTITIONS_H
#define CALVE_MAINTAIN_OPEN_PARTITIONS_H

#include "iceberg/manifest.h"
#include "iceberg/metadata.h"

struct cv_open_partitions;
/* A partition is closed once nothing was written to it for so long. */
struct cv_open_partitions *cv_open_partitions_new(int64_t close_after_us);
void cv_open_partitions_free(struct cv_open_partitions *open);
CV_DEFINE_CLEANUP(struct cv_open_partitions *, cv_open_partitions_free)

/* `context` is the set: fits the engine's hook. */
void cv_open_partitions_note(void *context, const struct cv_table_metadata *metadata,
                             const struct cv_data_file *files, size_t count);
/* Never true of partitions that do not close as time goes by (cv_partition_closes()). */
bool cv_open_partitions_busy(void *context, const struct cv_partition_spec *spec,
                             const struct cv_value *partition);

#endif
