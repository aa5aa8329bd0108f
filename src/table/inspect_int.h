/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to table/: one function per view, and how values look in all of them. */
#ifndef CALVE_TABLE_INSPECT_INT_H
#define CALVE_TABLE_INSPECT_INT_H

#include "codec/json.h"
#include "table/inspect.h"

/* Each writes the rows of one view into the open array of `w`, with Spark's columns; show writes an
 * object of its own. */
enum cv_code cv_inspect_show(struct cv_table *table, struct cv_json_writer *w,
                             struct cv_error *err);
enum cv_code cv_inspect_snapshots(struct cv_table *table, struct cv_json_writer *w,
                                  struct cv_error *err);
enum cv_code cv_inspect_history(struct cv_table *table, struct cv_json_writer *w,
                                struct cv_error *err);
enum cv_code cv_inspect_refs(struct cv_table *table, struct cv_json_writer *w,
                             struct cv_error *err);
enum cv_code cv_inspect_manifests(struct cv_table *table, struct cv_json_writer *w,
                                  struct cv_error *err);
enum cv_code cv_inspect_files(struct cv_table *table, struct cv_json_writer *w,
                              struct cv_error *err);
enum cv_code cv_inspect_partitions(struct cv_table *table, struct cv_json_writer *w,
                                   struct cv_error *err);

/* "key": value. Numbers below zero stand for absent ones: null. */
void cv_inspect_put_count(struct cv_json_writer *w, const char *key, int64_t value);
void cv_inspect_put_text(struct cv_json_writer *w, const char *key, const char *text);
void cv_inspect_put_time(struct cv_json_writer *w, const char *key, int64_t ms);
/* A value by its type: numbers and booleans as such, what JSON lacks as text. */
void cv_inspect_put_value(struct cv_json_writer *w, const struct cv_value *value,
                          const struct cv_type *type);
/* Appendix D bytes of a bound as a value; null when absent or not to be read. */
void cv_inspect_put_bound(struct cv_json_writer *w, struct cv_str bytes,
                          const struct cv_type *type);
/* {"name":value,…} with the fields of every spec of the table, as in Spark: null for those that
 * `spec` lacks. `types` as cv_partition_types() gives them; NULL shows the values as text. */
void cv_inspect_put_partition(struct cv_json_writer *w, const struct cv_table *table,
                              const struct cv_partition_spec *spec, const struct cv_type *types,
                              const struct cv_value *values);
/* Types of a spec's values under the current schema; NULL when a source column is gone. */
const struct cv_type *cv_inspect_partition_types(const struct cv_table *table,
                                                 const struct cv_partition_spec *spec,
                                                 struct cv_arena *arena);

/* The manifests of the branch head; none when the branch has no snapshot. */
enum cv_code cv_inspect_head_manifests(struct cv_table *table, struct cv_arena *arena,
                                       struct cv_manifest_file **ret_rows, size_t *ret_count,
                                       struct cv_error *err);

/* Calls `each` for every live entry of the branch head; its memory lives for the call only. */
enum cv_code cv_inspect_each_entry(struct cv_table *table,
                                   enum cv_code (*each)(void *context,
                                                        const struct cv_manifest_entry *entry,
                                                        struct cv_error *err),
                                   void *context, struct cv_error *err);

#endif
