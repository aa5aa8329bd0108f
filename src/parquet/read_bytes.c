/* SPDX-License-Identifier: Apache-2.0
 *
 * Byte arrays outside a dictionary (format Encodings.md):
 *
 *   PLAIN                     length 4, bytes
 *   DELTA_LENGTH_BYTE_ARRAY   all lengths delta-packed, all bytes
 *   DELTA_BYTE_ARRAY          lengths shared with the value before, delta-packed; then what is not
 *                             shared, as DELTA_LENGTH_BYTE_ARRAY */
#include "parquet/reader_int.h"

/* Short values are copied by this many bytes at once; both sides have slack. */
#define SHORT_BYTES 16

enum cv_code cv_read_reserve_bytes(struct cv_read_leaf *leaf, struct cv_builder *builder,
                                   size_t extra, struct cv_error *err)
{
    extra += CV_RLE_SLACK;
    if (extra <= builder->data_capacity - builder->data_length ||
        cv_builder_grow_data(builder, extra))
        return CV_OK;
    return cv_fail(err, CV_LIMIT, "its values in one batch are above the limit of %zu bytes",
                   CV_COLUMN_BYTES_MAX);
}

static enum cv_code read_plain(struct cv_read_leaf *leaf, struct cv_builder *builder, size_t base,
                               size_t count, struct cv_error *err)
{
    const uint8_t *at = leaf->at;
    const uint8_t *end = leaf->values_end;
    int32_t *ends = builder->offsets + base + 1;

    for (size_t i = 0; i < count; i++) {
        uint32_t length;
        size_t room;

        if (end - at < 4)
            return cv_read_ended(err);
        memcpy(&length, at, 4);
        at += 4;
        if (length > (size_t)(end - at))
            return cv_read_ended(err);
        room = builder->data_capacity - builder->data_length;
        if (length + (size_t)SHORT_BYTES > room)
            CV_DO(cv_read_reserve_bytes(leaf, builder, length, err));
        if (length <= SHORT_BYTES)
            memcpy(builder->data + builder->data_length, at, SHORT_BYTES);
        else
            memcpy(builder->data + builder->data_length, at, length);
        at += length;
        builder->data_length += length;
        ends[i] = (int32_t)builder->data_length;
    }
    leaf->at = at;
    return CV_OK;
}

static enum cv_code read_lengths(struct cv_delta_reader *reader, size_t count, uint32_t *lengths,
                                 size_t *ret_sum, struct cv_error *err)
{
    size_t sum = 0;

    if (!cv_delta_read_32(reader, count, lengths))
        return cv_read_ended(err);
    for (size_t i = 0; i < count; i++) {
        if (lengths[i] > INT32_MAX)
            return cv_fail(err, CV_FORMAT, "a value of negative length");
        sum += lengths[i];
    }
    *ret_sum = sum;
    return CV_OK;
}

static enum cv_code read_delta_length(struct cv_read_leaf *leaf, struct cv_builder *builder,
                                      size_t base, size_t count, struct cv_error *err)
{
    int32_t *ends = builder->offsets + base + 1;
    uint32_t lengths[CV_PARQUET_VALUE_BLOCK];

    while (count > 0) {
        size_t take = CV_MIN(count, CV_ARRAY_LENGTH(lengths));
        size_t end = builder->data_length;
        size_t sum;

        CV_DO(read_lengths(&leaf->delta, take, lengths, &sum, err));
        if (sum > (size_t)(leaf->values_end - leaf->at))
            return cv_read_ended(err);
        CV_DO(cv_read_reserve_bytes(leaf, builder, sum, err));
        memcpy(builder->data + end, leaf->at, sum);
        leaf->at += sum;
        for (size_t i = 0; i < take; i++) {
            end += lengths[i];
            ends[i] = (int32_t)end;
        }
        builder->data_length = end;
        ends += take;
        count -= take;
    }
    return CV_OK;
}

/* One value: `shared` bytes of the one before, and the next `length` bytes of the page. The value
 * before the first one of a call may have left the column: leaf->previous holds it. */
static enum cv_code put_delta(struct cv_read_leaf *leaf, struct cv_builder *builder, bool first,
                              size_t previous_length, size_t shared, size_t length,
                              struct cv_error *err)
{
    size_t start = builder->data_length;
    uint8_t *to;

    if (shared > previous_length || length > (size_t)(leaf->values_end - leaf->at))
        return cv_read_ended(err);
    CV_DO(cv_read_reserve_bytes(leaf, builder, shared + length, err));
    to = builder->data + start;
    if (shared)
        memcpy(to, first ? leaf->previous.data : to - previous_length, shared);
    if (length)
        memcpy(to + shared, leaf->at, length);
    leaf->at += length;
    builder->data_length = start + shared + length;
    return CV_OK;
}

static enum cv_code read_delta_byte_array(struct cv_read_leaf *leaf, struct cv_builder *builder,
                                          size_t base, size_t count, struct cv_error *err)
{
    int32_t *ends = builder->offsets + base + 1;
    uint32_t shared[CV_PARQUET_VALUE_BLOCK];
    uint32_t lengths[CV_PARQUET_VALUE_BLOCK];
    size_t done = 0;
    size_t last = leaf->previous.length;

    while (done < count) {
        size_t take = CV_MIN(count - done, CV_ARRAY_LENGTH(lengths));
        size_t sum;

        CV_DO(read_lengths(&leaf->delta, take, shared, &sum, err));
        CV_DO(read_lengths(&leaf->suffixes, take, lengths, &sum, err));
        for (size_t i = 0; i < take; i++) {
            CV_DO(put_delta(leaf, builder, done + i == 0, last, shared[i], lengths[i], err));
            last = (size_t)shared[i] + lengths[i];
            ends[done + i] = (int32_t)builder->data_length;
        }
        done += take;
    }
    cv_buf_clear(&leaf->previous);
    cv_buf_append(&leaf->previous, builder->data + builder->data_length - last, last);
    return CV_OK;
}

enum cv_code cv_read_byte_arrays(struct cv_read_leaf *leaf, struct cv_builder *builder, size_t base,
                                 size_t count, struct cv_error *err)
{
    /* Places before `base` are taken; theirs is the offset that the first value starts at. */
    if (base == 0)
        builder->offsets[0] = 0;
    switch (leaf->encoding) {
    case CV_PARQUET_PLAIN:
        return read_plain(leaf, builder, base, count, err);
    case CV_PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        return read_delta_length(leaf, builder, base, count, err);
    case CV_PARQUET_DELTA_BYTE_ARRAY:
        return read_delta_byte_array(leaf, builder, base, count, err);
    default:
        return cv_fail(err, CV_INTERNAL, "encoding %d of byte arrays", leaf->encoding);
    }
}
