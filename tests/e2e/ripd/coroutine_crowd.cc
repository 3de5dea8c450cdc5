// SPDX-License-Identifier: Apache-2.0
// coroutine_crowd.cc - coroutine_crowd RING COUNT: C++20 coroutines on 4 threads. They wait for work, run from time to
// time, and wait again. Prints "there" when all exist.
//
// Commands on standard input: "lose N" makes coroutine N wait for a queue that is never filled, and "fill N" fills the
// queue. The answer is "ok" when the command is done; for "fill", when the coroutine waits for work again. The id of
// coroutine N is 5000000 + N.
#include <rip/rip.hpp>

#include <atomic>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr unsigned THREADS = 4, FIRST_ID = 5000000, TURNS_AT_ONCE = 100;
constexpr auto PAUSE = std::chrono::milliseconds(10), ROUND = std::chrono::milliseconds(200);

struct Task {
    struct promise_type {
        rip::coroutine trace;

        Task get_return_object()
        {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept
        {
            return {};
        }
        std::suspend_always final_suspend() noexcept
        {
            return {};
        }
        void return_void()
        {
        }
        void unhandled_exception()
        {
            std::abort();
        }
    };
    std::coroutine_handle<promise_type> handle;
};
using Handle = std::coroutine_handle<Task::promise_type>;

struct Scheduler {
    std::mutex mutex; // protects `ordered`
    std::deque<std::pair<unsigned, bool>> ordered;
    std::deque<Handle> ready;
    std::vector<Handle> lost;
    std::atomic<unsigned> done{0};
};
Scheduler schedulers[THREADS];

// Whether each coroutine waits for the queue on its next turn. Only its own thread reads this.
std::vector<char> is_to_be_lost;

struct Turn { // waits at the end of the list
    Scheduler &scheduler;
    bool await_ready() const
    {
        return false;
    }
    void await_suspend(Handle task)
    {
        scheduler.ready.push_back(task);
    }
    void await_resume()
    {
    }
};

struct Reply { // a queue that is not filled
    Scheduler &scheduler;
    bool await_ready() const
    {
        return false;
    }
    void await_suspend(Handle task)
    {
        scheduler.lost.push_back(task);
        scheduler.done++;
    }
    void await_resume()
    {
    }
};

__attribute__((noinline)) void take_request()
{
    rip_snap();
}

Task serve(Scheduler &scheduler, unsigned number)
{
    for (;;) {
        {
            rip::idle waiting;
            co_await Turn{scheduler};
        }
        take_request();
        if (is_to_be_lost[number]) {
            is_to_be_lost[number] = false;
            rip_snap(); // MARK lost
            co_await Reply{scheduler};
            rip_snap();
            scheduler.done++;
        }
    }
}

void resume(Handle task)
{
    rip::running now(task.promise().trace);
    task.resume();
}

void take_orders(Scheduler &scheduler)
{
    std::lock_guard<std::mutex> lock(scheduler.mutex);

    for (auto [number, loses] : scheduler.ordered)
        if (loses) {
            is_to_be_lost[number] = true;
        } else {
            scheduler.ready.insert(scheduler.ready.end(), scheduler.lost.begin(), scheduler.lost.end());
            scheduler.lost.clear();
        }
    scheduler.ordered.clear();
}

[[noreturn]] void schedule(unsigned thread, unsigned count, std::atomic<unsigned> &there)
{
    Scheduler &scheduler = schedulers[thread];
    rip::thread traced("scheduler " + std::to_string(thread));

    for (unsigned number = thread; number < count; number += THREADS) {
        Task task = serve(scheduler, number);
        task.handle.promise().trace = rip::coroutine(FIRST_ID + number, "request " + std::to_string(number));
        if (!task.handle.promise().trace.is_traced())
            std::abort();
        resume(task.handle);
    }
    there++;
    for (;;) {
        take_orders(scheduler);
        for (std::size_t turns = scheduler.ready.size(); turns > 0; turns--) {
            Handle next = scheduler.ready.front();
            scheduler.ready.pop_front();
            resume(next);
            if (turns % TURNS_AT_ONCE == 0)
                rip_snap();
        }
        rip::idle waiting;
        std::this_thread::sleep_for(ROUND);
    }
}

void order(unsigned number, bool loses)
{
    Scheduler &scheduler = schedulers[number % THREADS];
    const unsigned before = scheduler.done;
    {
        std::lock_guard<std::mutex> lock(scheduler.mutex);
        scheduler.ordered.emplace_back(number, loses);
    }
    while (scheduler.done == before)
        std::this_thread::sleep_for(PAUSE);
}

} // namespace

int main(int argc, char **argv)
{
    const unsigned count = argc == 3 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 0;
    std::atomic<unsigned> there{0};
    char verb[8];
    unsigned number;

    if (count == 0 || !rip_create_ring(argv[1], count + THREADS)) {
        std::perror("coroutine_crowd");
        return EXIT_FAILURE;
    }
    is_to_be_lost.resize(count);
    for (unsigned thread = 0; thread < THREADS; thread++)
        std::thread(schedule, thread, count, std::ref(there)).detach();
    while (there < THREADS)
        std::this_thread::sleep_for(PAUSE);
    std::puts("there");
    std::fflush(stdout);
    while (std::scanf("%7s %u", verb, &number) == 2 && number < count) {
        order(number, verb[0] == 'l');
        std::puts("ok");
        std::fflush(stdout);
    }
    _exit(EXIT_SUCCESS);
}
