/* SPDX-License-Identifier: Apache-2.0
 *
 * Data writers: the same rows by both ways, file counts, rolling, memory under many partitions,
 * threads, and that nothing is left after a failure. The content of the files is compared by
 * tests/real/test_data_writer.py, which calls this program as
 *   writer <fanout|clustered> <folder> <rows> <partitions> <memory bytes> <target bytes>
 * and reads what it wrote with another Parquet reader. */
#include "data/writer.h"

#include "base/file.h"
#include "batch/builder.h"
#include "test.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define BATCH_ROWS 4096

static const char *const columns = "id bigint NOT NULL, p int, name string, tags array<string>";

struct fixture {
    struct cv_arena arena;
    struct cv_table_metadata *metadata;
    struct cv_store *store;
    const char *folder;
    struct cv_data_file *files;
    size_t file_count;
    struct cv_data_writer_counters counters;
};

static void fixture_release(struct fixture *f)
{
    cv_arena_release(&f->arena);
    cv_table_metadata_freep(&f->metadata);
    cv_store_freep(&f->store);
}

static void set_up_table(struct fixture *f, const char *folder, const char *ddl,
                         const char *partitioned_by, const char *key, const char *value)
{
    struct cv_properties properties = {0};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_partition_spec spec;
    struct cv_schema schema;

    *f = (struct fixture){0};
    f->folder = cv_arena_strdup(&f->arena, folder);
    CV_ASSERT_OK(cv_schema_read_ddl(ddl, &f->arena, &schema, &err), &err);
    CV_ASSERT_OK(cv_partition_spec_read_ddl(partitioned_by, &schema, &f->arena, &spec, &err), &err);
    if (key)
        cv_properties_set(&properties, key, value);
    CV_ASSERT_OK(cv_table_metadata_create(
                     &(struct cv_table_create){cv_arena_printf(&f->arena, "file://%s/t", folder),
                                               &schema, &spec, &properties},
                     &f->metadata, &err),
                 &err);
    CV_ASSERT_OK(cv_store_open(f->metadata->location, NULL, &f->store, &err), &err);
    cv_properties_release(&properties);
}

static void set_up(struct fixture *f, const char *folder, const char *partitioned_by,
                   const char *key, const char *value)
{
    set_up_table(f, folder, columns, partitioned_by, key, value);
}

static struct cv_data_writer_config config_of(const struct fixture *f, bool fanout)
{
    return (struct cv_data_writer_config){.metadata = f->metadata,
                                          .store = f->store,
                                          .name_prefix = "run",
                                          .epoch = 7,
                                          .fanout = fanout,
                                          .memory_bytes = 64 << 20,
                                          .spill_directory = f->folder};
}

static struct cv_data_writer *open_writer(const struct cv_data_writer_config *config)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_data_writer *writer;

    CV_ASSERT_OK(cv_data_writer_open(config, &writer, &err), &err);
    return writer;
}

static void finish(struct fixture *f, struct cv_data_writer *writer)
{
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(
        cv_data_writer_finish(writer, &f->arena, &f->files, &f->file_count, &f->counters, &err),
        &err);
}

/* Row `id` lies in a partition that jumps about; every 97th has none. */
static bool partition_of(int64_t id, int partitions, int32_t *ret_partition)
{
    *ret_partition = (int32_t)((uint64_t)id * 2654435761u % (uint64_t)partitions);
    return id % 97 != 0;
}

static size_t noise_bytes; /* longer names that do not compress */

static void add_noise(char *name, size_t size, uint64_t seed)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < noise_bytes && length + 1 < size; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        name[length++] = (char)('!' + seed / 0x200000000 % 90);
    }
    name[length] = '\0';
}

static void add_row(struct cv_batch_builder *builder, int64_t id, int partitions)
{
    struct cv_builder *tags = &builder->columns[3];
    int32_t partition;
    char name[200];

    cv_builder_i64(&builder->columns[0], id);
    if (partition_of(id, partitions, &partition))
        cv_builder_i32(&builder->columns[1], partition);
    else
        cv_builder_null(&builder->columns[1]);
    (void)snprintf(name, sizeof name, "name %lld", (long long)(id * 7919));
    add_noise(name, sizeof name, (uint64_t)id);
    if (id % 11)
        cv_builder_bytes(&builder->columns[2], name, strlen(name));
    else
        cv_builder_null(&builder->columns[2]);
    for (int64_t i = 0; i < id % 3; i++)
        cv_builder_bytes(&tags->children[0], name, (size_t)(4 + i));
    cv_builder_end_list(tags);
}

