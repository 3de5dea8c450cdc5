/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - starting a symbolizer, and packets to and from it. */
#include "sym/link.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/packet.h"
#include "os/spawn.h"

#define REAP_NS UINT64_C(500000000) /* a killed process of gigabytes takes a while to be taken down */
#define REAP_STEP_NS 1000000
#define SLICE_NS UINT64_C(250000000) /* between two looks at whether it does anything */

int link_init(struct sym_link *ret_link)
{
    *ret_link = (struct sym_link){.descriptor = -1, .packet = malloc(SYM_PACKET_BYTES)};
    return ret_link->packet != NULL ? 0 : -ENOMEM;
}

static bool is_reaped(pid_t pid)
{
    pid_t result = waitpid(pid, NULL, WNOHANG);

    return result == pid || (result < 0 && errno == ECHILD);
}

static void reap_leaving(struct sym_link *link)
{
    size_t kept = 0;

    for (size_t i = 0; i < link->leaving_count; i++)
        if (!is_reaped(link->leaving[i]))
            link->leaving[kept++] = link->leaving[i];
    link->leaving_count = kept;
}

void link_done(struct sym_link *link)
{
    link_stop(link);
    reap_leaving(link);
    free(link->packet);
    link->packet = NULL;
}

void link_stop(struct sym_link *link)
{
    const struct timespec step = {0, REAP_STEP_NS};
    uint64_t until_ns = clock_mono_ns() + REAP_NS;

    if (link->descriptor >= 0)
        close(link->descriptor);
    link->descriptor = -1;
    if (link->pid == 0)
        return;
    kill(link->pid, SIGKILL);
    while (!is_reaped(link->pid)) {
        if (clock_mono_ns() >= until_ns) {
            link->leaving[link->leaving_count++] = link->pid; /* none is started while it is full */
            break;
        }
        nanosleep(&step, NULL);
    }
    link->pid = 0;
}

static int send_packet(const struct sym_link *link, const void *bytes, size_t count, int descriptor)
{
    int result = packet_send(link->descriptor, bytes, count, descriptor, false);

    if (result == 0)
        return 0;
    return result == -EPIPE ? -ENOTCONN : -ETIMEDOUT; /* one question at a time always fits */
}

/* Whether the process has used CPU time since *used_ns. */
static bool has_moved(const struct sym_link *link, uint64_t *used_ns)
{
    struct timespec used;
    uint64_t now_ns;

    if (clock_gettime(link->clock, &used) != 0)
        return false; /* it is gone, or a zombie: the link tells */
    now_ns = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
    if (now_ns == *used_ns)
        return false;
    *used_ns = now_ns;
    return true;
}

/* Waits for something to read, for a moment; 0: nothing came. */
static int wait_slice(const struct sym_link *link, uint64_t left_ns, int cancel)
{
    uint64_t slice_ns = left_ns < SLICE_NS ? left_ns : SLICE_NS;
    struct timespec slice = {0, (long)slice_ns};
    struct pollfd descriptors[] = {{.fd = link->descriptor, .events = POLLIN}, {.fd = cancel, .events = POLLIN}};
    int ready = ppoll(descriptors, 2, &slice, NULL);

    if (ready > 0 && descriptors[1].revents != 0)
        return -ECANCELED;
    return ready > 0 ? 1 : 0;
}

/* Bytes of the answer in link->packet, or -errno. */
static ssize_t receive_packet(const struct sym_link *link, const struct link_patience *patience)
{
    uint64_t now_ns = clock_mono_ns(), deadline_ns = now_ns + patience->answer_ns, moved_ns = now_ns, used_ns = 0;

    for (;;) {
        int ready = wait_slice(link, deadline_ns > now_ns ? deadline_ns - now_ns : 0, patience->cancel);
        ssize_t bytes;

        if (ready < 0)
            return ready;
        now_ns = clock_mono_ns();
        if (ready == 0) {
            if (has_moved(link, &used_ns))
                moved_ns = now_ns;
            if (now_ns >= deadline_ns || (patience->still_ns != 0 && now_ns - moved_ns >= patience->still_ns))
                return -ETIMEDOUT;
            continue;
        }
        bytes = recv(link->descriptor, link->packet, SYM_PACKET_BYTES, MSG_DONTWAIT | MSG_TRUNC);
        if (bytes > 0)
            return bytes <= (ssize_t)SYM_PACKET_BYTES ? bytes : -EBADMSG;
        if (bytes == 0 || (errno != EAGAIN && errno != EINTR))
            return -EPIPE;
    }
}

static int wait_ready(const struct sym_link *link, const struct link_patience *patience)
{
    const struct link_patience start = {LINK_START_NS, patience->still_ns, patience->cancel};
    ssize_t bytes = receive_packet(link, &start);
    struct sym_ready ready = {0};

    if (bytes == -ECANCELED)
        return -ECANCELED;
    if (bytes == sizeof(ready))
        memcpy(&ready, link->packet, sizeof(ready));
    return ready.kind == SYM_READY ? 0 : -EPROTO;
}

int link_start(struct sym_link *link, const char *program, const struct link_patience *patience)
{
    int ends[2], result;

    link_stop(link);
    reap_leaving(link);
    if (link->leaving_count == LINK_LEAVING_MAX)
        return -EAGAIN;
    result = packet_pair(ends);
    if (result != 0)
        return result;
    result = spawn_program(program, ends[1], &link->pid);
    close(ends[1]);
    if (result != 0) {
        close(ends[0]);
        link->pid = 0;
        return result;
    }
    link->descriptor = ends[0];
    result = clock_getcpuclockid(link->pid, &link->clock) == 0 ? wait_ready(link, patience) : -EPROTO;
    if (result != 0)
        link_stop(link);
    return result;
}

/* Nothing is to be read before something was asked, unless it ended. */
static int check_quiet(const struct sym_link *link)
{
    struct pollfd descriptor = {.fd = link->descriptor, .events = POLLIN};

    if (link->descriptor < 0)
        return -ENOTCONN;
    if (poll(&descriptor, 1, 0) == 0)
        return 0;
    return recv(link->descriptor, link->packet, SYM_PACKET_BYTES, MSG_DONTWAIT) > 0 ? -EBADMSG : -ENOTCONN;
}

static ssize_t ask(struct sym_link *link, const void *bytes, size_t count, int descriptor,
                   const struct link_patience *patience)
{
    ssize_t result = check_quiet(link);

    if (result == 0)
        result = send_packet(link, bytes, count, descriptor);
    if (result == 0)
        result = receive_packet(link, patience);
    if (result < 0)
        link_stop(link);
    return result;
}

int link_open(struct sym_link *link, const struct sym_open *message, int descriptor,
              const struct link_patience *patience)
{
    ssize_t bytes = ask(link, message, sizeof(*message), descriptor, patience);
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

int link_look(struct sym_link *link, uint64_t key, uint64_t offset, const struct link_patience *patience,
              struct symbol **ret_symbol)
{
    const struct sym_look look = {.kind = SYM_LOOK, .key = key, .offset = offset};
    ssize_t bytes = ask(link, &look, sizeof(look), -1, patience);
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
