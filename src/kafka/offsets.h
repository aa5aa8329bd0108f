/* SPDX-License-Identifier: Apache-2.0
 *
 * Offsets per topic and partition: Spark's source offset, {"orders":{"0":23,"1":-1}}. An end offset
 * is the next one to read. Sorted by topic (bytes), then partition. */
#ifndef CALVE_KAFKA_OFFSETS_H
#define CALVE_KAFKA_OFFSETS_H

#include "base/buf.h"
#include "codec/json.h"

#define CV_OFFSET_LATEST   (-1)
#define CV_OFFSET_EARLIEST (-2)

struct cv_offset {
    const char *topic; /* in the arena of the offsets */
    int32_t partition;
    int64_t offset;
};

struct cv_offsets {
    struct cv_arena arena;
    struct cv_offset *items;
    size_t count;
    size_t capacity;
};

void cv_offsets_release(struct cv_offsets *offsets);
void cv_offsets_clear(struct cv_offsets *offsets);
void cv_offsets_copy(struct cv_offsets *to, const struct cv_offsets *from); /* replaces */
/* Inserts in order or replaces. */
void cv_offsets_set(struct cv_offsets *offsets, const char *topic, int32_t partition,
                    int64_t offset);
const struct cv_offset *cv_offsets_find(const struct cv_offsets *offsets, const char *topic,
                                        int32_t partition);
bool cv_offsets_equal(const struct cv_offsets *a, const struct cv_offsets *b);
/* Compact JSON in order; partitions as text keys in numeric order. */
void cv_offsets_write_json(const struct cv_offsets *offsets, struct cv_buf *out);
/* Reads the JSON in any key order; negative values only where `allow_special`. */
enum cv_code cv_offsets_read_json(const struct cv_json *json, bool allow_special,
                                  struct cv_offsets *ret_offsets, struct cv_error *err);
enum cv_code cv_offsets_parse(struct cv_str text, bool allow_special,
                              struct cv_offsets *ret_offsets, struct cv_error *err);

#endif
