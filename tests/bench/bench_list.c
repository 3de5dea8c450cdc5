/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_list.c - the cost of writing the longest list: 10,000 stalls, in slices as in the server, with the default
 * number of breadcrumbs and with whole trails.
 *
 * The reference is the minimum cost: copying the same number of bytes in memory.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "net/limits.h"
#include "unit/samples.h"
#include "view/documents.h"

enum { STALLS = 10000, ENTRIES = 32, PLACES = 48, MODULES = 12 };

static struct snapshot *snapshot;
static struct query query;
static uint32_t trail_count;
static char *source;
static size_t source_bytes;

static void need(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "bench_list: %s failed\n", what);
    exit(EXIT_FAILURE);
}

static struct module_facts *new_module(uint64_t number)
{
    struct module_facts *module = calloc(1, sizeof(*module));
    char path[64];

    need(module != NULL, "memory");
    snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/libpart-%llu.so.0", (unsigned long long)number);
    module->start = SAMPLE_BIAS + (number << 20);
    module->end = module->start + 0x10000;
    module->bias = module->start;
    memcpy(module->build_id, SAMPLE_BUILD_ID, sizeof(SAMPLE_BUILD_ID));
    module->path = strdup(path);
    module->name = strrchr(module->path, '/') + 1;
    atomic_init(&module->references, 1);
    return module;
}

/* Returns the address of a location. There are few, as threads that do the same work have the same locations. */
static uint64_t address_of(uint64_t number)
{
    return SAMPLE_BIAS + ((1 + number % MODULES) << 20) + 0x1230 + 16 * (number % PLACES);
}

static void name_places(struct process_facts *process)
{
    for (uint64_t number = 0; number < PLACES; number++) {
        struct module_facts *module = process_facts_module(process, address_of(number));
        char function[64];
        struct symbol_frame frame = {function, "/build/part-1.2.3/source/part_queue.c", 100 + (uint32_t)number};

        snprintf(function, sizeof(function), "part_queue_take_%llu", (unsigned long long)number);
        need(symbol_table_add(&module->symbols, address_of(number) - module->bias, symbol_new(&frame, 1)) == 0,
             "symbol_table_add");
    }
}

static struct kernel_facts *new_kernel(void)
{
    struct kernel_facts *kernel = kernel_facts_new("pipe:[123456]");

    need(kernel != NULL, "memory");
    kernel->state = 'S';
    kernel->syscall = "read";
    kernel->descriptor = 3;
    snprintf(kernel->wchan, sizeof(kernel->wchan), "anon_pipe_read");
    return kernel;
}

static void make_snapshot(void)
{
    struct process_facts *process;

    snapshot = sample_snapshot(1, 0, 0);
    process = snapshot->rings[0].processes[0];
    process->modules = realloc(process->modules, (1 + MODULES) * sizeof(*process->modules));
    snapshot->stalls = realloc(snapshot->stalls, STALLS * sizeof(*snapshot->stalls));
    need(process->modules != NULL && snapshot->stalls != NULL, "memory");
    for (uint64_t number = 1; number <= MODULES; number++)
        process->modules[process->module_count++] = new_module(number);
    name_places(process);
    for (uint32_t i = 0; i < STALLS; i++) {
        char name[32];
        int length = snprintf(name, sizeof(name), "worker-%u", i);
        struct item *item = sample_item(process_facts_ref(process), "checkout", 1, i, name, (size_t)length, ENTRIES);

        for (size_t j = 0; j < ENTRIES; j++)
            item->entries[j].address = address_of(i % 7 + j);
        snapshot->stalls[i] = sample_stall(item, 1000 + i);
        snapshot->stalls[i].kernel = new_kernel();
    }
    snapshot->stall_count = STALLS;
}

/* Writes the list as the server does. Returns its length. */
static size_t write_list(void)
{
    struct document document;
    struct document_build *build;
    struct page *page;
    int status;

    query.limit = STALLS;
    page = query_stalls(&query, snapshot);
    need(page != NULL, "query_stalls");
    build = document_build_new(DOCUMENT_STALLS, page, trail_count);
    need(build != NULL, "memory");
    while ((status = document_build_step(build, HTTP_BUILD_BYTES_PER_TURN, &document)) > 0)
        ;
    need(status == 0, "memory");
    document_build_free(build);
    page_unref(page);
    free(document.body);
    return document.body_bytes;
}

static void write_all(uint64_t count)
{
    (void)count;
    write_list();
}

static void copy_all(uint64_t count)
{
    static char *copies[4096];
    size_t copy_count = 0;

    (void)count;
    for (size_t at = 0; at < source_bytes; at += HTTP_BUILD_BYTES_PER_TURN, copy_count++) {
        size_t left = source_bytes - at;
        size_t length = left < HTTP_BUILD_BYTES_PER_TURN ? left : HTTP_BUILD_BYTES_PER_TURN;

        copies[copy_count] = malloc(length);
        need(copies[copy_count] != NULL, "memory");
        memcpy(copies[copy_count], source + at, length);
    }
    while (copy_count > 0)
        free(copies[--copy_count]);
}

/* count: breadcrumbs of each stall. */
static void compare(uint32_t count)
{
    struct contender contenders[] = {
        {"copying as many bytes to memory fresh from the system", copy_all, 0, NULL},
        {"writing the list", write_all, 0, NULL},
    };

    trail_count = count;
    source_bytes = write_list();
    source = malloc(source_bytes);
    need(source != NULL, "memory");
    memset(source, 'x', source_bytes);
    printf("\n%zu bytes for %d stalls of %u entries each\n", source_bytes, STALLS, count);
    bench_table("a list of 10,000 stalls, for each of them", contenders, 2, 0, STALLS);
    free(source);
}

int main(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, 65536); /* the same setting as in the server */
    make_snapshot();
    bench_print_machine();
    compare(4);
    compare(ENTRIES);
    snapshot_unref(snapshot);
    return 0;
}
