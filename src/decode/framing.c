/* SPDX-License-Identifier: Apache-2.0
 *
 * See framing.h. */
#include "decode/framing.h"

#include <stdio.h>

enum { FRAMING_AUTO, FRAMING_CONFLUENT, FRAMING_NONE };

bool cv_framing_confluent(const struct cv_value_options *options)
{
    return options->framing == FRAMING_CONFLUENT ||
           (options->framing == FRAMING_AUTO && options->registry_urls);
}

void cv_framing_first_bytes(const uint8_t *bytes, size_t length, char text[96])
{
    size_t count = CV_MIN(length, CV_FRAMING_HEX_BYTES);
    size_t at = 0;
    bool printable = count > 0;

    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        at += (size_t)snprintf(text + at, 96 - at, "%s%02x", i ? " " : "", bytes[i]);
        printable &= bytes[i] >= 0x20 && bytes[i] < 0x7f;
    }
    if (printable)
        (void)snprintf(text + at, 96 - at, " (%.*s)", (int)count, (const char *)bytes);
}

void cv_framing_fault(struct cv_decode_worker *worker, const uint8_t *bytes, size_t length)
{
    char first[96];

    cv_framing_first_bytes(bytes, length, first);
    if (length == 0)
        cv_decode_fault_set(worker, "", "the value is empty (0 bytes), not Confluent framing");
    else if (bytes[0] != 0)
        cv_decode_fault_set(worker, "",
                            "not Confluent framing: the value begins with %s, not with 00", first);
    else
        cv_decode_fault_set(worker, "",
                            "not Confluent framing: %zu bytes (%s) are too short for a schema id",
                            length, first);
}
