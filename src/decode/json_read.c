/* SPDX-License-Identifier: Apache-2.0
 *
 * See json_read.h. Recursion is as deep as the plan's types and paths, never as the text. */
#include "decode/json_read.h"

#include "decode/assign.h"
#include "decode/framing.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT_BYTES_MAX ((size_t)1 << 30)

void cv_json_reader_init(struct cv_json_reader *reader, const struct cv_json_plan *plan,
                         struct cv_decode_worker *worker)
{
    *reader = (struct cv_json_reader){
        .plan = plan,
        .worker = worker,
        .text = CV_BUF_INIT(TEXT_BYTES_MAX),
        .bytes = CV_BUF_INIT(TEXT_BYTES_MAX),
        .cast = CV_BUF_INIT(TEXT_BYTES_MAX),
        .map = CV_BUF_INIT(TEXT_BYTES_MAX),
    };
    reader->keys = cv_alloc(CV_MAX(plan->object_count, 1) * sizeof *reader->keys);
    for (size_t i = 0; i < plan->object_count; i++)
        cv_json_keys_init(&reader->keys[i], plan, plan->objects[i], &reader->arena);
}

void cv_json_reader_release(struct cv_json_reader *reader)
{
    for (size_t i = 0; reader->keys && i < reader->plan->object_count; i++)
        cv_json_keys_release(&reader->keys[i]);
    free(reader->keys);
    cv_buf_release(&reader->text);
    cv_buf_release(&reader->bytes);
    cv_buf_release(&reader->cast);
    cv_buf_release(&reader->map);
    cv_arena_release(&reader->arena);
}

bool cv_json_refuse(struct cv_json_reader *r, const char *path, const char *format, ...)
{
    char reason[sizeof r->worker->fault.reason];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    cv_decode_fault_set(r->worker, path, "%s", reason);
    return false;
}

bool cv_json_malformed(struct cv_json_reader *r, const char *path)
{
    return cv_json_refuse(r, path, "malformed JSON at byte %zu: %s",
                          (size_t)(r->scan.at - r->start),
                          r->scan.fault ? r->scan.fault : "a value is expected");
}

static bool read_actions(struct cv_json_reader *r, const struct cv_json_action *action,
                         struct cv_builder *base);

/* A key that comes again: what the first one wrote is taken back, so that the last one wins. */
static void take_back(const struct cv_json_action *action, struct cv_builder *base, size_t length)
{
    for (; action; action = action->next) {
        if (!action->descend) {
            cv_builder_truncate(&base[action->column], length);
            continue;
        }
        for (size_t i = 0; i < action->descend->key_count; i++)
            take_back(action->descend->keys[i].actions, base, length);
    }
}

/* The characters of a key as written, quotes and escapes included. */
static struct cv_str key_text(struct cv_str written, struct cv_buf *out)
{
    struct cv_json_string raw = {(const uint8_t *)written.ptr + 1, written.length - 2, true};

    cv_buf_clear(out);
    if (!cv_buf_reserve(out, written.length))
        return written;
    return (struct cv_str){(const char *)out->data, cv_json_unescape(&raw, out->data)};
}

static bool same_spelling(struct cv_json_reader *r, struct cv_str a, struct cv_str b)
{
    if (cv_str_equal(a, b))
        return true;
    if (!memchr(a.ptr, '\\', a.length) && !memchr(b.ptr, '\\', b.length))
        return false;
    return cv_str_equal(key_text(a, &r->text), key_text(b, &r->bytes));
}

/* One key of an object, at the opening quote, up to behind its value. `last` is the index of the
 * key before, SIZE_MAX at first. */
static bool read_member(struct cv_json_reader *r, struct cv_json_keys *keys, size_t *last,
                        uint64_t instance, struct cv_builder *base, size_t length)
{
    size_t guess = *last == SIZE_MAX ? keys->first : keys->known[*last].next;
    const uint8_t *quote = r->scan.at;
    struct cv_json_known_key *known;
    struct cv_json_known_key *marks;
    struct cv_str spelling;

    if (guess < keys->count && cv_json_keys_match(&keys->known[guess], &r->scan)) {
        known = &keys->known[guess];
        *last = guess;
    } else {
        known = cv_json_keys_find(keys, &r->scan, &r->text);
        if (!known && r->scan.fault)
            return cv_json_malformed(r, keys->object->path);
        if (known && *last == SIZE_MAX)
            keys->first = (size_t)(known - keys->known);
        else if (known)
            keys->known[*last].next = (size_t)(known - keys->known);
        if (known)
            *last = (size_t)(known - keys->known);
    }
    spelling = (struct cv_str){(const char *)quote, (size_t)(r->scan.at - quote)};
    if (!cv_json_take(&r->scan, ':')) {
        (void)cv_json_fault(&r->scan, "a colon is expected");
        return cv_json_malformed(r, keys->object->path);
    }
    if (!known || !known->key)
        return cv_json_skip(&r->scan) || cv_json_malformed(r, keys->object->path);
    marks = &keys->known[known->canonical];
    if (marks->seen == instance) {
        if (!r->plan->case_sensitive && !same_spelling(r, marks->seen_as, spelling))
            return cv_json_refuse(r, keys->object->path,
                                  "keys %.*s and %.*s differ in letter case only",
                                  (int)CV_MIN(marks->seen_as.length, 60), marks->seen_as.ptr,
                                  (int)CV_MIN(spelling.length, 60), spelling.ptr);
        take_back(known->key->actions, base, length);
    }
    marks->seen = instance;
    marks->seen_as = spelling;
    return read_actions(r, known->key->actions, base);
}

