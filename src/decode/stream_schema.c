/* SPDX-License-Identifier: Apache-2.0
 *
 * The columns that a query over the records sees. */
#include "avro/natural.h"
#include "decode/avro.h"
#include "decode/framing.h"

CV_DEFINE_CLEANUP(struct cv_registry *, cv_registry_free)

/* The latest schema of the first topic that has one. */
static enum cv_code registered_schema(const struct cv_decoder_config *config,
                                      struct cv_arena *arena, struct cv_avro_schema **ret_schema,
                                      struct cv_error *err)
{
    CV_CLEANUP(cv_registry_freep) struct cv_registry *registry = NULL;
    uint32_t id;

    CV_DO(cv_registry_open(config, &registry, err));
    for (size_t i = 0; i < config->topic_count; i++) {
        const char *subject = cv_arena_printf(arena, "%s-value", config->topics[i]);
        struct cv_error reason = CV_ERROR_INIT;
        enum cv_code code = cv_registry_latest(registry, subject, ret_schema, &id, &reason);

        if (code == CV_OK)
            return CV_OK;
        if (code == CV_NOT_FOUND)
            continue;
        if (err)
            *err = reason;
        return code;
    }
    (void)cv_fail(err, CV_SCHEMA,
                  "no subject of the topics is registered yet, so the fields of value are not "
                  "known");
    cv_hint(err, "SQL needs their types at the start: register <topic>-value, or set "
                 "value.schema.file");
    return CV_SCHEMA;
}

static enum cv_code avro_value(const struct cv_decoder_config *config, struct cv_arena *arena,
                               struct cv_type *ret_type, struct cv_error *err)
{
    CV_CLEANUP(cv_avro_schema_freep) struct cv_avro_schema *schema = NULL;
    const struct cv_value_options *options = config->options;

    if (options->schema_file)
        CV_DO(cv_avro_read_schema_file(options->schema_file, &schema, err));
    else if (cv_framing_confluent(options) && options->registry_urls)
        CV_DO(registered_schema(config, arena, &schema, err));
    else
        return cv_fail(err, CV_CONFIG,
                       "value.format avro needs value.schema.registry.url or value.schema.file");
    if (!cv_avro_natural_type(schema->root, arena, ret_type) || ret_type->kind != CV_TYPE_STRUCT)
        return cv_fail(err, CV_SCHEMA, "the Avro schema of value is no record with fields");
    return CV_OK;
}

static enum cv_code json_value(const struct cv_decoder_config *config, struct cv_arena *arena,
                               struct cv_type *ret_type, bool *ret_open, struct cv_error *err)
{
    struct cv_schema schema;

    *ret_type = (struct cv_type){.kind = CV_TYPE_STRUCT};
    *ret_open = !config->options->schema;
    if (*ret_open)
        return CV_OK;
    CV_TRY(cv_schema_read_ddl(config->options->schema, arena, &schema, err), err, "value.schema");
    *ret_type = schema.root;
    return CV_OK;
}

enum cv_code cv_decoder_stream_schema(const struct cv_decoder_config *config,
                                      struct cv_arena *arena, struct cv_schema *ret_schema,
                                      bool *ret_open, struct cv_error *err)
{
    const char *name = config->options->format ? config->options->format : "raw";
    const struct cv_format_ops *format = cv_format_find(name);
    size_t count = config->include_headers ? CV_KAFKA_COLUMNS : CV_KAFKA_HEADERS;
    struct cv_field *fields = cv_arena_array(arena, struct cv_field, count);
    struct cv_schema schema = {0};
    bool open = false;

    if (!format)
        return cv_fail(err, CV_CONFIG, "value.format: there is no format %s; there are %s", name,
                       cv_format_names(arena));
    for (size_t i = 0; i < count; i++) {
        fields[i].name = cv_kafka_column_name((enum cv_kafka_column)i);
        fields[i].type = cv_kafka_column_type((enum cv_kafka_column)i, format);
    }
    if (format == &cv_format_avro)
        CV_DO(avro_value(config, arena, &fields[CV_KAFKA_VALUE].type, err));
    else if (format == &cv_format_json)
        CV_DO(json_value(config, arena, &fields[CV_KAFKA_VALUE].type, &open, err));
    schema.root = (struct cv_type){.kind = CV_TYPE_STRUCT, .fields = fields, .field_count = count};
    cv_schema_assign_ids(&schema, arena);
    *ret_schema = schema;
    *ret_open = open;
    return CV_OK;
}
