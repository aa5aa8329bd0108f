/* SPDX-License-Identifier: Apache-2.0
 *
 * The job file: YAML of a few sections, flattened to (section, key, value). A value that is a map
 * or a list becomes its JSON text, so that startingOffsets may be written as YAML. ${NAME} in a
 * value is an environment variable; an unset one is an error. */
#ifndef CALVE_CONFIG_JOB_FILE_H
#define CALVE_CONFIG_JOB_FILE_H

#include "base/buf.h"
#include "base/str.h"

#define CV_JOB_FILE_BYTES_MAX ((size_t)1 << 20)

struct cv_job_entry {
    const char *section; /* "", "source", "value", "watermark", "sink", "maintenance",
                            "catalogs.<name>", "tables.<name>" */
    const char *key;
    const char *value;
    int line; /* from 1; 0 for an override of the command line */
};

struct cv_job_file {
    struct cv_arena arena;
    const char *path;
    const char *folder; /* absolute: relative paths in the file start here */
    struct cv_job_entry *entries;
    size_t count;
    size_t capacity;
};

enum cv_code cv_job_file_read(const char *path, struct cv_job_file *ret_file, struct cv_error *err);
/* `name` stands in messages; relative paths start at `folder`. */
enum cv_code cv_job_file_parse(struct cv_str text, const char *name, const char *folder,
                               struct cv_job_file *ret_file, struct cv_error *err);
/* "sink.trigger=5 seconds"; the first dot splits the section, a second one under catalogs. */
enum cv_code cv_job_file_override(struct cv_job_file *file, const char *assignment,
                                  struct cv_error *err);
void cv_job_file_release(struct cv_job_file *file);

/* The path made absolute against `folder`, "." and "//" taken out. */
const char *cv_path_resolve(const char *folder, const char *path, struct cv_arena *arena);

#endif
