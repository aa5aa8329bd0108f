/* SPDX-License-Identifier: Apache-2.0
 *
 * Commits against a catalog that loses answers, applies late, refuses, and lets rivals in (cases 40
 * and 41: no data file path in two live entries, nothing deleted that may be in use). */
#include "fixture.h"

#include "table/refs.h"

enum deed {
    PASS,         /* as the real catalog */
    DROP_ANSWER,  /* applied, no answer */
    LOSE,         /* not applied, no answer */
    LATE,         /* no answer; applied before the next load */
    OWN_CONFLICT, /* applied, then "conflict": a request that was sent twice */
    RIVAL,        /* somebody else commits first */
    LOSE_RIVAL,   /* no answer and never applied, since a rival is first */
    REFUSE,       /* a plain error, not applied */
};

struct fake_catalog {
    struct cv_catalog base;
    struct cv_catalog *real;
    const enum deed *deeds;
    size_t deed_count, deed;
    int load_failures; /* of the loads after a commit */
    struct cv_table *rival;
    const char *late_base, *late_next; /* a request on its way */
    int commits;
};

static struct fixture f;
static struct fake_catalog fake;

static const struct cv_table_name *the_name(void)
{
    static struct cv_table_name name;

    CV_ASSERT_OK(cv_table_name_parse("lake.shop.orders", &f.arena, &name, &err), &err);
    return &name;
}

static enum cv_code apply(const char *base, const char *next, struct cv_catalog_entry *ret_entry,
                          struct cv_error *error)
{
    struct cv_catalog_change change = {.base_location = base, .next_location = next};

    return fake.real->ops->commit(fake.real, the_name(), &change, &f.arena, ret_entry, error);
}

static void rival_commits(void)
{
    struct cv_append_result result;

    CV_ASSERT_OK(fixture_append(&f, fake.rival, 1, -1, &result), &err);
}

static enum cv_code fake_load(struct cv_catalog *base, const struct cv_table_name *name,
                              const char *known, struct cv_arena *arena,
                              struct cv_catalog_entry *ret_entry, struct cv_error *error)
{
    (void)base;
    if (fake.commits && fake.load_failures-- > 0)
        return cv_fail(error, CV_CATALOG, "the catalog is down");
    if (fake.late_next) {
        struct cv_catalog_entry ignored;

        (void)apply(fake.late_base, fake.late_next, &ignored, NULL);
        fake.late_next = NULL;
    }
    return fake.real->ops->load(fake.real, name, known, arena, ret_entry, error);
}

static enum cv_code fake_commit(struct cv_catalog *catalog, const struct cv_table_name *name,
                                const struct cv_catalog_change *change, struct cv_arena *arena,
                                struct cv_catalog_entry *ret_entry, struct cv_error *error)
{
    enum deed deed = fake.deed < fake.deed_count ? fake.deeds[fake.deed++] : PASS;
    const char *base = change->base_location;
    const char *next = change->next_location;

    (void)catalog;
    (void)name;
    (void)arena;
    fake.commits++;
    if (deed == RIVAL || deed == LOSE_RIVAL)
        rival_commits();
    if (deed == LATE) {
        fake.late_base = cv_arena_strdup(&f.arena, base);
        fake.late_next = cv_arena_strdup(&f.arena, next);
    }
    if (deed == DROP_ANSWER || deed == OWN_CONFLICT)
        CV_ASSERT_OK(apply(base, next, ret_entry, error), error);
    if (deed == OWN_CONFLICT)
        return cv_fail(error, CV_CONFLICT, "another commit was first");
    if (deed == REFUSE)
        return cv_fail(error, CV_CATALOG, "refused");
    if (deed == PASS || deed == RIVAL)
        return apply(base, next, ret_entry, error);
    return cv_fail(error, CV_UNKNOWN, "no answer");
}

static enum cv_code fake_metadata_location(struct cv_catalog *catalog, const char *folder,
                                           const char *base, bool gzip, struct cv_arena *arena,
                                           const char **ret_location, struct cv_error *error)
{
    (void)catalog;
    return fake.real->ops->metadata_location(fake.real, folder, base, gzip, arena, ret_location,
                                             error);
}

static const struct cv_catalog_ops fake_ops = {
    .type = "fake",
    .load = fake_load,
    .commit = fake_commit,
    .metadata_location = fake_metadata_location,
};

static const struct cv_catalog_ops fake_hadoop_ops = {
    .type = "fake",
    .fixed_layout = true,
    .load = fake_load,
    .commit = fake_commit,
    .metadata_location = fake_metadata_location,
};

