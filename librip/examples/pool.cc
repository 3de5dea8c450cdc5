// SPDX-License-Identifier: Apache-2.0
// pool.cc - threads of a pool, in C++; two of them end in a deadlock:  pool RING
//
//   c++ -std=c++17 -pthread pool.cc -o pool $(pkg-config --cflags --libs librip)
//   rip run would trace it without these lines, and see its locks too.
#include <librip.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <queue>
#include <string_view>
#include <thread>
#include <vector>

namespace
{

// The calling thread has an id as long as this lives.
class Traced
{
  public:
    explicit Traced(std::string_view name)
    {
        rip_init(0, name.data(), name.size(), 0, 0);
    }
    ~Traced()
    {
        rip_exit();
    }
    Traced(const Traced &) = delete;
    Traced &operator=(const Traced &) = delete;
};

class Pool
{
  public:
    explicit Pool(unsigned count)
    {
        for (unsigned i = 0; i < count; i++)
            threads_.emplace_back([this] { work(); });
    }

    void add(std::function<void()> job)
    {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            jobs_.push(std::move(job));
        }
        more_.notify_one();
    }

    void join()
    {
        for (std::thread &thread : threads_)
            thread.join();
    }

  private:
    [[noreturn]] void work()
    {
        Traced traced("pool");

        for (;;) {
            std::function<void()> job;
            {
                std::unique_lock<std::mutex> lock(mutex_);
                rip_idle(); // waits for work
                more_.wait(lock, [this] { return !jobs_.empty(); });
                job = std::move(jobs_.front());
                jobs_.pop();
            }
            rip_snap(); // works
            job();
        }
    }

    std::mutex mutex_;
    std::condition_variable more_;
    std::queue<std::function<void()>> jobs_;
    std::vector<std::thread> threads_;
};

std::mutex accounts, orders;

void lock_both(std::mutex &first, std::mutex &second)
{
    std::lock_guard<std::mutex> one(first);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    rip_snap(); // the last place before the lock
    std::lock_guard<std::mutex> other(second);
}

} // namespace

int main(int argc, char **argv)
{
    if (!rip_create_ring(argc > 1 ? argv[1] : "/dev/shm/pool", 64))
        std::perror("pool: not traced");
    Pool pool(4);
    pool.add([] { lock_both(accounts, orders); });
    pool.add([] { lock_both(orders, accounts); }); // the other way round: a deadlock
    pool.join();
}
