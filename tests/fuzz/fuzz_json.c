/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_json.c - any bytes as a JSON string: the output is valid UTF-8 without control characters, and changes are
 * always reported.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "view/json_writer.h"

/* Checks one character inside a string, independently of the product. Returns its length in bytes. */
static size_t check_character(const unsigned char *text, size_t length)
{
    static const unsigned first_codes[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t count = text[0] < 0x80 ? 1 : text[0] >> 5 == 6 ? 2 : text[0] >> 4 == 14 ? 3 : text[0] >> 3 == 30 ? 4 : 0;
    unsigned code = count == 1 ? text[0] : text[0] & (0x7fu >> count);

    require(count != 0 && count <= length);
    for (size_t i = 1; i < count; i++) {
        require(text[i] >> 6 == 2);
        code = code << 6 | (text[i] & 0x3fu);
    }
    require(code >= first_codes[count] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff));
    require(code >= 0x20 && (code < 0x7f || code > 0x9f) && code != 0x202e && code != '"');
    if (code != '\\')
        return count;
    require(length >= 2 && (text[1] == '"' || text[1] == '\\' || text[1] == 'u'));
    if (text[1] != 'u')
        return 2;
    require(length >= 6 && strspn((const char *)text + 2, "0123456789abcdef") >= 4);
    return 6;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct json_writer writer;
    size_t length, with_key_bytes;
    bool changed;
    char *text;

    json_init(&writer);
    json_bytes(&writer, "k", bytes, size_bytes);
    with_key_bytes = writer.length;
    json_done(&writer);
    json_init(&writer);
    json_bytes(&writer, NULL, bytes, size_bytes);
    changed = with_key_bytes != writer.length + strlen("\"k\":"); /* KEY_hex follows */
    if (json_finish(&writer, &text, &length) < 0)
        return 0;
    require(length >= 2 && text[0] == '"' && text[length - 1] == '"' && strlen(text) == length);
    for (size_t i = 1; i < length - 1;)
        i += check_character((const unsigned char *)text + i, length - 1 - i);
    if (!changed) { /* then the output is the input, except for quoting */
        size_t at = 0;

        for (size_t i = 1; i < length - 1; i++, at++) {
            i += text[i] == '\\';
            require(at < size_bytes && (uint8_t)text[i] == bytes[at]);
        }
        require(at == size_bytes);
    }
    free(text);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static const char *const seeds[] = {
        "worker-17",
        "w\xc3\xb6rker \xe2\x82\xac \xf0\x9f\x98\x80 \"quoted\" back\\slash",
        "\x1b[31m\x7f\xc2\x9b\xe2\x80\xae\xe2\x81\xa6",
        "\xed\xa0\x80\xf4\x90\x80\x80\xc0\xaf\xef\xbf\xbe\xef\xb7\x90\xff",
    };

    return fuzz_text(seeds, sizeof(seeds) / sizeof(seeds[0]), number, ret_bytes, capacity_bytes);
}
