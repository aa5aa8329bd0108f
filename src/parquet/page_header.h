/* SPDX-License-Identifier: Apache-2.0
 *
 * Page headers (format parquet.thrift, PageHeader) and the page index of a chunk (PageIndex.md),
 * read from bytes that nobody has checked. */
#ifndef CALVE_PARQUET_PAGE_HEADER_H
#define CALVE_PARQUET_PAGE_HEADER_H

#include "parquet/footer.h"

/* One page, packed or not. */
#define CV_PARQUET_PAGE_BYTES_MAX ((size_t)1 << 30)

enum cv_page_type {
    CV_PAGE_DATA = 0,
    CV_PAGE_INDEX = 1,
    CV_PAGE_DICTIONARY = 2,
    CV_PAGE_DATA_V2 = 3,
};

struct cv_page_header {
    int32_t type;
    int32_t plain_size;
    int32_t packed_size;
    bool has_crc;
    uint32_t crc;
    int32_t value_count; /* nulls included */
    int32_t encoding;
    int32_t definition_encoding, repetition_encoding; /* v1 */
    int32_t definition_bytes, repetition_bytes;       /* v2 */
    int32_t null_count, row_count;                    /* v2; else -1 */
    bool is_compressed;                               /* false only in v2 */
    /* As stored, in the bytes parsed: cv_check_statistics() before use. */
    struct cv_parquet_statistics statistics;
};

/* Parses the header at the start of `bytes`. CV_FORMAT and *ret_short when they end inside it:
 * more of them may help. */
enum cv_code cv_page_header_parse(const uint8_t *bytes, size_t length,
                                  struct cv_page_header *ret_header, size_t *ret_length,
                                  bool *ret_short, struct cv_error *err);

/* ColumnIndex: bounds by data page, as stored, in the bytes parsed. */
struct cv_column_index {
    size_t page_count;
    bool *null_pages;
    struct cv_str *mins;
    struct cv_str *maxs;
    int64_t *null_counts; /* NULL = not told */
};
/* False when the bytes are none. */
bool cv_column_index_parse(struct cv_str bytes, struct cv_arena *arena,
                           struct cv_column_index *ret_index);

/* OffsetIndex: where each data page is. */
struct cv_page_place {
    int64_t offset;
    int32_t packed_size; /* header included */
    int64_t first_row;   /* in the row group */
};
bool cv_offset_index_parse(struct cv_str bytes, struct cv_arena *arena,
                           struct cv_page_place **ret_places, size_t *ret_count);

#endif
