/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads Avro object container files. Counts and sizes are compared with the bytes that are left
 * before anything is allocated from them. */
#include "codec/avro_file.h"

#include "codec/hash.h"

#include <stdlib.h>

#define BLOCK_BYTES_MAX   ((size_t)256 << 20) /* one block, unpacked */
#define METADATA_KEYS_MAX 10000
#define EMPTY_OBJECTS_MAX 1000000

static enum cv_code malformed(const struct cv_avro_file_reader *r, const char *what,
                              struct cv_error *err)
{
    return cv_fail(err, CV_FORMAT, "Avro file: %s, %zu bytes before its end", what,
                   (size_t)(r->input.end - r->input.at));
}

static bool read_entry(struct cv_avro_file_reader *r, struct cv_avro_metadata *entry)
{
    const uint8_t *key;
    const uint8_t *value;
    size_t key_length;
    size_t value_length;

    if (!cv_avro_read_bytes(&r->input, &key, &key_length) ||
        !cv_avro_read_bytes(&r->input, &value, &value_length))
        return false;
    entry->key = cv_arena_strndup(&r->arena, (const char *)key, key_length);
    entry->value = (struct cv_str){(const char *)value, value_length};
    return true;
}

/* A block of the header's map; *ret_more is false at the closing zero. */
static enum cv_code read_entries(struct cv_avro_file_reader *r, bool *ret_more,
                                 struct cv_error *err)
{
    int64_t count;
    int64_t bytes;

    if (!cv_avro_read_long(&r->input, &count) || count == INT64_MIN ||
        (count < 0 && !cv_avro_read_long(&r->input, &bytes)))
        return malformed(r, "a broken header", err);
    *ret_more = count != 0;
    if (count < 0)
        count = -count;
    if (count > METADATA_KEYS_MAX || r->metadata_count + (size_t)count > METADATA_KEYS_MAX)
        return malformed(r, "too many metadata keys", err);
    cv_array_reserve(&r->metadata, &r->metadata_capacity, r->metadata_count + (size_t)count);
    for (; count > 0; count--) {
        if (!read_entry(r, &r->metadata[r->metadata_count]))
            return malformed(r, "a broken header", err);
        r->metadata_count++;
    }
    return CV_OK;
}

static enum cv_code read_codec(struct cv_avro_file_reader *r, struct cv_error *err)
{
    static const struct {
        const char *name;
        enum cv_codec codec;
    } names[] = {{"null", CV_CODEC_NONE},
                 {"deflate", CV_CODEC_DEFLATE},
                 {"snappy", CV_CODEC_SNAPPY},
                 {"zstandard", CV_CODEC_ZSTD}};
    const struct cv_str *codec = cv_avro_file_metadata(r, "avro.codec");

    r->codec = CV_CODEC_NONE;
    if (!codec || codec->length == 0)
        return CV_OK;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++)
        if (cv_str_is(*codec, names[i].name)) {
            r->codec = names[i].codec;
            return CV_OK;
        }
    return cv_fail(err, CV_UNSUPPORTED,
                   "Avro file: codec \"%.*s\" is not supported (null, deflate, snappy, zstandard)",
                   CV_STR_ARG(*codec));
}

static enum cv_code read_header(struct cv_avro_file_reader *r, struct cv_error *err)
{
    const uint8_t *bytes;
    const struct cv_str *schema;
    bool more = true;

    if (!cv_avro_read_raw(&r->input, 4, &bytes) || memcmp(bytes, "Obj\1", 4) != 0)
        return cv_fail(err, CV_FORMAT, "not an Avro file (its magic bytes are missing)");
    while (more)
        CV_DO(read_entries(r, &more, err));
    if (!cv_avro_read_raw(&r->input, sizeof r->sync, &bytes))
        return malformed(r, "a broken header", err);
    memcpy(r->sync, bytes, sizeof r->sync);
    schema = cv_avro_file_metadata(r, "avro.schema");
    if (!schema)
        return malformed(r, "a header without avro.schema", err);
    r->schema_json = *schema;
    return read_codec(r, err);
}

