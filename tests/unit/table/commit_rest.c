/* SPDX-License-Identifier: Apache-2.0
 *
 * Commits to a catalog that writes the metadata itself: one request for each while nobody else
 * commits, and what becomes of conflicts and lost answers (cases 40 and 41). The catalog here
 * checks what a REST catalog checks, the heads of refs. */
#include "fixture.h"

#include "table/refs.h"
#include "table/set_properties.h"

enum deed {
    PASS,        /* as it should be */
    DROP_ANSWER, /* applied, no answer */
    LOSE,        /* not applied, no answer */
    LATE,        /* no answer; applied before the second load after it, if it still can */
    RIVAL,       /* somebody else commits first */
    REFUSE,      /* a plain error, not applied */
    OUTDATED,    /* the same, for what somebody else has made of the table before */
};

static struct {
    struct cv_catalog base;
    struct cv_table_metadata *now;
    int version;
    const enum deed *deeds;
    size_t deed_count, deed;
    struct cv_table_metadata *late_base, *late_next;
    int late_loads; /* until it arrives */
    int loads, commits;
    bool rival_sets_property;
} fake;

static struct fixture f;

static const char *location_now(struct cv_arena *arena)
{
    return cv_arena_printf(arena, "memory:%d", fake.version);
}

static void become(const struct cv_table_metadata *next)
{
    struct cv_table_metadata *copy = cv_table_metadata_copy(next);

    cv_table_metadata_free(fake.now);
    fake.now = copy;
    fake.version++;
}

static bool same_head(const struct cv_table_metadata *a, const struct cv_table_metadata *b)
{
    const struct cv_snapshot *x = cv_table_metadata_head(a, "main");
    const struct cv_snapshot *y = cv_table_metadata_head(b, "main");

    return (x ? x->id : -1) == (y ? y->id : -1);
}

/* Only what the updates name changes: here properties, and main with its snapshot. */
static enum cv_code apply(const struct cv_table_metadata *base,
                          const struct cv_table_metadata *next, struct cv_error *error)
{
    if (!same_head(base, next) && !same_head(base, fake.now))
        return cv_fail(error, CV_CONFLICT, "main has moved");
    become(next);
    return CV_OK;
}

static void rival_commits(void)
{
    CV_CLEANUP(cv_table_metadata_freep)
    struct cv_table_metadata *next = cv_table_metadata_copy(fake.now);
    struct cv_snapshot snapshot = {.id = 4711 + fake.version,
                                   .parent_id = -1,
                                   .sequence_number = next->last_sequence_number + 1,
                                   .timestamp_ms = 1,
                                   .schema_id = 0};
    const struct cv_snapshot *head = cv_table_metadata_head(next, "main");

    snapshot.parent_id = head ? head->id : -1;
    snapshot.manifest_list = head ? head->manifest_list : NULL;
    if (fake.rival_sets_property || !head) {
        cv_properties_set(&next->properties, "rival", "was here");
    } else {
        cv_properties_set(&snapshot.summary, "operation", "append");
        CV_ASSERT_OK(cv_table_metadata_add_snapshot(next, &snapshot, "main", &err), &err);
        cv_properties_release(&snapshot.summary);
    }
    become(next);
}

static enum cv_code fake_load(struct cv_catalog *base, const struct cv_table_name *name,
                              const char *known, struct cv_arena *arena,
                              struct cv_catalog_entry *ret_entry, struct cv_error *error)
{
    (void)base;
    (void)name;
    (void)error;
    fake.loads++;
    if (fake.late_next && fake.late_loads-- == 0) {
        (void)apply(fake.late_base, fake.late_next, NULL);
        cv_table_metadata_free(cv_steal(fake.late_base));
        cv_table_metadata_free(cv_steal(fake.late_next));
    }
    *ret_entry = (struct cv_catalog_entry){.metadata_location = location_now(arena)};
    ret_entry->unchanged = known && strcmp(known, ret_entry->metadata_location) == 0;
    if (!ret_entry->unchanged)
        ret_entry->metadata = cv_table_metadata_copy(fake.now);
    return CV_OK;
}

static enum cv_code fake_commit(struct cv_catalog *catalog, const struct cv_table_name *name,
                                const struct cv_catalog_change *change, struct cv_arena *arena,
                                struct cv_catalog_entry *ret_entry, struct cv_error *error)
{
    enum deed deed = fake.deed < fake.deed_count ? fake.deeds[fake.deed++] : PASS;

