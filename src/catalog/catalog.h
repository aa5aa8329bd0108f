/* SPDX-License-Identifier: Apache-2.0
 *
 * Catalogs: find a table, swap its metadata location atomically. One small vtable; implementations
 * in sql/ (SQLite in the JDBC-catalog layout) and hadoop/ (version-hint). A catalog is used by one
 * thread at a time. Adding one is a file and a row in catalog.c. */
#ifndef CALVE_CATALOG_CATALOG_H
#define CALVE_CATALOG_CATALOG_H

#include "base/properties.h"
#include "base/str.h"
#include "config/option.h"
#include "storage/store.h"

#define CV_NAME_BYTES_MAX 255 /* one part of a table's name */

/* catalog.namespace[.namespace…].table, split. Lives in the arena that it was parsed into. */
struct cv_table_name {
    const char *catalog;
    const char **levels; /* of the namespace, at least one */
    size_t level_count;
    const char *table;
    const char *branch; /* from a last part "branch_<name>"; NULL = main */
};

enum cv_code cv_table_name_parse(const char *text, struct cv_arena *arena,
                                 struct cv_table_name *ret_name, struct cv_error *err);
/* "ns.ns": the levels with dots between; "ns.ns.table". */
const char *cv_table_name_namespace(const struct cv_table_name *name, struct cv_arena *arena);
const char *cv_table_name_text(const struct cv_table_name *name, struct cv_arena *arena);

/* One catalog of the job file. */
struct cv_catalog_settings {
    const char *type;
    const char *uri;
    const char *warehouse;
    const char *catalog_name; /* NULL = the name in the job file */
};

extern const struct cv_option_table cv_catalog_options;

/* The file of a "sqlite:FILE", "sqlite:///FILE" or "jdbc:sqlite:FILE" uri, as written there (a
 * fourth slash makes it absolute, as in SQLAlchemy); NULL for other uris. Who has the job file
 * resolves a relative one and passes "sqlite:/absolute/file" on. */
const char *cv_catalog_uri_file(const char *uri);

struct cv_catalog;

struct cv_catalog_ops {
    const char *type;  /* "sql", "hadoop" */
    bool fixed_layout; /* metadata is always in <location>/metadata */
    enum cv_code (*open)(const char *name, const struct cv_catalog_settings *settings,
                         struct cv_catalog **ret_catalog, struct cv_error *);
    /* The current metadata location; CV_NOT_FOUND. */
    enum cv_code (*load)(struct cv_catalog *, const struct cv_table_name *, struct cv_arena *,
                         const char **ret_location, struct cv_error *);
    /* Registers a new table whose metadata file is written; makes the namespace; CV_EXISTS.
     * *ret_location (in the arena) is what load() gives from now on: `next`, but where a catalog
     * moves the file under a name of its own. */
    enum cv_code (*create)(struct cv_catalog *, const struct cv_table_name *, const char *next,
                           struct cv_arena *, const char **ret_location, struct cv_error *);
    /* Swaps base for next. CV_CONFLICT: definitely not applied, somebody else was first.
     * CV_UNKNOWN: may have been applied; the caller looks before it does anything else. Any other
     * failure: definitely not applied. */
    enum cv_code (*commit)(struct cv_catalog *, const struct cv_table_name *, const char *base,
                           const char *next, struct cv_arena *, const char **ret_location,
                           struct cv_error *);
    /* Takes the table out of the catalog; its files stay. */
    enum cv_code (*drop)(struct cv_catalog *, const struct cv_table_name *, struct cv_error *);
    /* Full names ("ns.table") of all tables, sorted. */
    enum cv_code (*list)(struct cv_catalog *, struct cv_arena *, char ***ret_names,
                         size_t *ret_count, struct cv_error *);
    /* Location for a new table, and where its next metadata file is to be written (`base` NULL for
     * a new table). */
    enum cv_code (*table_location)(struct cv_catalog *, const struct cv_table_name *,
                                   struct cv_arena *, const char **ret_location, struct cv_error *);
    enum cv_code (*metadata_location)(struct cv_catalog *, const char *metadata_folder,
                                      const char *base, bool gzip, struct cv_arena *,
                                      const char **ret_location, struct cv_error *);
    void (*free)(struct cv_catalog *);
};

struct cv_catalog {
    const struct cv_catalog_ops *ops;
};

/* `properties`: type, uri, warehouse, catalog-name and whatever the type takes; unknown keys are
 * refused. */
enum cv_code cv_catalog_open(const char *name, const struct cv_properties *properties,
                             struct cv_catalog **ret_catalog, struct cv_error *err);
void cv_catalog_free(struct cv_catalog *catalog);
CV_DEFINE_CLEANUP(struct cv_catalog *, cv_catalog_free)

#endif
