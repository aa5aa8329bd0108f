/* SPDX-License-Identifier: Apache-2.0
 *
 * The checkpoint in Spark's bytes: golden files from Spark's formats (sources/0/0 is the vector of
 * Spark's KafkaSourceInitialOffsetWriter), logs that nobody overwrites, the lock, the purge. In a
 * local folder and, where there is no lock, in a store: the one of local files, which survives a
 * process that is killed. */
#include "test.h"

#include "base/file.h"
#include "stream/checkpoint.h"

#include <sys/wait.h>

static struct cv_error err;
static char folder[512];
static bool stored;

static int in_a_folder(void **state)
{
    stored = false;
    return 0;
}

static int in_a_store(void **state)
{
    stored = true;
    return 0;
}

static enum cv_code open_it(bool read_only, struct cv_checkpoint *checkpoint)
{
    struct cv_store *store;
    char location[600];

    if (!stored)
        return cv_checkpoint_open(folder, read_only, checkpoint, &err);
    (void)snprintf(location, sizeof location, "file://%s", folder);
    CV_ASSERT_OK(cv_store_open(location, NULL, &store, &err), &err);
    return cv_checkpoint_open_stored(store, location, read_only, checkpoint, &err);
}

static void open_fresh(struct cv_checkpoint *checkpoint)
{
    (void)snprintf(folder, sizeof folder, "%s/checkpoint", cv_test_folder());
    CV_ASSERT_OK(open_it(false, checkpoint), &err);
}

static void assert_file(const char *name, const void *bytes, size_t length)
{
    struct cv_buf got = CV_BUF_INIT(0);
    char path[600];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    CV_ASSERT_OK(cv_file_read(path, 1 << 20, &got, &err), &err);
    assert_int_equal(got.length, length);
    assert_memory_equal(got.data, bytes, length);
    cv_buf_release(&got);
}

static void put_file(const char *name, const char *text)
{
    char path[600];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    *strrchr(path, '/') = '\0'; /* a store makes folders as it needs them */
    CV_ASSERT_OK(cv_directory_make(path, &err), &err);
    path[strlen(path)] = '/';
    CV_ASSERT_OK(cv_file_write_new(path, text, strlen(text), &err), &err);
}

static bool file_exists(const char *name)
{
    char path[600];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return cv_file_exists(path);
}

static void bytes_are_sparks(void **state)
{
    static const uint8_t initial[] = {0x00, 0x76, 0x31, 0x0a, 0x7b, 0x22, 0x6f, 0x72, 0x64, 0x65,
                                      0x72, 0x73, 0x22, 0x3a, 0x7b, 0x22, 0x30, 0x22, 0x3a, 0x31,
                                      0x30, 0x2c, 0x22, 0x31, 0x22, 0x3a, 0x30, 0x7d, 0x7d};
    static const char offsets[] =
        "v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":1744887126959,\"conf\":{}}\n"
        "{\"orders\":{\"0\":10,\"1\":0}}";
    static const char commit[] = "v1\n{\"nextBatchWatermarkMs\":0}";
    struct cv_checkpoint checkpoint;
    struct cv_offset_log_entry entry = {.batch_timestamp_ms = 1744887126959};

    open_fresh(&checkpoint);
    cv_offsets_set(&entry.offsets, "orders", 1, 0);
    cv_offsets_set(&entry.offsets, "orders", 0, 10);
    CV_ASSERT_OK(
        cv_checkpoint_write_metadata(&checkpoint, "0a1b2c3d-0000-4000-8000-000000000001", &err),
        &err);
    CV_ASSERT_OK(cv_checkpoint_write_initial(&checkpoint, &entry.offsets, &err), &err);
    CV_ASSERT_OK(cv_checkpoint_write_offsets(&checkpoint, 0, &entry, &err), &err);
    CV_ASSERT_OK(cv_checkpoint_write_commit(&checkpoint, 0, &err), &err);
    assert_file("metadata", "{\"id\":\"0a1b2c3d-0000-4000-8000-000000000001\"}", 45);
    assert_file("sources/0/0", initial, sizeof initial);
    assert_file("offsets/0", offsets, sizeof offsets - 1);
    assert_int_equal(sizeof commit - 1, 29);
    assert_file("commits/0", commit, 29);
    cv_offset_log_entry_release(&entry);
    cv_checkpoint_release(&checkpoint);
}