static int set_up_with(const char *type, const struct cv_catalog_ops *ops)
{
    static const char *const properties[] = {
        "commit.retry.min-wait-ms=1", "commit.retry.max-wait-ms=2", "commit.retry.num-retries=3",
        "commit.status-check.min-wait-ms=1", "commit.status-check.max-wait-ms=2"};

    fixture_open(&f, type);
    fake = (struct fake_catalog){.base = {ops}, .real = f.catalog};
    fake.rival = fixture_table(&f, "day", properties, CV_ARRAY_LENGTH(properties));
    f.table = NULL;
    CV_ASSERT_OK(cv_table_open(&fake.base, "lake.shop.orders", &f.table, &err), &err);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return set_up_with("sql", &fake_ops);
}

/* Its landed files are v<N>.metadata.json, whatever was written. */
static int set_up_hadoop(void **state)
{
    (void)state;
    return set_up_with("hadoop", &fake_hadoop_ops);
}

static int tear_down(void **state)
{
    (void)state;
    cv_table_free(fake.rival);
    fixture_close(&f);
    return 0;
}

static enum cv_code append_with(const enum deed *deeds, size_t count,
                                struct cv_append_result *ret_result)
{
    fake.deeds = deeds;
    fake.deed_count = count;
    return fixture_append(&f, f.table, 2, 4, ret_result);
}

#define APPEND(result, ...)                                                                        \
    append_with((const enum deed[]){__VA_ARGS__},                                                  \
                sizeof((const enum deed[]){__VA_ARGS__}) / sizeof(enum deed), (result))

/* Files that the table's history needs are there: a fresh reader gets this many. */
static void assert_live(size_t wanted)
{
    CV_CLEANUP(cv_table_freep) struct cv_table *reader = NULL;

    CV_ASSERT_OK(cv_table_open(f.catalog, "lake.shop.orders", &reader, &err), &err);
    assert_int_equal(fixture_live_files(reader), wanted);
}

static void a_rival_costs_a_second_attempt(void **state)
{
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_OK(APPEND(&result, RIVAL), &err);
    assert_int_equal(result.attempts, 2);
    assert_live(3);
    assert_int_equal(fixture_live_files(f.table), 3);
    assert_int_equal(fixture_count_files(&f, "snap-"), 2);    /* the first attempt's list is gone */
    assert_int_equal(fixture_count_files(&f, "-m0.avro"), 2); /* the manifest was used again */
    assert_int_equal(fixture_count_files(&f, "metadata.json"), 3);
    assert_int_equal(f.table->metadata->last_sequence_number, 2);
}

static enum cv_code refuse_a_rival(void *context, const struct cv_table_metadata *metadata,
                                   struct cv_error *error)
{
    ++*(int *)context;
    if (metadata->snapshot_count)
        return cv_fail(error, CV_CONTRADICTION, "there is a rival");
    return CV_OK;
}

/* What the first attempt found in order may be so no more in the second. */
static void every_attempt_is_validated(void **state)
{
    const enum deed deeds[] = {RIVAL};
    struct cv_append_result result;
    struct cv_data_file file;
    int asked = 0;
    struct cv_append append = {
        .files = &file, .file_count = 1, .validate = refuse_a_rival, .validate_context = &asked};

    (void)state;
    fake.deeds = deeds;
    fake.deed_count = 1;
    file = fixture_file(&f, f.table->metadata->default_spec_id, 20000);
    CV_ASSERT_FAILS(cv_table_append(f.table, &append, &result, &err), CV_CONTRADICTION,
                    "there is a rival", &err);
    assert_int_equal(asked, 2);
    assert_live(1);
    assert_int_equal(fixture_count_files(&f, "-m0.avro"), 1); /* the rival's */
}

static void retries_end(void **state)
{
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_FAILS(APPEND(&result, RIVAL, RIVAL, RIVAL, RIVAL, RIVAL), CV_CONFLICT,
                    "4 attempts; the newest is snapshot ", &err);
    assert_non_null(strstr(err.message, "(append by calve "));
    assert_int_equal(fake.commits, 4); /* num-retries=3 */
    assert_live(4);
    assert_int_equal(fixture_count_files(&f, "snap-"), 4); /* only the rival's */
    assert_int_equal(fixture_count_files(&f, "-m0.avro"), 4);
    assert_int_equal(fixture_count_files(&f, "metadata.json"), 5);
}

static void a_plain_refusal_removes_own_files(void **state)
{
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_FAILS(APPEND(&result, REFUSE), CV_CATALOG, "refused", &err);
    assert_int_equal(fake.commits, 1);
    assert_int_equal(fixture_count_files(&f, ".avro"), 0);
    assert_int_equal(fixture_count_files(&f, "metadata.json"), 1);
    assert_live(0);
}

