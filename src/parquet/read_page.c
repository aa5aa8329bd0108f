/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages: checked, unpacked, and split into levels and values (format README.md, Data Pages):
 *
 *   v1   compressed whole: [length 4][repetition levels] [length 4][definition levels] values
 *   v2   repetition levels, definition levels (never compressed), values
 *
 * with levels only where the maximum is above 0; BIT_PACKED levels of v1 have no length. */
#include "parquet/reader_int.h"

#include "codec/hash.h"

#define DICTIONARY_PAGE_KEPT ((size_t)64 << 10)

static const char *encoding_name(int32_t encoding)
{
    static const char *const names[] = {
        "PLAIN",          "GROUP_VAR_INT",       "PLAIN_DICTIONARY",        "RLE",
        "BIT_PACKED",     "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY",
        "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"};

    return encoding >= 0 && (size_t)encoding < CV_ARRAY_LENGTH(names) ? names[encoding] : "unknown";
}

static enum cv_code ended(const char *what, struct cv_error *err)
{
    return cv_fail(err, CV_FORMAT, "a page ends inside its %s", what);
}

/* Unpacks `length` bytes into the leaf's page behind what is there. */
static enum cv_code unpack(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                           const uint8_t *bytes, size_t length, size_t plain_length,
                           struct cv_error *err)
{
    if (!cv_buf_reserve(&leaf->page, plain_length + CV_RLE_SLACK))
        return cv_fail(err, CV_LIMIT, "a page of %zu bytes is too large", plain_length);
    if (plain_length == 0)
        return CV_OK;
    CV_DO(cv_decompressor_run(reader->decompressor, leaf->codec, bytes, length, plain_length,
                              &leaf->page, err));
    (void)cv_buf_reserve(&leaf->page, CV_RLE_SLACK);
    return CV_OK;
}

static void start_rle_levels(struct cv_level_reader *levels, const uint8_t *bytes, size_t length,
                             uint8_t max)
{
    *levels = (struct cv_level_reader){0};
    cv_rle_reader_init(&levels->rle, bytes, length, cv_bit_width(max));
}

/* One kind of levels at the start of a v1 page. */
static enum cv_code start_levels(struct cv_level_reader *levels, int32_t encoding, uint8_t max,
                                 size_t count, const uint8_t **at, const uint8_t *end,
                                 struct cv_error *err)
{
    size_t left = (size_t)(end - *at);
    size_t bits = count * cv_bit_width(max);
    uint32_t length;

    start_rle_levels(levels, *at, 0, max);
    if (max == 0)
        return CV_OK;
    if (encoding == CV_PARQUET_BIT_PACKED) {
        if (left < (bits + 7) / 8)
            return ended("levels", err);
        levels->bit_packed = true;
        levels->bits = *at;
        levels->bit_count = bits;
        *at += (bits + 7) / 8;
        return CV_OK;
    }
    if (encoding != CV_PARQUET_RLE)
        return cv_fail(err, CV_FORMAT, "levels in encoding %s", encoding_name(encoding));
    if (left < 4)
        return ended("levels", err);
    memcpy(&length, *at, 4);
    if (length > left - 4)
        return ended("levels", err);
    start_rle_levels(levels, *at + 4, length, max);
    *at += 4 + (size_t)length;
    return CV_OK;
}

bool cv_read_levels(struct cv_level_reader *levels, size_t count, uint8_t *ret_levels)
{
    unsigned width = levels->rle.width;

    if (!levels->bit_packed)
        return cv_rle_read_levels(&levels->rle, count, ret_levels);
    if (count * width > levels->bit_count - levels->bit)
        return false;
    cv_bits_read_levels(levels->bits, levels->bit, count, width, ret_levels);
    levels->bit += count * width;
    return true;
}

static enum cv_code start_indices(struct cv_read_leaf *leaf, struct cv_error *err)
{
    size_t length = (size_t)(leaf->values_end - leaf->at);

