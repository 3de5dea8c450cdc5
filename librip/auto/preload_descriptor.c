/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_descriptor.c - knows whether a descriptor is an input on which work arrives, or a connection that the process
 * opened and on which it awaits a reply. A receive is idle on an input, and blocked on such a connection; see enum
 * rip_call in ring.h.
 *
 * Some programs send requests in one thread and receive the replies in another, a reader thread. Only the program knows
 * whether a reply is due, and between requests the reader waits for ever. For a reader thread the connection counts as
 * an input.
 *
 * The wrappers below and those of accept() and connect() record the descriptors that they make. Any other descriptor
 * (inherited, or received from another process) is looked up in the kernel at the first receive.
 *
 * Guarantees
 *   A. A descriptor is looked up at most once until its number is closed or reused.
 *   B. No kind is guessed. A TCP connection that no wrapper made counts as an input if a socket listens on its local
 *      port, as under inetd. Otherwise its kind is not known.
 *   C. The kernel is not asked once the program has installed a seccomp filter.
 *   D. Memory that a caller passes is not read before the kernel has accepted it. The arguments of poll() and select()
 *      are read only after a system call that fails on bad pointers.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>

#include "preload.h"

/* Limit on reading the kernel's table of TCP sockets. Listening sockets come first in it. */
#define LISTENERS_BYTES_MAX (1u << 20)
#define PAGE_BYTES_MIN 4096u

struct preload_descriptor preload_descriptors[PRELOAD_DESCRIPTORS];
static bool any_connected; /* without a connected descriptor no poll() waits for a reply */
static bool (*is_own)(int fd);

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* Writes only what differs, so that table pages of unused descriptors are never written. */
static void set(struct preload_descriptor *descriptor, uint8_t kind)
{
    if (rip_load_relaxed(&descriptor->sender) != 0)
        rip_store_relaxed(&descriptor->sender, 0);
    if (rip_load_relaxed(&descriptor->connected))
        rip_store_relaxed(&descriptor->connected, false);
    if (rip_load_relaxed(&descriptor->sent))
        rip_store_relaxed(&descriptor->sent, false);
    if (rip_load_relaxed(&descriptor->kind) != kind)
        rip_store_relaxed(&descriptor->kind, kind);
}

static void set_kind(int fd, uint8_t kind)
{
    struct preload_descriptor *descriptor = preload_descriptor_of(fd);

    if (descriptor != NULL)
        set(descriptor, kind);
}

/* Returns false in a vfork() child: it has its own descriptors, but its parent's table. */
static bool is_own_table(void)
{
    return !preload_in_vfork_child();
}

void preload_descriptor_forget(int fd)
{
    if (is_own_table())
        set_kind(fd, RIP_CALL_NONE);
}

void preload_descriptors_forget(unsigned int first, unsigned int last)
{
    if (!is_own_table())
        return;
    for (unsigned int fd = first; fd <= last && fd < PRELOAD_DESCRIPTORS; fd++)
        set_kind((int)fd, RIP_CALL_NONE);
}

void preload_descriptor_copy(int from, int to)
{
    const struct preload_descriptor *source = preload_descriptor_of(from);
    struct preload_descriptor *copy = preload_descriptor_of(to);

    if (source == NULL || copy == NULL || from == to || !is_own_table())
        return;
    set(copy, rip_load_relaxed(&source->kind));
    rip_store_relaxed(&copy->sender, rip_load_relaxed(&source->sender));
    rip_store_relaxed(&copy->connected, rip_load_relaxed(&source->connected));
    rip_store_relaxed(&copy->sent, rip_load_relaxed(&source->sent));
}

void preload_descriptor_accepted(int fd)
{
    if (is_own_table())
        set_kind(fd, RIP_CALL_INPUT);
}

void preload_descriptor_connecting(int fd)
{
    struct preload_descriptor *descriptor = preload_descriptor_of(fd);

    if (!is_own_table())
        return;
    set_kind(fd, RIP_CALL_NONE);
    if (descriptor != NULL)
        rip_store_relaxed(&descriptor->connected, true);
    rip_store_relaxed(&any_connected, true);
}

void preload_sent_request(int fd)
{
    struct preload_descriptor *descriptor = &preload_descriptors[fd];

    if (!rip_load_relaxed(&descriptor->sent))
        rip_store_relaxed(&descriptor->sent, true);
    if (rip_load_relaxed(&descriptor->sender) != (uint32_t)rip__tid)
        rip_store_relaxed(&descriptor->sender, (uint32_t)rip__tid);
}

