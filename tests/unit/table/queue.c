/* SPDX-License-Identifier: Apache-2.0
 *
 * The commit queue: appends and maintenance of one process, in threads with catalog connections of
 * their own. No retry is allowed anywhere, so that every lost swap fails its test. */
#include "fixture.h"
#include "tsan_threads.h"

#include "table/commit.h"

#include <pthread.h>
#include <sched.h>

static const char *const no_retries[] = {"commit.retry.num-retries=0",
                                         "commit.retry.min-wait-ms=60000"};

static struct fixture f;
static struct cv_commit_queue *queue;

/* What the builder of maintenance and the appending thread tell each other. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int asked;  /* appends that shall be made */
static int landed; /* that were */

static void open_own(struct fixture *own, enum cv_commit_class commit_class, int number)
{
    struct cv_error error = CV_ERROR_INIT;

    *own = (struct fixture){.folder = f.folder, .files = number * 1000};
    own->catalog = fixture_catalog(own, "sql");
    if (cv_table_open(own->catalog, "lake.shop.orders", &own->table, &error) != CV_OK)
        abort();
    own->table->queue = queue;
    own->table->commit_class = commit_class;
}

static void start_test(void)
{
    fixture_open(&f, "sql");
    (void)fixture_table(&f, "day", no_retries, CV_ARRAY_LENGTH(no_retries));
    queue = cv_commit_queue_new();
    asked = 0;
    landed = 0;
}

static void end_test(void)
{
    cv_commit_queue_free(queue);
    queue = NULL;
    fixture_close(&f);
}

static int append_once(struct fixture *own)
{
    struct cv_error error = CV_ERROR_INIT;
    struct cv_data_file file = fixture_file(own, 0, 20000);
    struct cv_append append = {.files = &file, .file_count = 1};
    struct cv_append_result result;

    if (cv_table_append(own->table, &append, &result, &error) != CV_OK) {
        (void)fprintf(stderr, "append: %s\n", error.message);
        return 0;
    }
    return result.attempts == 1;
}

/* Appends as often as it is asked to; NULL unless each landed at its first attempt. */
static void *append_when_asked(void *total)
{
    struct fixture own;
    bool fine = true;

    open_own(&own, CV_COMMIT_APPEND, 1);
    for (int i = 0; i < *(int *)total; i++) {
        (void)pthread_mutex_lock(&lock);
        while (asked <= i)
            (void)pthread_cond_wait(&changed, &lock);
        (void)pthread_mutex_unlock(&lock);
        fine &= append_once(&own) == 1;
        (void)pthread_mutex_lock(&lock);
        landed++;
        (void)pthread_cond_broadcast(&changed);
        (void)pthread_mutex_unlock(&lock);
    }
    fixture_close(&own);
    return fine ? NULL : &f;
}

static void ask_for_append(bool wait)
{
    (void)pthread_mutex_lock(&lock);
    asked++;
    (void)pthread_cond_broadcast(&changed);
    while (wait && landed < asked)
        (void)pthread_cond_wait(&changed, &lock);
    (void)pthread_mutex_unlock(&lock);
}

struct maintaining {
    int overtaken; /* so many builds see an append land before they are done */
    bool ask_once_more;
};

static enum cv_code build(void *context, struct cv_commit *commit, struct cv_table_metadata *next,
                          bool *ret_done, struct cv_error *error)
{
    struct maintaining *m = context;

    (void)error;
    *ret_done = false;
    cv_properties_set(&next->properties, cv_arena_printf(&commit->arena, "by-%s", commit->uuid),
                      "here");
    if (commit->attempt <= m->overtaken)
        ask_for_append(true);
    else if (m->ask_once_more)
        ask_for_append(false);
    return CV_OK;
}

static enum cv_code maintain(struct cv_table *table, struct maintaining *m,
                             struct cv_commit_outcome *ret_outcome, struct cv_error *error)
{
    const struct cv_commit_operation operation = {.build = build, .context = m};

    return cv_commit_run(table, &operation, ret_outcome, error);
}

static void run_overtaken(struct maintaining m, int appends)
{
    struct cv_commit_outcome outcome;
    struct fixture own;
    pthread_t thread;
    void *failed;

    start_test();
    open_own(&own, CV_COMMIT_MAINTENANCE, 2);
    assert_int_equal(pthread_create(&thread, NULL, append_when_asked, &appends), 0);
    CV_ASSERT_OK(maintain(own.table, &m, &outcome, &err), &err);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    assert_int_equal(outcome.attempts, m.overtaken + 1);
    CV_ASSERT_OK(cv_table_refresh(own.table, &err), &err);
    assert_int_equal(own.table->metadata->snapshot_count, appends);
    assert_int_equal(own.table->metadata->properties.count, 4);
    assert_int_equal(fixture_live_files(own.table), appends);
    /* attempts that were given up leave nothing */
    assert_int_equal(fixture_count_files(&f, "metadata.json"), appends + 2);
    fixture_close(&own);
    end_test();
}

