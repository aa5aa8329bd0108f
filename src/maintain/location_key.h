/* SPDX-License-Identifier: Apache-2.0
 *
 * Locations as orphan removal compares them: the path apart from scheme and authority, and what is
 * spelt in two ways made one. Whatever is made one here can only keep a file, never delete one. */
#ifndef CALVE_MAINTAIN_LOCATION_KEY_H
#define CALVE_MAINTAIN_LOCATION_KEY_H

#include "base/limits.h"
#include "base/properties.h"
#include "iceberg/metadata.h"

#define CV_LOCATION_PREFIX_BYTES 320

/* Which schemes and which authorities are equal: from the spelling to the one that stands for it.
 */
struct cv_location_rules {
    struct cv_properties schemes;
    struct cv_properties authorities;
};

/* Texts as "a,b=c; d=e" (a and b stand for c); NULL = none. s3n and s3a are s3 in any case. */
enum cv_code cv_location_rules_read(const char *equal_schemes, const char *equal_authorities,
                                    struct cv_location_rules *ret_rules, struct cv_error *err);
void cv_location_rules_release(struct cv_location_rules *rules);

struct cv_location_key {
    char prefix[CV_LOCATION_PREFIX_BYTES]; /* "scheme://authority"; "" where there is no scheme */
    char path[CV_PATH_BYTES_MAX];          /* without "//", "." and ".." parts */
    size_t path_length;
};
/* False when the location is too long. */
bool cv_location_key_make(const struct cv_location_rules *rules, struct cv_str location,
                          struct cv_location_key *ret_key);
/* True for the folder itself and what is below it, by path alone. */
bool cv_location_key_below(const struct cv_location_key *key, const struct cv_location_key *folder);
/* A part below the folder begins with "_" or "." and is no folder of a partition field of that
 * name: orphan removal leaves such files alone, as Spark's does. */
bool cv_location_key_hidden(const struct cv_location_key *key, const struct cv_location_key *folder,
                            const struct cv_table_metadata *metadata);

#endif
