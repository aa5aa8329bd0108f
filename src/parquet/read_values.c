/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of a page, by its encoding (format Encodings.md), into a column's memory. */
#include "parquet/reader_int.h"

enum cv_code cv_read_ended(struct cv_error *err)
{
    return cv_fail(err, CV_FORMAT, "a page ends inside its values, or they are malformed");
}

/* The next indices, each below the number of entries. */
static enum cv_code read_indices(struct cv_read_leaf *leaf, size_t count, uint32_t *indices,
                                 struct cv_error *err)
{
    uint32_t greatest = 0;

    if (!cv_rle_read(&leaf->indices, count, indices))
        return cv_read_ended(err);
    for (size_t i = 0; i < count; i++)
        greatest = CV_MAX(greatest, indices[i]);
    if (count && greatest >= leaf->dictionary.length)
        return cv_fail(err, CV_FORMAT, "index %u into a dictionary of %zu entries", greatest,
                       leaf->dictionary.length);
    return CV_OK;
}

#define GATHER(width)                                                                              \
    for (size_t i_ = 0; i_ < take; i_++)                                                           \
    memcpy(out + i_ * (width), entries + indices[i_] * (size_t)(width), (width))

static enum cv_code read_dictionary_fixed(struct cv_read_leaf *leaf, uint8_t *out, size_t width,
                                          size_t count, struct cv_error *err)
{
    const uint8_t *entries = leaf->dictionary.data;
    uint32_t indices[CV_PARQUET_VALUE_BLOCK];

    while (count > 0) {
        size_t take = CV_MIN(count, CV_ARRAY_LENGTH(indices));

        CV_DO(read_indices(leaf, take, indices, err));
        if (width == 4)
            GATHER(4);
        else if (width == 8)
            GATHER(8);
        else if (width == 16)
            GATHER(16);
        else
            GATHER(width);
        out += take * width;
        count -= take;
    }
    return CV_OK;
}

static void copy_entry(uint8_t *to, const uint8_t *from, size_t length)
{
    if (length <= 16)
        memcpy(to, from, 16);
    else
        memcpy(to, from, length);
}

enum cv_code cv_read_byte_array_dictionary(struct cv_read_leaf *leaf, struct cv_builder *builder,
                                           size_t base, size_t count, struct cv_error *err)
{
    const int32_t *starts = leaf->dictionary.offsets;
    const uint8_t *entries = leaf->dictionary.data;
    uint32_t indices[CV_PARQUET_VALUE_BLOCK];
    int32_t *ends = builder->offsets + base + 1;

    while (count > 0) {
        size_t take = CV_MIN(count, CV_ARRAY_LENGTH(indices));
        size_t end = builder->data_length;
        size_t bytes = 0;
        uint8_t *to;

        CV_DO(read_indices(leaf, take, indices, err));
        for (size_t i = 0; i < take; i++)
            bytes += (size_t)(starts[indices[i] + 1] - starts[indices[i]]);
        CV_DO(cv_read_reserve_bytes(leaf, builder, bytes, err));
        to = builder->data;
        for (size_t i = 0; i < take; i++) {
            size_t start = (size_t)starts[indices[i]];
            size_t length = (size_t)starts[indices[i] + 1] - start;

            copy_entry(to + end, entries + start, length);
            end += length;
            ends[i] = (int32_t)end;
        }
        builder->data_length = end;
        ends += take;
        count -= take;
    }
    return CV_OK;
}

static enum cv_code read_booleans(struct cv_read_leaf *leaf, struct cv_builder *builder,
                                  size_t base, size_t count, struct cv_error *err)
{
    size_t bits = (size_t)(leaf->values_end - leaf->at) * 8;
    size_t set;

    if (leaf->encoding == CV_PARQUET_RLE)
        return cv_rle_read_bits(&leaf->indices, count, builder->data, base, &set)
                   ? CV_OK
                   : cv_read_ended(err);
    if (count > bits - leaf->bit)
        return cv_read_ended(err);
    cv_bits_copy(builder->data, base, leaf->at, leaf->bit, count);
    leaf->bit += count;
    return CV_OK;
}

#define JOIN_STREAMS(width)                                                                        \
    do {                                                                                           \
        for (size_t i_ = 0; i_ < count; i_++)                                                      \
            for (size_t j_ = 0; j_ < (width); j_++)                                                \
                to[i_ * (width) + j_] = from[j_ * streams + i_];                                   \
    } while (0)

static enum cv_code join_streams(struct cv_read_leaf *leaf, size_t count, const uint8_t **ret_raw,
                                 struct cv_error *err)
{
    const uint8_t *from = leaf->at + leaf->stream_at;
    size_t streams = leaf->stream_count;
    uint8_t *to = leaf->raw.data;

    if (count > streams - leaf->stream_at)
        return cv_read_ended(err);
    if (leaf->width == 4)
        JOIN_STREAMS(4);
    else if (leaf->width == 8)
        JOIN_STREAMS(8);
    else
        JOIN_STREAMS(leaf->width);
    leaf->stream_at += count;
    *ret_raw = to;
    return CV_OK;
}

