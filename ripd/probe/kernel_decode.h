/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_decode.h - a reading as what is shown, and as evidence. Touches nothing but its arguments.
 */
#ifndef RIPD_PROBE_KERNEL_DECODE_H
#define RIPD_PROBE_KERNEL_DECODE_H

#include "cases/cause.h"
#include "cases/kernel.h"
#include "os/proc_net.h"
#include "probe/kernel.h"

/* Two looks at a thread that are closer than this say nothing of its CPU time: it moves with the clock tick. */
#define KERNEL_LOOKS_NS UINT64_C(12000000)

/* What the thread waits for; fills evidence->wait. */
enum evidence_wait kernel_decode_wait(const struct kernel_reading *reading);

/* Whether it has neither gone to sleep nor been woken between two looks. */
bool kernel_decode_steady(const struct kernel_times *before, const struct kernel_times *after);

/* How much of the time between two looks it was on a processor. */
enum evidence_cpu kernel_decode_cpu(const struct kernel_times *before, const struct kernel_times *after);
/*
 * The same since the last look, of a thread that announces that call. One that an interpreter lets run in turn with
 * others may have had none since then: of it since the first look, if that is more.
 */
enum evidence_cpu kernel_decode_cpu_in(uint8_t call, const struct kernel_times *first, const struct kernel_times *last,
                                       const struct kernel_times *now);

/* The inode of the socket that it waits for; 0: it is no socket, or not known. */
uint64_t kernel_decode_socket(const struct kernel_reading *reading);

/*
 * The facts of a reading; socket: what kernel_decode_socket() was found to be, NULL = not known. Deltas are filled in
 * by kernel_decode_window(). One reference; NULL: no memory.
 */
struct kernel_facts *kernel_decode(const struct kernel_reading *reading, const struct proc_socket *socket);

/* Fills in what happened since the first look; facts that nobody else has yet. */
void kernel_decode_window(struct kernel_facts *facts, const struct kernel_times *first,
                          const struct kernel_times *last);

#endif
