/* SPDX-License-Identifier: Apache-2.0
 *
 * Positions in snapshot summaries, and in manifest lists where they are long. */
#include "table/position_int.h"

#include "codec/hash.h"
#include "codec/json.h"
#include "table/table_int.h"

#include <stdio.h>

#define HASH_TEXT_BYTES 32

static void hash_text(const char *offsets_json, char text[HASH_TEXT_BYTES])
{
    (void)snprintf(text, HASH_TEXT_BYTES, "xxh64:%016llx",
                   (unsigned long long)cv_xxh64(offsets_json, strlen(offsets_json)));
}

/* With `hash`, the offsets are only named by it. */
static void write_json(const char *query_id, int64_t epoch, const char *cluster_id,
                       const char *offsets_json, const char *hash, struct cv_buf *out)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);

    cv_json_begin_object(&w);
    cv_json_key(&w, "queryId");
    cv_json_put_string(&w, query_id);
    cv_json_key(&w, "epoch");
    cv_json_put_i64(&w, epoch);
    cv_json_key(&w, "clusterId");
    cv_json_put_string(&w, cluster_id);
    cv_json_key(&w, hash ? "offsetsHash" : "offsets");
    if (hash)
        cv_json_put_string(&w, hash);
    else
        cv_json_put_raw(&w, offsets_json, strlen(offsets_json));
    cv_json_end_object(&w);
}

/* The offsets in compact form: the hash is of the text as it is read back. */
static enum cv_code compact(const char *offsets_json, struct cv_buf *out, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *json = NULL;

    if (!offsets_json || !*offsets_json)
        offsets_json = "{}";
    CV_TRY(cv_json_parse(offsets_json, strlen(offsets_json), &json, err), err, "end offsets");
    cv_json_write_node(json, out);
    return cv_buf_check(out, "the stream's position", err);
}

enum cv_code cv_position_write(const char *query_id, int64_t epoch, const char *cluster_id,
                               const char *offsets_json, struct cv_arena *arena,
                               const char **ret_summary, struct cv_str *ret_full,
                               struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf offsets = CV_BUF_INIT(0);
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    char hash[HASH_TEXT_BYTES];

    cluster_id = cluster_id ? cluster_id : "";
    CV_DO(compact(offsets_json, &offsets, err));
    write_json(query_id, epoch, cluster_id, cv_buf_text(&offsets), NULL, &text);
    *ret_full = (struct cv_str){NULL, 0};
    if (text.length > CV_POSITION_INLINE_MAX) {
        ret_full->ptr = cv_arena_copy(arena, text.data, text.length);
        ret_full->length = text.length;
        hash_text(cv_buf_text(&offsets), hash);
        cv_buf_clear(&text);
        write_json(query_id, epoch, cluster_id, NULL, hash, &text);
    }
    CV_DO(cv_buf_check(&text, "the stream's position", err));
    *ret_summary = cv_arena_strndup(arena, (const char *)text.data, text.length);
    return CV_OK;
}

static enum cv_code fail_position(const struct cv_snapshot *snapshot, const char *key,
                                  struct cv_error *err)
{
    cv_context(err, "snapshot %lld: %s", (long long)snapshot->id, key);
    return CV_FORMAT;
}

static enum cv_code parse_position(struct cv_str text, struct cv_json **ret_json,
                                   const char **ret_query_id, int64_t *ret_epoch,
                                   struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *json = NULL;

    CV_DO(cv_json_parse(text.ptr, text.length, &json, err));
    if (!cv_json_is_object(json))
        return cv_fail(err, CV_FORMAT, "a position is a JSON object");
    CV_DO(cv_json_read_string(json, "queryId", ret_query_id, err));
    CV_DO(cv_json_read_i64(json, "epoch", ret_epoch, err));
    *ret_json = cv_steal(json);
    return CV_OK;
}

