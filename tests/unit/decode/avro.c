/* SPDX-License-Identifier: Apache-2.0
 *
 * Avro values with a schema file and with a registry: cases 7, 12, 13, 18, 19 of the reported
 * faults, outages, refused logins, and schemas that appear later. */
#include "decode_test.h"
#include "registry_server.h"

#include "base/file.h"

#include <sys/stat.h>

#define RECORD(fields) "{\"type\":\"record\",\"name\":\"R\",\"fields\":[" fields "]}"

static const char *schema_file(const char *text)
{
    static char path[512];
    struct cv_error err = CV_ERROR_INIT;

    (void)snprintf(path, sizeof path, "%s/reader.avsc", cv_test_folder());
    CV_ASSERT_OK(cv_file_write_replace(path, text, strlen(text), &err), &err);
    return path;
}

static void with_a_schema_file_and_no_framing(void **state)
{
    struct decoding d;

    decoding_init(&d, "avro", "a int, b string, offset bigint", "value.a, value.b, offset");
    d.options.schema_file = schema_file(RECORD(
        "{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"b\",\"type\":[\"null\",\"string\"]}"));
    decoding_open(&d);
    (void)decoding_add_hex(&d, "0e 02 02 78");
    (void)decoding_add_hex(&d, "10 00");
    decoding_expect(&d, "7|\"x\"|1042\n8|NULL|1043\n");
    (void)decoding_add_hex(&d, "10 00 00");
    CV_ASSERT_FAILS(decoding_run(&d), CV_RECORD, "topic orders[3]@1044: ", &d.err);
    d.options.mode = CV_MODE_PERMISSIVE;
    decoding_open(&d);
    decoding_expect(&d, "7|\"x\"|1042\n8|NULL|1043\nNULL|NULL|1044\n");
    decoding_clear(&d);
    decoding_release(&d);
}

static void a_record_may_be_null_at_the_top(void **state)
{
    struct decoding d;

    decoding_init(&d, "avro", "a int", NULL);
    d.options.schema_file =
        schema_file("[\"null\"," RECORD("{\"name\":\"a\",\"type\":\"int\"}") "]");
    decoding_open(&d);
    (void)decoding_add_hex(&d, "02 0e");
    (void)decoding_add_hex(&d, "00");
    decoding_expect(&d, "7\nNULL\n");
    decoding_clear(&d);
    decoding_release(&d);
}

static void schema_problems_at_open(void **state)
{
    struct decoding d;

    decoding_init(&d, "avro", "a int, b bigint, c float, d int NOT NULL", NULL);
    CV_ASSERT_FAILS(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_CONFIG,
                    "value.format avro needs value.schema.registry.url or value.schema.file",
                    &d.err);
    d.options.schema_file = schema_file(
        RECORD("{\"name\":\"a\",\"type\":\"long\"},{\"name\":\"b\",\"type\":\"string\"},"
               "{\"name\":\"c\",\"type\":\"double\"},{\"name\":\"e\",\"type\":\"int\"}"));
    assert_int_equal(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_SCHEMA);
    assert_non_null(strstr(d.err.message, "value.schema.file: field e has no column"));
    for (const char *name = "abcd"; *name; name++) {
        char part[16];

        (void)snprintf(part, sizeof part, "%c: ", *name);
        if (!strstr(d.err.message, part))
            fail_msg("\"%s\" does not name %c", d.err.message, *name);
    }
    d.options.schema_file = schema_file("{\"type\":");
    CV_ASSERT_FAILS(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_FORMAT, "value.schema.file",
                    &d.err);
    decoding_release(&d);
}

