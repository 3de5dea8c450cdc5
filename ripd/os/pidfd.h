/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pidfd.h - a hold on one process that no reuse of its pid can move to another. Nothing is sent through it.
 */
#ifndef RIPD_OS_PIDFD_H
#define RIPD_OS_PIDFD_H

#include <stdbool.h>
#include <stdint.h>

/* A descriptor or -errno; -ESRCH: no such process. */
int pidfd_of(uint32_t pid);

/* Whether the process has ended. */
bool pidfd_ended(int descriptor);

/*
 * How it ended, as waitpid(2) would have it. The kernel keeps that as long as there is a descriptor, once the parent
 * has waited for it. -EAGAIN: not yet; -ENOTSUP: this kernel does not say (it does from Linux 6.15 on).
 */
int pidfd_status(int descriptor, int *ret_status);

#endif
