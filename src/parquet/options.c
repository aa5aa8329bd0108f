/* SPDX-License-Identifier: Apache-2.0
 *
 * The write.parquet.* properties of a table. */
#include "base/properties.h"
#include "parquet/writer_int.h"

#define ROW_GROUP_BYTES_MAX  INT32_MAX
#define PAGE_BYTES_MAX       ((int64_t)1 << 28)
#define DICTIONARY_BYTES_MAX ((int64_t)1 << 28)

enum cv_code cv_parquet_options_read(const struct cv_properties *properties,
                                     struct cv_parquet_options *ret_options, struct cv_error *err)
{
    static const char codec_key[] = "write.parquet.compression-codec";
    static const char level_key[] = "write.parquet.compression-level";
    struct cv_parquet_options options = {
        .level = CV_CODEC_LEVEL_DEFAULT,
        .row_group_bytes = (int64_t)128 << 20,
        .page_bytes = (int64_t)1 << 20,
        .page_rows = 20000,
        .dictionary_bytes = (int64_t)2 << 20,
    };
    int64_t level = CV_CODEC_LEVEL_DEFAULT;

    /* New tables have zstd as a property; without one it is gzip, as for every Java writer. */
    CV_TRY(cv_codec_from_name(cv_properties_get_or(properties, codec_key, "gzip"), &options.codec,
                              err),
           err, "%s", codec_key);
    if (options.codec == CV_CODEC_DEFLATE)
        return cv_fail(err, CV_CONFIG, "%s: Parquet has no codec deflate", codec_key);
    CV_DO(cv_properties_get_i64(properties, level_key, INT32_MIN + (int64_t)1, INT32_MAX, &level,
                                err));
    options.level = (int32_t)level;
    CV_TRY(cv_codec_check_level(options.codec, options.level, err), err, "%s", level_key);
    CV_DO(cv_properties_get_i64(properties, "write.parquet.row-group-size-bytes", 1,
                                ROW_GROUP_BYTES_MAX, &options.row_group_bytes, err));
    CV_DO(cv_properties_get_i64(properties, "write.parquet.page-size-bytes", 1, PAGE_BYTES_MAX,
                                &options.page_bytes, err));
    CV_DO(cv_properties_get_i64(properties, "write.parquet.page-row-limit", 1, INT32_MAX,
                                &options.page_rows, err));
    CV_DO(cv_properties_get_i64(properties, "write.parquet.dict-size-bytes", 0,
                                DICTIONARY_BYTES_MAX, &options.dictionary_bytes, err));
    *ret_options = options;
    return CV_OK;
}
