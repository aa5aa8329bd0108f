/* SPDX-License-Identifier: Apache-2.0
 *
 * Sort orders to keys. */
#include "maintain/sort_key.h"

#include "batch/order.h"

#include <ctype.h>
#include <strings.h>

#define TERMS_MAX 64

/* --- plans ----------------------------------------------------------------------------------- */

static enum cv_code bind(const struct cv_schema *schema, int32_t source_id,
                         const struct cv_transform *transform, struct cv_sort_term *term,
                         struct cv_error *err)
{
    struct cv_type type;

    term->transform = *transform;
    term->path = cv_column_path_find(&schema->root, source_id);
    term->source = cv_schema_find_id(schema, source_id);
    if (!term->path.depth)
        return cv_fail(err, CV_SCHEMA, "no column with id %d to sort by", source_id);
    if (cv_type_is_nested(&term->source->type))
        return cv_fail(err, CV_USAGE, "column %s is nested: rows cannot be sorted by it",
                       term->source->name);
    if (transform->kind == CV_TRANSFORM_UNKNOWN)
        return cv_fail(err, CV_UNSUPPORTED, "transform %s of column %s", transform->text,
                       term->source->name);
    return cv_transform_result_type(transform, &term->source->type, &type, err);
}

enum cv_code cv_sort_plan_of_order(const struct cv_sort_order *order,
                                   const struct cv_schema *schema, struct cv_arena *arena,
                                   struct cv_sort_plan *ret_plan, struct cv_error *err)
{
    struct cv_sort_term *terms = cv_arena_array(arena, struct cv_sort_term, order->field_count);

    for (size_t i = 0; i < order->field_count; i++) {
        CV_TRY(
            bind(schema, order->fields[i].source_id, &order->fields[i].transform, &terms[i], err),
            err, "sort order %d", order->order_id);
        terms[i].descending = order->fields[i].descending;
        terms[i].nulls_last = order->fields[i].nulls_last;
    }
    *ret_plan = (struct cv_sort_plan){.terms = terms, .count = order->field_count};
    return CV_OK;
}

bool cv_sort_plan_gives_order(const struct cv_sort_plan *plan, const struct cv_sort_order *order)
{
    if (plan->zorder || plan->count < order->field_count || order->field_count == 0)
        return false;
    for (size_t i = 0; i < order->field_count; i++) {
        const struct cv_sort_term *term = &plan->terms[i];
        const struct cv_sort_field *field = &order->fields[i];

        if (term->source->id != field->source_id || term->descending != field->descending ||
            term->nulls_last != field->nulls_last ||
            term->transform.kind != field->transform.kind ||
            term->transform.width != field->transform.width)
            return false;
    }
    return true;
}

/* --- text ------------------------------------------------------------------------------------ */

/* The next part up to a comma outside of parentheses and backquotes. */
static struct cv_str take_part(const char **at)
{
    struct cv_str part = {*at, 0};
    int depth = 0;
    bool quoted = false;

    for (; **at; (*at)++) {
        char c = **at;

        quoted ^= c == '`';
        if (quoted)
            continue;
        if (c == ',' && depth == 0)
            break;
        depth += (c == '(') - (c == ')');
    }
    part.length = (size_t)(*at - part.ptr);
    if (**at == ',')
        (*at)++;
    return cv_str_trim(part);
}

/* Takes a word off the end, in any case; it must stand alone. */
static bool take_last(struct cv_str *text, const char *word)
{
    size_t length = strlen(word);

    if (text->length <= length || strncasecmp(text->ptr + text->length - length, word, length) != 0)
        return false;
    if (!isspace((unsigned char)text->ptr[text->length - length - 1]) &&
        text->ptr[text->length - length - 1] != ')' && text->ptr[text->length - length - 1] != '`')
        return false;
    text->length -= length;
    *text = cv_str_trim(*text);
    return true;
}

static enum cv_code parse_term(struct cv_str text, const struct cv_schema *schema,
                               struct cv_arena *arena, struct cv_sort_term *term,
                               struct cv_error *err)
{
    struct cv_partition_spec spec;
    bool first = false, last = false;

