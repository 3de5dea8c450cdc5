/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c - runs a fuzz target without libFuzzer: valid inputs, mutated with a seeded generator.
 *
 *   fuzz_NAME [--iterations N] [--seed N] [--write-seeds DIR] [FILE...]
 *
 * The first inputs are those of the target (fuzz_seed) and the FILEs, each of which also runs unchanged.
 *
 * Guarantees
 *   1. The same arguments run the same inputs in the same order.
 *   2. Each input ends directly before a page without access: reading one byte too far crashes without any sanitizer.
 *   3. The input of a crash is written to ./crash-NAME, and can be passed as FILE.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "fuzz.h"
#include "support/guarded_copy.h"

enum { STARTS_MAX = 256, MUTATIONS_MAX = 8, FRONT_BYTES = 512 };

struct input {
    uint8_t *bytes;
    size_t size_bytes;
};

static struct input starts[STARTS_MAX];
static size_t start_count;
static struct guarded_copy room;
static struct input current; /* ends at the guard page of room */
static char crash_file[256];

static uint64_t random_state = 1;

static uint64_t random_word(void)
{
    uint64_t word = (random_state += UINT64_C(0x9e3779b97f4a7c15)); /* splitmix64 */

    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

static size_t random_below(size_t limit)
{
    return limit == 0 ? 0 : (size_t)(random_word() % limit);
}

static void on_crash(int signal_number)
{
    int descriptor = open(crash_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (descriptor >= 0 && write(descriptor, current.bytes, current.size_bytes) == (ssize_t)current.size_bytes &&
        write(STDERR_FILENO, crash_file, strlen(crash_file)) > 0)
        (void)!write(STDERR_FILENO, " holds the input\n", 17);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void run(const uint8_t *bytes, size_t size_bytes)
{
    current.bytes = room.bytes + FUZZ_INPUT_MAX_BYTES - size_bytes;
    current.size_bytes = size_bytes;
    memmove(current.bytes, bytes, size_bytes);
    LLVMFuzzerTestOneInput(current.bytes, size_bytes);
}

static uint64_t interesting_value(void)
{
    switch (random_below(6)) {
    case 0:
        return UINT64_C(1) << random_below(64);
    case 1:
        return (UINT64_C(1) << random_below(64)) - 1;
    case 2:
        return UINT64_MAX << random_below(64);
    case 3:
        return random_below(1024);
    case 4:
        return ~(uint64_t)random_below(1024);
    default:
        return random_word();
    }
}

/* Half of the mutations change the beginning, on which the rest of most formats depends. */
static size_t random_place(size_t size_bytes)
{
    size_t front = size_bytes < FRONT_BYTES ? size_bytes : FRONT_BYTES;

    return random_word() % 2 == 0 ? random_below(front) : random_below(size_bytes);
}

static void mutate_once(uint8_t *bytes, size_t *size_bytes)
{
    static const size_t widths[] = {1, 2, 4, 8};
    size_t place = random_place(*size_bytes);
    size_t width = widths[random_below(4)];
    uint64_t value;

    switch (random_below(8)) {
    case 0: /* truncate */
        if (random_below(4) == 0)
            *size_bytes = place;
        return;
    case 1: /* copy a range from elsewhere */
        width = random_below(*size_bytes - place + 1) % 64;
        memmove(bytes + place, bytes + random_below(*size_bytes - width + 1), width);
        return;
    case 2: /* flip a bit */
        bytes[place] ^= (uint8_t)(1 << random_below(8));
        return;
    case 3: /* add or subtract a little */
        bytes[place] = (uint8_t)(bytes[place] + random_below(9) - 4);
        return;
    default: /* insert a number */
        place -= place % width;
        if (place + width > *size_bytes)
            return;
        value = interesting_value();
        memcpy(bytes + place, &value, width);
    }
}

static void add_start(const uint8_t *bytes, size_t size_bytes)
{
    struct input *start = &starts[start_count];

    if (start_count == STARTS_MAX)
        return;
    start->bytes = malloc(size_bytes + 1);
    if (start->bytes == NULL) {
        perror("malloc");
        exit(EXIT_FAILURE);
    }
    memcpy(start->bytes, bytes, size_bytes);
    start->size_bytes = size_bytes;
    start_count++;
}

static void add_seeds(const char *write_folder)
{
    static uint8_t bytes[FUZZ_INPUT_MAX_BYTES];
    size_t size_bytes;

    for (size_t number = 0; fuzz_seed != NULL && number < STARTS_MAX; number++) {
        char path[4096];
        FILE *file;

        size_bytes = fuzz_seed(number, bytes, sizeof(bytes));
        if (size_bytes == 0)
            return;
        add_start(bytes, size_bytes);
        if (write_folder == NULL)
            continue;
        snprintf(path, sizeof(path), "%s/seed-%zu", write_folder, number);
        file = fopen(path, "wb");
        if (file == NULL || fwrite(bytes, 1, size_bytes, file) != size_bytes || fclose(file) != 0) {
            perror(path);
            exit(EXIT_FAILURE);
        }
    }
}

static void add_file(const char *path)
{
    static uint8_t bytes[FUZZ_INPUT_MAX_BYTES];
    FILE *file = fopen(path, "rb");

    if (file == NULL) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    add_start(bytes, fread(bytes, 1, sizeof(bytes), file));
    fclose(file);
}

static void run_mutated(void)
{
    static uint8_t bytes[FUZZ_INPUT_MAX_BYTES];
    const struct input *start = &starts[random_below(start_count)];
    size_t size_bytes = start->size_bytes;

    memcpy(bytes, start->bytes, size_bytes);
    for (size_t left = 1 + random_below(MUTATIONS_MAX); left > 0 && size_bytes > 0; left--)
        mutate_once(bytes, &size_bytes);
    run(bytes, size_bytes);
}

static void prepare_for_crashes(const char *program)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPROF};
    const char *slash = strrchr(program, '/');

    snprintf(crash_file, sizeof(crash_file), "crash-%s", slash != NULL ? slash + 1 : program);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], on_crash);
}