    (void)catalog;
    (void)name;
    assert_null(change->next_location);
    fake.commits++;
    if (deed == RIVAL || deed == OUTDATED)
        rival_commits();
    if (deed == REFUSE || deed == OUTDATED)
        return cv_fail(error, CV_CATALOG, "refused");
    if (deed == LATE) {
        fake.late_base = cv_table_metadata_copy(change->base);
        fake.late_next = cv_table_metadata_copy(change->next);
        fake.late_loads = 1;
    }
    if (deed == LATE || deed == LOSE)
        return cv_fail(error, CV_UNKNOWN, "no answer");
    CV_DO(apply(change->base, change->next, error));
    if (deed == DROP_ANSWER)
        return cv_fail(error, CV_UNKNOWN, "no answer");
    *ret_entry = (struct cv_catalog_entry){.metadata_location = location_now(arena),
                                           .metadata = cv_table_metadata_copy(fake.now)};
    return CV_OK;
}

static const struct cv_catalog_ops fake_ops = {
    .type = "fake", .writes_metadata = true, .load = fake_load, .commit = fake_commit};

static int set_up(void **state)
{
    static const char *const properties[] = {
        "commit.retry.min-wait-ms=1", "commit.retry.max-wait-ms=2", "commit.retry.num-retries=3",
        "commit.status-check.min-wait-ms=1", "commit.status-check.max-wait-ms=2"};
    struct cv_table *made;

    (void)state;
    fixture_open(&f, "sql");
    made = fixture_table(&f, "day", properties, CV_ARRAY_LENGTH(properties));
    memset(&fake, 0, sizeof fake);
    fake.base.ops = &fake_ops;
    fake.now = cv_table_metadata_copy(made->metadata);
    cv_table_free(made);
    f.table = NULL;
    CV_ASSERT_OK(cv_table_open(&fake.base, "lake.shop.orders", &f.table, &err), &err);
    fake.loads = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cv_table_metadata_free(fake.now);
    cv_table_metadata_free(fake.late_base);
    cv_table_metadata_free(fake.late_next);
    fixture_close(&f);
    return 0;
}

static enum cv_code append_with(const enum deed *deeds, size_t count,
                                struct cv_append_result *ret_result)
{
    fake.deeds = deeds;
    fake.deed_count = count;
    fake.deed = 0;
    return fixture_append(&f, f.table, 2, 4, ret_result);
}

#define APPEND(result, ...)                                                                        \
    append_with((const enum deed[]){__VA_ARGS__},                                                  \
                sizeof((const enum deed[]){__VA_ARGS__}) / sizeof(enum deed), (result))

static void assert_live(size_t wanted)
{
    CV_CLEANUP(cv_table_freep) struct cv_table *reader = NULL;

    CV_ASSERT_OK(cv_table_open(&fake.base, "lake.shop.orders", &reader, &err), &err);
    assert_int_equal(fixture_live_files(reader), wanted);
}

static void a_commit_is_one_request(void **state)
{
    struct cv_append_result result;

    (void)state;
    for (int i = 0; i < 3; i++) {
        CV_ASSERT_OK(fixture_append(&f, f.table, 2, i, &result), &err);
        assert_int_equal(result.attempts, 1);
    }
    assert_int_equal(fake.commits, 3);
    assert_int_equal(fake.loads, 0);
    assert_int_equal(fixture_count_files(&f, "metadata.json"), 1); /* of the table's creation */
    assert_int_equal(fixture_live_files(f.table), 6);
}

static void a_rival_is_noticed_by_the_conflict(void **state)
{
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_OK(fixture_append(&f, f.table, 1, 3, &result), &err);
    CV_ASSERT_OK(APPEND(&result, RIVAL), &err);
    assert_int_equal(result.attempts, 2);
    assert_int_equal(fake.loads, 1);
    assert_live(3);
    assert_int_equal(fake.now->snapshot_count, 3);
}

/* Whose change does not touch the branch is no rival. */
static void a_property_of_somebody_else_is_no_conflict(void **state)
{
    struct cv_append_result result;

    (void)state;
    fake.rival_sets_property = true;
    CV_ASSERT_OK(APPEND(&result, RIVAL), &err);
    assert_int_equal(result.attempts, 1);
    assert_live(2);
}

