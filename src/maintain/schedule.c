/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading of the maintenance: section. */
#include "maintain/schedule.h"

#include "base/time.h"
#include "codec/json.h"
#include "maintain/measure.h"

#include <stddef.h>

#define SECTION     "maintenance"
#define ENTRIES_MAX 64

#define OPTION(field) offsetof(struct cv_schedule_options, field)

static const struct cv_option options[] = {
    {"close-after", CV_OPTION_DURATION, OPTION(close_after_us), "10 minutes", NULL,
     "A partition of days or hours is left alone while the stream wrote to it within this time, "
     "and "
     "within two triggers.",
     0, 0, 0},
    {"memory", CV_OPTION_BYTES, OPTION(memory_bytes), "128 MiB", NULL,
     "Budget of the procedures, beside that of the stream.", 32 << 20, 0, 0},
    {"threads", CV_OPTION_INTEGER, OPTION(threads), "1", NULL,
     "Threads of a procedure; the stream has its own.", 1, CV_THREADS_MAX, 0},
};

const struct cv_option_table cv_schedule_option_table = {
    SECTION, "procedures that a running job does on its table", options, CV_ARRAY_LENGTH(options)};

struct entry_options {
    int64_t every_us;
    const char *when;
};

static const struct cv_option entry_options[] = {
    {"every", CV_OPTION_DURATION, offsetof(struct entry_options, every_us), NULL, NULL,
     "Interval; alone it may stand in place of the map (expire-snapshots: 1h).", CV_US_PER_SECOND,
     0, 0},
    {"when", CV_OPTION_TEXT, offsetof(struct entry_options, when), NULL, NULL,
     "A number of the table and a limit (avoidable-files > 20), looked at once a minute or every "
     "interval: avoidable-files, avoidable-manifests, data-files, delete-files, "
     "equality-delete-files, manifests, old-spec-files, position-delete-files, snapshots.",
     0, 0, 0},
};

const struct cv_option_table cv_schedule_entry_option_table = {
    SECTION ".<procedure>", "each procedure by its name, with its arguments beside", entry_options,
    CV_ARRAY_LENGTH(entry_options)};

static enum cv_code fail_when(const char *text, struct cv_error *err)
{
    (void)cv_fail(err, CV_CONFIG, "when: \"%.100s\" is no comparison", text);
    cv_hint(err,
            "write a number of the table, < or >, and a limit: avoidable-files > 20; numbers "
            "are %s",
            cv_table_measure_names());
    return CV_CONFIG;
}

/* "avoidable-files > 20" */
static enum cv_code read_when(const char *text, struct cv_arena *arena,
                              struct cv_schedule_entry *entry, struct cv_error *err)
{
    static const struct cv_table_measures none;
    const char *sign = strpbrk(text, "<>");
    struct cv_str name, limit;
    int64_t unused;

    if (!sign)
        return fail_when(text, err);
    name = cv_str_trim((struct cv_str){text, (size_t)(sign - text)});
    limit = cv_str_trim(cv_str_from(sign + 1));
    entry->measure = cv_arena_strndup(arena, name.ptr, name.length);
    entry->comparison = *sign;
    if (!cv_parse_i64(limit, &entry->threshold) ||
        !cv_table_measure_named(&none, entry->measure, &unused))
        return fail_when(text, err);
    return CV_OK;
}

/* Lists as texts with commas, the options map as "k=v,k=v", the rest as it stands there. */
static void append_value(const struct cv_json *value, struct cv_buf *out)
{
    const struct cv_json *item;
    size_t position = 0;
    const char *key;

    if (cv_json_is_string(value)) {
        cv_buf_append(out, cv_json_text(value), cv_json_text_length(value));
    } else if (cv_json_is_array(value)) {
        for (size_t i = 0; i < cv_json_size(value); i++) {
            cv_buf_append_text(out, i ? "," : "");
            append_value(cv_json_at(value, i), out);
        }
    } else if (cv_json_is_object(value)) {
        while ((key = cv_json_next(value, &position, &item))) {
            cv_buf_printf(out, "%s%s=", out->length ? "," : "", key);
            append_value(item, out);
        }
    } else {
        cv_json_write_node(value, out);
    }
}

static bool is_entry_option(const char *key)
{
    return cv_text_equal_nocase(key, "every") || cv_text_equal_nocase(key, "when");
}

static enum cv_code read_map(const struct cv_json *map, struct cv_arena *arena,
                             struct entry_options *own, struct cv_schedule_entry *entry,
                             struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(CV_JOB_FILE_BYTES_MAX);
    const struct cv_json *value;
    size_t position = 0;
    const char *key;

    while ((key = cv_json_next(map, &position, &value))) {
        cv_buf_clear(&text);
        append_value(value, &text);
        CV_DO(cv_buf_check(&text, key, err));
        if (is_entry_option(key))
            CV_DO(cv_options_set(&cv_schedule_entry_option_table, own, arena, key,
                                 cv_buf_text(&text), err));
        else
            cv_properties_set(&entry->arguments, key, cv_buf_text(&text));
    }
    return CV_OK;
}

