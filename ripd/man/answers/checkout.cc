// SPDX-License-Identifier: Apache-2.0
// checkout.cc - the program in the answers of the manual pages: two threads in a deadlock, and 47 that wait for one.
#include <pthread.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex accounts, orders;

static void pay()
{
    std::lock_guard<std::mutex> account(accounts);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    std::lock_guard<std::mutex> order(orders);
}

static void refund()
{
    std::lock_guard<std::mutex> order(orders);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    std::lock_guard<std::mutex> account(accounts);
}

static void serve()
{
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::lock_guard<std::mutex> account(accounts);
}

int main()
{
    std::vector<std::thread> threads;
    auto start = [&](const char *name, void (*work)()) {
        threads.emplace_back([name, work] {
            pthread_setname_np(pthread_self(), name);
            work();
        });
    };

    start("pay", pay);
    start("refund", refund);
    for (int i = 0; i < 47; i++)
        start("worker", serve);
    for (std::thread &thread : threads)
        thread.join();
}
