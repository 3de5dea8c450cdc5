/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late.c - a program that creates the ring argv[1], registers id 7, then loads the library argv[2] and waits in it.
 * With PLUGIN this file is that library.
 */
#ifdef PLUGIN
#include <unistd.h>

void stand(void (*snap_at)(const void *));

void stand(void (*snap_at)(const void *))
{
    for (;;) {
        snap_at((const char *)stand + 1);
        pause();
    }
}
#else
#include <dlfcn.h>
#include <librip.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void (*stand)(void (*)(const void *));
    void *plugin;

    if (argc != 3 || !rip_create_ring(argv[1], 64))
        return 2;
    rip_init(7, "late", 4, 0, 0);
    plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    stand = plugin != NULL ? (void (*)(void (*)(const void *)))dlsym(plugin, "stand") : NULL;
    if (stand == NULL)
        return 3;
    puts("ready");
    fflush(stdout);
    stand(rip_snap_at);
    return 0;
}
#endif
