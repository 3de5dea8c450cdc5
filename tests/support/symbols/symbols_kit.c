/* SPDX-License-Identifier: Apache-2.0 */
/* symbols_kit.c - a library with every kind of symbol that a search for functions can find. */
#include "symbols_kit.h"

extern int kit_data;
int kit_data = 3;

int kit_plain(void)
{
    return 1;
}

int kit_versions_old(void)
{
    return 2;
}

int kit_versions_new(void)
{
    return 3;
}

__asm__(".symver kit_versions_old, kit_versions@KIT_1");
__asm__(".symver kit_versions_new, kit_versions@@KIT_2");

int kit_old_only(void)
{
    return 4;
}

__asm__(".symver kit_old_only, kit_old@KIT_1");

typedef int function(void);

__attribute__((used)) static function *choose(void)
{
    return kit_plain;
}

int kit_chosen(void) __attribute__((ifunc("choose")));

int sigpause(int mask);

int sigpause(int mask)
{
    return mask;
}

void *kit_address_of_sigpause(void)
{
    return (void *)sigpause;
}
