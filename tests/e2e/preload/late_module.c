/* SPDX-License-Identifier: Apache-2.0 */
/* late_module.c - a library that a program loads while it runs, and waits in. */
#include <unistd.h>

int read_byte(int descriptor);

/* Not the last thing it does: the call comes from here. */
int read_byte(int descriptor)
{
    char byte = 0;

    return read(descriptor, &byte, 1) == 1 ? byte : -1;
}
