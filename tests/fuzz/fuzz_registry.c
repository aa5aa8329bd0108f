/* SPDX-License-Identifier: Apache-2.0
 *
 * An answer of a schema registry: the JSON around the schema, the error code, and the schema. */
#include "fuzz.h"

#include "decode/registry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_avro_schema *schema = NULL;
    struct cv_registry_answer answer;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_str body = {(const char *)data, size};

    (void)cv_registry_parse_error(body);
    if (cv_registry_parse_answer(body, &arena, &answer, &err) == CV_OK) {
        struct cv_str text = {answer.schema, answer.schema_length};

        for (size_t i = 0; i < answer.reference_count; i++)
            (void)cv_registry_encode(&arena, answer.references[i].subject);
        if (cv_avro_schema_parse(text, NULL, 0, &schema, &err) == CV_OK)
            cv_avro_schema_free(schema);
    }
    cv_arena_release(&arena);
    return 0;
}
