/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_record_command.c - bench_record_command RIP: the cost of `rip record` with 10,000 ids and 10 drains a second:
 * the CPU time of the whole command, and the bytes of its file.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <librip.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define IDS 10000u
#define PLACES 64u
#define INTERVAL_NS 100000000
#define SECONDS 3

static struct rip_context contexts[IDS];
static char folder[] = "/dev/shm/bench-record-XXXXXX", ring[64], file[64];

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Each id makes count breadcrumbs, at locations as in a real program. */
static void work(unsigned count)
{
    static uint32_t random = 1;

    for (unsigned i = 0; i < IDS; i++) {
        rip_switch(NULL, &contexts[i]);
        for (unsigned n = 0; n < count; n++) {
            random = random * 1664525 + 1013904223;
            rip_snap_at((const void *)(uintptr_t)(0x555555550000 + (random >> 16) % PLACES * 97));
        }
        rip_switch(&contexts[i], NULL);
    }
}

static pid_t start(const char *rip)
{
    char duration[16];
    pid_t pid = fork();

    snprintf(duration, sizeof(duration), "%ds", SECONDS);
    if (pid == 0) {
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
        execl(rip, rip, "record", "--interval", "100ms", "--duration", duration, "--output", file, ring, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static void measure(const char *rip, unsigned count)
{
    double began = now(), next = began, lasted;
    uint64_t made = 0;
    struct rusage usage;
    struct stat status;
    pid_t pid = start(rip);
    int how;

    while (wait4(pid, &how, WNOHANG, &usage) == 0) {
        work(count);
        made += (uint64_t)IDS * count;
        next += INTERVAL_NS / 1e9;
        if (next > now())
            usleep((useconds_t)((next - now()) * 1e6));
    }
    lasted = now() - began;
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0 || stat(file, &status) != 0) {
        fprintf(stderr, "bench_record_command: %s record has failed\n", rip);
        exit(EXIT_FAILURE);
    }
    printf("%u ids, %u breadcrumbs of each between two drains:\n", IDS, count);
    bench_print_bar("  percent of a core",
                    100 *
                        ((double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
                         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6) /
                        lasted,
                    5);
    if (made != 0)
        bench_print_bar("  bytes to those of the entries", (double)status.st_size / (8.0 * (double)made), 1.2);
    unlink(file);
}

int main(int argc, char **argv)
{
    static const unsigned counts[] = {0, 1, 8};

    if (argc != 2 || mkdtemp(folder) == NULL)
        return EXIT_FAILURE;
    snprintf(ring, sizeof(ring), "%s/ring", folder);
    snprintf(file, sizeof(file), "%s/recording", folder);
    if (!rip_create_ring(ring, IDS + 1))
        return EXIT_FAILURE;
    for (unsigned i = 0; i < IDS; i++)
        if (!rip_context_init(&contexts[i], i + 1, "bench", 5))
            return EXIT_FAILURE;
    bench_print_machine();
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        measure(argv[1], counts[i]);
    unlink(ring);
    rmdir(folder);
    return EXIT_SUCCESS;
}
