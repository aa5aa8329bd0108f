/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of manifests and manifest lists as Iceberg types, and their Avro schema texts. One
 * description serves the writer, the Avro header and the `iceberg.schema` key. */
#ifndef CALVE_ICEBERG_MANIFEST_INT_H
#define CALVE_ICEBERG_MANIFEST_INT_H

#include "iceberg/manifest.h"

/* Field ids of manifest_file. */
enum {
    CV_LIST_PATH = 500,
    CV_LIST_LENGTH = 501,
    CV_LIST_SPEC_ID = 502,
    CV_LIST_CONTENT = 517,
    CV_LIST_SEQUENCE = 515,
    CV_LIST_MIN_SEQUENCE = 516,
    CV_LIST_SNAPSHOT_ID = 503,
    CV_LIST_ADDED_FILES = 504,
    CV_LIST_EXISTING_FILES = 505,
    CV_LIST_DELETED_FILES = 506,
    CV_LIST_ADDED_ROWS = 512,
    CV_LIST_EXISTING_ROWS = 513,
    CV_LIST_DELETED_ROWS = 514,
    CV_LIST_PARTITIONS = 507,
    CV_LIST_KEY_METADATA = 519,
    CV_SUMMARY_CONTAINS_NULL = 509,
    CV_SUMMARY_CONTAINS_NAN = 518,
    CV_SUMMARY_LOWER = 510,
    CV_SUMMARY_UPPER = 511,
};

/* Field ids of manifest_entry and data_file. */
enum {
    CV_ENTRY_STATUS = 0,
    CV_ENTRY_SNAPSHOT_ID = 1,
    CV_ENTRY_DATA_FILE = 2,
    CV_ENTRY_SEQUENCE = 3,
    CV_ENTRY_FILE_SEQUENCE = 4,
    CV_FILE_CONTENT = 134,
    CV_FILE_PATH = 100,
    CV_FILE_FORMAT = 101,
    CV_FILE_PARTITION = 102,
    CV_FILE_RECORD_COUNT = 103,
    CV_FILE_SIZE = 104,
    CV_FILE_BLOCK_SIZE = 105,
    CV_FILE_COLUMN_SIZES = 108,
    CV_FILE_VALUE_COUNTS = 109,
    CV_FILE_NULL_COUNTS = 110,
    CV_FILE_NAN_COUNTS = 137,
    CV_FILE_LOWER_BOUNDS = 125,
    CV_FILE_UPPER_BOUNDS = 128,
    CV_FILE_KEY_METADATA = 131,
    CV_FILE_SPLIT_OFFSETS = 132,
    CV_FILE_EQUALITY_IDS = 135,
    CV_FILE_SORT_ORDER_ID = 140,
    CV_FILE_REFERENCED_DATA_FILE = 143,
};

/* A row of the manifest list in format version 1 or 2. */
const struct cv_type *cv_manifest_list_type(int format_version);
/* manifest_entry with the given partition struct, in the arena. */
struct cv_type cv_manifest_entry_type(int format_version, const struct cv_type *partition,
                                      struct cv_arena *arena);

/* The partition struct of a spec: optional fields under their partition names and ids. */
struct cv_type cv_partition_struct(const struct cv_partition_spec *spec,
                                   const struct cv_type *types, struct cv_arena *arena);

/* The Avro record schema of a struct type, named `name`; nested records are r<field id>. */
void cv_avro_record_write_json(const char *name, const struct cv_type *type, struct cv_buf *out);
/* The name with what Avro does not allow escaped: "a.b" gives "a_x2Eb", "9x" gives "_9x". */
void cv_avro_name(const char *name, struct cv_buf *out);

#endif
