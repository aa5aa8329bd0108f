/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of rewrite-data-files. */
#include "maintain/rewrite_options.h"

#include "schema/value.h"

#include <inttypes.h>
#include <math.h>

#define TARGET_BYTES_DEFAULT INT64_C(536870912)
#define MIN_RATIO            0.75
#define MAX_RATIO            1.80

/* A number of 0 is one that was not given: the table lets no 0 through. */
#define OPTION(key, kind, member, initial, text)                                                   \
    {                                                                                              \
        .name = (key), .type = (kind), .offset = offsetof(struct cv_rewrite_arguments, member),    \
        .default_text = (initial), .help = (text), .min = 1                                        \
    }
#define CHOICE(key, member, initial, words, text)                                                  \
    {                                                                                              \
        .name = (key), .type = CV_OPTION_CHOICE,                                                   \
        .offset = offsetof(struct cv_rewrite_arguments, member), .default_text = (initial),        \
        .choices = (words), .help = (text)                                                         \
    }

static const struct cv_option options[] = {
    CHOICE("strategy", strategy, "binpack", "binpack|sort",
           "Join files as they are, or sort their rows too."),
    OPTION("sort_order", CV_OPTION_TEXT, sort_order, NULL,
           "Order of strategy sort: \"c DESC NULLS LAST, d\" or \"zorder(c, d)\"; default: the "
           "table's sort order."),
    OPTION("where", CV_OPTION_TEXT, where, NULL,
           "Only files that may hold rows of this condition."),
    OPTION("branch", CV_OPTION_TEXT, branch, NULL, "Branch to rewrite; default main."),
    OPTION("target-file-size-bytes", CV_OPTION_BYTES, target_bytes, NULL,
           "Size of the files written; default write.target-file-size-bytes of the table."),
    OPTION("min-file-size-bytes", CV_OPTION_TEXT, min_bytes, NULL,
           "Smaller files are rewritten; default 75 % of the target."),
    OPTION("max-file-size-bytes", CV_OPTION_BYTES, max_bytes, NULL,
           "Larger files are rewritten; default 180 % of the target."),
    OPTION("min-input-files", CV_OPTION_INTEGER, min_input_files, "5",
           "A group of so many files is rewritten whatever their sizes."),
    OPTION("rewrite-all", CV_OPTION_BOOL, rewrite_all, "false", "Rewrite every file."),
    OPTION("max-file-group-size-bytes", CV_OPTION_BYTES, max_group_bytes, "107374182400",
           "Most bytes that are rewritten together."),
    OPTION("max-file-group-input-files", CV_OPTION_INTEGER, max_group_files, NULL,
           "Most files that are rewritten together; default no limit."),
    OPTION("max-files-to-rewrite", CV_OPTION_INTEGER, max_files, NULL,
           "Most files of this run; default no limit."),
    OPTION("delete-file-threshold", CV_OPTION_INTEGER, delete_file_threshold, "2147483647",
           "A data file with so many delete files is rewritten."),
    OPTION("delete-ratio-threshold", CV_OPTION_TEXT, delete_ratio_threshold, "0.3",
           "A data file of which this share of rows is deleted is rewritten."),
    OPTION("max-concurrent-file-group-rewrites", CV_OPTION_INTEGER, max_concurrent, "5",
           "Groups rewritten at the same time, as far as threads and memory go."),
    OPTION("partial-progress.enabled", CV_OPTION_BOOL, partial_progress, "false",
           "Commit some groups before all are done."),
    OPTION("partial-progress.max-commits", CV_OPTION_INTEGER, max_commits, "10",
           "Commits of a run with partial progress."),
    OPTION("partial-progress.max-failed-commits", CV_OPTION_TEXT, max_failed_commits, NULL,
           "The run fails when more of them fail; default max-commits."),
    OPTION("use-starting-sequence-number", CV_OPTION_BOOL, use_starting_sequence_number, "true",
           "Files keep the data sequence number of the snapshot planned from, so that later "
           "equality deletes still apply."),
    CHOICE("rewrite-job-order", job_order, "none", "none|bytes-asc|bytes-desc|files-asc|files-desc",
           "Which groups come first."),
    OPTION("output-spec-id", CV_OPTION_TEXT, output_spec_id, NULL,
           "Partition spec of the files written; default the table's current one."),
    OPTION("remove-dangling-deletes", CV_OPTION_BOOL, remove_dangling_deletes, "false",
           "Afterwards remove delete files that apply to no data file."),
    OPTION("compression-factor", CV_OPTION_TEXT, compression_factor, "1.0",
           "Bytes after sorting by bytes before."),
    OPTION("shuffle-partitions-per-file", CV_OPTION_INTEGER, shuffle_partitions, "1",
           "Accepted for the sake of Spark: rows are sorted as a whole."),
    OPTION("var-length-contribution", CV_OPTION_INTEGER, var_length_contribution, "8",
           "Bytes of a text or binary column that zorder looks at."),
    OPTION("max-output-size", CV_OPTION_INTEGER, max_output_size, "2147483647",
           "Most bytes of a zorder value."),
};

const struct cv_option_table cv_rewrite_option_table = {
    .section = "maintenance.rewrite-data-files",
    .about = "Arguments of `calve maintain rewrite-data-files`.",
    .options = options,
    .count = CV_ARRAY_LENGTH(options),
};

static enum cv_code read_real(const char *name, const char *text, double *ret_value,
                              struct cv_error *err)
{
    if (cv_parse_double(cv_str_trim(cv_str_from(text)), ret_value) && isfinite(*ret_value))
        return CV_OK;
    return cv_fail(err, CV_USAGE, "%s: \"%.100s\" is not a number", name, text);
}

