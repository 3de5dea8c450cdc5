/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_compiled.c - what librip-compiled costs a function that does nothing, against hooks that do nothing: its entry
 * and its return, or the one edge that it has. The functions are in compiled_functions.c, once with each hooks.
 */
#include <librip.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "compiled_functions.h"

#define CALLS UINT64_C(20000000)
enum { ROW_PLAIN, ROW_EMPTY, ROW_TRACED, ROW_COUNT };

static void run(const char *title, struct contender *rows)
{
    bench_table(title, rows, ROW_COUNT, ROW_EMPTY, CALLS);
    printf("a function costs %.2f ns more than with empty hooks\n", rows[ROW_TRACED].ns - rows[ROW_EMPTY].ns);
}

int main(void)
{
    struct contender functions[ROW_COUNT] = {
        {"not compiled so", plain_calls, 0, NULL},
        {"-finstrument-functions, empty hooks", functions_empty_calls, 0, NULL},
        {"-finstrument-functions, librip-compiled", functions_traced_calls, 0, NULL},
    };
    struct contender edges[ROW_COUNT] = {
        {"not compiled so", plain_calls, 0, NULL},
        {"-fsanitize-coverage=trace-pc, empty hooks", edges_empty_calls, 0, NULL},
        {"-fsanitize-coverage=trace-pc, librip-compiled", edges_traced_calls, 0, NULL},
    };

    setenv("RIP_DIR", "/dev/shm", 0);
    bench_print_machine();
    run("functions: calls in a loop", functions);
    run("edges: calls in a loop", edges);
    if (rip_ring == NULL) {
        fprintf(stderr, "bench_compiled: no ring could be made\n");
        return 1;
    }
    return 0;
}
