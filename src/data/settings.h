/* SPDX-License-Identifier: Apache-2.0
 *
 * What a table's properties say of its data files: where they lie, how Parquet is written, which
 * metrics are kept. For everything that makes data files. */
#ifndef CALVE_DATA_SETTINGS_H
#define CALVE_DATA_SETTINGS_H

#include "data/location.h"
#include "parquet/writer.h"

struct cv_data_settings {
    struct cv_data_locations locations;
    struct cv_parquet_options parquet; /* without a workspace */
    struct cv_metrics_config metrics;  /* of the current schema */
};

/* The overrides (NULL = none) stand for write.parquet.compression-codec and -level. Lives in the
 * arena. CV_UNSUPPORTED when the table wants another format than Parquet. */
enum cv_code cv_data_settings_read(const struct cv_table_metadata *metadata,
                                   const char *codec_override, const char *level_override,
                                   struct cv_arena *arena, struct cv_data_settings *ret_settings,
                                   struct cv_error *err);

#endif
