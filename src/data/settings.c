/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings of data files. */
#include "data/settings.h"

static enum cv_code read_parquet(const struct cv_table_metadata *metadata,
                                 const char *codec_override, const char *level_override,
                                 struct cv_parquet_options *ret_options, struct cv_error *err)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties properties = {0};
    const char *format =
        cv_properties_get_or(&metadata->properties, "write.format.default", "parquet");

    if (!cv_text_equal_nocase(format, "parquet"))
        return cv_fail(err, CV_UNSUPPORTED,
                       "the table's write.format.default is %s: only parquet is written", format);
    cv_properties_copy(&properties, &metadata->properties);
    if (codec_override)
        cv_properties_set(&properties, "write.parquet.compression-codec", codec_override);
    if (level_override)
        cv_properties_set(&properties, "write.parquet.compression-level", level_override);
    return cv_parquet_options_read(&properties, ret_options, err);
}

static enum cv_code read_metrics(const struct cv_table_metadata *metadata, struct cv_arena *arena,
                                 struct cv_metrics_config *ret_metrics, struct cv_error *err)
{
    const struct cv_sort_order *order = cv_table_metadata_sort_order(metadata);
    size_t count = order ? order->field_count : 0;
    int32_t *ids = cv_arena_array(arena, int32_t, count);

    for (size_t i = 0; i < count; i++)
        ids[i] = order->fields[i].source_id;
    return cv_metrics_config_read(cv_table_metadata_schema(metadata), &metadata->properties, ids,
                                  count, arena, ret_metrics, err);
}

enum cv_code cv_data_settings_read(const struct cv_table_metadata *metadata,
                                   const char *codec_override, const char *level_override,
                                   struct cv_arena *arena, struct cv_data_settings *ret_settings,
                                   struct cv_error *err)
{
    struct cv_data_settings settings = {0};

    CV_DO(cv_data_locations_read(metadata, arena, &settings.locations, err));
    CV_DO(read_metrics(metadata, arena, &settings.metrics, err));
    CV_DO(read_parquet(metadata, codec_override, level_override, &settings.parquet, err));
    *ret_settings = settings;
    return CV_OK;
}
