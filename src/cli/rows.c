/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows as JSON. Depth is that of the table's schema, which is limited when it is read. */
#include "cli/rows.h"

static bool is_number(enum cv_type_kind kind)
{
    return kind == CV_TYPE_INT || kind == CV_TYPE_LONG || kind == CV_TYPE_BOOLEAN;
}

static void put_primitive(struct cv_json_writer *w, const struct cv_column *column, size_t row)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    struct cv_value value = cv_column_value(column, row);

    cv_value_write_text(&value, column->type, &text);
    if (is_number(column->type->kind))
        cv_json_put_raw(w, text.data, text.length);
    else
        cv_json_put_text(w, (struct cv_str){cv_buf_text(&text), text.length});
}

static void put_value(struct cv_json_writer *w, const struct cv_column *column, size_t row)
{
    if (cv_column_is_null(column, row)) {
        cv_json_put_null(w);
    } else if (column->type->kind == CV_TYPE_STRUCT) {
        cv_json_begin_object(w);
        for (size_t i = 0; i < column->child_count; i++) {
            cv_json_key(w, column->type->fields[i].name);
            put_value(w, &column->children[i], row);
        }
        cv_json_end_object(w);
    } else if (column->type->kind == CV_TYPE_LIST || column->type->kind == CV_TYPE_MAP) {
        cv_json_begin_array(w);
        for (int32_t i = column->offsets[row]; i < column->offsets[row + 1]; i++) {
            if (column->type->kind == CV_TYPE_MAP)
                cv_json_begin_array(w);
            put_value(w, &column->children[0], (size_t)i);
            if (column->type->kind == CV_TYPE_MAP) {
                put_value(w, &column->children[1], (size_t)i);
                cv_json_end_array(w);
            }
        }
        cv_json_end_array(w);
    } else {
        put_primitive(w, column, row);
    }
}

void cv_rows_write_json(const struct cv_batch *batch, size_t count, struct cv_buf *out)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);

    cv_json_begin_array(&w);
    for (size_t row = 0; row < CV_MIN(count, batch->row_count); row++) {
        cv_json_begin_object(&w);
        for (size_t i = 0; i < batch->column_count; i++) {
            cv_json_key(&w, batch->schema->root.fields[i].name);
            put_value(&w, &batch->columns[i], row);
        }
        cv_json_end_object(&w);
    }
    cv_json_end_array(&w);
}
