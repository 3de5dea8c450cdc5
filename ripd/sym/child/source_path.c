/* SPDX-License-Identifier: Apache-2.0 */
/* source_path.c - see source_path.h. */
#include "sym/child/source_path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Returns the offset of the last part of text. */
static size_t last_part(const char *text, size_t length)
{
    while (length != 0 && text[length - 1] != '/')
        length--;
    return length;
}

/* Adds one part to text, which has length bytes and no trailing slash unless it is "/". Returns the new length. */
static size_t add_part(char *text, size_t length, const char *part, size_t bytes)
{
    const bool is_up = bytes == 2 && memcmp(part, "..", 2) == 0;
    const size_t last = last_part(text, length);

    if (bytes == 0 || (bytes == 1 && part[0] == '.'))
        return length;
    if (is_up && length == 1 && text[0] == '/')
        return length;
    if (is_up && length != 0 && !(length - last == 2 && memcmp(text + last, "..", 2) == 0))
        return last > 1 ? last - 1 : last;
    if (length != 0 && text[length - 1] != '/')
        text[length++] = '/';
    memcpy(text + length, part, bytes);
    return length + bytes;
}

static size_t add_path(char *text, size_t length, const char *path)
{
    while (*path != '\0') {
        size_t bytes = strcspn(path, "/");

        length = add_part(text, length, path, bytes);
        path += bytes + (path[bytes] == '/');
    }
    return length;
}

char *source_path(const char *directory, const char *file)
{
    const size_t directory_bytes = directory == NULL ? 0 : strlen(directory);
    char *text = malloc(directory_bytes + strlen(file) + 3);
    size_t length = 0;

    if (text == NULL)
        return NULL;
    if (file[0] == '/')
        text[length++] = '/';
    length = add_path(text, length, file);
    if (length >= 2 && memcmp(text, "..", 2) == 0 && (length == 2 || text[2] == '/') && directory_bytes != 0 &&
        directory[0] == '/') {
        text[0] = '/';
        length = add_path(text, add_path(text, 1, directory), file);
    }
    text[length] = '\0';
    return text;
}
