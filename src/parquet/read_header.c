/* SPDX-License-Identifier: Apache-2.0
 *
 * A page header tells no length: it is parsed from the bytes at hand, and from more of them when
 * they end too early. */
#include "parquet/reader_int.h"

#define HEADER_BYTES_FIRST ((size_t)4 << 10)
#define HEADER_BYTES_MAX   ((size_t)16 << 20) /* statistics of long texts may be in it */

enum cv_code cv_read_page_header(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                                 struct cv_page_header *ret_header, size_t *ret_length,
                                 struct cv_error *err)
{
    int64_t left = leaf->end - leaf->next_page;
    size_t length = HEADER_BYTES_FIRST;
    bool cut = true;

    if (left <= 0)
        return cv_fail(err, CV_FORMAT, "the column chunk ends before its values do");
    for (; cut; length *= 8) {
        const uint8_t *bytes;
        enum cv_code code;

        length = CV_MIN(length, (size_t)CV_MIN(left, (int64_t)HEADER_BYTES_MAX));
        CV_DO(cv_read_bytes(reader, leaf, leaf->next_page, length, &bytes, err));
        code = cv_page_header_parse(bytes, length, ret_header, ret_length, &cut, err);
        if (code != CV_OK && (!cut || (int64_t)length == left || length == HEADER_BYTES_MAX))
            return code;
    }
    return CV_OK;
}
