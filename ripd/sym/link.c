/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - starting a symbolizer, and packets to and from it. */
#include "sym/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"

int link_init(struct sym_link *ret_link)
{
    *ret_link = (struct sym_link){.descriptor = -1, .packet = malloc(SYM_PACKET_BYTES)};
    return ret_link->packet != NULL ? 0 : -ENOMEM;
}

void link_done(struct sym_link *link)
{
    link_stop(link);
    free(link->packet);
    link->packet = NULL;
}

static int spawn(const char *program, int descriptor, pid_t *ret_pid)
{
    char *const arguments[] = {(char *)(uintptr_t) "ripd-symbolizer", NULL};
    char *const environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int result;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, descriptor, SYM_DESCRIPTOR);
    result = posix_spawn(ret_pid, program, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -result;
}

int link_start(struct sym_link *link, const char *program)
{
    int ends[2], result;

    link_stop(link);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -errno;
    result = spawn(program, ends[1], &link->pid);
    close(ends[1]);
    if (result != 0) {
        close(ends[0]);
        link->pid = 0;
        return result;
    }
    link->descriptor = ends[0];
    return 0;
}

void link_stop(struct sym_link *link)
{
    if (link->descriptor >= 0)
        close(link->descriptor);
    link->descriptor = -1;
    if (link->pid == 0)
        return;
    kill(link->pid, SIGKILL);
    while (waitpid(link->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    link->pid = 0;
}

static int send_packet(const struct sym_link *link, const void *bytes, size_t count, int descriptor)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)bytes, count};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (descriptor >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof(control);
        control.header =
            (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(int));
    }
    if (sendmsg(link->descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return errno == EPIPE || errno == ECONNRESET ? -EPIPE : -ETIMEDOUT; /* one question at a time always fits */
    return 0;
}

/* Bytes of the answer in link->packet, or -errno. */
static ssize_t receive_packet(const struct sym_link *link, uint64_t limit_ns)
{
    uint64_t deadline_ns = clock_mono_ns() + limit_ns;

    for (;;) {
        uint64_t now_ns = clock_mono_ns(), left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
        struct timespec left = {(time_t)(left_ns / 1000000000), (long)(left_ns % 1000000000)};
        struct pollfd descriptor = {.fd = link->descriptor, .events = POLLIN};
        int ready = ppoll(&descriptor, 1, &left, NULL);
        ssize_t bytes;

        if (ready == 0)
            return -ETIMEDOUT;
        if (ready < 0)
            continue;
        bytes = recv(link->descriptor, link->packet, SYM_PACKET_BYTES, MSG_DONTWAIT);
        if (bytes > 0)
            return bytes;
        if (bytes == 0 || (errno != EAGAIN && errno != EINTR))
            return -EPIPE;
    }
}

static ssize_t ask(struct sym_link *link, const void *bytes, size_t count, int descriptor, uint64_t limit_ns)
{
    ssize_t result = link->descriptor < 0 ? -EPIPE : send_packet(link, bytes, count, descriptor);

    if (result == 0)
        result = receive_packet(link, limit_ns);
    if (result < 0)
        link_stop(link);
    return result;
}

int link_open(struct sym_link *link, const struct sym_open *message, int descriptor, uint64_t limit_ns)
{
    ssize_t bytes = ask(link, message, sizeof(*message), descriptor, limit_ns);
    struct sym_opened opened;

    if (bytes < 0)
        return (int)bytes;
    if (bytes == sizeof(opened)) {
        memcpy(&opened, link->packet, sizeof(opened));
        if (opened.kind == SYM_OPENED && opened.key == message->key && opened.status <= 0)
            return opened.status;
    }
    link_stop(link);
    return -EBADMSG;
}

int link_look(struct sym_link *link, uint64_t key, uint64_t offset, uint64_t limit_ns, struct symbol **ret_symbol)
{
    const struct sym_look look = {.kind = SYM_LOOK, .key = key, .offset = offset};
    ssize_t bytes = ask(link, &look, sizeof(look), -1, limit_ns);
    struct sym_found found;
    struct symbol *symbol;

    if (bytes < 0)
        return (int)bytes;
    if (bytes >= (ssize_t)sizeof(found)) {
        memcpy(&found, link->packet, sizeof(found));
        if (found.kind == SYM_FOUND && found.key == key && found.offset == offset && found.status == -ENOENT)
            return -ENOENT;
    }
    symbol = sym_found_parse(link->packet, (size_t)bytes, key, offset);
    if (symbol == NULL) {
        link_stop(link);
        return -EBADMSG;
    }
    *ret_symbol = symbol;
    return 0;
}
