/* SPDX-License-Identifier: Apache-2.0
 *
 * Values as bytes whose unsigned order is the order of the values: numbers big-endian with the sign
 * turned, NaN, one and the same, above all; texts of any length stay comparable before what
 * follows. No value's bytes begin another's of the same type. */
#ifndef CALVE_BATCH_ORDER_H
#define CALVE_BATCH_ORDER_H

#include "schema/value.h"

/* Of a value that is not null: numbers, dates and booleans in 8 bytes, decimals in 16. */
void cv_order_write(const struct cv_value *value, struct cv_buf *out);
/* The same of a value in no more than 64 bits, as a number. */
uint64_t cv_order_number(const struct cv_value *value);
void cv_order_put_number(uint64_t number, uint8_t bytes[8]); /* big-endian */

#endif
