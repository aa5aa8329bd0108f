/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a select. What parses has a name for every item but value.*. */
#include "fuzz.h"

#include "decode/select.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_select select;
    const char *text = cv_arena_strndup(&arena, (const char *)data, size);

    if (cv_select_parse(text, &arena, &select, &err) == CV_OK) {
        for (size_t i = 0; i < select.count; i++)
            if (!select.items[i].star && !select.items[i].name)
                abort();
    } else if (err.message[0] == '\0') {
        abort();
    }
    cv_arena_release(&arena);
    return 0;
}