static void nested_fields_without_a_column(void **state)
{
    struct decoding d;

    decoding_init(&d, "avro", "s struct<x: int>, l array<struct<x: int>>", NULL);
    d.options.schema_file = schema_file(
        RECORD("{\"name\":\"s\",\"type\":[\"null\",{\"type\":\"record\",\"name\":\"S\",\"fields\":["
               "{\"name\":\"x\",\"type\":\"int\"},{\"name\":\"y\",\"type\":\"int\"}]}]},"
               "{\"name\":\"l\",\"type\":{\"type\":\"array\",\"items\":\"S\"}}"));
    CV_ASSERT_FAILS(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_SCHEMA,
                    "field s.y has no column; value.schema.file: field l.y has no column", &d.err);
    d.config.ignore_unknown = true;
    decoding_open(&d);
    (void)decoding_add_hex(&d, "02 0e 10 02 04 06 00");
    decoding_expect(&d, "(7)|[(2)]\n");
    decoding_clear(&d);
    decoding_release(&d);
}

/* Case 17. */
static void a_recursive_field_is_refused_when_a_column_takes_it(void **state)
{
    struct decoding d;

    decoding_init(&d, "avro", "v bigint, next struct<v: bigint>", NULL);
    d.options.schema_file =
        schema_file("{\"type\":\"record\",\"name\":\"N\",\"fields\":[{\"name\":\"v\",\"type\":"
                    "\"long\"},{\"name\":\"next\",\"type\":[\"null\",\"N\"]}]}");
    CV_ASSERT_FAILS(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_SCHEMA,
                    "value.schema.file: the schema is recursive (N.next.N) and a column is not",
                    &d.err);
    d.config.select = "value.v, value.next.v AS nope";
    d.config.ignore_unknown = true;
    decoding_open(&d);
    (void)decoding_add_hex(&d, "02 02 04 00");
    decoding_expect(&d, "1|NULL\n");
    decoding_clear(&d);
    decoding_release(&d);
}

static const char id_1[] = "{\"schema\":\"{\\\"type\\\":\\\"record\\\",\\\"name\\\":\\\"R\\\","
                           "\\\"fields\\\":[{\\\"name\\\":"
                           "\\\"v\\\",\\\"type\\\":[\\\"null\\\",\\\"int\\\"]}]}\"}";
static const char id_2[] =
    "{\"schema\":\"{\\\"type\\\":\\\"record\\\",\\\"name\\\":\\\"R\\\",\\\"fields\\\":[{"
    "\\\"name\\\":"
    "\\\"w\\\",\\\"type\\\":\\\"int\\\"},{\\\"name\\\":\\\"v\\\",\\\"type\\\":\\\"int\\\"}]}\"}";
static const char id_3[] = "{\"schema\":\"{\\\"type\\\":\\\"record\\\",\\\"name\\\":\\\"R\\\","
                           "\\\"fields\\\":[{\\\"name\\\":"
                           "\\\"v\\\",\\\"type\\\":\\\"string\\\"}]}\"}";

static void serve(struct registry_server *s)
{
    *s = (struct registry_server){.outage_status = 503};
    registry_answer(s, "/schemas/ids/1", 200, id_1);
    registry_answer(s, "/schemas/ids/2", 200, id_2);
    registry_answer(s, "/schemas/ids/3", 200, id_3);
    registry_answer(s, "/schemas/ids/4", 200,
                    "{\"schema\":\"syntax\",\"schemaType\":\"PROTOBUF\"}");
    registry_answer(s, "/schemas/ids/5", 200, "{\"id\":5}");
    registry_answer(s, "/schemas/ids/6", 404, "<html>not here</html>");
    registry_start(s);
}

static void open_with(struct decoding *d, struct registry_server *s)
{
    static const char *const topics[] = {"orders"};

    decoding_init(d, "avro", "v int", NULL);
    d->options.registry_urls = s->url;
    d->config.topics = topics;
    d->config.topic_count = 1;
    decoding_open(d);
}

