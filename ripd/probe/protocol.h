/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol.h - messages between ripd and ripd-probe, one per packet (os/packet.h). Both are from one build, so structs
 * are sent as they are. Neither side uses a number that it has not checked.
 *
 * ripd-probe is a keeper and its children: a worker, which reads /proc, and a fetcher, which opens programs. The keeper
 * holds the privileges and SPAWN_SOCKET. When ripd sends it the child's end of a socket pair, it forks a child, and
 * kills the previous child of that kind.
 *
 *   ripd                    keeper           ripd                              worker
 *   PROBE_DIAG [socket]  ->                  PROBE_QUERY record tids [ring] ->
 *   PROBE_WORKER [end]   ->                                                 <- PROBE_ANSWER status, readings
 *   PROBE_FETCHER [end]  ->                  ripd                              fetcher
 *                                            PROBE_FETCH module [ring]      ->
 *                                                                           <- PROBE_FETCHED status [file]
 *
 * PROBE_DIAG is the first message or is not sent. It carries a netlink socket, over which workers query unix sockets.
 *
 * Every query has one answer, in order. A query contains no pid and no path. The kernel identifies the process by the
 * ring's file that comes with the query (child/attest.h), and the ring contains the paths of the modules.
 */
#ifndef RIPD_PROBE_PROTOCOL_H
#define RIPD_PROBE_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/kernel.h"
#include "rip/ring.h"

#define PROBE_BATCH_MAX 32u                 /* threads in a query */
#define PROBE_QUERY_NS UINT64_C(2000000000) /* a child that takes longer for a query is stuck, and ends */
/* Parts of PROBE_QUERY_NS: upper limits of what a worker does for one query. */
#define PROBE_READING_NS UINT64_C(50000000) /* reading threads; later ones get the status -EAGAIN */
#define PROBE_PEERS_NS UINT64_C(5000000)    /* querying unix sockets */
#define PROBE_SEARCH_NS UINT64_C(50000000)  /* searching for holders of other ends */

enum probe_kind {
    PROBE_DIAG = 1, /* a message to the keeper is one of the first three, as a uint32_t */
    PROBE_WORKER,
    PROBE_FETCHER,
    PROBE_QUERY,
    PROBE_ANSWER,
    PROBE_FETCH,
    PROBE_FETCHED
};

struct probe_query {
    uint32_t kind;
    uint32_t count; /* of tids: 1 to PROBE_BATCH_MAX */
    uint64_t number;
    uint32_t process; /* index of its record in the ring */
    uint32_t reserved_20;
    uint64_t address;               /* of code, where an id of the process stands: find its module; 0 = none */
    uint32_t tids[PROBE_BATCH_MAX]; /* in ripd's pid namespace; the rest is 0 */
};

struct probe_thread {
    int32_t status; /* 0 or the -errno of kernel_read(); -EAGAIN: no time */
    uint32_t tid;
    struct kernel_reading reading; /* zero unless status is 0 */
};

/* The object mapped at an address, with the path as the process sees it. */
struct probe_module {
    uint64_t start;
    uint64_t end;                         /* 0 = no module is mapped there, or the query has no address */
    char path[RIP_MODULE_PATH_BYTES + 8]; /* the last bytes of a longer path */
};

struct probe_answer {
    uint32_t kind;
    /* 0; -ESRCH: the kernel knows no process that the record can belong to; -EACCES: the process is closed to its own
       user; -EINVAL: the file is not a valid ring; another -errno */
    int32_t status;
    uint64_t number;
    uint32_t count; /* of threads: that of the query, or 0 */
    uint32_t pid;   /* of the process */
    struct probe_module module;
    struct probe_thread threads[PROBE_BATCH_MAX]; /* only the first count are sent */
};

struct probe_fetch {
    uint32_t kind;
    uint32_t exact; /* 1: only a file that is certainly the mapped one; 0: the caller compares its build id */
    uint64_t number;
    uint64_t start;   /* start address of a module that the record names */
    uint32_t process; /* index of its record in the ring */
    uint32_t reserved_28;
};

struct probe_fetched {
    uint32_t kind;
    int32_t status; /* 0: the file is attached; else as in struct probe_answer, or the -errno of module_file_open() */
    uint64_t number;
};

/* Returns the size of an answer about count threads. */
size_t probe_answer_bytes(uint32_t count);

/* Whether bytes are a query with all fields in bounds. Pure. */
bool probe_query_is_sound(const struct probe_query *query, size_t bytes);

/*
 * Whether bytes are a complete answer to that query, with numbers in bounds and terminated texts. The worker reads data
 * of hostile processes, so its answers are checked too. Pure.
 */
bool probe_answer_is_sound(const struct probe_answer *answer, size_t bytes, const struct probe_query *query);

/* The same for queries to the fetcher and their answers. */
bool probe_fetch_is_sound(const struct probe_fetch *fetch, size_t bytes);
bool probe_fetched_is_sound(const struct probe_fetched *fetched, size_t bytes, const struct probe_fetch *fetch);

#endif
