/* SPDX-License-Identifier: Apache-2.0
 *
 * Updates and requirements between two states of a table, and whether a third state has them. */
#include "iceberg/metadata_diff.h"

#include "iceberg/metadata_int.h"

struct diff {
    const struct cv_table_metadata *base;
    const struct cv_table_metadata *next;
    struct cv_json_writer updates;
    struct cv_json_writer requirements;
    bool schema_asserted, spec_asserted, sort_order_asserted;
    bool refs_asserted; /* all of them */
};

static void put_number(struct cv_json_writer *w, const char *key, int64_t value)
{
    cv_json_key(w, key);
    cv_json_put_i64(w, value);
}

static void put_string(struct cv_json_writer *w, const char *key, const char *value)
{
    cv_json_key(w, key);
    cv_json_put_string(w, value);
}

static void begin(struct cv_json_writer *w, const char *key, const char *name)
{
    cv_json_begin_object(w);
    put_string(w, key, name);
}

static struct cv_json_writer *begin_update(struct diff *d, const char *action)
{
    begin(&d->updates, "action", action);
    return &d->updates;
}

static struct cv_json_writer *begin_requirement(struct diff *d, const char *type)
{
    begin(&d->requirements, "type", type);
    return &d->requirements;
}

static void update_number(struct diff *d, const char *action, const char *key, int64_t value)
{
    put_number(begin_update(d, action), key, value);
    cv_json_end_object(&d->updates);
}

static void require_number(struct diff *d, const char *type, const char *key, int64_t value)
{
    put_number(begin_requirement(d, type), key, value);
    cv_json_end_object(&d->requirements);
}

static void require_current_schema(struct diff *d)
{
    if (!d->schema_asserted)
        require_number(d, "assert-current-schema-id", "current-schema-id",
                       d->base->current_schema_id);
    d->schema_asserted = true;
}

static void require_default_spec(struct diff *d)
{
    if (!d->spec_asserted)
        require_number(d, "assert-default-spec-id", "default-spec-id", d->base->default_spec_id);
    d->spec_asserted = true;
}

static void require_default_sort_order(struct diff *d)
{
    if (!d->sort_order_asserted)
        require_number(d, "assert-default-sort-order-id", "default-sort-order-id",
                       d->base->default_sort_order_id);
    d->sort_order_asserted = true;
}

/* "main" is also there where the metadata has only a current snapshot. -1 = no such ref. */
static int64_t ref_head(const struct cv_table_metadata *metadata, const char *name)
{
    const struct cv_snapshot_ref *ref = cv_table_metadata_ref(metadata, name);

    if (ref)
        return ref->snapshot_id;
    return strcmp(name, CV_MAIN_BRANCH) == 0 ? metadata->current_snapshot_id : -1;
}

/* The id is never left out: null says that the ref must not exist. */
static void require_ref(struct diff *d, const char *name)
{
    int64_t id = ref_head(d->base, name);
    struct cv_json_writer *w;

    if (d->refs_asserted && id >= 0)
        return;
    w = begin_requirement(d, "assert-ref-snapshot-id");
    put_string(w, "ref", name);
    cv_json_key(w, "snapshot-id");
    if (id >= 0)
        cv_json_put_i64(w, id);
    else
        cv_json_put_null(w);
    cv_json_end_object(w);
}

static void require_all_refs(struct diff *d)
{
    if (d->refs_asserted)
        return;
    for (size_t i = 0; i < d->base->ref_count; i++)
        require_ref(d, d->base->refs[i].name);
    if (!cv_table_metadata_ref(d->base, CV_MAIN_BRANCH) && d->base->current_snapshot_id >= 0)
        require_ref(d, CV_MAIN_BRANCH);
    d->refs_asserted = true;
}

static bool same_ref(const struct cv_snapshot_ref *a, const struct cv_snapshot_ref *b)
{
    return a->snapshot_id == b->snapshot_id && a->is_tag == b->is_tag &&
           a->min_snapshots_to_keep == b->min_snapshots_to_keep &&
           a->max_snapshot_age_ms == b->max_snapshot_age_ms &&
           a->max_ref_age_ms == b->max_ref_age_ms;
}

/* A ref that next has otherwise than base, or that base lacks. */
static bool ref_changed(const struct cv_table_metadata *base, const struct cv_snapshot_ref *ref)
{
    const struct cv_snapshot_ref *old = cv_table_metadata_ref(base, ref->name);

    return !old || !same_ref(old, ref);
}

