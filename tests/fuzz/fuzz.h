/* SPDX-License-Identifier: Apache-2.0
 *
 * What every fuzz target defines. It must accept any bytes, return 0, and leave nothing allocated
 * that grows from call to call. */
#ifndef CALVE_TESTS_FUZZ_H
#define CALVE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
