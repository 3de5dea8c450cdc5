/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forked_test.hpp - C++ tests that each run in a child process of their own, because a process can have only one ring.
 * They read ids as a reader does.
 */
#ifndef FORKED_TEST_HPP
#define FORKED_TEST_HPP

#include <rip/reader.h>
#include <rip/rip.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::fprintf(stderr, "%s:%d: check failed: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);       \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* Counts the tests that fail. */
#define RUN_IN_CHILD(body) (tests_failed += !run_in_child(#body, body))

static int tests_failed;

static inline bool run_in_child(const char *name, void (*body)())
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0) {
        body();
        _exit(0);
    }
    const bool good = waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    std::fprintf(stderr, "%s %s\n", good ? "ok     " : "FAILED ", name);
    return good;
}

static inline void make_ring()
{
    const std::string path = "/dev/shm/rip-hpp-" + std::to_string(getpid());

    CHECK(rip_create_ring(path.c_str(), 64));
    unlink(path.c_str());
}

/* What a reader reports about an id. */
struct Id {
    bool live = false;
    rip_id_info info{};
    std::string name, note;
    rip_status waits = RIP_NOT_LIVE;
    rip_wait_info wait{};
};

static inline Id read_id(std::uint32_t id)
{
    rip_view view;
    rip_scan_position position{};
    rip_sample samples[64];
    Id result;

    CHECK(rip_view_open(&view, rip_ring, rip_ring->file_bytes) == RIP_OK);
    const std::size_t count = rip_view_scan(&view, &position, samples, 64);
    for (std::size_t i = 0; i < count; i++) {
        rip_id_info info;
        rip_note_info note;

        if (rip_view_id(&view, samples[i].slot, &info) != RIP_OK || info.id != id) /* other ids may end meanwhile */
            continue;
        result.live = true;
        result.info = info;
        result.name.assign(info.name, info.name + info.name_bytes);
        if (rip_view_note(&view, samples[i].slot, &note) == RIP_OK)
            result.note.assign(note.text, note.text + note.text_bytes);
        result.waits = rip_view_wait(&view, samples[i].slot, &result.wait);
    }
    return result;
}

#endif
