/* SPDX-License-Identifier: Apache-2.0
 *
 * Iceberg's write-compatibility rule: which rows may be assigned to which table. By name and in
 * any order; a value may only widen (int → long, float → double, decimal to a higher precision of
 * the same scale); no null into a required field; no required column may be missing. */
#ifndef CALVE_SCHEMA_COMPAT_H
#define CALVE_SCHEMA_COMPAT_H

#include "base/buf.h"
#include "schema/type.h"

enum cv_assign_flag {
    CV_ASSIGN_IGNORE_UNKNOWN = 1, /* fields that the table lacks are no problem */
};

/* True if values of this primitive type may stand in a column of that one as they are or widened.
 */
bool cv_type_widens(const struct cv_type *from, const struct cv_type *to);

/* True when a value of `from` may be written into a column of `to` without a cast: the same type or
 * one that Iceberg promotes (int → long, float → double, a wider decimal of the same scale); an
 * instant also fits a timestamp without zone, in which it is UTC's wall clock. */
bool cv_assign_allowed(const struct cv_type *from, const struct cv_type *to);

/* The field of a struct type by name: an exact match, else the only one that differs in letter
 * case. NULL if none, and with *ret_ambiguous (may be NULL) when several differ in case. */
const struct cv_field *cv_struct_find_nocase(const struct cv_type *type, const char *name,
                                             bool *ret_ambiguous);

/* Checks that rows of type `from` can be written to a table of type `to`: each column against the
 * field of its name. Appends one line for each problem to `problems`, which begins with the path;
 * returns their number. `flags` are of enum cv_assign_flag. */
size_t cv_schema_check_assign_row(const struct cv_type *from, const struct cv_type *to,
                                  unsigned flags, struct cv_buf *problems);

#endif
