/* SPDX-License-Identifier: Apache-2.0
 *
 * Catalogs: find a table, change it atomically. One small vtable; implementations in sql/ (the
 * JDBC-catalog layout), hadoop/ (version-hint) and rest/ (a server). A catalog is used by one
 * thread at a time, but for what says "any thread". Adding one is a file and a row in catalog.c. */
#ifndef CALVE_CATALOG_CATALOG_H
#define CALVE_CATALOG_CATALOG_H

#include "base/properties.h"
#include "base/str.h"
#include "config/option.h"
#include "iceberg/metadata.h"
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
extern const struct cv_option_table cv_rest_options; /* of type rest, besides */
extern const struct cv_option_table cv_sql_options;  /* of catalogs of type sql */

/* The file of a "sqlite:FILE", "sqlite:///FILE" or "jdbc:sqlite:FILE" uri, as written there (a
 * fourth slash makes it absolute, as in SQLAlchemy); NULL for other uris. Who has the job file
 * resolves a relative one and passes "sqlite:/absolute/file" on. */
const char *cv_catalog_uri_file(const char *uri);

struct cv_catalog;

/* What a catalog knows of a table. Release it; the location lives in the arena of the call. */
struct cv_catalog_entry {
    bool unchanged; /* the table is where `known` said: nothing else is set */
    const char *metadata_location;
    struct cv_table_metadata *metadata; /* as the catalog's answer had it; NULL = to be read from
                                         * the location */
    struct cv_properties config;        /* for the table's files, over the catalog's own */
    struct cv_store_grants grants;      /* that the catalog vends for them; may be empty */
};
void cv_catalog_entry_release(struct cv_catalog_entry *entry);

/* A change of a table as a catalog gets it: the way from one state to the next. */
struct cv_catalog_change {
    const char *base_location;            /* NULL = a new table */
    const struct cv_table_metadata *base; /* NULL = a new table */
    const struct cv_table_metadata *next;
    const char *next_location; /* of the written metadata file; NULL where the catalog writes it */
    bool keeps_definitions; /* only where schema, partition spec and sort order are still base's */
};

/* One thing that was tried: `failure` NULL = it works, and `found` says what is there. */
typedef void cv_catalog_report(void *context, const char *probe, const char *found,
                               const struct cv_error *failure);

struct cv_catalog_ops {
    const char *type;     /* "sql", "hadoop", "rest" */
    bool fixed_layout;    /* metadata is always in <location>/metadata, its names come again */
    bool writes_metadata; /* the catalog checks each change and makes the metadata file */
    bool plain_metadata;  /* metadata files are never compressed, whatever the table says */
    const struct cv_option_table *options; /* of this type alone; NULL = none */
    /* `properties` are all of the configuration, each key known. */
    enum cv_code (*open)(const char *name, const struct cv_catalog_settings *settings,
                         const struct cv_properties *properties, struct cv_catalog **ret_catalog,
                         struct cv_error *);
    /* The current state; `known` is the metadata location that the caller has, NULL = none.
     * CV_NOT_FOUND. */
    enum cv_code (*load)(struct cv_catalog *, const struct cv_table_name *, const char *known,
                         struct cv_arena *, struct cv_catalog_entry *ret_entry, struct cv_error *);
    /* A new table; makes the namespace; CV_EXISTS. The entry is what load() gives from now on: the
     * location is `next_location`, but where a catalog moves the file under a name of its own. */
    enum cv_code (*create)(struct cv_catalog *, const struct cv_table_name *,
                           const struct cv_catalog_change *, struct cv_arena *,
                           struct cv_catalog_entry *ret_entry, struct cv_error *);
    /* CV_CONFLICT: definitely not applied, somebody else was first. CV_UNKNOWN: may have been
     * applied; the caller looks before it does anything else. Any other failure: definitely not
     * applied. */
    enum cv_code (*commit)(struct cv_catalog *, const struct cv_table_name *,
                           const struct cv_catalog_change *, struct cv_arena *,
                           struct cv_catalog_entry *ret_entry, struct cv_error *);
    /* An existing metadata file becomes a table; CV_EXISTS. NULL: tables are their folders. */
    enum cv_code (*register_table)(struct cv_catalog *, const struct cv_table_name *,
                                   const char *metadata_location, struct cv_error *);
    /* CV_NOT_FOUND, CV_EXISTS. NULL: a table's name is its folder's. */
    enum cv_code (*rename)(struct cv_catalog *, const struct cv_table_name *from,
                           const struct cv_table_name *to, struct cv_error *);
    /* Takes the table out of the catalog; its files stay. */
    enum cv_code (*drop)(struct cv_catalog *, const struct cv_table_name *, struct cv_error *);
    /* Full names ("ns.table") of all tables, sorted. */
    enum cv_code (*list)(struct cv_catalog *, struct cv_arena *, char ***ret_names,
                         size_t *ret_count, struct cv_error *);
    /* Location for a new table; NULL where the catalog chooses one at create(). */
    enum cv_code (*table_location)(struct cv_catalog *, const struct cv_table_name *,
                                   struct cv_arena *, const char **ret_location, struct cv_error *);
    /* Where a table's next metadata file is to be written (`base` NULL for a new table); NULL with
     * writes_metadata. */
    enum cv_code (*metadata_location)(struct cv_catalog *, const char *metadata_folder,
                                      const char *base, bool gzip, struct cv_arena *,
                                      const char **ret_location, struct cv_error *);
    /* What the catalog vends for the table's files, anew. Any thread. NULL: it never does. */
    enum cv_code (*vend)(struct cv_catalog *, const struct cv_table_name *,
                         struct cv_store_grants *ret_grants, struct cv_error *);
    /* For `calve check`: tells each thing in turn and stops at the first that fails. NULL: load()
     * and list() tell enough. */
    enum cv_code (*check)(struct cv_catalog *, cv_catalog_report *report, void *context,
                          struct cv_error *);
    void (*free)(struct cv_catalog *);
};

/* First member of every implementation's struct; cv_catalog_open() and cv_catalog_free() care for
 * what is here. */
struct cv_catalog {
    const struct cv_catalog_ops *ops;
    struct cv_properties store_properties; /* s3.*, client.*: for the files of all tables */
    struct cv_request_counts counts;
};

/* `properties`: cv_catalog_options, what the type takes and what its stores take; unknown keys are
 * refused. */
enum cv_code cv_catalog_open(const char *name, const struct cv_properties *properties,
                             struct cv_catalog **ret_catalog, struct cv_error *err);
void cv_catalog_free(struct cv_catalog *catalog);
CV_DEFINE_CLEANUP(struct cv_catalog *, cv_catalog_free)

/* load() for who only wants to know where the metadata is. */
enum cv_code cv_catalog_find(struct cv_catalog *catalog, const struct cv_table_name *name,
                             struct cv_arena *arena, const char **ret_location,
                             struct cv_error *err);
/* Who asks a catalog to vend anew; outlives the store. */
struct cv_catalog_vendee {
    struct cv_catalog *catalog;
    const struct cv_table_name *name;
};
/* The store for files at `location`, with the catalog's properties and, over them, those of a
 * table's entry. `vendee` NULL: grants are not asked for anew; with one and without an entry the
 * catalog is asked for the entry where it vends. */
enum cv_code cv_catalog_open_store(struct cv_catalog *catalog, const char *location,
                                   const struct cv_catalog_entry *entry,
                                   const struct cv_catalog_vendee *vendee,
                                   struct cv_store **ret_store, struct cv_error *err);

#endif
