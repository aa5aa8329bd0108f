/* SPDX-License-Identifier: Apache-2.0
 *
 * Versions of a state. A batch adds a file with its rows; when files have become many, or the rows
 * behind the oldest file many beside its own, the newer ones or all become one. Files whose rows
 * are all closed are left out without being read. */
#include "state/state.h"

#include "base/fault.h"
#include "base/random.h"
#include "state/checked_file.h"
#include "state/state_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FILES_MAX       10 /* of a version; one more and some are merged */
#define FILES_MERGED    4  /* at least */
#define CACHE_PARTS     4  /* of the memory */
#define ROW_GROUP_PARTS 64
#define ROW_GROUP_MIN   ((size_t)64 << 10)
#define ROW_GROUP_MAX   ((size_t)2 << 20)
#define COLUMNS_BYTES   ((size_t)1 << 16)

static void release_file(struct cv_held_file *file)
{
    cv_blocks_free(file->blocks);
    file->blocks = NULL;
}

static void clear(struct cv_state *state)
{
    for (size_t i = 0; i < state->file_count; i++)
        release_file(&state->files[i]);
    state->file_count = 0;
    state->watermark_us = INT64_MIN;
    state->next_watermark_us = INT64_MIN;
    state->rows_written = 0;
    state->retired_count = 0;
    state->oldest_batch = 0;
    state->unswept = true;
}

/* Rows of other columns must not be taken for these, whatever the fingerprint says. */
static const char *describe_columns(const struct cv_keyed *keyed, struct cv_arena *arena)
{
    static const char *const merges[] = {"sum", "min", "max", "and", "or", "sketch", "first"};
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(COLUMNS_BYTES);
    const struct cv_type *root = &keyed->schema->root;

    for (size_t i = 0; i < root->field_count; i++) {
        char type[CV_TYPE_TEXT_BYTES];

        cv_type_text(&root->fields[i].type, type);
        cv_buf_printf(&text, "%s%s%s %s", i ? ", " : "",
                      i >= keyed->key_count && i < keyed->key_count + keyed->order_count ? "order "
                                                                                         : "",
                      i < keyed->key_count ? "key" : merges[keyed->merges[i]], type);
    }
    return cv_arena_strdup(arena, cv_buf_text(&text));
}

void cv_state_open(const struct cv_state_config *config, struct cv_state **ret_state)
{
    struct cv_state *state = cv_alloc(sizeof *state);
    size_t group = config->memory_bytes / ROW_GROUP_PARTS;

    state->store = config->store;
    state->keyed = config->keyed;
    state->location = cv_arena_strdup(&state->arena, config->location);
    state->fingerprint = cv_arena_strdup(&state->arena, config->fingerprint);
    state->columns = describe_columns(config->keyed, &state->arena);
    state->cache_bytes_max = config->memory_bytes / CACHE_PARTS;
    cv_row_format_init(&state->format, config->keyed,
                       CV_MAX(ROW_GROUP_MIN, CV_MIN(group, ROW_GROUP_MAX)));
    clear(state);
    state->batch = CV_STATE_NO_VERSION;
    *ret_state = state;
}

void cv_state_free(struct cv_state *state)
{
    if (!state)
        return;
    clear(state);
    free(state->files);
    free(state->retired);
    cv_row_format_release(&state->format);
    cv_arena_release(&state->arena);
    free(state);
}

void cv_state_counters(const struct cv_state *state, struct cv_state_counters *ret_counters)
{
    *ret_counters = (struct cv_state_counters){
        .files = (int64_t)state->file_count,
        .rows_written = state->rows_written,
        .watermark_us = state->watermark_us,
        .next_watermark_us = state->next_watermark_us,
    };
    for (size_t i = 0; i < state->file_count; i++) {
        ret_counters->rows += state->files[i].facts.rows;
        ret_counters->bytes += state->files[i].facts.bytes;
    }
}

void cv_state_version_location(const struct cv_state *state, int64_t batch,
                               char location[CV_PATH_BYTES_MAX])
{
    (void)snprintf(location, CV_PATH_BYTES_MAX, "%s/%" PRId64 ".json", state->location, batch);
}

