/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.c - checks messages between ripd and ripd-probe. Pure; fuzzed. */
#include "probe/protocol.h"

#include <string.h>

#define IS_TEXT(array) (memchr((array), '\0', sizeof(array)) != NULL)

size_t probe_answer_bytes(uint32_t count)
{
    return offsetof(struct probe_answer, threads) + count * sizeof(struct probe_thread);
}

bool probe_query_is_sound(const struct probe_query *query, size_t bytes)
{
    if (bytes != sizeof(*query) || query->kind != PROBE_QUERY || query->count == 0 || query->count > PROBE_BATCH_MAX)
        return false;
    for (uint32_t i = 0; i < query->count; i++)
        if (query->tids[i] == 0)
            return false;
    return true;
}

static bool is_sound_module(const struct probe_module *module, uint64_t address)
{
    if (module->end == 0)
        return true;
    return module->start <= address && address < module->end && IS_TEXT(module->path) && module->path[0] != '\0';
}

/* Whether the byte of a received bool is 0 or 1. */
static bool is_bool(const bool *value)
{
    unsigned char byte;

    memcpy(&byte, value, 1);
    return byte <= 1;
}

static bool is_sound_unix(const struct kernel_unix *known)
{
    unsigned peer;

    memcpy(&peer, &known->peer, sizeof(peer));
    return peer <= KERNEL_PEER_CLOSED && is_bool(&known->listening) && IS_TEXT(known->name) &&
           IS_TEXT(known->peer_name);
}

static bool is_sound_names(const struct kernel_reading *reading)
{
    for (size_t i = 0; i < SYSCALL_PATHS_MAX; i++)
        if (!IS_TEXT(reading->names[i].text) || !is_bool(&reading->names[i].cut))
            return false;
    return true;
}

static bool is_sound_reading(const struct kernel_reading *reading)
{
    unsigned kind;

    memcpy(&kind, &reading->call.kind, sizeof(kind));
    return kind <= PROC_SYSCALL_INSIDE && IS_TEXT(reading->wchan) && IS_TEXT(reading->holder.comm) &&
           is_sound_unix(&reading->unix_socket) && is_sound_names(reading) && IS_TEXT(reading->descriptor.link) &&
           is_bool(&reading->descriptor.link_cut) && is_bool(&reading->descriptor.readable) &&
           is_bool(&reading->descriptor.writable) &&
           ((reading->has & KERNEL_HAS_LOCK) == 0 ||
            reading->lock_look.begun_mono_ns <= reading->lock_look.ended_mono_ns);
}

bool probe_answer_is_sound(const struct probe_answer *answer, size_t bytes, const struct probe_query *query)
{
    if (bytes < probe_answer_bytes(0) || answer->kind != PROBE_ANSWER || answer->number != query->number ||
        answer->status > 0 || (answer->count != 0 && answer->count != query->count) ||
        bytes != probe_answer_bytes(answer->count) || (answer->status == 0) != (answer->count != 0) ||
        !is_sound_module(&answer->module, query->address))
        return false;
    for (uint32_t i = 0; i < answer->count; i++) {
        const struct probe_thread *thread = &answer->threads[i];

        if (thread->tid != query->tids[i] || thread->status > 0)
            return false;
        if (thread->status == 0 && (thread->reading.tid != thread->tid || thread->reading.pid != answer->pid ||
                                    !is_sound_reading(&thread->reading)))
            return false;
    }
    return true;
}

bool probe_fetch_is_sound(const struct probe_fetch *fetch, size_t bytes)
{
    return bytes == sizeof(*fetch) && fetch->kind == PROBE_FETCH && fetch->exact <= 1;
}

bool probe_fetched_is_sound(const struct probe_fetched *fetched, size_t bytes, const struct probe_fetch *fetch)
{
    return bytes == sizeof(*fetched) && fetched->kind == PROBE_FETCHED && fetched->number == fetch->number &&
           fetched->status <= 0;
}
