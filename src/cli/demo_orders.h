/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders for the demo: the record of the acceptance scenario, made from a seed. */
#ifndef CALVE_CLI_DEMO_ORDERS_H
#define CALVE_CLI_DEMO_ORDERS_H

#include "base/buf.h"

extern const char cv_demo_orders_schema[];  /* Avro, every field nullable */
extern const char cv_demo_orders_columns[]; /* Spark DDL of the table */

struct cv_demo_orders {
    uint64_t state;
    struct cv_buf value; /* the last record's Avro bytes */
    char order_id[40];   /* its key */
};

/* Makes the next order, placed at `now_ms` or a few seconds before. */
void cv_demo_orders_next(struct cv_demo_orders *orders, int64_t now_ms);

#endif
