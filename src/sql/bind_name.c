/* SPDX-License-Identifier: Apache-2.0
 *
 * Names: columns by qualifier and name, fields below them, and what the decoder is asked for. */
#include "sql/bind_int.h"

#include "schema/compat.h"

#include <stdio.h>

void cv_bind_reserve_(struct cv_arena *arena, void **array, size_t *capacity, size_t need,
                      size_t size)
{
    size_t wanted = CV_MAX(2 * *capacity, 4);
    void *grown;

    if (need <= *capacity)
        return;
    wanted = CV_MAX(wanted, need);
    grown = cv_arena_alloc_array(arena, wanted, size);
    if (*capacity > 0)
        memcpy(grown, *array, *capacity * size);
    *array = grown;
    *capacity = wanted;
}

void cv_bind_add_column(struct cv_binder *binder, struct cv_bind_relation *relation,
                        const struct cv_bind_column *column)
{
    cv_bind_append(binder->arena, relation->columns, relation->column_capacity,
                   relation->column_count, *column);
}

/* --- inputs ---------------------------------------------------------------------------------- */

static bool same_input(const struct cv_bind_input *a, const struct cv_bind_input *b)
{
    if (a->column != b->column || a->path_length != b->path_length || a->cast != b->cast ||
        a->try_cast != b->try_cast || a->type.kind != b->type.kind ||
        a->type.precision != b->type.precision || a->type.scale != b->type.scale)
        return false;
    for (size_t i = 0; i < a->path_length; i++)
        if (strcmp(a->path[i], b->path[i]) != 0)
            return false;
    return !cv_type_is_nested(&a->type) || cv_type_equal(&a->type, &b->type);
}

const struct cv_expr *cv_bind_input(struct cv_binder *binder, const struct cv_bind_input *wanted)
{
    struct cv_bind_input *input;

    for (size_t i = 0; i < binder->input_count; i++)
        if (same_input(binder->inputs[i], wanted))
            return &binder->inputs[i]->expr;
    input = cv_arena_new(binder->arena, struct cv_bind_input);
    *input = *wanted;
    input->sql = cv_arena_printf(binder->arena, "i.c%zu", binder->input_count);
    input->expr = (struct cv_expr){.kind = CV_EXPR_COLUMN,
                                   .type = input->type,
                                   .position = CV_SQL_NO_POSITION,
                                   .sql = input->sql,
                                   .input = binder->input_count};
    cv_bind_append(binder->arena, binder->inputs, binder->input_capacity, binder->input_count,
                   input);
    return &input->expr;
}

struct cv_bind_input *cv_bind_input_of(const struct cv_binder *binder, const struct cv_expr *expr)
{
    return expr->kind == CV_EXPR_COLUMN && expr->input < binder->input_count
               ? binder->inputs[expr->input]
               : NULL;
}

/* --- suggestions ----------------------------------------------------------------------------- */

#define NAME_BYTES 160

struct suggestion {
    const char *wanted;
    char best[NAME_BYTES];
    size_t distance; /* SIZE_MAX = none yet */
};

static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[2][NAME_BYTES + 1];
    size_t length = CV_MIN(strlen(b), (size_t)NAME_BYTES);

    for (size_t j = 0; j <= length; j++)
        rows[0][j] = j;
    for (size_t i = 0; i < NAME_BYTES && a[i]; i++) {
        const size_t *above = rows[i & 1];
        size_t *row = rows[(i + 1) & 1];

        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t replace = above[j] + ((a[i] | 0x20) != (b[j] | 0x20));

            row[j + 1] = CV_MIN(replace, CV_MIN(above[j + 1], row[j]) + 1);
        }
    }
    return rows[CV_MIN(strlen(a), (size_t)NAME_BYTES) & 1][length];
}

static void suggest(struct suggestion *s, const char *format, ...) CV_PRINTF(2, 3);

static void suggest(struct suggestion *s, const char *format, ...)
{
    char name[NAME_BYTES];
    const char *dot;
    size_t distance;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(name, sizeof name, format, args);
    va_end(args);
    distance = edit_distance(s->wanted, name);
    dot = strrchr(name, '.');
    if (dot && cv_text_equal_nocase(dot + 1, s->wanted))
        distance = 1; /* value.price for price */
    if (distance < s->distance) {
        s->distance = distance;
        memcpy(s->best, name, sizeof name);
    }
}

static void suggest_fields(struct suggestion *s, const char *before, const struct cv_type *type)
{
    if (type->kind != CV_TYPE_STRUCT)
        return;
    for (size_t i = 0; i < type->field_count; i++)
        suggest(s, "%s.%s", before, type->fields[i].name);
}

static const char *nearest(struct cv_arena *arena, const struct suggestion *s)
{
    if (s->distance > 2 + strlen(s->wanted) / 4)
        return "";
    return cv_arena_printf(arena, "; nearest: %s", s->best);
}

