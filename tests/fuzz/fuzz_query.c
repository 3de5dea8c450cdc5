/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_query.c - the parameters of a request, and cursors: accepted ones are in bounds, and a cursor has exactly one
 * text.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "view/query_parse.h"

static void check_cursor(const char *text)
{
    char again[CURSOR_TEXT_BYTES];
    struct query_cursor cursor;

    if (cursor_parse(text, &cursor) < 0)
        return;
    cursor_format(&cursor, again);
    require(cursor.present && strcmp(text, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct query_error error;
    struct query query;
    char *text;

    if (size_bytes == 0)
        return 0;
    text = strndup((const char *)bytes + 1, size_bytes - 1); /* the first byte selects the allowed parameters */
    if (text == NULL)
        return 0;
    if (query_parse(text, bytes[0] * 0x101u, &query, &error) == 0) {
        require(query.limit >= 1 && query.limit <= QUERY_LIMIT_MAX && query.pid <= INT32_MAX);
        require(memchr(query.ring, 0, sizeof(query.ring)) != NULL && memchr(query.name, 0, sizeof(query.name)) != NULL);
        require(memchr(query.unit, 0, sizeof(query.unit)) != NULL);
        require(memchr(query.container, 0, sizeof(query.container)) != NULL);
        require(query.states < 1u << ID_STATE_COUNT && query.kinds < 1u << EVENT_KIND_COUNT);
    } else {
        require(memchr(error.parameter, 0, sizeof(error.parameter)) != NULL && error.detail[0] != '\0' &&
                memchr(error.detail, 0, sizeof(error.detail)) != NULL);
    }
    check_cursor(text);
    free(text);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static const char *const seeds[] = {
        "\377ring=check%20out&pid=4690&name=work*&cause=!sleeping&min_ms=250&limit=10000&state=idle",
        "\177after=a00000000000003e80000000100000011&cause=null",
        "\377a00000000000003e80000000100000011",
        "\377limit=1&limit=2",
        "\1name=%zz",
        "\377unit=checkout@*.service&container=0123456789abcdef*",
    };

    return fuzz_text(seeds, sizeof(seeds) / sizeof(seeds[0]), number, ret_bytes, capacity_bytes);
}
