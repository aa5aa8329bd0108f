/* SPDX-License-Identifier: Apache-2.0
 *
 * calve.json in the checkpoint: what Spark's logs cannot hold. */
#include "stream/checkpoint_files.h"

#include <stddef.h>

#define MEMO_BYTES_MAX ((size_t)64 << 20)

void cv_memo_release(struct cv_memo *memo)
{
    cv_arena_release(&memo->arena);
    *memo = (struct cv_memo){0};
}

const char *cv_starting_options(const struct cv_source_options *options, struct cv_arena *arena)
{
    if (options->starting_timestamp)
        return cv_arena_printf(arena, "startingTimestamp %s", options->starting_timestamp);
    if (options->starting_offsets_by_timestamp)
        return cv_arena_printf(arena, "startingOffsetsByTimestamp %s",
                               options->starting_offsets_by_timestamp);
    return cv_arena_printf(arena, "startingOffsets %s",
                           options->starting_offsets ? options->starting_offsets : "latest");
}

static enum cv_code read_text(const struct cv_json *json, const char *key, struct cv_memo *memo,
                              const char **ret_text, struct cv_error *err)
{
    const char *text = "";

    CV_DO(cv_json_optional_string(json, key, &text, err));
    *ret_text = cv_arena_strdup(&memo->arena, text);
    return CV_OK;
}

static enum cv_code read_fingerprints(const struct cv_json *json, struct cv_memo *memo,
                                      struct cv_error *err)
{
    const struct cv_json *array = cv_json_get(json, "fingerprints");
    size_t count = cv_json_is_array(array) ? cv_json_size(array) : 0;

    memo->fingerprints = cv_arena_array(&memo->arena, struct cv_fingerprint, count);
    memo->ends = cv_arena_array(&memo->arena, int64_t, count);
    for (size_t i = 0; i < count; i++) {
        const struct cv_json *node = cv_json_at(array, i);
        struct cv_fingerprint *f = &memo->fingerprints[i];
        int64_t crc;

        CV_DO(read_text(node, "topic", memo, &f->topic, err));
        CV_DO(cv_json_read_i32(node, "partition", &f->partition, err));
        CV_DO(cv_json_read_i64(node, "offset", &f->offset, err));
        CV_DO(cv_json_read_i64(node, "timestamp", &f->timestamp_ms, err));
        CV_DO(cv_json_read_i64(node, "crc", &crc, err));
        CV_DO(cv_json_read_i64(node, "end", &memo->ends[i], err));
        f->crc = (uint32_t)crc;
    }
    memo->fingerprint_count = count;
    return CV_OK;
}

#define TOTAL(key, field)                                                                          \
    {                                                                                              \
        key, offsetof(struct cv_memo_totals, field)                                                \
    }

static const struct {
    const char *key;
    size_t offset;
} totals[] = {
    TOTAL("since", since_ms),         TOTAL("batches", batches),
    TOTAL("records", records),        TOTAL("badRecords", bad),
    TOTAL("droppedRecords", dropped), TOTAL("lostRecords", lost),
    TOTAL("lastBad", last_bad_ms),    TOTAL("retriedCommits", retried_commits),
    TOTAL("commitRetries", retries),
};

/* Checkpoints of earlier versions have none: they count from now on. */
static enum cv_code read_totals(const struct cv_json *json, struct cv_memo *memo,
                                struct cv_error *err)
{
    const struct cv_json *object = cv_json_get(json, "totals");

    for (size_t i = 0; cv_json_is_object(object) && i < CV_ARRAY_LENGTH(totals); i++) {
        int64_t value = 0;

        CV_DO(cv_json_optional_i64(object, totals[i].key, &value, err));
        memcpy((char *)&memo->totals + totals[i].offset, &value, sizeof value);
    }
    return CV_OK;
}

static void put_totals(struct cv_json_writer *w, const struct cv_memo *memo)
{
    cv_json_key(w, "totals");
    cv_json_begin_object(w);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(totals); i++) {
        int64_t value;

        memcpy(&value, (const char *)&memo->totals + totals[i].offset, sizeof value);
        cv_json_key(w, totals[i].key);
        cv_json_put_i64(w, value);
    }
    cv_json_end_object(w);
}

