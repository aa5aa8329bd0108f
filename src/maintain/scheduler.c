/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that runs what a schedule says, one procedure at a time. */
#include "maintain/schedule.h"

#include "base/time.h"
#include "maintain/measure.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define LOOK_US      (60 * CV_US_PER_SECOND) /* between looks at a condition without an interval */
#define FIRST_US     (60 * CV_US_PER_SECOND) /* a job that is started often gets its turn, too */
#define RETRY_US     (60 * CV_US_PER_SECOND)
#define RETRY_US_MAX (3600 * CV_US_PER_SECOND)
#define SLICE_MS     50 /* how soon a stop is noticed */
#define SAME_LOOK_US CV_US_PER_SECOND

/* Of one entry. */
struct turn {
    int64_t next_us;  /* monotonic */
    int64_t retry_us; /* the wait after the last failure; 0 = it went well */
};

struct cv_scheduler {
    struct cv_scheduler_config config;
    struct turn *turns; /* parallel to the entries */
    struct cv_catalog *catalog;
    struct cv_table *table;
    pthread_t thread;
    atomic_bool stopping;
    /* The last look at the table: of which metadata, when, what it found. */
    char *looked_at; /* NULL = none */
    int64_t looked_us;
    struct cv_table_measures measures;
};

static bool is_stopping(struct cv_scheduler *scheduler)
{
    return atomic_load(&scheduler->stopping);
}

static void close_table(struct cv_scheduler *scheduler)
{
    cv_table_free(cv_steal(scheduler->table));
    cv_catalog_free(cv_steal(scheduler->catalog));
}

static enum cv_code fresh_table(struct cv_scheduler *scheduler, struct cv_error *err)
{
    const struct cv_scheduler_config *config = &scheduler->config;

    if (scheduler->table)
        return cv_table_refresh(scheduler->table, err);
    if (!scheduler->catalog)
        CV_DO(config->open_catalog(config->context, &scheduler->catalog, err));
    CV_DO(cv_table_open(scheduler->catalog, config->table_name, &scheduler->table, err));
    scheduler->table->queue = config->queue;
    scheduler->table->commit_class = CV_COMMIT_MAINTENANCE;
    return CV_OK;
}

/* The procedures' callbacks get the scheduler; the configuration's context is another. */
static bool maintenance_stopping(void *context)
{
    return is_stopping(context);
}

static bool maintenance_busy(void *context, const struct cv_partition_spec *spec,
                             const struct cv_value *partition)
{
    const struct cv_scheduler_config *config = &((struct cv_scheduler *)context)->config;

    return config->partition_busy && config->partition_busy(config->context, spec, partition);
}

static void maintenance_warn(void *context, const char *message)
{
    const struct cv_scheduler_config *config = &((struct cv_scheduler *)context)->config;

    if (config->warn)
        config->warn(config->context, message);
}

/* A look at a large table takes its time: it ends when the process shall. */
static enum cv_code check_live(void *context, const struct cv_data_file *file, struct cv_error *err)
{
    (void)file;
    return is_stopping(context) ? cv_fail(err, CV_CANCELLED, "cancelled") : CV_OK;
}

/* Measures the table; conditions that are due together share one look. */
static enum cv_code look(struct cv_scheduler *scheduler, struct cv_error *err)
{
    const char *location = scheduler->table->metadata_location;
    const struct cv_measure_config measure = {
        .busy = maintenance_busy, .live = check_live, .context = scheduler};

    if (scheduler->looked_at && strcmp(scheduler->looked_at, location) == 0 &&
        cv_monotonic_us() - scheduler->looked_us < SAME_LOOK_US)
        return CV_OK;
    free(cv_steal(scheduler->looked_at));
    CV_DO(cv_table_measure(scheduler->table, &measure, &scheduler->measures, err));
    scheduler->looked_at = cv_strdup(location);
    scheduler->looked_us = cv_monotonic_us();
    return CV_OK;
}

static enum cv_code condition_holds(struct cv_scheduler *scheduler,
                                    const struct cv_schedule_entry *entry, bool *ret_holds,
                                    struct cv_error *err)
{
    int64_t value = 0;

    *ret_holds = true;
    if (!entry->measure)
        return CV_OK;
    CV_DO(look(scheduler, err));
    (void)cv_table_measure_named(&scheduler->measures, entry->measure, &value);
    *ret_holds = entry->comparison == '>' ? value > entry->threshold : value < entry->threshold;
    return CV_OK;
}

