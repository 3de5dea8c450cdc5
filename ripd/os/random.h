/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - unique numbers. */
#ifndef RIPD_OS_RANDOM_H
#define RIPD_OS_RANDOM_H

#include <stdint.h>

/* From the kernel's generator; early in boot, from what it has by then: unique, not secret. */
uint64_t random_u64(void);

#endif
