/* SPDX-License-Identifier: Apache-2.0
 *
 * Contents of delete files: positions as a bitmap of the data file's rows, equality keys as a hash
 * table of encoded values (spec: Position Delete Files, Equality Delete Files). */
#include "base/map.h"
#include "data/scan_int.h"

#include <math.h>
#include <stdlib.h>

/* --- positions -------------------------------------------------------------------------------- */

static const struct cv_field position_fields[] = {
    {.id = CV_DELETE_FILE_PATH_ID,
     .name = "file_path",
     .required = true,
     .type = {.kind = CV_TYPE_STRING}},
    {.id = CV_DELETE_POS_ID, .name = "pos", .required = true, .type = {.kind = CV_TYPE_LONG}},
};

const struct cv_schema cv_position_delete_schema = {
    .root = {.kind = CV_TYPE_STRUCT, .fields = position_fields, .field_count = 2},
    .highest_id = CV_DELETE_FILE_PATH_ID};
/* For a file that is known to name one data file only. */
static const struct cv_schema pos_schema = {
    .root = {.kind = CV_TYPE_STRUCT, .fields = &position_fields[1], .field_count = 1},
    .highest_id = CV_DELETE_POS_ID};

static enum cv_code
read_positions(struct cv_store *store, const struct cv_data_file *deletes,
               const struct cv_schema *schema, const struct cv_predicate *predicate,
               enum cv_code (*each)(void *, const struct cv_batch *, struct cv_error *),
               void *context, struct cv_error *err)
{
    CV_CLEANUP(cv_file_reader_release) struct cv_file_reader reader = {NULL, NULL};
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_name_mapping mapping;
    struct cv_file_read read = {.store = store,
                                .file = deletes,
                                .schema = schema,
                                .mapping = &mapping,
                                .predicate = predicate};
    struct cv_batch batch;
    int64_t position;

    cv_name_mapping_of_schema(schema, &arena, &mapping);
    CV_DO(cv_file_reader_open(&read, &reader, err));
    for (;;) {
        CV_DO(cv_file_reader_next(&reader, &batch, &position, err));
        if (batch.row_count == 0)
            return CV_OK;
        CV_DO(each(context, &batch, err));
    }
}

enum cv_code cv_position_deletes_read(struct cv_store *store, const struct cv_data_file *deletes,
                                      enum cv_code (*each)(void *context,
                                                           const struct cv_batch *batch,
                                                           struct cv_error *err),
                                      void *context, struct cv_error *err)
{
    return read_positions(store, deletes, &cv_position_delete_schema, NULL, each, context, err);
}

struct marking {
    struct cv_position_set *set;
    struct cv_str path;
};

static enum cv_code mark(void *context, const struct cv_batch *batch, struct cv_error *err)
{
    const struct marking *marking = context;
    const struct cv_column *positions = &batch->columns[batch->column_count - 1];

    (void)err;
    for (size_t i = 0; i < batch->row_count; i++) {
        int64_t position;

        if (batch->column_count > 1 &&
            !cv_str_equal(cv_column_bytes(&batch->columns[0], i), marking->path))
            continue;
        memcpy(&position, positions->data + i * 8, 8);
        cv_position_set_add(marking->set, position);
    }
    return CV_OK;
}

enum cv_code cv_position_set_read(struct cv_position_set *set, struct cv_store *store,
                                  const struct cv_data_file *deletes, const char *path,
                                  struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const char *target = cv_delete_file_target(deletes, &arena);
    struct marking marking = {set, cv_str_from(path)};
    struct cv_value wanted = {.kind = CV_TYPE_STRING, .bytes = marking.path};
    struct cv_predicate of_path = {.kind = CV_PREDICATE_EQUAL,
                                   .field = &position_fields[0],
                                   .values = &wanted,
                                   .value_count = 1};

    if (target && strcmp(target, path) != 0)
        return CV_OK;
    if (target)
        return read_positions(store, deletes, &pos_schema, NULL, mark, &marking, err);
    return read_positions(store, deletes, &cv_position_delete_schema, &of_path, mark, &marking,
                          err);
}

void cv_position_set_release(struct cv_position_set *set)
{
    free(set->bits);
    *set = (struct cv_position_set){0};
}

/* --- keys ------------------------------------------------------------------------------------- */

void cv_key_set_release(struct cv_key_set *set)
{
    cv_buf_release(&set->bytes);
    free(set->slots);
    *set = (struct cv_key_set){0};
}

size_t cv_key_set_bytes(const struct cv_key_set *set)
{
    return set->bytes.capacity + set->capacity * sizeof *set->slots;
}

