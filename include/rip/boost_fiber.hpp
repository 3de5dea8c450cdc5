/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boost_fiber.hpp - fibers of Boost.Fiber as ids, through the hooks of its scheduler. Boost needs no change. C++17.
 *
 *     boost::fibers::use_scheduling_algorithm<rip::fiber_scheduler<>>();      // in each thread that has fibers
 *     boost::fibers::fiber one(boost::fibers::launch::post, work);
 *     one.properties<rip::fiber_properties>().name("checkout");
 *
 * A fiber gets its id when it first runs, and leaves breadcrumbs by rip_snap() as a thread does. A fiber that waits for
 * work declares that (rip::idle), and so does the main fiber of a thread before a join(). Any other fiber that stands
 * still is in /stalls: as `parked` while it is on no thread. The id that was on the thread is the id of its main fiber.
 *
 * Guarantees
 *   A. The wrapped scheduler decides which fiber runs: the default scheduler of Boost.Fiber, or another with its
 *      interface.
 *   B. The only allocation is one object per fiber, made by Boost. A switch between fibers costs one rip_switch().
 *   C. The id of a fiber ends when its function has returned, even if the fiber object still exists.
 */
#ifndef RIP_BOOST_FIBER_HPP
#define RIP_BOOST_FIBER_HPP

#include <boost/fiber/algo/algorithm.hpp>
#include <boost/fiber/algo/round_robin.hpp>
#include <boost/fiber/context.hpp>
#include <boost/fiber/properties.hpp>
#include <chrono>

#include "rip/rip.hpp"

namespace rip
{

template <class Scheduler> class fiber_scheduler;

/* Properties of a fiber. Use only on the thread that the fiber is on, or, before it first runs, that made it. */
class fiber_properties : public boost::fibers::fiber_properties
{
  public:
    explicit fiber_properties(boost::fibers::context *fiber) noexcept : boost::fibers::fiber_properties(fiber)
    {
    }

    /* Takes effect when the fiber next runs, or at once if it is running. 63 bytes are kept. */
    void name(std::string_view text) noexcept
    {
        name_bytes_ = text.copy(name_, sizeof(name_));
        is_renamed_ = id_ != 0;
        if (is_renamed_ && static_cast<std::uint32_t>(rip_tid) == id_)
            take_name();
    }

    /* 0 before the fiber first runs, and for the main fiber of a thread. */
    std::uint32_t id() const noexcept
    {
        return id_;
    }

  private:
    template <class Scheduler> friend class fiber_scheduler;

    void start() noexcept
    {
        if (id_ != 0)
            return;
        id_ = next_id();
        place_ = coroutine(id_, {name_, name_bytes_});
    }

    void take_name() noexcept
    {
        is_renamed_ = false;
        rip_init(id_, name_, name_bytes_, rip_idx, rip_ctr); /* resumes it */
    }

    static std::uint32_t next_id() noexcept
    {
        constexpr std::uint32_t first = 5000000; /* above all tids */
        static std::atomic<std::uint32_t> count{0};

        return first + count.fetch_add(1, std::memory_order_relaxed) % (UINT32_MAX - first);
    }

    coroutine place_; /* the id while the fiber is on no thread */
    std::uint32_t id_ = 0;
    bool is_renamed_ = false;
    std::size_t name_bytes_ = 5;
    char name_[RIP_NAME_BYTES] = {'f', 'i', 'b', 'e', 'r'};
};

/* Puts the id of the fiber on the thread that is to run it. Everything else is up to Scheduler. */
template <class Scheduler = boost::fibers::algo::round_robin>
class fiber_scheduler final : public boost::fibers::algo::algorithm_with_properties<fiber_properties>
{
    using context = boost::fibers::context;
    using type = boost::fibers::type;

  public:
    template <class... Arguments>
    explicit fiber_scheduler(Arguments &&...arguments) : scheduler_(std::forward<Arguments>(arguments)...)
    {
    }
    ~fiber_scheduler() override
    {
        put_on(main_);
    }
    void awakened(context *fiber, fiber_properties &) noexcept override
    {
        put_on(place_of(context::active())); /* launch::dispatch runs a fiber that was not picked */
        scheduler_.awakened(fiber);
    }
    context *pick_next() noexcept override
    {
        context *next = scheduler_.pick_next();
        coroutine &former = *current_;

        if (next == nullptr)
            return nullptr;
        put_on(place_of(next));
        if (is_worker(context::active()) && !context::active()->worker_is_linked()) /* its function has returned */
            former = coroutine();
        if (is_worker(next) && properties(next).is_renamed_)
            properties(next).take_name();
        return next;
    }
    bool has_ready_fibers() const noexcept override
    {
        return scheduler_.has_ready_fibers();
    }
    void suspend_until(const std::chrono::steady_clock::time_point &end) noexcept override
    {
        scheduler_.suspend_until(end);
    }
    void notify() noexcept override
    {
        scheduler_.notify();
    }

  private:
    static bool is_worker(const context *fiber) noexcept
    {
        return fiber->is_context(type::worker_context); /* neither main fiber nor dispatcher */
    }
    /* Returns the place of the fiber's id. The id begins when the fiber first runs. */
    coroutine &place_of(context *fiber) noexcept
    {
        if (!is_worker(fiber))
            return fiber->is_context(type::main_context) ? main_ : dispatcher_;
        if (fiber->get_properties() == nullptr)
            fiber->set_properties(new_properties(fiber));
        properties(fiber).start();
        return properties(fiber).place_;
    }
    void put_on(coroutine &next) noexcept
    {
        if (&next == current_)
            return;
        switch_over(*current_, next);
        current_ = &next;
    }

    Scheduler scheduler_;
    coroutine main_, dispatcher_; /* the id of the main fiber; and nothing, for the dispatcher when no fiber runs */
    coroutine *current_ = &main_;
};

} // namespace rip

#endif
