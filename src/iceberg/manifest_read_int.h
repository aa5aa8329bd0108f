/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the manifest reader share: values of partitions and maps of column metrics. */
#ifndef CALVE_ICEBERG_MANIFEST_READ_INT_H
#define CALVE_ICEBERG_MANIFEST_READ_INT_H

#include "iceberg/avro_record.h"
#include "iceberg/manifest_int.h"

/* The Iceberg type that an Avro type stands for: of partition values whose column is gone. */
struct cv_type cv_partition_type_of_avro(const struct cv_avro_type *avro);
/* A partition value, converted to the type (int written before the column became long, …). Bytes
 * are copied into the arena. */
bool cv_partition_take_value(struct cv_avro_source *source, const struct cv_avro_type *avro,
                             const struct cv_type *type, struct cv_arena *arena,
                             struct cv_value *ret_value);

/* The columns of one file while its maps are read, ascending by id. */
struct cv_metrics_reader {
    struct cv_column_metrics *columns;
    size_t count, capacity;
    size_t next; /* where the next id of a map probably is */
};

void cv_metrics_reader_release(struct cv_metrics_reader *reader);
/* Reads the map of a field (column_sizes … upper_bounds) by its id. */
bool cv_metrics_take_map(struct cv_metrics_reader *reader, struct cv_avro_source *source,
                         const struct cv_avro_type *type, int32_t field_id, struct cv_arena *arena);

#endif
