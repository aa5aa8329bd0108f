/* SPDX-License-Identifier: Apache-2.0
 *
 * Versions of a state against a model: batches, redone batches, watermarks, compaction, crashes and
 * damage. */
#include "model.h"

#include "state/state.h"

#include <dirent.h>
#include <inttypes.h>

static struct cv_error err;

/* One for all worlds: the number of folders of a test is limited. */
static const char *folder_of_all(void)
{
    static const char *folder;

    if (!folder)
        folder = cv_test_folder();
    return folder;
}

/* One state on disk, and what must be in it. */
struct world {
    struct model model;
    struct model_row before[MODEL_KEYS]; /* as the version before was */
    struct cv_store *store;
    char location[64];
    struct cv_state *state;
    size_t memory_bytes;
    int64_t batch;
    int64_t used_us, watermark_us; /* of the batch before, of the next one */
    int64_t used_before_us, watermark_before_us;
};

static void open_state(struct world *world)
{
    const struct cv_state_config config = {
        .store = world->store,
        .location = world->location,
        .keyed = &world->model.keyed,
        .fingerprint = "some query",
        .memory_bytes = world->memory_bytes,
    };

    cv_state_free(world->state);
    cv_state_open(&config, &world->state);
}

static void open_world(struct world *world, uint64_t seed, size_t memory_bytes)
{
    static int worlds;

    memset(world, 0, sizeof *world);
    model_open(&world->model, seed);
    world->memory_bytes = memory_bytes;
    world->batch = -1;
    world->used_us = world->watermark_us = INT64_MIN;
    (void)snprintf(world->location, sizeof world->location, "%s/%d/state", folder_of_all(),
                   ++worlds);
    CV_ASSERT_OK(cv_store_open(world->location, NULL, &world->store, &err), &err);
    open_state(world);
    CV_ASSERT_OK(cv_state_load(world->state, -1, &err), &err);
}

static void close_world(struct world *world)
{
    cv_state_free(world->state);
    cv_store_free(world->store);
    model_release(&world->model);
}

/* The rows of a batch; those that are late do not reach the model. */
static struct cv_runs *make_rows(struct world *world, uint32_t count, uint32_t keys)
{
    const struct cv_runs_config config = {.keyed = &world->model.keyed,
                                          .memory_bytes = world->memory_bytes,
                                          .spill_directory = folder_of_all()};
    struct cv_runs *runs = cv_runs_new(&config);
    struct cv_batch_builder rows;
    struct cv_batch batch;
    int64_t late, us;

    cv_batch_builder_init(&rows, &world->model.schema);
    for (; count > 0; count--) {
        uint32_t id = model_random(&world->model, keys);
        bool is_late = model_window(id, &us) && us <= world->used_us;

        model_put(&world->model, &rows, id, !is_late);
    }
    cv_batch_builder_view(&rows, &batch);
    CV_ASSERT_OK(cv_runs_add(runs, &batch, world->used_us, &late, &err), &err);
    cv_batch_builder_release(&rows);
    return runs;
}

static bool closes(uint32_t id, const void *context)
{
    const struct world *world = context;
    int64_t us;

    return model_window(id, &us) && us <= world->watermark_us;
}

/* Reads what the batch closes, then writes it. */
static enum cv_code write_batch(struct world *world, struct cv_runs *runs, int64_t next_us)
{
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *rows = NULL, *again = NULL;
    struct cv_merge_reader *closing;

    CV_ASSERT_OK(cv_runs_read(runs, &rows, &err), &err);
    CV_ASSERT_OK(cv_state_read(world->state, rows, &world->watermark_us, &closing, &err), &err);
    model_check(&world->model, closing, closes, world);
    CV_ASSERT_OK(cv_runs_read(runs, &again, &err), &err);
    return cv_state_write(world->state, world->batch + 1, again, world->watermark_us, next_us,
                          &err);
}

static void close_in_model(struct world *world)
{
    for (uint32_t id = 0; id < MODEL_KEYS; id++)
        if (closes(id, world))
            world->model.rows[id] = (struct model_row){0};
}

