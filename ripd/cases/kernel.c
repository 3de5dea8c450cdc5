/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c - references, names, and which kernel functions are sleeps or waits. Pure. See kernel.h. */
#include "cases/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/reference.h"

static const char *const denied_names[KERNEL_DENIED_COUNT] = {
    [KERNEL_DENIED_BIT_SYSCALL] = "syscall",
    [KERNEL_DENIED_BIT_WCHAN] = "wchan",
    [KERNEL_DENIED_BIT_DESCRIPTORS] = "fd",
    [KERNEL_DENIED_BIT_MEMORY] = "asked_ms",
};

const char *kernel_denied_name(enum kernel_denied bit)
{
    return denied_names[bit];
}

struct kernel_facts *kernel_facts_new(const char *target)
{
    size_t length = strlen(target);
    struct kernel_facts *facts = reference_new(sizeof(*facts) + length + 1);

    if (facts == NULL)
        return NULL;
    facts->descriptor = -1;
    facts->asked_ns = KERNEL_UNKNOWN;
    facts->window_ns = facts->cpu_ns = facts->wait_ns = KERNEL_UNKNOWN;
    facts->voluntary = facts->involuntary = KERNEL_UNKNOWN;
    memcpy(facts->target, target, length);
    return facts;
}

struct kernel_facts *kernel_facts_copy(const struct kernel_facts *facts)
{
    const size_t counted = sizeof(facts->references); /* skipped: other threads may change the reference count */
    size_t bytes = sizeof(*facts) + strlen(facts->target) + 1;
    struct kernel_facts *copy = reference_new(bytes);

    if (copy != NULL)
        memcpy((char *)copy + counted, (const char *)facts + counted, bytes - counted);
    return copy;
}

void kernel_facts_unref(struct kernel_facts *facts)
{
    if (reference_drop(facts))
        free(facts);
}

/* UNKNOWN: the function serves both sleeps and waits; poll() for example sleeps if it has no descriptors. */
static const struct wchan_row {
    const char *name;
    enum kernel_wait wait;
} wchan_rows[] = {
    {"hrtimer_nanosleep", KERNEL_WAIT_SLEEP},
    {"do_nanosleep", KERNEL_WAIT_SLEEP},
    {"common_nsleep", KERNEL_WAIT_SLEEP},
    {"common_nsleep_timens", KERNEL_WAIT_SLEEP},
    {"poll_schedule_timeout", KERNEL_WAIT_UNKNOWN},
    {"do_poll", KERNEL_WAIT_UNKNOWN},
    {"do_sys_poll", KERNEL_WAIT_UNKNOWN},
    {"do_select", KERNEL_WAIT_UNKNOWN},
    {"schedule_hrtimeout_range_clock", KERNEL_WAIT_UNKNOWN},
    {"schedule_timeout", KERNEL_WAIT_UNKNOWN},
};

enum kernel_wait kernel_wait_of_wchan(const char *wchan)
{
    if (wchan[0] == '\0')
        return KERNEL_WAIT_UNKNOWN;
    for (size_t i = 0; i < ARRAY_COUNT(wchan_rows); i++)
        if (strncmp(wchan, wchan_rows[i].name, strlen(wchan_rows[i].name)) == 0)
            return wchan_rows[i].wait; /* prefix match: the compiler adds suffixes such as .part.0 */
    return KERNEL_WAIT_OTHERS;
}
