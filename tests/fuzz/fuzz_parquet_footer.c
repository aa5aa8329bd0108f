/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the FileMetaData of a Parquet file of 1 MiB; every name and bound is looked at. */
#include "fuzz.h"

#include "parquet/footer.h"

static size_t look(struct cv_str bytes)
{
    size_t sum = 0;

    for (size_t i = 0; i < bytes.length; i++)
        sum += (uint8_t)bytes.ptr[i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CV_CLEANUP(cv_parquet_footer_freep) struct cv_parquet_footer *footer = NULL;
    size_t sum = 0;

    if (cv_parquet_footer_parse(data, size, (int64_t)1 << 20, &footer, NULL) != CV_OK)
        return 0;
    for (uint32_t i = 0; i < footer->node_count; i++)
        sum += strlen(cv_parquet_node_path(footer, i, &footer->arena));
    for (size_t i = 0; i < footer->group_count; i++)
        for (uint32_t j = 0; j < footer->leaf_count; j++) {
            const struct cv_parquet_chunk *chunk = &footer->groups[i].chunks[j];

            sum += look(chunk->statistics.min) + look(chunk->statistics.max);
        }
    return sum == SIZE_MAX; /* never, but the compiler must look */
}