static void check(struct world *world)
{
    struct cv_merge_reader *reader;

    CV_ASSERT_OK(cv_state_read(world->state, NULL, NULL, &reader, &err), &err);
    model_check(&world->model, reader, NULL, NULL);
}

static void keep_before(struct world *world)
{
    memcpy(world->before, world->model.rows, sizeof world->before);
    world->used_before_us = world->used_us;
    world->watermark_before_us = world->watermark_us;
}

static void take_back(struct world *world)
{
    memcpy(world->model.rows, world->before, sizeof world->before);
    world->used_us = world->used_before_us;
    world->watermark_us = world->watermark_before_us;
}

/* A whole batch of some rows, after which the watermark is `next_us`. */
static void run_batch(struct world *world, uint32_t count, uint32_t keys, int64_t next_us)
{
    struct cv_state_counters counters;
    struct cv_runs *runs;

    keep_before(world);
    runs = make_rows(world, count, keys);
    CV_ASSERT_OK(write_batch(world, runs, next_us), &err);
    cv_runs_free(runs);
    close_in_model(world);
    cv_state_counters(world->state, &counters);
    assert_true(counters.watermark_us == world->watermark_us);
    assert_true(counters.next_watermark_us == next_us);
    world->batch++;
    world->used_us = world->watermark_us;
    world->watermark_us = next_us;
}

static size_t files_on_disk(const struct world *world, const char *suffix)
{
    DIR *folder = opendir(world->location);
    size_t count = 0;

    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        count += cv_text_ends_with(entry->d_name, suffix);
    (void)closedir(folder);
    return count;
}

/* --- batches --------------------------------------------------------------------------------- */

static void no_rows(void **state)
{
    static struct world world;
    bool exists = true;

    (void)state;
    open_world(&world, 1, 1 << 20);
    CV_ASSERT_OK(cv_state_exists(world.store, world.location, &exists, &err), &err);
    assert_false(exists);
    check(&world);
    CV_ASSERT_OK(cv_state_write(world.state, 0, NULL, INT64_MIN, 5, &err), &err);
    CV_ASSERT_FAILS(cv_state_write(world.state, 0, NULL, INT64_MIN, 5, &err), CV_INTERNAL,
                    "of batch 0 already", &err);
    world.batch = 0;
    run_batch(&world, 0, 1, INT64_MIN);
    check(&world);
    CV_ASSERT_OK(cv_state_exists(world.store, world.location, &exists, &err), &err);
    assert_true(exists);
    close_world(&world);
}

/* Batches of all sizes; restarts, redone batches and purges between them. */
static void run_many(uint64_t seed, size_t memory_bytes, size_t batches)
{
    static struct world world;
    struct cv_state_counters counters;
    int64_t next_us;

    open_world(&world, seed, memory_bytes);
    for (size_t i = 0; i < batches; i++) {
        uint32_t size = model_random(&world.model, 10) ? 120 : 4000;

        next_us = world.watermark_us;
        if (model_random(&world.model, 3) == 0)
            next_us =
                CV_MAX(next_us, (int64_t)(i * 60 / batches) * MODEL_MINUTE - 12 * MODEL_MINUTE);
        run_batch(&world, model_random(&world.model, size), MODEL_KEYS, next_us);
        check(&world);
        if (model_random(&world.model, 4) == 0 && world.batch > 0) {
            take_back(&world); /* the batch is done once more, with other rows */
            world.batch--;
            open_state(&world);
            CV_ASSERT_OK(cv_state_load(world.state, world.batch, &err), &err);
            check(&world);
            run_batch(&world, model_random(&world.model, size), MODEL_KEYS, next_us);
        }
        if (model_random(&world.model, 3) == 0)
            cv_state_purge(world.state, world.batch - 2);
        if (model_random(&world.model, 5) == 0)
            open_state(&world);
        CV_ASSERT_OK(cv_state_load(world.state, world.batch, &err), &err);
        check(&world);
        cv_state_counters(world.state, &counters);
        assert_in_range(counters.files, 0, 10);
    }
    cv_state_purge(world.state, world.batch);
    cv_state_purge(world.state, world.batch);
    assert_int_equal(files_on_disk(&world, ".json"), 1);
    assert_in_range(files_on_disk(&world, ".parquet"), counters.files, counters.files + 1);
    close_world(&world);
}

