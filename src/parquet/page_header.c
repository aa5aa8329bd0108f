/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses page headers and page indexes. */
#include "parquet/page_header.h"

#include "parquet/footer_int.h"

/* DataPageHeader: 1 num_values, 2 encoding, 3 definition_level_encoding,
 * 4 repetition_level_encoding, 5 statistics. */
static void read_data(struct cv_thrift_reader *r, struct cv_page_header *header)
{
    struct cv_thrift_field f;

    while (cv_thrift_read_field(r, &f)) {
        if (f.id == 1) {
            header->value_count = cv_thrift_read_i32(r, &f);
        } else if (f.id == 2) {
            header->encoding = cv_thrift_read_i32(r, &f);
        } else if (f.id == 3) {
            header->definition_encoding = cv_thrift_read_i32(r, &f);
        } else if (f.id == 4) {
            header->repetition_encoding = cv_thrift_read_i32(r, &f);
        } else if (f.id == 5) {
            cv_thrift_read_struct(r, &f);
            cv_parse_statistics(r, &header->statistics);
        } else {
            cv_thrift_skip(r, f.type);
        }
    }
}

/* DictionaryPageHeader: 1 num_values, 2 encoding. */
static void read_dictionary(struct cv_thrift_reader *r, struct cv_page_header *header)
{
    struct cv_thrift_field f;

    while (cv_thrift_read_field(r, &f)) {
        if (f.id == 1)
            header->value_count = cv_thrift_read_i32(r, &f);
        else if (f.id == 2)
            header->encoding = cv_thrift_read_i32(r, &f);
        else
            cv_thrift_skip(r, f.type);
    }
}

/* DataPageHeaderV2: 1 num_values, 2 num_nulls, 3 num_rows, 4 encoding,
 * 5 definition_levels_byte_length, 6 repetition_levels_byte_length, 7 is_compressed,
 * 8 statistics. */
static void read_data_v2(struct cv_thrift_reader *r, struct cv_page_header *header)
{
    struct cv_thrift_field f;

    while (cv_thrift_read_field(r, &f)) {
        if (f.id == 1) {
            header->value_count = cv_thrift_read_i32(r, &f);
        } else if (f.id == 2) {
            header->null_count = cv_thrift_read_i32(r, &f);
        } else if (f.id == 3) {
            header->row_count = cv_thrift_read_i32(r, &f);
        } else if (f.id == 4) {
            header->encoding = cv_thrift_read_i32(r, &f);
        } else if (f.id == 5) {
            header->definition_bytes = cv_thrift_read_i32(r, &f);
        } else if (f.id == 6) {
            header->repetition_bytes = cv_thrift_read_i32(r, &f);
        } else if (f.id == 7) {
            header->is_compressed = cv_thrift_read_bool(r, &f);
        } else if (f.id == 8) {
            cv_thrift_read_struct(r, &f);
            cv_parse_statistics(r, &header->statistics);
        } else {
            cv_thrift_skip(r, f.type);
        }
    }
}

/* PageHeader: 1 type, 2 uncompressed_page_size, 3 compressed_page_size, 4 crc, 5 data_page_header,
 * 7 dictionary_page_header, 8 data_page_header_v2. The part of another type is skipped. */
static void read_header(struct cv_thrift_reader *r, struct cv_page_header *header)
{
    struct cv_thrift_field f;

    cv_thrift_read_begin_struct(r);
    while (cv_thrift_read_field(r, &f)) {
        bool is_struct = f.type == CV_THRIFT_STRUCT;

        if (f.id == 1) {
            header->type = cv_thrift_read_i32(r, &f);
        } else if (f.id == 2) {
            header->plain_size = cv_thrift_read_i32(r, &f);
        } else if (f.id == 3) {
            header->packed_size = cv_thrift_read_i32(r, &f);
        } else if (f.id == 4) {
            header->crc = (uint32_t)cv_thrift_read_i32(r, &f);
            header->has_crc = true;
        } else if (is_struct && f.id == 5 && header->type == CV_PAGE_DATA) {
            cv_thrift_read_struct(r, &f);
            read_data(r, header);
        } else if (is_struct && f.id == 7 && header->type == CV_PAGE_DICTIONARY) {
            cv_thrift_read_struct(r, &f);
            read_dictionary(r, header);
        } else if (is_struct && f.id == 8 && header->type == CV_PAGE_DATA_V2) {
            cv_thrift_read_struct(r, &f);
            read_data_v2(r, header);
        } else {
            cv_thrift_skip(r, f.type);
        }
    }
}

static enum cv_code check(const struct cv_page_header *header, struct cv_error *err)
{
    int64_t level_bytes = (int64_t)header->definition_bytes + header->repetition_bytes;
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
    if (header->definition_bytes < 0 || header->repetition_bytes < 0 ||
        level_bytes > header->packed_size || level_bytes > header->plain_size)
        return cv_fail(err, CV_FORMAT, "the levels of a page are longer than the page");
    return CV_OK;
}

