/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots (spec: Snapshots): JSON, and the one block that holds a snapshot's texts. */
#include "iceberg/metadata_int.h"

#include <stdio.h>
#include <stdlib.h>

/* The block: header, summary items, manifest paths, then all texts. */
struct cv_snapshot_block {
    unsigned references; /* atomic */
};

void cv_snapshot_ref_block(const struct cv_snapshot *snapshot)
{
    __atomic_add_fetch(&snapshot->block->references, 1, __ATOMIC_RELAXED);
}

void cv_snapshot_unref_block(const struct cv_snapshot *snapshot)
{
    if (snapshot->block &&
        __atomic_sub_fetch(&snapshot->block->references, 1, __ATOMIC_ACQ_REL) == 0)
        free(snapshot->block);
}

static size_t text_bytes(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static size_t block_bytes(const struct cv_snapshot *snapshot, struct cv_str json)
{
    size_t bytes = 16 + snapshot->summary.count * sizeof(struct cv_property) +
                   snapshot->manifest_count * sizeof(char *) + json.length;

    bytes += text_bytes(snapshot->manifest_list);
    for (size_t i = 0; i < snapshot->manifest_count; i++)
        bytes += text_bytes(snapshot->manifests[i]);
    for (size_t i = 0; i < snapshot->summary.count; i++)
        bytes += text_bytes(snapshot->summary.items[i].key) +
                 text_bytes(snapshot->summary.items[i].value);
    return bytes;
}

static char *put_text(char **at, const char *text)
{
    size_t bytes = text_bytes(text);
    char *copy = *at;

    if (!text)
        return NULL;
    memcpy(copy, text, bytes);
    *at += bytes;
    return copy;
}

struct cv_snapshot cv_snapshot_pack(const struct cv_snapshot *snapshot, struct cv_str json)
{
    struct cv_snapshot packed = *snapshot;
    char *memory = cv_alloc(block_bytes(snapshot, json));
    char *at = memory + 16;

    packed.block = (struct cv_snapshot_block *)memory;
    packed.block->references = 1;
    packed.summary.items = (struct cv_property *)at;
    packed.summary.capacity = 0;
    at += packed.summary.count * sizeof(struct cv_property);
    packed.manifests = (const char **)at;
    at += packed.manifest_count * sizeof(char *);
    packed.manifest_list = put_text(&at, snapshot->manifest_list);
    for (size_t i = 0; i < packed.manifest_count; i++)
        packed.manifests[i] = put_text(&at, snapshot->manifests[i]);
    for (size_t i = 0; i < packed.summary.count; i++) {
        packed.summary.items[i].key = put_text(&at, snapshot->summary.items[i].key);
        packed.summary.items[i].value = put_text(&at, snapshot->summary.items[i].value);
    }
    if (json.length)
        memcpy(at, json.ptr, json.length);
    packed.json = (struct cv_str){at, json.length};
    return packed;
}

/* What is read before it is packed: its texts are the document's. */
struct draft {
    struct cv_snapshot snapshot;
    struct cv_arena arena;
};

static void draft_release(struct draft *draft)
{
    cv_arena_release(&draft->arena);
}

static enum cv_code read_summary(const struct cv_json *json, struct draft *draft,
                                 struct cv_error *err)
{
    const struct cv_json *summary = cv_json_get(json, "summary");
    struct cv_properties *properties = &draft->snapshot.summary;
    const struct cv_json *value;
    const char *key;
    size_t position = 0;

    if (!summary || cv_json_is_null(summary))
        return CV_OK;
    if (!cv_json_is_object(summary))
        return cv_fail(err, CV_FORMAT, "summary is not an object");
    properties->items = cv_arena_array(&draft->arena, struct cv_property, cv_json_size(summary));
    while ((key = cv_json_next(summary, &position, &value))) {
        if (!cv_json_is_string(value))
            return cv_fail(err, CV_FORMAT, "summary: the value of %s is not a string", key);
        properties->items[properties->count++] =
            (struct cv_property){(char *)(uintptr_t)key, (char *)(uintptr_t)cv_json_text(value)};
    }
    return CV_OK;
}

static enum cv_code read_manifests(const struct cv_json *json, struct draft *draft,
                                   struct cv_error *err)
{
    const struct cv_json *manifests = cv_json_get(json, "manifests");
    struct cv_snapshot *snapshot = &draft->snapshot;

    CV_DO(cv_json_optional_string(json, "manifest-list", &snapshot->manifest_list, err));
    if (snapshot->manifest_list)
        return CV_OK;
    if (!manifests || !cv_json_is_array(manifests))
        return cv_fail(err, CV_FORMAT, "neither manifest-list nor manifests is there");
    snapshot->manifest_count = cv_json_size(manifests);
    snapshot->manifests = cv_arena_array(&draft->arena, const char *, snapshot->manifest_count);
    for (size_t i = 0; i < snapshot->manifest_count; i++) {
        const struct cv_json *path = cv_json_at(manifests, i);

        if (!cv_json_is_string(path))
            return cv_fail(err, CV_FORMAT, "manifests has something that is not a string");
        snapshot->manifests[i] = cv_json_text(path);
    }
    return CV_OK;
}

/* The snapshot's own text, without members that are null: "parent-snapshot-id": null is read, but
 * other readers refuse it. */
static void keep_text(const struct cv_json *json, struct cv_buf *out)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);
    const struct cv_json *value;
    const char *key;
    size_t position = 0;

    cv_json_begin_object(&w);
    while ((key = cv_json_next(json, &position, &value))) {
        if (cv_json_is_null(value))
            continue;
        cv_json_key(&w, key);
        cv_json_write_node(value, out);
        w.comma = true;
    }
    cv_json_end_object(&w);
}

