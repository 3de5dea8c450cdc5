/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pidfd.h - a descriptor of one process, which stays valid when its pid is reused. No signal is sent through it.
 */
#ifndef RIPD_OS_PIDFD_H
#define RIPD_OS_PIDFD_H

#include <stdbool.h>
#include <stdint.h>

/* Returns a descriptor, -ESRCH if there is no such process, or another -errno. */
int pidfd_of(uint32_t pid);

/* Whether the process has ended. */
bool pidfd_ended(int descriptor);

/*
 * Returns how the process ended, as a wait status of waitpid(2). The kernel has it once the parent has waited for the
 * process, and keeps it as long as a descriptor exists. Returns 0; -EAGAIN if it is not available yet; -ENOTSUP before
 * Linux 6.15.
 */
int pidfd_status(int descriptor, int *ret_status);

#endif