static const char *dotted(struct cv_arena *arena, const char *const *names, size_t count)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

    for (size_t i = 0; i < count; i++)
        cv_buf_printf(&text, "%s%s", i ? "." : "", names[i]);
    return cv_arena_strdup(arena, cv_buf_text(&text));
}

static void unknown_column(struct cv_bind_scope *scope, const struct cv_ast *ast)
{
    struct cv_binder *binder = scope->binder;
    const char *name = dotted(binder->arena, ast->names, ast->name_count);
    struct suggestion s = {.wanted = name, .distance = SIZE_MAX};

    if (scope->relation->broken)
        return;
    for (size_t i = 0; i < scope->relation->column_count; i++) {
        const struct cv_bind_column *column = &scope->relation->columns[i];

        if (!column->name)
            continue;
        suggest(&s, "%s", column->name);
        if (column->qualifier)
            suggest(&s, "%s.%s", column->qualifier, column->name);
        suggest_fields(&s, column->name, &column->expr->type);
    }
    cv_sql_problem(&binder->problems, CV_CONFIG, ast->position, "there is no column %s%s%s", name,
                   nearest(binder->arena, &s),
                   cv_sql_problems_quoted(&binder->problems, ast->position)
                       ? "; a text is written in single quotes"
                       : "");
}

/* --- fields ---------------------------------------------------------------------------------- */

static const struct cv_field *find_field(const struct cv_binder *binder, const struct cv_type *type,
                                         const char *name, bool *ret_ambiguous)
{
    *ret_ambiguous = false;
    if (!binder->config->case_sensitive)
        return cv_struct_find_nocase(type, name, ret_ambiguous);
    for (size_t i = 0; i < type->field_count; i++)
        if (strcmp(type->fields[i].name, name) == 0)
            return &type->fields[i];
    return NULL;
}

/* One step down a path of the stream: the decoder goes it. */
static const struct cv_expr *input_field(struct cv_binder *binder, const struct cv_bind_input *from,
                                         const struct cv_field *field, const char *name)
{
    struct cv_bind_input below = {.column = from->column, .path_length = from->path_length + 1};
    const char **path = cv_arena_array(binder->arena, const char *, below.path_length);

    if (from->path_length > 0)
        memcpy(path, from->path, from->path_length * sizeof path[0]);
    path[from->path_length] = cv_arena_strdup(binder->arena, field ? field->name : name);
    below.path = path;
    below.open = !field;
    below.required = field && field->required && from->required;
    below.type = field ? field->type : (struct cv_type){.kind = CV_TYPE_STRING};
    below.text = cv_arena_printf(binder->arena, "%s.%s", from->text, path[from->path_length]);
    return cv_bind_input(binder, &below);
}

static bool is_open(const struct cv_binder *binder, const struct cv_bind_input *input)
{
    const struct cv_field *column;

    if (input->open)
        return true;
    column = &binder->config->stream->root.fields[input->column];
    return binder->config->value_open && input->path_length == 0 &&
           cv_text_equal_nocase(column->name, "value");
}

static const struct cv_expr *no_field(struct cv_bind_scope *scope, const struct cv_expr *expr,
                                      const char *name, bool ambiguous, size_t position)
{
    struct cv_binder *binder = scope->binder;
    const struct cv_bind_input *input = cv_bind_input_of(binder, expr);
    const char *before = input ? input->text : "it";
    const char *path = cv_arena_printf(binder->arena, "%s.%s", before, name);
    struct suggestion s = {.wanted = path, .distance = SIZE_MAX};
    char type[CV_TYPE_TEXT_BYTES];

    if (ambiguous) {
        cv_sql_problem(&binder->problems, CV_CONFIG, position,
                       "%s is ambiguous: several fields differ only in letter case", path);
        return NULL;
    }
    suggest_fields(&s, before, &expr->type);
    cv_type_text(&expr->type, type);
    if (expr->type.kind == CV_TYPE_STRUCT)
        cv_sql_problem(&binder->problems, CV_CONFIG, position, "there is no column %s%s", path,
                       nearest(binder->arena, &s));
    else
        cv_sql_problem(&binder->problems, CV_CONFIG, position, "%s has no field %s: it is %s",
                       before, name, type);
    return NULL;
}

const struct cv_expr *cv_bind_field(struct cv_bind_scope *scope, const struct cv_expr *expr,
                                    const char *name, size_t position)
{
    struct cv_binder *binder = scope->binder;
    const struct cv_bind_input *input = cv_bind_input_of(binder, expr);
    const struct cv_expr *arguments[2];
    const struct cv_expr *window = cv_bind_window_field(expr, name);
    const struct cv_field *field;
    struct cv_ast text = {.constant = CV_AST_STRING, .position = position};
    bool ambiguous = false;

    if (window)
        return window;
    field = expr->type.kind == CV_TYPE_STRUCT ? find_field(binder, &expr->type, name, &ambiguous)
                                              : NULL;
    if (input && !input->cast && (field || (is_open(binder, input) && !ambiguous))) {
        if (input->path_length < CV_DEPTH_MAX)
            return input_field(binder, input, field, name);
        cv_sql_problem(&binder->problems, CV_LIMIT, position, "a path of more than %d names",
                       CV_DEPTH_MAX);
        return NULL;
    }
    if (!field)
        return no_field(scope, expr, name, ambiguous, position);
    text.text = field->name;
    arguments[0] = expr;
    arguments[1] = cv_bind_constant(scope, &text);
    return cv_bind_call(scope, "struct_extract", arguments, 2, position);
}

