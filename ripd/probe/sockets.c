/* SPDX-License-Identifier: Apache-2.0 */
/* sockets.c - one sorted array per network namespace. Touches PID/net and PID/ns/net. See sockets.h. */
#include "probe/sockets.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "os/clock.h"
#include "util/array.h"
#include "util/search.h"

enum { ROWS_PER_CLOCK = 64, USERS = 1024 };

struct socket_space {
    uint64_t key;
    struct proc_socket *sockets; /* by inode */
    size_t count;
    size_t capacity;
    struct proc_socket_table *table; /* being read; NULL = none */
    int tables_read;
    unsigned row_count;        /* rows read in this call of continue_reading() */
    uint64_t deadline_mono_ns; /* of this call of continue_reading() */
    unsigned unwanted_count;   /* passes without a lookup */
    bool wanted;               /* looked up in this pass */
    bool cut;                  /* reading stopped at the deadline: not continued in this pass */
    bool left_out;             /* sockets of the table being read were left out */
    uint32_t held[USERS];      /* sockets per user, by uid modulo USERS */
};

/*
 * Tables with addresses come first, udp before tcp: for tcp the kernel walks its whole hash table, which takes 10 ms.
 * The table with names is last, see find_row().
 */
static const enum proc_socket_kind table_order[PROC_SOCKET_KIND_COUNT] = {
    PROC_SOCKET_UDP, PROC_SOCKET_UDP6, PROC_SOCKET_TCP, PROC_SOCKET_TCP6, PROC_SOCKET_UNIX};

struct sockets {
    struct socket_space spaces[SOCKET_SPACES_MAX];
    size_t count;
    uint64_t cut_count;
};

struct sockets *sockets_new(void)
{
    return calloc(1, sizeof(struct sockets));
}

static bool is_complete(const struct socket_space *space)
{
    return space->tables_read == PROC_SOCKET_KIND_COUNT;
}

static void space_done(struct socket_space *space)
{
    proc_socket_table_close(space->table);
    free(space->sockets);
}

void sockets_end_pass(struct sockets *sockets)
{
    size_t kept = 0;

    for (size_t i = 0; i < sockets->count; i++) {
        struct socket_space *space = &sockets->spaces[i];

        space->unwanted_count = space->wanted ? 0 : space->unwanted_count + 1;
        if (space->unwanted_count > SOCKETS_PATIENCE || is_complete(space)) {
            space_done(space);
            continue;
        }
        space->wanted = space->cut = false;
        sockets->spaces[kept++] = *space;
    }
    sockets->count = kept;
}

void sockets_free(struct sockets *sockets)
{
    if (sockets == NULL)
        return;
    for (size_t i = 0; i < sockets->count; i++)
        space_done(&sockets->spaces[i]);
    free(sockets);
}

uint64_t sockets_cut_count(const struct sockets *sockets)
{
    return sockets->cut_count;
}

static int keep_socket(void *context, const struct proc_socket *socket)
{
    struct socket_space *space = context;

    if (socket->inode != 0) { /* 0: nobody has it open */
        uint32_t *held = &space->held[socket->uid % USERS];

        if (space->count >= SOCKETS_MAX)
            return -EFBIG;
        if (socket->kind != PROC_SOCKET_UNIX && *held > SOCKETS_MAX - space->count) {
            space->left_out = true;
        } else {
            if (!ARRAY_GROW(space->sockets, space->count, space->capacity))
                return -ENOMEM;
            space->sockets[space->count++] = *socket;
            ++*held;
        }
    }
    return ++space->row_count % ROWS_PER_CLOCK == 0 && clock_mono_ns() >= space->deadline_mono_ns ? -ETIME : 0;
}

static int compare_sockets(const void *left, const void *right)
{
    const struct proc_socket *a = left, *b = right;

    return search_order(a->inode, b->inode);
}

static void end_table(struct socket_space *space)
{
    proc_socket_table_close(space->table);
    space->table = NULL;
    space->tables_read++;
}

static bool is_reading_names(const struct socket_space *space)
{
    return !is_complete(space) && table_order[space->tables_read] == PROC_SOCKET_UNIX;
}

static void drop_names(struct socket_space *space)
{
    size_t kept = 0;

    for (size_t i = 0; i < space->count; i++)
        if (space->sockets[i].kind != PROC_SOCKET_UNIX)
            space->sockets[kept++] = space->sockets[i];
    space->count = kept;
}

/* Reads the rest of the current table, or the next table. Reads some rows even if the deadline has passed. */
static void continue_reading(struct sockets *sockets, struct socket_space *space, int proc, uint32_t pid,
                             uint64_t deadline_mono_ns)
{
    int result = 0;

    space->deadline_mono_ns = deadline_mono_ns;
    space->row_count = 0;
    if (space->table == NULL)
        result = proc_socket_table_open(proc, pid, table_order[space->tables_read], &space->table);
    if (result == 0)
        result = proc_socket_table_visit(space->table, keep_socket, space);
    if (space->count > 1)
        qsort(space->sockets, space->count, sizeof(*space->sockets), compare_sockets);
    if (is_reading_names(space) && result != 0 && result != -ETIME)
        drop_names(space);
    else if (result == -EFBIG || result == -ENOMEM)
        space->tables_read = PROC_SOCKET_KIND_COUNT - 1; /* there is no room for further tables either */
    if (result != -ETIME)
        end_table(space);
    space->cut = !is_complete(space) && clock_mono_ns() >= deadline_mono_ns;
    sockets->cut_count += space->cut || space->left_out || result == -EFBIG || result == -ENOMEM;
    space->left_out = false;
}

/* Returns the namespace of a process, or NULL if there are too many. */
static struct socket_space *find_space(struct sockets *sockets, int proc, uint32_t pid)
{
    uint64_t key;

    if (proc_network_namespace(proc, pid, &key) != 0)
        key = UINT64_C(1) << 32 | pid; /* unknown: a key of its own, unlike any namespace inode, which has 32 bits */
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

/*
 * Returns the row of that inode that is believed, or NULL if there is none. The name of a unix socket may contain line
 * feeds and so imitate rows of other sockets, even of another kind. So a row with an address takes precedence over rows
 * with a name. A row with a name is believed only if it is the only one, which is known once the whole table was read.
 */
static const struct proc_socket *find_row(const struct socket_space *space, uint64_t inode)
{
    const struct proc_socket wanted = {.inode = inode}, *found = NULL, *end = space->sockets + space->count;
    const struct proc_socket *first;

    if (space->count != 0)
        found = bsearch(&wanted, space->sockets, space->count, sizeof(wanted), compare_sockets);
    if (found == NULL)
        return NULL;
    while (found != space->sockets && found[-1].inode == inode)
        found--;
    for (first = found; found != end && found->inode == inode; found++)
        if (found->kind != PROC_SOCKET_UNIX)
            return found;
    return found - first == 1 && is_complete(space) ? first : NULL;
}

int sockets_find(struct sockets *sockets, int proc, uint32_t pid, uint64_t inode, uint64_t deadline_mono_ns,
                 const struct proc_socket **ret_socket)
{
    struct socket_space *space = find_space(sockets, proc, pid);

    if (space == NULL || inode == 0)
        return -ENOENT;
    space->wanted = true;
    for (;;) {
        const struct proc_socket *found = find_row(space, inode);

        if (found != NULL) {
            *ret_socket = found;
            return 0;
        }
        if (is_complete(space))
            return -ENOENT;
        if (space->cut)
            return -EAGAIN;
        continue_reading(sockets, space, proc, pid, deadline_mono_ns);
    }
}