static void a_lost_answer_is_looked_up(void **state)
{
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_OK(APPEND(&result, DROP_ANSWER), &err);
    assert_int_equal(fake.commits, 1);
    assert_live(2);
    assert_int_equal(fixture_live_files(f.table), 2);
}

static void a_lost_request_is_sent_again(void **state)
{
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_OK(APPEND(&result, LOSE, LOSE), &err);
    assert_int_equal(fake.commits, 3);
    assert_int_equal(fake.now->snapshot_count, 1);
    assert_live(2);
}

/* Both carry one snapshot id and assert one head: whichever is first wins, and is recognised. */
static void a_late_request_and_its_repetition_land_once(void **state)
{
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_OK(APPEND(&result, LATE), &err);
    assert_int_equal(fake.now->snapshot_count, 1);
    assert_live(2);
    assert_int_equal(fixture_live_files(f.table), 2);
}

static void nothing_but_loss_stays_unknown_and_keeps_its_files(void **state)
{
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_FAILS(APPEND(&result, LOSE, LOSE, LOSE, LOSE, LOSE), CV_UNKNOWN, "given up", &err);
    assert_int_equal(fixture_count_files(&f, "-m0.avro"), 1);
    assert_live(0);
}

static void a_refusal_removes_the_files(void **state)
{
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_FAILS(APPEND(&result, REFUSE), CV_CATALOG, "refused", &err);
    assert_int_equal(fixture_count_files(&f, ".avro"), 0);
}

static void a_refusal_of_an_outdated_change_is_no_failure(void **state)
{
    struct cv_append_result result;

    (void)state;
    fake.rival_sets_property = true;
    CV_ASSERT_OK(APPEND(&result, OUTDATED), &err);
    assert_int_equal(fake.commits, 2);
    assert_live(2);
}

/* No snapshot tells: the states do. */
static void a_change_without_snapshot_is_recognised(void **state)
{
    static const enum deed deeds[] = {DROP_ANSWER};
    struct cv_properties set = {0};
    bool changed;

    (void)state;
    cv_properties_set(&set, "k", "v");
    fake.deeds = deeds;
    fake.deed_count = 1;
    CV_ASSERT_OK(cv_table_set_properties(f.table, &set, NULL, 0, &changed, &err), &err);
    assert_int_equal(fake.commits, 1);
    assert_string_equal(cv_properties_get(&f.table->metadata->properties, "k"), "v");
    cv_properties_release(&set);
}

/* Who commits through the same queue is known of: no attempt is wasted. */
static void a_commit_of_the_own_process_is_read_first(void **state)
{
    CV_CLEANUP(cv_commit_queue_freep) struct cv_commit_queue *queue = cv_commit_queue_new();
    CV_CLEANUP(cv_table_freep) struct cv_table *other = NULL;
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_OK(cv_table_open(&fake.base, "lake.shop.orders", &other, &err), &err);
    f.table->queue = other->queue = queue;
    CV_ASSERT_OK(fixture_append(&f, other, 1, -1, &result), &err);
    fake.loads = fake.commits = 0;
    CV_ASSERT_OK(fixture_append(&f, f.table, 1, 0, &result), &err);
    assert_int_equal(result.attempts, 1);
    assert_int_equal(fake.commits, 1);
    assert_int_equal(fake.loads, 1);
    CV_ASSERT_OK(fixture_append(&f, f.table, 1, 1, &result), &err);
    assert_int_equal(fake.loads, 1);
    assert_live(3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_commit_is_one_request),
        TEST(a_rival_is_noticed_by_the_conflict),
        TEST(a_property_of_somebody_else_is_no_conflict),
        TEST(a_lost_answer_is_looked_up),
        TEST(a_lost_request_is_sent_again),
        TEST(a_late_request_and_its_repetition_land_once),
        TEST(nothing_but_loss_stays_unknown_and_keeps_its_files),
        TEST(a_refusal_removes_the_files),
        TEST(a_refusal_of_an_outdated_change_is_no_failure),
        TEST(a_change_without_snapshot_is_recognised),
        TEST(a_commit_of_the_own_process_is_read_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
