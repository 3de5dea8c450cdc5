/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capability.h - which of root's rights the calling thread has, and how it gives them up for good. Threads that it
 * makes later inherit the rest: call it before it makes any.
 */
#ifndef RIPD_OS_CAPABILITY_H
#define RIPD_OS_CAPABILITY_H

#include <stdint.h>

#include <linux/capability.h>

#define CAPABILITY(number) (UINT64_C(1) << (number)) /* CAP_SYS_PTRACE and so on */

int capability_permitted(uint64_t *ret_mask);

/*
 * Keeps those of mask that it has, permitted and effective, and gives up all others, and all inheritable, ambient and,
 * where it may, bounding ones. New privileges through files that it executes are given up too. 0 or -errno: then
 * nothing is sure.
 */
int capability_keep(uint64_t mask);

#endif
