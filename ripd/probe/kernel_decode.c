/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_decode.c - describes what a thread waits for. Pure.
 *
 * Guarantees
 *   1. No memory address is shown. For a futex only the operation is shown, for a set of descriptors only its size.
 *   2. A system call from another architecture's table has no name, such as that of a 32-bit program on a 64-bit
 *      machine.
 */
#include "probe/kernel_decode.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "cases/syscalls.h"
#include "rip/ring.h"

#define MS_NS UINT64_C(1000000)

enum { FUTEX_PRIVATE = 128 };

static const struct syscall_shape *shape_of(const struct kernel_reading *reading, const char **ret_name)
{
    const struct proc_syscall *call = &reading->call;
    const char *name = NULL;

    if ((reading->has & KERNEL_HAS_SYSCALL) != 0 && call->kind == PROC_SYSCALL_INSIDE &&
        (sizeof(long) == 4 || call->stack_pointer > UINT32_MAX))
        name = syscall_name(call->number);
    *ret_name = name;
    return syscall_shape_of(name);
}

/* Waiting --------------------------------------------------------------------------------------------------------- */

/* Whether the wait has a timeout, as far as the arguments show. */
static bool has_timeout(const struct kernel_reading *reading, const struct syscall_shape *shape)
{
    const uint64_t argument = reading->call.arguments[shape->timeout];

    if (shape->timeout_form == SYSCALL_TIMEOUT_MS)
        return (int32_t)argument >= 0;
    return shape->timeout_form != SYSCALL_TIMEOUT_NONE && argument != 0;
}

/* Whether the thread opens a FIFO for reading and waits for a writer. */
static bool waits_for_writer(const struct kernel_reading *reading, const char *name)
{
    const int flags = strcmp(name, "open") == 0 ? 1 : strcmp(name, "openat") == 0 ? 2 : -1;

    return flags >= 0 && (reading->call.arguments[flags] & O_ACCMODE) == O_RDONLY &&
           (reading->has & KERNEL_HAS_WCHAN) != 0 &&
           (strncmp(reading->wchan, "wait_for_partner", strlen("wait_for_partner")) == 0 ||
            strncmp(reading->wchan, "fifo_open", strlen("fifo_open")) == 0); /* if the compiler has inlined it */
}

enum evidence_wait kernel_decode_wait(const struct kernel_reading *reading)
{
    static const enum evidence_wait by_wchan[] = {
        [KERNEL_WAIT_UNKNOWN] = WAIT_UNKNOWN,
        [KERNEL_WAIT_OTHERS] = WAIT_OTHERS,
        [KERNEL_WAIT_SLEEP] = WAIT_SLEEP,
    };
    const char *name;
    const struct syscall_shape *shape = shape_of(reading, &name);

    if ((reading->has & KERNEL_HAS_SYSCALL) != 0 && reading->call.kind == PROC_SYSCALL_OUTSIDE)
        return WAIT_OTHERS;
    if (name == NULL || shape->topic == SYSCALL_TOPIC_RESTART)
        return (reading->has & KERNEL_HAS_WCHAN) != 0 ? by_wchan[kernel_wait_of_wchan(reading->wchan)] : WAIT_UNKNOWN;
    if (shape->topic == SYSCALL_TOPIC_SLEEP)
        return WAIT_SLEEP;
    if (shape->topic == SYSCALL_TOPIC_POLL && (uint32_t)reading->call.arguments[shape->count] == 0 &&
        has_timeout(reading, shape))
        return WAIT_SLEEP; /* a poll of no descriptors with a timeout is an old way to sleep */
    if ((reading->has & KERNEL_HAS_CHILD_OUTPUT) != 0)
        return WAIT_CHILD;
    if (waits_for_writer(reading, name))
        return WAIT_WRITER;
    return WAIT_OTHERS;
}

bool kernel_decode_steady(const struct kernel_times *before, const struct kernel_times *after)
{
    return before->state == after->state && before->voluntary_count == after->voluntary_count;
}

enum evidence_cpu kernel_decode_cpu(const struct kernel_times *before, const struct kernel_times *after)
{
    uint64_t window_ns = after->read_mono_ns - before->read_mono_ns;
    uint64_t cpu_ns = after->cpu_ns - before->cpu_ns;

