/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of refs, removal of snapshots with their statistics, and of definitions without a user.
 */
#include "iceberg/metadata_change.h"

#include "base/time.h"
#include "iceberg/metadata_int.h"

#include <stdlib.h>

static bool same_ref(const struct cv_snapshot_ref *a, const struct cv_snapshot_ref *b)
{
    return a->snapshot_id == b->snapshot_id && a->is_tag == b->is_tag &&
           a->min_snapshots_to_keep == b->min_snapshots_to_keep &&
           a->max_snapshot_age_ms == b->max_snapshot_age_ms &&
           a->max_ref_age_ms == b->max_ref_age_ms;
}

void cv_table_metadata_note_change(struct cv_table_metadata *metadata)
{
    int64_t now = CV_MAX(cv_now_ms(), metadata->last_updated_ms);
    size_t count = metadata->snapshot_log_count;

    metadata->changed = true;
    metadata->last_updated_ms =
        count ? CV_MAX(now, metadata->snapshot_log[count - 1].timestamp_ms) : now;
}

enum cv_code cv_table_metadata_set_ref(struct cv_table_metadata *metadata,
                                       const struct cv_snapshot_ref *ref, struct cv_error *err)
{
    const struct cv_snapshot_ref *old = cv_table_metadata_ref(metadata, ref->name);

    if (!cv_table_metadata_snapshot(metadata, ref->snapshot_id))
        return cv_fail(err, CV_NOT_FOUND, "Cannot set %s to unknown snapshot: %lld", ref->name,
                       (long long)ref->snapshot_id);
    if (ref->is_tag && strcmp(ref->name, CV_MAIN_BRANCH) == 0)
        return cv_fail(err, CV_USAGE, CV_MAIN_BRANCH " is a branch and no tag");
    if (old && same_ref(old, ref))
        return CV_OK;
    cv_table_metadata_note_change(metadata);
    if (strcmp(ref->name, CV_MAIN_BRANCH) == 0) {
        metadata->current_snapshot_id = ref->snapshot_id;
        cv_table_metadata_put_snapshot_log(metadata, metadata->last_updated_ms, ref->snapshot_id);
    }
    cv_table_metadata_put_ref(metadata, ref);
    return CV_OK;
}

enum cv_code cv_table_metadata_remove_ref(struct cv_table_metadata *metadata, const char *name,
                                          struct cv_error *err)
{
    size_t i = 0;

    if (strcmp(name, CV_MAIN_BRANCH) == 0)
        return cv_fail(err, CV_USAGE, "Cannot remove main branch");
    while (i < metadata->ref_count && strcmp(metadata->refs[i].name, name) != 0)
        i++;
    if (i == metadata->ref_count)
        return cv_fail(err, CV_NOT_FOUND, "Ref does not exist: %s", name);
    metadata->ref_count--;
    memmove(&metadata->refs[i], &metadata->refs[i + 1],
            (metadata->ref_count - i) * sizeof *metadata->refs);
    cv_table_metadata_note_change(metadata);
    return CV_OK;
}

/* Leaves the elements of an array's text that `keeps` says to keep; "" when none is left. */
static enum cv_code filter_array(struct cv_str *text, struct cv_arena *arena, const char *what,
                                 bool (*keeps)(void *context, const struct cv_json *element),
                                 void *context, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *array = NULL;
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(CV_METADATA_BYTES_MAX);
    size_t count = 0;

    if (!text->length)
        return CV_OK;
    CV_TRY(cv_json_parse(text->ptr, text->length, &array, err), err, "%s", what);
    cv_buf_append_byte(&out, '[');
    for (size_t i = 0; i < cv_json_size(array); i++) {
        if (!keeps(context, cv_json_at(array, i)))
            continue;
        if (count++)
            cv_buf_append_byte(&out, ',');
        cv_json_write_node(cv_json_at(array, i), &out);
    }
    cv_buf_append_byte(&out, ']');
    CV_DO(cv_buf_check(&out, what, err));
    if (count == cv_json_size(array))
        return CV_OK;
    *text = (struct cv_str){cv_arena_strndup(arena, (const char *)out.data, out.length),
                            count ? out.length : 0};
    return CV_OK;
}

static bool has_snapshot(void *metadata, const struct cv_json *element)
{
    const struct cv_json *id = cv_json_get(element, "snapshot-id");

    return !id || !cv_json_is_integer(id) ||
           cv_table_metadata_snapshot(metadata, cv_json_integer(id)) != NULL;
}

/* History before a snapshot that is gone would have gaps: time travel by it would be wrong. */
static void cut_snapshot_log(struct cv_table_metadata *metadata)
{
    size_t from = 0;

    for (size_t i = 0; i < metadata->snapshot_log_count; i++)
        if (!cv_table_metadata_snapshot(metadata, metadata->snapshot_log[i].snapshot_id))
            from = i + 1;
    metadata->snapshot_log_count -= from;
    memmove(metadata->snapshot_log, metadata->snapshot_log + from,
            metadata->snapshot_log_count * sizeof *metadata->snapshot_log);
}

enum cv_code cv_table_metadata_remove_snapshots(struct cv_table_metadata *metadata,
                                                const int64_t *ids, size_t count,
                                                struct cv_error *err)
{
    CV_CLEANUP(cv_freep) bool *kept = cv_alloc(metadata->snapshot_count + 1);
    size_t removed = 0;

