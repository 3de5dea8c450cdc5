/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_lock_wait.c - any call and any memory: accepted locks are in bounds, and only requested bytes are read. */
#include <stdlib.h>
#include <string.h>

#include "cases/lock_wait.h"
#include "fuzz.h"

/* The input is the arguments of the call, then the memory at every address that it asks to read. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct lock_wait_holder owner;
    struct lock_wait_place place;
    struct lock_wait_call call;
    uint64_t arguments[6];
    size_t kind = 0, tries = 0;

    if (size_bytes < sizeof(arguments))
        return 0;
    memcpy(arguments, bytes, sizeof(arguments));
    bytes += sizeof(arguments);
    size_bytes -= sizeof(arguments);
    if (!lock_wait_call_of(arguments, &call))
        return 0;
    while (lock_wait_next_place(&call, &kind, &place)) {
        struct lock_wait_place at = place;
        uint8_t *memory;
        bool found;

        require(place.size <= LOCK_WAIT_BYTES && place.address <= call.address && ++tries < 16);
        require(call.address - place.address < place.size);
        memory = calloc(1, place.size); /* exact size, to detect reads past the end */
        if (memory == NULL)
            return 0;
        memcpy(memory, bytes, size_bytes < place.size ? size_bytes : place.size);
        found = lock_wait_holder_place(kind, memory, &at);
        if (found && at.address != place.address) {
            require(at.size <= LOCK_WAIT_BYTES);
            free(memory);
            memory = calloc(1, at.size);
            if (memory == NULL)
                return 0;
            memcpy(memory, bytes, size_bytes < at.size ? size_bytes : at.size);
        }
        if (found && lock_wait_holder_of(&call, kind, memory, &owner)) {
            require(owner.address == place.address && owner.tid <= 4194304);
            require(owner.tid != 0 || owner.flags != 0);
        }
        free(memory);
    }
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static const struct {
        uint64_t arguments[6];
        uint32_t memory[14];
    } seeds[] = {
        {{4096, 128, 2}, {2, 0, 77, 1, 0}},
        {{4096, 0, 0x8000004d}, {0x8000004d, 0, 77, 1, 16}},
        {{4096, 134}, {0x8000004d}},
        {{4104, 393, 3}, {19, 0, 3, 3, 0, 0, 77}},
        {{4108, 393, 3}, {19, 0, 3, 3, 0, 0, 77}},
        {{4104, 393, 2}, {10, 0, 2, 3}},
        {{4096 + 720, 128, 2}, {2, 1, 4096}}, /* a stream whose holder's thread id is where the stream is */
        {{4096, 393, 14}, {14, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2}},
    };

    if (number >= sizeof(seeds) / sizeof(seeds[0]) || sizeof(seeds[0]) > capacity_bytes)
        return 0;
    memcpy(ret_bytes, &seeds[number], sizeof(seeds[0]));
    return sizeof(seeds[0]);
}
