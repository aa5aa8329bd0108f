/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunks and their pool. The pool is the only part of the source that several threads touch. */
#include "kafka/chunk.h"

#include <pthread.h>
#include <stdlib.h>

#define POOL_CHUNKS_MAX 16 /* idle ones that are kept */

#define SIDE_BYTES ((size_t)16 << 10) /* small pieces share an allocation */

struct cv_chunk_side {
    struct cv_chunk_side *next;
    size_t used;
    size_t capacity;
    uint8_t bytes[] __attribute__((aligned(16)));
};

struct cv_chunk_pool {
    pthread_mutex_t lock;
    struct cv_fetch_chunk *idle;
    size_t idle_count;
    size_t out;  /* chunks in use */
    bool closed; /* the source is gone */
};

struct cv_chunk_pool *cv_chunk_pool_new(void)
{
    struct cv_chunk_pool *pool = cv_alloc(sizeof *pool);

    (void)pthread_mutex_init(&pool->lock, NULL);
    return pool;
}

static void free_chunk(struct cv_fetch_chunk *chunk)
{
    free(chunk->records);
    free(chunk->block);
    free(chunk);
}

static void free_pool(struct cv_chunk_pool *pool)
{
    while (pool->idle) {
        struct cv_fetch_chunk *chunk = pool->idle;

        pool->idle = chunk->next;
        free_chunk(chunk);
    }
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}

void cv_chunk_pool_free(struct cv_chunk_pool *pool)
{
    bool last;

    if (!pool)
        return;
    (void)pthread_mutex_lock(&pool->lock);
    pool->closed = true;
    last = pool->out == 0;
    (void)pthread_mutex_unlock(&pool->lock);
    if (last)
        free_pool(pool);
}

static void release_chunk(struct cv_chunk *base)
{
    struct cv_fetch_chunk *chunk = (struct cv_fetch_chunk *)base;
    struct cv_chunk_pool *pool = chunk->pool;
    bool keep;
    bool last;

    while (chunk->side) {
        struct cv_chunk_side *side = chunk->side;

        chunk->side = side->next;
        free(side);
    }
    (void)pthread_mutex_lock(&pool->lock);
    pool->out--;
    keep = !pool->closed && pool->idle_count < POOL_CHUNKS_MAX;
    if (keep) {
        chunk->next = pool->idle;
        pool->idle = chunk;
        pool->idle_count++;
    }
    last = pool->closed && pool->out == 0;
    (void)pthread_mutex_unlock(&pool->lock);
    if (!keep)
        free_chunk(chunk);
    if (last)
        free_pool(pool);
}

struct cv_fetch_chunk *cv_chunk_get(struct cv_chunk_pool *pool)
{
    struct cv_fetch_chunk *chunk;

    (void)pthread_mutex_lock(&pool->lock);
    chunk = pool->idle;
    if (chunk) {
        pool->idle = chunk->next;
        pool->idle_count--;
    }
    pool->out++;
    (void)pthread_mutex_unlock(&pool->lock);
    if (!chunk) {
        chunk = cv_alloc(sizeof *chunk);
        /* Not zeroed: pages are touched as records come. */
        chunk->records = cv_realloc_array(NULL, CV_CHUNK_RECORDS, sizeof *chunk->records);
        chunk->block = cv_realloc(NULL, CV_CHUNK_BYTES);
    }
    chunk->chunk = (struct cv_chunk){.records = chunk->records, .release = release_chunk};
    chunk->next = NULL;
    chunk->pool = pool;
    chunk->used = 0;
    chunk->side_bytes = 0;
    return chunk;
}

/* 16-byte aligned memory that lives as long as the chunk. */
static uint8_t *side_alloc(struct cv_fetch_chunk *chunk, size_t bytes)
{
    struct cv_chunk_side *side = chunk->side;
    size_t rounded = (bytes + 15) & ~(size_t)15;
    uint8_t *at;

    if (!side || rounded > side->capacity - side->used) {
        size_t capacity = CV_MAX(rounded, SIDE_BYTES);

        side = cv_realloc(NULL, sizeof *side + capacity);
        side->next = chunk->side;
        side->used = 0;
        side->capacity = capacity;
        chunk->side = side;
        chunk->side_bytes += capacity;
    }
    at = side->bytes + side->used;
    side->used += rounded;
    return at;
}

/* A null span stays NULL, an empty one does not. */
static const uint8_t *copy_span(uint8_t **at, const uint8_t *bytes, size_t length)
{
    uint8_t *to = *at;

    if (!bytes)
        return NULL;
    memcpy(to, bytes, length);
    *at += length;
    return to;
}

struct cv_record *cv_chunk_append(struct cv_fetch_chunk *chunk, const struct cv_record *record)
{
    struct cv_record *to = &chunk->records[chunk->chunk.count++];
    size_t bytes = (size_t)record->key_length + record->value_length;
    uint8_t *at;

    if (bytes <= CV_CHUNK_BYTES - chunk->used) {
        at = chunk->block + chunk->used;
        chunk->used += bytes;
    } else {
        at = side_alloc(chunk, bytes);
    }
    *to = *record;
    to->key = copy_span(&at, record->key, record->key_length);
    to->value = copy_span(&at, record->value, record->value_length);
    chunk->chunk.bytes += bytes;
    return to;
}

static struct cv_header copy_header(struct cv_fetch_chunk *chunk, const char *key,
                                    size_t key_length, const void *value, size_t value_length)
{
    uint8_t *at = side_alloc(chunk, key_length + value_length);
    struct cv_header header;

    header.key.ptr = (const char *)copy_span(&at, (const uint8_t *)key, key_length);
    header.key.length = key_length;
    header.value = copy_span(&at, value, value_length);
    header.value_length = value ? value_length : 0;
    return header;
}

void cv_chunk_add_headers(struct cv_fetch_chunk *chunk, struct cv_record *record,
                          const rd_kafka_message_t *message)
{
    rd_kafka_headers_t *headers;
    struct cv_header *copies;
    const char *key;
    const void *value;
    size_t length;
    size_t count;

    record->headers = NULL;
    record->header_count = 0;
    if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    count = rd_kafka_header_cnt(headers);
    if (count == 0)
        return;
    copies = (struct cv_header *)side_alloc(chunk, count * sizeof *copies);
    for (size_t i = 0; i < count; i++) {
        if (rd_kafka_header_get_all(headers, i, &key, &value, &length) !=
            RD_KAFKA_RESP_ERR_NO_ERROR)
            break;
        copies[record->header_count++] = copy_header(chunk, key, strlen(key), value, length);
    }
    record->headers = copies;
}

void cv_chunk_copy_headers(struct cv_fetch_chunk *chunk, struct cv_record *record,
                           const struct cv_record *from)
{
    struct cv_header *copies;

    if (!from->headers)
        return;
    copies = (struct cv_header *)side_alloc(chunk, from->header_count * sizeof *copies);
    for (uint32_t i = 0; i < from->header_count; i++) {
        const struct cv_header *header = &from->headers[i];

        copies[i] = copy_header(chunk, header->key.ptr, header->key.length, header->value,
                                header->value_length);
    }
    record->headers = copies;
}
