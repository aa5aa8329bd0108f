/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of bad records. */
#include "batch/bad_list.h"

#include <stdio.h>
#include <stdlib.h>

void cv_bad_list_add(struct cv_bad_list *list, const struct cv_record *record, const char *field,
                     const char *format, ...)
{
    char reason[512];
    va_list args;

    list->total++;
    if (list->count == CV_BAD_LIST_MAX)
        return;
    va_start(args, format);
    (void)vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    cv_array_reserve(&list->entries, &list->capacity, list->count + 1);
    list->entries[list->count++] = (struct cv_bad_record){
        record, cv_arena_strdup(&list->arena, field), cv_arena_strdup(&list->arena, reason)};
}

void cv_bad_list_clear(struct cv_bad_list *list)
{
    cv_arena_reset(&list->arena);
    list->count = 0;
    list->total = 0;
}

void cv_bad_list_release(struct cv_bad_list *list)
{
    cv_arena_release(&list->arena);
    free(list->entries);
    memset(list, 0, sizeof *list);
}
