/* SPDX-License-Identifier: Apache-2.0
 *
 * Name mapping (spec: Name Mapping Serialization; the property schema.name-mapping.default): field
 * ids of files that carry none. */
#ifndef CALVE_SCHEMA_NAME_MAPPING_H
#define CALVE_SCHEMA_NAME_MAPPING_H

#include "codec/json.h"
#include "schema/type.h"

struct cv_name_mapping_field {
    int32_t field_id; /* -1 = none is given to this name */
    const char **names;
    size_t name_count;
    struct cv_name_mapping_field *fields;
    size_t field_count;
};

struct cv_name_mapping {
    struct cv_name_mapping_field *fields;
    size_t field_count;
};

/* Lives in the arena. */
enum cv_code cv_name_mapping_read(const char *json, struct cv_arena *arena,
                                  struct cv_name_mapping *ret_mapping, struct cv_error *err);
/* The mapping that a schema gives by the names it has now: for files without ids of a table without
 * the property. */
void cv_name_mapping_of_schema(const struct cv_schema *schema, struct cv_arena *arena,
                               struct cv_name_mapping *ret_mapping);
/* Among `fields` (the top level, or those of a field found before; list and map children are
 * "element", "key", "value"); NULL if none. */
const struct cv_name_mapping_field *cv_name_mapping_find(const struct cv_name_mapping_field *fields,
                                                         size_t count, const char *name);

#endif
