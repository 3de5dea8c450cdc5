/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.c - writes frames to a packet, and parses them. Pure. */
#include "sym/protocol.h"

#include <stdbool.h>
#include <string.h>

/* The unread part of a packet. */
struct rest {
    const unsigned char *at;
    size_t bytes;
};

static bool take(struct rest *rest, void *ret_bytes, size_t count)
{
    if (rest->bytes < count)
        return false;
    memcpy(ret_bytes, rest->at, count);
    *rest = (struct rest){rest->at + count, rest->bytes - count};
    return true;
}

/*
 * Takes a text with its terminator; *ret_text points into the packet, or is NULL for an empty text. Returns false if
 * there is none.
 */
static bool take_text(struct rest *rest, size_t count, const char **ret_text)
{
    if (rest->bytes < count || (count != 0 && rest->at[count - 1] != '\0'))
        return false;
    *ret_text = count <= 1 ? NULL : (const char *)rest->at;
    *rest = (struct rest){rest->at + count, rest->bytes - count};
    return true;
}

struct symbol *sym_found_parse(const void *packet, size_t bytes, uint64_t key, uint64_t offset)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    struct rest rest = {packet, bytes};
    struct sym_found found;

    if (!take(&rest, &found, sizeof(found)) || found.kind != SYM_FOUND || found.status != 0 || found.key != key ||
        found.offset != offset || found.frame_count > SYMBOL_FRAMES_MAX)
        return NULL;
    for (uint32_t i = 0; i < found.frame_count; i++) {
        struct sym_frame frame;

        if (!take(&rest, &frame, sizeof(frame)) || !take_text(&rest, frame.function_bytes, &frames[i].function) ||
            !take_text(&rest, frame.file_bytes, &frames[i].file))
            return NULL;
        frames[i].line = frame.line;
    }
    return rest.bytes == 0 ? symbol_new(frames, found.frame_count) : NULL;
}

/* Returns the length with terminator, 0 for an empty text. */
static uint16_t text_bytes(const char *text)
{
    return text == NULL || text[0] == '\0' ? 0 : (uint16_t)(strnlen(text, SYMBOL_TEXT_BYTES_MAX) + 1);
}

static unsigned char *put_text(unsigned char *at, const char *text, size_t bytes)
{
    if (bytes == 0)
        return at;
    memcpy(at, text, bytes - 1);
    at[bytes - 1] = '\0';
    return at + bytes;
}

size_t sym_found_format(void *packet, size_t capacity, uint64_t key, uint64_t offset, const struct symbol_frame *frames,
                        size_t frame_count)
{
    struct sym_found found = {.kind = SYM_FOUND, .key = key, .offset = offset};
    unsigned char *at = (unsigned char *)packet + sizeof(found);

    for (size_t i = 0; i < frame_count && i < SYMBOL_FRAMES_MAX; i++) {
        struct sym_frame frame = {frames[i].line, text_bytes(frames[i].function), text_bytes(frames[i].file)};

        if (sizeof(frame) + frame.function_bytes + frame.file_bytes > capacity - (size_t)(at - (unsigned char *)packet))
            break;
        memcpy(at, &frame, sizeof(frame));
        at = put_text(at + sizeof(frame), frames[i].function, frame.function_bytes);
        at = put_text(at, frames[i].file, frame.file_bytes);
        found.frame_count++;
    }
    memcpy(packet, &found, sizeof(found));
    return (size_t)(at - (unsigned char *)packet);
}
