/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifest lists and manifests of any writer, read with a table's schema and spec. */
#include "fuzz.h"

#include "iceberg/manifest_paths.h"

static enum cv_code take(void *context, const struct cv_manifest_path *path, struct cv_error *err)
{
    (void)err;
    *(size_t *)context += path->path.length;
    return CV_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cv_arena table_arena;
    static struct cv_schema schema;
    static struct cv_partition_spec spec;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_manifest_file row = {.added_snapshot_id = 3, .sequence_number = 2};
    struct cv_manifest_file *rows;
    struct cv_manifest_entry *entries;
    struct cv_properties metadata = {0};
    size_t count;
    size_t path_bytes = 0;

    if (!schema.root.field_count &&
        (cv_schema_read_ddl("id bigint, ts timestamp, price decimal(9,2), s string", &table_arena,
                            &schema, &err) != CV_OK ||
         cv_partition_spec_read_ddl("day(ts), bucket(4, id), price, s", &schema, &table_arena,
                                    &spec, &err) != CV_OK))
        __builtin_trap();
    (void)!cv_manifest_list_read(data, size, &arena, &rows, &count, &metadata, &err);
    (void)!cv_manifest_read(data, size, &row, &schema, &spec, 1, &arena, &entries, &count, &err);
    (void)!cv_manifest_read_paths(data, size, take, &path_bytes, &err);
    cv_properties_release(&metadata);
    cv_arena_release(&arena);
    return 0;
}
