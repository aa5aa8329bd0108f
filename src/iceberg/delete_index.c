/* SPDX-License-Identifier: Apache-2.0
 *
 * The delete index. Delete files that name one data file are found by its path, the others by
 * partition; equality deletes of an unpartitioned spec apply everywhere. */
#include "iceberg/delete_index.h"

#include "base/map.h"
#include "iceberg/projection.h"
#include "iceberg/snapshot_files.h"

#include <stdlib.h>

/* Ascending by sequence number. */
struct delete_list {
    const struct cv_manifest_entry **entries;
    size_t count, capacity;
};

struct cv_delete_index {
    const struct cv_table_metadata *metadata;
    struct cv_arena arena;
    struct cv_map equality; /* by partition → struct delete_list */
    struct cv_map position; /* by partition, of those that may name several files */
    struct cv_map by_path;
    struct delete_list global; /* equality deletes of an unpartitioned spec */
};

const char *cv_delete_file_target(const struct cv_data_file *file, struct cv_arena *arena)
{
    const struct cv_column_metrics *path;

    if (file->content != CV_CONTENT_POSITION_DELETES)
        return NULL;
    if (file->referenced_data_file)
        return file->referenced_data_file;
    path = cv_file_metrics_column(&file->metrics, CV_DELETE_FILE_PATH_ID);
    if (!path || !path->lower.ptr || !path->upper.ptr || !cv_str_equal(path->lower, path->upper))
        return NULL;
    return cv_arena_strndup(arena, path->lower.ptr, path->lower.length);
}

/* --- building -------------------------------------------------------------------------------- */

static void add(struct delete_list *list, const struct cv_manifest_entry *entry)
{
    cv_array_reserve(&list->entries, &list->capacity, list->count + 1);
    list->entries[list->count++] = entry;
}

static struct delete_list *list_of(struct cv_map *map, const void *key, size_t length)
{
    struct delete_list *list = cv_map_get(map, key, length);

    if (!list) {
        list = cv_alloc(sizeof *list);
        (void)cv_map_set(map, key, length, list);
    }
    return list;
}

static int by_sequence(const void *a, const void *b)
{
    const struct cv_manifest_entry *left = *(const struct cv_manifest_entry *const *)a;
    const struct cv_manifest_entry *right = *(const struct cv_manifest_entry *const *)b;

    if (left->sequence_number != right->sequence_number)
        return left->sequence_number < right->sequence_number ? -1 : 1;
    return 0;
}

static void sort_list(struct delete_list *list)
{
    if (list->count)
        qsort(list->entries, list->count, sizeof(*list->entries), by_sequence);
}

static void sort_lists(const struct cv_map *map)
{
    const struct cv_map_slot *slot;
    size_t position = 0;

    while ((slot = cv_map_next(map, &position)))
        sort_list(slot->value);
}

struct cv_delete_index *cv_delete_index_new(const struct cv_manifest_entry *const *deletes,
                                            size_t count, const struct cv_table_metadata *metadata)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf key = CV_BUF_INIT(0);
    struct cv_delete_index *index = cv_alloc(sizeof *index);

    index->metadata = metadata;
    for (size_t i = 0; i < count; i++) {
        const struct cv_data_file *file = &deletes[i]->file;
        const struct cv_partition_spec *spec =
            cv_table_metadata_spec_by_id(metadata, file->spec_id);
        const char *target = cv_delete_file_target(file, &index->arena);
        struct cv_map *map =
            file->content == CV_CONTENT_EQUALITY_DELETES ? &index->equality : &index->position;

        if (target) {
            add(list_of(&index->by_path, target, strlen(target)), deletes[i]);
        } else if (map == &index->equality && spec && spec->field_count == 0) {
            add(&index->global, deletes[i]);
        } else {
            cv_data_file_partition_key(file, metadata, &key);
            add(list_of(map, key.data, key.length), deletes[i]);
        }
    }
    sort_list(&index->global);
    sort_lists(&index->equality);
    sort_lists(&index->position);
    sort_lists(&index->by_path);
    return index;
}

static void release_lists(struct cv_map *map)
{
    const struct cv_map_slot *slot;
    size_t position = 0;

    while ((slot = cv_map_next(map, &position))) {
        struct delete_list *list = slot->value;

        free(list->entries);
        free(list);
    }
    cv_map_release(map);
}

void cv_delete_index_free(struct cv_delete_index *index)
{
    if (!index)
        return;
    release_lists(&index->equality);
    release_lists(&index->position);
    release_lists(&index->by_path);
    free(index->global.entries);
    cv_arena_release(&index->arena);
    free(index);
}

/* --- asking ---------------------------------------------------------------------------------- */

static bool may_hold_null(const struct cv_predicate_column *column)
{
    return column->null_count != 0;
}

