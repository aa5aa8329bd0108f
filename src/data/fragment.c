/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows as bytes and back; a gather for each column on the way out, an append on the way in. */
#include "data/fragment.h"

/* --- writing --------------------------------------------------------------------------------- */

static void write_bitmap(const uint8_t *bits, const struct cv_rows *rows, struct cv_buf *out)
{
    size_t bytes = (rows->count + 7) / 8;
    uint8_t *to;

    if (!cv_buf_reserve(out, bytes))
        return;
    to = out->data + out->length;
    memset(to, 0, bytes);
    for (size_t i = 0; i < rows->count; i++)
        if (cv_bit_get(bits, cv_rows_at(rows, i)))
            cv_bit_set(to, i);
    out->length += bytes;
}

static void write_fixed(const struct cv_column *column, const struct cv_rows *rows, size_t width,
                        struct cv_buf *out)
{
    uint8_t *to;

    if (!rows->index) {
        cv_buf_append(out, column->data + rows->start * width, rows->count * width);
        return;
    }
    if (!cv_buf_reserve(out, rows->count * width))
        return;
    to = out->data + out->length;
    for (size_t i = 0; i < rows->count; i++)
        memcpy(to + i * width, column->data + rows->index[i] * width, width);
    out->length += rows->count * width;
}

/* Appends the length of each row's value; returns their sum. */
static size_t write_lengths(const struct cv_column *column, const struct cv_rows *rows,
                            struct cv_buf *out)
{
    size_t sum = 0;

    for (size_t i = 0; i < rows->count; i++) {
        size_t row = cv_rows_at(rows, i);
        uint32_t length = (uint32_t)(column->offsets[row + 1] - column->offsets[row]);

        cv_buf_append(out, &length, sizeof length);
        sum += length;
    }
    return sum;
}

static void write_text(const struct cv_column *column, const struct cv_rows *rows,
                       struct cv_buf *out)
{
    if (!cv_buf_reserve(out, write_lengths(column, rows, out)))
        return;
    for (size_t i = 0; i < rows->count; i++) {
        struct cv_str value = cv_column_bytes(column, cv_rows_at(rows, i));

        cv_buf_append(out, value.ptr, value.length);
    }
}

static void write_column(const struct cv_column *column, const struct cv_rows *rows,
                         struct cv_arena *scratch, struct cv_buf *out);

static void write_children(const struct cv_column *column, const struct cv_rows *rows,
                           struct cv_arena *scratch, struct cv_buf *out)
{
    for (size_t i = 0; i < column->child_count; i++)
        write_column(&column->children[i], rows, scratch, out);
}

static void write_list(const struct cv_column *column, const struct cv_rows *rows,
                       struct cv_arena *scratch, struct cv_buf *out)
{
    size_t count = write_lengths(column, rows, out);
    uint32_t *index = cv_arena_array(scratch, uint32_t, count);
    size_t at = 0;

    for (size_t i = 0; i < rows->count; i++) {
        size_t row = cv_rows_at(rows, i);

        for (int32_t child = column->offsets[row]; child < column->offsets[row + 1]; child++)
            index[at++] = (uint32_t)child;
    }
    write_children(column, &(struct cv_rows){.index = index, .count = count}, scratch, out);
}

static void write_column(const struct cv_column *column, const struct cv_rows *rows,
                         struct cv_arena *scratch, struct cv_buf *out)
{
    size_t width = cv_type_width(column->type);

    cv_buf_append_byte(out, column->validity != NULL);
    if (column->validity)
        write_bitmap(column->validity, rows, out);
    if (!rows->count)
        return;
    if (width)
        write_fixed(column, rows, width, out);
    else if (column->type->kind == CV_TYPE_BOOLEAN)
        write_bitmap(column->data, rows, out);
    else if (column->type->kind == CV_TYPE_STRUCT)
        write_children(column, rows, scratch, out);
    else if (cv_type_is_nested(column->type))
        write_list(column, rows, scratch, out);
    else
        write_text(column, rows, out);
}

void cv_fragment_write(const struct cv_batch *batch, const struct cv_rows *rows,
                       struct cv_arena *scratch, struct cv_buf *out)
{
    cv_arena_reset(scratch);
    for (size_t i = 0; i < batch->column_count; i++)
        write_column(&batch->columns[i], rows, scratch, out);
}

/* --- reading --------------------------------------------------------------------------------- */

struct reader {
    const uint8_t *at;
    const uint8_t *end;
    struct cv_error *err;
};

static enum cv_code take(struct reader *reader, size_t length, const uint8_t **ret_bytes)
{
    *ret_bytes = reader->at;
    if (length > (size_t)(reader->end - reader->at))
        return cv_fail(reader->err, CV_IO, "spilled rows are damaged");
    reader->at += length;
    return CV_OK;
}

