/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rip.hpp - rip.h for C++17: what begins in a scope ends with it, whichever way the scope is left.
 *
 *     rip::thread traced("worker");             // in each thread; its tid is its id
 *     for (;;) {
 *         {
 *             rip::idle waiting;                // no stall, however long; leaves a breadcrumb at its end
 *             job = queue.pop();
 *         }
 *         rip::note request(job.text);          // shown with a stall
 *         rip_snap();
 *         job.run();
 *     }
 *
 * The functions of rip.h are used beside it: rip_create_ring() comes first, and rip_snap(), rip_deadline_ms() and
 * rip_flush() are what they are in C.
 *
 * Guarantees
 *   A. Nothing here throws, allocates, logs or changes errno. Before a ring exists, when it is full, and with
 *      RIP_DISABLE=1 all of it does nothing.
 *   B. Texts are copied: 63 bytes of a name, 127 of a note are kept. They need not be terminated nor valid UTF-8.
 *   C. A scope belongs to the id that was on the thread when it began. If another one is there when it ends (the frame
 *      of a coroutine is destroyed from outside), that one's note, idleness and wait stay as they are.
 *   D. All but a coroutine stays where it was made: no copies, no moves. A coroutine object owns its id, can be moved,
 *      and may run on any thread, on one at a time.
 *   E. idle, note and wait may be used in signal handlers, as the functions of rip.h that they call. The others not.
 */
#ifndef RIP_RIP_HPP
#define RIP_RIP_HPP

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

#include "rip/rip.h"

/* A breadcrumb is to be where the scope is, not in here, also without optimization. */
#define RIP_IN_PLACE __attribute__((always_inline))

namespace rip
{

/* What the scopes below have in common; see C. */
class scope
{
  public:
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

  protected:
    scope() noexcept = default;
    ~scope() = default;

    bool is_here() const noexcept
    {
        return slot_ == rip__thread.slot;
    }

  private:
    const rip_slot *slot_ = rip__thread.slot;
};

/*
 * This thread has an id from here on, until the end of the scope: 0 = its kernel tid. One at a time. Whichever id is on
 * the thread at the end ends: a coroutine that is there has to be taken off before.
 */
class thread
{
  public:
    [[nodiscard]] explicit thread(std::string_view name, std::uint32_t id = 0) noexcept
    {
        rip_init(id, name.empty() ? "" : name.data(), name.size(), 0, 0);
    }
    ~thread()
    {
        rip_exit();
    }
    thread(const thread &) = delete;
    thread &operator=(const thread &) = delete;
};

/* This id waits for work: standing still is no stall. Its end, or any other snap, ends that. Not nested. */
class idle : scope
{
  public:
    [[nodiscard]] RIP_IN_PLACE idle() noexcept
    {
        rip_idle();
    }
    RIP_IN_PLACE ~idle()
    {
        if (is_here())
            rip_snap();
    }
};

/*
 * What this id is doing, for people: "GET /checkout?id=7". At the end of the scope it is taken back. An id has one: of
 * two scopes the inner one replaces the text, and the end of either leaves none.
 */
class note : scope
{
  public:
    [[nodiscard]] explicit note(std::string_view text) noexcept
    {
        rip_note(text.data(), text.size());
    }
    ~note()
    {
        change({});
    }
    void change(std::string_view text) noexcept
    {
        if (is_here())
            rip_note(text.data(), text.size());
    }
};

/*
 * Around the wait of a lock's own code, so that ripd sees who blocks whom: made only when it has to wait, with a snap.
 * `owner` is the lock's own word, which has to live as long as this: the tid of the thread that holds it, 0 = not
 * known. Call look() now and then (pauses of 1 s, 2 s, 4 s ... up to a minute); see rip_wait_begin(), which has the
 * flags.
 */
class wait : scope
{
  public:
    [[nodiscard]] RIP_IN_PLACE wait(const void *lock, const std::uint32_t *owner, std::uint32_t flags = 0) noexcept
        : owner_(owner)
    {
        rip_snap();
        rip_wait_begin(lock, owner, flags);
    }
    [[nodiscard]] RIP_IN_PLACE wait(const void *lock, const std::atomic<std::uint32_t> &owner,
                                    std::uint32_t flags = 0) noexcept
        : wait(lock, reinterpret_cast<const std::uint32_t *>(&owner), flags)
    {
        static_assert(sizeof(owner) == sizeof(std::uint32_t) && std::atomic<std::uint32_t>::is_always_lock_free);
    }
    ~wait()
    {
        if (is_here())
            rip_wait_end();
    }
    void look() noexcept
    {
        if (is_here())
            rip_wait_look(owner_);
    }

  private:
    const std::uint32_t *owner_;
};

/*
 * The id of a coroutine, fiber or task, while it is on no thread. Made without arguments it is untraced, and owns what
 * a switch puts into it. Neither moved nor destroyed while it is on a thread. After fork() a parent's are untraced in
 * the child.
 */
class coroutine
{
  public:
    coroutine() noexcept = default;
    /* Untraced if the id is 0 or live in this process, or the ring is full. The id must not be a tid of the process. */
    coroutine(std::uint32_t id, std::string_view name) noexcept
    {
        const int saved_errno = errno;

        rip_context_init(&context_, id, name.data(), name.size());
        errno = saved_errno;
    }
    ~coroutine()
    {
        rip_context_exit(&context_);
    }
    coroutine(coroutine &&other) noexcept : context_(std::exchange(other.context_, rip_context()))
    {
    }
    coroutine &operator=(coroutine &&other) noexcept
    {
        std::swap(context_, other.context_);
        return *this;
    }
    bool is_traced() const noexcept
    {
        return context_.slot != nullptr;
    }
    /* What is on this thread goes into `from`, and `to` is on it: beside a runtime's own switch of stacks. */
    RIP_IN_PLACE friend void switch_over(coroutine &from, const coroutine &to) noexcept
    {
        rip_switch(&from.context_, &to.context_);
    }

  private:
    friend class running;
    rip_context context_{};
};

/* The coroutine is on this thread until the end of the scope: around resume() in a scheduler. */
class running
{
  public:
    [[nodiscard]] RIP_IN_PLACE explicit running(coroutine &one) noexcept : one_(one)
    {
        rip_switch(&former_, &one_.context_);
    }
    RIP_IN_PLACE ~running()
    {
        rip_switch(&one_.context_, &former_);
    }
    running(const running &) = delete;
    running &operator=(const running &) = delete;

  private:
    coroutine &one_;
    rip_context former_{};
};

} // namespace rip

#undef RIP_IN_PLACE

#endif