/* --- columns --------------------------------------------------------------------------------- */

static bool qualifier_is(const struct cv_bind_column *column, const char *name)
{
    return column->qualifier && cv_text_equal_nocase(column->qualifier, name);
}

struct found {
    const struct cv_bind_column *column;
    size_t names; /* that stand for the column */
    size_t count;
};

/* Spark's order: qualifier.column first, then the column of this name. */
static struct found find_column(const struct cv_bind_relation *relation, const struct cv_ast *ast)
{
    struct found qualified = {.names = 2};
    struct found plain = {.names = 1};

    for (size_t i = 0; i < relation->column_count; i++) {
        const struct cv_bind_column *column = &relation->columns[i];

        if (!column->name)
            continue;
        if (ast->name_count > 1 && qualifier_is(column, ast->names[0]) &&
            cv_text_equal_nocase(column->name, ast->names[1])) {
            qualified.column = column;
            qualified.count++;
        }
        if (!column->merged && cv_text_equal_nocase(column->name, ast->names[0])) {
            plain.column = column;
            plain.count++;
        }
    }
    return qualified.count > 0 ? qualified : plain;
}

static const struct cv_expr *ambiguous_column(struct cv_bind_scope *scope, const struct cv_ast *ast)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf names = CV_BUF_INIT(0);
    const char *name = ast->names[ast->name_count > 1 ? ast->name_count - 1 : 0];

    for (size_t i = 0; i < scope->relation->column_count; i++) {
        const struct cv_bind_column *column = &scope->relation->columns[i];

        if (column->name && cv_text_equal_nocase(column->name, ast->names[0]))
            cv_buf_printf(&names, "%s%s%s%s", names.length ? ", " : "",
                          column->qualifier ? column->qualifier : "", column->qualifier ? "." : "",
                          column->name);
    }
    cv_sql_problem(&scope->binder->problems, CV_CONFIG, ast->position,
                   "%s is ambiguous: it may be %s", name,
                   names.length ? cv_buf_text(&names) : "one of several columns of that name");
    return NULL;
}

/* current_timestamp and the like are written like columns. */
static bool is_word_call(const struct cv_ast *ast)
{
    static const char *const words[] = {"current_timestamp", "current_date", "localtimestamp"};

    for (size_t i = 0; ast->name_count == 1 && i < CV_ARRAY_LENGTH(words); i++)
        if (cv_text_equal_nocase(ast->names[0], words[i]))
            return true;
    return false;
}

static const struct cv_bind_output *find_alias(const struct cv_bind_scope *scope, const char *name)
{
    for (size_t i = 0; i < scope->alias_count; i++)
        if (scope->aliases[i].name && cv_text_equal_nocase(scope->aliases[i].name, name))
            return &scope->aliases[i];
    return NULL;
}

static struct found find_in_scopes(const struct cv_bind_scope *scope, const struct cv_ast *ast)
{
    struct found found = {0};

    for (; scope && found.count == 0; scope = scope->outer)
        found = find_column(scope->relation, ast);
    return found;
}

/* The names from `first` on, as fields. */
static const struct cv_expr *fields_below(struct cv_bind_scope *scope, const struct cv_expr *expr,
                                          const struct cv_ast *ast, size_t first)
{
    for (size_t i = first; expr && i < ast->name_count; i++)
        expr = cv_bind_field(scope, expr, ast->names[i], ast->position);
    return expr;
}

const struct cv_expr *cv_bind_name(struct cv_bind_scope *scope, const struct cv_ast *ast)
{
    const struct cv_bind_output *alias = find_alias(scope, ast->names[0]);
    struct found found = {0};

    if (!alias || !scope->aliases_first)
        found = find_in_scopes(scope, ast);
    if (found.count > 1)
        return ambiguous_column(scope, ast);
    if (found.count == 0 && alias)
        return fields_below(scope, alias->expr, ast, 1); /* NULL: its problem is noted */
    if (found.count == 0 && scope->window && cv_text_equal_nocase(ast->names[0], "window"))
        return fields_below(scope, cv_bind_window(scope, scope->window), ast, 1);
    if (found.count == 0 && is_word_call(ast))
        return cv_bind_call(scope, ast->names[0], NULL, 0, ast->position);
    if (found.count == 0) {
        unknown_column(scope, ast);
        return NULL;
    }
    return fields_below(scope, found.column->expr, ast, found.names);
}
