/* SPDX-License-Identifier: Apache-2.0
 *
 * Iceberg's write-compatibility rule, all problems of a row type collected. */
#include "schema/compat.h"

#include <stdio.h>
#include <strings.h>

struct check {
    unsigned flags;
    struct cv_buf *problems;
    size_t count;
};

bool cv_type_widens(const struct cv_type *from, const struct cv_type *to)
{
    switch (to->kind) {
    case CV_TYPE_LONG:
        return from->kind == CV_TYPE_LONG || from->kind == CV_TYPE_INT;
    case CV_TYPE_DOUBLE:
        return from->kind == CV_TYPE_DOUBLE || from->kind == CV_TYPE_FLOAT;
    case CV_TYPE_DECIMAL:
        return from->kind == CV_TYPE_DECIMAL && from->scale == to->scale &&
               from->precision <= to->precision;
    case CV_TYPE_FIXED:
        return from->kind == CV_TYPE_FIXED && from->length == to->length;
    default:
        return from->kind == to->kind && !cv_type_is_nested(to);
    }
}

static bool fields_allowed(const struct cv_type *from, const struct cv_type *to)
{
    if (from->field_count != to->field_count)
        return false;
    for (size_t i = 0; i < from->field_count; i++) {
        const struct cv_field *a = &from->fields[i];
        const struct cv_field *b = &to->fields[i];

        if ((from->kind == CV_TYPE_STRUCT && !cv_text_equal_nocase(a->name, b->name)) ||
            (b->required && !a->required) || !cv_type_equal(&a->type, &b->type)) {
            bool nested = cv_type_is_nested(&a->type) && a->type.kind == b->type.kind;

            if (!nested || (b->required && !a->required) || !fields_allowed(&a->type, &b->type))
                return false;
        }
    }
    return true;
}

bool cv_assign_allowed(const struct cv_type *from, const struct cv_type *to)
{
    if (cv_type_is_nested(from))
        return from->kind == to->kind && fields_allowed(from, to);
    return cv_type_widens(from, to) ||
           (from->kind == CV_TYPE_TIMESTAMPTZ && to->kind == CV_TYPE_TIMESTAMP);
}

const struct cv_field *cv_struct_find_nocase(const struct cv_type *type, const char *name,
                                             bool *ret_ambiguous)
{
    const struct cv_field *found = NULL;
    bool ambiguous = false;

    for (size_t i = 0; i < type->field_count; i++) {
        const struct cv_field *field = &type->fields[i];

        if (strcmp(field->name, name) == 0) {
            ambiguous = false;
            found = field;
            break;
        }
        if (strcasecmp(field->name, name) == 0) {
            ambiguous = found != NULL;
            found = field;
        }
    }
    if (ret_ambiguous)
        *ret_ambiguous = ambiguous;
    return ambiguous ? NULL : found;
}

static void problem(struct check *check, const char *path, const char *format, ...) CV_PRINTF(3, 4);

static void problem(struct check *check, const char *path, const char *format, ...)
{
    char text[3 * CV_TYPE_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cv_buf_printf(check->problems, "%s: %s\n", path, text);
    check->count++;
}

static void check_type(struct check *check, const struct cv_type *from, const struct cv_type *to,
                       const char *path, unsigned depth);

static void join(struct cv_buf *out, const char *path, const char *name)
{
    cv_buf_append_text(out, path);
    if (*path)
        cv_buf_append_byte(out, '.');
    cv_buf_append_text(out, name);
}

static void check_child(struct check *check, const struct cv_type *from, bool from_required,
                        const struct cv_field *to, const char *path, unsigned depth)
{
    if (to->required && !from_required)
        problem(check, path, "the column is required, the value may be NULL");
    check_type(check, from, &to->type, path, depth);
}

static void check_struct(struct check *check, const struct cv_type *from, const struct cv_type *to,
                         const char *path, unsigned depth)
{
    for (size_t i = 0; i < to->field_count; i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf below = CV_BUF_INIT(0);
        const struct cv_field *field = &to->fields[i];
        bool ambiguous;
        const struct cv_field *source = cv_struct_find_nocase(from, field->name, &ambiguous);

        join(&below, path, field->name);
        if (source)
            check_child(check, &source->type, source->required, field, cv_buf_text(&below), depth);
        else if (ambiguous)
            problem(check, cv_buf_text(&below),
                    "several values differ from it only in letter case");
        else if (field->required)
            problem(check, cv_buf_text(&below),
                    "the column is required and there is no value for it");
    }
    if (check->flags & CV_ASSIGN_IGNORE_UNKNOWN)
        return;
    for (size_t i = 0; i < from->field_count; i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf below = CV_BUF_INIT(0);

        if (cv_struct_find_nocase(to, from->fields[i].name, NULL))
            continue;
        join(&below, path, from->fields[i].name);
        problem(check, cv_buf_text(&below), "the table has no such column");
    }
}

static void check_children(struct check *check, const struct cv_type *from,
                           const struct cv_type *to, const char *path, unsigned depth)
{
    for (size_t i = 0; i < to->field_count; i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf below = CV_BUF_INIT(0);

        join(&below, path, to->fields[i].name);
        check_child(check, &from->fields[i].type, from->fields[i].required, &to->fields[i],
                    cv_buf_text(&below), depth);
    }
}

static void check_type(struct check *check, const struct cv_type *from, const struct cv_type *to,
                       const char *path, unsigned depth)
{
    char from_text[CV_TYPE_TEXT_BYTES];
    char to_text[CV_TYPE_TEXT_BYTES];

    if (depth > CV_DEPTH_MAX) {
        problem(check, path, "nested deeper than %d", CV_DEPTH_MAX);
    } else if (from->kind == to->kind && to->kind == CV_TYPE_STRUCT) {
        check_struct(check, from, to, path, depth + 1);
    } else if (from->kind == to->kind && cv_type_is_nested(to)) {
        check_children(check, from, to, path, depth + 1);
    } else if (!cv_type_widens(from, to)) {
        cv_type_text(from, from_text);
        cv_type_text(to, to_text);
        problem(check, path, "%s cannot be written to a column of type %s", from_text, to_text);
    }
}

size_t cv_schema_check_assign_row(const struct cv_type *from, const struct cv_type *to,
                                  unsigned flags, struct cv_buf *problems)
{
    struct check check = {flags, problems, 0};

    check_struct(&check, from, to, "", 0);
    return check.count;
}