static enum cv_code read_fields(const struct cv_json *json, struct cv_memo *memo,
                                struct cv_error *err)
{
    CV_DO(read_text(json, "job", memo, &memo->job, err));
    CV_DO(read_text(json, "table", memo, &memo->table, err));
    CV_DO(read_text(json, "tableUuid", memo, &memo->table_uuid, err));
    CV_DO(read_text(json, "clusterId", memo, &memo->cluster_id, err));
    CV_DO(read_text(json, "starting", memo, &memo->starting, err));
    CV_DO(read_text(json, "replacedQuery", memo, &memo->replaced_query, err));
    CV_DO(cv_json_optional_i64(json, "batch", &memo->batch, err));
    CV_DO(cv_json_optional_i64(json, "snapshotId", &memo->snapshot_id, err));
    CV_DO(cv_json_optional_i64(json, "snapshotEpoch", &memo->snapshot_epoch, err));
    CV_DO(read_totals(json, memo, err));
    return read_fingerprints(json, memo, err);
}

enum cv_code cv_checkpoint_read_memo(struct cv_checkpoint *checkpoint, struct cv_memo *ret_memo,
                                     bool *ret_damaged, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(MEMO_BYTES_MAX);
    CV_CLEANUP(cv_json_freep) struct cv_json *json = NULL;
    CV_CLEANUP(cv_memo_release)
    struct cv_memo memo = {
        .batch = CV_BATCH_NONE, .snapshot_id = -1, .snapshot_epoch = CV_BATCH_NONE};
    enum cv_code code;

    *ret_damaged = false;
    code = cv_checkpoint_read_file(checkpoint, "calve.json", MEMO_BYTES_MAX, &text, err);
    if (code == CV_OK) {
        memo.present = cv_json_parse(text.data, text.length, &json, NULL) == CV_OK &&
                       cv_json_is_object(json) && read_fields(json, &memo, NULL) == CV_OK &&
                       memo.job[0] && memo.table_uuid[0];
        *ret_damaged = !memo.present;
    } else if (code != CV_NOT_FOUND) {
        return code;
    }
    *ret_memo = memo;
    memo = (struct cv_memo){0};
    return CV_OK;
}

static void put_fingerprints(struct cv_json_writer *w, const struct cv_memo *memo)
{
    cv_json_key(w, "fingerprints");
    cv_json_begin_array(w);
    for (size_t i = 0; i < memo->fingerprint_count; i++) {
        const struct cv_fingerprint *f = &memo->fingerprints[i];

        cv_json_begin_object(w);
        cv_json_key(w, "topic");
        cv_json_put_string(w, f->topic);
        cv_json_key(w, "partition");
        cv_json_put_i64(w, f->partition);
        cv_json_key(w, "offset");
        cv_json_put_i64(w, f->offset);
        cv_json_key(w, "timestamp");
        cv_json_put_i64(w, f->timestamp_ms);
        cv_json_key(w, "crc");
        cv_json_put_i64(w, f->crc);
        cv_json_key(w, "end");
        cv_json_put_i64(w, memo->ends[i]);
        cv_json_end_object(w);
    }
    cv_json_end_array(w);
}

enum cv_code cv_checkpoint_write_memo(struct cv_checkpoint *checkpoint, const struct cv_memo *memo,
                                      struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(MEMO_BYTES_MAX);
    struct cv_json_writer w = CV_JSON_WRITER(&text);

    cv_json_begin_object(&w);
    cv_json_key(&w, "version");
    cv_json_put_i64(&w, 1);
    cv_json_key(&w, "job");
    cv_json_put_string(&w, memo->job);
    cv_json_key(&w, "table");
    cv_json_put_string(&w, memo->table);
    cv_json_key(&w, "tableUuid");
    cv_json_put_string(&w, memo->table_uuid);
    cv_json_key(&w, "clusterId");
    cv_json_put_string(&w, memo->cluster_id);
    cv_json_key(&w, "starting");
    cv_json_put_string(&w, memo->starting ? memo->starting : "");
    cv_json_key(&w, "replacedQuery");
    cv_json_put_string(&w, memo->replaced_query ? memo->replaced_query : "");
    cv_json_key(&w, "batch");
    cv_json_put_i64(&w, memo->batch);
    cv_json_key(&w, "snapshotId");
    cv_json_put_i64(&w, memo->snapshot_id);
    cv_json_key(&w, "snapshotEpoch");
    cv_json_put_i64(&w, memo->snapshot_epoch);
    put_totals(&w, memo);
    put_fingerprints(&w, memo);
    cv_json_end_object(&w);
    CV_DO(cv_buf_check(&text, "calve.json", err));
    CV_DO(cv_checkpoint_check_lock(checkpoint, err));
    return cv_checkpoint_write_file(checkpoint, "calve.json", text.data, text.length,
                                    CV_PUT_REPLACE, err);
}
