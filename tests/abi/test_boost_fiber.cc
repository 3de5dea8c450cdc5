// SPDX-License-Identifier: Apache-2.0
// test_boost_fiber.cc - Boost fibers as ids: rip/boost_fiber.hpp.
#include <cstdio>

#if !__has_include(<boost/fiber/all.hpp>)
int main()
{
    std::puts("skipped: the headers of Boost.Fiber are not installed");
    return 77;
}
#else
#include <boost/fiber/all.hpp>
#include <rip/boost_fiber.hpp>

#include <thread>
#include <vector>

#include "support/forked_test.hpp"

namespace
{

using boost::fibers::fiber;
using boost::fibers::launch;

rip::fiber_properties &properties_of(fiber &one)
{
    return one.properties<rip::fiber_properties>();
}

rip::fiber_properties &own_properties()
{
    return boost::this_fiber::properties<rip::fiber_properties>();
}

void names_and_turns()
{
    make_ring();
    rip::thread traced("main", 7);
    boost::fibers::use_scheduling_algorithm<rip::fiber_scheduler<>>();
    boost::fibers::barrier together(3);
    const auto work = [&together] {
        rip_snap();
        together.wait();
        rip_snap();
        together.wait();
    };
    fiber first(launch::post, work);
    CHECK(properties_of(first).id() == 0); // has not run yet
    properties_of(first).name("first");
    fiber second(launch::dispatch, work);
    together.wait();
    const std::uint32_t first_id = properties_of(first).id(), second_id = properties_of(second).id();
    CHECK(first_id >= 5000000 && second_id >= 5000000 && first_id != second_id && rip_tid == 7);
    CHECK(read_id(first_id).name == "first" && read_id(second_id).name == "fiber" && read_id(7).info.tid != 0);
    CHECK(read_id(first_id).info.snap_count >= 1 && read_id(second_id).info.snap_count >= 1);
    CHECK(read_id(first_id).info.tid == 0 && read_id(7).info.snap_count == 0);
    properties_of(second).name("renamed");
    together.wait();
    first.join();
    second.join();
    CHECK(rip_tid == 7 && read_id(7).live && !read_id(first_id).live && !read_id(second_id).live);
}

void a_name_from_within()
{
    make_ring();
    rip::thread traced("main", 7);
    boost::fibers::use_scheduling_algorithm<rip::fiber_scheduler<>>();
    fiber([] {
        const std::uint32_t id = own_properties().id();
        for (int i = 0; i < 300; i++)
            rip_snap();
        own_properties().name("by itself");
        CHECK(read_id(id).name == "by itself" && read_id(id).info.snap_count == 300 && read_id(id).info.tid != 0);
        boost::this_fiber::yield();
        rip_snap();
        CHECK(read_id(id).info.snap_count == 301 && read_id(7).info.snap_count == 0);
    }).join();
}

// A name that is set while a fiber waits is in effect when the fiber resumes.
void a_name_from_outside()
{
    make_ring();
    rip::thread traced("main", 7);
    boost::fibers::use_scheduling_algorithm<rip::fiber_scheduler<>>();
    boost::fibers::promise<void> go_on;
    fiber one([&go_on] {
        rip_snap();
        go_on.get_future().wait();
        CHECK(read_id(own_properties().id()).name == "later" && read_id(own_properties().id()).info.snap_count == 1);
    });
    boost::this_fiber::yield();
    properties_of(one).name("later");
    go_on.set_value();
    one.join();
}

void an_id_ends_with_its_function()
{
    make_ring();
    boost::fibers::use_scheduling_algorithm<rip::fiber_scheduler<>>();
    std::uint32_t id = 0;
    fiber held([&id] { id = own_properties().id(); });
    boost::this_fiber::yield();
    CHECK(id != 0 && held.joinable() && !read_id(id).live);
    held.join();
}

// Any thread may run these fibers: no snap is lost or counted for another fiber.
void fibers_on_any_thread()
{
    enum { THREADS = 3, FIBERS = 40, SNAPS = 200 };
    using scheduler = rip::fiber_scheduler<boost::fibers::algo::shared_work>;

    make_ring();
    boost::fibers::barrier end(THREADS);
    std::vector<std::thread> others;
    for (int i = 1; i < THREADS; i++)
        others.emplace_back([&end] {
            rip::thread traced("other");
            boost::fibers::use_scheduling_algorithm<scheduler>();
            end.wait();
        });
    boost::fibers::use_scheduling_algorithm<scheduler>();
    std::vector<fiber> fibers;
    for (int i = 0; i < FIBERS; i++)
        fibers.emplace_back([] {
            for (int snap = 1; snap <= SNAPS; snap++) {
                rip_snap();
                CHECK(read_id(own_properties().id()).info.snap_count == static_cast<std::uint64_t>(snap));
                boost::this_fiber::yield();
            }
        });
    for (fiber &one : fibers)
        one.join();
    end.wait();
    for (std::thread &other : others)
        other.join();
    rip_view view;
    rip_ring_info info;
    CHECK(rip_view_open(&view, rip_ring, rip_ring->file_bytes) == RIP_OK && rip_view_live_count(&view) == 0);
    rip_view_info(&view, &info);
    CHECK(info.ended_count == FIBERS + THREADS - 1 && info.ended_snap_count == FIBERS * SNAPS);
}

void without_a_ring()
{
    boost::fibers::use_scheduling_algorithm<rip::fiber_scheduler<>>();
    fiber one(launch::post, [] { rip_snap(); });
    properties_of(one).name("untraced");
    one.join();
    CHECK(rip_tid == 0);
}

} // namespace

int main()
{
    RUN_IN_CHILD(names_and_turns);
    RUN_IN_CHILD(a_name_from_within);
    RUN_IN_CHILD(a_name_from_outside);
    RUN_IN_CHILD(an_id_ends_with_its_function);
    RUN_IN_CHILD(fibers_on_any_thread);
    RUN_IN_CHILD(without_a_ring);
    return tests_failed;
}
#endif