void cv_state_file_location(const struct cv_state *state, const char *name,
                            char location[CV_PATH_BYTES_MAX])
{
    (void)snprintf(location, CV_PATH_BYTES_MAX, "%s/%s", state->location, name);
}

/* --- reading --------------------------------------------------------------------------------- */

/* Adds the files from `first` on; rows that the version's watermark has closed do not count. */
static void add_files(struct cv_state *state, struct cv_merge_reader *reader, size_t first,
                      int64_t watermark_us, const int64_t *closing_us)
{
    for (size_t i = first; i < state->file_count; i++) {
        const struct cv_held_file *file = &state->files[i];
        struct cv_merge_input input;
        char location[CV_PATH_BYTES_MAX];

        if (file->facts.closed_by_us <= watermark_us)
            continue;
        cv_state_file_location(state, file->facts.name, location);
        input = file->blocks
                    ? cv_merge_input_of_blocks(file->blocks)
                    : cv_row_file_input(&state->format, state->store, location, file->facts.bytes);
        input.has_closed = watermark_us != INT64_MIN;
        input.closed_us = watermark_us;
        input.has_closing = closing_us != NULL;
        input.closing_us = closing_us ? *closing_us : 0;
        cv_merge_reader_add(reader, &input);
    }
}

static enum cv_code check_loaded(const struct cv_state *state, struct cv_error *err)
{
    if (state->batch == CV_STATE_NO_VERSION)
        return cv_fail(err, CV_INTERNAL, "no version of the state %s is loaded", state->location);
    return CV_OK;
}

enum cv_code cv_state_read(struct cv_state *state, struct cv_merge_reader *also,
                           const int64_t *closing_us, struct cv_merge_reader **ret_reader,
                           struct cv_error *err)
{
    CV_DO(check_loaded(state, err));
    *ret_reader = cv_merge_reader_new(state->keyed);
    add_files(state, *ret_reader, 0, state->watermark_us, closing_us);
    if (also) {
        struct cv_merge_input input = cv_merge_input_of_reader(also);

        input.has_closing = closing_us != NULL;
        input.closing_us = closing_us ? *closing_us : 0;
        cv_merge_reader_add(*ret_reader, &input);
    }
    return CV_OK;
}

enum cv_code cv_state_lacking(struct cv_state *state, struct cv_merge_reader *rows,
                              struct cv_merge_reader **ret_reader, struct cv_error *err)
{
    const struct cv_merge_input input = cv_merge_input_of_reader(rows);

    CV_DO(check_loaded(state, err));
    *ret_reader = cv_merge_reader_new(state->keyed);
    add_files(state, *ret_reader, 0, state->watermark_us, NULL);
    cv_merge_reader_add(*ret_reader, &input);
    cv_merge_reader_lacking(*ret_reader, cv_merge_reader_keyed(rows)->schema);
    return CV_OK;
}

/* --- loading --------------------------------------------------------------------------------- */

static enum cv_code contradiction(const struct cv_state *state, int64_t batch, struct cv_error *err)
{
    if (err)
        err->code = CV_CONTRADICTION;
    cv_context(err, "%s/%" PRId64 ".json, the state after batch %" PRId64, state->location, batch,
               batch);
    cv_hint(err, "start again with --resume-from=start, which rebuilds the state from the topic "
                 "(outputMode complete replaces the table; in append mode use a new table), or "
                 "restore the checkpoint");
    return CV_CONTRADICTION;
}

/* What is lost or damaged; other failures may pass. */
static bool is_contradiction(enum cv_code code)
{
    return code == CV_NOT_FOUND || code == CV_FORMAT || code == CV_UNSUPPORTED || code == CV_LIMIT;
}

enum cv_code cv_state_read_version(const struct cv_state *state, int64_t batch,
                                   struct cv_arena *arena, struct cv_state_version *ret_version,
                                   struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(CV_STATE_VERSION_BYTES_MAX);
    char location[CV_PATH_BYTES_MAX];

    cv_state_version_location(state, batch, location);
    CV_DO(cv_store_read(state->store, location, CV_STATE_VERSION_BYTES_MAX, &text, err));
    CV_DO(cv_state_version_read(text.data, text.length, arena, ret_version, err));
    if (ret_version->batch != batch)
        return cv_fail(err, CV_FORMAT, "it is of batch %" PRId64, ret_version->batch);
    return CV_OK;
}