enum cv_code cv_snapshot_read_json(const struct cv_json *json, struct cv_buf *scratch,
                                   struct cv_snapshot *ret_snapshot, struct cv_error *err)
{
    CV_CLEANUP(draft_release)
    struct draft draft = {.snapshot = {.parent_id = -1, .schema_id = -1}};
    struct cv_snapshot *snapshot = &draft.snapshot;

    if (!cv_json_is_object(json))
        return cv_fail(err, CV_FORMAT, "a snapshot is not an object");
    CV_DO(cv_json_read_i64(json, "snapshot-id", &snapshot->id, err));
    CV_DO(cv_json_optional_i64(json, "parent-snapshot-id", &snapshot->parent_id, err));
    CV_DO(cv_json_optional_i64(json, "sequence-number", &snapshot->sequence_number, err));
    CV_DO(cv_json_read_i64(json, "timestamp-ms", &snapshot->timestamp_ms, err));
    CV_DO(cv_json_optional_i32(json, "schema-id", &snapshot->schema_id, err));
    CV_DO(read_manifests(json, &draft, err));
    CV_DO(read_summary(json, &draft, err));
    cv_buf_clear(scratch);
    keep_text(json, scratch);
    CV_DO(cv_buf_check(scratch, "a snapshot", err));
    *ret_snapshot =
        cv_snapshot_pack(snapshot, (struct cv_str){(const char *)scratch->data, scratch->length});
    return CV_OK;
}

static void write_summary(const struct cv_properties *summary, struct cv_json_writer *w)
{
    const char *operation = cv_properties_get(summary, "operation");

    cv_json_begin_object(w);
    if (operation) {
        cv_json_key(w, "operation");
        cv_json_put_string(w, operation);
    }
    for (size_t i = 0; i < summary->count; i++) {
        if (strcmp(summary->items[i].key, "operation") == 0)
            continue;
        cv_json_key(w, summary->items[i].key);
        cv_json_put_string(w, summary->items[i].value);
    }
    cv_json_end_object(w);
}

static void write_number(struct cv_json_writer *w, const char *key, int64_t value)
{
    cv_json_key(w, key);
    cv_json_put_i64(w, value);
}

void cv_snapshot_write_json(const struct cv_snapshot *snapshot, int format_version,
                            struct cv_buf *out)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);

    cv_json_begin_object(&w);
    if (format_version > 1)
        write_number(&w, "sequence-number", snapshot->sequence_number);
    write_number(&w, "snapshot-id", snapshot->id);
    if (snapshot->parent_id >= 0)
        write_number(&w, "parent-snapshot-id", snapshot->parent_id);
    write_number(&w, "timestamp-ms", snapshot->timestamp_ms);
    cv_json_key(&w, "summary");
    write_summary(&snapshot->summary, &w);
    if (snapshot->manifest_list) {
        cv_json_key(&w, "manifest-list");
        cv_json_put_string(&w, snapshot->manifest_list);
    }
    if (snapshot->schema_id >= 0)
        write_number(&w, "schema-id", snapshot->schema_id);
    cv_json_end_object(&w);
}

struct cv_history cv_history_of(const struct cv_table_metadata *metadata, const char *branch)
{
    return (struct cv_history){metadata, cv_table_metadata_head(metadata, branch),
                               metadata->snapshot_count, false};
}

static const struct cv_snapshot *ancestor_over_gap(const struct cv_table_metadata *metadata,
                                                   const struct cv_snapshot *snapshot)
{
    char key[sizeof CV_ANCESTOR_PROPERTY + 20];
    const char *text;
    int64_t id;

    (void)snprintf(key, sizeof key, CV_ANCESTOR_PROPERTY "%lld", (long long)snapshot->id);
    text = cv_properties_get(&metadata->properties, key);
    return text && cv_parse_i64(cv_str_from(text), &id) ? cv_table_metadata_snapshot(metadata, id)
                                                        : NULL;
}

const struct cv_snapshot *cv_history_next(struct cv_history *history)
{
    const struct cv_snapshot *snapshot = history->left ? history->next : NULL;

    if (!snapshot)
        return NULL;
    history->left--;
    history->next = snapshot->parent_id < 0
                        ? NULL
                        : cv_table_metadata_snapshot(history->metadata, snapshot->parent_id);
    if (!history->next && snapshot->parent_id >= 0 && history->over_gaps)
        history->next = ancestor_over_gap(history->metadata, snapshot);
    return snapshot;
}