/* Case 19. */
static void framing_is_checked_before_an_id_is_looked_up(void **state)
{
    static const char *const values[] = {"00 00000001 02 0e",
                                         "7b 22 61",
                                         "00 00 00",
                                         "00 000f423f 02 0e",
                                         "01 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                         "00 00000001 02 10"};
    struct registry_server s;
    struct decoding d;

    serve(&s);
    open_with(&d, &s);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(values); i++)
        (void)decoding_add_hex(&d, values[i]);
    CV_ASSERT_FAILS(decoding_run(&d), CV_RECORD,
                    "topic orders[3]@1043: not Confluent framing: the value begins with 7b 22 61 "
                    "({\"a), not with 00",
                    &d.err);
    d.options.mode = CV_MODE_PERMISSIVE;
    decoding_open(&d);
    decoding_expect(&d, "7\nNULL\nNULL\nNULL\nNULL\n8\n");
    assert_int_equal(cv_decode_worker_bad(d.worker)->total, 4);
    assert_string_equal(cv_decode_worker_bad(d.worker)->entries[1].reason,
                        "not Confluent framing: 3 bytes (00 00 00) are too short for a schema id");
    assert_non_null(strstr(cv_decode_worker_bad(d.worker)->entries[2].reason, "schema id 999999"));
    decoding_expect(&d, "7\nNULL\nNULL\nNULL\nNULL\n8\n");
    assert_int_equal(s.answers[0].count, 2); /* once per decoder */
    decoding_clear(&d);
    decoding_release(&d);
    registry_stop(&s);
}

static void an_unknown_id_is_not_asked_for_with_each_record(void **state)
{
    struct registry_server s;
    struct decoding d;
    int before;

    serve(&s);
    open_with(&d, &s);
    d.options.mode = CV_MODE_DROPMALFORMED;
    for (int i = 0; i < 20; i++)
        (void)decoding_add_hex(&d, "00 000f423f 02 0e");
    before = atomic_load(&s.requests);
    decoding_expect(&d, "");
    assert_int_equal(atomic_load(&s.requests), before + 1);
    decoding_clear(&d);
    decoding_release(&d);
    registry_stop(&s);
}

static void an_outage_is_waited_out(void **state)
{
    struct registry_server s;
    struct decoding d;

    for (int status = 0; status <= 503; status += 503) {
        serve(&s);
        s.outage_status = status;
        open_with(&d, &s);
        (void)decoding_add_hex(&d, "00 00000001 02 0e");
        atomic_store(&s.outage, 2);
        decoding_expect(&d, "7\n");
        assert_int_equal(d.warn_count, 1);
        assert_non_null(strstr(d.warned[0], "schema registry http://127.0.0.1:"));
        assert_non_null(strstr(d.warned[0], "waiting for it since 0 s"));
        decoding_clear(&d);
        decoding_release(&d);
        registry_stop(&s);
    }
}

static bool always(void *context)
{
    return true;
}

static void waiting_can_be_ended(void **state)
{
    struct registry_server s;
    struct decoding d;

    serve(&s);
    open_with(&d, &s);
    decoding_close(&d);
    d.config.cancelled = always;
    decoding_open(&d);
    atomic_store(&s.outage, 1000);
    (void)decoding_add_hex(&d, "00 00000001 02 0e");
    CV_ASSERT_FAILS(decoding_run(&d), CV_CANCELLED, "answers 503", &d.err);
    decoding_clear(&d);
    decoding_release(&d);
    registry_stop(&s);
}

static void the_next_registry_of_a_list_is_tried(void **state)
{
    struct registry_server s;
    struct decoding d;
    char urls[128];

    serve(&s);
    decoding_init(&d, "avro", "v int", NULL);
    (void)snprintf(urls, sizeof urls, "http://127.0.0.1:1, %s/", s.url);
    d.options.registry_urls = urls;
    decoding_open(&d);
    (void)decoding_add_hex(&d, "00 00000001 02 0e");
    decoding_expect(&d, "7\n");
    assert_int_equal(d.warn_count, 0);
    decoding_clear(&d);
    decoding_release(&d);
    registry_stop(&s);
}