static bool is_reader(int fd)
{
    const uint32_t sender = rip_load_relaxed(&preload_descriptors[fd].sender);

    return sender != 0 && sender != (uint32_t)rip__tid;
}

/* --- what the kernel says ----------------------------------------------------------------------------------------- */

/*
 * Makes a system call without the wrappers of other preloaded libraries, which may not be async-signal-safe.
 */
static long raw_syscall(long number, long first, const void *second, const void *third, const void *fourth,
                        const void *fifth)
{
    return PRELOAD_REAL(long, syscall, (long, ...))(number, first, second, third, fourth, fifth);
}

/* Returns true if this side of a unix stream has a name. Accepted sockets have the name of the listening socket. */
static bool has_name(int fd, long which)
{
    struct sockaddr_un name;
    socklen_t length = sizeof(name);

    return raw_syscall(which, fd, &name, &length, NULL, NULL) == 0 && length > offsetof(struct sockaddr_un, sun_path);
}

static uint8_t unix_kind(int fd)
{
    if (has_name(fd, SYS_getsockname))
        return RIP_CALL_INPUT;
    return has_name(fd, SYS_getpeername) ? RIP_CALL_REPLY : RIP_CALL_INPUT; /* no names: made by socketpair() */
}

static int socket_option(int fd, long option)
{
    int value = -1;
    socklen_t length = sizeof(value);

    return raw_syscall(SYS_getsockopt, fd, (void *)SOL_SOCKET, (void *)option, &value, &length) == 0 ? value : -1;
}

/* Returns true if the text occurs in the first LISTENERS_BYTES_MAX bytes of the file. */
static bool file_has(const char *path, const char *text)
{
    const size_t length = strlen(text);
    char bytes[1024];
    size_t kept = 0;
    bool found = false;
    long got, fd = raw_syscall(SYS_openat, AT_FDCWD, path, (void *)(O_RDONLY | O_CLOEXEC), NULL, NULL);

    for (size_t read = 0; fd >= 0 && !found && read < LISTENERS_BYTES_MAX; read += (size_t)got) {
        got = raw_syscall(SYS_read, fd, bytes + kept, (void *)(sizeof(bytes) - kept - 1), NULL, NULL);
        if (got <= 0)
            break;
        kept += (size_t)got;
        bytes[kept] = '\0';
        found = strstr(bytes, text) != NULL;
        if (kept >= length) { /* keep the end of the chunk, which may contain the beginning of the text */
            memmove(bytes, bytes + kept - (length - 1), length - 1);
            kept = length - 1;
        }
    }
    if (fd >= 0)
        raw_syscall(SYS_close, fd, NULL, NULL, NULL, NULL);
    return found;
}

/*
 * An accepted connection has the local port of the listening socket. Looks for a socket that listens on the local port
 * of fd. is_old: IPv4.
 */
static uint8_t internet_kind(int fd, bool is_old)
{
    static const char digits[] = "0123456789ABCDEF";
    char row[] = ":.... 00000000000000000000000000000000:0000 0A"; /* local port, no peer, TCP_LISTEN */
    const size_t left_out = is_old ? 24 : 0;                       /* an IPv4 address has 24 hex digits less */
    struct sockaddr_in6 name;                                      /* sockaddr_in has its port at the same offset */
    socklen_t length = sizeof(name);

    if (raw_syscall(SYS_getsockname, fd, &name, &length, NULL, NULL) != 0)
        return RIP_CALL_UNSURE;
    for (unsigned int i = 0; i < 4; i++)
        row[1 + i] = digits[ntohs(name.sin6_port) >> (12 - 4 * i) & 15];
    memmove(row + 6, row + 6 + left_out, sizeof(row) - 6 - left_out);
    return file_has(is_old ? "/proc/thread-self/net/tcp" : "/proc/thread-self/net/tcp6", row) ? RIP_CALL_INPUT
                                                                                              : RIP_CALL_UNSURE;
}

static uint8_t socket_kind(int fd)
{
    const int type = socket_option(fd, SO_TYPE), domain = socket_option(fd, SO_DOMAIN);

    if (type < 0)
        return RIP_CALL_UNSURE;
    if (type != SOCK_STREAM && type != SOCK_SEQPACKET)
        return RIP_CALL_INPUT;
    if (rip_load_relaxed(&preload_descriptors[fd].connected))
        return RIP_CALL_REPLY;
    if (domain == AF_UNIX)
        return unix_kind(fd);
    return domain == AF_INET || domain == AF_INET6 ? internet_kind(fd, domain == AF_INET) : RIP_CALL_UNSURE;
}

