/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses FileMetaData (format parquet.thrift) from bytes that nobody has checked, and finds it at
 * the end of a file:
 *
 *   …, FileMetaData (thrift), its length (4), "PAR1"   ("PARE": the footer is encrypted) */
#include "parquet/footer_int.h"

#include "codec/utf8.h"

#include <stdlib.h>

#define TAIL_BYTES     8
#define FILE_BYTES_MIN 12
#define END_BYTES      ((int64_t)64 << 10)
/* Figures of a chunk, so that their sum over a file cannot overflow. */
#define CHUNK_FIGURE_MAX (INT64_MAX / (int64_t)CV_PARQUET_GROUPS_MAX)

const char *cv_footer_text(struct cv_footer_parser *parser, struct cv_str text)
{
    if ((text.length && memchr(text.ptr, 0, text.length)) ||
        !cv_utf8_valid(text.ptr, text.length)) {
        cv_thrift_reader_fail(&parser->thrift, "a name holds a zero byte or is no UTF-8");
        return "";
    }
    return cv_arena_strndup(&parser->footer->arena, text.ptr, text.length);
}

/* ColumnMetaData: 1 type, 2 encodings, 3 path_in_schema, 4 codec, 5 num_values,
 * 6 total_uncompressed_size, 7 total_compressed_size, 9 data_page_offset,
 * 11 dictionary_page_offset, 12 statistics. */
static void parse_chunk_meta(struct cv_footer_parser *parser, struct cv_parquet_chunk *chunk,
                             int32_t *ret_type)
{
    struct cv_thrift_reader *r = &parser->thrift;
    struct cv_thrift_field f;

    while (cv_thrift_read_field(r, &f)) {
        if (f.id == 1) {
            *ret_type = cv_thrift_read_i32(r, &f);
        } else if (f.id == 2) {
            for (size_t i = cv_thrift_read_list(r, &f, CV_THRIFT_I32); i > 0; i--) {
                int32_t encoding = cv_thrift_get_i32(r);

                if (encoding >= 0 && encoding < 32)
                    chunk->encodings |= (uint32_t)1 << encoding;
            }
        } else if (f.id == 4) {
            chunk->codec = cv_thrift_read_i32(r, &f);
        } else if (f.id == 5) {
            chunk->value_count = cv_thrift_read_i64(r, &f);
        } else if (f.id == 6) {
            chunk->plain_size = cv_thrift_read_i64(r, &f);
        } else if (f.id == 7) {
            chunk->packed_size = cv_thrift_read_i64(r, &f);
        } else if (f.id == 9) {
            chunk->data_offset = cv_thrift_read_i64(r, &f);
        } else if (f.id == 11) {
            chunk->dictionary_offset = cv_thrift_read_i64(r, &f);
        } else if (f.id == 12) {
            cv_thrift_read_struct(r, &f);
            cv_parse_statistics(&parser->thrift, &chunk->statistics);
        } else {
            cv_thrift_skip(r, f.type);
        }
    }
}

/* An aid to reading that is not where it could be is not there. */
static void check_aid(int64_t file_size, int64_t *offset, int32_t *length)
{
    if (*offset >= 4 && *offset < file_size && *length >= 0 && *length <= file_size - *offset)
        return;
    *offset = -1;
    *length = 0;
}

static enum cv_code check_place(const struct cv_parquet_footer *footer,
                                struct cv_parquet_chunk *chunk, struct cv_error *err)
{
    int64_t start;

    if (chunk->dictionary_offset < 4) /* some writers say 0 for none */
        chunk->dictionary_offset = -1;
    check_aid(footer->file_size, &chunk->column_index_offset, &chunk->column_index_length);
    check_aid(footer->file_size, &chunk->offset_index_offset, &chunk->offset_index_length);
    if (chunk->value_count == 0) { /* nobody reads it, and some writers give it no place */
        chunk->dictionary_offset = -1;
        chunk->data_offset = 4;
        chunk->plain_size = 0;
        chunk->packed_size = 0;
        return CV_OK;
    }
    start = cv_parquet_chunk_start(chunk);
    if (chunk->data_offset < 4 || chunk->data_offset > footer->file_size ||
        chunk->packed_size < 0 || start > footer->file_size - chunk->packed_size)
        return cv_fail(
            err, CV_FORMAT, "%lld bytes at offset %lld do not lie in the file, which has %lld",
            (long long)chunk->packed_size, (long long)start, (long long)footer->file_size);
    if (chunk->plain_size < 0 || chunk->plain_size > CHUNK_FIGURE_MAX ||
        chunk->value_count > CHUNK_FIGURE_MAX)
        return cv_fail(err, CV_FORMAT, "%lld values in %lld bytes cannot be",
                       (long long)chunk->value_count, (long long)chunk->plain_size);
    return CV_OK;
}

