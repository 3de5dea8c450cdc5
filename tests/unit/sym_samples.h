/* SPDX-License-Identifier: Apache-2.0 */
/* sym_samples.h - modules and processes that rings could name, for the tests of ripd/sym. */
#ifndef TESTS_UNIT_SYM_SAMPLES_H
#define TESTS_UNIT_SYM_SAMPLES_H

#include <stdlib.h>
#include <string.h>

#include "cases/snapshot.h"

/* A module with one reference; build_id may be "". */
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

#endif
