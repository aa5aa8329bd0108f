/* SPDX-License-Identifier: Apache-2.0
 *
 * Job files of any bytes: YAML, environment, sections; never a crash, every error with a message.
 */
#include "fuzz.h"

#include "config/job_file.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_job_file file;

    if (cv_job_file_parse((struct cv_str){(const char *)data, size}, "fuzz.yaml", "/job", &file,
                          &err) == CV_OK)
        cv_job_file_release(&file);
    else if (!err.message[0])
        abort();
    return 0;
}
