/* SPDX-License-Identifier: Apache-2.0
 *
 * Which snapshots and refs expiry takes. The wanted values follow the rules of Java's
 * RemoveSnapshots by hand. */
#include "iceberg/metadata_change.h"
#include "test.h"

/* A snapshot is {id, parent (0 = none), time}; a ref is JSON. */
struct row {
    int64_t id, parent, time;
};

struct history {
    const struct row *rows;
    size_t row_count;
    const char *refs;
    const char *properties;
};

static struct cv_arena arena;
static struct cv_error err;

static struct cv_table_metadata *metadata_of(const struct history *history, int64_t head)
{
    struct cv_buf text = CV_BUF_INIT(0);
    struct cv_table_metadata *metadata = NULL;

    cv_buf_printf(&text,
                  "{\"format-version\":2,\"table-uuid\":\"9c12d441-03fe-4693-9a96-a0705ddf69c1\","
                  "\"location\":\"file:///w/t\",\"last-sequence-number\":99,\"last-updated-ms\":1,"
                  "\"last-column-id\":1,\"current-schema-id\":0,\"schemas\":[{\"type\":\"struct\","
                  "\"schema-id\":0,\"fields\":[]}],\"default-spec-id\":0,\"partition-specs\":"
                  "[{\"spec-id\":0,\"fields\":[]}],\"last-partition-id\":999,"
                  "\"default-sort-order-id\":0,\"sort-orders\":[{\"order-id\":0,\"fields\":[]}],"
                  "\"properties\":{%s},\"current-snapshot-id\":%lld,\"refs\":{%s},\"snapshots\":[",
                  history->properties ? history->properties : "", (long long)head, history->refs);
    for (size_t i = 0; i < history->row_count; i++) {
        const struct row *row = &history->rows[i];

        cv_buf_printf(&text, "%s{\"snapshot-id\":%lld,", i ? "," : "", (long long)row->id);
        if (row->parent)
            cv_buf_printf(&text, "\"parent-snapshot-id\":%lld,", (long long)row->parent);
        cv_buf_printf(&text,
                      "\"sequence-number\":%zu,\"timestamp-ms\":%lld,\"summary\":{\"operation\":"
                      "\"append\"},\"manifest-list\":\"file:///w/l.avro\"}",
                      i, (long long)row->time);
    }
    cv_buf_append_text(&text, "]}");
    CV_ASSERT_OK(cv_table_metadata_read(text.data, text.length, &metadata, &err), &err);
    cv_buf_release(&text);
    return metadata;
}

/* "1,2 -b": ids in the table's order, then the refs. */
static const char *planned(const struct cv_table_metadata *metadata,
                           const struct cv_expire_rules *rules)
{
    struct cv_buf text = CV_BUF_INIT(0);
    struct cv_expire_plan plan;
    const char *copy;

    CV_ASSERT_OK(cv_expire_plan(metadata, rules, &arena, &plan, &err), &err);
    for (size_t i = 0; i < plan.snapshot_count; i++)
        cv_buf_printf(&text, "%s%lld", i ? "," : "", (long long)plan.snapshot_ids[i]);
    for (size_t i = 0; i < plan.ref_count; i++)
        cv_buf_printf(&text, " -%s", plan.refs[i]);
    copy = cv_arena_strdup(&arena, cv_buf_text(&text));
    cv_buf_release(&text);
    return copy;
}

static struct cv_expire_rules asked(struct cv_expire_rules rules)
{
    if (!rules.now_ms)
        rules.now_ms = 1000;
    if (!rules.older_than_ms)
        rules.older_than_ms = -1;
    if (!rules.retain_last)
        rules.retain_last = -1;
    return rules;
}

static void assert_plan(const struct history *history, int64_t head, struct cv_expire_rules rules,
                        const char *wanted)
{
    struct cv_table_metadata *metadata = metadata_of(history, head);

    assert_string_equal(planned(metadata, &rules), wanted);
    cv_table_metadata_free(metadata);
}

/* Left out or 0: not given; the time is 1000. */
#define RULES(...) asked((struct cv_expire_rules){__VA_ARGS__})
#define MAIN(id)   "\"main\":{\"snapshot-id\":" #id ",\"type\":\"branch\"}"

