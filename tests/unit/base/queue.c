/* SPDX-License-Identifier: Apache-2.0
 *
 * The bounded queue with several senders and receivers. Worth running under the thread sanitizer.
 */
#include "test.h"

#include "base/queue.h"
#include "base/time.h"

#include <stdatomic.h>

#define ITEMS   20000
#define THREADS 4

static struct cv_queue queue;
static atomic_llong sum;
static atomic_int received;

static void *send_items(void *first)
{
    for (uintptr_t i = 0; i < ITEMS; i++)
        if (!cv_queue_push(&queue, (void *)((uintptr_t)first + i)))
            return NULL;
    return NULL;
}

static void *receive_items(void *unused)
{
    void *item;

    (void)unused;
    while ((item = cv_queue_pop(&queue))) {
        (void)atomic_fetch_add(&sum, (long long)(uintptr_t)item);
        (void)atomic_fetch_add(&received, 1);
    }
    return NULL;
}

static void every_item_arrives_once(void **state)
{
    pthread_t senders[THREADS];
    pthread_t receivers[THREADS];
    long long wanted = 0;

    (void)state;
    cv_queue_init(&queue, 7);
    for (uintptr_t i = 0; i < THREADS; i++) {
        (void)pthread_create(&senders[i], NULL, send_items, (void *)(1 + i * ITEMS));
        (void)pthread_create(&receivers[i], NULL, receive_items, NULL);
    }
    for (size_t i = 0; i < THREADS; i++)
        (void)pthread_join(senders[i], NULL);
    cv_queue_close(&queue);
    for (size_t i = 0; i < THREADS; i++)
        (void)pthread_join(receivers[i], NULL);
    for (long long i = 1; i <= THREADS * ITEMS; i++)
        wanted += i;
    assert_int_equal(atomic_load(&received), THREADS * ITEMS);
    assert_int_equal(atomic_load(&sum), wanted);
    cv_queue_release(&queue);
}

static void order_is_kept_and_closing_drains(void **state)
{
    static int items[3];

    (void)state;
    cv_queue_init(&queue, 3);
    for (int i = 0; i < 3; i++)
        assert_true(cv_queue_push(&queue, &items[i]));
    cv_queue_close(&queue);
    assert_false(cv_queue_push(&queue, &items[0]));
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(cv_queue_pop(&queue), &items[i]);
    assert_null(cv_queue_pop(&queue));
    cv_queue_release(&queue);
    cv_queue_release(&queue);
}

static void *push_one(void *item)
{
    return cv_queue_push(&queue, item) ? item : NULL;
}

static void closing_wakes_a_waiting_sender(void **state)
{
    static int items[2];
    pthread_t thread;
    void *pushed = &items[0];

    (void)state;
    cv_queue_init(&queue, 1);
    assert_true(cv_queue_push(&queue, &items[0]));
    (void)pthread_create(&thread, NULL, push_one, &items[1]);
    cv_sleep_ms(20);
    cv_queue_close(&queue);
    (void)pthread_join(thread, &pushed);
    assert_null(pushed); /* the item stays its sender's */
    cv_queue_release(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_arrives_once),
        cmocka_unit_test(order_is_kept_and_closing_drains),
        cmocka_unit_test(closing_wakes_a_waiting_sender),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
