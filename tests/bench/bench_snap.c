/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_snap.c - one snap with all its guarantees, compared with the algorithm of 2014 and with a bare store.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define SNAP_FORMS_PREFIX program_
#include "snap_forms.h"

struct slot_2014 *ring_2014;
_Thread_local pid_t tid_2014;
_Thread_local uint8_t index_2014;
_Thread_local uint8_t counter_2014;

void library_empty(uint64_t count);
void library_bare(uint64_t count);
void library_snap(uint64_t count);
void library_snap_slot(uint64_t count);
void library_snap_2014(uint64_t count);

#define SNAPS UINT64_C(20000000)
enum { ROW_2014, ROW_SNAP, ROW_SLOT, ROW_BARE, ROW_EMPTY, ROW_COUNT };

static void run_table(const char *title, struct contender *rows, double bar_2014)
{
    bench_table(title, rows, ROW_COUNT, ROW_2014, SNAPS);
    bench_print_bar("snap / 2014", rows[ROW_SNAP].ns / rows[ROW_2014].ns, bar_2014);
    bench_print_bar("snap / bare store", rows[ROW_SNAP].ns / rows[ROW_BARE].ns, 2.7);
}

int main(void)
{
    struct contender program[ROW_COUNT] = {
        {"2014: 8-bit counter, 320-byte slot", program_snap_2014, 0, NULL},
        {"rip_snap(): 64-bit, signal-safe, truthful globals", program_snap, 0, NULL},
        {"... without the globals", program_snap_slot, 0, NULL},
        {"bare: address into memory", program_bare, 0, NULL},
        {"empty loop", program_empty, 0, NULL},
    };
    struct contender library[ROW_COUNT] = {
        {"2014, general-dynamic thread-local storage", library_snap_2014, 0, NULL},
        {"rip_snap()", library_snap, 0, NULL},
        {"... without the globals", library_snap_slot, 0, NULL},
        {"bare: address into memory", library_bare, 0, NULL},
        {"empty loop", library_empty, 0, NULL},
    };
    char path[64];

    snprintf(path, sizeof(path), "/dev/shm/rip-bench.%d", getpid());
    if (!rip_create_ring(path, 64)) {
        fprintf(stderr, "bench_snap: %s: %s\n", path, strerror(errno));
        return 1;
    }
    unlink(path);
    rip_init(0, "bench", 5, 0, 0);
    ring_2014 = aligned_alloc(64, 64 * sizeof(*ring_2014));
    if (ring_2014 == NULL)
        return 1;
    memset(ring_2014, 0, 64 * sizeof(*ring_2014));
    tid_2014 = 5;
    bench_print_machine();
    run_table("in an executable", program, 0.55);
    run_table("in a shared library", library, 0.30);
    free(ring_2014);
    return 0;
}