static enum cv_code append_rows(const struct fixture *f, struct cv_data_writer *writer,
                                int64_t from, int64_t to, int partitions, struct cv_error *err)
{
    CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder builder;
    struct cv_batch batch;

    cv_batch_builder_init(&builder, cv_table_metadata_schema(f->metadata));
    for (int64_t id = from; id < to; id++) {
        add_row(&builder, id, partitions);
        if ((id + 1 - from) % BATCH_ROWS && id + 1 < to)
            continue;
        cv_batch_builder_view(&builder, &batch);
        CV_DO(cv_data_writer_append(writer, &batch, err));
        cv_batch_builder_clear(&builder);
    }
    return CV_OK;
}

static void write_rows(struct fixture *f, const struct cv_data_writer_config *config, int64_t rows,
                       int partitions)
{
    struct cv_data_writer *writer = open_writer(config);
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(append_rows(f, writer, 0, rows, partitions, &err), &err);
    finish(f, writer);
}

/* --- what the files say ---------------------------------------------------------------------- */

struct summary {
    int64_t rows, lowest, highest;
    size_t files;
};

static int64_t id_bound(const struct cv_data_file *file, bool upper)
{
    const struct cv_column_metrics *metrics = &file->metrics.columns[0];
    int64_t id;

    assert_int_equal(metrics->field_id, 1);
    memcpy(&id, upper ? metrics->upper.ptr : metrics->lower.ptr, sizeof id);
    return id;
}

/* Of each partition; the last one is that of the rows without. */
static struct summary *summarise(struct fixture *f, int partitions)
{
    struct summary *all = cv_arena_array(&f->arena, struct summary, (size_t)partitions + 1);

    for (size_t i = 0; i < f->file_count; i++) {
        const struct cv_data_file *file = &f->files[i];
        const struct cv_value *value = file->partition;
        struct summary *one = &all[!value ? 0 : value->is_null ? partitions : value->i32];
        int64_t size;
        struct cv_error err = CV_ERROR_INIT;

        one->lowest =
            one->files ? CV_MIN(one->lowest, id_bound(file, false)) : id_bound(file, false);
        one->highest = CV_MAX(one->highest, id_bound(file, true));
        one->rows += file->metrics.record_count;
        one->files++;
        assert_string_equal(file->format, "PARQUET");
        assert_true(file->has_sort_order);
        assert_int_equal(file->sort_order_id, 0);
        CV_ASSERT_OK(cv_store_size(f->store, file->path, &size, &err), &err);
        assert_int_equal(size, file->metrics.file_size);
    }
    return all;
}

static void assert_rows(struct fixture *f, int64_t rows, int partitions, size_t files_each)
{
    struct summary *wanted = cv_arena_array(&f->arena, struct summary, (size_t)partitions + 1);
    struct summary *got = summarise(f, partitions);

    for (int64_t id = 0; id < rows; id++) {
        struct summary *one;
        int32_t partition;

        if (!partition_of(id, partitions, &partition))
            partition = partitions;
        one = &wanted[partition];
        if (!one->rows++)
            one->lowest = id;
        one->highest = id;
    }
    for (int i = 0; i <= partitions; i++) {
        assert_int_equal(got[i].rows, wanted[i].rows);
        assert_int_equal(got[i].lowest, wanted[i].lowest);
        assert_int_equal(got[i].highest, wanted[i].highest);
        assert_true(got[i].files <= files_each);
    }
}

static enum cv_code count_one(void *context, const struct cv_listed_file *file,
                              struct cv_error *err)
{
    ++*(size_t *)context;
    return CV_OK;
}

static size_t count_stored(const struct fixture *f)
{
    struct cv_error err = CV_ERROR_INIT;
    size_t count = 0;

    CV_ASSERT_OK(cv_store_list(f->store, f->metadata->location, count_one, &count, &err), &err);
    return count;
}

/* --- tests ----------------------------------------------------------------------------------- */

