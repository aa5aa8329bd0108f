/* SPDX-License-Identifier: Apache-2.0
 *
 * Sort orders in JSON (spec: Sorting, Appendix C). */
#include "iceberg/metadata.h"

#define CV_SORT_FIELDS_MAX 1000

/* One of two words in any case; true for the second. */
static enum cv_code read_choice(const struct cv_json *json, const char *key, const char *first,
                                const char *second, bool *ret_second, struct cv_error *err)
{
    const char *text;

    CV_DO(cv_json_read_string(json, key, &text, err));
    *ret_second = cv_text_equal_nocase(text, second);
    if (!*ret_second && !cv_text_equal_nocase(text, first))
        return cv_fail(err, CV_FORMAT, "%s \"%.100s\" is neither %s nor %s", key, text, first,
                       second);
    return CV_OK;
}

static enum cv_code read_field(const struct cv_json *json, struct cv_arena *arena,
                               struct cv_sort_field *field, struct cv_error *err)
{
    const char *transform;

    if (!cv_json_is_object(json))
        return cv_fail(err, CV_FORMAT, "not an object");
    CV_DO(cv_json_read_string(json, "transform", &transform, err));
    CV_DO(cv_json_read_i32(json, "source-id", &field->source_id, err));
    CV_DO(read_choice(json, "direction", "asc", "desc", &field->descending, err));
    CV_DO(read_choice(json, "null-order", "nulls-first", "nulls-last", &field->nulls_last, err));
    return cv_transform_parse(transform, arena, &field->transform, err);
}

enum cv_code cv_sort_order_read_json(const struct cv_json *json, struct cv_arena *arena,
                                     struct cv_sort_order *ret_order, struct cv_error *err)
{
    struct cv_sort_order order = {0};
    const struct cv_json *fields;

    if (!cv_json_is_object(json))
        return cv_fail(err, CV_FORMAT, "a sort order is not an object");
    CV_DO(cv_json_read_i32(json, "order-id", &order.order_id, err));
    CV_TRY(cv_json_read_array(json, "fields", &fields, err), err, "sort order %d", order.order_id);
    order.field_count = cv_json_size(fields);
    if (order.order_id == 0 && order.field_count > 0)
        return cv_fail(err, CV_FORMAT, "sort order 0 is the unsorted one and has fields");
    if (order.field_count > CV_SORT_FIELDS_MAX)
        return cv_fail(err, CV_LIMIT, "sort order %d has more than %d fields", order.order_id,
                       CV_SORT_FIELDS_MAX);
    order.fields = cv_arena_array(arena, struct cv_sort_field, order.field_count);
    for (size_t i = 0; i < order.field_count; i++)
        CV_TRY(read_field(cv_json_at(fields, i), arena, &order.fields[i], err), err,
               "sort order %d: field %zu", order.order_id, i);
    *ret_order = order;
    return CV_OK;
}
