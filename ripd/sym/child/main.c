/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - ripd-symbolizer: opens the ELF files it is told of and answers what addresses in them are called.
 *
 * It is started by ripd, talks over descriptor 3 (see sym/protocol.h), and believes nothing it reads. When libdw
 * crashes on a file, runs out of memory or loops, this process is killed and another is started.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "os/packet.h"
#include "sym/child/lookup.h"
#include "sym/child/sandbox.h"
#include "sym/protocol.h"

#define FILES_MAX 24u
#define CROWDED_BYTES (256ull << 20) /* anonymous memory; the files themselves are mapped */
#define IDLE_SECONDS 60
#define STATM_BYTES 128u

static struct open_file {
    struct lookup *lookup; /* NULL = free */
    uint64_t key;
    uint64_t last_used;
} files[FILES_MAX];
static uint64_t uses;

static struct open_file *find_file(uint64_t key)
{
    for (size_t i = 0; i < FILES_MAX; i++)
        if (files[i].lookup != NULL && files[i].key == key) {
            files[i].last_used = ++uses;
            return &files[i];
        }
    return NULL;
}

static void close_file(struct open_file *file)
{
    lookup_close(file->lookup);
    file->lookup = NULL;
}

/* A free place, of the file used least if need be. */
static struct open_file *make_room(void)
{
    struct open_file *oldest = &files[0];

    for (size_t i = 1; i < FILES_MAX && oldest->lookup != NULL; i++)
        if (files[i].lookup == NULL || files[i].last_used < oldest->last_used)
            oldest = &files[i];
    close_file(oldest);
    return oldest;
}

/* Whether what was made of the files that are open takes more memory than it may. */
static bool is_crowded(void)
{
    unsigned long long resident_pages = 0, shared_pages = 0;
    char text[STATM_BYTES] = "";
    int descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    if (descriptor >= 0) {
        if (read(descriptor, text, sizeof(text) - 1) > 0 &&
            sscanf(text, "%*u %llu %llu", &resident_pages, &shared_pages) != 2)
            resident_pages = shared_pages = 0;
        close(descriptor);
    }
    return (resident_pages - shared_pages) * (unsigned long long)sysconf(_SC_PAGESIZE) > CROWDED_BYTES;
}

/* Files give way, the one used least first, until there is room or but one of them is left. */
static void thin_out(void)
{
    for (size_t i = 0; i < FILES_MAX && is_crowded(); i++) {
        struct open_file *oldest = NULL;
        size_t count = 0;

        for (size_t at = 0; at < FILES_MAX; at++) {
            count += files[at].lookup != NULL;
            if (files[at].lookup != NULL && (oldest == NULL || files[at].last_used < oldest->last_used))
                oldest = &files[at];
        }
        if (count < 2)
            return;
        close_file(oldest);
        malloc_trim(0);
    }
}

/* Nothing was asked for a while: all memory goes back. */
static void close_all(void)
{
    for (size_t i = 0; i < FILES_MAX; i++)
        if (files[i].lookup != NULL)
            close_file(&files[i]);
    malloc_trim(0);
}

static void answer(const void *packet, size_t bytes)
{
    if (packet_send(SYM_DESCRIPTOR, packet, bytes, -1, true) != 0)
        exit(EXIT_FAILURE);
}

static int open_by_path(const char *path)
{
    struct stat about;
    int descriptor = path[0] != '/' ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (path[0] != '/')
        return -EINVAL;
    if (descriptor < 0)
        return -errno;
    if (fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode))
        return descriptor;
    close(descriptor);
    return -ENOTSUP;
}

static int take_open(const struct sym_open *message, int descriptor)
{
    struct open_file *file = find_file(message->key);
    struct lookup *lookup;
    int result;

    if (message->build_id_bytes > SYM_BUILD_ID_BYTES || memchr(message->path, '\0', SYM_PATH_BYTES) == NULL ||
        (descriptor < 0 && message->build_id_bytes == 0)) {
        if (descriptor >= 0)
            close(descriptor);
        return -EINVAL;
    }
    if (file != NULL)
        close_file(file);
    if (descriptor < 0)
        descriptor = open_by_path(message->path);
    if (descriptor < 0)
        return descriptor;
    thin_out();
    file = make_room();
    result = lookup_open(&lookup, descriptor, message->path, message->build_id, message->build_id_bytes);
    if (result == 0)
        *file = (struct open_file){lookup, message->key, ++uses};
    return result;
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
    struct open_file *file = find_file(message->key);
    size_t bytes;

    if (file == NULL) {
        struct sym_found *found = (void *)packet;

        *found =
            (struct sym_found){.kind = SYM_FOUND, .status = -ENOENT, .key = message->key, .offset = message->offset};
        bytes = sizeof(*found);
    } else {
        size_t count = lookup_find(file->lookup, message->offset, frames);

        bytes = sym_found_format(packet, sizeof(packet), message->key, message->offset, frames, count);
    }
    answer(packet, bytes);
}

/* The next request; -errno: ripd is gone, or talks nonsense. */
static ssize_t receive(void *packet, size_t capacity, int *ret_descriptor)
{
    ssize_t bytes;

    while ((bytes = packet_receive(SYM_DESCRIPTOR, packet, capacity, true, ret_descriptor)) == -EAGAIN)
        close_all();
    return bytes;
}

int main(void)
{
    union {
        uint32_t kind;
        struct sym_open open;
        struct sym_look look;
    } packet;
    ssize_t bytes;
    const struct sym_ready ready = {.kind = SYM_READY};
    const struct timeval idle = {.tv_sec = IDLE_SECONDS};
    int descriptor, result;

    (void)setsockopt(SYM_DESCRIPTOR, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof(idle));
    result = sandbox_enter();
    if (result != 0) {
        fprintf(stderr, "ripd-symbolizer: cannot give up privileges: %s\n", strerror(-result));
        return EXIT_FAILURE;
    }
    answer(&ready, sizeof(ready));
    while ((bytes = receive(&packet, sizeof(packet), &descriptor)) > 0) {
        if (bytes == sizeof(packet.open) && packet.kind == SYM_OPEN)
            answer_open(&packet.open, descriptor);
        else if (bytes == sizeof(packet.look) && packet.kind == SYM_LOOK && descriptor < 0)
            answer_look(&packet.look);
        else
            return EXIT_FAILURE;
    }
    return bytes == -EPIPE ? EXIT_SUCCESS : EXIT_FAILURE;
}
