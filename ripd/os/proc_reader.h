/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_reader.h - reads of /proc that may block indefinitely. The kernel takes some files of /proc from the memory of
 * the process, and waits for any thread that is changing its mappings, even one that hangs on a dead file system. Other
 * files block while the process executes a program, and a process can prolong that indefinitely.
 *
 * Guarantees
 *   A. Once a read has begun, the caller waits for at most 1.25 * PROC_READER_WAIT_NS while the reading thread is
 *      blocked. Then the read goes on without the caller. Time in which the thread runs or waits for a processor does
 *      not count.
 *   B. At most one read of each user goes on like that; further reads of that user are refused at once. At most
 *      PROC_READERS_MAX reads go on like that.
 *   C. If a read was blocked for PROC_READER_SLOW_NS or more, its user is refused for PROC_READER_REST times as long,
 *      so that no user slows down the caller by much. Time without a processor does not count.
 */
#ifndef RIPD_OS_PROC_READER_H
#define RIPD_OS_PROC_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_READER_WAIT_NS UINT64_C(20000000)
#define PROC_READER_BYTES 4352u /* the largest result of a read */
#define PROC_READERS_MAX 8u
#define PROC_READER_SLOW_NS UINT64_C(2000000)
#define PROC_READER_REST 50u

struct proc_reader;

/* Returns the user of a process. Called on the caller's thread, and only if some read was slow. */
typedef uint32_t proc_reader_user(void *context, uint32_t pid);

/* Reads something about a process, or about an address in it. Returns 0 or -errno. Called on a thread of the reader. */
typedef int proc_reader_read(int proc, uint32_t pid, uint64_t address, void *ret_bytes);

/*
 * Returns NULL if out of memory. Takes ownership of proc on success. The caller may use proc until proc_reader_free();
 * it is closed after that, when the last read has returned.
 */
struct proc_reader *proc_reader_new(int proc, proc_reader_user *user_of, void *context);
void proc_reader_free(struct proc_reader *reader); /* does not block; NULL is allowed */

/*
 * Runs the read on another thread and returns what it returns. size: of its result, at most PROC_READER_BYTES. Returns
 * -EAGAIN if it does not return in time or its user is refused: retry later. The reader is the last one that the
 * calling thread has made and not freed. A thread without a reader runs the read itself, for example in a process that
 * may be killed.
 */
int proc_reader_ask(int proc, proc_reader_read *read, uint32_t pid, uint64_t address, void *ret_bytes, size_t size);

/*
 * Whether the machine is so busy that handing over a read takes too long: both the thread and then the caller must wait
 * for a processor. Then the caller should read by itself if it has reason to believe that the read returns. Returns
 * false if the process's user is refused or the calling thread has no reader.
 */
#define PROC_READER_BUSY_NS UINT64_C(1000000)
#define PROC_READER_BUSY_FOR_NS UINT64_C(1000000000)
bool proc_reader_is_busy(uint32_t pid);

#endif
