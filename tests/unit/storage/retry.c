/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts, waits between them and what ends them; the counts of requests. */
#include "test.h"

#include "base/stop.h"
#include "base/time.h"
#include "storage/requests.h"
#include "storage/retry.h"

#include <sys/wait.h>

static void attempts_are_counted(void **state)
{
    const struct cv_retry_policy policy = {4, 1, 4, 10000};
    struct cv_retry retry;
    int attempts = 1;

    (void)state;
    for (cv_retry_begin(&retry, &policy); cv_retry_again(&retry, -1); attempts++)
        assert_int_equal(retry.attempt, attempts + 1);
    assert_int_equal(attempts, 4);
}

static void the_server_s_wait_is_kept(void **state)
{
    const struct cv_retry_policy policy = {8, 1, 2, 10000};
    struct cv_retry retry;
    int64_t start_us = cv_monotonic_us();

    (void)state;
    cv_retry_begin(&retry, &policy);
    assert_true(cv_retry_again(&retry, 120));
    assert_true(cv_monotonic_us() - start_us >= 120000);
    assert_false(cv_retry_again(&retry, 20000)); /* longer than there is time: at once */
    assert_true(cv_monotonic_us() - start_us < 15000000);
}

static void the_time_in_all_has_a_limit(void **state)
{
    const struct cv_retry_policy policy = {1000, 40, 40, 100};
    struct cv_retry retry;
    int64_t start_us = cv_monotonic_us();

    (void)state;
    cv_retry_begin(&retry, &policy);
    while (cv_retry_again(&retry, -1))
        ;
    assert_true(retry.attempt < 1000);
    assert_true(cv_monotonic_us() - start_us < 10000000);
}

static void a_stop_ends_the_wait(void **state)
{
    const struct cv_retry_policy policy = {8, 1, 2, 60000};
    pid_t child = fork();
    int status;

    (void)state;
    if (child == 0) {
        struct cv_error err = CV_ERROR_INIT;
        struct cv_retry retry;
        bool before, again, after;

        before = cv_retry_give_up(cv_fail(&err, CV_IO, "503"), &err) == CV_IO;
        cv_stop_request();
        cv_retry_begin(&retry, &policy);
        again = cv_retry_again(&retry, 30000);
        after = cv_retry_give_up(CV_IO, &err) == CV_CANCELLED && err.code == CV_CANCELLED;
        _exit(before && !again && after && cv_retry_give_up(CV_OK, NULL) == CV_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void which_statuses_pass(void **state)
{
    static const int passing[] = {408, 429, 500, 502, 503, 504};
    size_t found = 0;

    (void)state;
    for (int status = 100; status < 600; status++)
        found += cv_retry_status(status);
    assert_int_equal(found, CV_ARRAY_LENGTH(passing));
    for (size_t i = 0; i < CV_ARRAY_LENGTH(passing); i++)
        assert_true(cv_retry_status(passing[i]));
}

static void requests_are_counted_by_kind(void **state)
{
    static struct cv_request_counts counts;

    (void)state;
    cv_request_count(&counts, CV_REQUEST_LIST);
    cv_request_count(&counts, CV_REQUEST_LIST);
    cv_request_count(NULL, CV_REQUEST_PUT);
    assert_int_equal(counts.sent[CV_REQUEST_LIST], 2);
    assert_int_equal(counts.sent[CV_REQUEST_PUT], 0);
    assert_string_equal(cv_request_kind_name(CV_REQUEST_PUT), "put");
    assert_string_equal(cv_request_kind_name(CV_REQUEST_CATALOG_COMMIT), "catalog-commit");
    assert_string_equal(cv_request_kind_name(CV_REQUEST_RETRY), "retry");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_are_counted),
        cmocka_unit_test(the_server_s_wait_is_kept),
        cmocka_unit_test(the_time_in_all_has_a_limit),
        cmocka_unit_test(a_stop_ends_the_wait),
        cmocka_unit_test(which_statuses_pass),
        cmocka_unit_test(requests_are_counted_by_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