static void follows_the_model(void **state)
{
    (void)state;
    run_many(2, 20000, 60);
    run_many(3, 200000, 60);
    run_many(4, (size_t)64 << 20, 100);
}

/* Small batches upon a large state: few files are merged, and closed ones leave unread. */
static void files_stay_few(void **state)
{
    static struct world world;
    struct cv_state_counters counters;

    (void)state;
    open_world(&world, 5, 1 << 20);
    run_batch(&world, 20000, MODEL_KEYS, INT64_MIN);
    for (size_t i = 0; i < 40; i++) {
        run_batch(&world, 20, MODEL_KEYS, INT64_MIN);
        cv_state_counters(world.state, &counters);
        assert_in_range(counters.files, 1, 10);
        assert_in_range(counters.rows_written, 1, 20);
    }
    assert_true(counters.files > 2);
    check(&world);
    close_world(&world);
}

/* Purges after a restart know what the process before left behind. */
static void purges_after_a_restart(void **state)
{
    static struct world world;
    struct cv_state_counters counters;

    (void)state;
    for (int64_t kept = 0; kept < 4; kept++) {
        open_world(&world, 11, 1 << 20);
        for (size_t i = 0; i < 24; i++) {
            run_batch(&world, 100, 60, INT64_MIN);
            cv_state_purge(world.state, world.batch - kept);
            if (i % 5 == 4) {
                open_state(&world);
                CV_ASSERT_OK(cv_state_load(world.state, world.batch, &err), &err);
            }
        }
        assert_int_equal(files_on_disk(&world, ".json"), kept + 1);
        for (int64_t i = 0; i <= kept; i++) /* the version alone is left, with what it names */
            CV_ASSERT_OK(cv_state_write(world.state, ++world.batch, NULL, INT64_MIN, 0, &err),
                         &err);
        cv_state_purge(world.state, world.batch);
        cv_state_counters(world.state, &counters);
        assert_int_equal(files_on_disk(&world, ".json"), 1);
        assert_int_equal(files_on_disk(&world, ".parquet"), counters.files);
        close_world(&world);
    }
}

static void fresh_keys_are_lacking(void **state)
{
    static struct world world;
    struct cv_merge_reader *rows, *lacking;
    struct cv_batch batch;
    struct cv_runs *runs;
    size_t count = 0, wanted = 0, met = 0;
    uint32_t id;

    (void)state;
    open_world(&world, 6, 100000);
    for (size_t i = 0; i < 5; i++)
        run_batch(&world, 300, 1000, INT64_MIN);
    keep_before(&world);
    runs = make_rows(&world, 1500, 1200);
    for (id = 0; id < MODEL_KEYS; id++)
        wanted += world.model.rows[id].present && !world.before[id].present;
    CV_ASSERT_OK(cv_runs_read(runs, &rows, &err), &err);
    CV_ASSERT_OK(cv_state_lacking(world.state, rows, &lacking, &err), &err);
    for (;;) {
        CV_ASSERT_OK(cv_merge_reader_next(lacking, &batch, &err), &err);
        if (!batch.row_count)
            break;
        for (size_t i = 0; i < batch.row_count; i++, count++) {
            id = model_check_row(&world.model, &batch, i);
            met += !world.before[id].present;
        }
    }
    assert_true(wanted > 100);
    assert_int_equal(count, wanted);
    assert_int_equal(met, wanted);
    cv_merge_reader_free(lacking);
    cv_merge_reader_free(rows);
    cv_runs_free(runs);
    close_world(&world);
}

/* --- crashes --------------------------------------------------------------------------------- */

/* Dies before its nth operation: from there on everything fails, and nothing is cleaned up. */
struct dying_store {
    struct cv_store base;
    struct cv_store *inner;
    int64_t left;
};

struct dying_output {
    struct cv_output base;
    struct dying_store *store;
    struct cv_output *inner;
};

static enum cv_code operate(struct dying_store *store, struct cv_error *error)
{
    return store->left-- > 0 ? CV_OK : cv_fail(error, CV_IO, "dead");
}