enum cv_code cv_page_header_parse(const uint8_t *bytes, size_t length,
                                  struct cv_page_header *ret_header, size_t *ret_length,
                                  bool *ret_short, struct cv_error *err)
{
    struct cv_thrift_reader thrift;
    struct cv_page_header header = {
        .type = -1,
        .plain_size = -1,
        .packed_size = -1,
        .value_count = -1,
        .encoding = -1,
        .null_count = -1,
        .row_count = -1,
        .is_compressed = true,
        .statistics.null_count = -1,
    };

    cv_thrift_reader_init(&thrift, bytes, length);
    read_header(&thrift, &header);
    *ret_short = thrift.problem != NULL;
    CV_DO(cv_thrift_reader_check(&thrift, "page header", err));
    CV_DO(check(&header, err));
    *ret_length = cv_thrift_reader_used(&thrift);
    *ret_header = header;
    return CV_OK;
}

static struct cv_str *read_texts(struct cv_thrift_reader *r, const struct cv_thrift_field *field,
                                 struct cv_arena *arena, size_t *ret_count)
{
    size_t count = cv_thrift_read_list(r, field, CV_THRIFT_BINARY);
    struct cv_str *texts = cv_arena_array(arena, struct cv_str, count);

    for (size_t i = 0; i < count; i++)
        texts[i] = cv_thrift_get_binary(r);
    *ret_count = count;
    return texts;
}

/* ColumnIndex: 1 null_pages, 2 min_values, 3 max_values, 4 boundary_order, 5 null_counts. */
bool cv_column_index_parse(struct cv_str bytes, struct cv_arena *arena,
                           struct cv_column_index *ret_index)
{
    struct cv_column_index index = {0};
    struct cv_thrift_reader r;
    struct cv_thrift_field f;
    size_t counts[4] = {0};

    cv_thrift_reader_init(&r, bytes.ptr, bytes.length);
    cv_thrift_read_begin_struct(&r);
    while (cv_thrift_read_field(&r, &f)) {
        if (f.id == 1) {
            counts[0] = cv_thrift_read_list(&r, &f, CV_THRIFT_TRUE);
            index.null_pages = cv_arena_array(arena, bool, counts[0]);
            for (size_t i = 0; i < counts[0]; i++)
                index.null_pages[i] = cv_thrift_get_bool(&r);
        } else if (f.id == 2) {
            index.mins = read_texts(&r, &f, arena, &counts[1]);
        } else if (f.id == 3) {
            index.maxs = read_texts(&r, &f, arena, &counts[2]);
        } else if (f.id == 5) {
            counts[3] = cv_thrift_read_list(&r, &f, CV_THRIFT_I64);
            index.null_counts = cv_arena_array(arena, int64_t, counts[3]);
            for (size_t i = 0; i < counts[3]; i++)
                index.null_counts[i] = cv_thrift_get_i64(&r);
        } else {
            cv_thrift_skip(&r, f.type);
        }
    }
    if (counts[3] != counts[0])
        index.null_counts = NULL;
    if (r.problem || counts[1] != counts[0] || counts[2] != counts[0])
        return false;
    index.page_count = counts[0];
    *ret_index = index;
    return true;
}

/* OffsetIndex: 1 list of PageLocation {1 offset, 2 compressed_page_size, 3 first_row_index}. */
bool cv_offset_index_parse(struct cv_str bytes, struct cv_arena *arena,
                           struct cv_page_place **ret_places, size_t *ret_count)
{
    struct cv_page_place *places = NULL;
    struct cv_thrift_reader r;
    struct cv_thrift_field f;
    size_t count = 0;

    cv_thrift_reader_init(&r, bytes.ptr, bytes.length);
    cv_thrift_read_begin_struct(&r);
    while (cv_thrift_read_field(&r, &f)) {
        if (f.id != 1 || places) {
            cv_thrift_skip(&r, f.type);
            continue;
        }
        count = cv_thrift_read_list(&r, &f, CV_THRIFT_STRUCT);
        places = cv_arena_array(arena, struct cv_page_place, count);
        for (size_t i = 0; i < count; i++) {
            cv_thrift_read_begin_struct(&r);
            while (cv_thrift_read_field(&r, &f)) {
                if (f.id == 1)
                    places[i].offset = cv_thrift_read_i64(&r, &f);
                else if (f.id == 2)
                    places[i].packed_size = cv_thrift_read_i32(&r, &f);
                else if (f.id == 3)
                    places[i].first_row = cv_thrift_read_i64(&r, &f);
                else
                    cv_thrift_skip(&r, f.type);
            }
        }
    }
    if (r.problem || !places)
        return false;
    *ret_places = places;
    *ret_count = count;
    return true;
}
