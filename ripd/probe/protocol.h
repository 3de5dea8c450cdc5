/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol.h - what ripd and ripd-probe say to each other, a message a packet (os/packet.h). Both are of one build, so
 * structs cross as they are; neither believes a number it has not checked.
 *
 * ripd-probe is two processes. The keeper holds HELPER_DESCRIPTOR and does nothing but keep a worker: it makes a pair
 * of sockets for each, and sends ripd its end. The worker reads /proc.
 *
 *   ripd              keeper                         ripd                          worker
 *                  <- PROBE_LINK [socket]            PROBE_ASK ring tids [ring] ->
 *   PROBE_REPLACE  ->                                                           <- PROBE_TOLD status, readings
 *   PROBE_DIAG [netlink socket] -> first of all, or never: over which workers ask about unix sockets
 *
 * Every question has one answer, in order. A question names no pid: which process is asked about, the kernel says, of
 * the file that comes with it (child/attest.h).
 */
#ifndef RIPD_PROBE_PROTOCOL_H
#define RIPD_PROBE_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/kernel.h"

#define PROBE_BATCH_MAX 32u                    /* threads in a question */
#define PROBE_QUESTION_NS UINT64_C(2000000000) /* a worker that takes longer for one is stuck, and ends */
#define PROBE_READING_NS UINT64_C(50000000)    /* of which it reads no longer; threads beyond are told as -EAGAIN */
#define PROBE_PEERS_NS UINT64_C(5000000)       /* of which it asks about unix sockets */
#define PROBE_SEARCH_NS UINT64_C(10000000)     /* of which it searches for who holds other ends */

enum probe_kind { PROBE_LINK = 1, PROBE_REPLACE, PROBE_ASK, PROBE_TOLD, PROBE_DIAG };

struct probe_link {
    uint32_t kind; /* PROBE_LINK, PROBE_REPLACE, PROBE_DIAG */
};

struct probe_ask {
    uint32_t kind;
    uint32_t count; /* of tids: 1 to PROBE_BATCH_MAX */
    uint64_t number;
    uint32_t process; /* index of its record in the ring */
    uint32_t reserved_20;
    uint32_t tids[PROBE_BATCH_MAX]; /* in our pid namespace; the rest is 0 */
};

struct probe_thread {
    int32_t status; /* 0, or as kernel_read() says */
    uint32_t tid;
    struct kernel_reading reading; /* if status is 0, else 0 */
};

struct probe_told {
    uint32_t kind;
    /* 0; -ESRCH: the kernel names no process that the record could be of; -EACCES: one that keeps its secrets from its
       own user; -EINVAL: the file is no ring of ours; another -errno */
    int32_t status;
    uint64_t number;
    uint32_t count;                               /* of threads: that of the question, or 0 */
    uint32_t pid;                                 /* the process */
    struct probe_thread threads[PROBE_BATCH_MAX]; /* count of them cross */
};

/* Bytes of an answer about count threads. */
size_t probe_told_bytes(uint32_t count);

/* Whether bytes are a question, and all of it in bounds. Pure. */
bool probe_ask_is_sound(const struct probe_ask *ask, size_t bytes);

/*
 * Whether bytes are an answer to that question: whole, its numbers in bounds, its texts terminated. Pure: the worker
 * reads what anybody's processes are called and have open, and is not believed either.
 */
bool probe_told_is_sound(const struct probe_told *told, size_t bytes, const struct probe_ask *ask);

#endif
