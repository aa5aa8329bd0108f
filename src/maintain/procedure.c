/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of procedures, and the way of texts into a procedure's struct of arguments. */
#include "maintain/procedure_int.h"

#include "base/time.h"
#include "schema/value.h"

#include <stdio.h>
#include <strings.h>

#define NOTE_BYTES 4096

const struct cv_procedure *const cv_procedures[] = {
    &cv_procedure_expire_snapshots,
    &cv_procedure_remove_orphan_files,
    &cv_procedure_register_table,
    &cv_procedure_rewrite_data_files,
    &cv_procedure_rewrite_manifests,
    &cv_procedure_rewrite_position_delete_files,
    &cv_procedure_rollback_to_snapshot,
    &cv_procedure_rollback_to_timestamp,
    &cv_procedure_set_current_snapshot,
    &cv_procedure_cherrypick_snapshot,
    &cv_procedure_publish_changes,
    &cv_procedure_fast_forward,
    &cv_procedure_ancestors_of,
    &cv_procedure_create_branch,
    &cv_procedure_replace_branch,
    &cv_procedure_drop_branch,
    &cv_procedure_create_tag,
    &cv_procedure_replace_tag,
    &cv_procedure_drop_tag,
    NULL,
};

static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
            return false;
    return *a == *b;
}

const struct cv_procedure *cv_procedure_find(const char *name)
{
    for (size_t i = 0; cv_procedures[i]; i++)
        if (same_name(cv_procedures[i]->name, name))
            return cv_procedures[i];
    return NULL;
}

const char *cv_procedure_flag(const char *argument, struct cv_arena *arena)
{
    char *name = cv_arena_strdup(arena, argument);

    for (char *c = name; *c; c++)
        if (*c == '_')
            *c = '-';
    return name;
}

void cv_maintain_result_init(struct cv_maintain_result *result)
{
    memset(result, 0, sizeof *result);
}

void cv_maintain_result_release(struct cv_maintain_result *result)
{
    cv_buf_release(&result->rows);
    cv_buf_release(&result->notes);
}

