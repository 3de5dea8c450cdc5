/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_decode.h - converts a reading into facts for display and into evidence. Pure.
 */
#ifndef RIPD_PROBE_KERNEL_DECODE_H
#define RIPD_PROBE_KERNEL_DECODE_H

#include "cases/cause.h"
#include "cases/kernel.h"
#include "os/proc_net.h"
#include "probe/kernel.h"

/* Two looks that are closer than this say nothing about CPU time, which advances with the clock tick. */
#define KERNEL_LOOKS_NS UINT64_C(12000000)

/* Returns what the thread waits for, for evidence->wait. */
enum evidence_wait kernel_decode_wait(const struct kernel_reading *reading);

/* Whether the thread has neither gone to sleep nor been woken between two looks. */
bool kernel_decode_steady(const struct kernel_times *before, const struct kernel_times *after);

/* Returns how much of the time between two looks the thread was on a processor. */
enum evidence_cpu kernel_decode_cpu(const struct kernel_times *before, const struct kernel_times *after);

/*
 * The same since the last look, for a thread that has announced call. A thread that takes turns with others in an
 * interpreter (RIP_CALL_INTERPRETER, RIP_CALL_COMPUTES) may have had no turn since the last look. So for such a thread
 * the CPU time since the first look is returned if that is more.
 */
enum evidence_cpu kernel_decode_cpu_in(uint8_t call, const struct kernel_times *first, const struct kernel_times *last,
                                       const struct kernel_times *now);

/* Returns the inode of the socket that the thread waits for, or 0 if it is no socket or the socket is known already. */
uint64_t kernel_decode_socket(const struct kernel_reading *reading);

/*
 * Returns the facts of a reading, with one reference, or NULL if out of memory. socket: the socket that
 * kernel_decode_socket() returned the inode of; NULL = not known. kernel_decode_window() adds the deltas.
 */
struct kernel_facts *kernel_decode(const struct kernel_reading *reading, const struct proc_socket *socket);

/* Fills in the deltas since the first look. No other reference to facts may exist yet. */
void kernel_decode_window(struct kernel_facts *facts, const struct kernel_times *first,
                          const struct kernel_times *last);

#endif
