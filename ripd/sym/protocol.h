/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol.h - messages between ripd and its symbolizer, one per packet (os/packet.h). Both programs are of the same
 * build, so structs are sent as they are. Each side checks every length against the packet.
 *
 *   ripd                             symbolizer
 *                                    SYM_READY
 *   SYM_OPEN key path build-id [fd]  -> SYM_OPENED key status
 *   SYM_LOOK key offset              -> SYM_FOUND key offset status, frames
 *
 * Every request has one answer, in order. When the symbolizer has too many files open, it closes the one used least
 * recently. It then answers SYM_LOOK for that file with -ENOENT, and ripd opens the file again.
 */
#ifndef RIPD_SYM_PROTOCOL_H
#define RIPD_SYM_PROTOCOL_H

#include <stdint.h>

#include "cases/symbol.h"

#define SYM_PATH_BYTES 512u
#define SYM_BUILD_ID_BYTES 32u
#define SYM_PACKET_BYTES 65536u

enum sym_kind { SYM_OPEN = 1, SYM_OPENED, SYM_LOOK, SYM_FOUND, SYM_READY };

/* The symbolizer's first message: it has given up its privileges. */
struct sym_ready {
    uint32_t kind;
    uint32_t reserved_4;
};

struct sym_open {
    uint32_t kind;
    uint32_t build_id_bytes; /* 0 = not known; then a descriptor must be sent along */
    uint64_t key;
    uint8_t build_id[SYM_BUILD_ID_BYTES];
    char path[SYM_PATH_BYTES]; /* with terminator */
};

struct sym_opened {
    uint32_t kind;
    int32_t status; /* 0; -ESTALE: another build id; or why it could not be opened or parsed */
    uint64_t key;
};

struct sym_look {
    uint32_t kind;
    uint32_t reserved_4;
    uint64_t key;
    uint64_t offset;
};

/* Followed by frames, each a sym_frame and its two texts with terminators. */
struct sym_found {
    uint32_t kind;
    int32_t status; /* 0; -ENOENT: that file is not open */
    uint64_t key;
    uint64_t offset;
    uint32_t frame_count; /* at most SYMBOL_FRAMES_MAX */
    uint32_t reserved_28;
};

struct sym_frame {
    uint32_t line;           /* 0 = not known */
    uint16_t function_bytes; /* 0 = not known */
    uint16_t file_bytes;     /* 0 = not known */
};

/*
 * Parses a SYM_FOUND. Returns a new symbol, or NULL if out of memory, or if the packet is not a complete SYM_FOUND with
 * that key and offset and status 0. Pure: the symbolizer has read hostile files, so it is not trusted.
 */
struct symbol *sym_found_parse(const void *packet, size_t bytes, uint64_t key, uint64_t offset);

/* Writes a SYM_FOUND and returns its length. Frames that do not fit are left out. */
size_t sym_found_format(void *packet, size_t capacity, uint64_t key, uint64_t offset, const struct symbol_frame *frames,
                        size_t frame_count);

#endif