static void an_unpartitioned_table_gets_one_file(void **state)
{
    for (int fanout = 0; fanout < 2; fanout++) {
        CV_CLEANUP(fixture_release) struct fixture f;
        struct cv_data_writer_config config;

        set_up(&f, cv_test_folder(), "", NULL, NULL);
        config = config_of(&f, fanout);
        write_rows(&f, &config, 10000, 1);
        assert_int_equal(f.file_count, 1);
        assert_int_equal(f.files[0].metrics.record_count, 10000);
        assert_int_equal(id_bound(&f.files[0], false), 0);
        assert_int_equal(id_bound(&f.files[0], true), 9999);
        assert_string_equal(
            f.files[0].path,
            cv_arena_printf(&f.arena, "%s/data/00000-run-7-00001.parquet", f.metadata->location));
        assert_int_equal(count_stored(&f), 1);
        assert_int_equal(f.counters.rows_spilled, 0);
    }
}

static void no_rows_give_no_file(void **state)
{
    CV_CLEANUP(fixture_release) struct fixture f;
    struct cv_data_writer_config config;

    set_up(&f, cv_test_folder(), "p", NULL, NULL);
    config = config_of(&f, true);
    write_rows(&f, &config, 0, 1);
    assert_int_equal(f.file_count, 0);
    assert_int_equal(count_stored(&f), 0);
}

static void both_ways_give_one_file_for_each_partition(void **state)
{
    for (int fanout = 0; fanout < 2; fanout++) {
        CV_CLEANUP(fixture_release) struct fixture f;
        struct cv_data_writer_config config;

        set_up(&f, cv_test_folder(), "p", NULL, NULL);
        config = config_of(&f, fanout);
        write_rows(&f, &config, 20000, 30);
        assert_int_equal(f.file_count, 31);
        assert_rows(&f, 20000, 30, 1);
        assert_int_equal(count_stored(&f), 31);
        assert_non_null(strstr(f.files[0].path, "/data/p=null/00000-run-7-00001.parquet"));
        assert_int_equal(f.counters.files_opened, 31);
    }
}

static void files_roll_at_the_target_size(void **state)
{
    for (int fanout = 0; fanout < 2; fanout++) {
        CV_CLEANUP(fixture_release) struct fixture f;
        struct cv_data_writer_config config;

        set_up(&f, cv_test_folder(), "p", NULL, NULL);
        config = config_of(&f, fanout);
        config.target_file_bytes = 64 << 10;
        write_rows(&f, &config, 200000, 2);
        assert_true(f.file_count > 6);
        assert_rows(&f, 200000, 2, f.file_count);
        for (size_t i = 0; i < f.file_count; i++) {
            assert_true(f.files[i].metrics.file_size < 512 << 10);
            for (size_t j = 0; j < i; j++)
                assert_string_not_equal(f.files[i].path, f.files[j].path);
        }
    }
}

/* Case 58 of the public reports: rows of 5,000 partitions in no order. */
static void many_partitions_stay_within_the_budget(void **state)
{
    for (int fanout = 0; fanout < 2; fanout++) {
        CV_CLEANUP(fixture_release) struct fixture f;
        struct cv_data_writer_config config;
        struct cv_error err = CV_ERROR_INIT;
        struct cv_data_writer *writer;
        const int64_t rows = 1000000;

        set_up(&f, cv_test_folder(), "p", NULL, NULL);
        config = config_of(&f, fanout);
        config.memory_bytes = 64 << 20;
        writer = open_writer(&config);
        for (int64_t id = 0; id < rows; id += 50000) {
            CV_ASSERT_OK(append_rows(&f, writer, id, id + 50000, 5000, &err), &err);
            assert_true(cv_data_writer_memory(writer) <= config.memory_bytes);
        }
        finish(&f, writer);
        assert_rows(&f, rows, 5000, fanout ? 2 : 1);
        assert_true(f.counters.rows_spilled > 0);
        print_message("%s: %zu files, %lld rows spilled, %lld row groups and %lld files closed "
                      "early\n",
                      fanout ? "fanout" : "clustered", f.file_count,
                      (long long)f.counters.rows_spilled, (long long)f.counters.groups_closed_early,
                      (long long)f.counters.files_closed_early);
    }
}

/* --- a store that sends files in parts ------------------------------------------------------- */

#define PART_BYTES ((size_t)8 << 20)

struct part_store {
    struct cv_store store;
    struct cv_store *inner;
    size_t held, most; /* by all outputs, now and at most; appends are not concurrent here */
};

struct part_output {
    struct cv_output output;
    struct cv_output *inner;
    struct part_store *store;
    struct cv_buf part;
};

static void set_held(struct part_output *output, size_t held)
{
    output->store->held += held - output->output.held;
    output->store->most = CV_MAX(output->store->most, output->store->held);
    output->output.held = held;
}

