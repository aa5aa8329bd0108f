/* SPDX-License-Identifier: Apache-2.0
 *
 * Partitioning as Spark's PARTITIONED BY clause says it: "day(ts), bucket(16, id), category". */
#include "iceberg/partition_int.h"

#include <ctype.h>

#define CV_DDL_PARTITIONS_MAX 64

struct ddl {
    const char *at;
    const struct cv_schema *schema;
    struct cv_arena *arena;
    struct cv_error *err;
};

static void skip_blanks(struct ddl *ddl)
{
    while (isspace((unsigned char)*ddl->at))
        ddl->at++;
}

static bool take(struct ddl *ddl, char wanted)
{
    skip_blanks(ddl);
    if (*ddl->at != wanted)
        return false;
    ddl->at++;
    return true;
}

static enum cv_code expected(struct ddl *ddl, const char *what)
{
    if (*ddl->at == '\0')
        return cv_fail(ddl->err, CV_USAGE, "%s expected at the end", what);
    return cv_fail(ddl->err, CV_USAGE, "%s expected at \"%.40s\"", what, ddl->at);
}

/* A number, or a column path whose parts may stand in backquotes: the text up to a delimiter. */
static enum cv_code take_word(struct ddl *ddl, const char **ret_word)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf word = CV_BUF_INIT(CV_PATH_BYTES_MAX);

    skip_blanks(ddl);
    while (*ddl->at && !strchr("(),", *ddl->at) && !isspace((unsigned char)*ddl->at)) {
        if (*ddl->at != '`') {
            cv_buf_append_byte(&word, (uint8_t)*ddl->at++);
            continue;
        }
        for (ddl->at++; *ddl->at && (*ddl->at != '`' || ddl->at[1] == '`'); ddl->at++) {
            if (*ddl->at == '`')
                ddl->at++;
            cv_buf_append_byte(&word, (uint8_t)*ddl->at);
        }
        if (*ddl->at != '`')
            return expected(ddl, "a closing backquote");
        ddl->at++;
    }
    if (word.length == 0)
        return expected(ddl, "a column or transform");
    CV_DO(cv_buf_check(&word, "a column name", ddl->err));
    *ret_word = cv_arena_strndup(ddl->arena, (const char *)word.data, word.length);
    return CV_OK;
}

static bool transform_by_word(const char *word, enum cv_transform_kind *ret_kind)
{
    static const struct {
        const char *word;
        enum cv_transform_kind kind;
    } words[] = {
        {"identity", CV_TRANSFORM_IDENTITY}, {"bucket", CV_TRANSFORM_BUCKET},
        {"truncate", CV_TRANSFORM_TRUNCATE}, {"year", CV_TRANSFORM_YEAR},
        {"years", CV_TRANSFORM_YEAR},        {"month", CV_TRANSFORM_MONTH},
        {"months", CV_TRANSFORM_MONTH},      {"day", CV_TRANSFORM_DAY},
        {"days", CV_TRANSFORM_DAY},          {"date", CV_TRANSFORM_DAY},
        {"hour", CV_TRANSFORM_HOUR},         {"hours", CV_TRANSFORM_HOUR},
        {"date_hour", CV_TRANSFORM_HOUR},    {"void", CV_TRANSFORM_VOID},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(words); i++)
        if (cv_text_equal_nocase(words[i].word, word)) {
            *ret_kind = words[i].kind;
            return true;
        }
    return false;
}

static const char *name_suffix(enum cv_transform_kind kind)
{
    switch (kind) {
    case CV_TRANSFORM_BUCKET:
        return "_bucket";
    case CV_TRANSFORM_TRUNCATE:
        return "_trunc";
    case CV_TRANSFORM_YEAR:
        return "_year";
    case CV_TRANSFORM_MONTH:
        return "_month";
    case CV_TRANSFORM_DAY:
        return "_day";
    case CV_TRANSFORM_HOUR:
        return "_hour";
    case CV_TRANSFORM_VOID:
        return "_null";
    default:
        return "";
    }
}

