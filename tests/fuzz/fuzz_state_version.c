/* SPDX-License-Identifier: Apache-2.0
 *
 * A version of a state: the bytes as they are, and with the checksum that they need to be read any
 * further. What is read is written and read again. */
#include "fuzz.h"

#include "codec/hash.h"
#include "state/version.h"

#include <inttypes.h>
#include <stdlib.h>

static void must_be_equal(const struct cv_state_version *a, const struct cv_state_version *b)
{
    if (a->batch != b->batch || a->watermark_us != b->watermark_us ||
        a->next_watermark_us != b->next_watermark_us || a->file_count != b->file_count ||
        strcmp(a->fingerprint, b->fingerprint) != 0 || strcmp(a->columns, b->columns) != 0)
        abort();
    for (size_t i = 0; i < a->file_count; i++) {
        const struct cv_state_file *left = &a->files[i], *right = &b->files[i];

        if (strcmp(left->name, right->name) != 0 || left->bytes != right->bytes ||
            left->rows != right->rows || left->checksum != right->checksum ||
            left->closed_by_us != right->closed_by_us)
            abort();
    }
}

static bool read_version(const struct cv_buf *text, struct cv_arena *arena,
                         struct cv_state_version *ret_version)
{
    struct cv_error err = CV_ERROR_INIT;
    enum cv_code code = cv_state_version_read(text->data, text->length, arena, ret_version, &err);

    if (code != CV_OK && err.message[0] == '\0')
        abort();
    return code == CV_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_buf text = CV_BUF_INIT((size_t)1 << 26), again = CV_BUF_INIT((size_t)1 << 26);
    struct cv_state_version version, second;
    int64_t batch;
    char *name = cv_arena_strndup(&arena, (const char *)data, size);

    (void)cv_state_file_name(name, &batch);
    (void)cv_state_version_name(name, &batch);
    (void)cv_state_unfinished_name(name, &batch);
    cv_buf_append(&text, data, size);
    (void)read_version(&text, &arena, &version);
    cv_buf_printf(&text, ",\"checksum\":\"%016" PRIx64 "\"}\n", cv_xxh64(text.data, text.length));
    if (read_version(&text, &arena, &version)) {
        cv_state_version_write(&version, &again);
        if (!read_version(&again, &arena, &second))
            abort();
        must_be_equal(&version, &second);
    }
    cv_buf_release(&text);
    cv_buf_release(&again);
    cv_arena_release(&arena);
    return 0;
}
