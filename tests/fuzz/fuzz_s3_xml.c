/* SPDX-License-Identifier: Apache-2.0
 *
 * An XML answer of an S3 service, read as each kind of answer that it could be. */
#include "fuzz.h"

#include "storage/s3_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_error err = CV_ERROR_INIT;
    struct s3_refused *refused = NULL;
    struct s3_page page = {0};
    struct s3_error error;
    const char *id = NULL;
    size_t count = 0;

    (void)s3_parse_error(data, size, &error);
    (void)s3_parse_page(data, size, &arena, &page, &err);
    (void)s3_parse_deleted(data, size, &arena, &refused, &count, &err);
    (void)s3_parse_upload_id(data, size, &arena, &id, &err);
    (void)s3_parse_completed(data, size, &err);
    for (size_t i = 0; i < page.count; i++)
        if (s3_xml_can_hold(page.items[i].key)) {
            struct cv_buf out = CV_BUF_INIT(1 << 20);

            s3_xml_escape(&out, page.items[i].key);
            cv_buf_release(&out);
        }
    cv_arena_release(&arena);
    return 0;
}