    if (after->read_mono_ns < before->read_mono_ns + KERNEL_LOOKS_NS)
        return CPU_UNKNOWN;
    if (cpu_ns >= window_ns / 2)
        return CPU_MOST;
    if (cpu_ns >= window_ns / 20)
        return CPU_SOME;
    return kernel_decode_steady(before, after) ? CPU_HARDLY : CPU_UNKNOWN; /* unknown: it slept in between */
}

enum evidence_cpu kernel_decode_cpu_in(uint8_t call, const struct kernel_times *first, const struct kernel_times *last,
                                       const struct kernel_times *now)
{
    const enum evidence_cpu lately = kernel_decode_cpu(last, now);
    const enum evidence_cpu in_all = kernel_decode_cpu(first, now);

    return (call == RIP_CALL_INTERPRETER || call == RIP_CALL_COMPUTES) && in_all > lately ? in_all : lately;
}

/* Words ----------------------------------------------------------------------------------------------------------- */

uint64_t kernel_decode_socket(const struct kernel_reading *reading)
{
    uint64_t inode;

    if ((reading->has & KERNEL_HAS_DESCRIPTOR) == 0 || (reading->has & KERNEL_HAS_UNIX) != 0 ||
        !proc_link_inode(reading->descriptor.link, "socket", &inode))
        return 0;
    return inode;
}

/* The text about what a thread waits for, and what it is made from. */
struct target {
    const struct kernel_reading *reading;
    const char *name; /* of the system call; NULL = not known */
    const struct syscall_shape *shape;
    const struct proc_socket *socket; /* NULL = not known */
    const char *link;                 /* of the descriptor */
    const char *given;                /* the address passed to the call, used if no other peer is known; "" = none */
    char text[KERNEL_TARGET_BYTES];
};

__attribute__((format(printf, 2, 3))) static void set_text(struct target *target, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(target->text, sizeof(target->text), format, arguments);
    va_end(arguments);
}

/* Returns the word for a socket's state: "CONNECTING" during connect(), even for sockets without a state, else word. */
static const char *state_word(const struct target *target, const char *word)
{
    return target->shape->address_form == SYSCALL_ADDRESS_CONNECT && target->given[0] != '\0' ? "CONNECTING" : word;
}

static void describe_ends(struct target *target, const char *kind, const char *own, const char *peer, const char *word)
{
    set_text(target, "%s%s%s%s%s%s", kind, own, peer[0] != '\0' ? " -> " : "", peer,
             word != NULL && word[0] != '\0' ? " " : "", word != NULL ? word : "");
}

static void describe_internet(struct target *target)
{
    const struct proc_socket *socket = target->socket;
    bool is_tcp = socket->kind == PROC_SOCKET_TCP || socket->kind == PROC_SOCKET_TCP6;
    char kind[8], local[PROC_ADDRESS_TEXT_BYTES], remote[PROC_ADDRESS_TEXT_BYTES] = "";

    snprintf(kind, sizeof(kind), "%s ", proc_socket_kind_name(socket->kind));
    proc_address_format(socket->kind, &socket->local, local);
    if (socket->remote.port != 0)
        proc_address_format(socket->kind, &socket->remote, remote);
    if (socket->remote.port != 0 && is_tcp)
        target->given = ""; /* a connected stream ignores the passed address, a datagram does not */
    describe_ends(target, kind, local, target->given[0] != '\0' ? target->given : remote,
                  is_tcp ? proc_tcp_state_name(socket->state) : NULL);
}