/* Case 40 (a), (b): applied, the answer is lost. */
static void a_lost_answer_is_looked_up(void **state)
{
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_OK(APPEND(&result, DROP_ANSWER), &err);
    assert_int_equal(fake.commits, 1);
    assert_int_equal(err.code, CV_OK);
    assert_non_null(cv_table_metadata_snapshot(f.table->metadata, result.snapshot_id));
    assert_live(2);
    CV_ASSERT_OK(fixture_append(&f, f.table, 1, 5, &result), &err);
    assert_live(3);
}

/* Case 40 (c): the read after it fails too, for a while. */
static void the_look_up_is_repeated(void **state)
{
    struct cv_append_result result;

    (void)state;
    fake.load_failures = 3;
    CV_ASSERT_OK(APPEND(&result, DROP_ANSWER), &err);
    assert_live(2);
}

/* Case 40 (c): and for good. Nothing is removed; the next start finds the batch by its epoch. */
static void not_provable_is_unknown_and_keeps_files(void **state)
{
    struct cv_append_result result;

    (void)state;
    fake.load_failures = 1000;
    CV_ASSERT_FAILS(APPEND(&result, DROP_ANSWER), CV_UNKNOWN, "no answer", &err);
    assert_int_equal(fixture_count_files(&f, "-m0.avro"), 1);
    assert_live(2);
    fake.load_failures = 0;
    CV_ASSERT_OK(fixture_append(&f, f.table, 2, 4, &result), &err);
    assert_true(result.already_done);
    assert_live(2);
}

static void a_lost_request_is_unknown(void **state)
{
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_FAILS(APPEND(&result, LOSE), CV_UNKNOWN, "no answer", &err);
    assert_int_equal(fixture_count_files(&f, "-m0.avro"), 1); /* it may still be on its way */
    assert_int_equal(fixture_count_files(&f, "snap-"), 1);
    assert_int_equal(fixture_count_files(&f, "metadata.json"), 2);
    assert_live(0);
    assert_non_null(strstr(err.hint, "restart"));
}

/* Case 40 (d) and the delayed variant of 41: it lands between the checks. */
static void a_late_request_is_found(void **state)
{
    struct cv_append_result result;

    (void)state;
    fake.load_failures = 1;
    CV_ASSERT_OK(APPEND(&result, LATE), &err);
    assert_int_equal(fake.commits, 1);
    assert_live(2);
}

/* It lands after the batch was given up as unknown and redone: only one of the two can. */
static void a_request_later_than_its_retry_cannot_land(void **state)
{
    struct cv_append_result result;
    struct cv_catalog_entry ignored;
    const char *base;
    const char *next;

    (void)state;
    fake.load_failures = 1000;
    CV_ASSERT_FAILS(APPEND(&result, LATE), CV_UNKNOWN, "no answer", &err);
    base = fake.late_base;
    next = fake.late_next;
    fake.late_next = NULL;
    fake.load_failures = 0;
    CV_ASSERT_OK(fixture_append(&f, f.table, 2, 4, &result), &err); /* the restart's batch 4 */
    assert_false(result.already_done);
    CV_ASSERT_FAILS(apply(base, next, &ignored, &err), CV_CONFLICT, "first", &err);
    assert_live(2);
}

/* Case 41: the conflict is with the own first request. */
static void a_conflict_with_the_own_success_is_success(void **state)
{
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_OK(APPEND(&result, OWN_CONFLICT), &err);
    assert_int_equal(fake.commits, 1);
    assert_live(2);
    assert_int_equal(f.table->metadata->snapshot_count, 1);
    CV_ASSERT_OK(fixture_append(&f, f.table, 1, 5, &result), &err);
    assert_live(3);
}

/* Case 41, variant: a rival wins, then the own request lands and says conflict. */
static void rival_then_own_success(void **state)
{
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_OK(APPEND(&result, RIVAL, OWN_CONFLICT), &err);
    assert_int_equal(fake.commits, 2);
    assert_live(3);
    assert_int_equal(f.table->metadata->snapshot_count, 2);
}

/* The same with the last attempt that is allowed: its files must not be removed. */
static void the_last_conflict_may_be_the_own_success(void **state)
{
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_OK(APPEND(&result, RIVAL, RIVAL, RIVAL, OWN_CONFLICT), &err);
    assert_int_equal(fake.commits, 4); /* num-retries=3 */
    assert_live(5);
}

/* No answer, and the table moved on without it: it cannot land any more, so try again. */
static void a_lost_request_behind_a_rival_is_retried(void **state)
{
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_OK(APPEND(&result, LOSE_RIVAL), &err);
    assert_int_equal(result.attempts, 2);
    assert_live(3);
}

