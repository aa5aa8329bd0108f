/* SPDX-License-Identifier: Apache-2.0
 *
 * Metrics modes of the columns, and bounds cut to a length. */
#include "schema/metrics.h"

#include "base/buf.h"
#include "codec/utf8.h"

#include <stdlib.h>
#include <strings.h>

#define DEFAULT_KEY  "write.metadata.metrics.default"
#define COLUMN_KEY   "write.metadata.metrics.column."
#define INFERRED_KEY "write.metadata.metrics.max-inferred-column-defaults"

/* --- modes ----------------------------------------------------------------------------------- */

static const struct cv_metrics_mode truncate_16 = {CV_METRICS_TRUNCATE, 16};

/* The Java library falls back where a mode is misspelt, and so do tables that it wrote. */
static struct cv_metrics_mode parse_mode(const char *text, struct cv_metrics_mode fallback)
{
    size_t length = text ? strlen(text) : 0;
    int64_t cut;

    if (!text)
        return fallback;
    if (strcasecmp(text, "none") == 0)
        return (struct cv_metrics_mode){CV_METRICS_NONE, 0};
    if (strcasecmp(text, "counts") == 0)
        return (struct cv_metrics_mode){CV_METRICS_COUNTS, 0};
    if (strcasecmp(text, "full") == 0)
        return (struct cv_metrics_mode){CV_METRICS_FULL, 0};
    if (strncasecmp(text, "truncate(", 9) == 0 && text[length - 1] == ')' &&
        cv_parse_i64((struct cv_str){text + 9, length - 10}, &cut) && cut > 0 && cut <= INT32_MAX)
        return (struct cv_metrics_mode){CV_METRICS_TRUNCATE, (int32_t)cut};
    return fallback;
}

struct collector {
    int32_t *ids; /* leaves in the order in which they get an inferred default */
    size_t count;
};

/* The primitive fields of each struct before what is below its other fields. */
static void collect(const struct cv_type *type, struct collector *collector)
{
    for (size_t i = 0; i < type->field_count; i++)
        if (!cv_type_is_nested(&type->fields[i].type))
            collector->ids[collector->count++] = type->fields[i].id;
    for (size_t i = 0; i < type->field_count; i++)
        collect(&type->fields[i].type, collector);
}

static bool is_sorted_column(const int32_t *ids, size_t count, int32_t id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

struct leaf {
    int32_t id;
    struct cv_metrics_mode mode;
};

static int compare_leaves(const void *a, const void *b)
{
    const struct leaf *left = a;
    const struct leaf *right = b;

    return (left->id > right->id) - (left->id < right->id);
}

static struct cv_metrics_mode column_mode(const struct cv_properties *properties, const char *path,
                                          struct cv_metrics_mode inferred,
                                          struct cv_metrics_mode fallback)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf key = CV_BUF_INIT(0);
    const char *text;

    cv_buf_append_text(&key, COLUMN_KEY);
    cv_buf_append_text(&key, path);
    text = cv_properties_get(properties, cv_buf_text(&key));
    return text ? parse_mode(text, fallback) : inferred;
}

static bool has_column_modes(const struct cv_properties *properties)
{
    for (size_t i = 0; i < properties->count; i++)
        if (cv_text_starts_with(properties->items[i].key, COLUMN_KEY))
            return true;
    return false;
}

enum cv_code cv_metrics_config_read(const struct cv_schema *schema,
                                    const struct cv_properties *properties,
                                    const int32_t *sorted_ids, size_t sorted_count,
                                    struct cv_arena *arena, struct cv_metrics_config *ret_config,
                                    struct cv_error *err)
{
    size_t count = cv_type_leaf_count(&schema->root);
    const char *default_text = cv_properties_get(properties, DEFAULT_KEY);
    struct cv_metrics_mode default_mode = parse_mode(default_text, truncate_16);
    struct collector collector = {cv_arena_array(arena, int32_t, count), 0};
    struct leaf *leaves = cv_arena_array(arena, struct leaf, count);
    struct cv_metrics_mode *modes = cv_arena_array(arena, struct cv_metrics_mode, count);
    bool by_column = has_column_modes(properties);
    int64_t inferred_max = 100;
    struct cv_metrics_mode fallback;

