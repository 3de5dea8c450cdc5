// SPDX-License-Identifier: Apache-2.0
// test_hpp.cc - rip.hpp: what a scope begins ends with it, of the id that it began on. A process for each scene, since
// a process has one ring for good.
#include <rip/rip.hpp>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>
#include <type_traits>

#include "support/scenes.hpp"

namespace
{

bool may_allocate = true;

} // namespace

#ifndef SANITIZED // clang's sanitizers have these themselves, and cannot be linked with others
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
        CHECK(see(7).live && see(7).name == "main" && rip_tid == 7);
        std::thread([] {
            rip::thread other(std::string_view{});
            CHECK(see(static_cast<std::uint32_t>(gettid())).live);
        }).join();
    }
    CHECK(!see(7).live && rip_tid == 0);
}

void idleness_ends_by_a_snap()
{
    make_ring();
    rip::thread traced("main", 7);
    {
        rip::idle waiting;
        CHECK(see(7).info.idle && see(7).info.snap_count == 0);
    }
    CHECK(!see(7).info.idle && see(7).info.snap_count == 1);
}

void a_note_is_taken_back()
{
    make_ring();
    rip::thread traced("main", 7);
    try {
        rip::note request("GET /");
        CHECK(see(7).note == "GET /");
        request.change("GET /: query");
        CHECK(see(7).note == "GET /: query");
        throw std::runtime_error("out of the scope");
    } catch (const std::runtime_error &) {
        CHECK(see(7).note.empty());
    }
}

void a_wait_names_the_owner()
{
    std::atomic<std::uint32_t> owner{4711};
    int lock = 0;

    make_ring();
    rip::thread traced("main", 7);
    {
        rip::wait waiting(&lock, owner, RIP_WAIT_ENDS);
        CHECK(see(7).waits == RIP_OK && see(7).wait.owner == 4711 && see(7).wait.flags == RIP_WAIT_ENDS);
        CHECK(see(7).info.snap_count == 1);
        owner = 4712;
        waiting.look();
        CHECK(see(7).wait.owner == 4712);
    }
    CHECK(see(7).waits == RIP_NOT_LIVE);
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
            CHECK(see(100).info.tid != 0 && see(7).info.tid == 0 && rip_tid == 100);
        }
        CHECK(see(100).info.tid == 0 && see(100).info.snap_count == 2 && see(100).name == "one");
        CHECK(see(7).info.tid != 0 && see(7).info.snap_count == 1 && rip_tid == 7);
        one = std::move(moved);
        CHECK(one.is_traced() && see(100).live);
        one = rip::coroutine(101, "two"); // what it had ends
        CHECK(!see(100).live && see(101).live);
    }
    CHECK(!see(101).live);
}

// Stacks of their own: each switches to another.
void switches_between_two()
{
    make_ring();
    rip::thread traced("main", 7);
    rip::coroutine main_place, first(100, "first"), second(101, "second");
    switch_over(main_place, first);
    rip_snap();
    switch_over(first, second);
    CHECK(see(101).info.tid != 0 && see(100).info.snap_count == 1);
    switch_over(second, main_place);
    CHECK(rip_tid == 7 && see(7).live);
}

// The frame of a suspended coroutine is destroyed by another one.
void scopes_belong_to_their_id()
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
    CHECK(see(7).note == "of main" && see(7).info.snap_count == 0 && see(7).waits == RIP_OK);
    CHECK(see(100).note == "of one" && see(100).info.idle);
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

// Without a ring, switched off, and with one: no allocation, and errno is what it was.
void nothing_is_touched()
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

void switched_off()
{
    setenv("RIP_DISABLE", "1", 1);
    CHECK(rip_create_ring("/dev/shm/rip-hpp-never", 64) && rip_ring == nullptr);
    use_everything();
}

} // namespace

int main()
{
    unsetenv("RIP_DISABLE");
    PLAY(a_thread_has_an_id);
    PLAY(idleness_ends_by_a_snap);
    PLAY(a_note_is_taken_back);
    PLAY(a_wait_names_the_owner);
    PLAY(coroutines_take_turns);
    PLAY(switches_between_two);
    PLAY(scopes_belong_to_their_id);
    PLAY(nothing_is_touched);
    PLAY(switched_off);
    return scenes_failed;
}
