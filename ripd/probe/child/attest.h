/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attest.h - finds out from the kernel which process a record of a ring belongs to. The worker reads no other process.
 *
 * Guarantees
 *   A. The ring is a regular file on tmpfs or ramfs. The process holds the record's HOLDER lock on it, so it has had
 *      the file open for writing.
 *   B. The process is PROCESS_ATTESTED by ring/identity.h: pid and start time of the record match, it holds the LIFE
 *      lock, its uids are the owner's or the owner is root, and nobody else may write to the file.
 *   C. The owner may know about the process, for one of two reasons.
 *      Either the owner is not root, and the kernel lets the owner read the process. This excludes programs with a
 *      set-group-id bit or capabilities, programs that their user may not read, and processes that forbid it with
 *      prctl(2), PR_SET_DUMPABLE.
 *      Or the owner is root, or root executed the program and the process became the owner's later; and the ring is
 *      mapped in the process as librip maps it. Exec drops that mapping, and no program maps such a file that another
 *      user passes to it. So the process's own code made it a process of the ring, and it has executed nothing since.
 *      The locks would not prove this, as they survive exec with a descriptor. Nor would the uids, which setresuid(2)
 *      can make equal.
 *   D. attest_holds() confirms, by a pidfd and a second check, that all of this is as it was at attest_open(). So what
 *      was read in between is of this process.
 *   E. In between, a process can become another user's and come back, by a set-user-id program that executes a program
 *      of its caller. attest_thread() confirms B and C for one reading: it checks them while the thread has not run
 *      since before the reading.
 *   F. The mappings of a process are listed once. Later checks only require that a file which was opened for reading
 *      and writing is mapped at the same addresses, because exec makes a new address space.
 */
#ifndef RIPD_PROBE_CHILD_ATTEST_H
#define RIPD_PROBE_CHILD_ATTEST_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/kernel.h"
#include "ring/mapping.h"

struct attested {
    struct mapping mapping;
    uint32_t process; /* index of its record */
    uint32_t pid;
    int pidfd;
};

/*
 * Takes ownership of descriptor, also on failure. Returns 0; -ESRCH, -EACCES or -EINVAL as in struct probe_answer; or
 * another -errno if the check was not possible.
 */
int attest_open(struct attested *ret_attested, int proc, int descriptor, uint32_t process);
bool attest_holds(struct attested *attested, int proc);
bool attest_thread(const struct attested *attested, int proc, const struct kernel_reading *reading);
void attest_close(struct attested *attested);

#endif
