/* SPDX-License-Identifier: Apache-2.0 */
/* late_module.c - a library that a program loads at run time and waits in. */
#include <unistd.h>

int read_byte(int descriptor);

/* The call must not be a tail call, so that the return address is in this library. */
int read_byte(int descriptor)
{
    char byte = 0;

    return read(descriptor, &byte, 1) == 1 ? byte : -1;
}