static enum cv_code dying_write(struct cv_output *base, const void *bytes, size_t length,
                                struct cv_error *error)
{
    struct dying_output *output = (struct dying_output *)base;

    CV_DO(operate(output->store, error));
    return cv_output_write(output->inner, bytes, length, error);
}

static enum cv_code dying_close(struct cv_output *base, struct cv_error *error)
{
    struct dying_output *output = (struct dying_output *)base;

    CV_DO(operate(output->store, error));
    CV_DO(cv_output_close(output->inner, error));
    free(output);
    return CV_OK;
}

static void dying_abort(struct cv_output *base)
{
    struct dying_output *output = (struct dying_output *)base;

    if (output->store->left > 0)
        cv_output_abort(output->inner);
    else
        assert_int_equal(cv_output_close(output->inner, NULL), CV_OK);
    free(output);
}

static enum cv_code dying_create(struct cv_store *store, const char *location,
                                 struct cv_output **ret_output, struct cv_error *error)
{
    static const struct cv_output_ops ops = {
        .write = dying_write, .close = dying_close, .abort = dying_abort};
    struct dying_store *dying = (struct dying_store *)store;
    struct dying_output *output;
    struct cv_output *inner;

    CV_DO(operate(dying, error));
    CV_DO(cv_store_create(dying->inner, location, &inner, error));
    output = cv_alloc(sizeof *output);
    *output = (struct dying_output){{.ops = &ops}, dying, inner};
    *ret_output = &output->base;
    return CV_OK;
}

static enum cv_code dying_read(struct cv_store *store, const char *location, int64_t offset,
                               size_t length, struct cv_buf *ret_bytes, struct cv_error *error)
{
    struct dying_store *dying = (struct dying_store *)store;

    return cv_store_read_range(dying->inner, location, offset, length, ret_bytes, error);
}

static enum cv_code dying_size(struct cv_store *store, const char *location, int64_t *ret_size,
                               struct cv_error *error)
{
    return cv_store_size(((struct dying_store *)store)->inner, location, ret_size, error);
}

static enum cv_code dying_remove(struct cv_store *store, const char *location,
                                 struct cv_error *error)
{
    struct dying_store *dying = (struct dying_store *)store;

    CV_DO(operate(dying, error));
    return cv_store_remove(dying->inner, location, error);
}

static enum cv_code dying_list(struct cv_store *store, const char *prefix,
                               enum cv_code (*each)(void *context, const struct cv_listed_file *,
                                                    struct cv_error *),
                               void *context, struct cv_error *error)
{
    struct dying_store *dying = (struct dying_store *)store;

    CV_DO(operate(dying, error));
    return cv_store_list(dying->inner, prefix, each, context, error);
}

static enum cv_code dying_put(struct cv_store *store, const char *location, const void *bytes,
                              size_t length, enum cv_put how, struct cv_error *error)
{
    struct dying_store *dying = (struct dying_store *)store;

    CV_DO(operate(dying, error));
    return cv_store_put(dying->inner, location, bytes, length, how, error);
}

static const struct cv_store_ops dying_ops = {
    .name = "dying",
    .create = dying_create,
    .read = dying_read,
    .size = dying_size,
    .remove = dying_remove,
    .list = dying_list,
    .put = dying_put,
};

/* Some batches, the process dying before operation `nth` of one of them or of its purge; then it is
 * done again. Returns whether it died. */
