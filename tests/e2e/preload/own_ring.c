/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_ring.c RING - a program that is linked with librip and creates its own ring. Under the preload library it keeps
 * its ring, in addition to that of the preload library. Prints the values of its globals, then "ready", and ends when
 * stdin does.
 */
#include <librip.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char byte;

    if (argc != 2 || !rip_create_ring(argv[1], 64))
        return 1;
    rip_init(42, "mine", 4, 0, 0);
    for (int i = 0; i < 10; i++)
        rip_snap();
    printf("%d %d %d\nready\n", (int)rip_tid, rip_idx, rip_ctr);
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    rip_exit();
    return unlink(argv[1]) != 0;
}
