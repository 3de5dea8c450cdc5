/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_kernel.c - what the kernel says of a thread as JSON. Pure.
 *
 * Guarantees
 *   A. Every field is always there; what is not known is null. Only target_hex and comm_hex come and go.
 *   B. The times and switches are of window_ms, and null together with it.
 */
#include "view/document_parts.h"

#define NS_PER_MS 1000000u

static uint64_t ms_of(uint64_t ns)
{
    return ns == KERNEL_UNKNOWN ? KERNEL_UNKNOWN : ns / NS_PER_MS;
}

static void part_static(struct json_writer *writer, const char *key, const char *text)
{
    json_key(writer, key);
    if (text == NULL)
        json_none(writer);
    else
        json_text(writer, text);
}

static void part_holder(struct json_writer *writer, const struct kernel_facts *kernel)
{
    json_key(writer, "holder");
    if (kernel->holder_pid == 0) {
        json_none(writer);
        return;
    }
    json_object_begin(writer);
    part_uint(writer, "pid", kernel->holder_pid);
    part_text(writer, "comm", "comm_hex", kernel->holder_comm);
    json_object_end(writer);
}

static void part_denied(struct json_writer *writer, unsigned denied)
{
    json_key(writer, "denied");
    json_array_begin(writer);
    for (int bit = 0; bit < KERNEL_DENIED_COUNT; bit++)
        if ((denied & 1u << bit) != 0)
            json_text(writer, kernel_denied_name((enum kernel_denied)bit));
    json_array_end(writer);
}

void part_kernel(struct json_writer *writer, const struct kernel_facts *kernel)
{
    static const char *const modes[] = {
        [KERNEL_MODE_UNKNOWN] = NULL, [KERNEL_MODE_USER] = "user", [KERNEL_MODE_SYSTEM] = "system"};
    const char state[2] = {kernel != NULL ? kernel->state : '\0', '\0'};

    if (kernel == NULL) {
        part_null(writer, "kernel");
        return;
    }
    json_key(writer, "kernel");
    json_object_begin(writer);
    part_static(writer, "state", state);
    part_static(writer, "syscall", kernel->syscall);
    part_uint_or_null(writer, "fd", (uint64_t)kernel->descriptor, UINT64_MAX);
    part_text(writer, "target", "target_hex", kernel->target[0] != '\0' ? kernel->target : NULL);
    part_holder(writer, kernel);
    part_uint_or_null(writer, "asked_ms", ms_of(kernel->asked_ns), KERNEL_UNKNOWN);
    part_static(writer, "wchan", kernel->wchan[0] != '\0' ? kernel->wchan : NULL);
    part_static(writer, "mode", modes[kernel->mode]);
    part_uint_or_null(writer, "window_ms", ms_of(kernel->window_ns), KERNEL_UNKNOWN);
    part_uint_or_null(writer, "cpu_ms", ms_of(kernel->cpu_ns), KERNEL_UNKNOWN);
    part_uint_or_null(writer, "wait_ms", ms_of(kernel->wait_ns), KERNEL_UNKNOWN);
    part_uint_or_null(writer, "voluntary_switches", kernel->voluntary, KERNEL_UNKNOWN);
    part_uint_or_null(writer, "involuntary_switches", kernel->involuntary, KERNEL_UNKNOWN);
    part_denied(writer, kernel->denied);
    json_object_end(writer);
}
