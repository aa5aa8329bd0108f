/* SPDX-License-Identifier: Apache-2.0
 *
 * calve table show | snapshots | files | manifests | partitions | refs | history: text tables, or
 * with --json one document with Spark's column names. */
#include "cli/command.h"
#include "cli/lake.h"
#include "cli/text_table.h"

#include "table/inspect.h"

#include <stddef.h>
#include <stdio.h>

struct inspect_args {
    const char *config;
    bool json;
};

static const struct cv_flag flags[] = {
    {"json", CV_FLAG_BOOL, offsetof(struct inspect_args, json), NULL, "one JSON document"},
    {"config", CV_FLAG_TEXT, offsetof(struct inspect_args, config), "FILE",
     "file with the catalogs"},
};

static enum cv_code inspect(int argc, char **argv, const char *view, const char *columns,
                            int *ret_status, struct cv_error *err)
{
    CV_CLEANUP(cv_lake_release) struct cv_lake lake = {0};
    CV_CLEANUP(cv_buf_release) struct cv_buf json = CV_BUF_INIT(0);
    struct inspect_args args = {0};
    struct cv_text_list words = {0};

    CV_DO(cv_args_parse(flags, CV_ARRAY_LENGTH(flags), argc, argv, &args, &words, err));
    if (words.count != 1)
        return cv_fail(err, CV_USAGE, "calve table %s takes the name of a table", view);
    CV_DO(cv_lake_open_table(args.config, words.items[0], &lake, err));
    CV_TRY(cv_table_inspect(lake.table, view, &json, err), err, "%s", words.items[0]);
    *ret_status = 0;
    if (args.json) {
        (void)printf("%s\n", cv_buf_text(&json));
        return CV_OK;
    }
    return cv_text_table_print((struct cv_str){cv_buf_text(&json), json.length}, columns, err);
}

/* `columns` are those of the text table, NULL = all; --json always has all. */
#define INSPECT(view, about_text, columns)                                                         \
    static enum cv_code run_##view(int argc, char **argv, int *ret_status, struct cv_error *err)   \
    {                                                                                              \
        return inspect(argc, argv, #view, columns, ret_status, err);                               \
    }                                                                                              \
    const struct cv_command cv_command_table_##view = {                                            \
        "table " #view, "NAME [--json]", about_text, run_##view, flags, CV_ARRAY_LENGTH(flags)};

INSPECT(show, "schema, partitioning, properties and size of a table", NULL)
INSPECT(snapshots, "the snapshots of a table",
        "committed_at,snapshot_id,parent_id,operation,manifest_list")
INSPECT(files, "the live data and delete files",
        "content,partition,record_count,file_size_in_bytes,file_path")
INSPECT(manifests, "the manifests of the current snapshot",
        "content,length,partition_spec_id,added_snapshot_id,added_data_files_count,"
        "existing_data_files_count,deleted_data_files_count,path")
INSPECT(partitions, "records, files and bytes of each partition",
        "partition,spec_id,record_count,file_count,total_data_file_size_in_bytes,last_updated_at")
INSPECT(refs, "branches and tags", NULL)
INSPECT(history, "which snapshot was current when", NULL)
