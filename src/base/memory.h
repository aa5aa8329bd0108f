/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation, growable arrays, arenas and cleanup of locals.
 *
 * Running out of memory ends the process with a message: what calve keeps in memory is bounded by
 * a budget, so a failed allocation is the machine's state and not a condition to handle, and a
 * process that ends at any point is what recovery is built for (see src/stream/README.md). */
#ifndef CALVE_BASE_MEMORY_H
#define CALVE_BASE_MEMORY_H

#include "base/error.h"

#include <stdarg.h>
#include <stdint.h>

#define CV_CLEANUP(function) __attribute__((cleanup(function)))

/* Defines function##p for locals that hold a pointer: CV_CLEANUP(cv_table_freep). */
#define CV_DEFINE_CLEANUP(type, function)                                                          \
    static inline void function##p(type *pointer)                                                  \
    {                                                                                              \
        if (*pointer)                                                                              \
            function(*pointer);                                                                    \
    }

/* Hands out a pointer and forgets it, so that the cleanup attribute leaves it alone. */
#define cv_steal(pointer)                                                                          \
    __extension__({                                                                                \
        __typeof__(pointer) cv_stolen_ = (pointer);                                                \
        (pointer) = NULL;                                                                          \
        cv_stolen_;                                                                                \
    })

#define CV_ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define CV_MIN(a, b)           ((a) < (b) ? (a) : (b))
#define CV_MAX(a, b)           ((a) > (b) ? (a) : (b))

void *cv_alloc(size_t bytes); /* zeroed; never NULL; free with free() */
void *cv_realloc(void *pointer, size_t bytes);
void *cv_realloc_array(void *pointer, size_t count, size_t size);
char *cv_strdup(const char *text);
void cv_freep(void *pointer_to_pointer); /* for CV_CLEANUP on a char * and the like */

/* Grows *array (a pointer to T) so that it holds `need` elements; capacity doubles. */
#define cv_array_reserve(array, capacity, need)                                                    \
    cv_array_reserve_((void **)(array), (capacity), (need), sizeof **(array))
void cv_array_reserve_(void **array, size_t *capacity, size_t need, size_t size);

/* An arena: allocations that die together (one batch, one commit, one request, one parsed file).
 * All-zero is a valid empty arena. Not shared by threads. Reset keeps the first block. */
struct cv_arena_block;
struct cv_arena {
    struct cv_arena_block *head;
    size_t used;  /* in the head block */
    size_t bytes; /* allocated in all blocks */
};

#define CV_ARENA_INIT                                                                              \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }

void *cv_arena_alloc(struct cv_arena *arena,
                     size_t bytes); /* zeroed, 16-byte aligned, never NULL */
void *cv_arena_copy(struct cv_arena *arena, const void *bytes, size_t length);
char *cv_arena_strdup(struct cv_arena *arena, const char *text);
char *cv_arena_strndup(struct cv_arena *arena, const char *text, size_t length);
char *cv_arena_printf(struct cv_arena *arena, const char *format, ...) CV_PRINTF(2, 3);
char *cv_arena_vprintf(struct cv_arena *arena, const char *format, va_list args);
void cv_arena_reset(struct cv_arena *arena);
void cv_arena_release(struct cv_arena *arena);

#define cv_arena_new(arena, type) ((type *)cv_arena_alloc((arena), sizeof(type)))
#define cv_arena_array(arena, type, count)                                                         \
    ((type *)cv_arena_alloc_array((arena), (count), sizeof(type)))
void *cv_arena_alloc_array(struct cv_arena *arena, size_t count, size_t size);

#endif