/* The members of an object; `length` is that of the builders before it. */
static bool read_object(struct cv_json_reader *r, const struct cv_json_object *object,
                        struct cv_builder *base, size_t length)
{
    struct cv_json_keys *keys = &r->keys[object->index];
    uint64_t instance = ++r->instances;
    size_t last = SIZE_MAX;

    r->scan.at++;
    if (cv_json_take(&r->scan, '}'))
        return true;
    for (;;) {
        uint8_t c;

        if (cv_json_peek(&r->scan) != '"') {
            (void)cv_json_fault(&r->scan, "a key in quotes is expected");
            return cv_json_malformed(r, object->path);
        }
        if (!read_member(r, keys, &last, instance, base, length))
            return false;
        c = cv_json_peek(&r->scan);
        if (c != ',' && c != '}') {
            (void)cv_json_fault(&r->scan, "a comma or } is expected");
            return cv_json_malformed(r, object->path);
        }
        r->scan.at++;
        if (c == '}')
            return true;
    }
}

bool cv_json_wrong_kind(struct cv_json_reader *r, const struct cv_json_value *v, const char *wanted)
{
    char type[CV_TYPE_TEXT_BYTES];

    if (r->scan.at == r->scan.end) {
        (void)cv_json_fault(&r->scan, "the text ends early");
        return cv_json_malformed(r, v->path);
    }
    cv_type_text(v->type, type);
    return cv_json_refuse(r, v->path, "%s is expected for %s", wanted, type);
}

static bool read_struct(struct cv_json_reader *r, const struct cv_json_value *v,
                        struct cv_builder *builder)
{
    if (*r->scan.at != '{')
        return cv_json_wrong_kind(r, v, "an object");
    if (!read_object(r, v->object, builder->children, builder->length))
        return false;
    for (size_t i = 0; i < builder->child_count; i++) {
        const struct cv_json_value *child = &v->object->keys[i].actions->value;

        if (builder->children[i].length > builder->length)
            continue;
        if (child->required)
            return cv_json_refuse(r, child->path, "NULL for a required field");
        cv_builder_null(&builder->children[i]);
    }
    cv_builder_end_struct(builder);
    return true;
}

static bool read_list(struct cv_json_reader *r, const struct cv_json_value *v,
                      struct cv_builder *builder)
{
    uint8_t c;

    if (*r->scan.at != '[')
        return cv_json_wrong_kind(r, v, "a list");
    r->scan.at++;
    if (!cv_json_take(&r->scan, ']')) {
        do {
            if (!cv_json_read_value(r, v->element, &builder->children[0]))
                return false;
            c = cv_json_peek(&r->scan);
            if (c != ',' && c != ']') {
                (void)cv_json_fault(&r->scan, "a comma or ] is expected");
                return cv_json_malformed(r, v->path);
            }
            r->scan.at++;
        } while (c == ',');
    }
    cv_builder_end_list(builder);
    return true;
}

/* A string straight into the column, escapes resolved on the way. */
static bool append_string(struct cv_json_reader *r, const struct cv_json_value *v,
                          struct cv_builder *builder)
{
    struct cv_json_string string;

    if (!cv_json_string(&r->scan, &string))
        return cv_json_malformed(r, v->path);
    if (!string.escaped) {
        cv_builder_bytes(builder, string.ptr, string.length);
        return true;
    }
    if (builder->length == builder->capacity)
        cv_builder_grow(builder);
    if (string.length > builder->data_capacity - builder->data_length &&
        !cv_builder_grow_data(builder, string.length)) {
        cv_builder_null(builder);
        return true;
    }
    cv_builder_valid_(builder);
    builder->data_length += cv_json_unescape(&string, builder->data + builder->data_length);
    builder->length++;
    builder->offsets[builder->length] = (int32_t)builder->data_length;
    return true;
}