static enum cv_code read_value(const char *text, struct cv_arena *arena, struct entry_options *own,
                               struct cv_schedule_entry *entry, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *map = NULL;

    if (text[0] != '{')
        return cv_options_set(&cv_schedule_entry_option_table, own, arena, "every", text, err);
    CV_DO(cv_json_parse(text, strlen(text), &map, err));
    return read_map(map, arena, own, entry, err);
}

static enum cv_code find_procedure(const char *name, const struct cv_procedure **ret_procedure,
                                   struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf names = CV_BUF_INIT(0);

    *ret_procedure = cv_procedure_find(name);
    if (*ret_procedure && (*ret_procedure)->schedulable)
        return CV_OK;
    for (size_t i = 0; cv_procedures[i]; i++)
        if (cv_procedures[i]->schedulable)
            cv_buf_printf(&names, "%s%s", names.length ? ", " : "", cv_procedures[i]->name);
    (void)cv_fail(err, CV_CONFIG, "%s %s", name,
                  *ret_procedure ? "is nothing to do again and again" : "is no procedure");
    cv_hint(err, "a schedule may have %s, and the options close-after, memory, threads",
            cv_buf_text(&names));
    return CV_CONFIG;
}

static enum cv_code read_entry(const struct cv_job_entry *from, struct cv_arena *arena,
                               struct cv_schedule_entry *entry, struct cv_error *err)
{
    struct entry_options own = {0};

    CV_DO(find_procedure(from->key, &entry->procedure, err));
    CV_TRY(read_value(from->value, arena, &own, entry, err), err, "%s", from->key);
    entry->every_us = own.every_us;
    if (own.when)
        CV_TRY(read_when(own.when, arena, entry, err), err, "%s", from->key);
    if (!own.when && !own.every_us) {
        (void)cv_fail(err, CV_CONFIG, "%s says neither every nor when", from->key);
        cv_hint(err, "for example: %s: {every: 1h}", from->key);
        return CV_CONFIG;
    }
    return cv_procedure_check(entry->procedure, &entry->arguments, err);
}

static bool is_option(const char *key)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(options); i++)
        if (cv_text_equal_nocase(options[i].name, key))
            return true;
    return false;
}

static enum cv_code read_line(const struct cv_job_entry *from, struct cv_arena *arena,
                              struct cv_schedule *schedule, struct cv_error *err)
{
    struct cv_schedule_entry *entry = &schedule->entries[schedule->count];

    if (is_option(from->key))
        return cv_options_set(&cv_schedule_option_table, &schedule->options, arena, from->key,
                              from->value, err);
    if (schedule->count == ENTRIES_MAX)
        return cv_fail(err, CV_LIMIT, "more than %d procedures", ENTRIES_MAX);
    schedule->count++;
    return read_entry(from, arena, entry, err);
}

static enum cv_code read_section(const struct cv_job_file *file, struct cv_arena *arena,
                                 struct cv_schedule *schedule, struct cv_error *err)
{
    CV_DO(cv_options_defaults(&cv_schedule_option_table, &schedule->options, arena, err));
    schedule->entries = cv_arena_array(arena, struct cv_schedule_entry, ENTRIES_MAX);
    for (size_t i = 0; i < file->count; i++) {
        const struct cv_job_entry *from = &file->entries[i];

        if (strcmp(from->section, SECTION) == 0)
            CV_TRY(read_line(from, arena, schedule, err), err, "%s line %d, " SECTION, file->path,
                   from->line);
    }
    return CV_OK;
}

enum cv_code cv_schedule_read(const struct cv_job_file *file, struct cv_arena *arena,
                              struct cv_schedule *ret_schedule, struct cv_error *err)
{
    struct cv_schedule schedule = {0};
    enum cv_code code = read_section(file, arena, &schedule, err);

    if (code != CV_OK) {
        cv_schedule_release(&schedule);
        return code;
    }
    *ret_schedule = schedule;
    return CV_OK;
}

void cv_schedule_release(struct cv_schedule *schedule)
{
    for (size_t i = 0; i < schedule->count; i++)
        cv_properties_release(&schedule->entries[i].arguments);
    *schedule = (struct cv_schedule){0};
}

const struct cv_schedule_entry *cv_schedule_find(const struct cv_schedule *schedule,
                                                 const char *procedure)
{
    for (size_t i = 0; i < schedule->count; i++)
        if (strcmp(schedule->entries[i].procedure->name, procedure) == 0)
            return &schedule->entries[i];
    return NULL;
}
