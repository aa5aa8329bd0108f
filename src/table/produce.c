/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing manifests, manifest lists and snapshots. */
#include "table/produce.h"

#include "base/fault.h"
#include "base/time.h"

#include <stdio.h>
#include <stdlib.h>

enum cv_code cv_check_branch(const struct cv_table *table, const struct cv_table_metadata *metadata,
                             struct cv_error *err)
{
    const char *branch = table->name.branch;
    const struct cv_snapshot_ref *ref;

    if (!branch || strcmp(branch, "main") == 0)
        return CV_OK;
    ref = cv_table_metadata_ref(metadata, branch);
    if (!ref)
        return cv_fail(err, CV_NOT_FOUND, "table %s has no branch %s", table->name.table, branch);
    if (ref->is_tag)
        return cv_fail(err, CV_CONFIG, "%s is a tag of table %s, not a branch", branch,
                       table->name.table);
    return CV_OK;
}

void cv_new_manifests_release(struct cv_new_manifests *manifests)
{
    free(manifests->rows);
}

/* Columns of an old spec may be gone from the current schema. */
static const struct cv_schema *schema_of_spec(const struct cv_table_metadata *metadata,
                                              const struct cv_partition_spec *spec)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const struct cv_schema *schema = cv_table_metadata_schema(metadata);
    const struct cv_type *types;

    for (size_t i = metadata->schema_count; i > 0; i--) {
        if (cv_partition_types(spec, schema, &arena, &types, NULL) == CV_OK)
            return schema;
        schema = &metadata->schemas[i - 1];
    }
    return cv_table_metadata_schema(metadata);
}

enum cv_code cv_commit_write_manifest(struct cv_commit *commit,
                                      const struct cv_table_metadata *metadata,
                                      const struct cv_partition_spec *spec, bool deletes,
                                      const struct cv_manifest_entry *entries, size_t count,
                                      struct cv_new_manifests *manifests, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_MANIFEST_BYTES_MAX);
    const struct cv_manifest_writer_config config = {
        .format_version = metadata->format_version,
        .schema = schema_of_spec(metadata, spec),
        .spec = spec,
        .snapshot_id = commit->snapshot_id,
        .deletes = deletes,
        .codec = CV_CODEC_DEFLATE,
    };
    struct cv_manifest_file row = {0};
    const char *folder = cv_metadata_folder(commit->table->catalog, metadata, &commit->arena);

    CV_DO(cv_manifest_write(&config, entries, count, &bytes, &commit->arena, &row, err));
    row.path = cv_location_join(
        &commit->arena, folder,
        cv_arena_printf(&commit->arena, "%s-m%zu.avro", commit->uuid, commit->manifest_count++));
    row.length = (int64_t)bytes.length;
    CV_DO(cv_commit_write(commit, row.path, &bytes, 0, err));
    CV_DO(cv_fault_pass("manifest-written", err));
    cv_array_reserve(&manifests->rows, &manifests->capacity, manifests->count + 1);
    manifests->rows[manifests->count++] = row;
    return CV_OK;
}

/* The manifests of one spec and kind. */
static enum cv_code write_added_of(struct cv_commit *commit,
                                   const struct cv_table_metadata *metadata,
                                   const struct cv_partition_spec *spec, bool deletes,
                                   const struct cv_data_file *files,
                                   const int64_t *sequence_numbers, size_t file_count,
                                   struct cv_new_manifests *manifests, struct cv_error *err)
{
    CV_CLEANUP(cv_freep) struct cv_manifest_entry *entries = NULL;
    size_t capacity = 0;
    size_t count = 0;

    for (size_t i = 0; i < file_count; i++) {
        if (files[i].spec_id != spec->spec_id || (files[i].content != CV_CONTENT_DATA) != deletes)
            continue;
        cv_array_reserve(&entries, &capacity, count + 1);
        entries[count++] =
            (struct cv_manifest_entry){CV_ENTRY_ADDED, commit->snapshot_id,
                                       sequence_numbers ? sequence_numbers[i] : CV_SEQUENCE_INHERIT,
                                       CV_SEQUENCE_INHERIT, files[i]};
        if (count < CV_MANIFEST_FILES_MAX)
            continue;
        CV_DO(cv_commit_write_manifest(commit, metadata, spec, deletes, entries, count, manifests,
                                       err));
        count = 0;
    }
    if (!count)
        return CV_OK;
    return cv_commit_write_manifest(commit, metadata, spec, deletes, entries, count, manifests,
                                    err);
}

enum cv_code cv_check_manifest_spec(const struct cv_manifest_file *row,
                                    const struct cv_manifest_entry *entries, size_t count,
                                    struct cv_error *err)
{
    if (!count || entries[0].file.spec_id == row->spec_id)
        return CV_OK;
    return cv_fail(err, CV_FORMAT,
                   "manifest %s is of partition spec %d, but its manifest list says %d", row->path,
                   entries[0].file.spec_id, row->spec_id);
}

