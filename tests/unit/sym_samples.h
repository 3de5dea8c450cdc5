/* SPDX-License-Identifier: Apache-2.0 */
/* sym_samples.h - modules, processes and the program's own file, for the tests of ripd/sym. */
#ifndef TESTS_UNIT_SYM_SAMPLES_H
#define TESTS_UNIT_SYM_SAMPLES_H

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "cases/snapshot.h"

/* Makes a module with one reference. build_id may be "". */
static inline struct module_facts *sample_module(const char *path, const char *build_id, uint32_t uid)
{
    struct module_facts *module = calloc(1, sizeof(*module));

    atomic_init(&module->references, 1);
    module->path = strdup(path);
    module->name = module->path;
    module->uid = uid;
    memcpy(module->build_id, build_id, strlen(build_id) + 1);
    return module;
}

static inline struct process_facts *sample_process(uint32_t pid, uint64_t start_time_ticks)
{
    struct process_facts *process = calloc(1, sizeof(*process));

    atomic_init(&process->references, 1);
    process->pid = pid;
    process->start_time_ticks = start_time_ticks;
    process->attested = true;
    return process;
}

static inline int open_own_program(void)
{
    return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

static inline int first_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = info->dlpi_addr;
    return 1;
}

/* Converts an address of this program to an address in its file. */
static inline uint64_t address_in_file(const void *address)
{
    uint64_t bias = 0;

    dl_iterate_phdr(first_object, &bias);
    return (uint64_t)(uintptr_t)address - bias;
}

#endif