static void a_refused_login_names_the_setting_and_no_secret(void **state)
{
    static const char *const topics[] = {"orders"};
    struct registry_server s;
    struct decoding d;

    serve(&s);
    s.wants_auth = "Authorization: Basic YWRtaW46c2VjcmV0"; /* admin:secret */
    decoding_init(&d, "avro", "v int", NULL);
    d.options.registry_urls = s.url;
    d.options.basic_auth_user_info = "admin:wrong";
    d.config.topics = topics;
    d.config.topic_count = 1;
    CV_ASSERT_FAILS(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_AUTH, "answers 401", &d.err);
    assert_non_null(strstr(d.err.hint, "basic.auth.user.info"));
    assert_null(strstr(d.err.message, "wrong"));
    d.options.basic_auth_user_info = "admin:secret";
    decoding_open(&d);
    (void)decoding_add_hex(&d, "00 00000001 02 0e");
    decoding_expect(&d, "7\n");
    d.options.basic_auth_user_info = NULL;
    d.options.bearer_token = "token";
    s.wants_auth = "Authorization: Bearer token";
    decoding_open(&d);
    decoding_expect(&d, "7\n");
    decoding_clear(&d);
    decoding_release(&d);
    registry_stop(&s);
}

static void later_schemas(void **state)
{
    struct registry_server s;
    struct decoding d;

    serve(&s);
    open_with(&d, &s);
    d.options.mode = CV_MODE_DROPMALFORMED;
    (void)decoding_add_hex(&d, "00 00000001 02 0e");
    (void)decoding_add_hex(&d, "00 00000002 04 10"); /* w has no column */
    (void)decoding_add_hex(&d, "00 00000001 02 12");
    (void)decoding_add_hex(&d, "00 00000003 02 78"); /* string → int */
    (void)decoding_add_hex(&d, "00 00000004 02 78"); /* Protobuf */
    decoding_expect(&d, "7\n8\n9\n");
    assert_int_equal(d.warn_count, 1);
    assert_non_null(strstr(d.warned[0], "schema id 2: field w has no column"));
    assert_non_null(strstr(cv_decode_worker_bad(d.worker)->entries[0].reason, "schema id 3: "));
    assert_non_null(strstr(cv_decode_worker_bad(d.worker)->entries[1].reason,
                           "schema id 4: it is of type PROTOBUF, not AVRO"));
    decoding_expect(&d, "7\n8\n9\n");
    assert_int_equal(d.warn_count, 1);
    assert_int_equal(s.answers[2].count, 1);
    decoding_clear(&d);
    (void)decoding_add_hex(&d, "00 00000005 02 78");
    CV_ASSERT_FAILS(decoding_run(&d), CV_REGISTRY, "GET /schemas/ids/5: the answer has no text",
                    &d.err);
    decoding_clear(&d);
    (void)decoding_add_hex(&d, "00 00000006 02 78");
    CV_ASSERT_FAILS(decoding_run(&d), CV_REGISTRY, "answers 404 to GET /schemas/ids/6", &d.err);
    decoding_clear(&d);
    decoding_release(&d);
    registry_stop(&s);
}

