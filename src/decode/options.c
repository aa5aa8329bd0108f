/* SPDX-License-Identifier: Apache-2.0
 *
 * Section `value` of the job file. The registry's keys have the names of its own client. */
#include "decode/decoder.h"

#define AT(member) offsetof(struct cv_value_options, member)

static const struct cv_option options[] = {
    {.name = "format",
     .type = CV_OPTION_TEXT,
     .offset = AT(format),
     .default_text = "raw",
     .help =
         "How values are encoded: raw (binary), string (key and value are text), json or avro."},
    {.name = "mode",
     .type = CV_OPTION_CHOICE,
     .offset = AT(mode),
     .default_text = "FAILFAST",
     .choices = "FAILFAST|PERMISSIVE|DROPMALFORMED",
     .help = "What an undecodable record does: it stops the batch; gives a row whose value columns "
             "are NULL (dropped where one is required); or is dropped. The last two count it."},
    {.name = "tombstones",
     .type = CV_OPTION_CHOICE,
     .offset = AT(tombstones),
     .default_text = "row",
     .choices = "row|skip",
     .help = "What a record without a value does: a row whose value columns are NULL, or none."},
    {.name = "framing",
     .type = CV_OPTION_CHOICE,
     .offset = AT(framing),
     .default_text = "auto",
     .choices = "auto|confluent|none",
     .help = "What precedes an Avro value: confluent is a zero byte and the schema id in four "
             "bytes, and what auto means when a registry is set."},
    {.name = "schema.file",
     .type = CV_OPTION_TEXT,
     .offset = AT(schema_file),
     .help = "File of the Avro reader schema; without framing also the writer's."},
    {.name = "schema",
     .type = CV_OPTION_TEXT,
     .offset = AT(schema),
     .help = "Types (Spark DDL) of JSON paths that no column types, such as those under CAST."},
    {.name = "schema.registry.url",
     .type = CV_OPTION_TEXT,
     .offset = AT(registry_urls),
     .help = "URLs of the schema registry, separated by commas and tried in turn."},
    {.name = "basic.auth.credentials.source",
     .type = CV_OPTION_TEXT,
     .offset = AT(basic_auth_source),
     .help = "USER_INFO (basic.auth.user.info) or URL (user:password@ in the URL); both are found "
             "without it."},
    {.name = "basic.auth.user.info",
     .type = CV_OPTION_TEXT,
     .offset = AT(basic_auth_user_info),
     .help = "user:password for the schema registry.",
     .flags = CV_OPTION_SECRET},
    {.name = "bearer.auth.token",
     .type = CV_OPTION_TEXT,
     .offset = AT(bearer_token),
     .help = "Bearer token for the schema registry.",
     .flags = CV_OPTION_SECRET},
    CV_OPTION_TAKES("bearer.auth.credentials.source", "STATIC_TOKEN is the only source."),
    {.name = "schema.registry.ssl.ca.location",
     .type = CV_OPTION_TEXT,
     .offset = AT(registry_ca),
     .help = "PEM file with the authorities that the registry's certificate may come from."},
    {.name = "retries.max.wait.ms",
     .type = CV_OPTION_DURATION,
     .offset = AT(registry_retry_us),
     .default_text = "20000",
     .min = 1000,
     .help = "Longest wait between two tries while the registry does not answer; an outage is "
             "waited out."},
    {.name = "allowNonNumericNumbers",
     .type = CV_OPTION_BOOL,
     .offset = AT(json_nonnumeric),
     .default_text = "false",
     .help = "JSON: NaN, Infinity and their signed forms are numbers for float and double."},
    {.name = "timestampUnit",
     .type = CV_OPTION_CHOICE,
     .offset = AT(json_timestamp_unit),
     .default_text = "seconds",
     .choices = "seconds|milliseconds|microseconds",
     .help = "JSON: what an integer in a timestamp column counts since 1970."},
    {.name = "caseSensitive",
     .type = CV_OPTION_BOOL,
     .offset = AT(case_sensitive),
     .default_text = "true",
     .help =
         "Whether JSON keys and Avro fields must have a column's very letters in value.*; false "
         "also makes the paths of the select so."},
};

const struct cv_option_table cv_value_option_table = {
    .section = "value",
    .about = "How the value of a record is decoded.",
    .options = options,
    .count = CV_ARRAY_LENGTH(options),
};
