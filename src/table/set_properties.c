/* SPDX-License-Identifier: Apache-2.0
 *
 * Changing properties of a table. */
#include "table/set_properties.h"

#include "iceberg/metadata_change.h"
#include "table/commit.h"

struct change {
    const struct cv_properties *set;
    const char *const *removed;
    size_t removed_count;
};

/* Names that the specification reserves: they stand elsewhere in the metadata. */
static enum cv_code check_name(const char *key, struct cv_error *err)
{
    static const char *const reserved[] = {
        "format-version",           "uuid",
        "snapshot-count",           "current-snapshot-id",
        "current-snapshot-summary", "current-snapshot-timestamp-ms",
        "current-schema",           "default-partition-spec",
        "default-sort-order"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(reserved); i++)
        if (strcmp(key, reserved[i]) == 0)
            return cv_fail(err, CV_USAGE, "%s is no property that can be set", key);
    return CV_OK;
}

static enum cv_code build(void *context, struct cv_commit *commit, struct cv_table_metadata *next,
                          bool *ret_done, struct cv_error *err)
{
    const struct change *change = context;

    (void)commit;
    (void)err;
    for (size_t i = 0; i < change->set->count; i++) {
        const struct cv_property *item = &change->set->items[i];
        const char *old = cv_properties_get(&next->properties, item->key);

        if (old && strcmp(old, item->value) == 0)
            continue;
        cv_properties_set(&next->properties, item->key, item->value);
        cv_table_metadata_note_change(next);
    }
    for (size_t i = 0; i < change->removed_count; i++)
        if (cv_properties_remove(&next->properties, change->removed[i]))
            cv_table_metadata_note_change(next);
    *ret_done = !next->changed;
    return CV_OK;
}

enum cv_code cv_table_set_properties(struct cv_table *table, const struct cv_properties *set,
                                     const char *const *removed, size_t removed_count,
                                     bool *ret_changed, struct cv_error *err)
{
    struct change change = {set, removed, removed_count};
    struct cv_commit_operation operation = {.build = build, .context = &change};
    struct cv_commit_outcome outcome;

    for (size_t i = 0; i < set->count; i++)
        CV_DO(check_name(set->items[i].key, err));
    CV_DO(cv_commit_run(table, &operation, &outcome, err));
    *ret_changed = !outcome.already_done;
    return CV_OK;
}
