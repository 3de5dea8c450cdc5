// SPDX-License-Identifier: Apache-2.0
// tasks.cc - C++20 coroutines as ids; one awaits a queue that nobody fills:  tasks RING
//
//   c++ -std=c++20 tasks.cc -o tasks $(pkg-config --cflags --libs librip)
#include <rip/rip.hpp>

#include <chrono>
#include <coroutine>
#include <cstdio>
#include <deque>
#include <string>
#include <thread>

namespace
{

struct Task {
    struct promise_type {
        rip::coroutine trace; // its id while it is on no thread

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
            throw;
        }
    };
    std::coroutine_handle<promise_type> handle;
};
using Handle = std::coroutine_handle<Task::promise_type>;

std::deque<Handle> ready;

void spawn(std::uint32_t id, const std::string &name, Task task)
{
    task.handle.promise().trace = rip::coroutine(id, name);
    ready.push_back(task.handle);
}

// A scheduler needs only the line with `running`.
void run_ready()
{
    while (!ready.empty()) {
        Handle next = ready.front();
        ready.pop_front();
        {
            rip::running now(next.promise().trace);
            next.resume();
        }
        if (next.done())
            next.destroy(); // this ends its id
    }
}

// co_await returns the next job.
class Queue
{
  public:
    void push(int job)
    {
        jobs_.push_back(job);
        if (!waiting_.empty()) {
            ready.push_back(waiting_.front());
            waiting_.pop_front();
        }
    }
    bool await_ready() const
    {
        return !jobs_.empty();
    }
    void await_suspend(Handle task)
    {
        waiting_.push_back(task);
    }
    int await_resume()
    {
        int job = jobs_.front();
        jobs_.pop_front();
        return job;
    }

  private:
    std::deque<int> jobs_;
    std::deque<Handle> waiting_;
};

Queue requests, replies;

Task serve()
{
    for (;;) {
        int request;
        {
            rip::idle waiting; // waits for work: not stuck, however long
            request = co_await requests;
        }
        if (request == 2) {
            rip_snap();       // the last place of "server 2"
            co_await replies; // the bug: nobody answers
        }
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (!rip_create_ring(argc > 1 ? argv[1] : "/dev/shm/tasks", 64))
        std::perror("tasks: not traced");
    rip::thread traced("scheduler");
    for (unsigned i = 0; i < 4; i++)
        spawn(5000000 + i, "server " + std::to_string(i), serve()); // above all tids
    for (int request = 0;; request++) {
        run_ready();
        requests.push(request);
        rip::idle waiting;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}
