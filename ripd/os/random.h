/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - unique numbers. */
#ifndef RIPD_OS_RANDOM_H
#define RIPD_OS_RANDOM_H

#include <stdint.h>

/* From the kernel's generator, which may not be seeded early in boot: unique, but not secret. */
uint64_t random_u64(void);

#endif
