/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.c - removes variables from the environment. Touches nothing else.
 */
#include "os/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/text.h"

#define NUMBER_BYTES 24u

int environment_take(const char *name, char *ret_value, size_t size)
{
    const char *value = getenv(name);
    size_t length = value != NULL ? strlen(value) : 0;
    int result = (int)length;

    if (value == NULL)
        return -ENOENT;
    if (length < size)
        memcpy(ret_value, value, length + 1);
    else
        result = -ENAMETOOLONG;
    unsetenv(name);
    return result;
}

int environment_take_number(const char *name, uint64_t *ret_value)
{
    char text[NUMBER_BYTES] = "";
    int length = environment_take(name, text, sizeof(text));
    uint64_t value;
    const char *end;

    if (length == -ENOENT)
        return length;
    end = text[0] != ' ' && text[0] != '\t' ? text_decimal(text, UINT64_MAX, &value) : NULL;
    if (length < 0 || end == NULL || *end != '\0')
        return -EINVAL;
    *ret_value = value;
    return 0;
}

int environment_take_pid(const char *name)
{
    uint64_t pid;
    int result = environment_take_number(name, &pid);

    if (result == -ENOENT)
        return result;
    return result == 0 && pid == (uint64_t)getpid() ? 0 : -ESRCH;
}