/* The bytes are those of a query of Spark 4.0.1 with a watermark. */
static void watermarks_stand_where_spark_has_them(void **state)
{
    static const char offsets[] =
        "v1\n{\"batchWatermarkMs\":1700000000123,\"batchTimestampMs\":5,\"conf\":{}}\n"
        "{\"orders\":{\"0\":10}}";
    static const char commit[] = "v1\n{\"nextBatchWatermarkMs\":1700000060123}";
    struct cv_checkpoint checkpoint;
    struct cv_offset_log_entry entry = {.batch_timestamp_ms = 5, .watermark_ms = 1700000000123};
    struct cv_offset_log_entry read = {0};
    int64_t next;

    open_fresh(&checkpoint);
    cv_offsets_set(&entry.offsets, "orders", 0, 10);
    CV_ASSERT_OK(cv_checkpoint_write_offsets(&checkpoint, 3, &entry, &err), &err);
    checkpoint.next_watermark_ms = 1700000060123;
    CV_ASSERT_OK(cv_checkpoint_write_commit(&checkpoint, 3, &err), &err);
    assert_file("offsets/3", offsets, sizeof offsets - 1);
    assert_file("commits/3", commit, sizeof commit - 1);
    CV_ASSERT_OK(cv_checkpoint_read_offsets(&checkpoint, 3, &read, &err), &err);
    assert_int_equal(read.watermark_ms, 1700000000123);
    CV_ASSERT_OK(cv_checkpoint_read_commit(&checkpoint, 3, &next, &err), &err);
    assert_int_equal(next, 1700000060123);
    CV_ASSERT_OK(cv_checkpoint_read_commit(&checkpoint, 4, &next, &err), &err);
    assert_int_equal(next, 0);
    put_file("commits/5", "v1");
    CV_ASSERT_OK(cv_checkpoint_read_commit(&checkpoint, 5, &next, &err), &err);
    assert_int_equal(next, 0);
    put_file("commits/6", "v1\n{\"next");
    CV_ASSERT_FAILS(cv_checkpoint_read_commit(&checkpoint, 6, &next, &err), CV_FORMAT, "commits/6",
                    &err);
    cv_offset_log_entry_release(&read);
    cv_offset_log_entry_release(&entry);
    cv_checkpoint_release(&checkpoint);
}

static void sparks_entries_are_read_in_any_key_order(void **state)
{
    struct cv_checkpoint checkpoint;
    struct cv_offset_log_entry entry = {0};

    open_fresh(&checkpoint);
    put_file("offsets/7", "v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":5,\"conf\":"
                          "{\"spark.sql.shuffle.partitions\":\"200\"}}\n"
                          "{\"users\":{\"17\":4,\"8\":5}}");
    CV_ASSERT_OK(cv_checkpoint_read_offsets(&checkpoint, 7, &entry, &err), &err);
    assert_int_equal(entry.batch_timestamp_ms, 5);
    assert_string_equal(entry.conf_json, "{\"spark.sql.shuffle.partitions\":\"200\"}");
    assert_int_equal(cv_offsets_find(&entry.offsets, "users", 17)->offset, 4);
    assert_int_equal(cv_offsets_find(&entry.offsets, "users", 8)->offset, 5);
    cv_offset_log_entry_release(&entry);
    put_file("offsets/8", "v1\n\n{\"users\":{\"8\":5}}");
    CV_ASSERT_OK(cv_checkpoint_read_offsets(&checkpoint, 8, &entry, &err), &err);
    assert_string_equal(entry.conf_json, "{}");
    cv_offset_log_entry_release(&entry);
    cv_checkpoint_release(&checkpoint);
}

