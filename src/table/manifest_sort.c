/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorting the entries of manifests in bounded memory. */
#include "table/manifest_sort.h"

#include "iceberg/snapshot_files.h"

#include <stdlib.h>

/* Where an entry is and where it goes. */
struct key {
    uint32_t rank; /* of its tuple; before ranking the tuple's index */
    uint32_t manifest;
    uint32_t entry;
};

/* The values of the sort fields. */
struct tuple {
    const struct cv_value *values;
    size_t count;
    uint32_t index;
};

struct loaded {
    struct cv_arena arena;
    struct cv_manifest_entry *entries;
};

struct sorting {
    const struct cv_manifest_sort *sort;
    struct cv_arena arena; /* tuples */
    struct cv_map seen;    /* bytes of a tuple → index + 1 */
    struct cv_buf tuple_key;
    struct tuple *tuples;
    size_t tuple_count, tuple_capacity;
    struct key *keys;
    size_t key_count, key_capacity;
    struct loaded *loaded; /* by input, while they fit */
    bool keeps;
    size_t decoded_bytes;
};

static void drop_loaded(struct sorting *s)
{
    for (size_t i = 0; i < s->sort->input_count; i++) {
        cv_arena_release(&s->loaded[i].arena);
        s->loaded[i] = (struct loaded){0};
    }
    s->keeps = false;
}

static void sorting_release(struct sorting *s)
{
    drop_loaded(s);
    free(s->loaded);
    free(s->keys);
    free(s->tuples);
    cv_buf_release(&s->tuple_key);
    cv_map_release(&s->seen);
    cv_arena_release(&s->arena);
}

static struct cv_value *sort_values(struct sorting *s, const struct cv_data_file *file,
                                    struct cv_arena *arena)
{
    struct cv_value *values = cv_arena_array(arena, struct cv_value, s->sort->field_count);

    for (size_t i = 0; i < s->sort->field_count; i++)
        values[i] = file->partition[s->sort->fields[i]];
    return values;
}

static void copy_texts(struct cv_value *values, size_t count, struct cv_arena *arena)
{
    for (size_t i = 0; i < count; i++) {
        struct cv_value *value = &values[i];

        if (!value->is_null && (value->kind == CV_TYPE_STRING || value->kind == CV_TYPE_BINARY ||
                                value->kind == CV_TYPE_FIXED || value->kind == CV_TYPE_UUID))
            value->bytes.ptr = cv_arena_copy(arena, value->bytes.ptr, value->bytes.length);
    }
}

static uint32_t tuple_of(struct sorting *s, const struct cv_data_file *file)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    size_t fields = s->sort->field_count;
    uintptr_t index;
    struct cv_value *values;

    if (!fields)
        return 0;
    values = sort_values(s, file, &scratch);
    cv_buf_clear(&s->tuple_key);
    cv_partition_key(0, values, fields, &s->tuple_key);
    index = (uintptr_t)cv_map_get(&s->seen, s->tuple_key.data, s->tuple_key.length);
    if (index)
        return (uint32_t)(index - 1);
    values = cv_arena_copy(&s->arena, values, fields * sizeof *values);
    copy_texts(values, fields, &s->arena);
    cv_array_reserve(&s->tuples, &s->tuple_capacity, s->tuple_count + 1);
    s->tuples[s->tuple_count] = (struct tuple){values, fields, (uint32_t)s->tuple_count};
    (void)cv_map_set(&s->seen, s->tuple_key.data, s->tuple_key.length,
                     (void *)(uintptr_t)(s->tuple_count + 1));
    return (uint32_t)s->tuple_count++;
}

static enum cv_code add_key(struct sorting *s, struct key key, struct cv_error *err)
{
    if ((s->key_count + 1) * sizeof key + s->arena.bytes > s->sort->memory_bytes / 2) {
        (void)cv_fail(err, CV_LIMIT, "the keys of %zu manifest entries need more than %zu bytes",
                      s->key_count + 1, s->sort->memory_bytes / 2);
        cv_hint(err, "give more memory (memory), or rewrite by spec_id");
        return CV_LIMIT;
    }
    cv_array_reserve(&s->keys, &s->key_capacity, s->key_count + 1);
    s->keys[s->key_count++] = key;
    return CV_OK;
}

static enum cv_code index_manifest(struct sorting *s, size_t i, struct cv_error *err)
{
    struct loaded *loaded = &s->loaded[i];
    size_t count;

    CV_DO(cv_table_manifest_entries(s->sort->commit->table, &s->sort->inputs[i], &loaded->arena,
                                    &loaded->entries, &count, err));
    CV_DO(cv_check_manifest_spec(&s->sort->inputs[i], loaded->entries, count, err));
    if (count > UINT32_MAX)
        return cv_fail(err, CV_LIMIT, "%s has %zu entries", s->sort->inputs[i].path, count);
    for (size_t k = 0; k < count; k++) {
        const struct cv_manifest_entry *entry = &loaded->entries[k];

        if (entry->status == CV_ENTRY_DELETED)
            continue;
        CV_DO(add_key(s, (struct key){tuple_of(s, &entry->file), (uint32_t)i, (uint32_t)k}, err));
    }
    s->decoded_bytes += loaded->arena.bytes;
    if (s->keeps && s->decoded_bytes > s->sort->memory_bytes / 2)
        drop_loaded(s);
    if (!s->keeps) {
        cv_arena_release(&loaded->arena);
        *loaded = (struct loaded){0};
    }
    return CV_OK;
}

