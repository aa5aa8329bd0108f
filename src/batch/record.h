/* SPDX-License-Identifier: Apache-2.0
 *
 * A record chunk: a run of Kafka records as spans into memory that the chunk keeps alive, so that
 * no record is copied or allocated and the client behind the source can change. Made by the
 * source's thread, read by one worker, released by it. */
#ifndef CALVE_BATCH_RECORD_H
#define CALVE_BATCH_RECORD_H

#include "base/str.h"

struct cv_header {
    struct cv_str key;
    const uint8_t *value; /* NULL = null */
    size_t value_length;
};

/* One Kafka partition; outlives all chunks of a batch. */
struct cv_topic_partition {
    const char *topic;
    int32_t partition;
};

struct cv_record {
    const uint8_t *key;   /* NULL = null; a length of 0 is an empty key */
    const uint8_t *value; /* NULL = tombstone */
    uint32_t key_length;
    uint32_t value_length;
    int64_t offset;
    int64_t timestamp_ms; /* -1 when the record has none */
    const struct cv_topic_partition *source;
    const struct cv_header *headers; /* NULL when not asked for or the record has none */
    uint32_t header_count;
    int8_t timestamp_type; /* -1 none, 0 CreateTime, 1 LogAppendTime */
};

struct cv_chunk {
    const struct cv_record *records; /* in offset order per partition */
    size_t count;
    size_t bytes;      /* keys and values, for the memory budget */
    uint64_t sequence; /* 0, 1, 2 … within a batch, in the order the source handed them out */
    void (*release)(struct cv_chunk *chunk); /* frees the chunk and what it keeps alive */
};

#endif