static void the_latest_schema_is_checked_at_open(void **state)
{
    static const char *const topics[] = {"orders"};
    static const char latest[] = "{\"subject\":\"orders-value\",\"version\":1,\"id\":3,\"schema\":"
                                 "\"{\\\"type\\\":\\\"record\\\","
                                 "\\\"name\\\":\\\"R\\\",\\\"fields\\\":[{\\\"name\\\":\\\"v\\\","
                                 "\\\"type\\\":\\\"double\\\"},"
                                 "{\\\"name\\\":\\\"w\\\",\\\"type\\\":\\\"int\\\"}]}\"}";
    struct registry_server s;
    struct decoding d;

    serve(&s);
    registry_answer(&s, "/subjects/orders-value/versions/latest", 200, latest);
    decoding_init(&d, "avro", "v int", NULL);
    d.options.registry_urls = s.url;
    d.config.topics = topics;
    d.config.topic_count = 1;
    assert_int_equal(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_SCHEMA);
    assert_non_null(strstr(d.err.message, "schema orders-value: field w has no column"));
    assert_non_null(strstr(d.err.message, "double"));
    d.config.select = "value.nope AS v";
    CV_ASSERT_FAILS(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_SCHEMA,
                    "schema orders-value: there is no field value.nope", &d.err);
    d.config.ignore_unknown = true;
    d.config.select = "CAST(\n value.v AS int) AS x,\n  value.vv AS v";
    CV_ASSERT_FAILS(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_SCHEMA,
                    "select line 3 column 3: schema orders-value: there is no field value.vv; "
                    "nearest: value.v",
                    &d.err);
    d.config.ignore_unknown = false;
    d.config.select = "CAST(value.v AS int) AS v";
    decoding_open(&d);
    (void)decoding_add_hex(&d, "00 00000003 000000000000f83f 02");
    decoding_expect(&d, "1\n");
    assert_int_equal(s.answers[2].count, 0); /* id 3 came with the subject */
    decoding_clear(&d);
    decoding_release(&d);
    registry_stop(&s);
}

/* Case 18: a referent that refers to another one. */
static void references_are_fetched_transitively_and_once(void **state)
{
    struct registry_server s;
    struct decoding d;

    serve(&s);
    registry_answer(
        &s, "/schemas/ids/10", 200,
        "{\"schema\":\"{\\\"type\\\":\\\"record\\\",\\\"name\\\":\\\"P\\\",\\\"namespace\\\":"
        "\\\"y\\\","
        "\\\"fields\\\":[{\\\"name\\\":\\\"v\\\",\\\"type\\\":\\\"int\\\"},{\\\"name\\\":\\\"a\\\","
        "\\\"type"
        "\\\":\\\"x.Addr\\\"}]}\",\"references\":[{\"name\":\"x.Addr\",\"subject\":\"the "
        "addr\",\"version\":1}]}");
    registry_answer(&s, "/subjects/the%20addr/versions/1", 200,
                    "{\"id\":8,\"schema\":\"{\\\"type\\\":\\\"record\\\",\\\"name\\\":\\\"Addr\\\","
                    "\\\"namespace\\\":"
                    "\\\"x\\\",\\\"fields\\\":[{\\\"name\\\":\\\"zone\\\",\\\"type\\\":\\\"x."
                    "Zone\\\"}]}\",\"references\":"
                    "[{\"name\":\"x.Zone\",\"subject\":\"zone\",\"version\":3}]}");
    registry_answer(&s, "/subjects/zone/versions/3", 200,
                    "{\"schema\":\"{\\\"type\\\":\\\"record\\\",\\\"name\\\":\\\"Zone\\\","
                    "\\\"namespace\\\":\\\"x\\\","
                    "\\\"fields\\\":[{\\\"name\\\":\\\"code\\\",\\\"type\\\":\\\"string\\\"}]}\"}");
    registry_answer(
        &s, "/schemas/ids/11", 200,
        "{\"schema\":\"{\\\"type\\\":\\\"record\\\",\\\"name\\\":\\\"Q\\\",\\\"fields\\\":[{"
        "\\\"name\\\":"
        "\\\"v\\\",\\\"type\\\":\\\"int\\\"},{\\\"name\\\":\\\"z\\\",\\\"type\\\":\\\"x.Addr\\\"}]}"
        "\","
        "\"references\":[{\"name\":\"x.Addr\",\"subject\":\"the addr\",\"version\":1}]}");
    decoding_init(&d, "avro", "v int, a struct<zone: struct<code: string>>", NULL);
    d.options.registry_urls = s.url;
    decoding_open(&d);
    (void)decoding_add_hex(&d, "00 0000000a 02 04 4e57");
    (void)decoding_add_hex(&d, "00 0000000b 04 02 4e");
    decoding_expect(&d, "1|((\"NW\"))\n2|NULL\n");
    assert_int_equal(s.answers[7].count, 1);
    assert_int_equal(s.answers[8].count, 1);
    decoding_clear(&d);
    decoding_release(&d);
    registry_stop(&s);
}