/* What is removed was chosen by looking at the refs: those must still be what they were. */
static bool removes_something(const struct diff *d)
{
    for (size_t i = 0; i < d->base->snapshot_count; i++)
        if (!cv_table_metadata_snapshot(d->next, d->base->snapshots[i].id))
            return true;
    for (size_t i = 0; i < d->base->ref_count; i++)
        if (!cv_table_metadata_ref(d->next, d->base->refs[i].name))
            return true;
    return false;
}

static void diff_schemas(struct diff *d)
{
    bool added = false;

    for (size_t i = 0; i < d->next->schema_count; i++) {
        const struct cv_schema *schema = &d->next->schemas[i];
        struct cv_json_writer *w;

        if (cv_table_metadata_schema_by_id(d->base, schema->schema_id))
            continue;
        w = begin_update(d, "add-schema");
        cv_json_key(w, "schema");
        cv_schema_write_json(schema, w->out);
        w->comma = true;
        put_number(w, "last-column-id", d->next->last_column_id);
        cv_json_end_object(w);
        added = true;
    }
    if (added)
        require_number(d, "assert-last-assigned-field-id", "last-assigned-field-id",
                       d->base->last_column_id);
    if (d->next->current_schema_id == d->base->current_schema_id)
        return;
    update_number(d, "set-current-schema", "schema-id", d->next->current_schema_id);
    require_current_schema(d);
}

static void diff_specs(struct diff *d)
{
    bool added = false;

    for (size_t i = 0; i < d->next->spec_count; i++) {
        const struct cv_partition_spec *spec = &d->next->specs[i];
        struct cv_json_writer *w;

        if (cv_table_metadata_spec_by_id(d->base, spec->spec_id))
            continue;
        w = begin_update(d, "add-spec");
        cv_json_key(w, "spec");
        cv_partition_spec_write_json(spec, w->out);
        w->comma = true;
        cv_json_end_object(w);
        added = true;
    }
    if (added)
        require_number(d, "assert-last-assigned-partition-id", "last-assigned-partition-id",
                       d->base->last_partition_id);
    if (d->next->default_spec_id == d->base->default_spec_id)
        return;
    update_number(d, "set-default-spec", "spec-id", d->next->default_spec_id);
    require_default_spec(d);
}

/* calve makes no sort orders; it may choose another one of the table's. */
static void diff_sort_order(struct diff *d)
{
    if (d->next->default_sort_order_id == d->base->default_sort_order_id)
        return;
    update_number(d, "set-default-sort-order", "sort-order-id", d->next->default_sort_order_id);
    require_default_sort_order(d);
}

static bool property_changed(const struct cv_properties *base, const struct cv_property *item)
{
    const char *old = cv_properties_get(base, item->key);

    return !old || strcmp(old, item->value) != 0;
}

static void diff_properties(struct diff *d)
{
    const struct cv_properties *base = &d->base->properties;
    const struct cv_properties *next = &d->next->properties;
    bool any = false;

    for (size_t i = 0; i < next->count; i++) {
        if (!property_changed(base, &next->items[i]))
            continue;
        if (!any) {
            cv_json_key(begin_update(d, "set-properties"), "updates");
            cv_json_begin_object(&d->updates);
        }
        put_string(&d->updates, next->items[i].key, next->items[i].value);
        any = true;
    }
    if (any) {
        cv_json_end_object(&d->updates);
        cv_json_end_object(&d->updates);
    }
    any = false;
    for (size_t i = 0; i < base->count; i++) {
        if (cv_properties_get(next, base->items[i].key))
            continue;
        if (!any) {
            cv_json_key(begin_update(d, "remove-properties"), "removals");
            cv_json_begin_array(&d->updates);
        }
        cv_json_put_string(&d->updates, base->items[i].key);
        any = true;
    }
    if (any) {
        cv_json_end_array(&d->updates);
        cv_json_end_object(&d->updates);
    }
}

static void diff_new_snapshots(struct diff *d)
{
    for (size_t i = 0; i < d->next->snapshot_count; i++) {
        const struct cv_snapshot *snapshot = &d->next->snapshots[i];
        struct cv_json_writer *w;

        if (cv_table_metadata_snapshot(d->base, snapshot->id))
            continue;
        w = begin_update(d, "add-snapshot");
        cv_json_key(w, "snapshot");
        cv_json_put_raw(w, snapshot->json.ptr, snapshot->json.length);
        cv_json_end_object(w);
    }
}