enum cv_code cv_avro_file_reader_init(struct cv_avro_file_reader *r, const void *bytes,
                                      size_t length, struct cv_error *err)
{
    const uint8_t *start = length ? bytes : (const uint8_t *)""; /* no arithmetic on NULL */
    enum cv_code code;

    *r = (struct cv_avro_file_reader){.block_bytes_max = BLOCK_BYTES_MAX};
    r->input = (struct cv_avro_reader){start, start + length};
    code = read_header(r, err);
    if (code != CV_OK)
        cv_avro_file_reader_release(r);
    return code;
}

/* Avro's snappy blocks end in the big-endian CRC-32 of the plain bytes. */
static enum cv_code unpack_snappy(struct cv_avro_file_reader *r, const uint8_t *bytes,
                                  size_t length, struct cv_error *err)
{
    uint32_t wanted = 0;

    if (length < 4)
        return malformed(r, "a snappy block without its checksum", err);
    CV_DO(cv_decompress(r->codec, bytes, length - 4, SIZE_MAX, &r->block, err));
    for (size_t i = length - 4; i < length; i++)
        wanted = wanted << 8 | bytes[i];
    if (wanted != cv_crc32(r->block.data, r->block.length))
        return malformed(r, "a snappy block with a wrong checksum", err);
    return CV_OK;
}

static enum cv_code unpack(struct cv_avro_file_reader *r, const uint8_t *bytes, size_t length,
                           struct cv_avro_reader *ret_objects, struct cv_error *err)
{
    if (r->codec == CV_CODEC_NONE) {
        *ret_objects = (struct cv_avro_reader){bytes, bytes + length};
        return CV_OK;
    }
    cv_buf_clear(&r->block);
    r->block.max = r->block_bytes_max;
    if (r->codec == CV_CODEC_SNAPPY)
        CV_DO(unpack_snappy(r, bytes, length, err));
    else
        CV_DO(cv_decompress(r->codec, bytes, length, SIZE_MAX, &r->block, err));
    *ret_objects = (struct cv_avro_reader){r->block.data, r->block.data + r->block.length};
    return CV_OK;
}

enum cv_code cv_avro_file_next_block(struct cv_avro_file_reader *r,
                                     struct cv_avro_reader *ret_objects, int64_t *ret_count,
                                     struct cv_error *err)
{
    const uint8_t *bytes;
    const uint8_t *sync;
    size_t length;
    int64_t count;

    do {
        if (r->input.at == r->input.end) {
            *ret_objects = (struct cv_avro_reader){r->input.at, r->input.at};
            *ret_count = 0;
            return CV_OK;
        }
        if (!cv_avro_read_long(&r->input, &count) || count < 0)
            return malformed(r, "a broken block count", err);
        if (!cv_avro_read_bytes(&r->input, &bytes, &length))
            return malformed(r, "a block that is cut off", err);
        if (!cv_avro_read_raw(&r->input, sizeof r->sync, &sync) ||
            memcmp(sync, r->sync, sizeof r->sync) != 0)
            return malformed(r, "a block without its sync marker", err);
    } while (count == 0);
    CV_DO(unpack(r, bytes, length, ret_objects, err));
    /* Objects of no bytes exist (an empty record), but not many in a file that means well. */
    if (count > ret_objects->end - ret_objects->at + EMPTY_OBJECTS_MAX)
        return malformed(r, "a block count that its bytes cannot hold", err);
    *ret_count = count;
    return CV_OK;
}

const struct cv_str *cv_avro_file_metadata(const struct cv_avro_file_reader *r, const char *key)
{
    for (size_t i = 0; i < r->metadata_count; i++)
        if (strcmp(r->metadata[i].key, key) == 0)
            return &r->metadata[i].value;
    return NULL;
}

void cv_avro_file_reader_release(struct cv_avro_file_reader *r)
{
    if (!r)
        return;
    cv_buf_release(&r->block);
    free(r->metadata);
    cv_arena_release(&r->arena);
    *r = (struct cv_avro_file_reader){0};
}
