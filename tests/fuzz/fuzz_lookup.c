/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_lookup.c - hostile files, from the bytes to the answer that ripd reads, as in ripd-symbolizer: opening, symbol
 * tables, DWARF, names, and the packet.
 *
 * The seeds are small programs, one for each code path (see lookup/). A crash of libdw on such files would not be a bug
 * of
 * ours; because millions of inputs have caused none, libdw is included.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "sym/child/lookup.h"
#include "sym/protocol.h"

#define STEP 0x8u /* distance between looked-up addresses */

static int equal(const char *text, const char *other)
{
    if (text == NULL || text[0] == '\0')
        return other == NULL;
    return other != NULL && strncmp(text, other, SYMBOL_TEXT_BYTES_MAX) == 0;
}

/* Checks that the packet contains everything that was found, except what does not fit. */
static void look(struct lookup *lookup, uint64_t address)
{
    static unsigned char packet[SYM_PACKET_BYTES];
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    size_t count = lookup_find(lookup, address, frames);
    struct symbol *symbol;

    require(count <= SYMBOL_FRAMES_MAX);
    symbol = sym_found_parse(packet, sym_found_format(packet, sizeof(packet), 1, address, frames, count), 1, address);
    require(symbol != NULL && symbol->frame_count <= count);
    for (size_t i = 0; i < symbol->frame_count; i++)
        require(equal(frames[i].function, symbol->frames[i].function) && equal(frames[i].file, symbol->frames[i].file));
    free(symbol);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    static const uint64_t starts[] = {0, 0x400000, UINT32_MAX,
                                      UINT64_MAX - 0x400}; /* the code of the seeds is at the first address */
    int file = memfd_create("fuzz_lookup", MFD_CLOEXEC);
    struct lookup *lookup;

    if (file < 0 || write(file, bytes, size_bytes) != (ssize_t)size_bytes)
        abort();
    if (lookup_open(&lookup, file, "/nowhere/fuzz_lookup", NULL, 0) != 0)
        return 0;
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        for (uint64_t offset = 0; offset < 0x400; offset += STEP)
            look(lookup, starts[i] + offset);
    lookup_close(lookup);
    return 0;
}

/* FUZZ_LOOKUP_SEEDS is a list of strings: the paths of the seeds. */
size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity)
{
    static const char *const paths[] = {FUZZ_LOOKUP_SEEDS};
    size_t count = 0;
    FILE *file;

    if (number >= sizeof(paths) / sizeof(paths[0]))
        return 0;
    file = fopen(paths[number], "rb");
    if (file == NULL) {
        perror(paths[number]);
        exit(EXIT_FAILURE);
    }
    count = fread(ret_bytes, 1, capacity, file);
    fclose(file);
    return count;
}