/* The update replaces the whole ref: its retention is sent again. */
static void put_ref(struct diff *d, const struct cv_snapshot_ref *ref)
{
    struct cv_json_writer *w = begin_update(d, "set-snapshot-ref");

    put_string(w, "ref-name", ref->name);
    put_number(w, "snapshot-id", ref->snapshot_id);
    put_string(w, "type", ref->is_tag ? "tag" : "branch");
    if (ref->min_snapshots_to_keep >= 0)
        put_number(w, "min-snapshots-to-keep", ref->min_snapshots_to_keep);
    if (ref->max_snapshot_age_ms >= 0)
        put_number(w, "max-snapshot-age-ms", ref->max_snapshot_age_ms);
    if (ref->max_ref_age_ms >= 0)
        put_number(w, "max-ref-age-ms", ref->max_ref_age_ms);
    cv_json_end_object(w);
}

static void diff_refs(struct diff *d)
{
    for (size_t i = 0; i < d->base->ref_count; i++) {
        const char *name = d->base->refs[i].name;

        if (cv_table_metadata_ref(d->next, name))
            continue;
        put_string(begin_update(d, "remove-snapshot-ref"), "ref-name", name);
        cv_json_end_object(&d->updates);
    }
    for (size_t i = 0; i < d->next->ref_count; i++) {
        if (!ref_changed(d->base, &d->next->refs[i]))
            continue;
        put_ref(d, &d->next->refs[i]);
        require_ref(d, d->next->refs[i].name);
    }
}

static enum cv_code refuse(const char *what, struct cv_error *err)
{
    return cv_fail(err, CV_UNSUPPORTED,
                   "a change of %s cannot be told to a catalog that writes the metadata", what);
}

static bool has_sort_orders(const struct cv_table_metadata *metadata,
                            const struct cv_table_metadata *wanted)
{
    for (size_t i = 0; i < wanted->sort_order_count; i++) {
        size_t at = 0;

        while (at < metadata->sort_order_count &&
               metadata->sort_orders[at].order_id != wanted->sort_orders[i].order_id)
            at++;
        if (at == metadata->sort_order_count)
            return false;
    }
    return true;
}

/* Nothing that next has otherwise is left out in silence. */
static enum cv_code refuse_the_rest(const struct diff *d, struct cv_error *err)
{
    if (strcmp(d->base->table_uuid, d->next->table_uuid) != 0)
        return refuse("table-uuid", err);
    if (!has_sort_orders(d->base, d->next) || !has_sort_orders(d->next, d->base))
        return refuse("sort-orders", err);
    if (!cv_str_equal(d->base->unknown_json, d->next->unknown_json))
        return refuse("members that are not known here", err);
    return CV_OK;
}

/* The element of a statistics array that is the snapshot's; NULL = none. */
static const struct cv_json *statistics_of(const struct cv_json *array, int64_t snapshot_id)
{
    for (size_t i = 0; i < cv_json_size(array); i++) {
        const struct cv_json *id = cv_json_get(cv_json_at(array, i), "snapshot-id");

        if (id && cv_json_is_integer(id) && cv_json_integer(id) == snapshot_id)
            return cv_json_at(array, i);
    }
    return NULL;
}

static bool has_file(const struct cv_json *array, const struct cv_json *wanted)
{
    const char *path = cv_json_text(cv_json_get(wanted, "statistics-path"));

    for (size_t i = 0; i < cv_json_size(array); i++)
        if (strcmp(cv_json_text(cv_json_get(cv_json_at(array, i), "statistics-path")), path) == 0)
            return true;
    return false;
}

/* Only removals: calve writes no statistics files. */
static enum cv_code diff_statistics(struct diff *d, const char *action, struct cv_str base,
                                    struct cv_str next, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *before = NULL;
    CV_CLEANUP(cv_json_freep) struct cv_json *after = NULL;

    if (cv_str_equal(base, next))
        return CV_OK;
    if (base.length)
        CV_DO(cv_json_parse(base.ptr, base.length, &before, err));
    if (next.length)
        CV_DO(cv_json_parse(next.ptr, next.length, &after, err));
    for (size_t i = 0; i < cv_json_size(after); i++)
        if (!has_file(before, cv_json_at(after, i)))
            return refuse("statistics files", err);
    for (size_t i = 0; i < cv_json_size(before); i++) {
        const struct cv_json *id = cv_json_get(cv_json_at(before, i), "snapshot-id");

        if (id && cv_json_is_integer(id) && !statistics_of(after, cv_json_integer(id)))
            update_number(d, action, "snapshot-id", cv_json_integer(id));
    }
    return CV_OK;
}

