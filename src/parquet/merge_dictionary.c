/* SPDX-License-Identifier: Apache-2.0
 *
 * Dictionaries of chunks united into one: each entry gets its number in the united dictionary. A
 * chunk whose new entries do not fit any more stays out, and its values are then stored PLAIN, as a
 * writer of the rows would have done. */
#include "parquet/merge_int.h"

#include <stdlib.h>

/* Entries handed to the dictionary at a time. */
#define STEP CV_PARQUET_BLOCK_VALUES

/* PLAIN values of a dictionary page, step by step. */
struct entries {
    const uint8_t *at;
    const uint8_t *end;
    size_t width; /* 0 = a length before each */
    struct cv_str *spans;
};

static enum cv_code malformed(struct cv_error *err)
{
    return cv_fail(err, CV_FORMAT, "malformed dictionary page");
}

static enum cv_code next_spans(struct entries *entries, size_t count, struct cv_error *err)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t length = (uint32_t)entries->width;

        if (entries->width == 0) {
            if (entries->end - entries->at < 4)
                return malformed(err);
            memcpy(&length, entries->at, 4);
            entries->at += 4;
        }
        if ((size_t)(entries->end - entries->at) < length)
            return malformed(err);
        entries->spans[i] = (struct cv_str){(const char *)entries->at, length};
        entries->at += length;
    }
    return CV_OK;
}

/* The numbers of all entries of the page; *ret_new_bytes are those of entries that a frozen
 * dictionary does not have. */
static enum cv_code map_entries(struct cv_parquet_merger *merger, struct cv_leaf *leaf,
                                const struct cv_merge_page *page, uint32_t *map,
                                size_t *ret_new_bytes, struct cv_error *err)
{
    struct cv_parquet_workspace *work = merger->writer->workspace;
    struct cv_dictionary *dictionary = &leaf->dictionary;
    size_t total = (size_t)page->header.value_count;
    struct entries entries = {page->values, page->values + page->value_bytes, leaf->width,
                              work->spans};
    size_t new_bytes = 0;

    for (size_t i = 0; i < total; i += STEP) {
        size_t count = CV_MIN((size_t)STEP, total - i);

        if (dictionary->count > CV_DICTIONARY_ENTRIES_MAX)
            return cv_fail(err, CV_LIMIT, "a dictionary of more than %u entries",
                           CV_DICTIONARY_ENTRIES_MAX);
        CV_DO(next_spans(&entries, count, err));
        if (dictionary->words)
            memcpy(work->words, entries.spans[0].ptr, count * leaf->width);
        if (dictionary->words && leaf->width == 4)
            cv_dictionary_add_32(dictionary, (const void *)work->words, count, map + i);
        else if (dictionary->words)
            cv_dictionary_add_64(dictionary, (const void *)work->words, count, map + i);
        else
            cv_dictionary_add_bytes(dictionary, entries.spans, count, map + i);
        for (size_t j = 0; j < count; j++)
            if (map[i + j] == CV_DICTIONARY_UNKNOWN)
                new_bytes += entries.spans[j].length + (leaf->width ? 0 : 4);
    }
    *ret_new_bytes = new_bytes;
    return CV_OK;
}

static bool is_identity(const uint32_t *map, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (map[i] != i)
            return false;
    return true;
}

/* Reads the dictionary page and unpacks it; *ret_found is false where the chunk has none. */
static enum cv_code open_page(struct cv_parquet_merger *merger, const struct cv_leaf *leaf,
                              struct cv_merge_source *source, const struct cv_merge_chunk *chunk,
                              struct cv_merge_page *ret_page, bool *ret_found, struct cv_error *err)
{
    int32_t encoding;

    CV_DO(cv_merge_read_page(merger, source, chunk, chunk->offset, ret_page, err));
    *ret_found = ret_page->header.type == CV_PAGE_DICTIONARY;
    if (!*ret_found)
        return CV_OK;
    encoding = ret_page->header.encoding;
    if ((encoding != CV_PARQUET_PLAIN && encoding != CV_PARQUET_PLAIN_DICTIONARY) ||
        leaf->physical == CV_PARQUET_BOOLEAN)
        return cv_fail(err, CV_FORMAT, "a dictionary in encoding %d", encoding);
    CV_DO(cv_merge_unpack(merger, leaf, ret_page, err));
    if (ret_page->header.value_count > (int64_t)CV_MAX(ret_page->value_bytes, (size_t)1))
        return malformed(err);
    source->dictionary_length = (int64_t)ret_page->length;
    source->entry_count = (uint32_t)ret_page->header.value_count;
    return CV_OK;
}

