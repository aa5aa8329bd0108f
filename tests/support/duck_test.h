/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection to DuckDB for tests of SQL; they are skipped where there is no library. */
#ifndef CALVE_TESTS_SUPPORT_DUCK_TEST_H
#define CALVE_TESTS_SUPPORT_DUCK_TEST_H

#include "sql/duck.h"
#include "test.h"

#define CV_TEST_DUCK_BYTES ((size_t)256 << 20)

static struct cv_duck *cv_test_duck_opened;
static struct cv_duck_connection *cv_test_duck_connection;

/* Tears down the group: at exit the library's own objects would be gone already. */
static inline int cv_test_duck_close(void **state)
{
    (void)state;
    if (cv_test_duck_connection)
        cv_duck_disconnect(cv_test_duck_connection);
    if (cv_test_duck_opened)
        cv_duck_free(cv_test_duck_opened);
    return 0;
}

/* One connection per program; ask before allocating. */
static inline struct cv_duck_connection *cv_test_duck(void)
{
    const struct cv_duck_config config = {.memory_bytes = CV_TEST_DUCK_BYTES};
    struct cv_error err = CV_ERROR_INIT;
    enum cv_code code;

    if (cv_test_duck_connection)
        return cv_test_duck_connection;
    code = cv_duck_open(&config, &cv_test_duck_opened, &err);
    if (code == CV_UNSUPPORTED) {
        print_message("SKIP: %s\n", err.message);
        skip();
    }
    CV_ASSERT_OK(code, &err);
    CV_ASSERT_OK(cv_duck_connect(cv_test_duck_opened, &cv_test_duck_connection, &err), &err);
    return cv_test_duck_connection;
}

#endif
