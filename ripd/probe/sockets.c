/* SPDX-License-Identifier: Apache-2.0 */
/* sockets.c - one sorted array for each namespace. Touches PID/net and PID/ns/net. See sockets.h. */
#include "probe/sockets.h"

#include <errno.h>
#include <stdlib.h>

#include "core/array.h"
#include "os/clock.h"

enum { SOCKETS_PER_CLOCK = 64 };

struct socket_space {
    uint64_t key;
    struct proc_socket *sockets; /* by inode */
    size_t count;
    size_t capacity;
    uint64_t deadline_mono_ns; /* while it is read */
    int tables_read;
};

/* The cheap ones first: for tcp the kernel walks a table of all that there could be, which takes ten milliseconds. */
static const enum proc_socket_kind table_order[PROC_SOCKET_KIND_COUNT] = {
    PROC_SOCKET_UNIX, PROC_SOCKET_UDP, PROC_SOCKET_UDP6, PROC_SOCKET_TCP, PROC_SOCKET_TCP6};

struct sockets {
    struct socket_space spaces[SOCKET_SPACES_MAX];
    size_t count;
    uint64_t cut_count;
};

struct sockets *sockets_new(void)
{
    return calloc(1, sizeof(struct sockets));
}

void sockets_forget(struct sockets *sockets)
{
    for (size_t i = 0; i < sockets->count; i++)
        free(sockets->spaces[i].sockets);
    sockets->count = 0;
}

void sockets_free(struct sockets *sockets)
{
    if (sockets == NULL)
        return;
    sockets_forget(sockets);
    free(sockets);
}

uint64_t sockets_cut_count(const struct sockets *sockets)
{
    return sockets->cut_count;
}

static int keep_socket(void *context, const struct proc_socket *socket)
{
    struct socket_space *space = context;
    struct proc_socket *longer;

    if (space->count >= SOCKETS_MAX ||
        (space->count % SOCKETS_PER_CLOCK == 0 && clock_mono_ns() >= space->deadline_mono_ns))
        return -ETIME;
    longer = array_reserve(space->sockets, &space->capacity, space->count + 1, sizeof(*longer));
    if (longer == NULL)
        return -ENOMEM;
    space->sockets = longer;
    space->sockets[space->count++] = *socket;
    return 0;
}

static int compare_sockets(const void *left, const void *right)
{
    const struct proc_socket *a = left, *b = right;

    return (a->inode > b->inode) - (a->inode < b->inode);
}

/* Reads one more table of a namespace. */
static void read_table(struct sockets *sockets, struct socket_space *space, int proc, uint32_t pid,
                       uint64_t deadline_mono_ns)
{
    int result;

    space->deadline_mono_ns = deadline_mono_ns;
    result = proc_visit_sockets(proc, pid, table_order[space->tables_read++], keep_socket, space);
    sockets->cut_count += result == -ETIME || result == -ENOMEM;
    if (space->count > 1)
        qsort(space->sockets, space->count, sizeof(*space->sockets), compare_sockets);
}

/* NULL: there are too many. */
static struct socket_space *space_of(struct sockets *sockets, int proc, uint32_t pid)
{
    uint64_t key;

    if (proc_network_namespace(proc, pid, &key) != 0)
        key = UINT64_C(1) << 32 | pid; /* inodes of namespaces have 32 bits: its own, as far as we are told */
    for (size_t i = 0; i < sockets->count; i++)
        if (sockets->spaces[i].key == key)
            return &sockets->spaces[i];
    if (sockets->count >= SOCKET_SPACES_MAX) {
        sockets->cut_count++;
        return NULL;
    }
    sockets->spaces[sockets->count] = (struct socket_space){.key = key};
    return &sockets->spaces[sockets->count++];
}

/* Whether it is there twice: the name of a unix socket may have line feeds in it, and pretend to be another's row. */
static bool is_ambiguous(const struct socket_space *space, const struct proc_socket *found)
{
    size_t at = (size_t)(found - space->sockets);

    return (at != 0 && found[-1].inode == found->inode) || (at + 1 < space->count && found[1].inode == found->inode);
}

int sockets_find(struct sockets *sockets, int proc, uint32_t pid, uint64_t inode, uint64_t deadline_mono_ns,
                 const struct proc_socket **ret_socket)
{
    struct socket_space *space = space_of(sockets, proc, pid);
    const struct proc_socket wanted = {.inode = inode};

    if (space == NULL || inode == 0)
        return -ENOENT;
    for (;;) {
        const struct proc_socket *found = NULL;

        if (space->count != 0)
            found = bsearch(&wanted, space->sockets, space->count, sizeof(wanted), compare_sockets);
        if (found != NULL) {
            if (is_ambiguous(space, found))
                return -ENOENT;
            *ret_socket = found;
            return 0;
        }
        if (space->tables_read == PROC_SOCKET_KIND_COUNT)
            return -ENOENT;
        read_table(sockets, space, proc, pid, deadline_mono_ns);
    }
}
