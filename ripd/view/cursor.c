/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor.c - where a page of a list ends, as text for the client to hand back. Pure.
 *
 * The text is a letter for the form and three fields of fixed width in lower-case hexadecimal, so that there is one
 * text for one cursor and nothing in it needs quoting in a URL:
 *
 *   a SSSSSSSSSSSSSSSS RRRRRRRR TTTTTTTT     (without the blanks) frozen_since_ns, ring, slot
 *
 * That of a list of events is a sequence number in decimal.
 */
#include "view/query_parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CURSOR_FORM 'a'
#define CURSOR_LENGTH (1u + 16u + 8u + 8u)

void cursor_format(const struct query_cursor *cursor, char ret_text[CURSOR_TEXT_BYTES])
{
    if (cursor->sequence != 0) {
        snprintf(ret_text, CURSOR_TEXT_BYTES, "%" PRIu64, cursor->sequence);
        return;
    }
    snprintf(ret_text, CURSOR_TEXT_BYTES, "%c%016" PRIx64 "%08" PRIx32 "%08" PRIx32, CURSOR_FORM,
             cursor->frozen_since_ns, cursor->ring, cursor->slot);
}

/* `count` digits at text. -EINVAL if one is not a lower-case hexadecimal digit. */
static int parse_hex(const char *text, size_t count, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (size_t i = 0; i < count; i++) {
        char digit = text[i];

        if (digit >= '0' && digit <= '9')
            value = value << 4 | (uint64_t)(digit - '0');
        else if (digit >= 'a' && digit <= 'f')
            value = value << 4 | (uint64_t)(digit - 'a' + 10);
        else
            return -EINVAL;
    }
    *ret_value = value;
    return 0;
}

int cursor_parse(const char *text, struct query_cursor *ret_cursor)
{
    uint64_t since_ns;
    uint64_t ring;
    uint64_t slot;

    if (strlen(text) != CURSOR_LENGTH || text[0] != CURSOR_FORM)
        return -EINVAL;
    if (parse_hex(text + 1, 16, &since_ns) < 0 || parse_hex(text + 17, 8, &ring) < 0 ||
        parse_hex(text + 25, 8, &slot) < 0)
        return -EINVAL;
    *ret_cursor = (struct query_cursor){
        .present = true,
        .frozen_since_ns = since_ns,
        .ring = (uint32_t)ring,
        .slot = (uint32_t)slot,
    };
    return 0;
}
