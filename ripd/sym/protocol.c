/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.c - frames into a packet and out of it. Pure. */
#include "sym/protocol.h"

#include <stdlib.h>
#include <string.h>

/* A text of the packet, terminated in *at; NULL for an empty one. */
static const char *take_text(const unsigned char **from, size_t *left, size_t bytes, char **at)
{
    char *text = *at;

    if (bytes == 0)
        return NULL;
    memcpy(text, *from, bytes);
    text[bytes] = '\0';
    *from += bytes;
    *left -= bytes;
    *at += bytes + 1;
    return text;
}

struct symbol *sym_found_parse(const void *packet, size_t bytes, uint64_t key, uint64_t offset)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];
    struct sym_found found;
    const unsigned char *from = packet;
    size_t left = bytes;
    struct symbol *symbol = NULL;
    char *texts, *at;

    if (bytes < sizeof(found) || bytes > SYM_PACKET_BYTES)
        return NULL;
    memcpy(&found, packet, sizeof(found));
    if (found.kind != SYM_FOUND || found.status != 0 || found.key != key || found.offset != offset ||
        found.frame_count > SYMBOL_FRAMES_MAX)
        return NULL;
    from += sizeof(found);
    left -= sizeof(found);
    texts = malloc(left + (size_t)2 * SYMBOL_FRAMES_MAX); /* and a terminator for each */
    if (texts == NULL)
        return NULL;
    at = texts;
    for (uint32_t i = 0; i < found.frame_count; i++) {
        struct sym_frame frame;

        if (left < sizeof(frame))
            goto done;
        memcpy(&frame, from, sizeof(frame));
        from += sizeof(frame);
        left -= sizeof(frame);
        if ((size_t)frame.function_bytes + frame.file_bytes > left)
            goto done;
        frames[i].function = take_text(&from, &left, frame.function_bytes, &at);
        frames[i].file = take_text(&from, &left, frame.file_bytes, &at);
        frames[i].line = frame.line;
    }
    if (left == 0)
        symbol = symbol_new(frames, found.frame_count);
done:
    free(texts);
    return symbol;
}

static uint16_t text_bytes(const char *text)
{
    return text == NULL ? 0 : (uint16_t)strnlen(text, SYMBOL_TEXT_BYTES_MAX);
}

size_t sym_found_format(void *packet, size_t capacity, uint64_t key, uint64_t offset, const struct symbol_frame *frames,
                        size_t frame_count)
{
    struct sym_found found = {.kind = SYM_FOUND, .key = key, .offset = offset};
    unsigned char *at = (unsigned char *)packet + sizeof(found);

    for (size_t i = 0; i < frame_count && i < SYMBOL_FRAMES_MAX; i++) {
        struct sym_frame frame = {frames[i].line, text_bytes(frames[i].function), text_bytes(frames[i].file)};
        size_t room = capacity - (size_t)(at - (unsigned char *)packet);

        if (sizeof(frame) + frame.function_bytes + frame.file_bytes > room)
            break;
        memcpy(at, &frame, sizeof(frame));
        at += sizeof(frame);
        if (frame.function_bytes != 0)
            memcpy(at, frames[i].function, frame.function_bytes);
        at += frame.function_bytes;
        if (frame.file_bytes != 0)
            memcpy(at, frames[i].file, frame.file_bytes);
        at += frame.file_bytes;
        found.frame_count++;
    }
    memcpy(packet, &found, sizeof(found));
    return (size_t)(at - (unsigned char *)packet);
}