    if (take_last(&text, "first"))
        first = true;
    else if (take_last(&text, "last"))
        last = true;
    if ((first || last) && !take_last(&text, "nulls"))
        return cv_fail(err, CV_USAGE, "NULLS expected before FIRST or LAST");
    term->descending = take_last(&text, "desc");
    if (!term->descending)
        (void)take_last(&text, "asc");
    term->nulls_last = first || last ? last : term->descending;
    CV_DO(cv_partition_spec_read_ddl(cv_arena_strndup(arena, text.ptr, text.length), schema, arena,
                                     &spec, err));
    if (spec.field_count != 1)
        return cv_fail(err, CV_USAGE, "a column is expected");
    return bind(schema, spec.fields[0].source_id, &spec.fields[0].transform, term, err);
}

static enum cv_code parse_terms(const char *text, const struct cv_schema *schema,
                                struct cv_arena *arena, struct cv_sort_plan *plan,
                                struct cv_error *err)
{
    struct cv_sort_term *terms = cv_arena_array(arena, struct cv_sort_term, TERMS_MAX);
    size_t count = 0;

    while (*text) {
        struct cv_str part = take_part(&text);

        if (count == TERMS_MAX)
            return cv_fail(err, CV_LIMIT, "a sort order has more than %d columns", TERMS_MAX);
        CV_TRY(parse_term(part, schema, arena, &terms[count], err), err, "sort_order \"%.*s\"",
               (int)CV_MIN(part.length, 200), part.ptr);
        count++;
    }
    if (!count)
        return cv_fail(err, CV_USAGE, "sort_order is empty");
    plan->terms = terms;
    plan->count = count;
    return CV_OK;
}

/* --- z-order --------------------------------------------------------------------------------- */

static bool is_bytes(enum cv_type_kind kind)
{
    return kind == CV_TYPE_STRING || kind == CV_TYPE_BINARY || kind == CV_TYPE_UUID ||
           kind == CV_TYPE_FIXED;
}

static enum cv_code check_zorder(const struct cv_sort_plan *plan, struct cv_error *err)
{
    char type[CV_TYPE_TEXT_BYTES];

    for (size_t i = 0; i < plan->count; i++) {
        const struct cv_sort_term *term = &plan->terms[i];

        if (term->source->type.kind == CV_TYPE_DECIMAL) {
            cv_type_text(&term->source->type, type);
            return cv_fail(err, CV_UNSUPPORTED, "zorder: column %s of type %s", term->source->name,
                           type);
        }
        if (term->transform.kind != CV_TRANSFORM_IDENTITY || term->descending)
            return cv_fail(err, CV_USAGE, "zorder takes columns only, not \"%s\" of %s",
                           term->descending ? "DESC" : term->transform.text, term->source->name);
    }
    return CV_OK;
}

static size_t zorder_column_bytes(const struct cv_sort_plan *plan, size_t i)
{
    return is_bytes(plan->terms[i].source->type.kind) ? plan->zorder_text_bytes
                                                      : CV_ZORDER_NUMBER_BYTES;
}

enum cv_code cv_sort_plan_parse(const char *text, const struct cv_schema *schema,
                                int64_t text_bytes, int64_t key_bytes, struct cv_arena *arena,
                                struct cv_sort_plan *ret_plan, struct cv_error *err)
{
    struct cv_str whole = cv_str_trim(cv_str_from(text));
    struct cv_sort_plan plan = {0};
    size_t bytes = 0;
    const char *open = memchr(whole.ptr, '(', whole.length);

    plan.zorder = open &&
                  cv_str_trim((struct cv_str){whole.ptr, (size_t)(open - whole.ptr)}).length == 6 &&
                  strncasecmp(whole.ptr, "zorder", 6) == 0;
    if (!plan.zorder) {
        CV_DO(parse_terms(cv_arena_strndup(arena, whole.ptr, whole.length), schema, arena, &plan,
                          err));
        *ret_plan = plan;
        return CV_OK;
    }
    if (whole.ptr[whole.length - 1] != ')' || strchr(open, ')') != whole.ptr + whole.length - 1)
        return cv_fail(err, CV_USAGE,
                       "sort_order \"%.200s\": zorder(…) stands alone, without other columns",
                       text);
    CV_DO(parse_terms(
        cv_arena_strndup(arena, open + 1, (size_t)(whole.ptr + whole.length - open) - 2), schema,
        arena, &plan, err));
    CV_DO(check_zorder(&plan, err));
    if (text_bytes > 65536)
        return cv_fail(err, CV_LIMIT, "var-length-contribution is above 65536");
    plan.zorder_text_bytes = (size_t)text_bytes;
    for (size_t i = 0; i < plan.count; i++)
        bytes += zorder_column_bytes(&plan, i);
    plan.zorder_bytes = (size_t)CV_MIN((int64_t)bytes, key_bytes);
    *ret_plan = plan;
    return CV_OK;
}

