/* SPDX-License-Identifier: Apache-2.0
 *
 * The maintenance: section of a job file, and the thread that follows it. */
#include "../table/fixture.h"

#include "base/time.h"
#include "maintain/schedule.h"

#include <stdatomic.h>

static struct cv_arena arena;

static int tear_down(void **state)
{
    (void)state;
    cv_arena_release(&arena);
    return 0;
}

static enum cv_code read_text(const char *section, struct cv_schedule *schedule)
{
    CV_CLEANUP(cv_job_file_release) struct cv_job_file file = {0};
    const char *text = cv_arena_printf(&arena, "job: j\nmaintenance:\n%s", section);

    CV_ASSERT_OK(cv_job_file_parse(cv_str_from(text), "j.yaml", "/", &file, &err), &err);
    return cv_schedule_read(&file, &arena, schedule, &err);
}

static void reads_intervals_conditions_and_arguments(void **state)
{
    CV_CLEANUP(cv_schedule_release) struct cv_schedule schedule = {0};

    (void)state;
    CV_ASSERT_OK(
        read_text("  close-after: 2 minutes\n"
                  "  threads: 2\n"
                  "  expire-snapshots: {every: 1h, when: snapshots > 50, retain_last: 10,\n"
                  "                     snapshot_ids: [1, 2]}\n"
                  "  expire_snapshots: 1 day\n",
                  &schedule),
        &err);
    assert_int_equal(schedule.options.close_after_us, 120 * CV_US_PER_SECOND);
    assert_int_equal(schedule.options.threads, 2);
    assert_int_equal(schedule.options.memory_bytes, 128 << 20);
    assert_int_equal(schedule.count, 2);
    assert_string_equal(schedule.entries[0].procedure->name, "expire-snapshots");
    assert_int_equal(schedule.entries[0].every_us, CV_US_PER_HOUR);
    assert_string_equal(schedule.entries[0].measure, "snapshots");
    assert_int_equal(schedule.entries[0].comparison, '>');
    assert_int_equal(schedule.entries[0].threshold, 50);
    assert_int_equal(schedule.entries[0].arguments.count, 2);
    assert_string_equal(cv_properties_get(&schedule.entries[0].arguments, "snapshot_ids"), "1,2");
    assert_string_equal(schedule.entries[1].procedure->name, "expire-snapshots");
    assert_int_equal(schedule.entries[1].every_us, CV_US_PER_DAY);
    assert_null(schedule.entries[1].measure);
    assert_ptr_equal(cv_schedule_find(&schedule, "expire-snapshots"), &schedule.entries[0]);
    assert_null(cv_schedule_find(&schedule, "rewrite-manifests"));
}

static void an_absent_section_is_an_empty_schedule(void **state)
{
    CV_CLEANUP(cv_job_file_release) struct cv_job_file file = {0};
    CV_CLEANUP(cv_schedule_release) struct cv_schedule schedule = {0};

    (void)state;
    CV_ASSERT_OK(cv_job_file_parse(cv_str_from("job: j"), "j.yaml", "/", &file, &err), &err);
    CV_ASSERT_OK(cv_schedule_read(&file, &arena, &schedule, &err), &err);
    assert_int_equal(schedule.count, 0);
}

static void faults_name_their_line(void **state)
{
    static const struct {
        const char *section, *message;
    } cases[] = {
        {"  expire-snapshots: {retain_last: 1}\n", "line 3, maintenance: expire-snapshots says"},
        {"  expire-snapshots: {every: soon}\n", "soon"},
        {"  expire-snapshots: {every: 10 ms}\n", "every"},
        {"  expire-snapshots: {when: snapshots = 5}\n", "\"snapshots = 5\" is no comparison"},
        {"  expire-snapshots: {when: snapshot > 5}\n", "\"snapshot > 5\" is no comparison"},
        {"  expire-snapshots: {when: snapshots > many}\n", "is no comparison"},
        {"  expire-snapshots: {every: 1h, retain: 5}\n", "retain"},
        {"  vacuum: 1h\n", "vacuum is no procedure"},
        {"  register-table: 1h\n", "is nothing to do again and again"},
        {"  threads: 0\n", "threads"},
    };

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        struct cv_schedule schedule = {0};

        cv_error_clear(&err);
        if (read_text(cases[i].section, &schedule) == CV_OK)
            fail_msg("%s was read", cases[i].section);
        if (!strstr(err.message, cases[i].message) || !strstr(err.message, "line 3"))
            fail_msg("%s gives %s", cases[i].section, err.message);
    }
}