static enum cv_code read_column(struct reader *reader, size_t rows, struct cv_builder *builder);

static bool is_null(const uint8_t *validity, size_t row)
{
    return validity && !cv_bit_get(validity, row);
}

static enum cv_code read_booleans(struct reader *reader, size_t rows, const uint8_t *validity,
                                  struct cv_builder *builder)
{
    const uint8_t *bits;

    CV_DO(take(reader, (rows + 7) / 8, &bits));
    for (size_t i = 0; i < rows; i++) {
        if (is_null(validity, i))
            cv_builder_null(builder);
        else
            cv_builder_bool(builder, cv_bit_get(bits, i));
    }
    return CV_OK;
}

static enum cv_code read_fixed(struct reader *reader, size_t rows, const uint8_t *validity,
                               struct cv_builder *builder)
{
    const uint8_t *bytes;

    CV_DO(take(reader, rows * builder->width, &bytes));
    for (size_t i = 0; i < rows; i++) {
        if (is_null(validity, i))
            cv_builder_null(builder);
        else
            cv_builder_fixed(builder, bytes + i * builder->width);
    }
    return CV_OK;
}

static uint32_t length_at(const uint8_t *lengths, size_t row)
{
    uint32_t length;

    memcpy(&length, lengths + row * sizeof length, sizeof length);
    return length;
}

static enum cv_code read_text(struct reader *reader, size_t rows, const uint8_t *validity,
                              struct cv_builder *builder)
{
    const uint8_t *lengths;
    const uint8_t *bytes;

    CV_DO(take(reader, rows * sizeof(uint32_t), &lengths));
    for (size_t i = 0; i < rows; i++) {
        CV_DO(take(reader, length_at(lengths, i), &bytes));
        if (is_null(validity, i))
            cv_builder_null(builder);
        else
            cv_builder_bytes(builder, bytes, length_at(lengths, i));
    }
    return CV_OK;
}

static enum cv_code read_list(struct reader *reader, size_t rows, const uint8_t *validity,
                              struct cv_builder *builder)
{
    size_t start = builder->child_count ? builder->children[0].length : 0;
    const uint8_t *lengths;
    size_t count = 0;

    CV_DO(take(reader, rows * sizeof(uint32_t), &lengths));
    for (size_t i = 0; i < rows; i++)
        count += length_at(lengths, i);
    for (size_t i = 0; i < builder->child_count; i++)
        CV_DO(read_column(reader, count, &builder->children[i]));
    /* The children stand already: each value is closed where its own ones end. */
    for (size_t i = 0; i < rows; i++) {
        start += length_at(lengths, i);
        if (is_null(validity, i)) {
            cv_builder_null(builder);
            continue;
        }
        cv_builder_end_list(builder);
        builder->offsets[builder->length] = (int32_t)start;
    }
    return CV_OK;
}

static enum cv_code read_struct(struct reader *reader, size_t rows, const uint8_t *validity,
                                struct cv_builder *builder)
{
    for (size_t i = 0; i < builder->child_count; i++)
        CV_DO(read_column(reader, rows, &builder->children[i]));
    for (size_t i = 0; i < rows; i++) {
        cv_builder_end_struct(builder);
        if (!is_null(validity, i))
            continue;
        if (!builder->validity)
            cv_builder_start_validity(builder);
        cv_bit_clear(builder->validity, builder->length - 1);
        builder->null_count++;
    }
    return CV_OK;
}

static enum cv_code read_column(struct reader *reader, size_t rows, struct cv_builder *builder)
{
    const uint8_t *validity = NULL;
    const uint8_t *has_nulls;

    CV_DO(take(reader, 1, &has_nulls));
    if (*has_nulls)
        CV_DO(take(reader, (rows + 7) / 8, &validity));
    if (!rows)
        return CV_OK;
    if (builder->width)
        return read_fixed(reader, rows, validity, builder);
    if (builder->type->kind == CV_TYPE_BOOLEAN)
        return read_booleans(reader, rows, validity, builder);
    if (builder->type->kind == CV_TYPE_STRUCT)
        return read_struct(reader, rows, validity, builder);
    if (cv_type_is_nested(builder->type))
        return read_list(reader, rows, validity, builder);
    return read_text(reader, rows, validity, builder);
}

enum cv_code cv_fragment_read(const void *bytes, size_t length, size_t row_count,
                              struct cv_batch_builder *builder, struct cv_error *err)
{
    struct reader reader = {bytes, (const uint8_t *)bytes + length, err};

    for (size_t i = 0; i < builder->column_count; i++)
        CV_DO(read_column(&reader, row_count, &builder->columns[i]));
    if (cv_batch_builder_overflow(builder))
        return cv_fail(err, CV_LIMIT, "the values of one column exceed %zu bytes",
                       CV_COLUMN_BYTES_MAX);
    return CV_OK;
}
