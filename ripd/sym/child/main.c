/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - ripd-symbolizer: opens the ELF files that it receives, and returns the names of addresses in them.
 *
 * ripd starts it and talks to it over SPAWN_SOCKET (see sym/protocol.h). It trusts no input. If libdw crashes on a
 * file, runs out of memory or loops, this process is killed and replaced.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "os/packet.h"
#include "os/spawn.h"
#include "sym/child/lookup.h"
#include "sym/child/open_files.h"
#include "sym/child/sandbox.h"
#include "sym/protocol.h"

#define IDLE_SECONDS 60

union request {
    uint32_t kind;
    struct sym_open open;
    struct sym_look look;
};

static struct open_files files;

static void answer(const void *packet, size_t bytes)
{
    if (packet_send(SPAWN_SOCKET, packet, bytes, -1, true) != 0)
        exit(EXIT_FAILURE);
}

static int open_by_path(const char *path)
{
    struct stat about;
    int descriptor;

    if (path[0] != '/')
        return -EINVAL;
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return -errno;
    if (fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode))
        return descriptor;
    close(descriptor);
    return -ENOTSUP;
}

static int take_open(const struct sym_open *message, int descriptor)
{
    if (message->build_id_bytes > SYM_BUILD_ID_BYTES || memchr(message->path, '\0', SYM_PATH_BYTES) == NULL ||
        (descriptor < 0 && message->build_id_bytes == 0)) {
        if (descriptor >= 0)
            close(descriptor);
        return -EINVAL;
    }
    if (descriptor < 0)
        descriptor = open_by_path(message->path);
    if (descriptor == -EMFILE)
        open_files_close(&files); /* so that another try can succeed */
    if (descriptor < 0)
        return descriptor;
    return open_files_add(&files, message->key, descriptor, message->path, message->build_id, message->build_id_bytes);
}

static void answer_open(const struct sym_open *message, int descriptor)
{
    struct sym_opened opened = {.kind = SYM_OPENED, .key = message->key};

    opened.status = take_open(message, descriptor);
    answer(&opened, sizeof(opened));
}

static void answer_look(const struct sym_look *message)
{
    static unsigned char packet[SYM_PACKET_BYTES];
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    struct lookup *lookup = open_files_find(&files, message->key);
    size_t count = lookup != NULL ? lookup_find(lookup, message->offset, frames) : 0;
    size_t bytes = sym_found_format(packet, sizeof(packet), message->key, message->offset, frames, count);

    if (lookup == NULL)
        ((struct sym_found *)(void *)packet)->status = -ENOENT;
    answer(packet, bytes);
}

/* Returns the length of the next request, or -errno if ripd is gone or sends nonsense. */
static ssize_t receive(union request *request, int *ret_descriptor)
{
    for (;;) {
        ssize_t bytes = packet_receive(SPAWN_SOCKET, request, sizeof(*request), true, ret_descriptor);

        if (bytes != -EAGAIN && bytes != -EMFILE)
            return bytes;
        open_files_close(&files); /* idle for a while, or no descriptor left */
        if (bytes == -EMFILE)
            answer(&(struct sym_opened){.kind = SYM_OPENED, .status = -EMFILE, .key = request->open.key},
                   sizeof(struct sym_opened));
    }
}

int main(void)
{
    union request request;
    ssize_t bytes;
    const struct sym_ready ready = {.kind = SYM_READY};
    const struct timeval idle = {.tv_sec = IDLE_SECONDS};
    int descriptor, result;

    (void)setsockopt(SPAWN_SOCKET, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof(idle));
    result = sandbox_enter();
    if (result != 0) {
        fprintf(stderr, "ripd-symbolizer: cannot give up privileges: %s\n", strerror(-result));
        return EXIT_FAILURE;
    }
    answer(&ready, sizeof(ready));
    while ((bytes = receive(&request, &descriptor)) > 0) {
        if (bytes == sizeof(request.open) && request.kind == SYM_OPEN)
            answer_open(&request.open, descriptor);
        else if (bytes == sizeof(request.look) && request.kind == SYM_LOOK && descriptor < 0)
            answer_look(&request.look);
        else
            return EXIT_FAILURE;
    }
    return bytes == -EPIPE ? EXIT_SUCCESS : EXIT_FAILURE;
}
