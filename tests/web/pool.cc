/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.cc - a deadlocked pool of 50 C++ threads: two have taken the same two locks in opposite order, and 48 wait for
 * one of the locks. Run under the preload library. Prints "ready" when all are about to wait, and ends when its
 * standard input ends.
 */
#include <cstdio>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <string>
#include <thread>
#include <unistd.h>

static const int WORKERS = 50;
static std::mutex accounts, journal;
static pthread_barrier_t meeting;

static void transfer()
{
    std::lock_guard<std::mutex> first(accounts);
    pthread_barrier_wait(&meeting);
    std::lock_guard<std::mutex> second(journal);
}

static void audit()
{
    std::lock_guard<std::mutex> first(journal);
    pthread_barrier_wait(&meeting);
    std::lock_guard<std::mutex> second(accounts);
}

static void look_up()
{
    pthread_barrier_wait(&meeting);
    std::lock_guard<std::mutex> only(accounts);
}

static void work(int number)
{
    pthread_setname_np(pthread_self(), ("worker-" + std::to_string(number)).c_str());
    if (number == 7)
        transfer();
    else if (number == 23)
        audit();
    else
        look_up();
}

int main()
{
    pthread_barrier_init(&meeting, nullptr, WORKERS + 1);
    for (int number = 0; number < WORKERS; number++)
        std::thread(work, number).detach();
    pthread_barrier_wait(&meeting);
    std::puts("ready");
    std::fflush(stdout);
    pollfd end = {0, POLLIN, 0};
    poll(&end, 1, -1);
    _exit(0);
}