static enum cv_code send_part(struct part_output *output, struct cv_error *err)
{
    CV_DO(cv_output_write(output->inner, output->part.data, output->part.length, err));
    cv_buf_clear(&output->part);
    set_held(output, 0);
    return CV_OK;
}

static enum cv_code write_part(struct cv_output *base, const void *bytes, size_t length,
                               struct cv_error *err)
{
    struct part_output *output = (struct part_output *)base;

    cv_buf_append(&output->part, bytes, length);
    set_held(output, output->part.length);
    return output->part.length < PART_BYTES ? CV_OK : send_part(output, err);
}

static enum cv_code close_part(struct cv_output *base, struct cv_error *err)
{
    struct part_output *output = (struct part_output *)base;

    CV_DO(send_part(output, err));
    CV_DO(cv_output_close_unsynced(output->inner, err));
    cv_buf_release(&output->part);
    free(output);
    return CV_OK;
}

static void abort_part(struct cv_output *base)
{
    struct part_output *output = (struct part_output *)base;

    cv_output_abort(output->inner);
    set_held(output, 0);
    cv_buf_release(&output->part);
    free(output);
}

static enum cv_code create_part(struct cv_store *base, const char *location,
                                struct cv_output **ret_output, struct cv_error *err)
{
    static const struct cv_output_ops ops = {
        .write = write_part, .close = close_part, .abort = abort_part};
    struct part_store *store = (struct part_store *)base;
    struct part_output *output = cv_alloc(sizeof *output);

    *output = (struct part_output){.output = {&ops}, .store = store, .part = CV_BUF_INIT(0)};
    CV_ASSERT_OK(cv_store_create(store->inner, location, &output->inner, err), err);
    *ret_output = &output->output;
    return CV_OK;
}

/* Files whose bytes wait in memory to be sent would hold some 26 MiB, were none closed early. */
static void bytes_that_wait_to_be_sent_are_in_the_budget(void **state)
{
    static const struct cv_store_ops ops = {.name = "parts", .create = create_part};
    CV_CLEANUP(fixture_release) struct fixture f;
    struct part_store store = {.store = {&ops}};
    struct cv_data_writer_config config;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_data_writer *writer;
    const int64_t rows = 200000;

    set_up(&f, cv_test_folder(), "p", NULL, NULL);
    store.inner = f.store;
    config = config_of(&f, true);
    config.store = &store.store;
    config.memory_bytes = 12 << 20;
    config.unsynced = true;
    noise_bytes = 120;
    writer = open_writer(&config);
    for (int64_t id = 0; id < rows; id += 20000) {
        CV_ASSERT_OK(append_rows(&f, writer, id, id + 20000, 8, &err), &err);
        assert_true(cv_data_writer_memory(writer) <= config.memory_bytes);
    }
    finish(&f, writer);
    noise_bytes = 0;
    print_message("at most %zu bytes held, %lld rows spilled, %lld files closed early\n",
                  store.most, (long long)f.counters.rows_spilled,
                  (long long)f.counters.files_closed_early);
    assert_true(store.most <= config.memory_bytes);
    assert_int_equal(store.held, 0);
    assert_true(f.counters.files_closed_early > 0);
    assert_rows(&f, rows, 8, 4);
}

/* Case 31 of the public reports: values that are hard on paths. */
static void odd_partition_values_have_folders_of_their_own(void **state)
{
    static const char *const rows[][2] = {
        {"a/b", "a%2Fb"},   {"a b", "a+b"},   {"a+b", "a%2Bb"},
        {"100%", "100%25"}, {"é", "%C3%A9"},  {"#x?y=1", "%23x%3Fy%3D1"},
        {"..", ".."},       {"", ""},         {NULL, "null"},
        {"null", "null"},   {"~x*", "%7Ex*"},
    };
    const size_t count = CV_ARRAY_LENGTH(rows);
    CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder builder;
    CV_CLEANUP(fixture_release) struct fixture f;
    struct cv_data_writer_config config;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_data_writer *writer;
    struct cv_batch batch;
    char long_text[3000];

    memset(long_text, 'x', sizeof long_text);
    set_up_table(&f, cv_test_folder(), "`\"esc\"#1` string", "`\"esc\"#1`", NULL, NULL);
    config = config_of(&f, true);
    writer = open_writer(&config);
    cv_batch_builder_init(&builder, cv_table_metadata_schema(f.metadata));
    for (size_t i = 0; i < count; i++)
        if (rows[i][0])
            cv_builder_bytes(&builder.columns[0], rows[i][0], strlen(rows[i][0]));
        else
            cv_builder_null(&builder.columns[0]);
    cv_builder_bytes(&builder.columns[0], long_text, sizeof long_text);
    cv_batch_builder_view(&builder, &batch);
    CV_ASSERT_OK(cv_data_writer_append(writer, &batch, &err), &err);
    finish(&f, writer);
    assert_int_equal(f.file_count, count + 1);
    assert_int_equal(count_stored(&f), count + 1);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(strstr(
            f.files[i].path, cv_arena_printf(&f.arena, "/data/%%22esc%%22%%231=%s/", rows[i][1])));
        assert_int_equal(f.files[i].partition->is_null, rows[i][0] == NULL);
        assert_true(!rows[i][0] || cv_str_is(f.files[i].partition->bytes, rows[i][0]));
    }
    assert_int_equal(f.files[count].partition->bytes.length, sizeof long_text);
}