void cv_merge_drop_map(struct cv_parquet_merger *merger, struct cv_merge_source *source)
{
    if (source->map)
        merger->map_bytes -= (size_t)source->entry_count * sizeof *source->map;
    free(source->map);
    source->map = NULL;
}

static void make_map(struct cv_parquet_merger *merger, struct cv_merge_source *source)
{
    source->map = cv_realloc_array(NULL, (size_t)source->entry_count + 1, sizeof *source->map);
    merger->map_bytes += (size_t)source->entry_count * sizeof *source->map;
}

enum cv_code cv_merge_unite(struct cv_parquet_merger *merger, struct cv_leaf *leaf,
                            struct cv_merge_source *source, const struct cv_merge_chunk *chunk,
                            struct cv_error *err)
{
    struct cv_dictionary *dictionary = &leaf->dictionary;
    size_t limit = (size_t)merger->writer->options.dictionary_bytes;
    struct cv_merge_page page;
    size_t new_bytes;
    bool found;

    CV_DO(open_page(merger, leaf, source, chunk, &page, &found, err));
    if (!found)
        return CV_OK;
    make_map(merger, source);
    dictionary->frozen = dictionary->values.length + page.value_bytes > limit;
    CV_DO(map_entries(merger, leaf, &page, source->map, &new_bytes, err));
    if (dictionary->frozen && new_bytes && dictionary->values.length + new_bytes <= limit) {
        dictionary->frozen = false;
        CV_DO(map_entries(merger, leaf, &page, source->map, &new_bytes, err));
    }
    CV_DO(cv_buf_check(&dictionary->values, "a dictionary", err));
    source->united = new_bytes == 0;
    source->identity = source->united && is_identity(source->map, source->entry_count);
    if (!source->united || merger->map_bytes > CV_MERGE_MAP_BYTES)
        cv_merge_drop_map(merger, source);
    return CV_OK;
}

/* The entries as they are, with the start of each. */
static enum cv_code keep_raw(struct cv_parquet_merger *merger, const struct cv_leaf *leaf,
                             const struct cv_merge_page *page, struct cv_error *err)
{
    struct cv_dictionary *raw = &merger->raw;
    size_t count = (size_t)page->header.value_count;
    struct cv_str span;
    struct entries entries = {page->values, page->values + page->value_bytes, leaf->width, &span};

    raw->width = leaf->width;
    raw->count = (uint32_t)count;
    cv_buf_clear(&raw->values);
    cv_buf_append(&raw->values, page->values, page->value_bytes);
    cv_array_reserve(&raw->starts, &raw->entry_capacity, count);
    for (size_t i = 0; i < count; i++) {
        CV_DO(next_spans(&entries, 1, err));
        raw->starts[i] = (uint32_t)((const uint8_t *)span.ptr - page->values);
    }
    return cv_buf_check(&raw->values, "a dictionary", err);
}

enum cv_code cv_merge_open_dictionary(struct cv_parquet_merger *merger, struct cv_leaf *leaf,
                                      struct cv_merge_source *source,
                                      const struct cv_merge_chunk *chunk, struct cv_error *err)
{
    struct cv_merge_page page;
    size_t new_bytes;
    bool found;

    if (source->dictionary_length == 0 || source->map || source->identity)
        return CV_OK;
    CV_DO(open_page(merger, leaf, source, chunk, &page, &found, err));
    if (!found)
        return cv_fail(err, CV_FORMAT, "the file changed while it was read");
    if (!source->united)
        return keep_raw(merger, leaf, &page, err);
    make_map(merger, source);
    leaf->dictionary.frozen = true;
    CV_DO(map_entries(merger, leaf, &page, source->map, &new_bytes, err));
    if (new_bytes)
        return cv_fail(err, CV_FORMAT, "the file changed while it was read");
    return CV_OK;
}
