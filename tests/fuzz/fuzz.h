/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - what a fuzz target (fuzz_*.c) defines. CMakeLists.txt picks targets up by their name and builds each twice:
 * with driver.c, a plain program for every compiler whose smoke run is a test, and with libFuzzer if RIP_FUZZ is on.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Runs the code under test on some bytes, which may have any alignment. Returns 0; aborts if a promise is broken. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

/* Optional. Writes valid input `number`, counted from 0, and returns its size; 0 = there are no more. */
size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes) __attribute__((weak));

enum { FUZZ_INPUT_MAX_BYTES = 1 << 17 };

#endif
