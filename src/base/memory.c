/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation and arenas. An arena is a list of blocks; the newest is filled from its start. */
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARENA_BLOCK_BYTES ((size_t)16 * 1024)
#define ARENA_ALIGN       ((size_t)16)

struct cv_arena_block {
    struct cv_arena_block *next;
    size_t capacity;
    _Alignas(16) unsigned char bytes[];
};

static _Noreturn void out_of_memory(size_t bytes)
{
    (void)fprintf(stderr,
                  "calve: out of memory (%zu bytes wanted); lower `memory` or the number of "
                  "open partitions. Nothing is lost: a restart continues exactly.\n",
                  bytes);
    _exit(3);
}

void *cv_alloc(size_t bytes)
{
    void *pointer = calloc(1, bytes ? bytes : 1);

    if (!pointer)
        out_of_memory(bytes);
    return pointer;
}

void *cv_realloc(void *pointer, size_t bytes)
{
    void *moved = realloc(pointer, bytes ? bytes : 1);

    if (!moved)
        out_of_memory(bytes);
    return moved;
}

static size_t multiply(size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        out_of_memory(SIZE_MAX);
    return bytes;
}

void *cv_realloc_array(void *pointer, size_t count, size_t size)
{
    return cv_realloc(pointer, multiply(count, size));
}

char *cv_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;

    return memcpy(cv_alloc(bytes), text, bytes);
}

void cv_freep(void *pointer_to_pointer)
{
    void **pointer = pointer_to_pointer;

    free(*pointer);
    *pointer = NULL;
}

void cv_array_reserve_(void **array, size_t *capacity, size_t need, size_t size)
{
    size_t grown = *capacity;

    if (need <= grown)
        return;
    grown = grown ? grown * 2 : 8;
    if (grown < need)
        grown = need;
    *array = cv_realloc_array(*array, grown, size);
    *capacity = grown;
}

void *cv_arena_alloc(struct cv_arena *arena, size_t bytes)
{
    struct cv_arena_block *block = arena->head;
    void *pointer;

    if (bytes > SIZE_MAX - ARENA_ALIGN - sizeof *block)
        out_of_memory(bytes);
    bytes = (bytes + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
    if (!block || block->capacity - arena->used < bytes) {
        size_t capacity = block ? CV_MIN(block->capacity * 2, (size_t)1 << 20) : ARENA_BLOCK_BYTES;

        capacity = CV_MAX(capacity, bytes);
        block = malloc(sizeof *block + capacity);
        if (!block)
            out_of_memory(capacity);
        block->capacity = capacity;
        block->next = arena->head;
        arena->head = block;
        arena->used = 0;
        arena->bytes += capacity;
    }
    pointer = block->bytes + arena->used;
    arena->used += bytes;
    return memset(pointer, 0, bytes);
}

void *cv_arena_alloc_array(struct cv_arena *arena, size_t count, size_t size)
{
    return cv_arena_alloc(arena, multiply(count, size));
}

void *cv_arena_copy(struct cv_arena *arena, const void *bytes, size_t length)
{
    void *copy = cv_arena_alloc(arena, length);

    if (length)
        memcpy(copy, bytes, length);
    return copy;
}

char *cv_arena_strndup(struct cv_arena *arena, const char *text, size_t length)
{
    char *copy = cv_arena_alloc(arena, length + 1);

    if (length)
        memcpy(copy, text, length);
    return copy;
}

char *cv_arena_strdup(struct cv_arena *arena, const char *text)
{
    return cv_arena_strndup(arena, text, strlen(text));
}

char *cv_arena_vprintf(struct cv_arena *arena, const char *format, va_list args)
{
    va_list again;
    int length;
    char *text;

    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, args);
    text = cv_arena_alloc(arena, (size_t)(length < 0 ? 0 : length) + 1);
    if (length > 0)
        (void)vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *cv_arena_printf(struct cv_arena *arena, const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = cv_arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}

static void free_blocks(struct cv_arena_block *block)
{
    while (block) {
        struct cv_arena_block *next = block->next;

        free(block);
        block = next;
    }
}

void cv_arena_reset(struct cv_arena *arena)
{
    struct cv_arena_block *head = arena->head;

    if (!head)
        return;
    free_blocks(head->next);
    head->next = NULL;
    arena->used = 0;
    arena->bytes = head->capacity;
}

void cv_arena_release(struct cv_arena *arena)
{
    free_blocks(arena->head);
    arena->head = NULL;
    arena->used = 0;
    arena->bytes = 0;
}
