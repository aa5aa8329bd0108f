/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes compact JSON (RFC 8259). */
#include "codec/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void before_value(struct cv_json_writer *w)
{
    if (w->comma)
        cv_buf_append_byte(w->out, ',');
    w->comma = true;
}

static void begin(struct cv_json_writer *w, char bracket)
{
    before_value(w);
    cv_buf_append_byte(w->out, (uint8_t)bracket);
    w->comma = false;
}

static void end(struct cv_json_writer *w, char bracket)
{
    cv_buf_append_byte(w->out, (uint8_t)bracket);
    w->comma = true;
}

void cv_json_begin_object(struct cv_json_writer *w)
{
    begin(w, '{');
}

void cv_json_end_object(struct cv_json_writer *w)
{
    end(w, '}');
}

void cv_json_begin_array(struct cv_json_writer *w)
{
    begin(w, '[');
}

void cv_json_end_array(struct cv_json_writer *w)
{
    end(w, ']');
}

static void put_escape(struct cv_buf *out, uint8_t c)
{
    static const char short_forms[] = "\"\"\\\\\bb\ff\nn\rr\tt";

    for (const char *form = short_forms; *form; form += 2)
        if ((uint8_t)form[0] == c) {
            cv_buf_append_byte(out, '\\');
            cv_buf_append_byte(out, (uint8_t)form[1]);
            return;
        }
    cv_buf_printf(out, "\\u%04x", c);
}

static void put_quoted(struct cv_buf *out, struct cv_str text)
{
    size_t start = 0;

    cv_buf_append_byte(out, '"');
    for (size_t i = 0; i < text.length; i++) {
        uint8_t c = (uint8_t)text.ptr[i];

        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        cv_buf_append(out, text.ptr + start, i - start);
        put_escape(out, c);
        start = i + 1;
    }
    cv_buf_append(out, text.ptr + start, text.length - start);
    cv_buf_append_byte(out, '"');
}

void cv_json_key(struct cv_json_writer *w, const char *key)
{
    before_value(w);
    put_quoted(w->out, cv_str_from(key));
    cv_buf_append_byte(w->out, ':');
    w->comma = false;
}

void cv_json_put_text(struct cv_json_writer *w, struct cv_str text)
{
    before_value(w);
    put_quoted(w->out, text);
}

void cv_json_put_string(struct cv_json_writer *w, const char *text)
{
    cv_json_put_text(w, cv_str_from(text));
}

void cv_json_put_raw(struct cv_json_writer *w, const void *json, size_t length)
{
    before_value(w);
    cv_buf_append(w->out, json, length);
}

void cv_json_put_i64(struct cv_json_writer *w, int64_t value)
{
    char text[32];

    cv_json_put_raw(w, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)value));
}

/* JSON has no NaN and no infinity: they become null. Whole numbers keep a ".0", as Java's do. */
void cv_json_put_double(struct cv_json_writer *w, double value)
{
    char text[40];

    if (!isfinite(value)) {
        cv_json_put_null(w);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    if (!strpbrk(text, ".e"))
        memcpy(text + strlen(text), ".0", 3);
    cv_json_put_raw(w, text, strlen(text));
}

void cv_json_put_bool(struct cv_json_writer *w, bool value)
{
    cv_json_put_raw(w, value ? "true" : "false", value ? 4 : 5);
}

void cv_json_put_null(struct cv_json_writer *w)
{
    cv_json_put_raw(w, "null", 4);
}

/* Recursion is bounded by the depth that cv_json_parse() lets in. */
static void put_node(struct cv_json_writer *w, const struct cv_json *node)
{
    const struct cv_json *value;
    const char *key;
    size_t position = 0;

    if (cv_json_is_object(node)) {
        cv_json_begin_object(w);
        while ((key = cv_json_next(node, &position, &value)) != NULL) {
            cv_json_key(w, key);
            put_node(w, value);
        }
        cv_json_end_object(w);
    } else if (cv_json_is_array(node)) {
        cv_json_begin_array(w);
        for (size_t i = 0; i < cv_json_size(node); i++)
            put_node(w, cv_json_at(node, i));
        cv_json_end_array(w);
    } else if (cv_json_is_string(node)) {
        cv_json_put_text(w, (struct cv_str){cv_json_text(node), cv_json_text_length(node)});
    } else if (cv_json_is_integer(node)) {
        cv_json_put_i64(w, cv_json_integer(node));
    } else if (cv_json_is_number(node)) {
        cv_json_put_double(w, cv_json_real(node));
    } else if (cv_json_is_bool(node)) {
        cv_json_put_bool(w, cv_json_bool(node));
    } else {
        cv_json_put_null(w);
    }
}

void cv_json_write_node(const struct cv_json *node, struct cv_buf *out)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);

    put_node(&w, node);
}