    if (!leaf->has_dictionary)
        return cv_fail(err, CV_FORMAT, "a page refers to a dictionary that is not there");
    if (length == 0) { /* a page of nulls */
        cv_rle_reader_init(&leaf->indices, leaf->at, 0, 1);
        return CV_OK;
    }
    if (leaf->at[0] > 32)
        return cv_fail(err, CV_FORMAT, "dictionary indices of %u bits", leaf->at[0]);
    cv_rle_reader_init(&leaf->indices, leaf->at + 1, length - 1, leaf->at[0]);
    return CV_OK;
}

static enum cv_code start_delta(struct cv_delta_reader *delta, const uint8_t *at,
                                const uint8_t *end, struct cv_error *err)
{
    if (at == end) {
        *delta = (struct cv_delta_reader){0};
        return CV_OK;
    }
    if (!cv_delta_reader_init(delta, at, (size_t)(end - at)))
        return cv_fail(err, CV_FORMAT, "malformed DELTA_BINARY_PACKED values");
    return CV_OK;
}

/* The lengths of a DELTA_LENGTH_BYTE_ARRAY at leaf->at; its bytes follow. */
static enum cv_code start_lengths(struct cv_delta_reader *lengths, struct cv_read_leaf *leaf,
                                  struct cv_error *err)
{
    CV_DO(start_delta(lengths, leaf->at, leaf->values_end, err));
    if (lengths->end && !cv_delta_find_end(lengths, &leaf->at))
        return cv_fail(err, CV_FORMAT, "malformed lengths of DELTA_LENGTH_BYTE_ARRAY values");
    return CV_OK;
}

static enum cv_code start_rle_booleans(struct cv_read_leaf *leaf, struct cv_error *err)
{
    size_t left = (size_t)(leaf->values_end - leaf->at);
    uint32_t length = 0;

    if (left == 0) {
        cv_rle_reader_init(&leaf->indices, leaf->at, 0, 1);
        return CV_OK;
    }
    if (left < 4)
        return ended("values", err);
    memcpy(&length, leaf->at, 4);
    if (length > left - 4)
        return ended("values", err);
    cv_rle_reader_init(&leaf->indices, leaf->at + 4, length, 1);
    return CV_OK;
}

static enum cv_code start_split(struct cv_read_leaf *leaf, struct cv_error *err)
{
    size_t bytes = (size_t)(leaf->values_end - leaf->at);

    if (bytes % leaf->width)
        return cv_fail(err, CV_FORMAT, "BYTE_STREAM_SPLIT values of unequal streams");
    leaf->stream_at = 0;
    leaf->stream_count = bytes / leaf->width;
    return CV_OK;
}

static bool encoding_fits(const struct cv_read_leaf *leaf)
{
    enum cv_parquet_type type = leaf->node->type;
    bool bytes = type == CV_PARQUET_BYTE_ARRAY;

    switch (leaf->encoding) {
    case CV_PARQUET_PLAIN:
        return true;
    case CV_PARQUET_PLAIN_DICTIONARY:
    case CV_PARQUET_RLE_DICTIONARY:
        return type != CV_PARQUET_BOOLEAN;
    case CV_PARQUET_RLE:
        return type == CV_PARQUET_BOOLEAN;
    case CV_PARQUET_DELTA_BINARY_PACKED:
        return type == CV_PARQUET_INT32 || type == CV_PARQUET_INT64;
    case CV_PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        return bytes;
    case CV_PARQUET_DELTA_BYTE_ARRAY:
        return bytes || type == CV_PARQUET_FIXED_LEN_BYTE_ARRAY;
    case CV_PARQUET_BYTE_STREAM_SPLIT:
        return leaf->width > 0;
    default:
        return false;
    }
}

