/* SPDX-License-Identifier: Apache-2.0
 *
 * ThreadSanitizer knows pthread_create but not the thrd_create of C11, which librdkafka calls: its
 * threads would run without their shadow state and crash. In such a build these definitions take
 * the place of the C library's. Include it in one file of a test that starts a Kafka client. */
#ifndef CALVE_TESTS_SUPPORT_TSAN_THREADS_H
#define CALVE_TESTS_SUPPORT_TSAN_THREADS_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CV_TEST_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define CV_TEST_TSAN 1
#endif

#ifdef CV_TEST_TSAN
#include <pthread.h>
#include <stdint.h>
#include <threads.h>

__attribute__((visibility("default"))) int thrd_create(thrd_t *thread, thrd_start_t start,
                                                       void *argument)
{
    /* The result of the function is an int where a pointer is expected; nobody reads it. */
    return pthread_create(thread, NULL, (void *(*)(void *))(uintptr_t)start, argument) == 0
               ? thrd_success
               : thrd_error;
}

__attribute__((visibility("default"))) int thrd_join(thrd_t thread, int *ret_result)
{
    if (ret_result)
        *ret_result = 0;
    return pthread_join(thread, NULL) == 0 ? thrd_success : thrd_error;
}
#endif

#endif