static void a_small_budget_closes_row_groups_early(void **state)
{
    CV_CLEANUP(fixture_release) struct fixture f;
    struct cv_data_writer_config config;

    set_up(&f, cv_test_folder(), "", "write.parquet.compression-codec", "uncompressed");
    config = config_of(&f, true);
    config.memory_bytes = 4 << 20;
    write_rows(&f, &config, 500000, 1);
    assert_int_equal(f.file_count, 1);
    assert_true(f.counters.groups_closed_early > 0);
    assert_int_equal(f.files[0].metrics.split_count, f.counters.groups_closed_early + 1);
}

static void nothing_is_left_after_abort(void **state)
{
    for (int fanout = 0; fanout < 2; fanout++) {
        CV_CLEANUP(fixture_release) struct fixture f;
        struct cv_error err = CV_ERROR_INIT;
        struct cv_data_writer_config config;
        struct cv_data_writer *writer;

        set_up(&f, cv_test_folder(), "p", NULL, NULL);
        config = config_of(&f, fanout);
        config.target_file_bytes = 16 << 10; /* some files are closed already */
        writer = open_writer(&config);
        CV_ASSERT_OK(append_rows(&f, writer, 0, 50000, 3, &err), &err);
        cv_data_writer_abort(writer);
        assert_int_equal(count_stored(&f), 0);
    }
}

#ifdef CV_FAULTS
/* The points count in the whole process, so that each fault has one of its own. Exit status: 0 when
 * the fault came and nothing is left. */
static int fail_at(const char *fault, bool fanout, const char *folder)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_data_writer_config config;
    struct cv_data_writer *writer;
    struct fixture f;
    enum cv_code code;

    (void)setenv("CALVE_FAULT", fault, 1);
    set_up(&f, folder, "p", NULL, NULL);
    config = config_of(&f, fanout);
    writer = open_writer(&config);
    code = append_rows(&f, writer, 0, 10000, 9, &err);
    if (code == CV_OK)
        code = cv_data_writer_finish(writer, &f.arena, &f.files, &f.file_count, &f.counters, &err);
    else
        cv_data_writer_abort(writer);
    if (code != CV_FAULT)
        return 1;
    return count_stored(&f) ? 2 : 0;
}

static void nothing_is_left_after_a_failure(void **state)
{
    static const char *const faults[] = {"file-open:3=fail", "file-half=fail", "file-closed:4=fail",
                                         "files-done=fail"};

    for (size_t i = 0; i < 2 * CV_ARRAY_LENGTH(faults); i++) {
        const char *folder = cv_test_folder();
        pid_t child = fork();
        int status;

        if (child == 0)
            _exit(fail_at(faults[i / 2], i % 2, folder));
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("%s: status %d", faults[i / 2], status);
    }
}
#endif

struct thread_start {
    const struct fixture *f;
    struct cv_data_writer *writer;
    int64_t from, to;
    pthread_t thread;
};

static void *append_in_thread(void *argument)
{
    struct thread_start *start = argument;
    struct cv_error err = CV_ERROR_INIT;

    if (append_rows(start->f, start->writer, start->from, start->to, 40, &err) != CV_OK)
        abort();
    return NULL;
}

