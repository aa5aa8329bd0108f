/* SPDX-License-Identifier: Apache-2.0
 *
 * XML answers of S3 and STS by expat: a callback per element with its path and text. Depth and the
 * length of a text are limited; a document type, and with it every entity of its own, is refused.
 */
#ifndef CALVE_STORAGE_XML_H
#define CALVE_STORAGE_XML_H

#include "base/buf.h"
#include "base/str.h"

#define CV_XML_BYTES_MAX      ((size_t)16 << 20)
#define CV_XML_DEPTH_MAX      16
#define CV_XML_TEXT_BYTES_MAX 16384

/* At an element's end. `path` is "ListBucketResult/Contents/Key", without name spaces; an element
 * without text gives an empty one. */
typedef void cv_xml_take(void *context, const char *path, struct cv_str text);

/* CV_FORMAT where it is no XML, or beyond the limits. */
enum cv_code cv_xml_read(const void *bytes, size_t length, cv_xml_take *take, void *context,
                         struct cv_error *err);

#endif
