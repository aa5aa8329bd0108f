/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes manifest lists. Sequence numbers that a manifest of this commit left open are filled in
 * here, so that a commit that is tried again writes the list anew and nothing else. */
#include "iceberg/manifest_int.h"

#include <assert.h>

#define OWN_METADATA 5 /* keys of write_metadata() */

static void put_optional_count(struct cv_buf *out, bool v1, int64_t count)
{
    if (v1)
        cv_avro_put_long(out, count >= 0);
    if (!v1 || count >= 0)
        cv_avro_put_long(out, CV_MAX(count, 0));
}

static void put_optional_bytes(struct cv_buf *out, struct cv_str value)
{
    cv_avro_put_long(out, value.ptr != NULL);
    if (value.ptr)
        cv_avro_put_bytes(out, value.ptr, value.length);
}

static void put_summaries(struct cv_buf *out, const struct cv_manifest_file *row)
{
    cv_avro_put_long(out, row->partitions != NULL);
    if (!row->partitions)
        return;
    if (row->partition_count)
        cv_avro_put_long(out, (int64_t)row->partition_count);
    for (size_t i = 0; i < row->partition_count; i++) {
        const struct cv_partition_summary *summary = &row->partitions[i];

        cv_avro_put_bool(out, summary->contains_null);
        cv_avro_put_long(out, summary->contains_nan >= 0);
        if (summary->contains_nan >= 0)
            cv_avro_put_bool(out, summary->contains_nan);
        put_optional_bytes(out, summary->lower);
        put_optional_bytes(out, summary->upper);
    }
    cv_avro_put_long(out, 0);
}

static int64_t assigned(int64_t sequence_number, int64_t of_commit)
{
    return sequence_number == CV_SEQUENCE_INHERIT ? of_commit : sequence_number;
}

static void put_field(struct cv_buf *out, const struct cv_manifest_list_config *config,
                      const struct cv_manifest_file *row, int32_t field_id)
{
    bool v1 = config->format_version == 1;

    switch (field_id) {
    case CV_LIST_PATH:
        cv_avro_put_string(out, row->path);
        break;
    case CV_LIST_LENGTH:
        cv_avro_put_long(out, row->length);
        break;
    case CV_LIST_SPEC_ID:
        cv_avro_put_long(out, row->spec_id);
        break;
    case CV_LIST_CONTENT:
        cv_avro_put_long(out, row->deletes);
        break;
    case CV_LIST_SEQUENCE:
        cv_avro_put_long(out, assigned(row->sequence_number, config->sequence_number));
        break;
    case CV_LIST_MIN_SEQUENCE:
        cv_avro_put_long(out, assigned(row->min_sequence_number, config->sequence_number));
        break;
    case CV_LIST_SNAPSHOT_ID:
        cv_avro_put_long(out, row->added_snapshot_id);
        break;
    case CV_LIST_ADDED_FILES:
        put_optional_count(out, v1, row->added_files);
        break;
    case CV_LIST_EXISTING_FILES:
        put_optional_count(out, v1, row->existing_files);
        break;
    case CV_LIST_DELETED_FILES:
        put_optional_count(out, v1, row->deleted_files);
        break;
    case CV_LIST_ADDED_ROWS:
        put_optional_count(out, v1, row->added_rows);
        break;
    case CV_LIST_EXISTING_ROWS:
        put_optional_count(out, v1, row->existing_rows);
        break;
    case CV_LIST_DELETED_ROWS:
        put_optional_count(out, v1, row->deleted_rows);
        break;
    case CV_LIST_PARTITIONS:
        put_summaries(out, row);
        break;
    default:
        assert(field_id == CV_LIST_KEY_METADATA);
        put_optional_bytes(out, row->key_metadata);
        break;
    }
}

static struct cv_str number_in(struct cv_arena *arena, int64_t number)
{
    return cv_str_from(cv_arena_printf(arena, "%lld", (long long)number));
}

/* The keys of the Avro file, the caller's after the list's own. */
static struct cv_avro_metadata *list_metadata(const struct cv_manifest_list_config *config,
                                              struct cv_str iceberg_schema, struct cv_arena *arena,
                                              size_t *ret_count)
{
    struct cv_avro_metadata *metadata =
        cv_arena_array(arena, struct cv_avro_metadata, OWN_METADATA + config->extra_count);
    size_t count = 0;

    metadata[count++] =
        (struct cv_avro_metadata){"snapshot-id", number_in(arena, config->snapshot_id)};
    metadata[count++] = (struct cv_avro_metadata){
        "parent-snapshot-id", config->parent_snapshot_id < 0
                                  ? cv_str_from("null")
                                  : number_in(arena, config->parent_snapshot_id)};
    if (config->format_version > 1)
        metadata[count++] =
            (struct cv_avro_metadata){"sequence-number", number_in(arena, config->sequence_number)};
    metadata[count++] =
        (struct cv_avro_metadata){"format-version", number_in(arena, config->format_version)};
    metadata[count++] = (struct cv_avro_metadata){"iceberg.schema", iceberg_schema};
    for (size_t i = 0; i < config->extra_count; i++)
        metadata[count++] = config->extra[i];
    *ret_count = count;
    return metadata;
}

static enum cv_code put_rows(struct cv_avro_file_writer *file,
                             const struct cv_manifest_list_config *config,
                             const struct cv_manifest_file *rows, size_t count,
                             struct cv_error *err)
{
    const struct cv_type *type = cv_manifest_list_type(config->format_version);

    for (size_t i = 0; i < count; i++) {
        struct cv_buf *object = cv_avro_file_object(file);

        if (config->format_version == 1 && rows[i].deletes)
            return cv_fail(err, CV_INTERNAL, "format version 1 has no delete manifests");
        for (size_t f = 0; f < type->field_count; f++)
            put_field(object, config, &rows[i], type->fields[f].id);
        CV_DO(cv_avro_file_end_object(file, err));
    }
    return cv_avro_file_finish(file, err);
}

enum cv_code cv_manifest_list_write(const struct cv_manifest_list_config *config,
                                    const struct cv_manifest_file *rows, size_t count,
                                    struct cv_buf *out, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    CV_CLEANUP(cv_buf_release) struct cv_buf avro = CV_BUF_INIT(0);
    CV_CLEANUP(cv_buf_release) struct cv_buf iceberg = CV_BUF_INIT(0);
    CV_CLEANUP(cv_avro_file_writer_release) struct cv_avro_file_writer file = {0};
    struct cv_schema own = {.root = *cv_manifest_list_type(config->format_version)};
    struct cv_avro_metadata *metadata;
    size_t metadata_count;

    assert(config->format_version == 1 || config->format_version == 2);
    cv_avro_record_write_json("manifest_file", &own.root, &avro);
    cv_schema_write_json(&own, &iceberg);
    metadata = list_metadata(config, (struct cv_str){(const char *)iceberg.data, iceberg.length},
                             &scratch, &metadata_count);
    CV_TRY(cv_avro_file_writer_init(&file, out,
                                    (struct cv_str){(const char *)avro.data, avro.length},
                                    config->codec, metadata, metadata_count, err),
           err, "manifest list");
    CV_TRY(put_rows(&file, config, rows, count, err), err, "manifest list");
    return CV_OK;
}
