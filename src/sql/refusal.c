/* SPDX-License-Identifier: Apache-2.0
 *
 * Why functions that people look for are not there. */
#include "sql/function_int.h"

#define REPLAY "it gives another value when a batch is done again"
#define FILES  "SQL reaches nothing but the stream and the tables of the job file"
#define LAMBDA "functions of functions are not compared with Spark's yet"
#define WINDOW "window functions need all rows at once, which a stream never has"
#define ROWS   "it makes several rows of one"
#define TEXTS  "its texts are not compared with Spark's yet"

static const struct {
    const char *name, *why;
} refusals[] = {
    {"cume_dist", WINDOW},
    {"current_setting", FILES},
    {"dense_rank", WINDOW},
    {"explode", ROWS},
    {"explode_outer", ROWS},
    {"filter", LAMBDA},
    {"first_value", WINDOW},
    {"format_number", TEXTS},
    {"format_string", TEXTS},
    {"from_json", "give `schema:` in the section value: the decoder reads the JSON"},
    {"gen_random_uuid", REPLAY},
    {"generate_series", ROWS},
    {"get_json_object", "give `schema:` in the section value: the decoder reads the JSON"},
    {"getenv", FILES},
    {"glob", FILES},
    {"input_file_name", "rows of a stream have no file; topic, partition and offset are columns"},
    {"json_extract", "give `schema:` in the section value: the decoder reads the JSON"},
    {"lag", WINDOW},
    {"last_value", WINDOW},
    {"lead", WINDOW},
    {"list_apply", LAMBDA},
    {"list_filter", LAMBDA},
    {"list_transform", LAMBDA},
    {"monotonically_increasing_id", REPLAY},
    {"nextval", REPLAY},
    {"ntile", WINDOW},
    {"printf", TEXTS},
    {"rand", REPLAY},
    {"randn", REPLAY},
    {"random", REPLAY},
    {"range", ROWS},
    {"rank", WINDOW},
    {"read_csv", FILES},
    {"read_csv_auto", FILES},
    {"read_json", FILES},
    {"read_parquet", FILES},
    {"read_text", FILES},
    {"reduce", LAMBDA},
    {"regexp_matches", "use regexp_like, whose expressions are Java's"},
    {"row_number", WINDOW},
    {"sequence", ROWS},
    {"session_window", "session windows are not available yet; window() is"},
    {"shuffle", REPLAY},
    {"strftime", "use date_format with a pattern of Java's"},
    {"strptime", "use to_timestamp with a pattern of Java's"},
    {"to_json", TEXTS},
    {"transform", LAMBDA},
    {"unnest", ROWS},
    {"uuid", REPLAY},
    {"window_time", "the start and end of a window are window.start and window.end"},
};

const char *cv_function_refusal(const char *name)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(refusals); i++)
        if (strcmp(refusals[i].name, name) == 0)
            return refusals[i].why;
    return NULL;
}

const char *cv_function_refused(size_t index, const char **ret_why)
{
    if (index >= CV_ARRAY_LENGTH(refusals))
        return NULL;
    *ret_why = refusals[index].why;
    return refusals[index].name;
}