static int compare_tuples(const void *a, const void *b)
{
    const struct tuple *x = a;
    const struct tuple *y = b;
    int order = 0;

    for (size_t i = 0; i < x->count && !order; i++)
        order = cv_value_compare(&x->values[i], &y->values[i]);
    return order;
}

static int compare_numbers(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_places(const void *a, const void *b)
{
    const struct key *x = a;
    const struct key *y = b;
    int order = compare_numbers(x->manifest, y->manifest);

    return order ? order : compare_numbers(x->entry, y->entry);
}

static int compare_keys(const void *a, const void *b)
{
    int order = compare_numbers(((const struct key *)a)->rank, ((const struct key *)b)->rank);

    return order ? order : compare_places(a, b);
}

static void sort_keys(struct sorting *s)
{
    uint32_t *ranks = cv_alloc((s->tuple_count + 1) * sizeof *ranks);

    if (s->tuple_count)
        qsort(s->tuples, s->tuple_count, sizeof *s->tuples, compare_tuples);
    for (size_t i = 0; i < s->tuple_count; i++)
        ranks[s->tuples[i].index] = (uint32_t)i;
    for (size_t i = 0; i < s->key_count; i++)
        s->keys[i].rank = ranks[s->keys[i].rank];
    free(ranks);
    if (s->key_count)
        qsort(s->keys, s->key_count, sizeof *s->keys, compare_keys);
}

/* The entries of keys from … to-1 in their order, from what is loaded or by reading the manifests
 * that hold them once more. */
static enum cv_code gather(struct sorting *s, size_t from, size_t to, struct cv_arena *arena,
                           struct cv_manifest_entry *out, struct cv_error *err)
{
    size_t count = to - from;
    CV_CLEANUP(cv_freep) struct key *places = cv_alloc((count + 1) * sizeof *places);

    for (size_t i = 0; i < count; i++) {
        places[i] = s->keys[from + i];
        places[i].rank = (uint32_t)i;
    }
    qsort(places, count, sizeof *places, compare_places);
    for (size_t i = 0; i < count;) {
        CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
        uint32_t manifest = places[i].manifest;
        struct cv_manifest_entry *entries = s->loaded[manifest].entries;
        size_t entry_count;

        if (!s->keeps)
            CV_DO(cv_table_manifest_entries(s->sort->commit->table, &s->sort->inputs[manifest],
                                            &scratch, &entries, &entry_count, err));
        for (; i < count && places[i].manifest == manifest; i++) {
            struct cv_manifest_entry *entry = &out[places[i].rank];

            *entry = entries[places[i].entry];
            entry->status = CV_ENTRY_EXISTING;
            if (!s->keeps)
                cv_data_file_copy(&entries[places[i].entry].file, s->sort->spec->field_count, arena,
                                  &entry->file);
        }
    }
    return CV_OK;
}

static size_t output_start(const struct sorting *s, size_t outputs, size_t i)
{
    return (size_t)((__extension__(unsigned __int128) s->key_count) * i / outputs);
}

/* Outputs first … last-1 together. */
static enum cv_code write_part(struct sorting *s, size_t outputs, size_t first, size_t last,
                               struct cv_new_manifests *manifests, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    size_t from = output_start(s, outputs, first);
    size_t to = output_start(s, outputs, last);
    CV_CLEANUP(cv_freep)
    struct cv_manifest_entry *entries = cv_alloc((to - from + 1) * sizeof *entries);

    CV_DO(gather(s, from, to, &arena, entries, err));
    for (size_t i = first; i < last; i++) {
        size_t start = output_start(s, outputs, i);

        CV_DO(cv_commit_write_manifest(s->sort->commit, s->sort->metadata, s->sort->spec,
                                       s->sort->deletes, entries + (start - from),
                                       output_start(s, outputs, i + 1) - start, manifests, err));
    }
    return CV_OK;
}

enum cv_code cv_manifest_sort(const struct cv_manifest_sort *sort,
                              struct cv_new_manifests *manifests, size_t *ret_entry_count,
                              struct cv_error *err)
{
    CV_CLEANUP(sorting_release) struct sorting s = {.sort = sort, .keeps = true};
    size_t outputs;
    size_t parts;

    s.loaded = cv_alloc((sort->input_count + 1) * sizeof *s.loaded);
    for (size_t i = 0; i < sort->input_count; i++)
        CV_DO(index_manifest(&s, i, err));
    sort_keys(&s);
    outputs = CV_MIN(sort->output_count, s.key_count);
    parts = s.keeps ? 1 : s.decoded_bytes / CV_MAX(sort->memory_bytes / 4, 1) + 1;
    parts = CV_MIN(parts, outputs);
    for (size_t i = 0; i < parts; i++)
        CV_DO(write_part(&s, outputs, outputs * i / parts, outputs * (i + 1) / parts, manifests,
                         err));
    *ret_entry_count = s.key_count;
    return CV_OK;
}
