/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a data or delete file by its format. */
#include "data/scan_int.h"

/* The size in the manifest spares asking the store; where it turns out to be wrong (some writers
 * guess it), the store is asked. */
static enum cv_code open_parquet(const struct cv_file_read *read,
                                 const struct cv_parquet_read *parquet,
                                 struct cv_parquet_reader **ret_reader, struct cv_error *err)
{
    const struct cv_data_file *file = read->file;
    struct cv_error trouble = CV_ERROR_INIT;
    int64_t size;

    if (file->metrics.file_size > 0) {
        enum cv_code code = cv_parquet_reader_open(read->store, file->path, file->metrics.file_size,
                                                   NULL, parquet, ret_reader, &trouble);

        if (code == CV_OK)
            return CV_OK;
        if ((code != CV_FORMAT && code != CV_IO) ||
            cv_store_size(read->store, file->path, &size, NULL) != CV_OK ||
            size == file->metrics.file_size) {
            if (err)
                *err = trouble;
            return code;
        }
    }
    return cv_parquet_reader_open(read->store, file->path, -1, NULL, parquet, ret_reader, err);
}

enum cv_code cv_file_reader_open(const struct cv_file_read *read, struct cv_file_reader *ret_reader,
                                 struct cv_error *err)
{
    const struct cv_data_file *file = read->file;
    struct cv_parquet_read parquet = {.schema = read->schema,
                                      .mapping = read->mapping,
                                      .constants = read->constants,
                                      .constant_count = read->constant_count,
                                      .predicate = read->predicate,
                                      .batch_rows = read->batch_rows};

    *ret_reader = (struct cv_file_reader){NULL, NULL};
    if (cv_text_equal_nocase(file->format, "avro"))
        return cv_avro_rows_open(read, &ret_reader->avro, err);
    if (cv_text_equal_nocase(file->format, "parquet"))
        return open_parquet(read, &parquet, &ret_reader->parquet, err);
    (void)cv_fail(err, CV_UNSUPPORTED, "%s: files of format %s are not read", file->path,
                  file->format);
    cv_hint(err, "Parquet and Avro are; let the engine that writes the table rewrite its files "
                 "with write.format.default=parquet");
    return CV_UNSUPPORTED;
}

void cv_file_reader_release(struct cv_file_reader *reader)
{
    cv_parquet_reader_freep(&reader->parquet);
    cv_avro_rows_freep(&reader->avro);
    *reader = (struct cv_file_reader){NULL, NULL};
}

enum cv_code cv_file_reader_next(struct cv_file_reader *reader, struct cv_batch *ret_batch,
                                 int64_t *ret_position, struct cv_error *err)
{
    if (reader->avro)
        return cv_avro_rows_next(reader->avro, ret_batch, ret_position, err);
    return cv_parquet_reader_next(reader->parquet, ret_batch, ret_position, err);
}

int64_t cv_file_reader_rows(const struct cv_file_reader *reader)
{
    return reader->parquet ? cv_parquet_reader_footer(reader->parquet)->row_count : -1;
}