static enum cv_code finish_field(struct ddl *ddl, enum cv_transform_kind kind, int64_t width,
                                 const char *column, struct cv_partition_field *field)
{
    const struct cv_field *source = cv_schema_find_name(ddl->schema, column, true);

    if (!source)
        source = cv_schema_find_name(ddl->schema, column, false);
    if (!source)
        return cv_fail(ddl->err, CV_USAGE, "the schema has no column %s", column);
    CV_DO(cv_transform_make(kind, width, ddl->arena, &field->transform, ddl->err));
    field->source_id = source->id;
    field->name =
        cv_arena_printf(ddl->arena, "%s%s", cv_schema_path_of(ddl->schema, source->id, ddl->arena),
                        name_suffix(kind));
    return CV_OK;
}

/* After "bucket(" or "truncate(": the width and the column. Spark takes truncate's in either order.
 */
static enum cv_code read_width_call(struct ddl *ddl, enum cv_transform_kind kind,
                                    struct cv_partition_field *field)
{
    const char *name = cv_transform_name(kind);
    const char *first;
    const char *second;
    int64_t width;

    CV_DO(take_word(ddl, &first));
    if (!take(ddl, ',')) {
        CV_DO(cv_fail(ddl->err, CV_USAGE, "%s takes a width and a column", name));
    }
    CV_DO(take_word(ddl, &second));
    if (!take(ddl, ')'))
        return expected(ddl, "a closing parenthesis");
    if (cv_parse_i64(cv_str_from(first), &width))
        return finish_field(ddl, kind, width, second, field);
    if (!cv_parse_i64(cv_str_from(second), &width))
        return cv_fail(ddl->err, CV_USAGE, "%s takes a width and a column", name);
    if (kind == CV_TRANSFORM_TRUNCATE)
        return finish_field(ddl, kind, width, first, field);
    (void)cv_fail(ddl->err, CV_USAGE, "%s(%s, %s): the number of buckets stands first", name, first,
                  second);
    cv_hint(ddl->err, "write %s(%s, %s)", name, second, first);
    return CV_USAGE;
}

static enum cv_code read_ddl_field(struct ddl *ddl, struct cv_partition_field *field)
{
    enum cv_transform_kind kind;
    const char *word;
    const char *column;

    CV_DO(take_word(ddl, &word));
    if (!take(ddl, '('))
        return finish_field(ddl, CV_TRANSFORM_IDENTITY, 0, word, field);
    if (!transform_by_word(word, &kind)) {
        (void)cv_fail(ddl->err, CV_USAGE, "there is no transform %s", word);
        cv_hint(ddl->err, "transforms: identity, bucket(n, c), truncate(n, c), year, month, day, "
                          "hour");
        return CV_USAGE;
    }
    if (kind == CV_TRANSFORM_BUCKET || kind == CV_TRANSFORM_TRUNCATE)
        return read_width_call(ddl, kind, field);
    CV_DO(take_word(ddl, &column));
    if (!take(ddl, ')'))
        return expected(ddl, "a closing parenthesis");
    return finish_field(ddl, kind, 0, column, field);
}

enum cv_code cv_partition_spec_read_ddl(const char *text, const struct cv_schema *schema,
                                        struct cv_arena *arena, struct cv_partition_spec *ret_spec,
                                        struct cv_error *err)
{
    struct ddl ddl = {text ? text : "", schema, arena, err};
    struct cv_partition_field fields[CV_DDL_PARTITIONS_MAX] = {0};
    struct cv_partition_spec spec = {0};

    skip_blanks(&ddl);
    while (*ddl.at) {
        if (spec.field_count == CV_DDL_PARTITIONS_MAX)
            return cv_fail(err, CV_LIMIT, "partitioning \"%.200s\" has more than %d fields", text,
                           CV_DDL_PARTITIONS_MAX);
        CV_TRY(read_ddl_field(&ddl, &fields[spec.field_count]), err, "partitioning \"%.200s\"",
               text);
        fields[spec.field_count].field_id = CV_PARTITION_ID_FIRST + (int32_t)spec.field_count;
        spec.field_count++;
        skip_blanks(&ddl);
        if (*ddl.at && !take(&ddl, ','))
            CV_TRY(expected(&ddl, "a comma"), err, "partitioning \"%.200s\"", text);
    }
    spec.fields = cv_arena_copy(arena, fields, spec.field_count * sizeof *fields);
    CV_DO(cv_partition_spec_check(&spec, schema, err));
    *ret_spec = spec;
    return CV_OK;
}
