/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of what may stand in the way. */
#include "base/error_part.h"

#include "base/memory.h"

static const struct {
    enum cv_error_part flag;
    const char *name;
} parts[] = {
    {CV_PART_DNS, "dns"},       {CV_PART_CONNECTION, "connection"},
    {CV_PART_TLS, "tls"},       {CV_PART_SERVICE, "service"},
    {CV_PART_CLOCK, "clock"},   {CV_PART_AUTHORIZATION, "authorization"},
    {CV_PART_BUCKET, "bucket"}, {CV_PART_WAREHOUSE, "warehouse"},
};

const char *cv_error_part_name(const struct cv_error *err)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(parts); i++)
        if (err->flags & parts[i].flag)
            return parts[i].name;
    return NULL;
}

void cv_error_set_part(struct cv_error *err, enum cv_error_part part)
{
    if (!err)
        return;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(parts); i++)
        err->flags &= ~(unsigned)parts[i].flag;
    err->flags |= part;
}