void cv_zorder_interleave(const struct cv_str *columns, size_t count, uint8_t *out,
                          size_t out_length)
{
    size_t written = 0;
    size_t most = 0;

    memset(out, 0, out_length);
    for (size_t i = 0; i < count; i++)
        most = CV_MAX(most, columns[i].length);
    for (size_t bit = 0; bit < most * 8; bit++)
        for (size_t i = 0; i < count; i++) {
            if (bit / 8 >= columns[i].length)
                continue;
            if (written == out_length * 8)
                return;
            if ((uint8_t)columns[i].ptr[bit / 8] >> (7 - bit % 8) & 1)
                out[written / 8] |= (uint8_t)(0x80 >> written % 8);
            written++;
        }
}

/* --- keys ------------------------------------------------------------------------------------ */

static enum cv_code put_term(const struct cv_sort_term *term, const struct cv_batch *batch,
                             size_t row, struct cv_buf *out, struct cv_error *err)
{
    struct cv_value value = cv_column_path_value(&term->path, batch, row);
    size_t start;

    if (term->transform.kind != CV_TRANSFORM_IDENTITY)
        CV_DO(cv_transform_apply(&term->transform, &term->source->type, &value, &value, err));
    if (value.is_null) {
        cv_buf_append_byte(out, term->nulls_last ? 2 : 0);
        return CV_OK;
    }
    cv_buf_append_byte(out, 1);
    start = out->length;
    cv_order_write(&value, out);
    for (size_t i = start; term->descending && i < out->length; i++)
        out->data[i] = (uint8_t)~out->data[i];
    return CV_OK;
}

/* Java's bytes: numbers are longs with the sign turned, texts are cut or filled with zeros, null is
 * zeros. */
static void zorder_column(const struct cv_sort_plan *plan, size_t i, const struct cv_value *value,
                          uint8_t *bytes)
{
    size_t length = zorder_column_bytes(plan, i);

    memset(bytes, 0, length);
    if (value->is_null)
        return;
    if (is_bytes(value->kind)) {
        if (value->bytes.length)
            memcpy(bytes, value->bytes.ptr, CV_MIN(length, value->bytes.length));
    } else if (value->kind == CV_TYPE_BOOLEAN) {
        bytes[0] = value->boolean ? 0x81 : 0;
    } else {
        cv_order_put_number(cv_order_number(value), bytes);
    }
}

/* The columns' bytes are laid behind the key's place, so that nothing is allocated by row. */
static enum cv_code put_zorder(const struct cv_sort_plan *plan, const struct cv_batch *batch,
                               size_t row, struct cv_buf *out, struct cv_error *err)
{
    struct cv_str columns[TERMS_MAX];
    size_t length = plan->zorder_bytes;
    uint8_t *key;

    for (size_t i = 0; i < plan->count; i++)
        length += zorder_column_bytes(plan, i);
    if (!cv_buf_reserve(out, length))
        return cv_buf_check(out, "a sort key", err);
    key = out->data + out->length;
    length = plan->zorder_bytes;
    for (size_t i = 0; i < plan->count; i++) {
        struct cv_value value = cv_column_path_value(&plan->terms[i].path, batch, row);

        zorder_column(plan, i, &value, key + length);
        columns[i] = (struct cv_str){(const char *)key + length, zorder_column_bytes(plan, i)};
        length += columns[i].length;
    }
    cv_zorder_interleave(columns, plan->count, key, plan->zorder_bytes);
    out->length += plan->zorder_bytes;
    return CV_OK;
}

enum cv_code cv_sort_key_write(const struct cv_sort_plan *plan, const struct cv_batch *batch,
                               size_t row, struct cv_buf *out, struct cv_error *err)
{
    if (plan->zorder)
        return put_zorder(plan, batch, row, out, err);
    for (size_t i = 0; i < plan->count; i++)
        CV_DO(put_term(&plan->terms[i], batch, row, out, err));
    return cv_buf_check(out, "a sort key", err);
}
