/* SPDX-License-Identifier: Apache-2.0
 *
 * Page headers (format parquet.thrift, PageHeader). A header tells no length: it is parsed from the
 * bytes at hand, and from more of them when they end too early. */
#include "parquet/reader_int.h"

#include "codec/thrift.h"

#define HEADER_BYTES_FIRST ((size_t)4 << 10)
#define HEADER_BYTES_MAX   ((size_t)16 << 20) /* statistics of long texts may be in it */

/* DataPageHeader: 1 num_values, 2 encoding, 3 definition_level_encoding,
 * 4 repetition_level_encoding. */
static void read_data_header(struct cv_thrift_reader *r, struct cv_page_header *header)
{
    struct cv_thrift_field field;

    while (cv_thrift_read_field(r, &field)) {
        switch (field.id) {
        case 1:
            header->value_count = cv_thrift_read_i32(r, &field);
            break;
        case 2:
            header->encoding = cv_thrift_read_i32(r, &field);
            break;
        case 3:
            header->definition_encoding = cv_thrift_read_i32(r, &field);
            break;
        case 4:
            header->repetition_encoding = cv_thrift_read_i32(r, &field);
            break;
        default:
            cv_thrift_skip(r, field.type);
        }
    }
}

/* DictionaryPageHeader: 1 num_values, 2 encoding. */
static void read_dictionary_header(struct cv_thrift_reader *r, struct cv_page_header *header)
{
    struct cv_thrift_field field;

    while (cv_thrift_read_field(r, &field)) {
        if (field.id == 1)
            header->value_count = cv_thrift_read_i32(r, &field);
        else if (field.id == 2)
            header->encoding = cv_thrift_read_i32(r, &field);
        else
            cv_thrift_skip(r, field.type);
    }
}

/* DataPageHeaderV2: 1 num_values, 4 encoding, 5 definition_levels_byte_length,
 * 6 repetition_levels_byte_length, 7 is_compressed. */
static void read_data_v2_header(struct cv_thrift_reader *r, struct cv_page_header *header)
{
    struct cv_thrift_field field;

    while (cv_thrift_read_field(r, &field)) {
        switch (field.id) {
        case 1:
            header->value_count = cv_thrift_read_i32(r, &field);
            break;
        case 4:
            header->encoding = cv_thrift_read_i32(r, &field);
            break;
        case 5:
            header->definition_bytes = cv_thrift_read_i32(r, &field);
            break;
        case 6:
            header->repetition_bytes = cv_thrift_read_i32(r, &field);
            break;
        case 7:
            header->is_compressed = cv_thrift_read_bool(r, &field);
            break;
        default:
            cv_thrift_skip(r, field.type);
        }
    }
}

/* PageHeader: 1 type, 2 uncompressed_page_size, 3 compressed_page_size, 4 crc, 5 data_page_header,
 * 7 dictionary_page_header, 8 data_page_header_v2. The part of another type is skipped. */
static void read_header(struct cv_thrift_reader *r, struct cv_page_header *header)
{
    struct cv_thrift_field field;

    cv_thrift_read_begin_struct(r);
    while (cv_thrift_read_field(r, &field)) {
        bool is_struct = field.type == CV_THRIFT_STRUCT;

        if (field.id == 1) {
            header->type = cv_thrift_read_i32(r, &field);
        } else if (field.id == 2) {
            header->plain_size = cv_thrift_read_i32(r, &field);
        } else if (field.id == 3) {
            header->packed_size = cv_thrift_read_i32(r, &field);
        } else if (field.id == 4) {
            header->crc = (uint32_t)cv_thrift_read_i32(r, &field);
            header->has_crc = true;
        } else if (is_struct && field.id == 5 && header->type == CV_PAGE_DATA) {
            cv_thrift_read_struct(r, &field);
            read_data_header(r, header);
        } else if (is_struct && field.id == 7 && header->type == CV_PAGE_DICTIONARY) {
            cv_thrift_read_struct(r, &field);
            read_dictionary_header(r, header);
        } else if (is_struct && field.id == 8 && header->type == CV_PAGE_DATA_V2) {
            cv_thrift_read_struct(r, &field);
            read_data_v2_header(r, header);
        } else {
            cv_thrift_skip(r, field.type);
        }
    }
}

static enum cv_code check_header(const struct cv_page_header *header, struct cv_error *err)
{
    bool has_values = header->type == CV_PAGE_DATA || header->type == CV_PAGE_DATA_V2 ||
                      header->type == CV_PAGE_DICTIONARY;

    if (header->type < 0 || header->plain_size < 0 || header->packed_size < 0)
        return cv_fail(err, CV_FORMAT, "a page header without type or sizes");
    if (has_values && (header->value_count < 0 || header->encoding < 0))
        return cv_fail(err, CV_FORMAT, "a page header without number of values or encoding");
    if ((size_t)header->plain_size > CV_PARQUET_PAGE_BYTES_MAX ||
        (size_t)header->packed_size > CV_PARQUET_PAGE_BYTES_MAX)
        return cv_fail(err, CV_LIMIT, "a page of %d bytes is above the limit of %zu",
                       CV_MAX(header->plain_size, header->packed_size), CV_PARQUET_PAGE_BYTES_MAX);
    if (header->type == CV_PAGE_DATA_V2 &&
        (header->definition_bytes < 0 || header->repetition_bytes < 0 ||
         (int64_t)header->definition_bytes + header->repetition_bytes > header->packed_size ||
         (int64_t)header->definition_bytes + header->repetition_bytes > header->plain_size))
        return cv_fail(err, CV_FORMAT, "the levels of a page are longer than the page");
    return CV_OK;
}

enum cv_code cv_read_page_header(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                                 struct cv_page_header *ret_header, size_t *ret_length,
                                 struct cv_error *err)
{
    int64_t left = leaf->end - leaf->next_page;
    struct cv_page_header header;
    struct cv_thrift_reader thrift;
    const uint8_t *bytes;
    size_t length = HEADER_BYTES_FIRST;

    if (left <= 0)
        return cv_fail(err, CV_FORMAT, "the column chunk ends before its values do");
    for (;; length *= 8) {
        length = CV_MIN(length, (size_t)CV_MIN(left, (int64_t)HEADER_BYTES_MAX));
        CV_DO(cv_read_bytes(reader, leaf, leaf->next_page, length, &bytes, err));
        cv_thrift_reader_init(&thrift, bytes, length);
        header = (struct cv_page_header){.type = -1,
                                         .plain_size = -1,
                                         .packed_size = -1,
                                         .value_count = -1,
                                         .encoding = -1,
                                         .is_compressed = true};
        read_header(&thrift, &header);
        if (!thrift.problem || (int64_t)length == left || length == HEADER_BYTES_MAX)
            break;
    }
    CV_DO(cv_thrift_reader_check(&thrift, "page header", err));
    CV_DO(check_header(&header, err));
    *ret_length = cv_thrift_reader_used(&thrift);
    *ret_header = header;
    return CV_OK;
}