/* After an attempt without an answer no failure may lead to removal of files. */
static void a_refusal_after_an_unknown_stays_unknown(void **state)
{
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_FAILS(APPEND(&result, LOSE_RIVAL, REFUSE), CV_UNKNOWN, "refused", &err);
    assert_int_equal(err.code, CV_UNKNOWN);
    assert_int_equal(fixture_count_files(&f, "-m0.avro"), 2);
    assert_int_equal(fixture_count_files(&f, "snap-"), 3);
}

/* Case 46: another process committed this epoch while ours was being tried. */
static void the_fence_holds_within_the_retries(void **state)
{
    struct cv_append_result result;
    const enum deed deeds[] = {RIVAL};
    struct cv_data_file file = fixture_file(&f, 0, 1);
    const struct cv_append same = {.files = &file, .file_count = 1, .query_id = "q-1", .epoch = 4};
    const struct cv_append later = {.files = &file, .file_count = 1, .query_id = "q-1", .epoch = 5};

    (void)state;
    CV_ASSERT_OK(cv_table_append(fake.rival, &same, &result, &err), &err);
    CV_ASSERT_OK(APPEND(&result, RIVAL), &err);
    assert_true(result.already_done);
    assert_int_equal(fake.commits, 0);
    assert_int_equal(fixture_count_files(&f, "-m0.avro"), 1);
    CV_ASSERT_OK(cv_table_append(fake.rival, &later, &result, &err), &err);
    CV_ASSERT_FAILS(append_with(deeds, 1, &result), CV_CONTRADICTION, "epoch 5", &err);
    assert_int_equal(fixture_count_files(&f, "-m0.avro"), 2);
}

/* CALVE_FAULT=point=fail at each step: nothing is left before the swap, nothing is undone after it.
 * A process counts passages of whatever point is asked for, hence the numbers. */
static void steps_that_fail(void **state)
{
    static const char *const before[] = {"manifest-written:1=fail", "manifest-list-written:2=fail",
                                         "metadata-written:3=fail", "commit-sent:4=fail"};
    struct cv_append_result result;

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(before); i++) {
        assert_int_equal(setenv("CALVE_FAULT", before[i], 1), 0);
        CV_ASSERT_FAILS(APPEND(&result, PASS), CV_FAULT, "fault point", &err);
        assert_int_equal(fixture_count_files(&f, ".avro"), 0);
        assert_int_equal(fixture_count_files(&f, "metadata.json"), 1);
    }
    assert_live(0);
    assert_int_equal(setenv("CALVE_FAULT", "commit-done:5=fail", 1), 0);
    CV_ASSERT_OK(APPEND(&result, PASS), &err); /* as a lost answer: looked up, found */
    assert_live(2);
    assert_int_equal(unsetenv("CALVE_FAULT"), 0);
}

/* Without a snapshot only the metadata file tells: by its name, or by its bytes. */
static void a_commit_without_snapshot_is_recognised(void **state)
{
    static const enum deed deeds[] = {DROP_ANSWER, OWN_CONFLICT};

    (void)state;
    (void)fixture_append(&f, f.table, 1, -1, &(struct cv_append_result){0});
    for (size_t i = 0; i < CV_ARRAY_LENGTH(deeds); i++) {
        const char *name = cv_arena_printf(&f.arena, "tag-%zu", i);
        struct cv_ref_change change = {CV_REF_CREATE, {name, -1, true, -1, -1, -1}, false, false};
        struct cv_ref_move move;

        fake.commits = 0;
        fake.deed = 0;
        fake.deeds = &deeds[i];
        fake.deed_count = 1;
        CV_ASSERT_OK(cv_table_change_ref(f.table, &change, &move, &err), &err);
        assert_int_equal(fake.commits, 1);
        assert_non_null(cv_table_metadata_ref(f.table->metadata, name));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_rival_costs_a_second_attempt),
        TEST(every_attempt_is_validated),
        TEST(retries_end),
        TEST(a_plain_refusal_removes_own_files),
        TEST(a_lost_answer_is_looked_up),
        TEST(the_look_up_is_repeated),
        TEST(not_provable_is_unknown_and_keeps_files),
        TEST(a_lost_request_is_unknown),
        TEST(a_late_request_is_found),
        TEST(a_request_later_than_its_retry_cannot_land),
        TEST(a_conflict_with_the_own_success_is_success),
        TEST(rival_then_own_success),
        TEST(the_last_conflict_may_be_the_own_success),
        TEST(a_lost_request_behind_a_rival_is_retried),
        TEST(a_refusal_after_an_unknown_stays_unknown),
        TEST(the_fence_holds_within_the_retries),
        TEST(steps_that_fail),
        TEST(a_commit_without_snapshot_is_recognised),
        cmocka_unit_test_setup_teardown(a_commit_without_snapshot_is_recognised, set_up_hadoop,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
