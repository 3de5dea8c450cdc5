/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_reader.h - reads of another process that may not return: the kernel takes some files of /proc from the process's
 * memory, or from the map of it, and waits for who changes that, a thread that hangs on a dead file system among them.
 *
 * Guarantees
 *   A. Nobody waits for longer than PROC_READER_WAIT_NS; a read goes on without him.
 *   B. Of one user at most one read goes on so: another one of his is refused at once. Of PROC_READERS_MAX users.
 */
#ifndef RIPD_OS_PROC_READER_H
#define RIPD_OS_PROC_READER_H

#include <stddef.h>
#include <stdint.h>

#define PROC_READER_WAIT_NS UINT64_C(20000000)
#define PROC_READER_BYTES 4352u /* the most that one read gives */
#define PROC_READERS_MAX 8u

struct proc_reader;

/* What is read of that process, perhaps about an address in it: 0 or -errno. On a thread of its own. */
typedef int proc_reader_read(int proc, uint32_t pid, uint64_t address, void *ret_bytes);

/* NULL: no memory. Else it closes proc, which others may use until proc_reader_free(), when no read goes on any more.
 */
struct proc_reader *proc_reader_new(int proc);
void proc_reader_free(struct proc_reader *reader); /* waits for nothing; NULL is allowed */

/*
 * What the read returns; of the scanner's thread alone. size: of what it gives, at most PROC_READER_BYTES. -EAGAIN: not
 * in time, or one of that user goes on; ask again.
 */
int proc_reader_ask(struct proc_reader *reader, uint32_t user, proc_reader_read *read, uint32_t pid, uint64_t address,
                    void *ret_bytes, size_t size);

#endif