/* "unix OWN -> PEER", each by its name or number, and the state if it is certain. */
static void describe_unix(struct target *target)
{
    static const char *const words[] = {
        [KERNEL_PEER_UNKNOWN] = "",
        [KERNEL_PEER_NONE] = "UNCONNECTED",
        [KERNEL_PEER_SOCKET] = "",
        [KERNEL_PEER_QUEUED] = "NOT_ACCEPTED",
        [KERNEL_PEER_CLOSED] = "PEER_CLOSED",
    };
    const struct kernel_unix *known = &target->reading->unix_socket;
    const char *own = known->name[0] != '\0' ? known->name : target->link, *peer = known->peer_name;
    char number[32];

    if (known->listening || (known->peer != KERNEL_PEER_NONE && known->peer != KERNEL_PEER_UNKNOWN))
        target->given = "";
    if (known->peer_inode == 0)
        peer = target->given;
    if (known->peer_inode != 0 && peer[0] == '\0') {
        snprintf(number, sizeof(number), "socket:[%" PRIu32 "]", known->peer_inode);
        peer = number;
    }
    describe_ends(target, "unix ", own, peer, known->listening ? "LISTEN" : state_word(target, words[known->peer]));
}

/* Describes the socket from its row of /proc/net/unix, which has no peer. */
static void describe_unix_row(struct target *target)
{
    const struct proc_socket *socket = target->socket;
    const char *word = proc_unix_state_name(socket);

    if (socket->listens || (word == NULL && socket->type != SOCK_DGRAM))
        target->given = ""; /* connected */
    describe_ends(target, "unix ", socket->path[0] != '\0' ? socket->path : target->link, target->given,
                  state_word(target, word));
}

static void describe_file(struct target *target)
{
    static const char anonymous[] = "anon_inode:"; /* followed by a name, mostly in brackets */
    const char *link = target->link;
    size_t length = strlen(link), skip = sizeof(anonymous) - 1;

    if (state_word(target, NULL) != NULL)
        describe_ends(target, "", link, target->given, state_word(target, NULL)); /* a socket in no table */
    else if (strncmp(link, anonymous, skip) == 0 && link[skip] == '[' && link[length - 1] == ']')
        set_text(target, "%.*s", (int)(length - skip - 2), link + skip + 1);
    else if (strncmp(link, anonymous, skip) == 0 && link[skip] != '\0' && link[skip] != '[')
        set_text(target, "%s", link + skip);
    else
        set_text(target, "%s%s", link, target->reading->descriptor.link_cut ? "..." : "");
}

static void describe_descriptor(struct target *target)
{
    if ((target->reading->has & KERNEL_HAS_UNIX) != 0)
        describe_unix(target);
    else if (target->socket != NULL && target->socket->kind == PROC_SOCKET_UNIX)
        describe_unix_row(target);
    else if (target->socket != NULL)
        describe_internet(target);
    else
        describe_file(target);
}

/* If there are two paths, the existing one comes first. */
static void describe_paths(struct target *target)
{
    const struct proc_name *first = &target->reading->names[0], *second = &target->reading->names[1];
    bool two = first->text[0] != '\0' && second->text[0] != '\0';

    if ((target->reading->has & KERNEL_HAS_NAMES) != 0)
        set_text(target, "%s%s%s%s%s", first->text, first->cut ? "..." : "", two ? " -> " : "", second->text,
                 second->cut ? "..." : "");
}

static void describe_futex(struct target *target)
{
    uint64_t operation = target->reading->call.arguments[1];
    const char *name = syscall_futex_name(operation);

    if (name != NULL)
        set_text(target, "futex %s %s", name, operation & FUTEX_PRIVATE ? "private" : "shared");
}

static void describe_child(struct target *target)
{
    const uint64_t *arguments = target->reading->call.arguments;
    bool is_wait4 = strcmp(target->name, "wait4") == 0;
    int32_t child = is_wait4 ? (int32_t)arguments[0] : (int32_t)arguments[1];

    if (!is_wait4 && arguments[0] != P_PID)
        set_text(target, "a child");
    else if (child > 0)
        set_text(target, "child %" PRId32, child);
    else
        set_text(target, "any child");
}

static void describe_polled(struct target *target)
{
    uint32_t count = (uint32_t)target->reading->call.arguments[target->shape->count];

    if (strstr(target->name, "select") != NULL && count != 0)
        set_text(target, "descriptors below %" PRIu32, count);
    else
        set_text(target, "%" PRIu32 " descriptor%s", count, count == 1 ? "" : "s");
}