/* Were appends to wait for the build, this would never end. */
static void an_append_never_waits_for_a_build(void **state)
{
    (void)state;
    run_overtaken((struct maintaining){3, false}, 3);
}

static void maintenance_that_is_always_overtaken_holds_the_queue(void **state)
{
    (void)state;
    run_overtaken((struct maintaining){CV_QUEUE_OVERTAKEN_MAX, true}, CV_QUEUE_OVERTAKEN_MAX + 1);
}

/* One that waits for the queue, and in which turn it got it. */
struct waiter {
    enum cv_commit_class commit_class;
    int tid;
    int turn;
};

static int turns;

static void *wait_for_turn(void *argument)
{
    struct waiter *waiter = argument;

    __atomic_store_n(&waiter->tid, (int)gettid(), __ATOMIC_RELEASE);
    cv_commit_queue_enter(queue, waiter->commit_class);
    waiter->turn = ++turns;
    cv_commit_queue_leave(queue);
    return NULL;
}

/* Until the kernel says that the thread sleeps: it has nothing to sleep on but the queue. */
static void await_sleep(struct waiter *waiter)
{
    char path[64];
    char state = 0;

    while (state != 'S') {
        int tid = __atomic_load_n(&waiter->tid, __ATOMIC_ACQUIRE);
        FILE *file;

        (void)sched_yield();
        (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
        file = tid ? fopen(path, "r") : NULL;
        if (!file)
            continue;
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = 0;
        (void)fclose(file);
    }
}

static void appends_that_wait_go_first(void **state)
{
    struct waiter waiters[] = {{CV_COMMIT_MAINTENANCE, 0, 0},
                               {CV_COMMIT_APPEND, 0, 0},
                               {CV_COMMIT_MAINTENANCE, 0, 0},
                               {CV_COMMIT_APPEND, 0, 0}};
    pthread_t threads[4];

    (void)state;
    queue = cv_commit_queue_new();
    turns = 0;
    cv_commit_queue_enter(queue, CV_COMMIT_MAINTENANCE);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_turn, &waiters[i]), 0);
        await_sleep(&waiters[i]);
    }
    cv_commit_queue_leave(queue);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(waiters[1].turn <= 2 && waiters[3].turn <= 2);
    cv_commit_queue_free(queue);
    queue = NULL;
}

#define ROUNDS 15

static void *append_on(void *number)
{
    struct fixture own;
    bool fine = true;

    open_own(&own, CV_COMMIT_APPEND, *(int *)number);
    for (int i = 0; i < ROUNDS; i++)
        fine &= append_once(&own) == 1;
    fixture_close(&own);
    return fine ? NULL : &f;
}

static void *maintain_on(void *number)
{
    struct maintaining m = {0, false};
    bool fine = true;
    struct fixture own;

    open_own(&own, CV_COMMIT_MAINTENANCE, *(int *)number);
    for (int i = 0; i < ROUNDS; i++) {
        struct cv_error error = CV_ERROR_INIT;
        struct cv_commit_outcome outcome;

        if (maintain(own.table, &m, &outcome, &error) == CV_OK)
            continue;
        (void)fprintf(stderr, "maintenance: %s\n", error.message);
        fine = false;
    }
    fixture_close(&own);
    return fine ? NULL : &f;
}

static void both_land_whatever_their_order(void **state)
{
    void *(*const work[])(void *) = {append_on, append_on, maintain_on, maintain_on};
    int numbers[] = {1, 2, 3, 4};
    pthread_t threads[4];

    (void)state;
    start_test();
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work[i], &numbers[i]), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;

        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    CV_ASSERT_OK(cv_table_refresh(f.table, &err), &err);
    assert_int_equal(f.table->metadata->snapshot_count, 2 * ROUNDS);
    assert_int_equal(f.table->metadata->properties.count, 3 + 2 * ROUNDS);
    assert_int_equal(fixture_live_files(f.table), 2 * ROUNDS);
    end_test();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_append_never_waits_for_a_build),
        cmocka_unit_test(maintenance_that_is_always_overtaken_holds_the_queue),
        cmocka_unit_test(appends_that_wait_go_first),
        cmocka_unit_test(both_land_whatever_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