static void threads_may_append_side_by_side(void **state)
{
    static const char *const specs[] = {"p", "p", "p", ""};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(specs); i++) {
        CV_CLEANUP(fixture_release) struct fixture f;
        struct thread_start starts[4];
        struct cv_data_writer_config config;
        struct cv_data_writer *writer;

        set_up(&f, cv_test_folder(), specs[i], NULL, NULL);
        config = config_of(&f, i != 1);
        if (i == 2)
            config.memory_bytes = 4 << 20; /* with relief going on */
        writer = open_writer(&config);
        for (int t = 0; t < 4; t++) {
            starts[t] = (struct thread_start){&f, writer, t * 25000, (t + 1) * 25000, 0};
            assert_int_equal(pthread_create(&starts[t].thread, NULL, append_in_thread, &starts[t]),
                             0);
        }
        for (int t = 0; t < 4; t++)
            (void)pthread_join(starts[t].thread, NULL);
        finish(&f, writer);
        if (*specs[i])
            assert_rows(&f, 100000, 40, 2);
        else
            assert_int_equal(f.files[0].metrics.record_count, 100000);
    }
}

static void wrong_properties_are_refused_at_opening(void **state)
{
    static const char *const rows[][3] = {
        {"write.format.default", "orc", "orc"},
        {"write.target-file-size-bytes", "big", "write.target-file-size-bytes"},
        {"write.object-storage.enabled", "perhaps", "write.object-storage.enabled"},
        {"write.parquet.compression-codec", "rar", "rar"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        CV_CLEANUP(fixture_release) struct fixture f;
        struct cv_error err = CV_ERROR_INIT;
        struct cv_data_writer_config config;
        struct cv_data_writer *writer = NULL;

        set_up(&f, cv_test_folder(), "p", rows[i][0], rows[i][1]);
        config = config_of(&f, true);
        assert_int_not_equal(cv_data_writer_open(&config, &writer, &err), CV_OK);
        assert_non_null(strstr(err.message, rows[i][2]));
    }
}

static void a_workspace_serves_one_writer_after_another(void **state)
{
    CV_CLEANUP(cv_data_workspace_freep)
    struct cv_data_workspace *workspace = cv_data_workspace_new();

    for (int round = 0; round < 3; round++) {
        CV_CLEANUP(fixture_release) struct fixture f;
        struct cv_data_writer_config config;

        set_up(&f, cv_test_folder(), round == 1 ? "" : "p", NULL, NULL);
        config = config_of(&f, true);
        config.workspace = workspace;
        write_rows(&f, &config, 5000, 4);
        assert_int_equal(f.file_count, round == 1 ? 1 : 5);
    }
}

/* --- for the test in Python ------------------------------------------------------------------ */

static int write_for_python(char **arguments)
{
    CV_CLEANUP(fixture_release) struct fixture f;
    int partitions = atoi(arguments[4]);
    struct cv_data_writer_config config;
    struct rusage usage;

    set_up(&f, arguments[2], partitions ? "p" : "", NULL, NULL);
    config = config_of(&f, strcmp(arguments[1], "fanout") == 0);
    config.memory_bytes = (size_t)atoll(arguments[5]);
    config.target_file_bytes = atoll(arguments[6]);
    write_rows(&f, &config, atoll(arguments[3]), CV_MAX(partitions, 1));
    for (size_t i = 0; i < f.file_count; i++)
        printf("%lld %s\n", (long long)f.files[i].metrics.record_count,
               f.files[i].path + strlen("file://"));
    (void)getrusage(RUSAGE_SELF, &usage);
    fprintf(stderr, "peak %ld kB, spilled %lld, groups %lld, files %lld\n", usage.ru_maxrss,
            (long long)f.counters.rows_spilled, (long long)f.counters.groups_closed_early,
            (long long)f.counters.files_closed_early);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unpartitioned_table_gets_one_file),
        cmocka_unit_test(no_rows_give_no_file),
        cmocka_unit_test(both_ways_give_one_file_for_each_partition),
        cmocka_unit_test(files_roll_at_the_target_size),
        cmocka_unit_test(many_partitions_stay_within_the_budget),
        cmocka_unit_test(bytes_that_wait_to_be_sent_are_in_the_budget),
        cmocka_unit_test(odd_partition_values_have_folders_of_their_own),
        cmocka_unit_test(a_small_budget_closes_row_groups_early),
        cmocka_unit_test(nothing_is_left_after_abort),
#ifdef CV_FAULTS
        cmocka_unit_test(nothing_is_left_after_a_failure),
#endif
        cmocka_unit_test(threads_may_append_side_by_side),
        cmocka_unit_test(wrong_properties_are_refused_at_opening),
        cmocka_unit_test(a_workspace_serves_one_writer_after_another),
    };

    if (argc == 7)
        return write_for_python(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
