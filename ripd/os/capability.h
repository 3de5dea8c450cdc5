/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capability.h - queries the capabilities of the calling thread and gives them up for good. Only the calling thread
 * changes, and threads that it starts later. So it must be called before other threads are started.
 */
#ifndef RIPD_OS_CAPABILITY_H
#define RIPD_OS_CAPABILITY_H

#include <stdint.h>

#include <linux/capability.h>

#define CAPABILITY(number) (UINT64_C(1) << (number)) /* number: CAP_SYS_PTRACE and so on */

int capability_permitted(uint64_t *ret_mask);

/*
 * Keeps those capabilities of mask that the thread has, as permitted and effective. Gives up all others: also all
 * inheritable and ambient ones, and the bounding set if that is allowed. Also sets no_new_privs. Returns 0 or -errno.
 * On failure the state is undefined.
 */
int capability_keep(uint64_t mask);

#endif