enum cv_code cv_check_specs(const struct cv_table_metadata *metadata,
                            const struct cv_data_file *files, size_t count, struct cv_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (!cv_table_metadata_spec_by_id(metadata, files[i].spec_id))
            return cv_fail(err, CV_SCHEMA,
                           "%s was written with partition spec %d, which the table "
                           "does not have",
                           files[i].path, files[i].spec_id);
    return CV_OK;
}

enum cv_code cv_commit_write_added(struct cv_commit *commit,
                                   const struct cv_table_metadata *metadata,
                                   const struct cv_data_file *files,
                                   const int64_t *sequence_numbers, size_t count,
                                   struct cv_new_manifests *manifests, struct cv_error *err)
{
    for (size_t i = 0; i < metadata->spec_count; i++)
        for (int deletes = 0; deletes < 2; deletes++)
            CV_DO(write_added_of(commit, metadata, &metadata->specs[i], deletes, files,
                                 sequence_numbers, count, manifests, err));
    return CV_OK;
}

static enum cv_code write_list(struct cv_commit *commit, const struct cv_table_metadata *metadata,
                               const struct cv_new_snapshot *made,
                               const struct cv_snapshot *snapshot, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_MANIFEST_BYTES_MAX);
    const struct cv_manifest_list_config config = {
        .format_version = metadata->format_version,
        .snapshot_id = snapshot->id,
        .parent_snapshot_id = snapshot->parent_id,
        .sequence_number = snapshot->sequence_number,
        .codec = CV_CODEC_DEFLATE,
        .extra = made->extra,
        .extra_count = made->extra_count,
    };

    CV_DO(cv_manifest_list_write(&config, made->rows, made->row_count, &bytes, err));
    CV_DO(cv_commit_write(commit, snapshot->manifest_list, &bytes, commit->attempt, err));
    return cv_fault_pass("manifest-list-written", err);
}

/* The attempt's number for what was left to be inherited. */
static void assign(struct cv_commit *commit, const struct cv_new_snapshot *made,
                   int64_t sequence_number)
{
    for (size_t i = 0; i < made->row_count; i++) {
        struct cv_manifest_file *row = &made->rows[i];

        if (row->added_snapshot_id != commit->snapshot_id)
            continue;
        row->sequence_number = sequence_number;
        if (row->min_sequence_number == CV_SEQUENCE_INHERIT)
            row->min_sequence_number = sequence_number;
    }
    commit->rows = made->rows;
    commit->row_count = made->row_count;
}

enum cv_code cv_commit_add_snapshot(struct cv_commit *commit, struct cv_table_metadata *next,
                                    const struct cv_new_snapshot *made, struct cv_error *err)
{
    const char *branch = cv_table_branch(commit->table);
    const struct cv_snapshot *parent = cv_table_metadata_head(next, branch);
    struct cv_snapshot snapshot = {
        .id = commit->snapshot_id,
        .parent_id = parent ? parent->id : -1,
        .sequence_number = next->format_version > 1 ? next->last_sequence_number + 1 : 0,
        .timestamp_ms = cv_now_ms(),
        .schema_id = next->current_schema_id,
        .summary = *made->summary,
    };

    snapshot.manifest_list = cv_location_join(
        &commit->arena, cv_metadata_folder(commit->table->catalog, next, &commit->arena),
        cv_arena_printf(&commit->arena, "snap-%lld-%d-%s.avro", (long long)commit->snapshot_id,
                        commit->attempt, commit->uuid));
    assign(commit, made, snapshot.sequence_number);
    CV_DO(write_list(commit, next, made, &snapshot, err));
    return cv_table_metadata_add_snapshot(next, &snapshot, branch, err);
}

void cv_summary_put_count(struct cv_properties *summary, const char *key, size_t value)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%zu", value);
    cv_properties_set(summary, key, text);
}

void cv_summary_put_engine(struct cv_properties *summary)
{
    cv_properties_set(summary, "engine-name", "calve");
    cv_properties_set(summary, "engine-version", CALVE_VERSION);
}

const char *cv_snapshot_describe(const struct cv_snapshot *snapshot, struct cv_arena *arena)
{
    const struct cv_properties *summary = &snapshot->summary;
    const char *engine = cv_properties_get_or(summary, "engine-name", "an unnamed engine");
    const char *version = cv_properties_get_or(summary, "engine-version", "");
    char time[CV_TIME_TEXT_BYTES];

    cv_format_ms_plain(snapshot->timestamp_ms, time);
    return cv_arena_printf(arena, "snapshot %lld (%s by %s%s%s at %s)", (long long)snapshot->id,
                           cv_properties_get_or(summary, "operation", "unknown operation"), engine,
                           *version ? " " : "", version, time);
}