struct failing {
    atomic_int opened, told;
    int64_t retry_us;
    char message[200];
};

static enum cv_code no_catalog(void *context, struct cv_catalog **ret_catalog,
                               struct cv_error *open_err)
{
    (void)ret_catalog;
    (void)atomic_fetch_add(&((struct failing *)context)->opened, 1);
    return cv_fail(open_err, CV_CATALOG, "no catalog today");
}

static void note(void *context, const struct cv_schedule_event *event)
{
    struct failing *failing = context;

    assert_non_null(event->error);
    failing->retry_us = event->retry_us;
    (void)snprintf(failing->message, sizeof failing->message, "%s", event->error->message);
    (void)atomic_fetch_add(&failing->told, 1);
}

/* A failure is told once, with the wait, and the thread can be stopped meanwhile. */
static void a_failure_is_told_and_tried_again_later(void **state)
{
    CV_CLEANUP(cv_schedule_release) struct cv_schedule schedule = {0};
    struct failing failing = {0};
    struct cv_scheduler_config config = {.schedule = &schedule,
                                         .table_name = "lake.shop.orders",
                                         .open_catalog = no_catalog,
                                         .done = note,
                                         .context = &failing};
    struct cv_scheduler *scheduler;
    int64_t deadline_us = cv_monotonic_us() + 20 * CV_US_PER_SECOND;

    (void)state;
    CV_ASSERT_OK(read_text("  expire-snapshots: 1s\n", &schedule), &err);
    CV_ASSERT_OK(cv_scheduler_start(&config, &scheduler, &err), &err);
    while (!atomic_load(&failing.told) && cv_monotonic_us() < deadline_us)
        cv_sleep_ms(10);
    cv_scheduler_stop(scheduler);
    assert_int_equal(atomic_load(&failing.told), 1);
    assert_int_equal(atomic_load(&failing.opened), 1);
    assert_int_equal(failing.retry_us, 60 * CV_US_PER_SECOND);
    assert_string_equal(failing.message, "no catalog today");
}

struct looking {
    struct fixture f;
    atomic_int looks, told;
};

static enum cv_code open_again(void *context, struct cv_catalog **ret_catalog,
                               struct cv_error *open_err)
{
    (void)open_err;
    *ret_catalog = fixture_catalog(&((struct looking *)context)->f, "sql");
    return CV_OK;
}

/* Asked once per partition of a look; the table has one. */
static bool count_look(void *context, const struct cv_partition_spec *spec,
                       const struct cv_value *partition)
{
    (void)spec;
    (void)partition;
    (void)atomic_fetch_add(&((struct looking *)context)->looks, 1);
    return false;
}

static void count_told(void *context, const struct cv_schedule_event *event)
{
    if (event->error)
        fail_msg("%s", event->error->message);
    (void)atomic_fetch_add(&((struct looking *)context)->told, 1);
}

