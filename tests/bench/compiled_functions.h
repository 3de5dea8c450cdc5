/* SPDX-License-Identifier: Apache-2.0 */
/* compiled_functions.h - count calls of a function that does nothing, compiled in several ways. */
#ifndef TESTS_BENCH_COMPILED_FUNCTIONS_H
#define TESTS_BENCH_COMPILED_FUNCTIONS_H

#include <stdint.h>

void plain_calls(uint64_t count);
void functions_empty_calls(uint64_t count);
void functions_traced_calls(uint64_t count);
void edges_empty_calls(uint64_t count);
void edges_traced_calls(uint64_t count);

#endif
