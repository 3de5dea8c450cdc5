/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - what a fuzz target (fuzz_*.c) defines. CMakeLists.txt finds targets by name and builds each twice: with
 * driver.c, as a plain program for every compiler whose short run is a test, and with libFuzzer if RIP_FUZZ is on.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Runs the code under test on bytes, which may have any alignment. Returns 0. Aborts if a guarantee does not hold. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

/* Optional. Writes valid input `number`, counted from 0. Returns its size, or 0 if there are no more inputs. */
size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes) __attribute__((weak));

enum { FUZZ_INPUT_MAX_BYTES = 1 << 17 };

/* Aborts if the condition is false. */
static inline void require(int condition)
{
    if (!condition)
        abort();
}

/* Implements fuzz_seed() for inputs that are texts. */
static inline size_t fuzz_text(const char *const *texts, size_t count, size_t number, uint8_t *ret_bytes,
                               size_t capacity_bytes)
{
    size_t length = number < count ? strlen(texts[number]) : 0;

    if (length > capacity_bytes)
        return 0;
    memcpy(ret_bytes, length != 0 ? texts[number] : "", length);
    return length;
}

#endif
