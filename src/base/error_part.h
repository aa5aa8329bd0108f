/* SPDX-License-Identifier: Apache-2.0
 *
 * What stood in the way of a request, kept in the flags of its error, so that a user can be told by
 * name which of many things is wrong. */
#ifndef CALVE_BASE_ERROR_PART_H
#define CALVE_BASE_ERROR_PART_H

#include "base/error.h"

/* Beside enum cv_error_flag. */
enum cv_error_part {
    CV_PART_DNS = 0x100,
    CV_PART_CONNECTION = 0x200,
    CV_PART_TLS = 0x400,
    CV_PART_SERVICE = 0x800, /* something else answers there */
    CV_PART_CLOCK = 0x1000,
    CV_PART_AUTHORIZATION = 0x2000, /* no credentials, or none that the server knows */
    CV_PART_BUCKET = 0x4000,
    CV_PART_WAREHOUSE = 0x8000,
};

/* "dns", "tls", …; NULL = nothing of the kind. */
const char *cv_error_part_name(const struct cv_error *err);
/* In the place of another part. */
void cv_error_set_part(struct cv_error *err, enum cv_error_part part);

#endif
