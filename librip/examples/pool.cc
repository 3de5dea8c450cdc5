// SPDX-License-Identifier: Apache-2.0
// pool.cc - a thread pool in C++; two of its threads end in a deadlock:  pool RING
//
//   c++ -std=c++17 -pthread pool.cc -o pool $(pkg-config --cflags --libs librip)
//
// `rip run` traces such a program without any change, including its locks.
#include <rip/rip.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace
{

// A lock whose holder and waiters ripd can see.
class Mutex
{
  public:
    void lock()
    {
        if (!mutex_.try_lock()) {
            rip::wait waiting(this, holder_);
            for (auto pause = 1s; !mutex_.try_lock_for(pause); pause = std::min(2 * pause, 60s))
                waiting.look();
        }
        holder_ = static_cast<std::uint32_t>(rip_tid);
    }
    void unlock()
    {
        holder_ = 0;
        mutex_.unlock();
    }

  private:
    std::timed_mutex mutex_;
    std::atomic<std::uint32_t> holder_{0}; // a tid, which is also the id of the thread
};

struct Job {
    std::string name;
    std::function<void()> run;
};

class Pool
{
  public:
    explicit Pool(unsigned count)
    {
        for (unsigned i = 0; i < count; i++)
            threads_.emplace_back([this] { work(); });
    }

    void add(Job job)
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
        rip::thread traced("pool"); // this thread has an id while it works here

        for (;;) {
            Job job;
            {
                std::unique_lock<std::mutex> lock(mutex_);
                rip::idle waiting; // waits for work: not stuck, however long
                more_.wait(lock, [this] { return !jobs_.empty(); });
                job = std::move(jobs_.front());
                jobs_.pop();
            }
            rip::note what(job.name); // shown with a stall
            job.run();
        }
    }

    std::mutex mutex_;
    std::condition_variable more_;
    std::queue<Job> jobs_;
    std::vector<std::thread> threads_;
};

Mutex accounts, orders;

void lock_both(Mutex &first, Mutex &second)
{
    std::lock_guard<Mutex> one(first);
    std::this_thread::sleep_for(500ms);
    std::lock_guard<Mutex> other(second);
}

} // namespace

int main(int argc, char **argv)
{
    if (!rip_create_ring(argc > 1 ? argv[1] : "/dev/shm/pool", 64))
        std::perror("pool: not traced");
    Pool pool(4);
    pool.add({"pay", [] { lock_both(accounts, orders); }});
    pool.add({"refund", [] { lock_both(orders, accounts); }}); // opposite order: a deadlock
    pool.join();
}
