/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths of a manifest's entries, one pass without allocation per entry. */
#include "iceberg/manifest_paths.h"

#include "iceberg/avro_record.h"
#include "iceberg/manifest_int.h"

static const struct cv_avro_known entry_names[] = {
    {CV_ENTRY_STATUS, "status"},
    {CV_ENTRY_DATA_FILE, "data_file"},
};
static const struct cv_avro_known file_names[] = {
    {CV_FILE_CONTENT, "content"},
    {CV_FILE_PATH, "file_path"},
    {CV_FILE_SIZE, "file_size_in_bytes"},
};

struct path_reader {
    struct cv_avro_plan entry_plan;
    struct cv_avro_plan file_plan;
};

static enum cv_code plan(const struct cv_avro_type *root, struct path_reader *reader,
                         struct cv_arena *arena, struct cv_error *err)
{
    static const int32_t entry_needs[] = {CV_ENTRY_STATUS, CV_ENTRY_DATA_FILE};
    static const int32_t file_needs[] = {CV_FILE_PATH};

    CV_DO(cv_avro_plan_record(root, "manifest_entry", entry_names, CV_ARRAY_LENGTH(entry_names),
                              arena, &reader->entry_plan, err));
    CV_DO(cv_avro_plan_need(&reader->entry_plan, "manifest_entry", entry_needs,
                            CV_ARRAY_LENGTH(entry_needs), err));
    CV_DO(cv_avro_plan_record(cv_avro_plan_find(&reader->entry_plan, CV_ENTRY_DATA_FILE)->type,
                              "data_file", file_names, CV_ARRAY_LENGTH(file_names), arena,
                              &reader->file_plan, err));
    return cv_avro_plan_need(&reader->file_plan, "data_file", file_needs,
                             CV_ARRAY_LENGTH(file_needs), err);
}

static bool take_path(struct cv_avro_source *source, const struct cv_avro_type *type,
                      struct cv_str *ret_path)
{
    return cv_avro_take_bytes(source, type, ret_path) && ret_path->length &&
           ret_path->length < CV_PATH_BYTES_MAX && !memchr(ret_path->ptr, '\0', ret_path->length);
}

static bool take_file_field(struct cv_avro_source *source, const struct cv_avro_slot *slot,
                            struct cv_manifest_path *path)
{
    int64_t value = 0;
    bool is_null;

    switch (slot->id) {
    case CV_FILE_PATH:
        return take_path(source, slot->type, &path->path);
    case CV_FILE_CONTENT:
        if (!cv_avro_take_long(source, slot->type, &is_null, &value))
            return false;
        path->content = (enum cv_file_content)value;
        return value >= CV_CONTENT_DATA && value <= CV_CONTENT_EQUALITY_DELETES;
    case CV_FILE_SIZE:
        if (!cv_avro_take_long(source, slot->type, &is_null, &value))
            return false;
        path->size = is_null || value < 0 ? -1 : value;
        return true;
    default:
        return cv_avro_skip(source, slot->type);
    }
}

static bool take_file(struct cv_avro_source *source, const struct path_reader *reader,
                      const struct cv_avro_type *type, struct cv_manifest_path *path)
{
    type = cv_avro_take_branch(source, type);
    if (!type || type->kind != CV_AVRO_RECORD)
        return false;
    for (size_t i = 0; i < reader->file_plan.count; i++)
        if (!take_file_field(source, &reader->file_plan.slots[i], path))
            return false;
    return true;
}

static bool take_entry(struct cv_avro_source *source, const struct path_reader *reader,
                       struct cv_manifest_path *path)
{
    int64_t value = 0;
    bool is_null;

    for (size_t i = 0; i < reader->entry_plan.count; i++) {
        const struct cv_avro_slot *slot = &reader->entry_plan.slots[i];

        if (slot->id == CV_ENTRY_DATA_FILE) {
            if (!take_file(source, reader, slot->type, path))
                return false;
        } else if (slot->id == CV_ENTRY_STATUS) {
            if (!cv_avro_take_long(source, slot->type, &is_null, &value) || is_null ||
                value < CV_ENTRY_EXISTING || value > CV_ENTRY_DELETED)
                return false;
            path->status = (enum cv_entry_status)value;
        } else if (!cv_avro_skip(source, slot->type)) {
            return false;
        }
    }
    return true;
}

enum cv_code cv_manifest_read_paths(const void *bytes, size_t length,
                                    enum cv_code (*each)(void *context,
                                                         const struct cv_manifest_path *path,
                                                         struct cv_error *err),
                                    void *context, struct cv_error *err)
{
    CV_CLEANUP(cv_avro_file_reader_release) struct cv_avro_file_reader file = {0};
    CV_CLEANUP(cv_avro_schema_freep) struct cv_avro_schema *schema = NULL;
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct path_reader reader = {.entry_plan = {0}};
    struct cv_avro_source source = {.objects_left = 0};
    bool more;

    CV_DO(cv_avro_file_reader_init(&file, bytes, length, err));
    file.block_bytes_max = CV_MANIFEST_BYTES_MAX;
    CV_DO(cv_avro_schema_parse(file.schema_json, NULL, 0, &schema, err));
    CV_DO(plan(schema->root, &reader, &arena, err));
    for (size_t entry = 0;; entry++) {
        struct cv_manifest_path path = {.size = -1};

        CV_DO(cv_avro_source_next(&file, &source, &more, err));
        if (!more)
            return CV_OK;
        if (!take_entry(&source, &reader, &path))
            return cv_fail(err, CV_FORMAT, "entry %zu is malformed", entry);
        CV_DO(each(context, &path, err));
    }
}