static const struct row chain[] = {{1, 0, 100}, {2, 1, 200}, {3, 2, 300},
                                   {4, 3, 400}, {5, 4, 500}, {6, 5, 600}};
static const struct history plain = {chain, 6, MAIN(6), NULL};

static void the_newest_and_the_young_stay(void **state)
{
    (void)state;
    assert_plan(&plain, 6, RULES(.older_than_ms = 400), "1,2,3");
    assert_plan(&plain, 6, RULES(.older_than_ms = 401), "1,2,3,4");
    assert_plan(&plain, 6, RULES(.older_than_ms = 5000), "1,2,3,4,5");
    assert_plan(&plain, 6, RULES(.older_than_ms = 5000, .retain_last = 4), "1,2");
    assert_plan(&plain, 6, RULES(.older_than_ms = 5000, .retain_last = 9), "");
    assert_plan(&plain, 6, RULES(.older_than_ms = 1), "");
}

static void what_the_call_leaves_out_the_table_says(void **state)
{
    struct history history = plain;

    (void)state;
    assert_plan(&history, 6, RULES(.retain_last = 1), ""); /* five days */
    assert_plan(&history, 6, RULES(.now_ms = INT64_C(432000000) + 350), "1,2,3");
    history.properties = "\"history.expire.max-snapshot-age-ms\":\"650\","
                         "\"history.expire.min-snapshots-to-keep\":\"5\"";
    assert_plan(&history, 6, RULES(.now_ms = 1000), "1");
    assert_plan(&history, 6, RULES(.retain_last = 2), "1,2,3");
    history.properties = "\"history.expire.max-snapshot-age-ms\":\"9223372036854775807\"";
    assert_plan(&history, 6, RULES(.now_ms = 1000), "");
}

/* A snapshot that is young but behind the first old one goes: the walk stops there. */
static void the_walk_stops_at_the_first_that_fails(void **state)
{
    static const struct row rows[] = {{1, 0, 500}, {2, 1, 100}, {3, 2, 600}};
    static const struct history history = {rows, 3, MAIN(3), NULL};

    (void)state;
    assert_plan(&history, 3, RULES(.older_than_ms = 400), "1,2");
}

/* main 1-6, tag t at 2, branch b with 7 on top of 2. */
static const struct row branched[] = {{1, 0, 100}, {2, 1, 200}, {3, 2, 300}, {7, 2, 310},
                                      {4, 3, 400}, {5, 4, 500}, {6, 5, 600}};
#define TAG_T "\"t\":{\"snapshot-id\":2,\"type\":\"tag\"}"

static void branches_and_tags_hold_their_snapshots(void **state)
{
    static const struct history history = {
        branched, 7, MAIN(6) "," TAG_T ",\"b\":{\"snapshot-id\":7,\"type\":\"branch\"}", NULL};

    (void)state;
    assert_plan(&history, 6, RULES(.older_than_ms = 5000, .retain_last = 1), "1,3,4,5");
}

static void limits_of_a_branch_stand_before_the_call(void **state)
{
    struct history history = {
        branched, 7,
        MAIN(6) ",\"b\":{\"snapshot-id\":7,\"type\":\"branch\",\"min-snapshots-to-keep\":3}", NULL};

    (void)state;
    assert_plan(&history, 6, RULES(.older_than_ms = 5000, .retain_last = 1), "3,4,5");
    history.refs = MAIN(6) ",\"b\":{\"snapshot-id\":7,\"type\":\"branch\","
                           "\"max-snapshot-age-ms\":850}";
    assert_plan(&history, 6, RULES(.older_than_ms = 5000, .retain_last = 1), "1,3,4,5");
    history.refs = "\"main\":{\"snapshot-id\":6,\"type\":\"branch\",\"min-snapshots-to-keep\":2}";
    assert_plan(&history, 6, RULES(.older_than_ms = 5000, .retain_last = 5), "1,2,3,7,4");
}

