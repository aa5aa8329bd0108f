/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunks of copied records. Copying frees librdkafka's per-record structures (some 450 bytes each)
 * at once and in the thread that allocated nothing else, which measured faster than keeping them
 * alive until a worker is done. Released chunks go back to a pool, so that steady state neither
 * allocates nor touches fresh pages. */
#ifndef CALVE_KAFKA_CHUNK_H
#define CALVE_KAFKA_CHUNK_H

#include "batch/record.h"

#include <librdkafka/rdkafka.h>

#define CV_CHUNK_RECORDS 4096
#define CV_CHUNK_BYTES   ((size_t)1 << 20)

struct cv_chunk_side; /* what does not fit into the block: large records, headers */

struct cv_fetch_chunk {
    struct cv_chunk chunk; /* first: release() gets a pointer to it */
    struct cv_fetch_chunk *next;
    struct cv_chunk_pool *pool;
    struct cv_record *records; /* CV_CHUNK_RECORDS */
    uint8_t *block;            /* CV_CHUNK_BYTES */
    size_t used;
    struct cv_chunk_side *side;
    size_t side_bytes;
};

struct cv_chunk_pool;
struct cv_chunk_pool *cv_chunk_pool_new(void);
/* The pool itself lives until its last chunk is released. */
void cv_chunk_pool_free(struct cv_chunk_pool *pool);
struct cv_fetch_chunk *cv_chunk_get(struct cv_chunk_pool *pool);

/* True if a record with so many bytes of key and value still goes into the chunk. */
static inline bool cv_chunk_has_room(const struct cv_fetch_chunk *chunk, size_t bytes)
{
    if (chunk->chunk.count == CV_CHUNK_RECORDS)
        return false;
    return bytes <= CV_CHUNK_BYTES - chunk->used || chunk->chunk.count == 0 ||
           (bytes > CV_CHUNK_BYTES / 4 && chunk->side_bytes < CV_CHUNK_BYTES);
}

/* Copies key and value of *record (spans of the client) and appends it. */
struct cv_record *cv_chunk_append(struct cv_fetch_chunk *chunk, const struct cv_record *record);
/* Copies the headers of the message into the chunk and sets them on its record. */
void cv_chunk_add_headers(struct cv_fetch_chunk *chunk, struct cv_record *record,
                          const rd_kafka_message_t *message);
/* The same from a record of another chunk. */
void cv_chunk_copy_headers(struct cv_fetch_chunk *chunk, struct cv_record *record,
                           const struct cv_record *from);

#endif