    CV_DO(cv_properties_get_i64(properties, INFERRED_KEY, 0, INT32_MAX, &inferred_max, err));
    collect(&schema->root, &collector);
    fallback = !default_text && count > (size_t)inferred_max
                   ? (struct cv_metrics_mode){CV_METRICS_NONE, 0}
                   : default_mode;
    for (size_t i = 0; i < count; i++) {
        struct cv_metrics_mode mode = default_mode;
        int32_t id = collector.ids[i];

        if (!default_text && i >= (size_t)inferred_max)
            mode = fallback;
        if (mode.kind < CV_METRICS_TRUNCATE && is_sorted_column(sorted_ids, sorted_count, id))
            mode = truncate_16;
        if (by_column)
            mode = column_mode(properties, cv_schema_path_of(schema, id, arena), mode, fallback);
        leaves[i] = (struct leaf){id, mode};
    }
    if (count)
        qsort(leaves, count, sizeof *leaves, compare_leaves);
    for (size_t i = 0; i < count; i++) {
        collector.ids[i] = leaves[i].id;
        modes[i] = leaves[i].mode;
    }
    *ret_config = (struct cv_metrics_config){modes, collector.ids, count};
    return CV_OK;
}

struct cv_metrics_mode cv_metrics_mode_of(const struct cv_metrics_config *config, int32_t id)
{
    size_t low = 0;
    size_t high = config->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (config->ids[middle] == id)
            return config->modes[middle];
        if (config->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return (struct cv_metrics_mode){CV_METRICS_NONE, 0};
}

/* --- bounds ---------------------------------------------------------------------------------- */

static bool continues(char byte)
{
    return ((uint8_t)byte & 0xc0) == 0x80;
}

/* Bytes of the first `length` code points. */
static size_t text_prefix(struct cv_str value, int32_t length)
{
    size_t bytes = 0;

    for (int32_t i = 0; i < length && bytes < value.length; i++) {
        bytes++;
        while (bytes < value.length && continues(value.ptr[bytes]))
            bytes++;
    }
    return bytes;
}

static void set_bytes(struct cv_buf *out, const void *bytes, size_t length)
{
    cv_buf_clear(out);
    cv_buf_append(out, bytes, length);
}

void cv_bound_lower_text(struct cv_str value, int32_t length, struct cv_buf *out)
{
    set_bytes(out, value.ptr, text_prefix(value, length));
}

/* The code point that these bytes are, from a lead byte to its last continuation; -1 when they are
 * none in UTF-8. */
static int32_t decode(const char *at, size_t length)
{
    return cv_utf8_valid(at, length) ? (int32_t)cv_utf8_next(&at, at + length) : -1;
}

bool cv_bound_upper_text(struct cv_str value, int32_t length, struct cv_buf *out)
{
    size_t end = text_prefix(value, length);

    if (end == value.length) {
        set_bytes(out, value.ptr, end);
        return true;
    }
    while (end) {
        size_t start = end - 1;
        char next[4];
        int32_t point;

        while (start && continues(value.ptr[start]))
            start--;
        point = decode(value.ptr + start, end - start);
        if (point < 0) /* not UTF-8: nothing above it can be named for certain */
            return false;
        if (point < 0x10ffff) {
            set_bytes(out, value.ptr, start);
            cv_buf_append(out, next,
                          cv_utf8_put(point == 0xd7ff ? 0xe000 : (uint32_t)point + 1, next));
            return true;
        }
        end = start;
    }
    return false;
}

void cv_bound_lower_binary(struct cv_str value, int32_t length, struct cv_buf *out)
{
    set_bytes(out, value.ptr, CV_MIN(value.length, (size_t)length));
}

bool cv_bound_upper_binary(struct cv_str value, int32_t length, struct cv_buf *out)
{
    size_t end = (size_t)length;

    if (value.length <= end) {
        set_bytes(out, value.ptr, value.length);
        return true;
    }
    while (end && (uint8_t)value.ptr[end - 1] == 0xff)
        end--;
    if (!end)
        return false;
    set_bytes(out, value.ptr, end);
    out->data[end - 1]++;
    return true;
}

const struct cv_column_metrics *cv_file_metrics_column(const struct cv_file_metrics *metrics,
                                                       int32_t field_id)
{
    size_t low = 0, high = metrics->column_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (metrics->columns[middle].field_id < field_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < metrics->column_count && metrics->columns[low].field_id == field_id
               ? &metrics->columns[low]
               : NULL;
}