/* Some files of /proc, such as the kernel's log, have size 0, and a read waits for input. */
static uint8_t file_kind(int fd, const struct stat *status)
{
    struct statfs system;

    if (!S_ISREG(status->st_mode) || status->st_size != 0 ||
        raw_syscall(SYS_fstatfs, fd, &system, NULL, NULL, NULL) != 0)
        return RIP_CALL_BLOCK;
    return system.f_type == PROC_SUPER_MAGIC ? RIP_CALL_INPUT : RIP_CALL_BLOCK;
}

static uint8_t kind_from_kernel(int fd)
{
    struct stat status;

    if (raw_syscall(SYS_fstat, fd, &status, NULL, NULL, NULL) != 0)
        return RIP_CALL_NONE;
    if (S_ISSOCK(status.st_mode))
        return socket_kind(fd);
    if (S_ISFIFO(status.st_mode))
        return RIP_CALL_PIPE;
    if (S_ISCHR(status.st_mode) || (status.st_mode & S_IFMT) == 0) /* a terminal; eventfd, timerfd, inotify, ... */
        return RIP_CALL_INPUT;
    return file_kind(fd, &status);
}

static bool is_of_interpreter(int fd)
{
    bool (*own)(int) = rip_load_acquire(&is_own); /* pairs with preload_set_own_descriptors() */

    return own != NULL && own(fd);
}

static __attribute__((noinline)) uint8_t find_kind(int fd)
{
    int saved_errno = errno;
    uint8_t kind;

    if (preload_filtered())
        return RIP_CALL_UNSURE;
    kind = is_of_interpreter(fd) ? RIP_CALL_INTERPRETER : kind_from_kernel(fd);
    errno = saved_errno;
    if (kind == RIP_CALL_NONE)
        return RIP_CALL_UNSURE; /* the descriptor is not open */
    rip_store_relaxed(&preload_descriptors[fd].kind, kind);
    return kind;
}

uint8_t preload_call_receive_slow(int fd)
{
    uint8_t kind = rip_load_relaxed(&preload_descriptors[fd].kind);

    if (kind == RIP_CALL_NONE)
        kind = find_kind(fd);
    return kind == RIP_CALL_REPLY && is_reader(fd) ? RIP_CALL_INPUT : kind;
}

/* --- poll and select ---------------------------------------------------------------------------------------------- */

/* A client with a timeout waits for a reply in poll(), on the one connection to which it has sent a request. */
static uint8_t call_ready(int fd)
{
    const struct preload_descriptor *descriptor = preload_descriptor_of(fd);

    if (descriptor == NULL || !rip_load_relaxed(&descriptor->sent))
        return RIP_CALL_READY;
    return preload_call_receive(fd) == RIP_CALL_REPLY ? RIP_CALL_REPLY : RIP_CALL_READY;
}

/*
 * Waits no time for the word of this byte to change: the kernel reads the word, and fails with EFAULT if it cannot.
 * Filters that a program inherits rarely allow process_vm_readv(), and mostly kill a process that calls it. They all
 * allow futex().
 */
static bool is_readable(uintptr_t byte)
{
    static const struct timespec no_time;
    const long word = (long)(byte & ~(uintptr_t)3);
    const void *const rare = (const void *)(uintptr_t)0x80000001u; /* if it is the word's value, a timer is set */

    return raw_syscall(SYS_futex, word, (const void *)FUTEX_WAIT_PRIVATE, rare, &no_time, NULL) == 0 ||
           errno == EAGAIN || errno == ETIMEDOUT || errno == EINTR;
}

/*
 * Copies memory that a caller passed, less than a page. Returns false if the memory cannot be read; then the wrapped
 * call fails, too.
 */
static bool copy_argument(void *to, const void *from, size_t size)
{
    const uintptr_t first = (uintptr_t)from, last = first + size - 1;
    int saved_errno = errno;
    bool readable;

    if (from == NULL || preload_filtered())
        return false;
    readable = is_readable(first) && (first / PAGE_BYTES_MIN == last / PAGE_BYTES_MIN || is_readable(last));
    errno = saved_errno;
    if (readable)
        memcpy(to, from, size);
    return readable;
}