/* leaf->at … values_end are the values of the page. */
static enum cv_code start_values(struct cv_read_leaf *leaf, struct cv_error *err)
{
    if (!encoding_fits(leaf))
        return cv_fail(err, CV_FORMAT, "a page in encoding %s (%d), which its type does not have",
                       encoding_name(leaf->encoding), leaf->encoding);
    leaf->bit = 0;
    switch (leaf->encoding) {
    case CV_PARQUET_PLAIN_DICTIONARY:
    case CV_PARQUET_RLE_DICTIONARY:
        return start_indices(leaf, err);
    case CV_PARQUET_RLE:
        return start_rle_booleans(leaf, err);
    case CV_PARQUET_DELTA_BINARY_PACKED:
        return start_delta(&leaf->delta, leaf->at, leaf->values_end, err);
    case CV_PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        return start_lengths(&leaf->delta, leaf, err);
    case CV_PARQUET_DELTA_BYTE_ARRAY:
        cv_buf_clear(&leaf->previous);
        CV_DO(start_lengths(&leaf->delta, leaf, err));
        return start_lengths(&leaf->suffixes, leaf, err);
    case CV_PARQUET_BYTE_STREAM_SPLIT:
        return start_split(leaf, err);
    default:
        return CV_OK;
    }
}

/* Bytes of a page that is compressed whole, unpacked; in place where it is not compressed. */
static enum cv_code plain_page(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                               const struct cv_page_header *header, const uint8_t *bytes,
                               struct cv_error *err)
{
    if (leaf->codec == CV_CODEC_NONE) {
        leaf->at = bytes;
        leaf->values_end = bytes + header->packed_size;
        return CV_OK;
    }
    cv_buf_clear(&leaf->page);
    CV_DO(
        unpack(reader, leaf, bytes, (size_t)header->packed_size, (size_t)header->plain_size, err));
    leaf->at = leaf->page.data;
    leaf->values_end = leaf->at + leaf->page.length;
    return CV_OK;
}

static enum cv_code open_data(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                              const struct cv_page_header *header, const uint8_t *bytes,
                              struct cv_error *err)
{
    size_t count = (size_t)header->value_count;

    CV_DO(plain_page(reader, leaf, header, bytes, err));
    CV_DO(start_levels(&leaf->repetitions, header->repetition_encoding, leaf->node->repetition_max,
                       count, &leaf->at, leaf->values_end, err));
    return start_levels(&leaf->definitions, header->definition_encoding, leaf->node->definition_max,
                        count, &leaf->at, leaf->values_end, err);
}

/* The levels stay where they are in the file's bytes; the values go to the page buffer when they
 * are compressed. */
static enum cv_code open_data_v2(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                                 const struct cv_page_header *header, const uint8_t *bytes,
                                 struct cv_error *err)
{
    size_t repetition_bytes = (size_t)header->repetition_bytes;
    size_t definition_bytes = (size_t)header->definition_bytes;
    size_t levels = repetition_bytes + definition_bytes;
    size_t packed = (size_t)header->packed_size - levels;
    bool compressed = header->is_compressed && leaf->codec != CV_CODEC_NONE;

    leaf->at = bytes + levels;
    leaf->values_end = bytes + header->packed_size;
    if (compressed) {
        cv_buf_clear(&leaf->page);
        if (!cv_buf_reserve(&leaf->page, levels + CV_RLE_SLACK))
            return cv_fail(err, CV_LIMIT, "levels of %zu bytes are too large", levels);
        cv_buf_append(&leaf->page, bytes, levels);
        CV_DO(unpack(reader, leaf, leaf->at, packed, (size_t)header->plain_size - levels, err));
        bytes = leaf->page.data;
        leaf->at = bytes + levels;
        leaf->values_end = bytes + leaf->page.length;
    }
    start_rle_levels(&leaf->repetitions, bytes, repetition_bytes, leaf->node->repetition_max);
    start_rle_levels(&leaf->definitions, bytes + repetition_bytes, definition_bytes,
                     leaf->node->definition_max);
    return CV_OK;
}