static void describe_target(struct target *target)
{
    const struct kernel_reading *reading = target->reading;
    const enum syscall_topic topic = target->shape->topic;

    switch (topic) {
    case SYSCALL_TOPIC_DESCRIPTOR:
    case SYSCALL_TOPIC_POLL: /* a single polled descriptor is described if it is known */
    case SYSCALL_TOPIC_PATH:
        if ((reading->has & KERNEL_HAS_DESCRIPTOR) != 0)
            describe_descriptor(target);
        else if (topic == SYSCALL_TOPIC_POLL)
            describe_polled(target);
        else if (topic == SYSCALL_TOPIC_PATH)
            describe_paths(target);
        break;
    case SYSCALL_TOPIC_FUTEX:
        describe_futex(target);
        break;
    case SYSCALL_TOPIC_MESSAGES:
        set_text(target, "message queue %" PRId32, (int32_t)reading->call.arguments[0]);
        break;
    case SYSCALL_TOPIC_SEMAPHORES:
        set_text(target, "semaphore set %" PRId32, (int32_t)reading->call.arguments[0]);
        break;
    case SYSCALL_TOPIC_CHILD:
        describe_child(target);
        break;
    case SYSCALL_TOPIC_SIGNAL:
        set_text(target, "a signal");
        break;
    case SYSCALL_TOPIC_OTHER:
    case SYSCALL_TOPIC_SLEEP:
    case SYSCALL_TOPIC_RESTART:
    case SYSCALL_TOPIC_VFORK:
        break;
    }
}

/* Facts ----------------------------------------------------------------------------------------------------------- */

static uint64_t asked_ns_of(const struct kernel_reading *reading, const struct syscall_shape *shape)
{
    if ((reading->has & KERNEL_HAS_TIMEOUT) != 0)
        return reading->timeout_ns;
    if (shape->timeout_form == SYSCALL_TIMEOUT_MS && has_timeout(reading, shape))
        return (uint64_t)(uint32_t)reading->call.arguments[shape->timeout] * MS_NS;
    return KERNEL_UNKNOWN;
}

struct kernel_facts *kernel_decode(const struct kernel_reading *reading, const struct proc_socket *socket)
{
    struct target target = {.reading = reading, .socket = socket, .link = reading->descriptor.link};
    const struct syscall_shape *shape = shape_of(reading, &target.name);
    struct kernel_facts *facts;

    target.shape = shape;
    target.given = (reading->has & KERNEL_HAS_NAMES) != 0 ? reading->names[0].text : "";
    describe_target(&target);
    facts = kernel_facts_new(target.text);
    if (facts == NULL)
        return NULL;
    facts->state = reading->times.state;
    facts->syscall = target.name;
    if (shape->topic == SYSCALL_TOPIC_DESCRIPTOR)
        facts->descriptor = (int32_t)reading->call.arguments[0];
    else if ((reading->has & KERNEL_HAS_DESCRIPTOR) != 0)
        facts->descriptor = reading->descriptor_number;
    facts->asked_ns = asked_ns_of(reading, shape);
    facts->denied = reading->denied;
    facts->holder_pid = reading->holder.pid;
    memcpy(facts->holder_comm, reading->holder.comm, sizeof(facts->holder_comm));
    if ((reading->has & KERNEL_HAS_WCHAN) != 0)
        memcpy(facts->wchan, reading->wchan, sizeof(facts->wchan));
    return facts;
}

void kernel_decode_window(struct kernel_facts *facts, const struct kernel_times *first, const struct kernel_times *last)
{
    uint64_t user = last->user_ticks - first->user_ticks, system = last->system_ticks - first->system_ticks;

    if (last->read_mono_ns < first->read_mono_ns + KERNEL_LOOKS_NS)
        return;
    facts->window_ns = last->read_mono_ns - first->read_mono_ns;
    facts->cpu_ns = last->cpu_ns - first->cpu_ns;
    facts->wait_ns = last->wait_ns - first->wait_ns;
    facts->voluntary = last->voluntary_count - first->voluntary_count;
    facts->involuntary = last->involuntary_count - first->involuntary_count;
    facts->mode = user > system ? KERNEL_MODE_USER : system > user ? KERNEL_MODE_SYSTEM : KERNEL_MODE_UNKNOWN;
}