static struct cv_held_file *find_held(struct cv_state *state, const struct cv_state_file *file)
{
    for (size_t i = 0; i < state->file_count; i++)
        if (strcmp(state->files[i].facts.name, file->name) == 0 &&
            state->files[i].facts.checksum == file->checksum)
            return &state->files[i];
    return NULL;
}

static enum cv_code check_version(struct cv_state *state, const struct cv_state_version *version,
                                  struct cv_error *err)
{
    char location[CV_PATH_BYTES_MAX];

    if (strcmp(version->fingerprint, state->fingerprint) != 0)
        return cv_fail(err, CV_FORMAT, "it is of another query");
    if (strcmp(version->columns, state->columns) != 0)
        return cv_fail(err, CV_FORMAT, "it has other columns (%.500s) than the query (%.500s)",
                       version->columns, state->columns);
    for (size_t i = 0; i < version->file_count; i++) {
        cv_state_file_location(state, version->files[i].name, location);
        if (!find_held(state, &version->files[i]))
            CV_DO(cv_checked_file_verify(state->store, location, &version->files[i], err));
    }
    return CV_OK;
}

static size_t cached_bytes(const struct cv_held_file *files, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += files[i].blocks ? files[i].blocks->bytes : 0;
    return bytes;
}

/* Keeps the rows of a file in memory where there is room. */
static enum cv_code cache(struct cv_state *state, struct cv_held_file *file, size_t room,
                          struct cv_error *err)
{
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *reader = NULL;
    CV_CLEANUP(cv_blocks_freep) struct cv_blocks *blocks = NULL;
    struct cv_merge_input input;
    char location[CV_PATH_BYTES_MAX];
    struct cv_batch batch;

    if (file->blocks || (size_t)file->facts.bytes > room)
        return CV_OK;
    blocks = cv_blocks_new(state->keyed->schema);
    cv_state_file_location(state, file->facts.name, location);
    input = cv_row_file_input(&state->format, state->store, location, file->facts.bytes);
    reader = cv_merge_reader_new(state->keyed);
    cv_merge_reader_add(reader, &input);
    while (blocks->bytes <= room) {
        CV_DO(cv_merge_reader_next(reader, &batch, err));
        if (!batch.row_count) {
            file->blocks = cv_steal(blocks);
            return CV_OK;
        }
        CV_DO(cv_blocks_append(blocks, &batch, err));
    }
    return CV_OK;
}

/* From here on nothing fails but reading into memory. */
static void take_version(struct cv_state *state, const struct cv_state_version *version)
{
    struct cv_held_file *files = cv_alloc((version->file_count + 1) * sizeof *files);

    for (size_t i = 0; i < version->file_count; i++) {
        struct cv_held_file *held = find_held(state, &version->files[i]);

        files[i].facts = version->files[i];
        if (held)
            files[i].blocks = cv_steal(held->blocks);
    }
    clear(state);
    free(state->files);
    state->files = files;
    state->file_count = version->file_count;
    state->file_capacity = version->file_count + 1;
    state->batch = version->batch;
    state->watermark_us = version->watermark_us;
    state->next_watermark_us = version->next_watermark_us;
}

static enum cv_code load_version(struct cv_state *state, int64_t batch, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_state_version version;

    CV_DO(cv_state_read_version(state, batch, &arena, &version, err));
    CV_DO(check_version(state, &version, err));
    take_version(state, &version);
    for (size_t i = 0; i < state->file_count; i++) {
        size_t used = cached_bytes(state->files, state->file_count);

        CV_DO(cache(state, &state->files[i],
                    state->cache_bytes_max - CV_MIN(used, state->cache_bytes_max), err));
    }
    return CV_OK;
}

enum cv_code cv_state_load(struct cv_state *state, int64_t batch, struct cv_error *err)
{
    enum cv_code code;