void preload_set_own_descriptors(bool (*function)(int fd))
{
    rip_store_release(&is_own, function); /* pairs with is_of_interpreter() */
}

/*
 * An interpreter first tries to read or write. If the descriptor is not ready, the interpreter polls it, together with
 * its own descriptor.
 */
static uint8_t call_of_interpreter(const struct pollfd *polled)
{
    if (is_of_interpreter(polled->fd))
        return RIP_CALL_WORK; /* waits for its own threads, or for a timeout: nothing comes from outside */
    if ((polled->events & POLLIN) == 0)
        return (polled->events & POLLOUT) != 0 ? RIP_CALL_BLOCK : RIP_CALL_READY;
    if (preload_descriptor_of(polled->fd) != NULL && preload_call_receive(polled->fd) == RIP_CALL_PIPE)
        return RIP_CALL_PIPE;
    return call_ready(polled->fd);
}

uint8_t preload_call_poll(const struct pollfd *fds, unsigned long count)
{
    struct pollfd copy[2]; /* an interpreter's own descriptor is the second */
    const bool is_interpreter = rip_load_relaxed(&is_own) != NULL;

    if ((!rip_load_relaxed(&any_connected) && !is_interpreter) || count < 1 || count > 2 ||
        !copy_argument(copy, fds, count * sizeof(copy[0])) || (count == 2 && !is_of_interpreter(copy[1].fd)))
        return RIP_CALL_READY;
    if (is_interpreter)
        return call_of_interpreter(&copy[0]);
    return (copy[0].events & POLLIN) != 0 ? call_ready(copy[0].fd) : RIP_CALL_READY;
}

uint8_t preload_call_select(int count, const void *in)
{
    unsigned long words[FD_SETSIZE / 8 / sizeof(long)] = {0};
    const unsigned int word_bits = 8 * sizeof(long);
    int only = -1;

    if (!rip_load_relaxed(&any_connected) || count <= 0 || count > FD_SETSIZE ||
        !copy_argument(words, in, ((unsigned int)count + word_bits - 1) / word_bits * sizeof(long)))
        return RIP_CALL_READY;
    for (int fd = 0; fd < count; fd++) {
        if ((words[(unsigned int)fd / word_bits] >> ((unsigned int)fd % word_bits) & 1) == 0 || is_of_interpreter(fd))
            continue;
        if (only >= 0)
            return RIP_CALL_READY;
        only = fd;
    }
    return call_ready(only);
}

/* --- wrappers of calls that make descriptors ---------------------------------------------------------------------- */

PRELOAD_WRAPPER(int, socket, (int domain, int type, int protocol))
{
    int fd = PRELOAD_REAL(int, socket, (int, int, int))(domain, type, protocol);

    preload_descriptor_forget(fd);
    return fd;
}

static int set_pair(int result, const int pair[2], uint8_t kind)
{
    if (result == 0 && is_own_table()) {
        set_kind(pair[0], kind);
        set_kind(pair[1], kind);
    }
    return result;
}

PRELOAD_WRAPPER(int, socketpair, (int domain, int type, int protocol, int pair[2]))
{
    return set_pair(PRELOAD_REAL(int, socketpair, (int, int, int, int *))(domain, type, protocol, pair), pair,
                    RIP_CALL_INPUT);
}

PRELOAD_WRAPPER(int, pipe, (int pair[2]))
{
    return set_pair(PRELOAD_REAL(int, pipe, (int *))(pair), pair, RIP_CALL_PIPE);
}

PRELOAD_WRAPPER(int, pipe2, (int pair[2], int flags))
{
    return set_pair(PRELOAD_REAL(int, pipe2, (int *, int))(pair, flags), pair, RIP_CALL_PIPE);
}

PRELOAD_WRAPPER(int, dup, (int fd))
{
    int copy = preload_is_hidden(fd) ? preload_refuse() : PRELOAD_REAL(int, dup, (int))(fd);

    preload_descriptor_copy(fd, copy);
    return copy;
}

/* fclose() closes the descriptor inside glibc, without calling our wrapper of close(). */
PRELOAD_WRAPPER(int, fclose, (void *stream))
{
    int saved_errno = errno;

    preload_descriptor_forget(fileno_unlocked(stream));
    errno = saved_errno;
    return PRELOAD_REAL(int, fclose, (void *))(stream);
}
