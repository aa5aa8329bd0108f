/* SPDX-License-Identifier: Apache-2.0
 *
 * A table as one process sees it: its catalog entry, its parsed metadata, its store. Owned by one
 * thread. Metadata stays parsed between commits. */
#ifndef CALVE_TABLE_TABLE_H
#define CALVE_TABLE_TABLE_H

#include "catalog/catalog.h"
#include "iceberg/manifest.h"
#include "iceberg/metadata.h"
#include "storage/store.h"
#include "table/queue.h"

struct cv_table {
    struct cv_arena arena;      /* names */
    struct cv_catalog *catalog; /* borrowed; outlives the table */
    struct cv_table_name name;
    struct cv_catalog_vendee vendee; /* the two above, for the store */
    struct cv_store *store;
    struct cv_table_metadata *metadata;
    char *metadata_location;
    struct cv_commit_queue *queue; /* borrowed; NULL = nobody else in this process commits */
    enum cv_commit_class commit_class;
    uint64_t queue_count;           /* of the queue's commits that the metadata has */
    uint64_t metadata_hash;         /* of the file's bytes, where names may come again */
    struct cv_arena manifest_arena; /* of the cached list below */
    int64_t manifest_snapshot_id;   /* whose manifest list is cached; -1 = none */
    struct cv_manifest_file *manifests;
    size_t manifest_count;
};

/* Opens "catalog.ns.table" (the catalog part is only for messages). CV_NOT_FOUND with a hint how to
 * create it. */
enum cv_code cv_table_open(struct cv_catalog *catalog, const char *name,
                           struct cv_table **ret_table, struct cv_error *err);
void cv_table_free(struct cv_table *table);
CV_DEFINE_CLEANUP(struct cv_table *, cv_table_free)

/* Reads the catalog again; metadata is parsed only when its location moved, or, where a catalog
 * numbers its files from 1 for every table of a name, its bytes changed. A changed table uuid is
 * CV_CONTRADICTION. */
enum cv_code cv_table_refresh(struct cv_table *table, struct cv_error *err);

/* Makes the metadata file and registers it. `location` NULL = where the catalog puts it. CV_EXISTS
 * when the name is taken. */
enum cv_code cv_table_create(struct cv_catalog *catalog, const char *name,
                             const struct cv_schema *schema, const struct cv_partition_spec *spec,
                             const struct cv_properties *properties, const char *location,
                             struct cv_table **ret_table, struct cv_error *err);

/* "main" or the branch of the name. */
const char *cv_table_branch(const struct cv_table *table);
/* Folder for data files: write.data.path or <location>/data; object-storage layout is data/'s. */
const char *cv_table_data_folder(const struct cv_table *table, struct cv_arena *arena);

/* The rows of a snapshot's manifest list (of v1 inline manifests too). In the arena. */
enum cv_code cv_table_manifests(struct cv_table *table, const struct cv_snapshot *snapshot,
                                struct cv_arena *arena, struct cv_manifest_file **ret_rows,
                                size_t *ret_count, struct cv_error *err);
enum cv_code cv_table_manifest_entries(struct cv_table *table, const struct cv_manifest_file *row,
                                       struct cv_arena *arena,
                                       struct cv_manifest_entry **ret_entries, size_t *ret_count,
                                       struct cv_error *err);

#endif