/* One update for each: servers before 1.9 of the Java library refuse two ids in one. */
static void diff_old_snapshots(struct diff *d)
{
    for (size_t i = 0; i < d->base->snapshot_count; i++) {
        int64_t id = d->base->snapshots[i].id;

        if (cv_table_metadata_snapshot(d->next, id))
            continue;
        cv_json_key(begin_update(d, "remove-snapshots"), "snapshot-ids");
        cv_json_begin_array(&d->updates);
        cv_json_put_i64(&d->updates, id);
        cv_json_end_array(&d->updates);
        cv_json_end_object(&d->updates);
    }
}

/* Adds an id to the list of an update that is begun with the first one. */
static void add_removed(struct diff *d, const char *action, const char *key, bool *begun,
                        int32_t id)
{
    if (!*begun) {
        cv_json_key(begin_update(d, action), key);
        cv_json_begin_array(&d->updates);
    }
    cv_json_put_i64(&d->updates, id);
    *begun = true;
}

static void end_removed(struct diff *d, bool begun)
{
    if (!begun)
        return;
    cv_json_end_array(&d->updates);
    cv_json_end_object(&d->updates);
}

/* What no snapshot uses: the branches must not have moved to something that does. */
static void diff_old_definitions(struct diff *d)
{
    bool schemas = false;
    bool specs = false;

    for (size_t i = 0; i < d->base->spec_count; i++)
        if (!cv_table_metadata_spec_by_id(d->next, d->base->specs[i].spec_id))
            add_removed(d, "remove-partition-specs", "spec-ids", &specs, d->base->specs[i].spec_id);
    end_removed(d, specs);
    for (size_t i = 0; i < d->base->schema_count; i++)
        if (!cv_table_metadata_schema_by_id(d->next, d->base->schemas[i].schema_id))
            add_removed(d, "remove-schemas", "schema-ids", &schemas, d->base->schemas[i].schema_id);
    end_removed(d, schemas);
    if (specs)
        require_default_spec(d);
    if (schemas)
        require_current_schema(d);
    if (specs || schemas)
        require_all_refs(d);
}

static enum cv_code diff_all(struct diff *d, struct cv_error *err)
{
    const struct cv_table_metadata *base = d->base;
    const struct cv_table_metadata *next = d->next;

    if (base->table_uuid[0]) {
        put_string(begin_requirement(d, "assert-table-uuid"), "uuid", base->table_uuid);
        cv_json_end_object(&d->requirements);
    }
    if (removes_something(d))
        require_all_refs(d);
    if (next->format_version != base->format_version)
        update_number(d, "upgrade-format-version", "format-version", next->format_version);
    diff_schemas(d);
    diff_specs(d);
    diff_sort_order(d);
    if (strcmp(next->location, base->location) != 0) {
        put_string(begin_update(d, "set-location"), "location", next->location);
        cv_json_end_object(&d->updates);
    }
    diff_properties(d);
    diff_new_snapshots(d);
    diff_refs(d);
    CV_TRY(
        diff_statistics(d, "remove-statistics", base->statistics_json, next->statistics_json, err),
        err, "statistics");
    CV_TRY(diff_statistics(d, "remove-partition-statistics", base->partition_statistics_json,
                           next->partition_statistics_json, err),
           err, "partition-statistics");
    diff_old_snapshots(d);
    diff_old_definitions(d);
    return refuse_the_rest(d, err);
}

enum cv_code cv_metadata_diff_write(const struct cv_table_metadata *base,
                                    const struct cv_table_metadata *next, bool keeps_definitions,
                                    struct cv_buf *out, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf requirements = CV_BUF_INIT(CV_METADATA_BYTES_MAX);
    CV_CLEANUP(cv_buf_release) struct cv_buf updates = CV_BUF_INIT(CV_METADATA_BYTES_MAX);
    struct diff d = {.base = base, .next = next};

    d.updates = (struct cv_json_writer)CV_JSON_WRITER(&updates);
    d.requirements = (struct cv_json_writer)CV_JSON_WRITER(&requirements);
    CV_DO(diff_all(&d, err));
    if (keeps_definitions) {
        require_current_schema(&d);
        require_default_spec(&d);
        require_default_sort_order(&d);
    }
    CV_DO(cv_buf_check(&updates, "the updates of a commit", err));
    CV_DO(cv_buf_check(&requirements, "the requirements of a commit", err));
    cv_buf_append_text(out, "{\"requirements\":[");
    cv_buf_append(out, requirements.data, requirements.length);
    cv_buf_append_text(out, "],\"updates\":[");
    cv_buf_append(out, updates.data, updates.length);
    cv_buf_append_text(out, "]}");
    return CV_OK;
}

