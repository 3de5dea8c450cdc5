/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin.c - with PLUGIN, a plugin that is linked with its own copy of the library. Without, the program that loads it,
 * registers an id of a thread in it, unloads it, and only then ends the thread. Built by consumer_matrix.py.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef PLUGIN
#include <librip.h>

bool plugin_start(const char *path);
void plugin_enter(void);

bool plugin_start(const char *path)
{
    return rip_create_ring(path, 10);
}

void plugin_enter(void)
{
    rip_init(0, "plugged", 7, 0, 0);
    rip_snap();
}
#else
static pthread_barrier_t barrier;

static void *enter(void *function)
{
    ((void (*)(void))function)();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* the plugin is unloaded */
    return NULL;
}

int main(int argc, char **argv)
{
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    bool (*start)(const char *) = plugin != NULL ? (bool (*)(const char *))dlsym(plugin, "plugin_start") : NULL;
    char path[64];
    pthread_t thread;
    int status = 1;

    snprintf(path, sizeof(path), "/dev/shm/rip-plugin.%d", (int)getpid());
    if (start == NULL || !start(path) || unlink(path) != 0)
        return 2;
    pthread_barrier_init(&barrier, NULL, 2);
    if (pthread_create(&thread, NULL, enter, dlsym(plugin, "plugin_enter")) != 0)
        return 3;
    pthread_barrier_wait(&barrier);
    if (dlclose(plugin) != 0)
        return 4;
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    if (fork() == 0) /* its fork handlers are gone */
        _exit(0);
    wait(&status);
    return status;
}
#endif
