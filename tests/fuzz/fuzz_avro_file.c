/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as an Avro container file: its header, schema and all blocks. */
#include "fuzz.h"

#include "codec/avro_file.h"
#include "codec/avro_schema.h"

#define UNPACKED_BYTES_MAX ((size_t)4 << 20)

static void read_schema(struct cv_str text)
{
    struct cv_avro_schema *schema;
    struct cv_arena arena = CV_ARENA_INIT;

    if (cv_avro_schema_parse(text, NULL, 0, &schema, NULL) != CV_OK)
        return;
    (void)cv_avro_schema_cycle(schema->root, &arena);
    cv_arena_release(&arena);
    cv_avro_schema_free(schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_avro_file_reader r;
    struct cv_avro_reader objects;
    int64_t count = 1;

    if (cv_avro_file_reader_init(&r, data, size, NULL) != CV_OK)
        return 0;
    r.block_bytes_max = UNPACKED_BYTES_MAX;
    read_schema(r.schema_json);
    while (count && cv_avro_file_next_block(&r, &objects, &count, NULL) == CV_OK) {
        const uint8_t *bytes;
        size_t length;

        while (cv_avro_read_bytes(&objects, &bytes, &length))
            ;
    }
    cv_avro_file_reader_release(&r);
    return 0;
}
