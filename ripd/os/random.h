/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - numbers that nobody else has. */
#ifndef RIPD_OS_RANDOM_H
#define RIPD_OS_RANDOM_H

#include <stdint.h>

/* From the kernel's generator; early in boot, where that has nothing yet, from the clocks: unique, not secret. */
uint64_t random_u64(void);

#endif