static int64_t or_default(int64_t value, int64_t fallback)
{
    return value ? value : fallback;
}

/* A number for which 0 is one, too. */
static enum cv_code read_count(const char *name, const char *text, int64_t max, int64_t *ret_value,
                               struct cv_error *err)
{
    int64_t value;

    if (!text)
        return CV_OK;
    if (!cv_parse_i64(cv_str_trim(cv_str_from(text)), &value) || value < 0 || value > max)
        return cv_fail(err, CV_USAGE, "%s: \"%.100s\" is not a number from 0 to %" PRId64, name,
                       text, max);
    *ret_value = value;
    return CV_OK;
}

enum cv_code cv_rewrite_sizes(int64_t target, const char *min_bytes, int64_t max_bytes,
                              struct cv_rewrite_rules *rules, struct cv_error *err)
{
    rules->target_bytes = target;
    rules->min_bytes = (int64_t)((double)target * MIN_RATIO);
    if (min_bytes)
        CV_TRY(cv_parse_bytes(min_bytes, &rules->min_bytes, err), err, "min-file-size-bytes");
    rules->max_bytes = target > INT64_MAX / 2 ? INT64_MAX : (int64_t)((double)target * MAX_RATIO);
    rules->max_bytes = or_default(max_bytes, rules->max_bytes);
    if (target <= rules->min_bytes)
        return cv_fail(err, CV_USAGE,
                       "target-file-size-bytes (%" PRId64
                       ") must be > min-file-size-bytes (%" PRId64
                       "): all new files would be smaller than that",
                       target, rules->min_bytes);
    if (target >= rules->max_bytes)
        return cv_fail(err, CV_USAGE,
                       "target-file-size-bytes (%" PRId64
                       ") must be < max-file-size-bytes (%" PRId64
                       "): all new files would be larger than that",
                       target, rules->max_bytes);
    return CV_OK;
}

static enum cv_code read_sizes(const struct cv_rewrite_arguments *arguments,
                               const struct cv_table_metadata *metadata,
                               struct cv_rewrite_rules *rules, struct cv_error *err)
{
    int64_t target = TARGET_BYTES_DEFAULT;

    CV_DO(cv_properties_get_i64(&metadata->properties, "write.target-file-size-bytes", 1, INT64_MAX,
                                &target, err));
    return cv_rewrite_sizes(or_default(arguments->target_bytes, target), arguments->min_bytes,
                            arguments->max_bytes, rules, err);
}

static enum cv_code read_deletes(const struct cv_rewrite_arguments *arguments,
                                 struct cv_rewrite_rules *rules, struct cv_error *err)
{
    double ratio = 0;

    rules->delete_file_threshold = arguments->delete_file_threshold;
    CV_DO(read_real("delete-ratio-threshold", arguments->delete_ratio_threshold, &ratio, err));
    if (ratio <= 0 || ratio > 1)
        return cv_fail(err, CV_USAGE,
                       "delete-ratio-threshold is set to %g but must be > 0 and <= 1", ratio);
    rules->delete_ratio_threshold = ratio;
    return CV_OK;
}

static enum cv_code read_running(const struct cv_rewrite_arguments *arguments,
                                 const struct cv_table_metadata *metadata,
                                 struct cv_rewrite_settings *settings, struct cv_error *err)
{
    int64_t spec_id = metadata->default_spec_id;

    settings->max_failed_commits = arguments->max_commits;
    CV_DO(read_count("partial-progress.max-failed-commits", arguments->max_failed_commits,
                     INT64_MAX, &settings->max_failed_commits, err));
    CV_DO(read_count("output-spec-id", arguments->output_spec_id, INT32_MAX, &spec_id, err));
    settings->spec = cv_table_metadata_spec_by_id(metadata, (int32_t)spec_id);
    if (!settings->spec)
        return cv_fail(err, CV_USAGE,
                       "output-spec-id %" PRId64 ": the table has no such partition spec", spec_id);
    CV_DO(read_real("compression-factor", arguments->compression_factor, &settings->compression,
                    err));
    if (settings->compression <= 0)
        return cv_fail(err, CV_USAGE, "compression-factor is set to %g but must be > 0",
                       settings->compression);
    if (arguments->sort_order && arguments->strategy != CV_REWRITE_SORT) {
        (void)cv_fail(err, CV_USAGE, "sort_order does not go with strategy binpack");
        cv_hint(err, "write --strategy sort");
        return CV_USAGE;
    }
    return CV_OK;
}

enum cv_code cv_rewrite_settings_read(const struct cv_rewrite_arguments *arguments,
                                      const struct cv_table_metadata *metadata,
                                      struct cv_rewrite_settings *ret_settings,
                                      struct cv_error *err)
{
    struct cv_rewrite_settings settings = {
        .rules =
            {
                .min_input_files = arguments->min_input_files,
                .rewrite_all = arguments->rewrite_all,
                .max_group_bytes = arguments->max_group_bytes,
                .max_group_files = or_default(arguments->max_group_files, INT64_MAX),
                .max_files = or_default(arguments->max_files, INT64_MAX),
                .job_order = (enum cv_rewrite_job_order)arguments->job_order,
            },
    };

    CV_DO(read_sizes(arguments, metadata, &settings.rules, err));
    CV_DO(read_deletes(arguments, &settings.rules, err));
    CV_DO(read_running(arguments, metadata, &settings, err));
    *ret_settings = settings;
    return CV_OK;
}