static struct cv_key_slot *find_slot(const struct cv_key_set *set, uint64_t hash, const void *key,
                                     size_t length)
{
    size_t at = (size_t)hash & (set->capacity - 1);

    while (set->slots[at].used &&
           !(set->slots[at].hash == hash && set->slots[at].length == length &&
             memcmp(set->bytes.data + set->slots[at].start, key, length) == 0))
        at = (at + 1) & (set->capacity - 1);
    return &set->slots[at];
}

static void grow(struct cv_key_set *set)
{
    struct cv_key_set old = *set;

    set->capacity = old.capacity ? old.capacity * 2 : 256;
    set->slots = cv_alloc(set->capacity * sizeof *set->slots);
    for (size_t i = 0; i < old.capacity; i++)
        if (old.slots[i].used)
            *find_slot(set, old.slots[i].hash, old.bytes.data + old.slots[i].start,
                       old.slots[i].length) = old.slots[i];
    free(old.slots);
}

void cv_key_set_add(struct cv_key_set *set, const void *key, size_t length)
{
    uint64_t hash = cv_hash_bytes(key, length);
    struct cv_key_slot *slot;

    if (set->count * 4 >= set->capacity * 3)
        grow(set);
    slot = find_slot(set, hash, key, length);
    if (slot->used)
        return;
    *slot = (struct cv_key_slot){hash, set->bytes.length, (uint32_t)length, true};
    cv_buf_append(&set->bytes, key, length);
    set->count++;
}

bool cv_key_set_has(const struct cv_key_set *set, const void *key, size_t length)
{
    return set->count && find_slot(set, cv_hash_bytes(key, length), key, length)->used;
}

/* --- equality --------------------------------------------------------------------------------- */

void cv_equality_key(const struct cv_column_path *paths, size_t count, const struct cv_batch *batch,
                     size_t row, struct cv_buf *out)
{
    cv_buf_clear(out);
    for (size_t i = 0; i < count; i++) {
        struct cv_value value = cv_column_path_value(&paths[i], batch, row);
        size_t start = out->length;
        uint32_t length = UINT32_MAX; /* null */

        cv_buf_append(out, &length, sizeof length);
        if (value.is_null)
            continue;
        if (value.kind == CV_TYPE_DOUBLE && isnan(value.f64))
            value.f64 = (double)NAN;
        if (value.kind == CV_TYPE_FLOAT && isnan(value.f32))
            value.f32 = NAN;
        cv_value_write_binary(&value, out);
        length = (uint32_t)(out->length - start - sizeof length);
        memcpy(out->data + start, &length, sizeof length);
    }
}

void cv_equality_set_release(struct cv_equality_set *set)
{
    if (set->keys && !set->borrowed) {
        cv_key_set_release(set->keys);
        free(set->keys);
    }
    set->keys = NULL;
    cv_buf_release(&set->name);
}

static enum cv_code check_memory(const struct cv_equality_set *set,
                                 const struct cv_data_file *deletes, size_t memory_max,
                                 struct cv_error *err)
{
    if (cv_key_set_bytes(set->keys) <= memory_max)
        return CV_OK;
    (void)cv_fail(err, CV_LIMIT, "%s: the equality deletes need more than %zu MiB of memory",
                  deletes->path, memory_max >> 20);
    cv_hint(err, "give it more memory");
    return CV_LIMIT;
}

enum cv_code cv_equality_set_read(struct cv_equality_set *set, struct cv_store *store,
                                  const struct cv_data_file *deletes,
                                  const struct cv_name_mapping *mapping, size_t memory_max,
                                  struct cv_error *err)
{
    CV_CLEANUP(cv_file_reader_release) struct cv_file_reader reader = {NULL, NULL};
    CV_CLEANUP(cv_buf_release) struct cv_buf key = CV_BUF_INIT(0);
    struct cv_file_read read = {
        .store = store, .file = deletes, .schema = &set->schema, .mapping = mapping};
    struct cv_batch batch;
    int64_t position;

    CV_DO(cv_file_reader_open(&read, &reader, err));
    for (;;) {
        CV_DO(cv_file_reader_next(&reader, &batch, &position, err));
        if (batch.row_count == 0)
            return CV_OK;
        for (size_t i = 0; i < batch.row_count; i++) {
            cv_equality_key(set->delete_paths, set->id_count, &batch, i, &key);
            cv_key_set_add(set->keys, key.data, key.length);
        }
        CV_DO(check_memory(set, deletes, memory_max, err));
    }
}
