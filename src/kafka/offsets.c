/* SPDX-License-Identifier: Apache-2.0
 *
 * Offsets per topic and partition as a sorted array, and their JSON in Spark's form. */
#include "kafka/offsets.h"

#include "base/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void cv_offsets_release(struct cv_offsets *offsets)
{
    if (!offsets)
        return;
    free(offsets->items);
    cv_arena_release(&offsets->arena);
    memset(offsets, 0, sizeof *offsets);
}

void cv_offsets_clear(struct cv_offsets *offsets)
{
    offsets->count = 0;
    cv_arena_reset(&offsets->arena);
}

static int compare(const struct cv_offset *item, const char *topic, int32_t partition)
{
    int order = strcmp(item->topic, topic);

    if (order != 0)
        return order;
    return (item->partition > partition) - (item->partition < partition);
}

/* Index of the first item that is not before (topic, partition). */
static size_t lower_bound(const struct cv_offsets *offsets, const char *topic, int32_t partition)
{
    size_t low = 0;
    size_t high = offsets->count;

    /* Sorted input is the common case: appending costs one comparison. */
    if (high > 0 && compare(&offsets->items[high - 1], topic, partition) < 0)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(&offsets->items[middle], topic, partition) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Partitions of one topic share its name. */
static const char *topic_name(struct cv_offsets *offsets, size_t at, const char *topic)
{
    if (at > 0 && strcmp(offsets->items[at - 1].topic, topic) == 0)
        return offsets->items[at - 1].topic;
    if (at < offsets->count && strcmp(offsets->items[at].topic, topic) == 0)
        return offsets->items[at].topic;
    return cv_arena_strdup(&offsets->arena, topic);
}

void cv_offsets_set(struct cv_offsets *offsets, const char *topic, int32_t partition,
                    int64_t offset)
{
    size_t at = lower_bound(offsets, topic, partition);
    const char *name;

    if (at < offsets->count && compare(&offsets->items[at], topic, partition) == 0) {
        offsets->items[at].offset = offset;
        return;
    }
    name = topic_name(offsets, at, topic);
    cv_array_reserve(&offsets->items, &offsets->capacity, offsets->count + 1);
    memmove(offsets->items + at + 1, offsets->items + at,
            (offsets->count - at) * sizeof *offsets->items);
    offsets->items[at] = (struct cv_offset){name, partition, offset};
    offsets->count++;
}

void cv_offsets_copy(struct cv_offsets *to, const struct cv_offsets *from)
{
    if (to == from)
        return;
    cv_offsets_clear(to);
    for (size_t i = 0; i < from->count; i++)
        cv_offsets_set(to, from->items[i].topic, from->items[i].partition, from->items[i].offset);
}

const struct cv_offset *cv_offsets_find(const struct cv_offsets *offsets, const char *topic,
                                        int32_t partition)
{
    size_t at = lower_bound(offsets, topic, partition);

    if (at < offsets->count && compare(&offsets->items[at], topic, partition) == 0)
        return &offsets->items[at];
    return NULL;
}

bool cv_offsets_equal(const struct cv_offsets *a, const struct cv_offsets *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (compare(&a->items[i], b->items[i].topic, b->items[i].partition) != 0 ||
            a->items[i].offset != b->items[i].offset)
            return false;
    }
    return true;
}

void cv_offsets_write_json(const struct cv_offsets *offsets, struct cv_buf *out)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);
    const char *topic = NULL;
    char key[16];

    cv_json_begin_object(&w);
    for (size_t i = 0; i < offsets->count; i++) {
        const struct cv_offset *item = &offsets->items[i];

        if (!topic || strcmp(topic, item->topic) != 0) {
            if (topic)
                cv_json_end_object(&w);
            topic = item->topic;
            cv_json_key(&w, topic);
            cv_json_begin_object(&w);
        }
        (void)snprintf(key, sizeof key, "%" PRId32, item->partition);
        cv_json_key(&w, key);
        cv_json_put_i64(&w, item->offset);
    }
    if (topic)
        cv_json_end_object(&w);
    cv_json_end_object(&w);
}

static enum cv_code read_partition(const char *topic, const char *key, const struct cv_json *value,
                                   bool allow_special, struct cv_offsets *offsets,
                                   struct cv_error *err)
{
    int64_t partition;
    int64_t offset;

    if (!cv_parse_i64(cv_str_from(key), &partition) || partition < 0 || partition > INT32_MAX)
        return cv_fail(err, CV_FORMAT, "topic %s: \"%s\" is not a partition number", topic, key);
    if (!cv_json_is_integer(value))
        return cv_fail(err, CV_FORMAT, "%s[%s]: the offset is not an integer", topic, key);
    offset = cv_json_integer(value);
    if (offset < (allow_special ? CV_OFFSET_EARLIEST : 0))
        return cv_fail(err, CV_FORMAT, "%s[%s]: %" PRId64 " is not an offset", topic, key, offset);
    if (offsets->count >= CV_PARTITIONS_MAX)
        return cv_fail(err, CV_LIMIT, "more than %d partitions", CV_PARTITIONS_MAX);
    cv_offsets_set(offsets, topic, (int32_t)partition, offset);
    return CV_OK;
}

static enum cv_code read_topics(const struct cv_json *json, bool allow_special,
                                struct cv_offsets *offsets, struct cv_error *err)
{
    const struct cv_json *topic_node;
    const struct cv_json *value;
    const char *topic;
    const char *key;
    size_t topics = 0;

    if (!cv_json_is_object(json))
        return cv_fail(err, CV_FORMAT, "offsets are not a JSON object");
    while ((topic = cv_json_next(json, &topics, &topic_node))) {
        size_t partitions = 0;

        if (!cv_json_is_object(topic_node))
            return cv_fail(err, CV_FORMAT, "topic %s: not an object of partitions", topic);
        while ((key = cv_json_next(topic_node, &partitions, &value)))
            CV_DO(read_partition(topic, key, value, allow_special, offsets, err));
    }
    return CV_OK;
}

enum cv_code cv_offsets_read_json(const struct cv_json *json, bool allow_special,
                                  struct cv_offsets *ret_offsets, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets read = {0};

    CV_DO(read_topics(json, allow_special, &read, err));
    cv_offsets_release(ret_offsets);
    *ret_offsets = read;
    memset(&read, 0, sizeof read);
    return CV_OK;
}

enum cv_code cv_offsets_parse(struct cv_str text, bool allow_special,
                              struct cv_offsets *ret_offsets, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;

    CV_DO(cv_json_parse(text.ptr, text.length, &root, err));
    return cv_offsets_read_json(root, allow_special, ret_offsets, err);
}