    if (batch < 0) {
        clear(state);
        state->batch = -1;
        cv_state_sweep_others(state);
        return CV_OK;
    }
    code = load_version(state, batch, err);
    if (code == CV_OK)
        return CV_OK;
    clear(state);
    state->batch = CV_STATE_NO_VERSION;
    return is_contradiction(code) ? contradiction(state, batch, err) : code;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Rows on their way into a file: counted, and copied while there is room for them. */
struct passage {
    struct cv_merge_reader *reader;
    size_t expiry_column;
    size_t room;
    struct cv_blocks *blocks; /* NULL = no copy, or not any more */
    int64_t rows;
    int64_t closed_by_us;
};

static void note_expiry(struct passage *passage, const struct cv_batch *batch)
{
    int64_t us;

    for (size_t row = 0; row < batch->row_count; row++) {
        if (passage->closed_by_us == INT64_MAX)
            return;
        if (!cv_keyed_timestamp(batch, passage->expiry_column, row, &us))
            us = INT64_MAX;
        passage->closed_by_us = CV_MAX(passage->closed_by_us, us);
    }
}

static enum cv_code pass_next(void *context, struct cv_batch *ret_batch, struct cv_error *err)
{
    struct passage *passage = context;

    CV_DO(cv_merge_reader_next(passage->reader, ret_batch, err));
    passage->rows += (int64_t)ret_batch->row_count;
    note_expiry(passage, ret_batch);
    if (!passage->blocks || !ret_batch->row_count)
        return CV_OK;
    CV_DO(cv_blocks_append(passage->blocks, ret_batch, err));
    if (passage->blocks->bytes <= passage->room)
        return CV_OK;
    cv_blocks_free(passage->blocks);
    passage->blocks = NULL;
    return CV_OK;
}

static struct cv_merge_input input_of_passage(struct passage *passage)
{
    return (struct cv_merge_input){.next = pass_next, .context = passage};
}

static void passage_release(struct passage *passage)
{
    cv_merge_reader_free(passage->reader);
    cv_blocks_free(passage->blocks);
}

/* Which files from here on become one with the new rows: file_count = none. */
static size_t first_to_merge(const struct cv_state *state)
{
    const struct cv_held_file *files = state->files;
    size_t first = state->file_count;
    int64_t newer = 0, merged = 0;

    for (size_t i = 1; i < state->file_count; i++)
        newer += files[i].facts.rows;
    if (state->file_count && newer > files[0].facts.rows / 2)
        return 0;
    if (state->file_count < FILES_MAX)
        return first;
    while (first > 0 &&
           (state->file_count - first < FILES_MERGED || files[first - 1].facts.rows <= merged))
        merged += files[--first].facts.rows;
    return first;
}

/* Writes all rows that pass to a new file; *ret_file has no rows where there were none. */
static enum cv_code write_rows(struct cv_state *state, int64_t batch, struct passage *passage,
                               struct cv_held_file *ret_file, struct cv_error *err)
{
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *reader = NULL;
    struct cv_merge_input input = input_of_passage(passage);
    struct cv_state_file *facts = &ret_file->facts;
    struct cv_output *output;
    char location[CV_PATH_BYTES_MAX], uuid[CV_UUID_TEXT_BYTES];

    reader = cv_merge_reader_new(state->keyed);
    cv_merge_reader_add(reader, &input);
    cv_uuid_text(uuid);
    (void)snprintf(facts->name, sizeof facts->name, "%" PRId64 "-%s.parquet", batch, uuid);
    cv_state_file_location(state, facts->name, location);
    CV_DO(cv_store_create(state->store, location, &output, err));
    CV_DO(cv_row_file_write(&state->format, reader, cv_checked_output(output, facts), &facts->rows,
                            err));
    facts->closed_by_us = passage->expiry_column == SIZE_MAX ? INT64_MAX : passage->closed_by_us;
    ret_file->blocks = cv_steal(passage->blocks);
    return facts->rows ? cv_fault_pass("state-file", err) : CV_OK;
}

/* The rows, and those of the files from `first` on, in a new file. */
static enum cv_code write_file(struct cv_state *state, int64_t batch, size_t first,
                               struct cv_merge_reader *rows, int64_t watermark_us,
                               struct cv_held_file *ret_file, struct cv_error *err)
{
    const size_t used = cached_bytes(state->files, first);
    struct passage added = {.reader = rows, .expiry_column = SIZE_MAX};
    CV_CLEANUP(passage_release)
    struct passage all = {
        .expiry_column = state->keyed->expiry_column,
        .room = state->cache_bytes_max - CV_MIN(used, state->cache_bytes_max),
        .closed_by_us = state->keyed->expiry_column == SIZE_MAX ? INT64_MAX : INT64_MIN,
    };
    struct cv_merge_input input = input_of_passage(&added);