/* Epoch by Spark's two keys; -1 when they are another query's or absent. */
static enum cv_code spark_epoch(const struct cv_snapshot *snapshot, const char *query_id,
                                int64_t *ret_epoch, struct cv_error *err)
{
    const char *own = cv_properties_get(&snapshot->summary, CV_QUERY_ID_KEY);
    const char *text = cv_properties_get(&snapshot->summary, CV_EPOCH_ID_KEY);

    *ret_epoch = -1;
    if (!own || !text || strcmp(own, query_id) != 0)
        return CV_OK;
    if (cv_parse_i64(cv_str_from(text), ret_epoch) && *ret_epoch >= 0)
        return CV_OK;
    (void)cv_fail(err, CV_FORMAT, "\"%.100s\" is not an epoch", text);
    return fail_position(snapshot, CV_EPOCH_ID_KEY, err);
}

enum cv_code cv_position_epoch(const struct cv_snapshot *snapshot, const char *query_id,
                               int64_t *ret_epoch, struct cv_error *err)
{
    CV_DO(spark_epoch(snapshot, query_id, ret_epoch, err));
    for (size_t i = 0; i < snapshot->summary.count; i++) {
        const struct cv_property *item = &snapshot->summary.items[i];
        CV_CLEANUP(cv_json_freep) struct cv_json *json = NULL;
        const char *own;
        int64_t epoch;

        if (!cv_text_starts_with(item->key, CV_POSITION_KEY) || !strstr(item->value, query_id))
            continue;
        if (parse_position(cv_str_from(item->value), &json, &own, &epoch, err) != CV_OK)
            return fail_position(snapshot, item->key, err);
        if (strcmp(own, query_id) == 0)
            *ret_epoch = CV_MAX(*ret_epoch, epoch);
    }
    return CV_OK;
}

struct cv_history cv_position_history(const struct cv_table_metadata *metadata, const char *branch)
{
    struct cv_history history = cv_history_of(metadata, branch);

    history.over_gaps = true;
    return history;
}

enum cv_code cv_position_newest(const struct cv_table_metadata *metadata, const char *branch,
                                const char *query_id, const struct cv_snapshot **ret_snapshot,
                                int64_t *ret_epoch, struct cv_error *err)
{
    struct cv_history history = cv_position_history(metadata, branch);
    const struct cv_snapshot *snapshot;

    *ret_snapshot = NULL;
    *ret_epoch = -1;
    while ((snapshot = cv_history_next(&history))) {
        int64_t epoch;

        CV_DO(cv_position_epoch(snapshot, query_id, &epoch, err));
        if (epoch < 0)
            continue;
        *ret_snapshot = snapshot;
        *ret_epoch = epoch;
        return CV_OK;
    }
    return CV_OK;
}

enum cv_code cv_position_read_long(struct cv_table *table, const struct cv_snapshot *snapshot,
                                   const char *key, struct cv_arena *arena, struct cv_str *ret_text,
                                   struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_MANIFEST_BYTES_MAX);
    CV_CLEANUP(cv_avro_file_reader_release) struct cv_avro_file_reader reader = {0};
    const struct cv_str *text;

    if (!snapshot->manifest_list)
        return cv_fail(err, CV_FORMAT, "the snapshot has no manifest list with its offsets");
    CV_DO(cv_store_read(table->store, snapshot->manifest_list, CV_MANIFEST_BYTES_MAX, &bytes, err));
    CV_TRY(cv_avro_file_reader_init(&reader, bytes.data, bytes.length, err), err, "%s",
           snapshot->manifest_list);
    text = cv_avro_file_metadata(&reader, key);
    if (!text)
        return cv_fail(err, CV_FORMAT, "%s lacks the offsets", snapshot->manifest_list);
    *ret_text = (struct cv_str){cv_arena_copy(arena, text->ptr, text->length), text->length};
    return CV_OK;
}

static const char *offsets_of(const struct cv_json *json, struct cv_arena *arena)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    const struct cv_json *offsets = cv_json_get(json, "offsets");

    if (!offsets)
        return NULL;
    cv_json_write_node(offsets, &text);
    return cv_arena_strndup(arena, (const char *)text.data, text.length);
}

