/* SPDX-License-Identifier: Apache-2.0
 *
 * The limits that more than one folder shares. A limit of one module stands next to it. */
#ifndef CALVE_BASE_LIMITS_H
#define CALVE_BASE_LIMITS_H

#define CV_DEPTH_MAX          64                /* nesting of types, JSON values and Avro schemas */
#define CV_FIELDS_MAX         10000             /* fields of one schema, nested ones counted */
#define CV_PATH_BYTES_MAX     4096              /* one path or URI */
#define CV_METADATA_BYTES_MAX ((size_t)1 << 30) /* one metadata.json, unpacked */
#define CV_MANIFEST_BYTES_MAX ((size_t)1 << 30) /* one manifest or manifest list */
#define CV_PARTITIONS_MAX     100000            /* Kafka partitions of one job */
#define CV_THREADS_MAX        64

#endif