static void the_file_is_the_reader_of_registered_writers(void **state)
{
    struct registry_server s;
    struct decoding d;

    serve(&s);
    decoding_init(&d, "avro", "v bigint, b string", NULL);
    d.options.registry_urls = s.url;
    d.options.schema_file =
        schema_file(RECORD("{\"name\":\"v\",\"type\":[\"null\",\"long\"]},"
                           "{\"name\":\"b\",\"type\":\"string\",\"default\":\"none\"}"));
    decoding_open(&d);
    (void)decoding_add_hex(&d, "00 00000001 02 0e");
    (void)decoding_add_hex(&d, "00 00000002 04 10");
    decoding_expect(&d, "7|\"none\"\n8|\"none\"\n");
    assert_int_equal(d.warn_count, 0);
    decoding_clear(&d);
    decoding_release(&d);
    registry_stop(&s);
}

static void framing_without_a_registry(void **state)
{
    struct decoding d;

    decoding_init(&d, "avro", "v int", NULL);
    d.options.framing = 1;
    d.options.schema_file = schema_file(RECORD("{\"name\":\"v\",\"type\":\"int\"}"));
    decoding_open(&d);
    (void)decoding_add_hex(&d, "00 00000063 0e");
    decoding_expect(&d, "7\n");
    decoding_clear(&d);
    decoding_release(&d);
}

struct share {
    struct decoding *d;
    size_t rows;
};

static void *work(void *context)
{
    struct share *share = context;
    struct cv_decode_worker *worker = cv_decode_worker_new(share->d->decoder);
    struct cv_chunk chunk = {.records = share->d->records, .count = share->d->count};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_batch batch;

    for (int i = 0; i < 50; i++)
        if (cv_decode_worker_run(worker, &chunk, &batch, &err) == CV_OK)
            share->rows += batch.row_count;
    cv_decode_worker_free(worker);
    return NULL;
}

static void workers_share_plans(void **state)
{
    struct registry_server s;
    struct decoding d;
    pthread_t threads[4];
    struct share shares[4];

    serve(&s);
    open_with(&d, &s);
    d.options.mode = CV_MODE_DROPMALFORMED;
    for (int i = 0; i < 20; i++)
        (void)decoding_add_hex(&d, i % 3 == 0   ? "00 00000001 02 0e"
                                   : i % 3 == 1 ? "00 00000002 04 10"
                                                : "00 000f423f 00");
    for (int i = 0; i < 4; i++) {
        shares[i] = (struct share){&d, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &shares[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(shares[i].rows, 50 * 14);
    }
    assert_int_equal(s.answers[0].count, 1);
    assert_int_equal(s.answers[1].count, 1);
    decoding_clear(&d);
    decoding_release(&d);
    registry_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_a_schema_file_and_no_framing),
        cmocka_unit_test(a_record_may_be_null_at_the_top),
        cmocka_unit_test(schema_problems_at_open),
        cmocka_unit_test(nested_fields_without_a_column),
        cmocka_unit_test(a_recursive_field_is_refused_when_a_column_takes_it),
        cmocka_unit_test(framing_is_checked_before_an_id_is_looked_up),
        cmocka_unit_test(an_unknown_id_is_not_asked_for_with_each_record),
        cmocka_unit_test(an_outage_is_waited_out),
        cmocka_unit_test(waiting_can_be_ended),
        cmocka_unit_test(the_next_registry_of_a_list_is_tried),
        cmocka_unit_test(a_refused_login_names_the_setting_and_no_secret),
        cmocka_unit_test(later_schemas),
        cmocka_unit_test(the_latest_schema_is_checked_at_open),
        cmocka_unit_test(references_are_fetched_transitively_and_once),
        cmocka_unit_test(the_file_is_the_reader_of_registered_writers),
        cmocka_unit_test(framing_without_a_registry),
        cmocka_unit_test(workers_share_plans),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