static void refs_go_by_the_age_of_their_snapshot(void **state)
{
    struct history history = {branched, 7,
                              MAIN(6) ",\"t\":{\"snapshot-id\":2,\"type\":\"tag\","
                                      "\"max-ref-age-ms\":799}",
                              NULL};

    (void)state;
    assert_plan(&history, 6, RULES(.older_than_ms = 350), "1,2,3,7 -t");
    history.refs = MAIN(6) ",\"t\":{\"snapshot-id\":2,\"type\":\"tag\",\"max-ref-age-ms\":800}";
    assert_plan(&history, 6, RULES(.older_than_ms = 350), "1,3,7");
    history.refs = MAIN(6) "," TAG_T ",\"b\":{\"snapshot-id\":7,\"type\":\"branch\"}";
    history.properties = "\"history.expire.max-ref-age-ms\":\"700\"";
    assert_plan(&history, 6, RULES(.older_than_ms = 350), "1,2,3 -t");
    history.refs = "\"main\":{\"snapshot-id\":6,\"type\":\"branch\",\"max-ref-age-ms\":1}";
    assert_plan(&history, 6, RULES(.older_than_ms = 1), "");
}

/* Staged ones and what was rolled back. */
static void what_no_ref_reaches_stays_while_young(void **state)
{
    static const struct history history = {branched, 7, MAIN(3), NULL};

    (void)state;
    assert_plan(&history, 3, RULES(.older_than_ms = 450), "1,2,7,4");
    assert_plan(&history, 3, RULES(.older_than_ms = 310), "1,2");
}

static void named_snapshots_go_and_age_counts_for_the_rest(void **state)
{
    static const int64_t young[] = {5, 77};
    static const int64_t head[] = {6};
    static const int64_t tagged[] = {2};
    struct history history = {branched, 7, MAIN(6) "," TAG_T, NULL};
    struct cv_table_metadata *metadata;
    struct cv_expire_rules rules;
    struct cv_expire_plan plan;

    (void)state;
    assert_plan(&history, 6,
                RULES(.older_than_ms = 300, .snapshot_ids = young, .snapshot_id_count = 2), "1,5");
    metadata = metadata_of(&history, 6);
    rules = RULES(.snapshot_ids = head, .snapshot_id_count = 1);
    CV_ASSERT_FAILS(cv_expire_plan(metadata, &rules, &arena, &plan, &err), CV_USAGE,
                    "Cannot expire 6. Still referenced by refs: main", &err);
    rules.snapshot_ids = tagged;
    CV_ASSERT_FAILS(cv_expire_plan(metadata, &rules, &arena, &plan, &err), CV_USAGE,
                    "Cannot expire 2. Still referenced by refs: t", &err);
    rules.retain_last = 0;
    CV_ASSERT_FAILS(cv_expire_plan(metadata, &rules, &arena, &plan, &err), CV_USAGE,
                    "must be at least 1, cannot be: 0", &err);
    cv_table_metadata_free(metadata);
    history.refs = MAIN(6) ",\"t\":{\"snapshot-id\":2,\"type\":\"tag\",\"max-ref-age-ms\":1}";
    assert_plan(&history, 6, RULES(.snapshot_ids = tagged, .snapshot_id_count = 1), "2 -t");
}

static void carriers_of_positions_stay(void **state)
{
    static const int64_t keep[] = {2, 99};
    static const int64_t named[] = {2, 4};

    (void)state;
    assert_plan(&plain, 6, RULES(.older_than_ms = 5000, .keep_ids = keep, .keep_id_count = 2),
                "1,3,4,5");
    assert_plan(
        &plain, 6,
        RULES(.keep_ids = keep, .keep_id_count = 2, .snapshot_ids = named, .snapshot_id_count = 2),
        "4");
}

static void an_empty_table_has_nothing_to_expire(void **state)
{
    static const struct history history = {NULL, 0, "", NULL};

    (void)state;
    assert_plan(&history, -1, RULES(.older_than_ms = 5000), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_and_the_young_stay),
        cmocka_unit_test(what_the_call_leaves_out_the_table_says),
        cmocka_unit_test(the_walk_stops_at_the_first_that_fails),
        cmocka_unit_test(branches_and_tags_hold_their_snapshots),
        cmocka_unit_test(limits_of_a_branch_stand_before_the_call),
        cmocka_unit_test(refs_go_by_the_age_of_their_snapshot),
        cmocka_unit_test(what_no_ref_reaches_stays_while_young),
        cmocka_unit_test(named_snapshots_go_and_age_counts_for_the_rest),
        cmocka_unit_test(carriers_of_positions_stay),
        cmocka_unit_test(an_empty_table_has_nothing_to_expire),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    cv_arena_release(&arena);
    return failed;
}
