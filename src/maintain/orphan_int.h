/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to remove_orphan_files: what the table names, what is listed, and other tables. */
#ifndef CALVE_MAINTAIN_ORPHAN_INT_H
#define CALVE_MAINTAIN_ORPHAN_INT_H

#include "maintain/location_key.h"
#include "maintain/removals.h"

enum cv_prefix_mismatch { CV_MISMATCH_ERROR, CV_MISMATCH_IGNORE, CV_MISMATCH_DELETE };

/* One search; lives in the procedure's run. Sets hold paths without scheme and authority; those of
 * files that do not lie under the table's own prefix are in `elsewhere` too, whole. */
struct cv_orphan_search {
    const struct cv_maintenance *maintenance;
    const char *location;  /* to be listed */
    const char *file_list; /* instead of listing; NULL */
    int64_t older_than_ms;
    enum cv_prefix_mismatch mismatch;
    struct cv_location_rules rules;
    struct cv_location_key folder; /* of location */
    char home[CV_LOCATION_PREFIX_BYTES];
    struct cv_store *store; /* of location */

    struct cv_location_set *named; /* by the table; then also what was found */
    struct cv_location_set *elsewhere;
    struct cv_removals found;
    struct cv_maintain_meter meter;

    int64_t listed, kept, young, ageless, hidden;
    int64_t blank;            /* metadata of tables that never had a snapshot */
    char blank_example[1024]; /* the first of them */
    int64_t conflicts;
    struct cv_buf conflict_list; /* the first ones */
};

/* Adds what the snapshots, the metadata log and the statistics of a table name. */
enum cv_code cv_orphan_name_files(struct cv_orphan_search *search, struct cv_location_set *set,
                                  const struct cv_table_metadata *metadata,
                                  const struct cv_snapshot *const *snapshots, size_t count,
                                  const char *metadata_location, struct cv_error *err);
/* Adds one location to the set, and to `elsewhere` if it is not at home. */
enum cv_code cv_orphan_name(struct cv_orphan_search *search, struct cv_location_set *set,
                            struct cv_str location, struct cv_error *err);

/* Lists and puts what is named by nobody and old enough into `found`. CV_CONTRADICTION when another
 * table's metadata is there. */
enum cv_code cv_orphan_list(struct cv_orphan_search *search, struct cv_error *err);

/* CV_CONTRADICTION if another table of the catalog has its metadata below the location. */
enum cv_code cv_orphan_check_catalog(struct cv_orphan_search *search, struct cv_error *err);
/* The same for a metadata file that the table does not name: by its table-uuid. `ret_blank`: it is
 * of another table at the very same location that has no files yet, and stays. */
enum cv_code cv_orphan_check_metadata(struct cv_orphan_search *search, const char *location,
                                      bool *ret_blank, struct cv_error *err);

#endif
