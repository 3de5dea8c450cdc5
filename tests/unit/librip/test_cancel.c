/* SPDX-License-Identifier: Apache-2.0 */
/* test_cancel.c - threads that are cancelled inside a cold call: librip/thread.c and librip/modules.c. */
#include "unit/writer_test.h"

#include <link.h>
#include <stdatomic.h>

static void *create_when_cancelled(void *unused)
{
    pthread_cancel(pthread_self()); /* takes effect at the next cancellation point, such as open() */
    make_ring(10);
    register_id(0, "cancelled");
    pthread_testcancel();
    CHECK(false);
    return unused;
}

/* Cancellation inside a cold call would leave the mutex locked forever and the ring incomplete. */
FORKED_TEST(cancelled_thread)
{
    pthread_t thread;
    void *result;

    thread = start_thread(create_when_cancelled, NULL);
    CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    CHECK(own_live_count() == 0); /* the id ended with the thread */
    alarm(60);
    register_id(0, "main");
    CHECK(own_live_count() == 1);
}

static atomic_int tid_to_cancel;

static void *register_then_refresh(void *refresh)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    atomic_store(&tid_to_cancel, (int)gettid());
    if (refresh != NULL)
        rip_refresh_modules();
    else
        register_id(5, "five");
    for (;;)
        pause();
    return NULL;
}

/* Cancels the thread while it waits for a lock inside a cold call. */
static void cancel_when_blocked(pthread_t thread)
{
    struct rip_process_facts facts;
    char path[64];
    int tid;

    while ((tid = atomic_exchange(&tid_to_cancel, 0)) == 0)
        sleep_ms(1);
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    do {
        sleep_ms(10);
        CHECK(rip__process_facts(path, &facts) == 0);
    } while (facts.state != 'S'); /* sleeping: it can only be waiting for the lock */
    CHECK(pthread_cancel(thread) == 0);
    sleep_ms(100);
}

static int cancel_under_loader_lock(struct dl_phdr_info *info, size_t size, void *data)
{
    pthread_t *thread = data;

    (void)info;
    (void)size;
    *thread = start_thread(register_then_refresh, test_directory);
    cancel_when_blocked(*thread);
    return 1;
}

/* Asynchronous cancellation takes effect when the call returns: the id still ends, and fork() finds no lock held. */
FORKED_TEST(cancelled_asynchronously)
{
    pthread_t thread;

    make_ring(10);
    register_id(1, "main");
    pthread_mutex_lock(&rip__writer.mutex);
    thread = start_thread(register_then_refresh, NULL);
    cancel_when_blocked(thread);
    pthread_mutex_unlock(&rip__writer.mutex);
    CHECK(pthread_join(thread, NULL) == 0 && rip_ring->registered_count == 2);
    CHECK(own_live_count() == 1);
    CHECK(dl_iterate_phdr(cancel_under_loader_lock, &thread) == 1);
    join_thread(thread);
    alarm(60);
    if (fork() == 0)
        _exit(0);
    CHECK(exit_status_of(-1) == 0);
}

int main(void)
{
#if defined(__SANITIZE_ADDRESS__)
    puts("skipped: AddressSanitizer does not support asynchronous cancellation");
    return 77;
#endif

    return tests_run(NULL, NULL);
}