    added.closed_by_us = INT64_MAX;
    all.reader = cv_merge_reader_new(state->keyed);
    all.blocks = cv_blocks_new(state->keyed->schema);
    add_files(state, all.reader, first, watermark_us, NULL);
    input.has_closed = watermark_us != INT64_MIN;
    input.closed_us = watermark_us;
    if (rows)
        cv_merge_reader_add(all.reader, &input);
    CV_DO(write_rows(state, batch, &all, ret_file, err));
    state->rows_written = added.rows;
    return CV_OK;
}

static enum cv_code put_version(struct cv_state *state, const struct cv_state_version *version,
                                struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(CV_STATE_VERSION_BYTES_MAX);
    char location[CV_PATH_BYTES_MAX];

    cv_state_version_write(version, &text);
    cv_state_version_location(state, version->batch, location);
    CV_DO(cv_buf_check(&text, location, err));
    CV_DO(cv_store_put(state->store, location, text.data, text.length, CV_PUT_REPLACE, err));
    return cv_fault_pass("state-manifest", err);
}

/* The files before `first` that have rows left, and the new one. */
static enum cv_code put_files(struct cv_state *state, int64_t batch, size_t first,
                              const struct cv_held_file *added, int64_t watermark_us,
                              int64_t next_watermark_us, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_state_version version = {
        .batch = batch,
        .fingerprint = state->fingerprint,
        .columns = state->columns,
        .watermark_us = watermark_us,
        .next_watermark_us = next_watermark_us,
        .files = cv_arena_array(&arena, struct cv_state_file, first + 1),
    };

    for (size_t i = 0; i < first; i++)
        if (state->files[i].facts.closed_by_us > watermark_us)
            version.files[version.file_count++] = state->files[i].facts;
    if (added->facts.rows)
        version.files[version.file_count++] = added->facts;
    return put_version(state, &version, err);
}

/* What put_files() wrote is the current version. */
static void become_current(struct cv_state *state, int64_t batch, size_t first,
                           struct cv_held_file *added, int64_t watermark_us,
                           int64_t next_watermark_us)
{
    size_t kept = 0;

    for (size_t i = 0; i < state->file_count; i++) {
        struct cv_held_file *file = &state->files[i];

        if (i < first && file->facts.closed_by_us > watermark_us) {
            state->files[kept++] = *file;
            continue;
        }
        cv_state_retire(state, file->facts.name, batch - 1);
        release_file(file);
    }
    state->file_count = kept;
    cv_array_reserve(&state->files, &state->file_capacity, kept + 1);
    if (added->facts.rows)
        state->files[state->file_count++] = *added;
    else
        release_file(added);
    state->batch = batch;
    state->watermark_us = watermark_us;
    state->next_watermark_us = next_watermark_us;
}

enum cv_code cv_state_write(struct cv_state *state, int64_t batch, struct cv_merge_reader *rows,
                            int64_t watermark_us, int64_t next_watermark_us, struct cv_error *err)
{
    CV_CLEANUP(release_file) struct cv_held_file added = {0};
    const bool unswept = state->unswept;
    size_t first;

    CV_DO(check_loaded(state, err));
    if (batch <= state->batch)
        return cv_fail(err, CV_INTERNAL, "the state is of batch %" PRId64 " already", state->batch);
    watermark_us = CV_MAX(watermark_us, state->watermark_us);
    state->rows_written = 0;
    state->unswept = true; /* a failure leaves files behind */
    first = first_to_merge(state);
    if (rows || first < state->file_count)
        CV_TRY(write_file(state, batch, first, rows, watermark_us, &added, err), err,
               "writing the state of batch %" PRId64, batch);
    CV_TRY(put_files(state, batch, first, &added, watermark_us, next_watermark_us, err), err,
           "writing the state of batch %" PRId64, batch);
    become_current(state, batch, first, &added, watermark_us, next_watermark_us);
    added = (struct cv_held_file){0};
    state->unswept = unswept;
    return CV_OK;
}
