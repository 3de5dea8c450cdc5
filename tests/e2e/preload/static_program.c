/* SPDX-License-Identifier: Apache-2.0 */
/* static_program.c - statically linked: the dynamic linker does not see it, so neither does the preload library. */
#include <stdio.h>

int main(void)
{
    return puts("static") < 0;
}