/* ColumnChunk: 1 file_path, 3 meta_data, 4-7 offset and length of offset and column index,
 * 8 crypto_metadata, 9 encrypted_column_metadata. */
static enum cv_code parse_chunk(struct cv_footer_parser *parser, const struct cv_parquet_node *leaf,
                                struct cv_parquet_chunk *chunk, struct cv_error *err)
{
    struct cv_thrift_reader *r = &parser->thrift;
    const char *elsewhere = "";
    struct cv_thrift_field f;
    int32_t type = -1;

    *chunk = (struct cv_parquet_chunk){
        .value_count = -1,
        .dictionary_offset = -1,
        .statistics.null_count = -1,
        .column_index_offset = -1,
        .offset_index_offset = -1,
    };
    cv_thrift_read_begin_struct(r);
    while (cv_thrift_read_field(r, &f)) {
        if (f.id == 1) {
            elsewhere = cv_footer_text(parser, cv_thrift_read_binary(r, &f));
        } else if (f.id == 3) {
            cv_thrift_read_struct(r, &f);
            parse_chunk_meta(parser, chunk, &type);
        } else if (f.id == 4) {
            chunk->offset_index_offset = cv_thrift_read_i64(r, &f);
        } else if (f.id == 5) {
            chunk->offset_index_length = cv_thrift_read_i32(r, &f);
        } else if (f.id == 6) {
            chunk->column_index_offset = cv_thrift_read_i64(r, &f);
        } else if (f.id == 7) {
            chunk->column_index_length = cv_thrift_read_i32(r, &f);
        } else {
            parser->encrypted |= f.id == 8 || f.id == 9;
            cv_thrift_skip(r, f.type);
        }
    }
    CV_DO(cv_thrift_reader_check(r, "row group", err));
    if (parser->encrypted)
        return cv_fail(err, CV_UNSUPPORTED, "the column is encrypted");
    if (*elsewhere)
        return cv_fail(err, CV_UNSUPPORTED, "the column is in another file (%.200s)", elsewhere);
    if (type != (int32_t)leaf->type)
        return cv_fail(err, CV_FORMAT, "the column chunk has type %d, the schema %d", type,
                       (int)leaf->type);
    return check_place(parser->footer, chunk, err);
}

static enum cv_code parse_chunks(struct cv_footer_parser *parser,
                                 const struct cv_thrift_field *field,
                                 struct cv_parquet_group *group, struct cv_error *err)
{
    struct cv_parquet_footer *footer = parser->footer;
    size_t count = cv_thrift_read_list(&parser->thrift, field, CV_THRIFT_STRUCT);

    CV_DO(cv_thrift_reader_check(&parser->thrift, "row group", err));
    if (!footer->nodes)
        return cv_fail(err, CV_FORMAT, "the footer has row groups before its schema");
    if (count != footer->leaf_count || group->chunks)
        return cv_fail(err, CV_FORMAT, "it has %zu column chunks, the schema %u columns", count,
                       footer->leaf_count);
    group->chunks = cv_arena_array(&footer->arena, struct cv_parquet_chunk, count);
    for (size_t i = 0; i < count; i++) {
        const struct cv_parquet_node *leaf = &footer->nodes[footer->leaves[i]];

        CV_TRY(parse_chunk(parser, leaf, &group->chunks[i], err), err, "column %.200s", leaf->name);
    }
    return CV_OK;
}

static enum cv_code check_group(const struct cv_parquet_footer *footer,
                                const struct cv_parquet_group *group, struct cv_error *err)
{
    if (!group->chunks && footer->leaf_count)
        return cv_fail(err, CV_FORMAT, "it has no column chunks");
    if (group->row_count < 0 || group->row_count > INT64_MAX - group->first_row)
        return cv_fail(err, CV_FORMAT, "it has %lld rows", (long long)group->row_count);
    for (uint32_t i = 0; i < footer->leaf_count; i++) {
        const struct cv_parquet_node *leaf = &footer->nodes[footer->leaves[i]];
        const struct cv_parquet_chunk *chunk = &group->chunks[i];
        bool fits = leaf->repetition_max ? chunk->value_count >= group->row_count
                                         : chunk->value_count == group->row_count;

        if (!fits)
            return cv_fail(err, CV_FORMAT, "column %.200s has %lld values in %lld rows", leaf->name,
                           (long long)chunk->value_count, (long long)group->row_count);
        if (chunk->statistics.null_count > chunk->value_count)
            return cv_fail(err, CV_FORMAT, "column %.200s has %lld nulls in %lld values",
                           leaf->name, (long long)chunk->statistics.null_count,
                           (long long)chunk->value_count);
    }
    return CV_OK;
}