static void widen(struct cv_value *value, const struct cv_type *from, const struct cv_type *to)
{
    if (from->kind == CV_TYPE_INT && to->kind == CV_TYPE_LONG)
        value->i64 = value->i32;
    else if (from->kind == CV_TYPE_FLOAT && to->kind == CV_TYPE_DOUBLE)
        value->f64 = (double)value->f32;
}

static bool read_cast(struct cv_json_reader *r, const struct cv_json_value *v,
                      struct cv_builder *builder)
{
    char reason[CV_CAST_REASON_BYTES];
    struct cv_value in;
    struct cv_value out;

    if (!cv_json_read_scalar(r, v, &in))
        return false;
    if (cv_cast_value(&in, v->type, &v->cast_type, &r->cast, &out, reason)) {
        if (!out.is_null)
            widen(&out, &v->cast_type, v->column);
        cv_builder_append_value(builder, &out);
        return true;
    }
    if (v->cast != CV_SELECT_TRY_CAST)
        return cv_json_refuse(r, v->path, "%s", reason);
    cv_builder_null(builder);
    return true;
}

static bool read_null(struct cv_json_reader *r, const struct cv_json_value *v,
                      struct cv_builder *builder)
{
    if (!cv_json_literal(&r->scan, "null", 4))
        return cv_json_malformed(r, v->path);
    if (v->required)
        return cv_json_refuse(r, v->path, "NULL for a required field");
    cv_builder_null(builder);
    return true;
}

bool cv_json_read_value(struct cv_json_reader *r, const struct cv_json_value *v,
                        struct cv_builder *builder)
{
    uint8_t c = cv_json_peek(&r->scan);
    struct cv_value value;

    if (r->scan.at == r->scan.end) {
        (void)cv_json_fault(&r->scan, "the text ends early");
        return cv_json_malformed(r, v->path);
    }
    if (c == 'n')
        return read_null(r, v, builder);
    if (v->cast != CV_SELECT_ASSIGN)
        return read_cast(r, v, builder);
    switch (v->type->kind) {
    case CV_TYPE_STRUCT:
        return read_struct(r, v, builder);
    case CV_TYPE_LIST:
        return read_list(r, v, builder);
    case CV_TYPE_MAP:
        return cv_json_read_map(r, v, builder);
    case CV_TYPE_STRING:
        if (c == '"')
            return append_string(r, v, builder);
        break;
    default:
        break;
    }
    if (!cv_json_read_scalar(r, v, &value))
        return false;
    cv_builder_append_value(builder, &value);
    return true;
}

/* The value as an object whose keys lead on; null leaves them all missing. */
static bool descend(struct cv_json_reader *r, const struct cv_json_object *object,
                    struct cv_builder *base)
{
    uint8_t c = cv_json_peek(&r->scan);

    if (c == '{')
        return read_object(r, object, base, r->worker->row);
    if (c == 'n' && object->path[0]) {
        if (!cv_json_literal(&r->scan, "null", 4))
            return cv_json_malformed(r, object->path);
        return true;
    }
    if (!cv_json_skip(&r->scan))
        return cv_json_malformed(r, object->path);
    return cv_json_refuse(r, object->path, "an object is expected");
}

static bool read_actions(struct cv_json_reader *r, const struct cv_json_action *action,
                         struct cv_builder *base)
{
    const uint8_t *start = r->scan.at;

    for (; action; action = action->next) {
        r->scan.at = start;
        if (action->descend ? !descend(r, action->descend, base)
                            : !cv_json_read_value(r, &action->value, &base[action->column]))
            return false;
    }
    return true;
}

bool cv_json_read_record(struct cv_json_reader *r, const uint8_t *bytes, size_t length)
{
    struct cv_builder *columns = r->worker->builder.columns;
    const struct cv_decoder *d = r->worker->decoder;

    r->scan = (struct cv_json_scan){
        .at = bytes, .end = bytes + length, .nonnumeric = r->plan->nonnumeric};
    r->start = bytes;
    if (length == 0)
        return cv_json_refuse(r, "", "the value is empty (0 bytes), not JSON");
    if (r->plan->root ? !read_actions(r, r->plan->root, columns)
                      : !cv_json_skip(&r->scan) && !cv_json_malformed(r, ""))
        return false;
    cv_json_blanks(&r->scan);
    if (r->scan.at != r->scan.end) {
        (void)cv_json_fault(&r->scan, "text after the value");
        return cv_json_malformed(r, "");
    }
    for (size_t i = 0; i < d->valued_count; i++)
        if (columns[d->valued[i]].length == r->worker->row)
            cv_builder_null(&columns[d->valued[i]]);
    return true;
}
