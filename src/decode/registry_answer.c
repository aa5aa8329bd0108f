/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading what a schema registry answers, apart from the network. */
#include "decode/registry.h"

#include <ctype.h>

static enum cv_code read_reference(const struct cv_json *node, struct cv_arena *arena,
                                   struct cv_registry_reference *ret_reference,
                                   struct cv_error *err)
{
    const char *name;
    const char *subject;

    if (!cv_json_is_object(node))
        return cv_fail(err, CV_REGISTRY, "an element of references is no object");
    CV_DO(cv_json_read_string(node, "name", &name, err));
    CV_DO(cv_json_read_string(node, "subject", &subject, err));
    CV_DO(cv_json_read_i64(node, "version", &ret_reference->version, err));
    ret_reference->name = cv_arena_strdup(arena, name);
    ret_reference->subject = cv_arena_strdup(arena, subject);
    return CV_OK;
}

static enum cv_code read_references(const struct cv_json *root, struct cv_arena *arena,
                                    struct cv_registry_answer *answer, struct cv_error *err)
{
    const struct cv_json *list = cv_json_get(root, "references");
    size_t count = cv_json_size(list);

    if (!list || cv_json_is_null(list))
        return CV_OK;
    if (!cv_json_is_array(list))
        return cv_fail(err, CV_REGISTRY, "references is no array");
    if (count > CV_REGISTRY_REFERENCES_MAX)
        return cv_fail(err, CV_REGISTRY, "more than %d references", CV_REGISTRY_REFERENCES_MAX);
    answer->references = cv_arena_array(arena, struct cv_registry_reference, count);
    answer->reference_count = count;
    for (size_t i = 0; i < count; i++)
        CV_DO(read_reference(cv_json_at(list, i), arena, &answer->references[i], err));
    return CV_OK;
}

static enum cv_code read_answer(const struct cv_json *root, struct cv_arena *arena,
                                struct cv_registry_answer *answer, struct cv_error *err)
{
    const struct cv_json *schema = cv_json_get(root, "schema");
    const char *type = "AVRO";

    if (!cv_json_is_object(root))
        return cv_fail(err, CV_REGISTRY, "the answer is no JSON object");
    if (!schema || !cv_json_is_string(schema))
        return cv_fail(err, CV_REGISTRY, "the answer has no text \"schema\"");
    answer->id = -1;
    CV_DO(cv_json_optional_string(root, "schemaType", &type, err));
    CV_DO(cv_json_optional_i64(root, "id", &answer->id, err));
    CV_DO(read_references(root, arena, answer, err));
    answer->schema_length = cv_json_text_length(schema);
    answer->schema = cv_arena_strndup(arena, cv_json_text(schema), answer->schema_length);
    answer->type = cv_arena_strdup(arena, type);
    return CV_OK;
}

enum cv_code cv_registry_parse_answer(struct cv_str body, struct cv_arena *arena,
                                      struct cv_registry_answer *ret_answer, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    struct cv_registry_answer answer = {0};

    if (cv_json_parse(body.ptr, body.length, &root, err) != CV_OK ||
        read_answer(root, arena, &answer, err) != CV_OK) {
        if (err)
            err->code = CV_REGISTRY;
        return CV_REGISTRY;
    }
    *ret_answer = answer;
    return CV_OK;
}

int64_t cv_registry_parse_error(struct cv_str body)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    const struct cv_json *code;

    if (cv_json_parse(body.ptr, body.length, &root, NULL) != CV_OK)
        return 0;
    code = cv_json_get(root, "error_code");
    return code && cv_json_is_integer(code) ? cv_json_integer(code) : 0;
}

char *cv_registry_encode(struct cv_arena *arena, const char *segment)
{
    static const char hex[] = "0123456789ABCDEF";
    char *out = cv_arena_alloc(arena, strlen(segment) * 3 + 1);
    size_t at = 0;

    for (const char *c = segment; *c; c++) {
        unsigned char byte = (unsigned char)*c;

        if (isalnum(byte) || strchr("-._~", byte)) {
            out[at++] = *c;
            continue;
        }
        out[at++] = '%';
        out[at++] = hex[byte >> 4];
        out[at++] = hex[byte & 15];
    }
    return out;
}