static enum cv_code read_position(struct cv_table *table, const struct cv_snapshot *snapshot,
                                  const struct cv_property *item, struct cv_arena *arena,
                                  struct cv_position *ret_position, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *json = NULL;
    struct cv_str text = cv_str_from(item->value);
    const char *cluster_id = "";
    const char *query_id;
    char hash[HASH_TEXT_BYTES];

    CV_DO(parse_position(text, &json, &query_id, &ret_position->epoch, err));
    CV_DO(cv_json_optional_string(json, "clusterId", &cluster_id, err));
    ret_position->snapshot_id = snapshot->id;
    ret_position->query_id = cv_arena_strdup(arena, query_id);
    ret_position->cluster_id = cv_arena_strdup(arena, cluster_id);
    ret_position->offsets_json = offsets_of(json, arena);
    if (!ret_position->offsets_json && cv_json_get(json, "offsetsHash")) {
        CV_CLEANUP(cv_json_freep) struct cv_json *whole = NULL;
        int64_t epoch;

        CV_DO(cv_position_read_long(table, snapshot, item->key, arena, &text, err));
        CV_DO(parse_position(text, &whole, &query_id, &epoch, err));
        ret_position->offsets_json = offsets_of(whole, arena);
        hash_text(ret_position->offsets_json ? ret_position->offsets_json : "", hash);
        if (strcmp(hash, cv_json_text(cv_json_get(json, "offsetsHash"))) != 0)
            return cv_fail(err, CV_FORMAT, "the offsets in %s are not those of the snapshot",
                           snapshot->manifest_list);
    }
    return CV_OK;
}

/* The position of this query in the snapshot, whichever job's key holds it. */
static enum cv_code read_query(struct cv_table *table, const struct cv_snapshot *snapshot,
                               const char *query_id, struct cv_arena *arena,
                               struct cv_position *ret_position, struct cv_error *err)
{
    for (size_t i = 0; i < snapshot->summary.count; i++) {
        const struct cv_property *item = &snapshot->summary.items[i];
        struct cv_position position = {0};

        if (!cv_text_starts_with(item->key, CV_POSITION_KEY) || !strstr(item->value, query_id))
            continue;
        CV_TRY(read_position(table, snapshot, item, arena, &position, err), err,
               "snapshot %lld: %s", (long long)snapshot->id, item->key);
        if (strcmp(position.query_id, query_id) == 0) {
            *ret_position = position;
            return CV_OK;
        }
    }
    ret_position->snapshot_id = snapshot->id;
    ret_position->query_id = cv_arena_strdup(arena, query_id);
    ret_position->cluster_id = "";
    return CV_OK;
}

enum cv_code cv_position_find_query(struct cv_table *table, const char *query_id,
                                    struct cv_arena *arena, struct cv_position *ret_position,
                                    struct cv_error *err)
{
    struct cv_position position = {0};
    const struct cv_snapshot *snapshot;
    int64_t epoch;

    CV_DO(cv_position_newest(table->metadata, cv_table_branch(table), query_id, &snapshot, &epoch,
                             err));
    if (!snapshot)
        return cv_fail(err, CV_NOT_FOUND, "no snapshot of query %s in the table's history",
                       query_id);
    CV_DO(read_query(table, snapshot, query_id, arena, &position, err));
    position.epoch = epoch;
    *ret_position = position;
    return CV_OK;
}

static const struct cv_property *find_item(const struct cv_properties *summary, const char *job)
{
    size_t prefix = strlen(CV_POSITION_KEY);

    for (size_t i = 0; i < summary->count; i++)
        if (cv_text_starts_with(summary->items[i].key, CV_POSITION_KEY) &&
            strcmp(summary->items[i].key + prefix, job) == 0)
            return &summary->items[i];
    return NULL;
}

enum cv_code cv_position_find_job(struct cv_table *table, const char *job, struct cv_arena *arena,
                                  struct cv_position *ret_position, struct cv_error *err)
{
    struct cv_history history = cv_position_history(table->metadata, cv_table_branch(table));
    const struct cv_snapshot *snapshot;

    while ((snapshot = cv_history_next(&history))) {
        const struct cv_property *item = find_item(&snapshot->summary, job);
        struct cv_position position = {0};

        if (!item)
            continue;
        CV_TRY(read_position(table, snapshot, item, arena, &position, err), err,
               "snapshot %lld: %s", (long long)snapshot->id, item->key);
        *ret_position = position;
        return CV_OK;
    }
    return cv_fail(err, CV_NOT_FOUND, "no snapshot of job %s in the table's history", job);
}
