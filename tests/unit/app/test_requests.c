/* SPDX-License-Identifier: Apache-2.0 */
/* test_requests.c - the queue of questions: order, bound, and the descriptor to wait on: ripd/app/requests.c. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>

#include "app/requests.h"
#include "support/test.h"

static bool is_readable(const struct requests *requests)
{
    struct pollfd descriptor = {.fd = requests_descriptor(requests), .events = POLLIN};

    return poll(&descriptor, 1, 0) == 1;
}

TEST(first_come_first_served)
{
    struct requests *requests;
    struct request request;
    struct query query;

    query_init(&query);
    assert_int_equal(requests_new(&requests), 0);
    assert_false(is_readable(requests));
    assert_false(requests_pop(requests, &request));
    for (uint64_t round = 0; round < 5; round++) { /* round the ring */
        for (uint64_t i = 0; i < 40; i++) {
            query.pid = (uint32_t)i;
            assert_int_equal(requests_push(requests, 100 * round + i, &query), 0);
        }
        for (uint64_t i = 0; i < 40; i++) {
            assert_true(is_readable(requests));
            assert_true(requests_pop(requests, &request));
            assert_int_equal(request.ticket, 100 * round + i);
            assert_int_equal(request.query.pid, i);
        }
        assert_false(is_readable(requests));
    }
    requests_free(requests);
}

TEST(full)
{
    struct requests *requests;
    struct request request;
    struct query query;

    query_init(&query);
    assert_int_equal(requests_new(&requests), 0);
    for (uint64_t i = 0; i < REQUESTS_MAX; i++)
        assert_int_equal(requests_push(requests, i, &query), 0);
    assert_int_equal(requests_push(requests, 99, &query), -EAGAIN);
    assert_true(requests_pop(requests, &request));
    assert_int_equal(requests_push(requests, 100, &query), 0);
    for (uint64_t i = 1; i < REQUESTS_MAX; i++) {
        assert_true(requests_pop(requests, &request));
        assert_int_equal(request.ticket, i);
    }
    assert_true(requests_pop(requests, &request));
    assert_int_equal(request.ticket, 100); /* the refused one left nothing behind */
    assert_false(requests_pop(requests, &request));
    requests_free(requests);
    requests_free(NULL);
}

static void *push_many(void *argument)
{
    struct query query;

    query_init(&query);
    for (uint64_t i = 0; i < 100000;) {
        if (requests_push(argument, i, &query) == 0)
            i++;
        else
            sched_yield();
    }
    return NULL;
}

TEST(two_threads)
{
    struct requests *requests;
    struct request request;
    pthread_t thread;

    assert_int_equal(requests_new(&requests), 0);
    assert_int_equal(pthread_create(&thread, NULL, push_many, requests), 0);
    for (uint64_t i = 0; i < 100000;) {
        if (!requests_pop(requests, &request)) {
            sched_yield();
            continue;
        }
        if (request.ticket != i)
            fail_msg("out of order");
        i++;
    }
    pthread_join(thread, NULL);
    assert_false(is_readable(requests));
    requests_free(requests);
}