static bool die_at(int64_t nth, size_t batches)
{
    static struct world world;
    struct dying_store dying = {.base = {.ops = &dying_ops}, .left = INT64_MAX};
    struct cv_runs *runs;
    struct cv_state_counters counters;
    enum cv_code code;
    bool died;

    open_world(&world, 7, 30000);
    for (size_t i = 0; i < batches; i++)
        run_batch(&world, 200, 1000, (int64_t)i * MODEL_MINUTE - 10 * MODEL_MINUTE);
    cv_state_purge(world.state, world.batch);
    dying.inner = world.store;
    world.store = &dying.base;
    open_state(&world);
    CV_ASSERT_OK(cv_state_load(world.state, world.batch, &err), &err);
    dying.left = nth;
    keep_before(&world);
    runs = make_rows(&world, 200, 1000);
    code = write_batch(&world, runs, world.watermark_us);
    if (code == CV_OK)
        cv_state_purge(world.state, world.batch + 1);
    died = dying.left < 0;
    assert_true(code == CV_OK || died);
    cv_runs_free(runs);
    dying.left = INT64_MAX;
    take_back(&world);
    /* Dead before the commit: the batch is done again. */
    open_state(&world);
    if (code != CV_OK) {
        CV_ASSERT_OK(cv_state_load(world.state, world.batch, &err), &err);
        check(&world);
        run_batch(&world, 200, 1000, world.watermark_us);
        check(&world);
    } else {
        world.batch++;
        CV_ASSERT_OK(cv_state_load(world.state, world.batch, &err), &err);
    }
    cv_state_purge(world.state, world.batch);
    cv_state_counters(world.state, &counters);
    CV_ASSERT_OK(cv_state_write(world.state, world.batch + 1, NULL, INT64_MIN, INT64_MIN, &err),
                 &err);
    cv_state_purge(world.state, world.batch + 1);
    cv_state_counters(world.state, &counters);
    assert_int_equal(files_on_disk(&world, ".json"), 1);
    assert_int_equal(files_on_disk(&world, ".parquet"), counters.files);
    world.store = dying.inner;
    open_state(&world); /* of the store that stays */
    close_world(&world);
    return died;
}

static void survives_crashes(void **state)
{
    static const size_t batches[] = {1, 10};

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(batches); i++) {
        int64_t nth = 0;

        while (die_at(nth, batches[i]))
            nth++;
        assert_true(nth > 3);
    }
}

/* --- damage ---------------------------------------------------------------------------------- */

static void must_not_load(struct world *world, int64_t batch, const char *text)
{
    open_state(world);
    err = (struct cv_error)CV_ERROR_INIT;
    CV_ASSERT_FAILS(cv_state_load(world->state, batch, &err), CV_CONTRADICTION, text, &err);
    assert_non_null(strstr(err.hint, "--resume-from=start"));
    CV_ASSERT_FAILS(cv_state_write(world->state, batch + 1, NULL, 0, 0, &err), CV_INTERNAL,
                    "no version", &err);
}

static void read_file(const char *path, struct cv_buf *bytes)
{
    FILE *file = fopen(path, "rb");
    char some[4096];

    assert_non_null(file);
    cv_buf_clear(bytes);
    for (size_t got; (got = fread(some, 1, sizeof some, file)) > 0;)
        cv_buf_append(bytes, some, got);
    assert_int_equal(fclose(file), 0);
}

static void write_bytes(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* Every byte flipped, every shorter length, one byte more, and none. */
static void damage(struct world *world, const char *name)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(0);
    char path[512];

    (void)snprintf(path, sizeof path, "%s/%s", world->location, name);
    read_file(path, &bytes);
    for (size_t i = 0; i < bytes.length; i++) {
        bytes.data[i] ^= (uint8_t)(1u << (i % 8));
        write_bytes(path, bytes.data, bytes.length);
        must_not_load(world, world->batch, ".json, the state after batch");
        bytes.data[i] ^= (uint8_t)(1u << (i % 8));
        if (i % 7 == 0) {
            write_bytes(path, bytes.data, i);
            must_not_load(world, world->batch, ".json, the state after batch");
        }
    }
    cv_buf_append_byte(&bytes, ' ');
    write_bytes(path, bytes.data, bytes.length);
    must_not_load(world, world->batch, "");
    assert_int_equal(unlink(path), 0);
    must_not_load(world, world->batch, "cannot read");
    write_bytes(path, bytes.data, bytes.length - 1);
    open_state(world);
    CV_ASSERT_OK(cv_state_load(world->state, world->batch, &err), &err);
    check(world);
}

