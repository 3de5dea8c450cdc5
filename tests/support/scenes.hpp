/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenes.hpp - for tests in C++: a scene plays in a process of its own, since a process has one ring for good, and
 * looks at its ids as a reader does.
 */
#ifndef SCENES_HPP
#define SCENES_HPP

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
            std::fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);             \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* Counts those that end otherwise than they should. */
#define PLAY(scene) (scenes_failed += !play(#scene, scene))

static int scenes_failed;

static inline bool play(const char *name, void (*scene)())
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0) {
        scene();
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

/* What a reader sees of an id. */
struct Seen {
    bool live = false;
    rip_id_info info{};
    std::string name, note;
    rip_status waits = RIP_NOT_LIVE;
    rip_wait_info wait{};
};

static inline Seen see(std::uint32_t id)
{
    rip_view view;
    rip_scan_position position{};
    rip_sample samples[64];
    Seen seen;

    CHECK(rip_view_open(&view, rip_ring, rip_ring->file_bytes) == RIP_OK);
    const std::size_t count = rip_view_scan(&view, &position, samples, 64);
    for (std::size_t i = 0; i < count; i++) {
        rip_id_info info;
        rip_note_info note;

        if (rip_view_id(&view, samples[i].slot, &info) != RIP_OK || info.id != id) /* others come and go */
            continue;
        seen.live = true;
        seen.info = info;
        seen.name.assign(info.name, info.name + info.name_bytes);
        if (rip_view_note(&view, samples[i].slot, &note) == RIP_OK)
            seen.note.assign(note.text, note.text + note.text_bytes);
        seen.waits = rip_view_wait(&view, samples[i].slot, &seen.wait);
    }
    return seen;
}

#endif