/* DELTA_BYTE_ARRAY of a fixed width. */
static enum cv_code read_fixed_delta(struct cv_read_leaf *leaf, size_t count,
                                     const uint8_t **ret_raw, struct cv_error *err)
{
    struct cv_builder *scratch = &leaf->scratch;

    cv_builder_clear(scratch);
    while (scratch->capacity < count)
        cv_builder_grow(scratch);
    CV_DO(cv_read_byte_arrays(leaf, scratch, 0, count, err));
    for (size_t i = 0; i < count; i++)
        if ((size_t)(scratch->offsets[i + 1] - scratch->offsets[i]) != leaf->width)
            return cv_fail(err, CV_FORMAT, "a value of %d bytes where each has %zu",
                           scratch->offsets[i + 1] - scratch->offsets[i], leaf->width);
    *ret_raw = scratch->data;
    return CV_OK;
}

/* The next `count` values of fixed width as the file has them: in the page, or unpacked. */
static enum cv_code take_raw(struct cv_read_leaf *leaf, size_t count, const uint8_t **ret_raw,
                             struct cv_error *err)
{
    bool fine;

    if (leaf->encoding == CV_PARQUET_PLAIN) {
        if (count > (size_t)(leaf->values_end - leaf->at) / leaf->width)
            return cv_read_ended(err);
        *ret_raw = leaf->at;
        leaf->at += count * leaf->width;
        return CV_OK;
    }
    cv_buf_clear(&leaf->raw);
    if (!cv_buf_reserve(&leaf->raw, count * leaf->width + 1))
        return cv_fail(err, CV_LIMIT, "%zu values of %zu bytes are too many", count, leaf->width);
    if (leaf->encoding == CV_PARQUET_BYTE_STREAM_SPLIT)
        return join_streams(leaf, count, ret_raw, err);
    if (leaf->encoding == CV_PARQUET_DELTA_BYTE_ARRAY)
        return read_fixed_delta(leaf, count, ret_raw, err);
    if (leaf->node->type == CV_PARQUET_INT32)
        fine = cv_delta_read_32(&leaf->delta, count, (uint32_t *)(void *)leaf->raw.data);
    else
        fine = cv_delta_read_64(&leaf->delta, count, (uint64_t *)(void *)leaf->raw.data);
    *ret_raw = leaf->raw.data;
    return fine ? CV_OK : cv_read_ended(err);
}

static enum cv_code read_fixed(struct cv_read_leaf *leaf, uint8_t *out, size_t out_width,
                               size_t count, struct cv_error *err)
{
    while (count > 0) {
        size_t take = leaf->encoding == CV_PARQUET_PLAIN
                          ? count
                          : CV_MIN(count, (size_t)CV_PARQUET_VALUE_BLOCK);
        const uint8_t *raw;

        CV_DO(take_raw(leaf, take, &raw, err));
        CV_DO(cv_read_convert(leaf, raw, take, out, err));
        out += take * out_width;
        count -= take;
    }
    return CV_OK;
}

static enum cv_code read_bytes_to_decimals(struct cv_read_leaf *leaf, uint8_t *out, size_t count,
                                           struct cv_error *err)
{
    struct cv_builder *scratch = &leaf->scratch;
    size_t width = cv_type_width(leaf->type);

    while (count > 0) {
        size_t take = CV_MIN(count, (size_t)CV_PARQUET_VALUE_BLOCK);

        cv_builder_clear(scratch);
        while (scratch->capacity < take)
            cv_builder_grow(scratch);
        CV_DO(cv_read_byte_arrays(leaf, scratch, 0, take, err));
        CV_DO(cv_read_convert_bytes(leaf, scratch, take, out, err));
        out += take * width;
        count -= take;
    }
    return CV_OK;
}

enum cv_code cv_read_values(struct cv_read_leaf *leaf, struct cv_builder *builder, size_t base,
                            size_t count, struct cv_error *err)
{
    bool indexed = cv_parquet_is_indices(leaf->encoding);
    uint8_t *out;

    while (builder->capacity - base < count || builder->capacity == 0)
        cv_builder_grow(builder);
    if (count == 0)
        return CV_OK;
    if (leaf->convert == CV_CONVERT_BITS)
        return read_booleans(leaf, builder, base, count, err);
    if (leaf->convert == CV_CONVERT_BYTES)
        return indexed ? cv_read_byte_array_dictionary(leaf, builder, base, count, err)
                       : cv_read_byte_arrays(leaf, builder, base, count, err);
    out = builder->data + base * builder->width;
    if (indexed)
        return read_dictionary_fixed(leaf, out, builder->width, count, err);
    if (leaf->convert == CV_CONVERT_DECIMAL_BYTES)
        return read_bytes_to_decimals(leaf, out, count, err);
    return read_fixed(leaf, out, builder->width, count, err);
}
