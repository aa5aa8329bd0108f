/* SPDX-License-Identifier: Apache-2.0
 *
 * MD5, which S3 asks for with bulk deletes and gives as the ETag of an object. */
#ifndef CALVE_CODEC_MD5_H
#define CALVE_CODEC_MD5_H

#include <stddef.h>
#include <stdint.h>

#define CV_MD5_BYTES 16

void cv_md5(const void *bytes, size_t length, uint8_t ret[CV_MD5_BYTES]);

#endif
