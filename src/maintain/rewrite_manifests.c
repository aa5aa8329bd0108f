/* SPDX-License-Identifier: Apache-2.0
 *
 * rewrite_manifests: the manifests of one partition spec, sorted, as many as their bytes need. */
#include "maintain/procedure_int.h"

#include "codec/json.h"
#include "table/rewrite.h"

struct arguments {
    bool use_caching; /* nothing depends on it */
    int64_t spec_id;  /* -1 = the table's default */
    const char *sort_by;
};

#define ARG(field) offsetof(struct arguments, field)

static const struct cv_option options[] = {
    {"spec_id", CV_OPTION_INTEGER, ARG(spec_id), "-1", NULL,
     "Partition spec whose manifests are rewritten; -1 is the current one.", -1, INT32_MAX, 0},
    {"sort_by", CV_OPTION_TEXT, ARG(sort_by), NULL, NULL,
     "Partition fields to sort by, by comma; default all of the spec in their order.", 0, 0, 0},
    {"use_caching", CV_OPTION_BOOL, ARG(use_caching), "false", NULL,
     "Taken for the sake of Spark's calls: memory is bounded anyway.", 0, 0, 0},
};

static const struct cv_option_table table = {"maintenance.rewrite-manifests",
                                             "manifests in the right number and order", options,
                                             CV_ARRAY_LENGTH(options)};

static void put_row(const struct cv_manifest_rewrite_result *rewritten, struct cv_buf *rows)
{
    struct cv_json_writer w = CV_JSON_WRITER(rows);

    cv_json_begin_array(&w);
    cv_json_begin_object(&w);
    cv_maintain_put_count(&w, "rewritten_manifests_count", rewritten->rewritten);
    cv_maintain_put_count(&w, "added_manifests_count", rewritten->added);
    cv_json_end_object(&w);
    cv_json_end_array(&w);
}

static enum cv_code run(struct cv_maintenance *maintenance, const void *data,
                        struct cv_maintain_result *result, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const struct arguments *arguments = data;
    struct cv_manifest_rewrite rewrite = {
        .spec_id = (int32_t)arguments->spec_id,
        .memory_bytes = maintenance->memory_bytes,
        .dry_run = maintenance->dry_run,
    };
    struct cv_manifest_rewrite_result rewritten;

    if (arguments->sort_by)
        rewrite.sort_by =
            (const char *const *)cv_split(&arena, arguments->sort_by, ',', &rewrite.sort_count);
    CV_DO(cv_table_rewrite_manifests(maintenance->table, &rewrite, &rewritten, err));
    result->changed = rewritten.rewritten > 0;
    put_row(&rewritten, &result->rows);
    if (result->changed)
        cv_maintain_note(result, "%s %d manifests, sorted by partition, as %d",
                         maintenance->dry_run ? "would write" : "wrote", rewritten.rewritten,
                         rewritten.added);
    else
        cv_maintain_note(result, "the manifests are as they should be");
    return CV_OK;
}

const struct cv_procedure cv_procedure_rewrite_manifests = {
    .name = "rewrite-manifests",
    .spark_name = "rewrite_manifests",
    .about = "sort and join manifests, so that scans open fewer",
    .arguments = &table,
    .arguments_size = sizeof(struct arguments),
    .schedulable = true,
    .run = run,
};