void cv_maintain_note(struct cv_maintain_result *result, const char *format, ...)
{
    char line[NOTE_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    cv_buf_append_text(&result->notes, line);
    cv_buf_append_byte(&result->notes, '\n');
}

enum cv_code cv_maintain_parse_time(const char *argument, const char *text, int64_t *ret_ms,
                                    struct cv_error *err)
{
    struct cv_str trimmed = cv_str_trim(cv_str_from(text));
    int64_t value;
    int32_t days;
    bool had_zone;

    if (cv_parse_i64(trimmed, ret_ms))
        return CV_OK;
    if (cv_parse_timestamp(trimmed, &value, &had_zone)) {
        *ret_ms = cv_floor_div(value, CV_US_PER_MS);
        return CV_OK;
    }
    if (!strchr(text, ':') && cv_parse_date(trimmed, &days)) {
        *ret_ms = days * (CV_US_PER_DAY / CV_US_PER_MS);
        return CV_OK;
    }
    (void)cv_fail(err, CV_USAGE, "%s: \"%.100s\" is not a time", argument, text);
    cv_hint(err, "write YYYY-MM-DD HH:MM:SS (UTC), ISO 8601 with a zone, or milliseconds since "
                 "1970");
    return CV_USAGE;
}

/* Where the arguments of a call go. */
struct reading {
    const struct cv_procedure *procedure;
    void *target;
    struct cv_arena *arena;
    bool *given; /* by option */
};

static const char *argument_at(const void *context, size_t i)
{
    return ((const struct cv_option_table *)context)->options[i].name;
}

static enum cv_code fail_unknown(const struct cv_procedure *procedure, const char *key,
                                 struct cv_error *err)
{
    const struct cv_option_table *table = procedure->arguments;
    const char *nearest = cv_nearest_name(key, argument_at, table, table->count);

    (void)cv_fail(err, CV_USAGE, "%s has no argument \"%.100s\"", procedure->name, key);
    if (nearest)
        cv_hint(err, "did you mean %s? `calve maintain %s --help` lists the arguments", nearest,
                procedure->name);
    else
        cv_hint(err, "`calve maintain %s --help` lists the arguments", procedure->name);
    return CV_USAGE;
}

static enum cv_code set_argument(struct reading *reading, const char *key, const char *value,
                                 struct cv_error *err)
{
    const struct cv_option_table *table = reading->procedure->arguments;

    for (size_t i = 0; i < table->count; i++) {
        if (!same_name(table->options[i].name, key))
            continue;
        if (reading->given[i])
            return cv_fail(err, CV_USAGE, "%s: %s is given twice", reading->procedure->name,
                           table->options[i].name);
        reading->given[i] = true;
        return cv_options_set(table, reading->target, reading->arena, table->options[i].name, value,
                              err);
    }
    return fail_unknown(reading->procedure, key, err);
}

/* Spark's map of options: only rows that stand in it. */
static enum cv_code set_options(struct reading *reading, const char *text, struct cv_error *err)
{
    size_t count;
    char **items = cv_split(reading->arena, text, ',', &count);

    for (size_t i = 0; i < count; i++) {
        char *equals = strchr(items[i], '=');

        if (!equals)
            return cv_fail(err, CV_USAGE, "options: \"%.100s\" is not key=value", items[i]);
        *equals = '\0';
        CV_DO(set_argument(reading, items[i], equals + 1, err));
    }
    return CV_OK;
}

static enum cv_code check_required(const struct reading *reading, struct cv_error *err)
{
    const struct cv_option_table *table = reading->procedure->arguments;

    for (size_t i = 0; i < table->count; i++) {
        if (reading->given[i] || !(table->options[i].flags & CV_OPTION_REQUIRED))
            continue;
        (void)cv_fail(err, CV_USAGE, "%s wants the argument %s", reading->procedure->name,
                      table->options[i].name);
        cv_hint(err, "%s", table->options[i].help);
        return CV_USAGE;
    }
    return CV_OK;
}

static enum cv_code read_arguments(struct reading *reading, const struct cv_properties *arguments,
                                   struct cv_error *err)
{
    const struct cv_option_table *table = reading->procedure->arguments;

    CV_DO(cv_options_defaults(table, reading->target, reading->arena, err));
    for (size_t i = 0; i < arguments->count; i++) {
        const struct cv_property *argument = &arguments->items[i];

        if (strcmp(argument->key, "options") == 0)
            CV_DO(set_options(reading, argument->value, err));
        else
            CV_DO(set_argument(reading, argument->key, argument->value, err));
    }
    return check_required(reading, err);
}

static struct reading new_reading(const struct cv_procedure *procedure, struct cv_arena *arena)
{
    return (struct reading){.procedure = procedure,
                            .target = cv_arena_alloc(arena, procedure->arguments_size + 1),
                            .arena = arena,
                            .given = cv_arena_array(arena, bool, procedure->arguments->count + 1)};
}

enum cv_code cv_procedure_check(const struct cv_procedure *procedure,
                                const struct cv_properties *arguments, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct reading reading = new_reading(procedure, &arena);

    return read_arguments(&reading, arguments, err);
}

enum cv_code cv_procedure_run(const struct cv_procedure *procedure,
                              struct cv_maintenance *maintenance,
                              const struct cv_properties *arguments,
                              struct cv_maintain_result *result, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct reading reading = new_reading(procedure, &arena);

    CV_DO(read_arguments(&reading, arguments, err));
    CV_DO(procedure->run(maintenance, reading.target, result, err));
    if (!result->rows.length)
        cv_buf_append_text(&result->rows, "[]");
    CV_DO(cv_buf_check(&result->rows, "the result's rows", err));
    return cv_buf_check(&result->notes, "the result's notes", err);
}

void cv_maintain_put_id(struct cv_json_writer *w, const char *column, int64_t id)
{
    cv_json_key(w, column);
    if (id < 0)
        cv_json_put_null(w);
    else
        cv_json_put_i64(w, id);
}

void cv_maintain_put_count(struct cv_json_writer *w, const char *column, int64_t count)
{
    cv_json_key(w, column);
    cv_json_put_i64(w, count);
}