static void broken_entries_are_refused(void **state)
{
    static const struct {
        const char *text;
        enum cv_code code;
        const char *message;
    } cases[] = {
        {"", CV_FORMAT, "offsets/0"},
        {"v1\n{}\n-", CV_FORMAT, "source 0"},
        {"v9\n{}\n{\"t\":{\"0\":1}}", CV_UNSUPPORTED, "version 9"},
        {"v1\n{}\n{\"t\":{\"0\":1}}\n{\"u\":{\"0\":1}}", CV_UNSUPPORTED, "more than one source"},
        {"v1\n{}\n{\"t\":{\"0\":-1}}", CV_FORMAT, "offsets/"},
        {"v1\n{}\n{\"t\":{\"x\":1}}", CV_FORMAT, "offsets/"},
        {"v1\n{\n{\"t\":{\"0\":1}}", CV_FORMAT, "offsets/"},
    };
    struct cv_checkpoint checkpoint;

    open_fresh(&checkpoint);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cv_offset_log_entry entry = {0};
        char name[32];

        (void)snprintf(name, sizeof name, "offsets/%zu", i);
        put_file(name, cases[i].text);
        CV_ASSERT_FAILS(cv_checkpoint_read_offsets(&checkpoint, (int64_t)i, &entry, &err),
                        cases[i].code, cases[i].message, &err);
    }
    cv_checkpoint_release(&checkpoint);
}

static void a_batch_is_never_overwritten(void **state)
{
    struct cv_checkpoint checkpoint;
    struct cv_offset_log_entry entry = {0};

    open_fresh(&checkpoint);
    cv_offsets_set(&entry.offsets, "t", 0, 1);
    CV_ASSERT_OK(cv_checkpoint_write_offsets(&checkpoint, 3, &entry, &err), &err);
    CV_ASSERT_FAILS(cv_checkpoint_write_offsets(&checkpoint, 3, &entry, &err), CV_EXISTS,
                    "offsets/3", &err);
    CV_ASSERT_OK(cv_checkpoint_write_commit(&checkpoint, 3, &err), &err);
    CV_ASSERT_FAILS(cv_checkpoint_write_commit(&checkpoint, 3, &err), CV_EXISTS, "commits/3", &err);
    cv_offset_log_entry_release(&entry);
    cv_checkpoint_release(&checkpoint);
}

