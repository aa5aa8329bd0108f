/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to table/: writing positions and carrying them forward. */
#ifndef CALVE_TABLE_POSITION_INT_H
#define CALVE_TABLE_POSITION_INT_H

#include "table/position.h"

/* calve.position.<job> for the summary; *ret_full (NULL ptr when the summary has it all) is the
 * whole text, for the manifest list's metadata. In the arena. */
enum cv_code cv_position_write(const char *query_id, int64_t epoch, const char *cluster_id,
                               const char *offsets_json, struct cv_arena *arena,
                               const char **ret_summary, struct cv_str *ret_full,
                               struct cv_error *err);
/* Epoch of a query in one snapshot, by Spark's keys or any job's position; -1 when it has none. */
enum cv_code cv_position_epoch(const struct cv_snapshot *snapshot, const char *query_id,
                               int64_t *ret_epoch, struct cv_error *err);
/* The newest ancestor of the branch head that knows the query; NULL when none does. */
enum cv_code cv_position_newest(const struct cv_table_metadata *metadata, const char *branch,
                                const char *query_id, const struct cv_snapshot **ret_snapshot,
                                int64_t *ret_epoch, struct cv_error *err);

/* The ancestors of a branch head, the kept ones beyond expired ones too. */
struct cv_history cv_position_history(const struct cv_table_metadata *metadata, const char *branch);
/* The long form of a position, from the list that the snapshot wrote. */
enum cv_code cv_position_read_long(struct cv_table *table, const struct cv_snapshot *snapshot,
                                   const char *key, struct cv_arena *arena, struct cv_str *ret_text,
                                   struct cv_error *err);

/* Says how many positions a snapshot of maintenance carries; it ends the search for more. */
#define CV_POSITIONS_KEY "calve.positions"

/* The newest position of each of calve's jobs and of Kafka Connect's groups, of the newest query of
 * Spark and job of Flink in a branch's history, for a snapshot that adds none of its own: then
 * nobody has to look behind it, and expiry need not keep older ones.
 * Zero-initialised; kept over the attempts of a commit, so that a long position is read once. */
struct cv_carried_position {
    const char *key;
    const char *summary;
    struct cv_str full; /* ptr NULL when the summary has it all */
};
struct cv_carried_positions {
    struct cv_arena arena;
    struct cv_carried_position *items;
    size_t count;
    struct cv_avro_metadata *extra; /* of the long ones, for the manifest list */
    size_t extra_count;
};
/* Searches from the branch's head to the newest snapshot with CV_POSITIONS_KEY, which has all that
 * are older, else to the end of the history. Reads no file but the lists of long positions. */
enum cv_code cv_position_carry(struct cv_table *table, const struct cv_table_metadata *metadata,
                               struct cv_carried_positions *carried, struct cv_error *err);
/* Sets the keys in a summary. */
void cv_position_put_carried(const struct cv_carried_positions *carried,
                             struct cv_properties *summary);
void cv_carried_positions_release(struct cv_carried_positions *carried);

#endif
