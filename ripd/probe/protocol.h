/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol.h - messages between ripd and ripd-probe, one a packet (os/packet.h). Both are of one build, so structs
 * cross as they are; neither believes a number it has not checked.
 *
 * ripd-probe is a keeper and its children: a worker, which reads /proc, and a fetcher, which opens programs. The keeper
 * holds the privileges and SPAWN_SOCKET, and forks a child when ripd sends it the child's end of a pair of sockets; the
 * last child of that kind is killed.
 *
 *   ripd                    keeper           ripd                              worker
 *   PROBE_DIAG [socket]  ->                  PROBE_QUERY record tids [ring] ->
 *   PROBE_WORKER [end]   ->                                                 <- PROBE_ANSWER status, readings
 *   PROBE_FETCHER [end]  ->                  ripd                              fetcher
 *                                            PROBE_FETCH module [ring]      ->
 *                                                                           <- PROBE_FETCHED status [file]
 *
 * PROBE_DIAG comes first of all, or never: a netlink socket, over which workers query unix sockets.
 *
 * Every query has one answer, in order. A query names no pid, and no path: which process it is about, the kernel says,
 * of the file that comes with it (child/attest.h), and what its modules are called, that file.
 */
#ifndef RIPD_PROBE_PROTOCOL_H
#define RIPD_PROBE_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/kernel.h"
#include "rip/ring.h"

#define PROBE_BATCH_MAX 32u                 /* threads in a query */
#define PROBE_QUERY_NS UINT64_C(2000000000) /* a child that takes longer for one is stuck, and ends */
#define PROBE_READING_NS UINT64_C(50000000) /* of which a worker reads no longer; further threads are -EAGAIN */
#define PROBE_PEERS_NS UINT64_C(5000000)    /* of which it queries unix sockets */
#define PROBE_SEARCH_NS UINT64_C(50000000)  /* of which it searches for who holds other ends */

enum probe_kind {
    PROBE_DIAG = 1, /* these three are all there is in a message to the keeper: a uint32_t */
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
    uint64_t address;               /* of code, where an id of the process stands: its module is wanted; 0 = none */
    uint32_t tids[PROBE_BATCH_MAX]; /* in our pid namespace; the rest is 0 */
};

struct probe_thread {
    int32_t status; /* 0, or as kernel_read() says */
    uint32_t tid;
    struct kernel_reading reading; /* if status is 0, else 0 */
};

/* What is mapped at an address: of the map, names as the process has them. */
struct probe_module {
    uint64_t start;
    uint64_t end;                         /* 0 = no module is there, or none was asked for */
    char path[RIP_MODULE_PATH_BYTES + 8]; /* the last bytes of one that is longer */
};

struct probe_answer {
    uint32_t kind;
    /* 0; -ESRCH: the kernel names no process that the record could be of; -EACCES: one that keeps its secrets from its
       own user; -EINVAL: the file is no ring of ours; another -errno */
    int32_t status;
    uint64_t number;
    uint32_t count; /* of threads: that of the query, or 0 */
    uint32_t pid;   /* the process */
    struct probe_module module;
    struct probe_thread threads[PROBE_BATCH_MAX]; /* count of them cross */
};

struct probe_fetch {
    uint32_t kind;
    uint32_t exact; /* 1: only the very file that is mapped; 0: the caller compares its build id */
    uint64_t number;
    uint64_t start;   /* of a module that the record names */
    uint32_t process; /* index of its record in the ring */
    uint32_t reserved_28;
};

struct probe_fetched {
    uint32_t kind;
    int32_t status; /* 0: the file comes along; as struct probe_answer has it; or as module_file_open() says */
    uint64_t number;
};

/* Bytes of an answer about count threads. */
size_t probe_answer_bytes(uint32_t count);

/* Whether bytes are a query, and all of it in bounds. Pure. */
bool probe_query_is_sound(const struct probe_query *query, size_t bytes);

/*
 * Whether bytes are an answer to that query: whole, its numbers in bounds, its texts terminated. Pure: the worker
 * reads names and open files of hostile processes, and is not believed either.
 */
bool probe_answer_is_sound(const struct probe_answer *answer, size_t bytes, const struct probe_query *query);

/* The same for files. */
bool probe_fetch_is_sound(const struct probe_fetch *fetch, size_t bytes);
bool probe_fetched_is_sound(const struct probe_fetched *fetched, size_t bytes, const struct probe_fetch *fetch);

#endif
