/* SPDX-License-Identifier: Apache-2.0 */
/* static_program.c - linked statically: the dynamic linker never sees it, and neither does the preload library. */
#include <stdio.h>

int main(void)
{
    return puts("static") < 0;
}
