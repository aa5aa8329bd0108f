/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared credential and config files, and the answers of credential services. The first byte says
 * which. */
#include "fuzz.h"

#include "storage/credentials_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_credentials credentials = {0};
    struct cv_properties settings = {0};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_str text;
    bool found = false;

    if (size == 0)
        return 0;
    text = (struct cv_str){(const char *)data + 1, size - 1};
    switch (data[0]) {
    case 'f':
        (void)cv_profile_parse(text, false, "default", &settings, &found, &err);
        break;
    case 'c':
        (void)cv_profile_parse(text, true, "prod", &settings, &found, &err);
        break;
    case 'x':
        (void)cv_credential_parse_sts(text.ptr, text.length, &credentials, &err);
        break;
    default:
        (void)cv_credential_parse_json(text.ptr, text.length, &credentials, &err);
        break;
    }
    cv_credential_settings_release(&settings);
    cv_credentials_release(&credentials);
    return 0;
}