static enum cv_code run_entry(struct cv_scheduler *scheduler, const struct cv_schedule_entry *entry,
                              struct cv_maintain_result *result, bool *ret_ran,
                              struct cv_error *err)
{
    const struct cv_scheduler_config *config = &scheduler->config;
    struct cv_maintenance maintenance = {
        .table_name = config->table_name,
        .memory_bytes = (size_t)config->schedule->options.memory_bytes,
        .threads = (int)config->schedule->options.threads,
        .spill_directory = config->spill_directory,
        .stopping = maintenance_stopping,
        .partition_busy = maintenance_busy,
        .warn = maintenance_warn,
        .context = scheduler,
    };

    CV_DO(fresh_table(scheduler, err));
    CV_DO(condition_holds(scheduler, entry, ret_ran, err));
    if (!*ret_ran)
        return CV_OK;
    maintenance.catalog = scheduler->catalog;
    maintenance.table = scheduler->table;
    return cv_procedure_run(entry->procedure, &maintenance, &entry->arguments, result, err);
}

static void tell(struct cv_scheduler *scheduler, const struct cv_schedule_event *event)
{
    if (scheduler->config.done)
        scheduler->config.done(scheduler->config.context, event);
}

static void take_turn(struct cv_scheduler *scheduler, size_t index)
{
    const struct cv_schedule_entry *entry = &scheduler->config.schedule->entries[index];
    struct turn *turn = &scheduler->turns[index];
    struct cv_error err = CV_ERROR_INIT;
    struct cv_maintain_result result;
    struct cv_schedule_event event = {
        .entry = entry, .result = &result, .start_ms = cv_now_ms(), .took_us = cv_monotonic_us()};
    bool ran = true;
    enum cv_code code;

    cv_maintain_result_init(&result);
    code = run_entry(scheduler, entry, &result, &ran, &err);
    event.took_us = cv_monotonic_us() - event.took_us;
    turn->retry_us = code == CV_OK         ? 0
                     : turn->retry_us == 0 ? RETRY_US
                                           : CV_MIN(2 * turn->retry_us, RETRY_US_MAX);
    turn->next_us = cv_monotonic_us();
    turn->next_us += turn->retry_us ? turn->retry_us : entry->every_us ? entry->every_us : LOOK_US;
    if (code != CV_OK) {
        close_table(scheduler); /* whatever was wrong with the connection is so no more */
        event.error = &err;
        event.retry_us = turn->retry_us;
    }
    if ((ran || code != CV_OK) && !(code == CV_CANCELLED && is_stopping(scheduler)))
        tell(scheduler, &event);
    cv_maintain_result_release(&result);
}

static void *scheduler_main(void *argument)
{
    struct cv_scheduler *scheduler = argument;

    while (!is_stopping(scheduler)) {
        for (size_t i = 0; i < scheduler->config.schedule->count; i++)
            if (!is_stopping(scheduler) && cv_monotonic_us() >= scheduler->turns[i].next_us)
                take_turn(scheduler, i);
        cv_sleep_ms(SLICE_MS);
    }
    close_table(scheduler);
    return NULL;
}

enum cv_code cv_scheduler_start(const struct cv_scheduler_config *config,
                                struct cv_scheduler **ret_scheduler, struct cv_error *err)
{
    struct cv_scheduler *scheduler = cv_alloc(sizeof *scheduler);
    int64_t now_us = cv_monotonic_us();

    scheduler->config = *config;
    scheduler->turns = cv_alloc(config->schedule->count * sizeof *scheduler->turns + 1);
    for (size_t i = 0; i < config->schedule->count; i++) {
        int64_t every_us = config->schedule->entries[i].every_us;

        scheduler->turns[i].next_us = now_us + CV_MIN(every_us ? every_us : LOOK_US, FIRST_US);
    }
    if (pthread_create(&scheduler->thread, NULL, scheduler_main, scheduler) != 0) {
        free(scheduler->turns);
        free(scheduler);
        return cv_fail(err, CV_INTERNAL, "the thread of the maintenance could not be started");
    }
    *ret_scheduler = scheduler;
    return CV_OK;
}

void cv_scheduler_stop(struct cv_scheduler *scheduler)
{
    if (!scheduler)
        return;
    atomic_store(&scheduler->stopping, true);
    (void)pthread_join(scheduler->thread, NULL);
    free(scheduler->turns);
    free(scheduler->looked_at);
    free(scheduler);
}
