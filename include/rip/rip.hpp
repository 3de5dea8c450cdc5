/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rip.hpp - rip.h for C++17: scope guards. What an object begins ends with its scope, however the scope is left.
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
 * Use it together with the functions of rip.h: call rip_create_ring() first; rip_snap(), rip_deadline_ms() and
 * rip_flush() are the same as in C.
 *
 * Guarantees
 *   A. Nothing here throws, allocates, logs or changes errno. Before a ring exists, when it is full, and with
 *      RIP_DISABLE=1 everything here does nothing.
 *   B. Texts are copied: 63 bytes of a name and 127 of a note are kept. They need be neither terminated nor valid
 *      UTF-8.
 *   C. A scope belongs to the id that was on the thread when it began. If another id is on the thread at its end (the
 *      frame of a coroutine is destroyed from outside), the note, idle state and wait of that id stay as they are.
 *   D. Objects can be neither copied nor moved, except coroutine. A coroutine object owns its id, can be moved, and may
 *      run on any thread, on one at a time.
 *   E. idle, note and wait may be used in signal handlers, as the functions of rip.h that they call. The others may
 *      not.
 */
#ifndef RIP_RIP_HPP
#define RIP_RIP_HPP

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

#include "rip/rip.h"

/* Inlined even without optimization: the breadcrumb must be at the scope, not in this header. */
#define RIP_IN_PLACE __attribute__((always_inline))

namespace rip
{

/* Base of the scopes below; see C. */
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
 * Puts an id on this thread until the end of the scope; 0 = the kernel tid. One object per thread at a time. The end of
 * the scope ends the id that is then on the thread: take a coroutine off the thread before.
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

/* This id waits for work: standing still is no stall. Ends with the scope, or at any other snap. Does not nest. */
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
 * Says what this id is doing, for people: "GET /checkout?id=7". The end of the scope removes the note. An id has one
 * note: an inner scope replaces the text of the outer one, and after the end of either there is none.
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
 * Marks a wait in the code of a lock, so that ripd sees which id blocks which. Make the object only if the lock has to
 * wait; it also snaps. `owner` is the lock's own word and must outlive the object: the tid of the thread that holds the
 * lock, 0 = not known. Call look() from time to time (pauses of 1 s, 2 s, 4 s ... up to a minute). For flags see
 * rip_wait_begin().
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
 * The id of a coroutine, fiber or task while it is on no thread. A default-constructed object is untraced, and owns
 * what a switch stores into it. Must not be moved or destroyed while it is on a thread. After fork() the coroutines of
 * the parent are untraced in the child.
 */
class coroutine
{
  public:
    coroutine() noexcept = default;
    /* Untraced if id is 0 or live in this process, or if the ring is full. id must not be a tid of the process. */
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
    /* Stores what is on this thread into `from` and puts `to` on it. Call it where a runtime switches stacks. */
    RIP_IN_PLACE friend void switch_over(coroutine &from, const coroutine &to) noexcept
    {
        rip_switch(&from.context_, &to.context_);
    }

  private:
    friend class running;
    rip_context context_{};
};

/* Puts the coroutine on this thread until the end of the scope: around resume() in a scheduler. */
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