/* RowGroup: 1 columns, 3 num_rows. */
static enum cv_code parse_group(struct cv_footer_parser *parser, struct cv_parquet_group *group,
                                struct cv_error *err)
{
    struct cv_thrift_reader *r = &parser->thrift;
    struct cv_thrift_field f;

    cv_thrift_read_begin_struct(r);
    while (cv_thrift_read_field(r, &f)) {
        if (f.id == 1)
            CV_DO(parse_chunks(parser, &f, group, err));
        else if (f.id == 3)
            group->row_count = cv_thrift_read_i64(r, &f);
        else
            cv_thrift_skip(r, f.type);
    }
    CV_DO(cv_thrift_reader_check(r, "row group", err));
    return check_group(parser->footer, group, err);
}

static enum cv_code parse_groups(struct cv_footer_parser *parser,
                                 const struct cv_thrift_field *field, struct cv_error *err)
{
    struct cv_parquet_footer *footer = parser->footer;
    size_t count = cv_thrift_read_list(&parser->thrift, field, CV_THRIFT_STRUCT);
    int64_t first_row = 0;

    if (count > CV_PARQUET_GROUPS_MAX)
        return cv_fail(err, CV_LIMIT, "the file has %zu row groups, more than the %zu allowed",
                       count, CV_PARQUET_GROUPS_MAX);
    if (footer->groups)
        return cv_fail(err, CV_FORMAT, "the footer has more than one list of row groups");
    footer->groups = cv_arena_array(&footer->arena, struct cv_parquet_group, count);
    for (size_t i = 0; i < count; i++) {
        struct cv_parquet_group *group = &footer->groups[i];

        group->first_row = first_row;
        CV_TRY(parse_group(parser, group, err), err, "row group %zu", i);
        first_row += group->row_count;
        footer->group_count++;
    }
    return CV_OK;
}

/* A list of the union ColumnOrder, whose field 1 is TypeDefinedOrder. */
static void parse_orders(struct cv_footer_parser *parser, const struct cv_thrift_field *field)
{
    struct cv_thrift_reader *r = &parser->thrift;
    size_t count = cv_thrift_read_list(r, field, CV_THRIFT_STRUCT);
    struct cv_parquet_footer *footer = parser->footer;
    struct cv_thrift_field f;

    for (size_t i = 0; i < count; i++) {
        cv_thrift_read_begin_struct(r);
        while (cv_thrift_read_field(r, &f)) {
            if (i < footer->leaf_count)
                footer->nodes[footer->leaves[i]].typed_order = f.id == 1;
            cv_thrift_skip(r, f.type);
        }
    }
}

/* FileMetaData: 2 schema, 3 num_rows, 4 row_groups, 7 column_orders, 8 encryption_algorithm. */
static enum cv_code parse_file(struct cv_footer_parser *parser, struct cv_error *err)
{
    struct cv_thrift_reader *r = &parser->thrift;
    struct cv_parquet_footer *footer = parser->footer;
    struct cv_thrift_field f;

    cv_thrift_read_begin_struct(r);
    while (cv_thrift_read_field(r, &f)) {
        if (f.id == 2) {
            CV_DO(cv_footer_parse_schema(parser, &f, err));
        } else if (f.id == 3) {
            footer->row_count = cv_thrift_read_i64(r, &f);
        } else if (f.id == 4) {
            CV_DO(parse_groups(parser, &f, err));
        } else if (f.id == 7) {
            parse_orders(parser, &f);
        } else {
            parser->encrypted |= f.id == 8;
            cv_thrift_skip(r, f.type);
        }
    }
    CV_DO(cv_thrift_reader_check(r, "FileMetaData", err));
    if (parser->encrypted)
        return cv_fail(err, CV_UNSUPPORTED, "the file is encrypted");
    return CV_OK;
}

/* What only the whole footer can tell. The bounds still lie in the parsed bytes. */
static enum cv_code finish(struct cv_footer_parser *parser, struct cv_error *err)
{
    struct cv_parquet_footer *footer = parser->footer;
    int64_t rows = 0;

