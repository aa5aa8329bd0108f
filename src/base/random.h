/* SPDX-License-Identifier: Apache-2.0
 *
 * Random ids from the kernel's generator. */
#ifndef CALVE_BASE_RANDOM_H
#define CALVE_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#define CV_UUID_TEXT_BYTES 37

void cv_random_bytes(void *bytes, size_t length);
void cv_uuid_bytes(uint8_t bytes[16]);            /* version 4 */
void cv_uuid_text(char text[CV_UUID_TEXT_BYTES]); /* version 4, lower case, terminated */
int64_t cv_random_id(void); /* positive 63 bits: version-4 halves XORed, as for snapshot ids */

#endif
