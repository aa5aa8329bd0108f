/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON objects read as maps. Of equal keys the last one wins, as everywhere in a record; a map that
 * has such keys is read a second time without those that lost. */
#include "decode/assign.h"
#include "decode/json_read.h"

#define FEW_KEYS 8 /* compared with each other; more go through a table */

static bool read_key(struct cv_json_reader *r, const struct cv_json_value *v,
                     struct cv_builder *keys, bool keep)
{
    struct cv_json_string raw;
    struct cv_value key;

    if (cv_json_peek(&r->scan) != '"') {
        (void)cv_json_fault(&r->scan, "a key in quotes is expected");
        return cv_json_malformed(r, v->path);
    }
    if (!cv_json_string(&r->scan, &raw))
        return cv_json_malformed(r, v->path);
    if (!cv_json_take(&r->scan, ':')) {
        (void)cv_json_fault(&r->scan, "a colon is expected");
        return cv_json_malformed(r, v->path);
    }
    if (!keep)
        return true;
    if (!cv_json_parse_text(r, v->key, cv_json_string_text(r, &raw), &key))
        return false;
    cv_builder_append_value(keys, &key);
    return true;
}

/* All entries; `keep` (one byte for each) may be NULL for all of them. */
static bool read_entries(struct cv_json_reader *r, const struct cv_json_value *v,
                         struct cv_builder *builder, const uint8_t *keep)
{
    uint8_t c;

    r->scan.at++;
    if (cv_json_take(&r->scan, '}'))
        return true;
    for (size_t i = 0;; i++) {
        bool kept = !keep || keep[i];

        if (!read_key(r, v, &builder->children[0], kept))
            return false;
        if (kept && !cv_json_read_value(r, v->element, &builder->children[1]))
            return false;
        if (!kept && !cv_json_skip(&r->scan))
            return cv_json_malformed(r, v->path);
        c = cv_json_peek(&r->scan);
        if (c != ',' && c != '}') {
            (void)cv_json_fault(&r->scan, "a comma or } is expected");
            return cv_json_malformed(r, v->path);
        }
        r->scan.at++;
        if (c == '}')
            return true;
    }
}

static struct cv_str key_at(const struct cv_builder *keys, size_t i)
{
    static const char bits[2] = {0, 1};

    if (keys->type->kind == CV_TYPE_BOOLEAN)
        return (struct cv_str){&bits[cv_bit_get(keys->data, i)], 1};
    if (keys->width)
        return (struct cv_str){(const char *)keys->data + i * keys->width, keys->width};
    return (struct cv_str){(const char *)keys->data + keys->offsets[i],
                           (size_t)(keys->offsets[i + 1] - keys->offsets[i])};
}

static bool few_are_distinct(const struct cv_builder *keys, size_t start)
{
    for (size_t i = start; i < keys->length; i++)
        for (size_t j = i + 1; j < keys->length; j++)
            if (cv_str_equal(key_at(keys, i), key_at(keys, j)))
                return false;
    return true;
}

/* Marks, from `start` on, the keys that do not come again. False when the marks have no room. */
static bool mark_last(struct cv_json_reader *r, const struct cv_builder *keys, size_t start,
                      uint8_t **ret_keep, bool *ret_distinct)
{
    size_t count = keys->length - start;
    size_t slots = 16;
    uint32_t *table;

    while (slots < 2 * count)
        slots *= 2;
    cv_buf_clear(&r->map);
    if (count > UINT32_MAX / 4 || !cv_buf_reserve(&r->map, slots * sizeof *table + count))
        return false;
    table = (uint32_t *)(void *)r->map.data;
    memset(table, 0, slots * sizeof *table);
    *ret_keep = r->map.data + slots * sizeof *table;
    *ret_distinct = true;
    for (size_t i = count; i-- > 0;) {
        struct cv_str key = key_at(keys, start + i);
        size_t slot = cv_hash_bytes(key.ptr, key.length) & (slots - 1);

        while (table[slot] && !cv_str_equal(key_at(keys, start + table[slot] - 1), key))
            slot = (slot + 1) & (slots - 1);
        (*ret_keep)[i] = table[slot] == 0;
        *ret_distinct &= table[slot] == 0;
        if (table[slot] == 0)
            table[slot] = (uint32_t)i + 1;
    }
    return true;
}

/* The marks are gone once another map within this one is read: they are copied. */
static bool read_again(struct cv_json_reader *r, const struct cv_json_value *v,
                       struct cv_builder *builder, const uint8_t *keep, size_t count)
{
    uint8_t *copy = cv_alloc(count);
    bool ok;

    memcpy(copy, keep, count);
    cv_builder_truncate(builder, builder->length);
    ok = read_entries(r, v, builder, copy);
    cv_freep(&copy);
    return ok;
}

bool cv_json_read_map(struct cv_json_reader *r, const struct cv_json_value *v,
                      struct cv_builder *builder)
{
    const struct cv_builder *keys = &builder->children[0];
    const uint8_t *text = r->scan.at;
    size_t start = keys->length;
    uint8_t *keep = NULL;
    bool distinct;

    if (*r->scan.at != '{')
        return cv_json_wrong_kind(r, v, "an object");
    if (!read_entries(r, v, builder, NULL))
        return false;
    distinct = keys->length - start <= FEW_KEYS && few_are_distinct(keys, start);
    if (!distinct && !mark_last(r, keys, start, &keep, &distinct))
        return cv_json_refuse(r, v->path, "a map of too many keys");
    if (!distinct) {
        r->scan.at = text;
        if (!read_again(r, v, builder, keep, keys->length - start))
            return false;
    }
    cv_builder_end_list(builder);
    return true;
}