/* Both have nothing to expire, so that the table stays what it was when it was looked at. */
static void conditions_that_are_due_together_share_a_look(void **state)
{
    CV_CLEANUP(cv_schedule_release) struct cv_schedule schedule = {0};
    struct looking looking = {0};
    struct cv_scheduler_config config = {.schedule = &schedule,
                                         .table_name = "lake.shop.orders",
                                         .open_catalog = open_again,
                                         .partition_busy = count_look,
                                         .done = count_told,
                                         .context = &looking};
    int64_t deadline_us = cv_monotonic_us() + 60 * CV_US_PER_SECOND;
    struct cv_append_result result;
    struct cv_scheduler *scheduler;

    (void)state;
    fixture_open(&looking.f, "sql");
    CV_ASSERT_OK(
        fixture_append(&looking.f, fixture_table(&looking.f, "day", NULL, 0), 1, 0, &result), &err);
    CV_ASSERT_OK(read_text("  expire-snapshots: {every: 1s, when: snapshots > 0}\n"
                           "  expire_snapshots: {every: 1s, when: data-files < 2}\n",
                           &schedule),
                 &err);
    CV_ASSERT_OK(cv_scheduler_start(&config, &scheduler, &err), &err);
    while (atomic_load(&looking.told) < 4 && cv_monotonic_us() < deadline_us)
        cv_sleep_ms(10);
    cv_scheduler_stop(scheduler);
    assert_in_range(looking.looks, 1, looking.told - 1);
    fixture_close(&looking.f);
}

struct slow_look {
    struct looking looking; /* first: open_again's */
    atomic_bool stop;
};

/* Begins to go on when the stop is on its way; all partitions together would take seconds then. */
static bool look_slowly(void *context, const struct cv_partition_spec *spec,
                        const struct cv_value *partition)
{
    struct slow_look *look = context;

    (void)count_look(&look->looking, spec, partition);
    while (!atomic_load(&look->stop))
        cv_sleep_ms(1);
    cv_sleep_ms(20);
    return false;
}

static void a_stop_ends_a_look(void **state)
{
    CV_CLEANUP(cv_schedule_release) struct cv_schedule schedule = {0};
    struct slow_look look = {0};
    struct fixture *f = &look.looking.f;
    struct cv_scheduler_config config = {.schedule = &schedule,
                                         .table_name = "lake.shop.orders",
                                         .open_catalog = open_again,
                                         .partition_busy = look_slowly,
                                         .done = count_told,
                                         .context = &look};
    int64_t deadline_us = cv_monotonic_us() + 60 * CV_US_PER_SECOND;
    struct cv_data_file files[100];
    struct cv_append append = {.files = files, .file_count = CV_ARRAY_LENGTH(files)};
    struct cv_append_result result;
    struct cv_scheduler *scheduler;

    (void)state;
    fixture_open(f, "sql");
    fixture_table(f, "day", NULL, 0);
    for (int i = 0; i < (int)CV_ARRAY_LENGTH(files); i++)
        files[i] = fixture_file(f, 0, i);
    CV_ASSERT_OK(cv_table_append(f->table, &append, &result, &err), &err);
    CV_ASSERT_OK(read_text("  expire-snapshots: {every: 1s, when: data-files > 0}\n", &schedule),
                 &err);
    CV_ASSERT_OK(cv_scheduler_start(&config, &scheduler, &err), &err);
    while (atomic_load(&look.looking.looks) == 0 && cv_monotonic_us() < deadline_us)
        cv_sleep_ms(1);
    atomic_store(&look.stop, true);
    cv_scheduler_stop(scheduler);
    assert_in_range(look.looking.looks, 1, CV_ARRAY_LENGTH(files) - 1);
    assert_int_equal(look.looking.told, 0); /* it is no failure */
    fixture_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(reads_intervals_conditions_and_arguments, tear_down),
        cmocka_unit_test_teardown(an_absent_section_is_an_empty_schedule, tear_down),
        cmocka_unit_test_teardown(faults_name_their_line, tear_down),
        cmocka_unit_test_teardown(a_failure_is_told_and_tried_again_later, tear_down),
        cmocka_unit_test_teardown(conditions_that_are_due_together_share_a_look, tear_down),
        cmocka_unit_test_teardown(a_stop_ends_a_look, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
