/* SPDX-License-Identifier: Apache-2.0
 *
 * metadata.json of any writer: what can be read can be copied, printed and read again. */
#include "fuzz.h"

#include "iceberg/metadata.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_table_metadata *metadata = NULL;
    struct cv_table_metadata *copy;
    struct cv_table_metadata *again = NULL;
    struct cv_buf out = CV_BUF_INIT(0);

    if (cv_table_metadata_read(data, size, &metadata, &err) != CV_OK)
        return 0;
    copy = cv_table_metadata_copy(metadata);
    cv_table_metadata_free(metadata);
    cv_table_metadata_write(copy, &out);
    if (cv_table_metadata_read(out.data, out.length, &again, &err) != CV_OK ||
        again->snapshot_count != copy->snapshot_count)
        abort();
    cv_table_metadata_free(again);
    cv_table_metadata_free(copy);
    cv_buf_release(&out);
    return 0;
}
