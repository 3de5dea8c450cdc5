/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attest.h - which process a record of a ring is, as the kernel says: the worker reports on no others.
 *
 * Guarantees
 *   A. The ring is a regular file on tmpfs or ramfs. The process holds the record's HOLDER lock on it: it has had the
 *      file open to write.
 *   B. It is PROCESS_ATTESTED by ring/identity.h: the record's pid and start time, its LIFE lock, the owner's users or
 *      an owner that is root, and nobody else may write to the file.
 *   C. The file's owner is not root and the kernel lets him read the process: not one that runs a program with a
 *      set-group-id bit or capabilities, or one that its user may not read, or that has asked for it (prctl(2),
 *      PR_SET_DUMPABLE). Or else the owner is root, or root has executed the program, which has then become the
 *      owner's; and the ring is mapped in it as librip maps it. Exec drops that mapping, and no program maps such a
 *      file that another user gives it: so the process's own code has made it a process of the ring, and nothing was
 *      executed since. Neither the locks, which survive exec with a descriptor, nor the users, which setresuid(2) makes
 *      equal, would prove that.
 *   D. attest_holds() confirms, by a pidfd and a second check, that all of this is still as it was at attest_open():
 *      what was read in between is of this process.
 *   E. A process can become another user's in between, and come back: a set-user-id program that executes one of its
 *      caller's. attest_thread() says of a reading that the thread was its owner's while it was read, B and C, for it
 *      has not run from before that to after it was asked.
 *   F. A list of mappings is read once. Later a mapping at the same addresses of a file that was opened to read and
 *      write is enough: what is executed is laid out anew.
 */
#ifndef RIPD_PROBE_CHILD_ATTEST_H
#define RIPD_PROBE_CHILD_ATTEST_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/kernel.h"
#include "ring/mapping.h"

struct attested {
    struct mapping mapping;
    uint32_t process; /* its record */
    uint32_t pid;
    int hold; /* pidfd */
};

/*
 * Takes over descriptor, also on failure. 0; -ESRCH, -EACCES, -EINVAL as struct probe_answer has them; another -errno
 * where it could not be found out.
 */
int attest_open(struct attested *ret_attested, int proc, int descriptor, uint32_t process);
bool attest_holds(struct attested *attested, int proc);
bool attest_thread(const struct attested *attested, int proc, const struct kernel_reading *reading);
void attest_close(struct attested *attested);

#endif