static void a_second_process_is_refused(void **state)
{
    struct cv_checkpoint checkpoint;
    pid_t child;
    int status;

    open_fresh(&checkpoint);
    child = fork();
    if (child == 0) {
        struct cv_checkpoint second;

        _exit(cv_checkpoint_open(folder, false, &second, &err) == CV_LOCKED &&
                      strstr(err.message, "process ")
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    cv_checkpoint_release(&checkpoint);
    CV_ASSERT_OK(cv_checkpoint_open(folder, false, &checkpoint, &err), &err);
    cv_checkpoint_release(&checkpoint);
}

/* Spark, after offsets/N with N > 100, keeps offsets N-100 … N and commits N-100 … N-1. */
static void old_batches_are_purged_as_spark_does(void **state)
{
    struct cv_checkpoint checkpoint;
    struct cv_offset_log_entry entry = {0};
    char name[32];

    open_fresh(&checkpoint);
    cv_offsets_set(&entry.offsets, "t", 0, 1);
    for (int64_t n = 0; n <= 103; n++) {
        CV_ASSERT_OK(cv_checkpoint_write_offsets(&checkpoint, n, &entry, &err), &err);
        CV_ASSERT_OK(cv_checkpoint_purge(&checkpoint, n, &err), &err);
        if (n < 103)
            CV_ASSERT_OK(cv_checkpoint_write_commit(&checkpoint, n, &err), &err);
    }
    for (int n = 0; n <= 103; n++) {
        (void)snprintf(name, sizeof name, "offsets/%d", n);
        assert_int_equal(file_exists(name), n >= 3);
        (void)snprintf(name, sizeof name, "commits/%d", n);
        assert_int_equal(file_exists(name), n >= 3 && n <= 102);
    }
    cv_offset_log_entry_release(&entry);
    cv_checkpoint_release(&checkpoint);
}

/* There one request takes the logs of 16 batches; between them up to 15 more are kept. */
static void a_store_is_purged_in_lots(void **state)
{
    struct cv_checkpoint checkpoint;
    struct cv_offset_log_entry entry = {0};
    char name[32];

    open_fresh(&checkpoint);
    cv_offsets_set(&entry.offsets, "t", 0, 1);
    put_file("offsets/.5.0a1b2c3d.tmp", "what a Spark that was killed leaves");
    for (int64_t n = 0; n <= 140; n++) {
        CV_ASSERT_OK(cv_checkpoint_write_offsets(&checkpoint, n, &entry, &err), &err);
        CV_ASSERT_OK(cv_checkpoint_purge(&checkpoint, n, &err), &err);
        CV_ASSERT_OK(cv_checkpoint_write_commit(&checkpoint, n, &err), &err);
    }
    for (int n = 0; n <= 140; n++) {
        (void)snprintf(name, sizeof name, "offsets/%d", n);
        assert_int_equal(file_exists(name), n >= 32);
        (void)snprintf(name, sizeof name, "commits/%d", n);
        assert_int_equal(file_exists(name), n >= 32);
    }
    cv_offset_log_entry_release(&entry);
    cv_checkpoint_release(&checkpoint);
}

static void logs_without_metadata_are_refused(void **state)
{
    struct cv_checkpoint checkpoint;

    open_fresh(&checkpoint);
    put_file("offsets/0", "v1\n{}\n{\"t\":{\"0\":1}}");
    put_file("metadata", ""); /* as a power cut leaves Spark's */
    cv_checkpoint_release(&checkpoint);
    CV_ASSERT_FAILS(open_it(true, &checkpoint), CV_CONTRADICTION, "metadata", &err);
    CV_ASSERT_OK(open_it(false, &checkpoint), &err);
    CV_ASSERT_FAILS(cv_checkpoint_check_identity(&checkpoint, &err), CV_CONTRADICTION, "metadata",
                    &err);
    cv_checkpoint_release(&checkpoint);
}

static void a_lock_that_was_taken_away_stops_the_writes(void **state)
{
    struct cv_checkpoint first;
    struct cv_checkpoint second;
    struct cv_memo memo = {.job = "j", .table = "t", .table_uuid = "u", .cluster_id = "c"};
    char path[600];

    open_fresh(&first);
    (void)snprintf(path, sizeof path, "%s/calve.lock", folder);
    assert_int_equal(unlink(path), 0);
    CV_ASSERT_OK(cv_checkpoint_open(folder, false, &second, &err), &err);
    CV_ASSERT_FAILS(cv_checkpoint_write_commit(&first, 1, &err), CV_LOCKED, "calve.lock", &err);
    CV_ASSERT_FAILS(cv_checkpoint_write_memo(&first, &memo, &err), CV_LOCKED, "calve.lock", &err);
    CV_ASSERT_OK(cv_checkpoint_write_commit(&second, 1, &err), &err);
    cv_checkpoint_release(&first);
    assert_true(cv_checkpoint_is_used(folder));
    cv_checkpoint_release(&second);
    assert_false(cv_checkpoint_is_used(folder));
    assert_false(cv_checkpoint_is_used("/nowhere"));
}

static void write_old_state(struct cv_checkpoint *checkpoint)
{
    struct cv_offset_log_entry entry = {0};

    cv_offsets_set(&entry.offsets, "t", 0, 4);
    CV_ASSERT_OK(cv_checkpoint_write_metadata(checkpoint, "old", &err), &err);
    CV_ASSERT_OK(cv_checkpoint_write_offsets(checkpoint, 2, &entry, &err), &err);
    CV_ASSERT_OK(cv_checkpoint_write_commit(checkpoint, 2, &err), &err);
    cv_offset_log_entry_release(&entry);
}

static void make_anew(struct cv_checkpoint *checkpoint)
{
    struct cv_memo memo = {.job = "j", .table = "t", .table_uuid = "u", .cluster_id = "c"};
    struct cv_rebase made = {.query_id = "new", .batch = 7, .memo = &memo};

    cv_offsets_set(&made.entry.offsets, "t", 0, 9);
    CV_ASSERT_OK(cv_checkpoint_rebase(checkpoint, &made, &err), &err);
    cv_offsets_release(&made.entry.offsets);
}

static void assert_made_anew(const struct cv_checkpoint *checkpoint)
{
    assert_string_equal(checkpoint->query_id, "new");
    assert_int_equal(checkpoint->newest_offsets, 7);
    assert_int_equal(checkpoint->newest_commits, 7);
    assert_true(file_exists("offsets/6") && file_exists("commits/6"));
    assert_true(file_exists("calve.json") && file_exists("sources/0/0"));
    assert_false(file_exists("offsets/2") || file_exists("rebase") || file_exists("rebase.tmp"));
}

/* In how many folders of replaced files one of this name is. */
static size_t count_kept(const char *name)
{
    struct cv_arena arena = CV_ARENA_INIT;
    char path[600];
    char **names;
    size_t count;
    size_t kept = 0;

    CV_ASSERT_OK(cv_directory_list(folder, &arena, &names, &count, &err), &err);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", names[i], name);
        kept += cv_text_starts_with(names[i], "replaced-") && file_exists(path);
    }
    cv_arena_release(&arena);
    return kept;
}

static void logs_are_made_anew_and_the_old_ones_kept(void **state)
{
    struct cv_checkpoint checkpoint;

    open_fresh(&checkpoint);
    write_old_state(&checkpoint);
    put_file(".metadata.crc", "Hadoop's");
    make_anew(&checkpoint);
    assert_made_anew(&checkpoint);
    assert_true(stored || !file_exists(".metadata.crc"));
    assert_true(count_kept("offsets/2") == 1 && count_kept("metadata") == 1);
    make_anew(&checkpoint); /* once more, over its own result */
    assert_made_anew(&checkpoint);
    assert_true(count_kept("offsets/2") == 1 && count_kept("offsets/7") == 1);
    cv_checkpoint_release(&checkpoint);
    CV_ASSERT_OK(open_it(false, &checkpoint), &err);
    assert_made_anew(&checkpoint);
    cv_checkpoint_release(&checkpoint);
}

/* In a child, since a fault ends the process: before the new logs are whole the old ones stand,
 * afterwards every start finishes the exchange. */
static void a_crash_leaves_the_old_logs_or_the_new_ones(void **state)
{
    static const char *const faults[] = {
        "rebase-staged", "rebase-half:1", "rebase-half:2", "rebase-half:3", "rebase-half:4",
        "rebase-half:5", "rebase-half:6", "rebase-half:7", "rebase-half:8", "rebase-half:9"};
    const size_t count = stored ? sizeof faults / sizeof faults[0] : 6;

    for (size_t i = 0; i < count; i++) {
        struct cv_checkpoint checkpoint;
        pid_t child;
        int status;

        open_fresh(&checkpoint);
        write_old_state(&checkpoint);
        cv_checkpoint_release(&checkpoint);
        child = fork();
        if (child == 0) {
            (void)setenv("CALVE_FAULT", faults[i], 1);
            if (open_it(false, &checkpoint) == CV_OK)
                make_anew(&checkpoint);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        CV_ASSERT_OK(open_it(false, &checkpoint), &err);
        if (i == 0) {
            assert_string_equal(checkpoint.query_id, "old");
            assert_int_equal(checkpoint.newest_commits, 2);
            make_anew(&checkpoint);
        }
        assert_made_anew(&checkpoint);
        assert_true(count_kept("offsets/2") >= 1);
        cv_checkpoint_release(&checkpoint);
    }
}

/* Nothing locks a store: the name of the marker and the query's id tell that somebody else was
 * there since this process looked. */
static void of_two_that_make_logs_anew_in_a_store_one_ends(void **state)
{
    struct cv_memo memo = {.job = "j", .table = "t", .table_uuid = "u", .cluster_id = "c"};
    struct cv_rebase made = {.query_id = "mine", .batch = CV_BATCH_NONE, .memo = &memo};
    struct cv_checkpoint first;
    struct cv_checkpoint second;

    open_fresh(&first);
    cv_offsets_set(&made.entry.offsets, "t", 0, 9);
    CV_ASSERT_OK(open_it(false, &second), &err);
    CV_ASSERT_OK(cv_checkpoint_rebase(&first, &made, &err), &err);
    made.query_id = "yours";
    CV_ASSERT_FAILS(cv_checkpoint_rebase(&second, &made, &err), CV_LOCKED, "another process", &err);
    assert_file("metadata", "{\"id\":\"mine\"}", 13);
    put_file("rebase", "-damaged");
    CV_ASSERT_FAILS(cv_checkpoint_rebase(&first, &made, &err), CV_LOCKED, "rebase", &err);
    cv_checkpoint_release(&second);
    CV_ASSERT_FAILS(open_it(false, &second), CV_FORMAT, "damaged", &err);
    cv_offsets_release(&made.entry.offsets);
    cv_checkpoint_release(&first);
}

static const struct cv_store_ops *plain_ops;
static struct cv_checkpoint *rival; /* makes its logs just before the next put of a marker */

static enum cv_code put_after_rival(struct cv_store *store, const char *location, const void *bytes,
                                    size_t length, enum cv_put how, struct cv_error *error)
{
    struct cv_checkpoint *first = rival;

    if (first && cv_text_ends_with(location, "/rebase")) {
        rival = NULL;
        make_anew(first);
    }
    return plain_ops->put(store, location, bytes, length, how, error);
}

static void who_looked_before_another_made_logs_leaves_them(void **state)
{
    struct cv_memo memo = {.job = "j", .table = "t", .table_uuid = "u", .cluster_id = "c"};
    struct cv_rebase made = {.query_id = "late", .batch = CV_BATCH_NONE, .memo = &memo};
    struct cv_checkpoint first;
    struct cv_checkpoint second;
    struct cv_store_ops ops;

    open_fresh(&first);
    CV_ASSERT_OK(open_it(false, &second), &err);
    plain_ops = second.store->ops;
    ops = *plain_ops;
    ops.put = put_after_rival;
    second.store->ops = &ops;
    rival = &first;
    CV_ASSERT_FAILS(cv_checkpoint_rebase(&second, &made, &err), CV_LOCKED, "another process", &err);
    assert_null(rival);
    assert_made_anew(&first);
    assert_file("metadata", "{\"id\":\"new\"}", 12);
    cv_checkpoint_release(&second);
    cv_checkpoint_release(&first);
}

static void a_damaged_entry_is_moved_aside(void **state)
{
    struct cv_offset_log_entry entry = {0};
    struct cv_checkpoint checkpoint;

    open_fresh(&checkpoint);
    cv_offsets_set(&entry.offsets, "t", 0, 1);
    CV_ASSERT_OK(cv_checkpoint_write_offsets(&checkpoint, 3, &entry, &err), &err);
    put_file("offsets/4", "");
    CV_ASSERT_OK(cv_checkpoint_put_offsets_aside(&checkpoint, 4, &err), &err);
    assert_int_equal(checkpoint.newest_offsets, 3);
    assert_false(file_exists("offsets/4"));
    CV_ASSERT_OK(cv_checkpoint_write_offsets(&checkpoint, 4, &entry, &err), &err);
    cv_offset_log_entry_release(&entry);
    cv_checkpoint_release(&checkpoint);
}

static void hadoops_stale_checksums_go(void **state)
{
    struct cv_checkpoint checkpoint;

    open_fresh(&checkpoint);
    put_file("commits/.4.crc", "old");
    CV_ASSERT_OK(cv_checkpoint_write_commit(&checkpoint, 4, &err), &err);
    assert_false(file_exists("commits/.4.crc"));
    cv_checkpoint_release(&checkpoint);
}

static void the_memo_comes_back(void **state)
{
    struct cv_fingerprint prints[] = {{"t", 0, 9, 1700000000000, 4000000000u}, {"t", 1, 4, -1, 7}};
    int64_t ends[] = {10, 7};
    struct cv_memo memo = {.batch = 14,
                           .replaced_query = "q",
                           .job = "orders",
                           .table = "lake.shop.orders",
                           .table_uuid = "u",
                           .cluster_id = "c",
                           .snapshot_id = INT64_MAX,
                           .snapshot_epoch = 12,
                           .fingerprints = prints,
                           .ends = ends,
                           .fingerprint_count = 2,
                           .totals = {.since_ms = 1700000000000,
                                      .batches = 15,
                                      .records = 1 << 20,
                                      .bad = 1,
                                      .dropped = 2,
                                      .lost = 3,
                                      .last_bad_ms = 1700000000001,
                                      .retried_commits = 4,
                                      .retries = 5}};
    struct cv_memo back;
    struct cv_checkpoint checkpoint;
    bool damaged;

    open_fresh(&checkpoint);
    CV_ASSERT_OK(cv_checkpoint_read_memo(&checkpoint, &back, &damaged, &err), &err);
    assert_false(back.present || damaged);
    cv_memo_release(&back);
    CV_ASSERT_OK(cv_checkpoint_write_memo(&checkpoint, &memo, &err), &err);
    CV_ASSERT_OK(cv_checkpoint_read_memo(&checkpoint, &back, &damaged, &err), &err);
    assert_true(back.present);
    assert_int_equal(back.snapshot_id, INT64_MAX);
    assert_int_equal(back.batch, 14);
    assert_string_equal(back.replaced_query, "q");
    assert_int_equal(back.fingerprint_count, 2);
    assert_int_equal(back.fingerprints[0].crc, 4000000000u);
    assert_int_equal(back.fingerprints[1].timestamp_ms, -1);
    assert_int_equal(back.ends[1], 7);
    assert_string_equal(back.table, "lake.shop.orders");
    assert_memory_equal(&back.totals, &memo.totals, sizeof back.totals);
    cv_memo_release(&back);
    cv_checkpoint_release(&checkpoint);
}

#define IN_BOTH(test)                                                                              \
    {#test "_in_a_folder", test, in_a_folder, NULL, NULL},                                         \
    {                                                                                              \
#test "_in_a_store", test, in_a_store, NULL, NULL                                          \
    }
#define IN_FOLDER(test)                                                                            \
    {                                                                                              \
#test, test, in_a_folder, NULL, NULL                                                       \
    }
#define IN_STORE(test)                                                                             \
    {                                                                                              \
#test, test, in_a_store, NULL, NULL                                                        \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_BOTH(bytes_are_sparks),
        IN_BOTH(watermarks_stand_where_spark_has_them),
        IN_BOTH(sparks_entries_are_read_in_any_key_order),
        IN_BOTH(broken_entries_are_refused),
        IN_BOTH(a_batch_is_never_overwritten),
        IN_FOLDER(a_second_process_is_refused),
        IN_FOLDER(old_batches_are_purged_as_spark_does),
        IN_STORE(a_store_is_purged_in_lots),
        IN_BOTH(logs_without_metadata_are_refused),
        IN_FOLDER(a_lock_that_was_taken_away_stops_the_writes),
        IN_BOTH(logs_are_made_anew_and_the_old_ones_kept),
        IN_BOTH(a_crash_leaves_the_old_logs_or_the_new_ones),
        IN_STORE(of_two_that_make_logs_anew_in_a_store_one_ends),
        IN_STORE(who_looked_before_another_made_logs_leaves_them),
        IN_BOTH(a_damaged_entry_is_moved_aside),
        IN_FOLDER(hadoops_stale_checksums_go),
        IN_BOTH(the_memo_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