    memset(kept, true, metadata->snapshot_count);
    for (size_t i = 0; i < count; i++) {
        const struct cv_snapshot *snapshot = cv_table_metadata_snapshot(metadata, ids[i]);

        for (size_t k = 0; snapshot && k < metadata->ref_count; k++)
            if (metadata->refs[k].snapshot_id == ids[i])
                return cv_fail(err, CV_USAGE, "Cannot expire %lld. Still referenced by refs: %s",
                               (long long)ids[i], metadata->refs[k].name);
        if (!snapshot || !kept[snapshot - metadata->snapshots])
            continue;
        kept[snapshot - metadata->snapshots] = false;
        removed++;
    }
    if (!removed)
        return CV_OK;
    cv_table_metadata_keep_snapshots(metadata, kept);
    CV_DO(filter_array(&metadata->statistics_json, &metadata->arena, "statistics", has_snapshot,
                       metadata, err));
    CV_DO(filter_array(&metadata->partition_statistics_json, &metadata->arena,
                       "partition-statistics", has_snapshot, metadata, err));
    cut_snapshot_log(metadata);
    cv_table_metadata_note_change(metadata);
    return CV_OK;
}

/* Which definitions stay, while the arrays are filtered. */
struct used {
    const struct cv_table_metadata *metadata;
    const int32_t *specs;
    size_t spec_count;
};

static bool id_of(const struct cv_json *element, const char *key, int64_t *ret_id)
{
    const struct cv_json *id = cv_json_get(element, key);

    *ret_id = id && cv_json_is_integer(id) ? cv_json_integer(id) : 0;
    return id != NULL;
}

static bool schema_is_used(void *context, const struct cv_json *element)
{
    const struct used *used = context;
    int64_t id;

    if (!id_of(element, "schema-id", &id) || id == used->metadata->current_schema_id)
        return true;
    for (size_t i = 0; i < used->metadata->snapshot_count; i++)
        if (used->metadata->snapshots[i].schema_id == id)
            return true;
    return false;
}

static bool spec_is_used(void *context, const struct cv_json *element)
{
    const struct used *used = context;
    int64_t id;

    if (!id_of(element, "spec-id", &id) || id == used->metadata->default_spec_id)
        return true;
    for (size_t i = 0; i < used->spec_count; i++)
        if (used->specs[i] == id)
            return true;
    return false;
}

/* Definitions are shared by copies, so that they are not changed in place: the model is read anew
 * from its own text. */
static enum cv_code reread(struct cv_table_metadata *metadata, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(CV_METADATA_BYTES_MAX);
    struct cv_table_metadata *fresh;
    struct cv_table_metadata old;

    cv_table_metadata_write(metadata, &text);
    CV_DO(cv_buf_check(&text, "table metadata", err));
    CV_DO(cv_table_metadata_read(text.data, text.length, &fresh, err));
    fresh->changed = metadata->changed;
    old = *metadata;
    *metadata = *fresh;
    *fresh = old;
    cv_table_metadata_free(fresh);
    return CV_OK;
}

enum cv_code cv_table_metadata_remove_unused(struct cv_table_metadata *metadata,
                                             const int32_t *used_specs, size_t used_spec_count,
                                             bool *ret_removed, struct cv_error *err)
{
    struct used used = {metadata, used_specs, used_spec_count};
    struct cv_str schemas = metadata->schemas_json;
    struct cv_str specs = metadata->specs_json;

    CV_DO(filter_array(&schemas, &metadata->arena, "schemas", schema_is_used, &used, err));
    CV_DO(filter_array(&specs, &metadata->arena, "partition-specs", spec_is_used, &used, err));
    *ret_removed = schemas.length != metadata->schemas_json.length ||
                   specs.length != metadata->specs_json.length;
    if (!*ret_removed)
        return CV_OK;
    metadata->schemas_json = schemas;
    metadata->specs_json = specs;
    cv_table_metadata_note_change(metadata);
    return reread(metadata, err);
}

static enum cv_code read_statistics(struct cv_str text, struct cv_arena *arena,
                                    struct cv_statistics_file **files, size_t *count,
                                    size_t *capacity, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *array = NULL;

    if (!text.length)
        return CV_OK;
    CV_DO(cv_json_parse(text.ptr, text.length, &array, err));
    for (size_t i = 0; i < cv_json_size(array); i++) {
        const struct cv_json *element = cv_json_at(array, i);
        struct cv_statistics_file file = {.size = -1};

        CV_DO(cv_json_read_i64(element, "snapshot-id", &file.snapshot_id, err));
        CV_DO(cv_json_read_string(element, "statistics-path", &file.path, err));
        CV_DO(cv_json_optional_i64(element, "file-size-in-bytes", &file.size, err));
        file.path = cv_arena_strdup(arena, file.path);
        cv_array_reserve(files, capacity, *count + 1);
        (*files)[(*count)++] = file;
    }
    return CV_OK;
}

enum cv_code cv_table_metadata_statistics(const struct cv_table_metadata *metadata,
                                          struct cv_arena *arena,
                                          struct cv_statistics_file **ret_files, size_t *ret_count,
                                          struct cv_error *err)
{
    CV_CLEANUP(cv_freep) struct cv_statistics_file *files = NULL;
    size_t capacity = 0;
    size_t count = 0;

    CV_TRY(read_statistics(metadata->statistics_json, arena, &files, &count, &capacity, err), err,
           "statistics");
    CV_TRY(
        read_statistics(metadata->partition_statistics_json, arena, &files, &count, &capacity, err),
        err, "partition-statistics");
    *ret_files = cv_arena_copy(arena, files, count * sizeof *files);
    *ret_count = count;
    return CV_OK;
}
