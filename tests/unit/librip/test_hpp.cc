// SPDX-License-Identifier: Apache-2.0
// test_hpp.cc - rip.hpp: each object ends with its scope, and acts on the id that it began on. Each test runs in its
// own process, because a process can have only one ring.
#include <rip/rip.hpp>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>
#include <type_traits>

#include "support/forked_test.hpp"

namespace
{

bool may_allocate = true;

} // namespace

#ifndef SANITIZED // clang's sanitizers define these operators, and others cannot be linked
void *operator new(std::size_t bytes)
{
    CHECK(may_allocate);
    void *memory = std::malloc(bytes);
    if (memory == nullptr)
        throw std::bad_alloc();
    return memory;
}
void operator delete(void *memory) noexcept
{
    std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}
#endif

namespace
{

static_assert(!std::is_copy_constructible_v<rip::coroutine> && std::is_nothrow_move_constructible_v<rip::coroutine> &&
              std::is_nothrow_move_assignable_v<rip::coroutine>);
static_assert(!std::is_move_constructible_v<rip::thread> && !std::is_move_constructible_v<rip::idle> &&
              !std::is_move_constructible_v<rip::note> && !std::is_move_constructible_v<rip::wait> &&
              !std::is_move_constructible_v<rip::running>);
static_assert(noexcept(rip::thread("")) &&noexcept(rip::idle()) &&noexcept(rip::note("")) &&noexcept(
    rip::wait(nullptr, nullptr)) &&noexcept(rip::coroutine(1, "")));

void a_thread_has_an_id()
{
    make_ring();
    {
        rip::thread traced("main", 7);
        CHECK(read_id(7).live && read_id(7).name == "main" && rip_tid == 7);
        std::thread([] {
            rip::thread other(std::string_view{});
            CHECK(read_id(static_cast<std::uint32_t>(gettid())).live);
        }).join();
    }
    CHECK(!read_id(7).live && rip_tid == 0);
}

void idle_ends_with_a_snap()
{
    make_ring();
    rip::thread traced("main", 7);
    {
        rip::idle waiting;
        CHECK(read_id(7).info.idle && read_id(7).info.snap_count == 0);
    }
    CHECK(!read_id(7).info.idle && read_id(7).info.snap_count == 1);
}

void note_is_removed_at_the_end()
{
    make_ring();
    rip::thread traced("main", 7);
    try {
        rip::note request("GET /");
        CHECK(read_id(7).note == "GET /");
        request.change("GET /: query");
        CHECK(read_id(7).note == "GET /: query");
        throw std::runtime_error("out of the scope");
    } catch (const std::runtime_error &) {
        CHECK(read_id(7).note.empty());
    }
}

void wait_names_the_holder()
{
    std::atomic<std::uint32_t> owner{4711};
    int lock = 0;

    make_ring();
    rip::thread traced("main", 7);
    {
        rip::wait waiting(&lock, owner, RIP_WAIT_ENDS);
        CHECK(read_id(7).waits == RIP_OK && read_id(7).wait.owner == 4711 && read_id(7).wait.flags == RIP_WAIT_ENDS);
        CHECK(read_id(7).info.snap_count == 1);
        owner = 4712;
        waiting.look();
        CHECK(read_id(7).wait.owner == 4712);
    }
    CHECK(read_id(7).waits == RIP_NOT_LIVE);
}

void coroutines_take_turns()
{
    make_ring();
    rip::thread traced("main", 7);
    rip_snap();
    {
        rip::coroutine one(100, "one"), moved(std::move(one)), twin(100, "twin");
        CHECK(!one.is_traced() && moved.is_traced() && !twin.is_traced());
        {
            rip::running now(moved);
            rip_snap();
            rip_snap();
            CHECK(read_id(100).info.tid != 0 && read_id(7).info.tid == 0 && rip_tid == 100);
        }
        CHECK(read_id(100).info.tid == 0 && read_id(100).info.snap_count == 2 && read_id(100).name == "one");
        CHECK(read_id(7).info.tid != 0 && read_id(7).info.snap_count == 1 && rip_tid == 7);
        one = std::move(moved);
        CHECK(one.is_traced() && read_id(100).live);
        one = rip::coroutine(101, "two"); // ends its previous id
        CHECK(!read_id(100).live && read_id(101).live);
    }
    CHECK(!read_id(101).live);
}

// Coroutines with stacks of their own switch to one another.
void switches_between_two()
{
    make_ring();
    rip::thread traced("main", 7);
    rip::coroutine main_place, first(100, "first"), second(101, "second");
    switch_over(main_place, first);
    rip_snap();
    switch_over(first, second);
    CHECK(read_id(101).info.tid != 0 && read_id(100).info.snap_count == 1);
    switch_over(second, main_place);
    CHECK(rip_tid == 7 && read_id(7).live);
}

// A coroutine may destroy the frame of another that is suspended: objects in it act on their own id only.
void objects_act_on_their_own_id()
{
    alignas(rip::idle) unsigned char idle[sizeof(rip::idle)];
    alignas(rip::note) unsigned char note[sizeof(rip::note)];
    std::uint32_t owner = 1;

    make_ring();
    rip::thread traced("main", 7);
    rip_note("of main", 7);
    rip::coroutine one(100, "one");
    {
        rip::running now(one);
        new (note) rip::note("of one");
        new (idle) rip::idle;
    }
    rip_wait_begin(&owner, &owner, 0);
    reinterpret_cast<rip::idle *>(idle)->~idle();
    reinterpret_cast<rip::note *>(note)->~note();
    CHECK(read_id(7).note == "of main" && read_id(7).info.snap_count == 0 && read_id(7).waits == RIP_OK);
    CHECK(read_id(100).note == "of one" && read_id(100).info.idle);
}

void use_everything()
{
    std::uint32_t owner = 1;
    rip::thread traced("main");
    rip::note request("GET /");
    rip::idle waiting;
    rip::wait lock(&owner, &owner);
    rip::coroutine one(100, "one"), place;
    {
        rip::running now(one);
        rip_snap();
    }
    switch_over(place, one);
    switch_over(one, place);
    lock.look();
    request.change("GET /2");
}

// Without a ring and with one, nothing is allocated, and errno does not change.
void no_allocation_and_errno_unchanged()
{
    may_allocate = false;
    errno = 4711;
    use_everything();
    CHECK(errno == 4711);
    may_allocate = true;
    make_ring();
    may_allocate = false;
    errno = 4711;
    use_everything();
    CHECK(errno == 4711);
}

void disabled()
{
    setenv("RIP_DISABLE", "1", 1);
    CHECK(rip_create_ring("/dev/shm/rip-hpp-never", 64) && rip_ring == nullptr);
    use_everything();
}

} // namespace

int main()
{
    unsetenv("RIP_DISABLE");
    RUN_IN_CHILD(a_thread_has_an_id);
    RUN_IN_CHILD(idle_ends_with_a_snap);
    RUN_IN_CHILD(note_is_removed_at_the_end);
    RUN_IN_CHILD(wait_names_the_holder);
    RUN_IN_CHILD(coroutines_take_turns);
    RUN_IN_CHILD(switches_between_two);
    RUN_IN_CHILD(objects_act_on_their_own_id);
    RUN_IN_CHILD(no_allocation_and_errno_unchanged);
    RUN_IN_CHILD(disabled);
    return tests_failed;
}
