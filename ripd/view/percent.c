/* SPDX-License-Identifier: Apache-2.0 */
/* percent.c - percent-decoding. Pure. A NUL would cut the text short of what the client meant, so it is refused. */
#include "view/percent.h"

#include <errno.h>

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

int percent_decode(const char *text, size_t length, bool plus_is_space, char *ret_text, size_t capacity)
{
    size_t count = 0;

    for (size_t i = 0; i < length; i++) {
        char byte = text[i];

        if (byte == '%') {
            if (length - i < 3 || hex_value(text[i + 1]) < 0 || hex_value(text[i + 2]) < 0)
                return -EINVAL;
            byte = (char)(hex_value(text[i + 1]) << 4 | hex_value(text[i + 2]));
            i += 2;
        } else if (byte == '+' && plus_is_space) {
            byte = ' ';
        }
        if (byte == '\0')
            return -EINVAL;
        if (count + 1 >= capacity)
            return -ENAMETOOLONG;
        ret_text[count++] = byte;
    }
    ret_text[count] = '\0';
    return 0;
}