static size_t longest_entry(const struct cv_builder *dictionary, size_t count)
{
    int32_t longest = 0;

    if (dictionary->offsets)
        for (size_t i = 0; i < count; i++)
            longest = CV_MAX(longest, dictionary->offsets[i + 1] - dictionary->offsets[i]);
    return (size_t)longest;
}

static enum cv_code load_dictionary(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                                    const struct cv_page_header *header, const uint8_t *bytes,
                                    struct cv_error *err)
{
    size_t count = (size_t)header->value_count;

    if (leaf->has_dictionary)
        return cv_fail(err, CV_FORMAT, "a second dictionary page");
    if (!leaf->type)
        return CV_OK;
    if (header->encoding != CV_PARQUET_PLAIN && header->encoding != CV_PARQUET_PLAIN_DICTIONARY)
        return cv_fail(err, CV_FORMAT, "a dictionary in encoding %s (%d)",
                       encoding_name(header->encoding), header->encoding);
    CV_DO(plain_page(reader, leaf, header, bytes, err));
    if (leaf->node->type == CV_PARQUET_BOOLEAN ||
        count > (size_t)(leaf->values_end - leaf->at) / (leaf->width ? leaf->width : 4))
        return cv_fail(err, CV_FORMAT, "a dictionary page holds less than its %zu values", count);
    leaf->encoding = CV_PARQUET_PLAIN;
    cv_builder_clear(&leaf->dictionary);
    CV_DO(cv_read_values(leaf, &leaf->dictionary, 0, count, err));
    leaf->dictionary.length = count;
    leaf->dictionary_longest = longest_entry(&leaf->dictionary, count);
    leaf->has_dictionary = true;
    /* Data pages are smaller: a table of many columns would hold each dictionary twice. */
    if (leaf->page.capacity > DICTIONARY_PAGE_KEPT)
        cv_buf_release(&leaf->page);
    return CV_OK;
}

static enum cv_code open_page(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                              const struct cv_page_header *header, const uint8_t *bytes,
                              struct cv_error *err)
{
    if (header->value_count > leaf->levels_left)
        return cv_fail(err, CV_FORMAT, "the pages hold more values than the column chunk");
    if (header->type == CV_PAGE_DATA)
        CV_DO(open_data(reader, leaf, header, bytes, err));
    else
        CV_DO(open_data_v2(reader, leaf, header, bytes, err));
    leaf->encoding = header->encoding;
    if (leaf->type)
        CV_DO(start_values(leaf, err));
    leaf->page_levels = (size_t)header->value_count;
    leaf->levels_left -= header->value_count;
    leaf->block_at = leaf->block_count = 0;
    return CV_OK;
}

static enum cv_code take_page(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                              struct cv_error *err)
{
    struct cv_page_header header;
    const uint8_t *bytes;
    size_t header_bytes;

    CV_DO(cv_read_page_header(reader, leaf, &header, &header_bytes, err));
    CV_DO(cv_read_bytes(reader, leaf, leaf->next_page, header_bytes + (size_t)header.packed_size,
                        &bytes, err));
    bytes += header_bytes;
    if (header.has_crc && cv_crc32(bytes, (size_t)header.packed_size) != header.crc)
        return cv_fail(err, CV_FORMAT, "its checksum (CRC) is wrong");
    if (header.type == CV_PAGE_DICTIONARY)
        CV_DO(load_dictionary(reader, leaf, &header, bytes, err));
    else if (header.type == CV_PAGE_DATA || header.type == CV_PAGE_DATA_V2)
        CV_DO(open_page(reader, leaf, &header, bytes, err));
    leaf->next_page += (int64_t)header_bytes + header.packed_size;
    return CV_OK;
}

enum cv_code cv_read_page(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                          struct cv_error *err)
{
    while (leaf->page_levels == 0) {
        if (leaf->levels_left <= 0)
            return cv_fail(err, CV_FORMAT, "the column chunk holds fewer values than rows");
        CV_TRY(take_page(reader, leaf, err), err, "page at byte %lld", (long long)leaf->next_page);
    }
    return CV_OK;
}