/* Types whose bounds order all values alike for every writer, NaN aside. */
static bool bounds_are_safe(enum cv_type_kind kind)
{
    return kind != CV_TYPE_FLOAT && kind != CV_TYPE_DOUBLE && kind != CV_TYPE_UUID;
}

static const struct cv_field *find_field(const struct cv_table_metadata *metadata, int32_t id)
{
    const struct cv_field *field = cv_schema_find_id(cv_table_metadata_schema(metadata), id);

    for (size_t i = metadata->schema_count; !field && i-- > 0;)
        field = cv_schema_find_id(&metadata->schemas[i], id);
    return field;
}

/* Whether a value of the column may be in both files; `deletes` and `data` are what is known. */
static bool may_share(const struct cv_predicate_column *deletes,
                      const struct cv_predicate_column *data)
{
    if (may_hold_null(deletes) && may_hold_null(data))
        return true;
    if (deletes->lower.is_null || deletes->upper.is_null || data->lower.is_null ||
        data->upper.is_null || cv_value_compare(&deletes->lower, &deletes->upper) > 0 ||
        cv_value_compare(&data->lower, &data->upper) > 0)
        return true;
    return cv_value_compare(&deletes->lower, &data->upper) <= 0 &&
           cv_value_compare(&deletes->upper, &data->lower) >= 0;
}

static bool equality_may_apply(const struct cv_delete_index *index,
                               const struct cv_data_file *deletes, const struct cv_data_file *data)
{
    for (size_t i = 0; i < deletes->equality_count; i++) {
        const struct cv_field *field = find_field(index->metadata, deletes->equality_ids[i]);
        struct cv_predicate_column of_deletes, of_data;

        if (!field || cv_type_is_nested(&field->type) || !bounds_are_safe(field->type.kind) ||
            !cv_data_file_column(deletes, field, &of_deletes) ||
            !cv_data_file_column(data, field, &of_data))
            continue;
        if (!may_share(&of_deletes, &of_data))
            return false;
    }
    return true;
}

static int compare_text(struct cv_str a, struct cv_str b)
{
    struct cv_value left = {.kind = CV_TYPE_STRING, .bytes = a};
    struct cv_value right = {.kind = CV_TYPE_STRING, .bytes = b};

    return cv_value_compare(&left, &right);
}

static bool position_may_apply(const struct cv_data_file *deletes, const struct cv_data_file *data)
{
    const struct cv_column_metrics *paths =
        cv_file_metrics_column(&deletes->metrics, CV_DELETE_FILE_PATH_ID);
    struct cv_str path = cv_str_from(data->path);

    return !paths || !((paths->lower.ptr && compare_text(paths->lower, path) > 0) ||
                       (paths->upper.ptr && compare_text(paths->upper, path) < 0));
}

struct finding {
    const struct cv_delete_index *index;
    const struct cv_manifest_entry *data;
    struct delete_list found;
};

/* First of the list with a sequence number of at least `least`. */
static size_t first_from(const struct delete_list *list, int64_t least)
{
    size_t low = 0, high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (list->entries[middle]->sequence_number < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Equality deletes apply to older data only, position deletes to that of their own commit too. */
static void find_in(struct finding *finding, const struct delete_list *list)
{
    const struct cv_data_file *data = &finding->data->file;

    if (!list)
        return;
    for (size_t i = first_from(list, finding->data->sequence_number); i < list->count; i++) {
        const struct cv_manifest_entry *entry = list->entries[i];
        bool is_equality = entry->file.content == CV_CONTENT_EQUALITY_DELETES;

        if (is_equality ? entry->sequence_number > finding->data->sequence_number &&
                              equality_may_apply(finding->index, &entry->file, data)
                        : position_may_apply(&entry->file, data))
            add(&finding->found, entry);
    }
}

void cv_delete_index_find(const struct cv_delete_index *index, const struct cv_manifest_entry *data,
                          struct cv_arena *arena,
                          const struct cv_manifest_entry *const **ret_deletes, size_t *ret_count)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf key = CV_BUF_INIT(0);
    struct finding finding = {index, data, {NULL, 0, 0}};

    find_in(&finding, &index->global);
    if (index->equality.count || index->position.count) {
        cv_data_file_partition_key(&data->file, index->metadata, &key);
        find_in(&finding, cv_map_get(&index->equality, key.data, key.length));
        find_in(&finding, cv_map_get(&index->position, key.data, key.length));
    }
    if (index->by_path.count)
        find_in(&finding, cv_map_get(&index->by_path, data->file.path, strlen(data->file.path)));
    *ret_deletes = cv_arena_copy(arena, finding.found.entries,
                                 finding.found.count * sizeof *finding.found.entries);
    *ret_count = finding.found.count;
    free(finding.found.entries);
}
