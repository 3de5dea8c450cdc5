/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks_cpp.cc - a deadlock of a std::mutex and a std::shared_mutex, and argv[1] threads that wait for it, for
 * test_locks.py and test_show.py.
 */
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <shared_mutex>
#include <thread>
#include <unistd.h>

static std::mutex plain;
static std::shared_mutex shared;
static pthread_barrier_t meeting;

static void hold_plain()
{
    pthread_setname_np(pthread_self(), "mutex");
    std::lock_guard<std::mutex> own(plain);
    pthread_barrier_wait(&meeting);
    std::shared_lock<std::shared_mutex> wanted(shared);
}

static void hold_shared()
{
    pthread_setname_np(pthread_self(), "shared");
    std::lock_guard<std::shared_mutex> own(shared);
    pthread_barrier_wait(&meeting);
    std::lock_guard<std::mutex> wanted(plain);
}

static void come_behind()
{
    pthread_setname_np(pthread_self(), "pool");
    std::lock_guard<std::mutex> wanted(plain);
}

int main(int argc, char **argv)
{
    pthread_barrier_init(&meeting, nullptr, 3);
    std::thread one(hold_plain), other(hold_shared);
    pthread_barrier_wait(&meeting);
    for (int i = argc > 1 ? std::atoi(argv[1]) : 0; i > 0; i--)
        std::thread(come_behind).detach();
    std::puts("ready");
    std::fflush(stdout);
    pollfd end = {0, POLLIN, 0};
    poll(&end, 1, -1);
    _exit(0);
}
