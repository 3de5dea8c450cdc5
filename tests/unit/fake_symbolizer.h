/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_symbolizer.h - a symbolizer as bad as it gets. A test's program runs itself as one: main() begins with
 * fake_symbolizer(). The path of a file says how it answers.
 *
 *   /fine                 f, at the line of its own pid
 *   /slow                 the same after 50 ms
 *   /late                 the same after 1.5 s
 *   /count                the same, at the line of how many answers it has given
 *   /large                names that fill a packet
 *   /missing, /stale      cannot be opened
 *   /fetched              only with a descriptor
 *   /appears:FILE         cannot be opened until FILE exists
 *   /lacks:FILE           there is no descriptor for it until FILE exists
 *   /forgets              is open for one question
 *   /dies, /open-dies     ends
 *   /dies-once:FILE       ends, unless FILE exists, which it makes
 *   /stops                does nothing any more
 *   /spins                does nothing but use the processor
 *   /half, /key, /nonsense, /long, /error      answers that are none
 *   /floods               answers more often than it was asked
 */
#ifndef TESTS_UNIT_FAKE_SYMBOLIZER_H
#define TESTS_UNIT_FAKE_SYMBOLIZER_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/packet.h"
#include "os/spawn.h"
#include "sym/protocol.h"

static struct {
    uint64_t key;
    char path[SYM_PATH_BYTES];
    bool open;
} fake_files[256];

static inline bool fake_is(const char *path, const char *name)
{
    return strncmp(path, name, strlen(name)) == 0;
}

static inline void fake_send(const void *bytes, size_t count)
{
    if (send(SPAWN_SOCKET, bytes, count, MSG_NOSIGNAL) < 0)
        _exit(1);
}

static inline void fake_misbehave(const char *path)
{
    static const char once[] = "/dies-once:";
    volatile unsigned turns = 0;

    if (fake_is(path, once) && access(path + sizeof(once) - 1, F_OK) != 0) {
        close(open(path + sizeof(once) - 1, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        _exit(1);
    }
    if (strcmp(path, "/dies") == 0)
        _exit(1);
    if (fake_is(path, "/slow"))
        usleep(50000);
    if (fake_is(path, "/late"))
        usleep(1500000);
    while (fake_is(path, "/stops"))
        pause();
    while (fake_is(path, "/spins"))
        turns = turns + 1;
}

static inline void fake_open(const struct sym_open *message, int descriptor)
{
    static const char appears[] = "/appears:";
    struct sym_opened answer = {.kind = SYM_OPENED, .key = message->key};

    fake_files[message->key % 256].key = message->key;
    fake_files[message->key % 256].open = true;
    memcpy(fake_files[message->key % 256].path, message->path, SYM_PATH_BYTES);
    if (fake_is(message->path, "/open-dies"))
        _exit(1);
    if (fake_is(message->path, "/missing") ||
        (fake_is(message->path, appears) && access(message->path + sizeof(appears) - 1, F_OK) != 0))
        answer.status = -ENOENT;
    if (fake_is(message->path, "/lacks:") && access(message->path + strlen("/lacks:"), F_OK) != 0)
        answer.status = -EMFILE;
    if (message->path[0] != '/')
        answer.status = -EINVAL;
    if (fake_is(message->path, "/stale"))
        answer.status = -ESTALE;
    if (fake_is(message->path, "/fetched") && descriptor < 0)
        answer.status = -ESTALE;
    if (fake_is(message->path, "/error"))
        answer.status = 5;
    fake_send(&answer, sizeof(answer));
}

static inline void fake_look(const struct sym_look *message)
{
    static unsigned char packet[2 * SYM_PACKET_BYTES];
    const char *path = fake_files[message->key % 256].path;
    static char name[SYMBOL_TEXT_BYTES_MAX + 1];
    struct symbol_frame frames[SYMBOL_FRAMES_MAX] = {{"f", path, (uint32_t)getpid()}};
    uint64_t key = message->key + fake_is(path, "/key");
    static uint32_t answer_count;
    size_t bytes;

    if (fake_is(path, "/count"))
        frames[0].line = answer_count;
    answer_count++;
    bytes = sym_found_format(packet, sizeof(packet), key, message->offset, frames, 1);

    if (!fake_files[message->key % 256].open || fake_files[message->key % 256].key != message->key) {
        struct sym_found gone = {.kind = SYM_FOUND, .status = -ENOENT, .key = message->key, .offset = message->offset};

        fake_send(&gone, sizeof(gone));
        return;
    }
    fake_misbehave(path);
    if (fake_is(path, "/forgets"))
        fake_files[message->key % 256].open = false;
    if (fake_is(path, "/half"))
        bytes /= 2;
    if (fake_is(path, "/large")) {
        memset(name, 'x', SYMBOL_TEXT_BYTES_MAX);
        for (size_t i = 0; i < SYMBOL_FRAMES_MAX; i++)
            frames[i] = (struct symbol_frame){name, name, 1};
        bytes = sym_found_format(packet, SYM_PACKET_BYTES, key, message->offset, frames, SYMBOL_FRAMES_MAX);
    }
    if (fake_is(path, "/nonsense"))
        memset(packet, 'x', bytes);
    if (fake_is(path, "/long"))
        bytes = sizeof(packet);
    fake_send(packet, bytes);
    for (int i = 0; fake_is(path, "/floods") && i < 100; i++)
        (void)!send(SPAWN_SOCKET, packet, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Returns at once in a test; never in the symbolizer that it plays. */
static inline void fake_symbolizer(void)
{
    union {
        uint32_t kind;
        struct sym_open open;
        struct sym_look look;
    } message;
    struct sym_ready ready = {.kind = SYM_READY};
    socklen_t bytes = sizeof(int);
    int type = 0, descriptor;

    if (environ[0] != NULL || getsockopt(SPAWN_SOCKET, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 ||
        type != SOCK_SEQPACKET)
        return;
    fake_send(&ready, sizeof(ready));
    while (packet_receive(SPAWN_SOCKET, &message, sizeof(message), true, &descriptor) > 0) {
        if (message.kind == SYM_OPEN)
            fake_open(&message.open, descriptor);
        else
            fake_look(&message.look);
        if (descriptor >= 0)
            close(descriptor);
    }
    _exit(0);
}

#endif