    if (!footer->nodes)
        return cv_fail(err, CV_FORMAT, "the footer has no schema");
    if (!footer->groups) /* none is an empty list too */
        footer->groups = cv_arena_array(&footer->arena, struct cv_parquet_group, 1);
    for (size_t i = 0; i < footer->group_count; i++) {
        struct cv_parquet_group *group = &footer->groups[i];

        rows += group->row_count;
        for (uint32_t j = 0; j < footer->leaf_count; j++) {
            const struct cv_parquet_node *leaf = &footer->nodes[footer->leaves[j]];
            struct cv_parquet_statistics *statistics = &group->chunks[j].statistics;

            if (leaf->definition_max == 0) /* no nulls are possible */
                statistics->null_count = 0;
            cv_check_statistics(leaf, statistics, &footer->arena);
        }
    }
    if (footer->row_count == 0) /* left out by some writers */
        footer->row_count = rows;
    if (rows != footer->row_count)
        return cv_fail(err, CV_FORMAT, "the footer counts %lld rows, its row groups %lld",
                       (long long)footer->row_count, (long long)rows);
    return CV_OK;
}

enum cv_code cv_parquet_footer_parse(const void *bytes, size_t length, int64_t file_size,
                                     struct cv_parquet_footer **ret_footer, struct cv_error *err)
{
    CV_CLEANUP(cv_parquet_footer_freep)
    struct cv_parquet_footer *footer = cv_alloc(sizeof *footer);
    struct cv_footer_parser parser = {.footer = footer};

    footer->file_size = file_size;
    cv_thrift_reader_init(&parser.thrift, bytes, length);
    CV_DO(parse_file(&parser, err));
    CV_DO(finish(&parser, err));
    *ret_footer = cv_steal(footer);
    return CV_OK;
}

void cv_parquet_footer_free(struct cv_parquet_footer *footer)
{
    if (!footer)
        return;
    cv_arena_release(&footer->arena);
    free(footer);
}

/* The length of the footer, from the last bytes of a file. */
static enum cv_code check_tail(const uint8_t *tail, int64_t file_size, size_t *ret_length,
                               struct cv_error *err)
{
    uint32_t length;

    if (memcmp(tail + 4, "PARE", 4) == 0)
        return cv_fail(err, CV_UNSUPPORTED, "the file is encrypted");
    if (memcmp(tail + 4, "PAR1", 4) != 0)
        return cv_fail(err, CV_FORMAT, "no Parquet file: it does not end in PAR1");
    memcpy(&length, tail, 4);
    if ((int64_t)length > file_size - FILE_BYTES_MIN)
        return cv_fail(err, CV_FORMAT, "a footer of %u bytes does not fit the file of %lld", length,
                       (long long)file_size);
    if (length > CV_PARQUET_FOOTER_BYTES_MAX)
        return cv_fail(err, CV_LIMIT, "a footer of %u bytes, more than the %zu allowed", length,
                       CV_PARQUET_FOOTER_BYTES_MAX);
    *ret_length = length;
    return CV_OK;
}

static enum cv_code read_footer(struct cv_store *store, const char *location, int64_t file_size,
                                struct cv_parquet_footer **ret_footer, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf end = CV_BUF_INIT(CV_PARQUET_FOOTER_BYTES_MAX + 8);
    int64_t take = CV_MIN(file_size, END_BYTES);
    size_t length = 0;

    if (file_size < FILE_BYTES_MIN)
        return cv_fail(err, CV_FORMAT, "no Parquet file: it has only %lld bytes",
                       (long long)file_size);
    CV_DO(cv_store_read_range(store, location, file_size - take, (size_t)take, &end, err));
    CV_DO(check_tail(end.data + end.length - TAIL_BYTES, file_size, &length, err));
    if (length + TAIL_BYTES > end.length) {
        cv_buf_clear(&end);
        CV_DO(cv_store_read_range(store, location, file_size - TAIL_BYTES - (int64_t)length,
                                  length + TAIL_BYTES, &end, err));
    }
    return cv_parquet_footer_parse(end.data + end.length - TAIL_BYTES - length, length, file_size,
                                   ret_footer, err);
}

enum cv_code cv_parquet_footer_read(struct cv_store *store, const char *location, int64_t file_size,
                                    struct cv_parquet_footer **ret_footer, struct cv_error *err)
{
    if (file_size < 0)
        CV_DO(cv_store_size(store, location, &file_size, err));
    CV_TRY(read_footer(store, location, file_size, ret_footer, err), err, "%s", location);
    return CV_OK;
}
