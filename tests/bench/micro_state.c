/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU time and memory of keyed state alone: groups (a text of 12 bytes, a count, a decimal sum) are
 * sorted and merged batch by batch, each batch becomes a version; then small batches upon all of
 * them, a load, and a read of the whole. Prints CPU seconds and the peak of memory so far.
 *
 *   micro_state [groups] [memory MiB] [batches] [folder] */
#include "base/time.h"
#include "batch/builder.h"
#include "state/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define BATCH_ROWS  16384
#define SMALL_ROWS  100000
#define SMALL_TIMES 15

static struct cv_error err;
static uint64_t seed = 1;

static uint64_t below(uint64_t bound)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 20) % bound;
}

static void must(enum cv_code code)
{
    if (code == CV_OK)
        return;
    (void)fprintf(stderr, "%s\n", err.message);
    exit(1);
}

static double cpu_seconds(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* What was done since `start`, for so many rows. */
static void report(const char *what, double start, int64_t rows)
{
    double seconds = cpu_seconds() - start;
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    (void)printf("%-28s %10" PRId64 " rows %8.2f s CPU %6.2f us/row, peak %ld MiB\n", what, rows,
                 seconds, seconds * 1e6 / (double)(rows ? rows : 1), usage.ru_maxrss / 1024);
    (void)fflush(stdout);
}

static void add_rows(struct cv_runs *runs, const struct cv_schema *schema, int64_t count,
                     int64_t groups)
{
    struct cv_batch_builder rows;
    struct cv_batch batch;
    int64_t late;

    cv_batch_builder_init(&rows, schema);
    while (count > 0) {
        cv_batch_builder_clear(&rows);
        for (size_t i = 0; i < BATCH_ROWS && count > 0; i++, count--) {
            char key[32];

            (void)snprintf(key, sizeof key, "k%011" PRIu64, below((uint64_t)groups));
            cv_builder_bytes(&rows.columns[0], key, 12);
            cv_builder_i64(&rows.columns[1], 1);
            cv_builder_decimal(&rows.columns[2], (int64_t)below(100000));
        }
        cv_batch_builder_view(&rows, &batch);
        must(cv_runs_add(runs, &batch, INT64_MIN, &late, &err));
    }
    cv_batch_builder_release(&rows);
}

static void run_batch(struct cv_state *state, const struct cv_runs_config *config, int64_t batch,
                      int64_t rows, int64_t groups)
{
    struct cv_runs *runs = cv_runs_new(config);
    struct cv_merge_reader *reader;
    struct cv_runs_counters counters;
    struct cv_state_counters version;
    double start = cpu_seconds();

    add_rows(runs, config->keyed->schema, rows, groups);
    cv_runs_counters(runs, &counters);
    report("  rows sorted", start, rows);
    start = cpu_seconds();
    must(cv_runs_read(runs, &reader, &err));
    must(cv_state_write(state, batch, reader, INT64_MIN, INT64_MIN, &err));
    cv_merge_reader_free(reader);
    cv_runs_free(runs);
    cv_state_counters(state, &version);
    report("  version written", start, rows);
    (void)printf("  %" PRId64 " rows spilled, %" PRId64 " files, %" PRId64 " rows, %" PRId64
                 " MiB\n",
                 counters.rows_spilled, version.files, version.rows, version.bytes >> 20);
    cv_state_purge(state, batch);
}

static void read_all(struct cv_state *state)
{
    struct cv_merge_reader *reader;
    struct cv_batch batch;
    double start = cpu_seconds();
    int64_t rows = 0;

    must(cv_state_read(state, NULL, NULL, &reader, &err));
    do {
        must(cv_merge_reader_next(reader, &batch, &err));
        rows += (int64_t)batch.row_count;
    } while (batch.row_count);
    cv_merge_reader_free(reader);
    report("read of all", start, rows);
}

int main(int argc, char **argv)
{
    static const enum cv_merge merges[] = {0, CV_MERGE_SUM, CV_MERGE_SUM};
    const int64_t groups = argc > 1 ? atoll(argv[1]) : 10000000;
    const size_t memory = (size_t)(argc > 2 ? atoll(argv[2]) : 160) << 20;
    const int64_t batches = argc > 3 ? atoll(argv[3]) : 4;
    const char *folder = argc > 4 ? argv[4] : "/tmp/calve-micro-state";
    struct cv_keyed keyed = {.key_count = 1, .merges = merges, .expiry_column = SIZE_MAX};
    const struct cv_runs_config config = {
        .keyed = &keyed, .memory_bytes = memory, .spill_directory = "/tmp"};
    struct cv_state_config state_config = {
        .location = folder, .keyed = &keyed, .fingerprint = "micro_state", .memory_bytes = memory};
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_schema schema;
    struct cv_state *state;
    int64_t batch = 0;
    double start;

    must(cv_schema_read_ddl("k string, n bigint, total decimal(38,2)", &arena, &schema, &err));
    keyed.schema = &schema;
    must(cv_store_open(folder, NULL, &state_config.store, &err));
    cv_state_open(&state_config, &state);
    must(cv_state_load(state, -1, &err));
    for (; batch < batches; batch++)
        run_batch(state, &config, batch, groups * 2 / batches, groups);
    read_all(state);
    for (int64_t i = 0; i < SMALL_TIMES; i++)
        run_batch(state, &config, batch++, SMALL_ROWS, groups);
    read_all(state);
    cv_state_free(state);
    cv_state_open(&state_config, &state);
    start = cpu_seconds();
    must(cv_state_load(state, batch - 1, &err));
    report("load", start, groups);
    read_all(state);
    cv_state_free(state);
    cv_store_free(state_config.store);
    cv_arena_release(&arena);
    return 0;
}
