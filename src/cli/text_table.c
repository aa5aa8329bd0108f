/* SPDX-License-Identifier: Apache-2.0
 *
 * Text tables. */
#include "cli/text_table.h"

#include "cli/command.h"
#include "codec/json.h"
#include "codec/utf8.h"

#include <stdio.h>
#include <unistd.h>

#define COLUMNS_MAX    64
#define CELL_WIDTH_MAX 60 /* on a terminal; a pipe gets whole cells */

struct table {
    const char *names[COLUMNS_MAX];
    int widths[COLUMNS_MAX];
    bool numeric[COLUMNS_MAX];
    size_t columns;
};

static int text_width(const char *text)
{
    return (int)cv_utf8_count(cv_str_from(text));
}

/* The first `width` code points. */
static void cut(struct cv_buf *cell, int width)
{
    struct cv_str text = {cv_buf_text(cell), cell->length};

    if (cv_utf8_count(text) <= (size_t)width)
        return;
    cell->length = cv_utf8_prefix(text, (size_t)width - 1);
    cv_buf_append_text(cell, "…");
}

/* The last column needs no cut: nothing stands to its right. */
static void cell_text(const struct cv_json *node, bool may_cut, struct cv_buf *out)
{
    cv_buf_clear(out);
    if (!node || cv_json_is_null(node))
        return;
    if (cv_json_is_string(node))
        cv_buf_append_text(out, cv_json_text(node));
    else
        cv_json_write_node(node, out);
    if (may_cut && cv_terminal())
        cut(out, CELL_WIDTH_MAX);
}

static void add_column(struct table *table, const char *name)
{
    if (table->columns == COLUMNS_MAX)
        return;
    table->names[table->columns] = name;
    table->widths[table->columns] = text_width(name);
    table->numeric[table->columns] = true;
    table->columns++;
}

/* The listed columns in the list's order, or all of the first row. */
static void choose_columns(const struct cv_json *rows, const char *columns, struct cv_arena *arena,
                           struct table *table)
{
    const struct cv_json *value;
    const char *name;
    size_t position = 0;
    size_t count = 0;
    char **names = columns ? cv_split(arena, columns, ',', &count) : NULL;

    for (size_t i = 0; i < count; i++)
        add_column(table, names[i]);
    while (!columns && (name = cv_json_next(cv_json_at(rows, 0), &position, &value)))
        add_column(table, name);
}

static void measure(const struct cv_json *rows, struct table *table, struct cv_buf *cell)
{
    for (size_t r = 0; r < cv_json_size(rows); r++)
        for (size_t c = 0; c < table->columns; c++) {
            const struct cv_json *node = cv_json_get(cv_json_at(rows, r), table->names[c]);

            cell_text(node, c + 1 < table->columns, cell);
            table->widths[c] = CV_MAX(table->widths[c], text_width(cv_buf_text(cell)));
            table->numeric[c] &= !node || cv_json_is_null(node) || cv_json_is_number(node);
        }
}

static void print_cell(const struct table *table, size_t column, const char *text)
{
    int pad = table->widths[column] - text_width(text);
    bool last = column + 1 == table->columns;

    if (table->numeric[column])
        (void)printf("%*s%s", pad, "", text);
    else
        (void)printf("%s%*s", text, last ? 0 : pad, "");
    (void)printf(last ? "\n" : "  ");
}

/* One object: a line per member. */
static void print_members(const struct cv_json *object, struct cv_buf *cell)
{
    const struct cv_json *value;
    const char *name;
    size_t position = 0;
    int width = 0;

    while ((name = cv_json_next(object, &position, &value)))
        width = CV_MAX(width, text_width(name));
    position = 0;
    while ((name = cv_json_next(object, &position, &value))) {
        cv_buf_clear(cell);
        if (cv_json_is_string(value))
            cv_buf_append_text(cell, cv_json_text(value));
        else if (!cv_json_is_null(value))
            cv_json_write_node(value, cell);
        (void)printf("%s%*s  %s\n", name, width - text_width(name), "", cv_buf_text(cell));
    }
}

enum cv_code cv_text_table_print(struct cv_str json, const char *columns, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *rows = NULL;
    CV_CLEANUP(cv_buf_release) struct cv_buf cell = CV_BUF_INIT(0);
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct table table = {.columns = 0};

    CV_DO(cv_json_parse(json.ptr, json.length, &rows, err));
    if (cv_json_is_object(rows)) {
        print_members(rows, &cell);
        return CV_OK;
    }
    if (!cv_json_size(rows)) {
        (void)printf("(none)\n");
        return CV_OK;
    }
    choose_columns(rows, columns, &arena, &table);
    measure(rows, &table, &cell);
    if (cv_terminal())
        (void)printf("\033[1m");
    for (size_t c = 0; c < table.columns; c++)
        print_cell(&table, c, table.names[c]);
    if (cv_terminal())
        (void)printf("\033[0m");
    for (size_t r = 0; r < cv_json_size(rows); r++)
        for (size_t c = 0; c < table.columns; c++) {
            cell_text(cv_json_get(cv_json_at(rows, r), table.names[c]), c + 1 < table.columns,
                      &cell);
            print_cell(&table, c, cv_buf_text(&cell));
        }
    return CV_OK;
}
