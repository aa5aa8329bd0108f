/* SPDX-License-Identifier: Apache-2.0
 *
 * See assign.h. */
#include "decode/assign.h"

#include <stdio.h>

void cv_problem(struct cv_buf *problems, const char *format, ...)
{
    char text[600];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cv_buf_printf(problems, "%s%s", problems->length ? "; " : "", text);
}

size_t cv_assign_find_column(const struct cv_schema *table, const char *name, bool *ret_ambiguous)
{
    const struct cv_field *field = cv_struct_find_nocase(&table->root, name, ret_ambiguous);

    return field ? (size_t)(field - table->root.fields) : SIZE_MAX;
}

/* The checks of one item against its column; false when it cannot feed it. */
static bool check_item(struct cv_decoder *d, const struct cv_select_item *item,
                       struct cv_feed *feed, const struct cv_field *column, struct cv_buf *problems)
{
    const struct cv_format_ops *format = d->format;
    char from[CV_TYPE_TEXT_BYTES];
    char to[CV_TYPE_TEXT_BYTES];

    if (item->cast != CV_SELECT_ASSIGN)
        feed->cast_type = item->cast_type;
    if (feed->kind == CV_FEED_KAFKA) {
        feed->source_type = cv_kafka_column_type(item->column, format);
        if (item->cast == CV_SELECT_ASSIGN) {
            bool bytes = item->column == CV_KAFKA_KEY || item->column == CV_KAFKA_VALUE;

            if (bytes && column->type.kind == CV_TYPE_BINARY)
                feed->source_type = column->type;
            feed->cast_type = feed->source_type;
        }
        cv_type_text(&feed->source_type, from);
        cv_type_text(&feed->cast_type, to);
        if (item->cast != CV_SELECT_ASSIGN &&
            (cv_type_is_nested(&feed->source_type) || cv_type_is_nested(&feed->cast_type) ||
             !cv_cast_allowed(&feed->source_type, &feed->cast_type))) {
            cv_problem(problems, "%s: %s cannot be cast to %s", item->text, from, to);
            return false;
        }
    } else if (item->cast == CV_SELECT_ASSIGN) {
        return true; /* the type comes from the value's schema or from the column */
    }
    if (cv_assign_allowed(&feed->cast_type, &column->type))
        return true;
    cv_type_text(&feed->cast_type, from);
    cv_type_text(&column->type, to);
    cv_problem(problems, "%s is %s and column %s is %s%s", item->text, from, column->name, to,
               cv_type_is_nested(&column->type) ? "" : " (write a CAST)");
    return false;
}

static void assign_item(struct cv_decoder *d, const struct cv_select_item *item,
                        struct cv_buf *problems)
{
    const struct cv_format_ops *format = d->format;
    bool ambiguous;
    size_t index = cv_assign_find_column(d->config.table, item->name, &ambiguous);
    struct cv_feed *feed;

    if (item->path_length > 0 && !(item->column == CV_KAFKA_VALUE && format->has_fields)) {
        cv_problem(problems, "%s: %s has no fields%s", item->text,
                   cv_kafka_column_name(item->column),
                   item->column == CV_KAFKA_VALUE ? " in this value.format" : "");
        return;
    }
    if (item->column == CV_KAFKA_HEADERS && !d->config.include_headers)
        cv_problem(problems, "%s: set source.includeHeaders to true", item->text);
    if (index == SIZE_MAX) {
        if (ambiguous)
            cv_problem(problems, "%s: more than one column is named %s but for letter case",
                       item->text, item->name);
        else if (!d->config.ignore_unknown)
            cv_problem(problems, "%s: the table has no column %s", item->text, item->name);
        return;
    }
    feed = &d->feeds[index];
    if (feed->kind != CV_FEED_NONE) {
        cv_problem(problems, "column %s gets both %s and %s", item->name, feed->text, item->text);
        return;
    }
    *feed = (struct cv_feed){
        .kind = item->column == CV_KAFKA_VALUE && format->value_fed_by_format ? CV_FEED_VALUE
                                                                              : CV_FEED_KAFKA,
        .column = item->column,
        .path = item->path,
        .path_length = item->path_length,
        .cast = item->cast,
        .text = item->text,
        .line = item->line,
        .column_number = item->column_number,
    };
    (void)check_item(d, item, feed, &d->config.table->root.fields[index], problems);
}

/* value.* feeds every column that no other item does, by its name. */
static void assign_star(struct cv_decoder *d)
{
    for (size_t i = 0; i < d->column_count; i++) {
        struct cv_feed *feed = &d->feeds[i];
        const char **path;

        if (feed->kind != CV_FEED_NONE)
            continue;
        path = cv_arena_array(&d->arena, const char *, 1);
        path[0] = d->config.table->root.fields[i].name;
        *feed = (struct cv_feed){
            .kind = CV_FEED_VALUE,
            .column = CV_KAFKA_VALUE,
            .star = true,
            .path = path,
            .path_length = 1,
            .text = cv_arena_printf(&d->arena, "value.%s", path[0]),
        };
    }
}

static void list_columns(struct cv_decoder *d, struct cv_buf *problems)
{
    const struct cv_field *columns = d->config.table->root.fields;

    d->required = cv_arena_array(&d->arena, size_t, d->column_count);
    d->valued = cv_arena_array(&d->arena, size_t, d->column_count);
    d->own = cv_arena_array(&d->arena, size_t, d->column_count);
    for (size_t i = 0; i < d->column_count; i++) {
        if (d->feeds[i].kind == CV_FEED_VALUE)
            d->valued[d->valued_count++] = i;
        else
            d->own[d->own_count++] = i;
        if (!columns[i].required)
            continue;
        d->required[d->required_count++] = i;
        if (d->feeds[i].kind == CV_FEED_NONE)
            cv_problem(problems, "column %s is required and nothing feeds it", columns[i].name);
    }
}

void cv_assign_columns(struct cv_decoder *d, struct cv_buf *problems)
{
    d->column_count = d->config.table->root.field_count;
    d->feeds = cv_arena_array(&d->arena, struct cv_feed, d->column_count);
    for (size_t i = 0; i < d->select.count; i++) {
        if (d->select.items[i].star)
            d->star = true;
        else
            assign_item(d, &d->select.items[i], problems);
    }
    if (d->star && d->format->has_fields)
        assign_star(d);
    else if (d->star)
        cv_problem(problems, "value.*: value has no fields in value.format %s", d->format->name);
    list_columns(d, problems);
}