static bool ref_is_in(const struct cv_table_metadata *base, const struct cv_table_metadata *now,
                      const struct cv_snapshot_ref *ref)
{
    const struct cv_snapshot_ref *found = cv_table_metadata_ref(now, ref->name);
    int64_t before = ref_head(base, ref->name);
    struct cv_history history;
    const struct cv_snapshot *snapshot;

    if (!found)
        return false;
    if (ref->is_tag || found->is_tag || before == ref->snapshot_id)
        return same_ref(found, ref);
    history = cv_history_of(now, ref->name);
    while ((snapshot = cv_history_next(&history))) {
        if (snapshot->id == ref->snapshot_id)
            return true;
        if (snapshot->id == before)
            return false;
    }
    return false;
}

static bool refs_are_in(const struct cv_table_metadata *base, const struct cv_table_metadata *next,
                        const struct cv_table_metadata *now)
{
    for (size_t i = 0; i < next->ref_count; i++)
        if (ref_changed(base, &next->refs[i]) && !ref_is_in(base, now, &next->refs[i]))
            return false;
    for (size_t i = 0; i < base->ref_count; i++)
        if (!cv_table_metadata_ref(next, base->refs[i].name) &&
            cv_table_metadata_ref(now, base->refs[i].name))
            return false;
    return true;
}

static bool properties_are_in(const struct cv_properties *base, const struct cv_properties *next,
                              const struct cv_properties *now)
{
    for (size_t i = 0; i < next->count; i++)
        if (property_changed(base, &next->items[i]) && property_changed(now, &next->items[i]))
            return false;
    for (size_t i = 0; i < base->count; i++)
        if (!cv_properties_get(next, base->items[i].key) &&
            cv_properties_get(now, base->items[i].key))
            return false;
    return true;
}

static bool snapshots_are_in(const struct cv_table_metadata *base,
                             const struct cv_table_metadata *next,
                             const struct cv_table_metadata *now)
{
    for (size_t i = 0; i < next->snapshot_count; i++)
        if (!cv_table_metadata_snapshot(base, next->snapshots[i].id) &&
            !cv_table_metadata_snapshot(now, next->snapshots[i].id))
            return false;
    for (size_t i = 0; i < base->snapshot_count; i++)
        if (!cv_table_metadata_snapshot(next, base->snapshots[i].id) &&
            cv_table_metadata_snapshot(now, base->snapshots[i].id))
            return false;
    return true;
}

/* Definitions have numbers of their own: added ones are there, removed ones are not. */
static bool definitions_are_in(const struct cv_table_metadata *base,
                               const struct cv_table_metadata *next,
                               const struct cv_table_metadata *now)
{
    for (size_t i = 0; i < next->schema_count; i++)
        if (!cv_table_metadata_schema_by_id(base, next->schemas[i].schema_id) &&
            !cv_table_metadata_schema_by_id(now, next->schemas[i].schema_id))
            return false;
    for (size_t i = 0; i < base->schema_count; i++)
        if (!cv_table_metadata_schema_by_id(next, base->schemas[i].schema_id) &&
            cv_table_metadata_schema_by_id(now, base->schemas[i].schema_id))
            return false;
    for (size_t i = 0; i < next->spec_count; i++)
        if (!cv_table_metadata_spec_by_id(base, next->specs[i].spec_id) &&
            !cv_table_metadata_spec_by_id(now, next->specs[i].spec_id))
            return false;
    for (size_t i = 0; i < base->spec_count; i++)
        if (!cv_table_metadata_spec_by_id(next, base->specs[i].spec_id) &&
            cv_table_metadata_spec_by_id(now, base->specs[i].spec_id))
            return false;
    return (next->current_schema_id == base->current_schema_id ||
            now->current_schema_id == next->current_schema_id) &&
           (next->default_spec_id == base->default_spec_id ||
            now->default_spec_id == next->default_spec_id) &&
           (next->default_sort_order_id == base->default_sort_order_id ||
            now->default_sort_order_id == next->default_sort_order_id);
}

bool cv_metadata_diff_is_in(const struct cv_table_metadata *base,
                            const struct cv_table_metadata *next,
                            const struct cv_table_metadata *now)
{
    return now->format_version >= next->format_version &&
           (strcmp(next->location, base->location) == 0 ||
            strcmp(next->location, now->location) == 0) &&
           definitions_are_in(base, next, now) &&
           properties_are_in(&base->properties, &next->properties, &now->properties) &&
           snapshots_are_in(base, next, now) && refs_are_in(base, next, now);
}
