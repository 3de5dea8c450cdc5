/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol.h - messages between ripd and its symbolizer, one a packet (os/packet.h). Both ends are of one build, so
 * structs cross as they are; neither believes a length it has not checked against the packet.
 *
 *   ripd                             symbolizer
 *                                    SYM_READY
 *   SYM_OPEN key path build-id [fd]  -> SYM_OPENED key status
 *   SYM_LOOK key offset              -> SYM_FOUND key offset status, frames
 *
 * Every request has one answer, in order. The symbolizer forgets the file it has used least when it has too many: then
 * SYM_LOOK is answered with -ENOENT, and the file is opened again.
 */
#ifndef RIPD_SYM_PROTOCOL_H
#define RIPD_SYM_PROTOCOL_H

#include <stdint.h>

#include "cases/symbol.h"

#define SYM_PATH_BYTES 512u
#define SYM_BUILD_ID_BYTES 32u
#define SYM_PACKET_BYTES 65536u

enum sym_kind { SYM_OPEN = 1, SYM_OPENED, SYM_LOOK, SYM_FOUND, SYM_READY };

/* The symbolizer's first word: it has given up its privileges. */
struct sym_ready {
    uint32_t kind;
    uint32_t reserved_4;
};

struct sym_open {
    uint32_t kind;
    uint32_t build_id_bytes; /* 0: not known; then only a file that came along is opened */
    uint64_t key;
    uint8_t build_id[SYM_BUILD_ID_BYTES];
    char path[SYM_PATH_BYTES]; /* terminated */
};

struct sym_opened {
    uint32_t kind;
    int32_t status; /* 0; -ESTALE: another build id; else why it could not be opened or understood */
    uint64_t key;
};

struct sym_look {
    uint32_t kind;
    uint32_t reserved_4;
    uint64_t key;
    uint64_t offset;
};

/* Followed by frames: each a sym_frame and its two texts, with terminators. */
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
 * What is in a packet of bytes: a new symbol, or NULL when it is not a whole SYM_FOUND of that key and offset with
 * status 0, or there is no memory. Pure: the symbolizer has read hostile files, and is not believed either.
 */
struct symbol *sym_found_parse(const void *packet, size_t bytes, uint64_t key, uint64_t offset);

/* Writes a SYM_FOUND; returns its bytes. What does not fit is left out. */
size_t sym_found_format(void *packet, size_t capacity, uint64_t key, uint64_t offset, const struct symbol_frame *frames,
                        size_t frame_count);

#endif
