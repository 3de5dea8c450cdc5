/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_symbolizer.h - a symbolizer that misbehaves. The program of a test runs itself as the symbolizer: its main()
 * begins with fake_symbolizer(). The path of a file selects the behaviour.
 *
 *   /fine                 answers f, with its own pid as the line
 *   /slow                 the same after 50 ms
 *   /late                 the same after 1.5 s
 *   /count                the same, with the number of answers before as the line
 *   /large                names that fill a packet
 *   /missing              cannot be opened
 *   /fetched              needs a descriptor
 *   /appears:FILE         cannot be opened until FILE exists
 *   /lacks:FILE           there is no descriptor left until FILE exists
 *   /forgets              is closed after one query
 *   /dies, /open-dies     exits
 *   /dies-once:FILE       exits, unless FILE exists, which it creates
 *   /stops                sleeps for ever
 *   /half, /key, /nonsense, /long, /error      malformed answers
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

/* True until the file exists that is named after the name. */
static inline bool fake_lacks(const char *path, const char *name)
{
    return fake_is(path, name) && access(path + strlen(name), F_OK) != 0;
}

static inline int fake_status(const char *path, int descriptor)
{
    if (fake_is(path, "/missing") || fake_lacks(path, "/appears:"))
        return -ENOENT;
    if (fake_lacks(path, "/lacks:"))
        return -EMFILE;
    if (fake_is(path, "/fetched") && descriptor < 0)
        return -ESTALE;
    if (fake_is(path, "/error"))
        return 5;
    return path[0] != '/' ? -EINVAL : 0;
}

static inline void fake_misbehave(const char *path)
{
    if (fake_lacks(path, "/dies-once:")) {
        close(open(path + strlen("/dies-once:"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
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
}

static inline void fake_open(const struct sym_open *message, int descriptor)
{
    const struct sym_opened answer = {
        .kind = SYM_OPENED, .key = message->key, .status = fake_status(message->path, descriptor)};

    fake_files[message->key % 256].key = message->key;
    fake_files[message->key % 256].open = true;
    memcpy(fake_files[message->key % 256].path, message->path, SYM_PATH_BYTES);
    if (fake_is(message->path, "/open-dies"))
        _exit(1);
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
}

/* Returns at once in the test. Does not return in the symbolizer. */
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
