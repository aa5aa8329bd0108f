/* SPDX-License-Identifier: Apache-2.0
 *
 * Which Iceberg type the values of an Avro type are by themselves, where no column says what they
 * are to become: Spark's types of from_avro(), but for time, which Spark has none of. */
#ifndef CALVE_AVRO_NATURAL_H
#define CALVE_AVRO_NATURAL_H

#include "codec/avro_schema.h"
#include "schema/type.h"

/* Everything in the result lives in the arena; names are copied, ids are 0. Fields whose type has
 * no column (null, a union of several types, a recursive record) are left out. False: the type
 * itself is such a one. */
bool cv_avro_natural_type(const struct cv_avro_type *avro, struct cv_arena *arena,
                          struct cv_type *ret_type);

#endif