/* Limits the CPU time of this process. Wall time would depend on the load of the machine. 0 = no limit. */
static void limit_processor_time(time_t seconds)
{
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = seconds}, NULL);
}

int main(int argc, char **argv)
{
    unsigned long iterations = 20000;
    const char *write_folder = NULL;
    int argument = 1;

    for (; argument + 1 < argc && strncmp(argv[argument], "--", 2) == 0; argument += 2) {
        if (strcmp(argv[argument], "--iterations") == 0)
            iterations = strtoul(argv[argument + 1], NULL, 10);
        else if (strcmp(argv[argument], "--seed") == 0)
            random_state = strtoul(argv[argument + 1], NULL, 10);
        else if (strcmp(argv[argument], "--write-seeds") == 0)
            write_folder = argv[argument + 1];
        else
            break;
    }
    if (argument < argc && strncmp(argv[argument], "--", 2) == 0) {
        fprintf(stderr, "usage: %s [--iterations N] [--seed N] [--write-seeds DIR] [FILE...]\n", argv[0]);
        return 2;
    }
    guarded_copy_new(&room, NULL, FUZZ_INPUT_MAX_BYTES);
    prepare_for_crashes(argv[0]);
    add_seeds(write_folder);
    for (; argument < argc; argument++)
        add_file(argv[argument]);
    if (start_count == 0)
        add_start((const uint8_t *)"0123456789abcdef", 16);
    for (size_t i = 0; i < start_count; i++)
        run(starts[i].bytes, starts[i].size_bytes);
    for (unsigned long i = 0; i < iterations; i++) {
        limit_processor_time(10); /* an input that takes longer is a bug */
        run_mutated();
    }
    limit_processor_time(0);
    printf("%zu inputs to start from, %lu mutations\n", start_count, iterations);
    return 0;
}
