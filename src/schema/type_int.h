/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of schema/ that build schemas share. */
#ifndef CALVE_SCHEMA_TYPE_INT_H
#define CALVE_SCHEMA_TYPE_INT_H

#include "schema/type.h"

#define CV_FIXED_BYTES_MAX ((uint32_t)1 << 20) /* length of a fixed */
#define CV_FIELD_ID_MAX    2147483447          /* the 200 above are metadata columns */

/* The rules that hold for every schema: ids unique and in range, names of a struct unique, no two
 * fields with one dotted path. Fills highest_id. Messages name the paths. */
enum cv_code cv_schema_check(struct cv_schema *schema, struct cv_error *err);

/* Iceberg's word for a primitive kind without parameters, and of nested kinds. */
const char *cv_type_word(enum cv_type_kind kind);

/* CV_UNSUPPORTED when `name` is a type of format version 3, CV_SCHEMA for an unknown word. */
enum cv_code cv_type_refuse(struct cv_str name, struct cv_error *err);

/* Checks the parameters before they are stored. */
enum cv_code cv_type_make_decimal(int64_t precision, int64_t scale, struct cv_type *ret_type,
                                  struct cv_error *err);
enum cv_code cv_type_make_fixed(int64_t length, struct cv_type *ret_type, struct cv_error *err);

#endif
