/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_reader.h - reads of another process that may not return: the kernel takes some files of /proc from the process's
 * memory, or from the map of it, and waits for who changes that, a thread that hangs on a dead file system among them.
 * Others it lets nobody read while the process executes a program, and a process can make that last as long as it
 * likes.
 *
 * Guarantees
 *   A. Once a read has begun, nobody waits for longer than PROC_READER_WAIT_NS and a quarter, unless it has or wants a
 *      processor: it goes on without him. On a busy machine it is the processor that one waits for, not the process.
 *   B. Of one user at most one read goes on so: another one of his is refused at once. Of PROC_READERS_MAX users.
 *   C. A user on whose process one waited for PROC_READER_SLOW_NS or more is refused for PROC_READER_REST times as long
 *      as that, so that he slows down the caller by little. Time without a processor does not count.
 */
#ifndef RIPD_OS_PROC_READER_H
#define RIPD_OS_PROC_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_READER_WAIT_NS UINT64_C(20000000)
#define PROC_READER_BYTES 4352u /* the most that one read gives */
#define PROC_READERS_MAX 8u
#define PROC_READER_SLOW_NS UINT64_C(2000000)
#define PROC_READER_REST 50u

struct proc_reader;

/* To which user a process belongs: asked for on the caller's thread, when some read has not returned in time. */
typedef uint32_t proc_reader_user(void *context, uint32_t pid);

/* What is read of that process, perhaps about an address in it: 0 or -errno. On a thread of its own. */
typedef int proc_reader_read(int proc, uint32_t pid, uint64_t address, void *ret_bytes);

/* NULL: no memory. Else it closes proc, which others may use until proc_reader_free(), when no read goes on any more.
 */
struct proc_reader *proc_reader_new(int proc, proc_reader_user *user_of, void *context);
void proc_reader_free(struct proc_reader *reader); /* waits for nothing; NULL is allowed */

/*
 * What the read returns. size: of what it gives, at most PROC_READER_BYTES. -EAGAIN: not in time, or its user is
 * refused; ask again. The reader is the last one that the calling thread has made and not freed. A thread that has
 * none, as one that may be killed for it, reads itself.
 */
int proc_reader_ask(int proc, proc_reader_read *read, uint32_t pid, uint64_t address, void *ret_bytes, size_t size);

/*
 * Whether the machine is so busy that two turns for a processor, the thread's and the caller's own, take longer than
 * all that he has time for. Then he does better to read himself, if he has reason to think that it returns. False also
 * while the user of the process is refused, and where the calling thread has no reader.
 */
#define PROC_READER_BUSY_NS UINT64_C(1000000)
#define PROC_READER_BUSY_FOR_NS UINT64_C(1000000000)
bool proc_reader_is_busy(uint32_t pid);

#endif