static void notices_damage(void **state)
{
    static struct world world;
    char names[16][128];
    size_t count = 0;
    DIR *folder;

    (void)state;
    open_world(&world, 8, 1 << 20);
    for (size_t i = 0; i < 2; i++)
        run_batch(&world, 3, 40, INT64_MIN);
    cv_state_purge(world.state, world.batch);
    folder = opendir(world.location);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            (void)snprintf(names[count++], sizeof names[0], "%.120s", entry->d_name);
    (void)closedir(folder);
    assert_in_range(count, 2, 3);
    for (size_t i = 0; i < count; i++)
        damage(&world, names[i]);
    must_not_load(&world, world.batch + 1, "cannot read");
    close_world(&world);
}

static void refuses_other_states(void **state)
{
    static struct world world;
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(0);
    char from[128], to[128];
    struct cv_state_config config;
    struct cv_state *other;
    bool exists = false;

    (void)state;
    open_world(&world, 9, 1 << 20);
    run_batch(&world, 100, 100, INT64_MIN);
    run_batch(&world, 100, 100, INT64_MIN);
    CV_ASSERT_OK(cv_state_exists(world.store, world.location, &exists, &err), &err);
    assert_true(exists);
    (void)snprintf(from, sizeof from, "%s/0.json", world.location);
    (void)snprintf(to, sizeof to, "%s/1.json", world.location);
    read_file(from, &bytes);
    write_bytes(to, bytes.data, bytes.length);
    must_not_load(&world, 1, "it is of batch 0");
    config = (struct cv_state_config){.store = world.store,
                                      .location = world.location,
                                      .keyed = &world.model.keyed,
                                      .fingerprint = "another query",
                                      .memory_bytes = 1 << 20};
    cv_state_open(&config, &other);
    CV_ASSERT_FAILS(cv_state_load(other, 0, &err), CV_CONTRADICTION, "another query", &err);
    /* A new query: the old one's state goes, what is not its own stays. */
    (void)snprintf(to, sizeof to, "%s/12-note.parquet", world.location);
    write_bytes(to, "x", 1);
    (void)snprintf(to, sizeof to, "%s/.3.json.note.tmp", world.location);
    write_bytes(to, "x", 1);
    (void)snprintf(to, sizeof to, "%s/.3.json.9e107d9d-372b-4bb6-826b-d81d3542a419.tmp",
                   world.location);
    write_bytes(to, "x", 1);
    CV_ASSERT_OK(cv_state_load(other, -1, &err), &err);
    assert_int_equal(files_on_disk(&world, ".json"), 0);
    assert_int_equal(files_on_disk(&world, ".parquet"), 1);
    assert_int_equal(files_on_disk(&world, ".tmp"), 1);
    cv_state_free(other);
    config.fingerprint = "some query";
    world.model.keyed.key_count = 3;
    cv_state_open(&config, &other);
    CV_ASSERT_OK(cv_state_load(other, -1, &err), &err);
    CV_ASSERT_OK(cv_state_write(other, 0, NULL, 0, 0, &err), &err);
    cv_state_free(other);
    world.model.keyed.key_count = 4;
    must_not_load(&world, 0, "it has other columns");
    close_world(&world);
}

static void injects_faults(void **state)
{
    static const char *const faults[] = {"state-file:1=fail", "state-manifest:2=fail"};
    static struct world world;
    struct cv_runs *runs;

    (void)state;
    open_world(&world, 10, 1 << 20);
    run_batch(&world, 100, 100, INT64_MIN);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(faults); i++) {
        keep_before(&world);
        runs = make_rows(&world, 100, 100);
        assert_int_equal(setenv("CALVE_FAULT", faults[i], 1), 0);
        CV_ASSERT_FAILS(write_batch(&world, runs, INT64_MIN), CV_FAULT, "state of batch 1", &err);
        assert_int_equal(unsetenv("CALVE_FAULT"), 0);
        cv_runs_free(runs);
        take_back(&world);
        check(&world);
    }
    run_batch(&world, 100, 100, INT64_MIN);
    check(&world);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_rows),
        cmocka_unit_test(follows_the_model),
        cmocka_unit_test(files_stay_few),
        cmocka_unit_test(purges_after_a_restart),
        cmocka_unit_test(fresh_keys_are_lacking),
        cmocka_unit_test(survives_crashes),
        cmocka_unit_test(notices_damage),
        cmocka_unit_test(refuses_other_states),
        cmocka_unit_test(injects_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
