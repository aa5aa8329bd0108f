/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the Avro schema reader share. Private to codec/. */
#ifndef CALVE_CODEC_AVRO_SCHEMA_INT_H
#define CALVE_CODEC_AVRO_SCHEMA_INT_H

#include "codec/avro_schema.h"

/* Sets the logical type, if the attributes name one that fits the type. */
void cv_avro_read_logical(const struct cv_json *json, struct cv_avro_type *type);

#endif
