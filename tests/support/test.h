/* SPDX-License-Identifier: Apache-2.0
 *
 * What every unit test includes: cmocka, and helpers for results, bytes and foreign test data.
 *
 *   static void parses_a_number(void **state) { … CV_ASSERT_OK(call(…, &err), &err); … }
 *   int main(void) { const struct CMUnitTest tests[] = {cmocka_unit_test(parses_a_number)};
 *                    return cmocka_run_group_tests(tests, NULL, NULL); }
 */
#ifndef CALVE_TESTS_SUPPORT_TEST_H
#define CALVE_TESTS_SUPPORT_TEST_H

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"

/* The call succeeds; otherwise its message is printed. */
#define CV_ASSERT_OK(call, err)                                                                    \
    do {                                                                                           \
        if ((call) != CV_OK)                                                                       \
            fail_msg("%s: %s (%s)", #call, (err)->message, cv_code_name((err)->code));             \
    } while (0)

/* The call fails with this code and its message holds `text`. */
#define CV_ASSERT_FAILS(call, wanted, text, err)                                                   \
    do {                                                                                           \
        enum cv_code cv_got_ = (call);                                                             \
        if (cv_got_ != (wanted))                                                                   \
            fail_msg("%s: got %s, want %s (%s)", #call, cv_code_name(cv_got_),                     \
                     cv_code_name(wanted), (err)->message);                                        \
        if (!strstr((err)->message, (text)))                                                       \
            fail_msg("%s: message \"%s\" lacks \"%s\"", #call, (err)->message, (text));            \
    } while (0)

/* Bytes from hex text, blanks allowed; returns the length. */
static inline size_t cv_test_hex(const char *hex, uint8_t *bytes, size_t size)
{
    size_t count = 0;
    unsigned value;

    for (; *hex; hex++) {
        if (*hex == ' ')
            continue;
        if (count == size || sscanf(hex, "%2x", &value) != 1)
            fail_msg("bad hex %s", hex);
        bytes[count++] = (uint8_t)value;
        hex++;
    }
    return count;
}

/* The buffer holds exactly these bytes, given as hex. */
static inline void cv_test_assert_hex(const void *bytes, size_t length, const char *hex)
{
    static uint8_t wanted[65536];
    size_t wanted_length = cv_test_hex(hex, wanted, sizeof wanted);

    assert_int_equal(length, wanted_length);
    assert_memory_equal(bytes, wanted, wanted_length);
}

/* Path of a file of the independent test data; skips where it is absent: ask before allocating. */
static inline const char *cv_test_data(const char *name)
{
    static char path[4096];
    const char *folder = getenv("CALVE_TESTDATA");
    const char *root = getenv("CALVE_SOURCE_ROOT");

    if (folder)
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    else
        (void)snprintf(path, sizeof path, "%s/../shared/testdata/%s", root ? root : ".", name);
    if (access(path, R_OK) != 0) {
        print_message("SKIP: no test data %s\n", path);
        skip();
    }
    return path;
}

#define CV_TEST_FOLDERS_MAX 512

static char cv_test_folders[CV_TEST_FOLDERS_MAX][32];
static size_t cv_test_folder_count;
static pid_t cv_test_process;

static inline int cv_test_remove_one(const char *path, const struct stat *info, int type,
                                     struct FTW *place)
{
    (void)remove(path);
    return 0;
}

/* Only of the process that made them: children may end by exit(), too. */
static inline void cv_test_remove_folders(void)
{
    for (size_t i = 0; getpid() == cv_test_process && i < cv_test_folder_count; i++)
        (void)nftw(cv_test_folders[i], cv_test_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A fresh folder under the system's temporary one; it goes when the test program ends. */
static inline const char *cv_test_folder(void)
{
    char *path = cv_test_folders[cv_test_folder_count];

    if (cv_test_folder_count == CV_TEST_FOLDERS_MAX - 1)
        fail_msg("more than %d folders", CV_TEST_FOLDERS_MAX);
    (void)snprintf(path, sizeof cv_test_folders[0], "/tmp/calve-test-XXXXXX");
    if (!mkdtemp(path))
        fail_msg("cannot make %s", path);
    if (!cv_test_folder_count++)
        (void)atexit(cv_test_remove_folders);
    cv_test_process = getpid();
    return path;
}

#endif
