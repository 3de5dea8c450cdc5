/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_thread.c - every thread has a slot under its own name.
 *
 * A thread registers itself before its start routine runs. What pthread_create() has not shown us (glibc's helper
 * threads, those of a library that looked pthread_create() up by itself, as jemalloc does) registers at its first
 * wrapped call.
 *
 * A thread that was created through us has a node in a table, from before it registers until its thread-specific data
 * is destroyed. The node is how pthread_setname_np() finds the slot of another thread.
 *
 * Guarantees
 *   A. Without memory for a node the thread is created all the same and registers at its first wrapped call.
 *   B. A rename reaches the slot whether it comes before, while or after the thread registers: the thread enters its
 *      node first and then reads its name from the kernel; a renaming thread sets the name in the kernel first and then
 *      looks for the node.
 *   C. A node's slot is written only under the table's lock while the node is in the table, and the thread takes the
 *      node out before the library frees the slot: its key is older, and keys are destroyed in that order.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <threads.h>

#include "preload.h"
#include "writer.h"

#define NODE_BUCKET_COUNT 1024u
#define KERNEL_NAME_BYTES 16

struct node {
    struct node *next;
    pthread_t thread;
    struct rip_slot *slot; /* NULL = not registered yet, or not traced */
    uint32_t id;
    bool renamed; /* before it was registered */
    void *(*routine)(void *);
    int (*routine_c11)(void *); /* of a thread made by thrd_create() */
    void *argument;
};

__thread struct preload_thread preload_thread __attribute__((tls_model("initial-exec")));

static pthread_mutex_t node_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct node *node_buckets[NODE_BUCKET_COUNT];
static pthread_key_t node_key;
static bool node_key_made;

/* --- the table ---------------------------------------------------------------------------------------------------- */

static struct node **node_bucket(pthread_t thread)
{
    return &node_buckets[((uintptr_t)thread >> 12) * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}

static struct node *node_find_locked(pthread_t thread)
{
    struct node *node = *node_bucket(thread);

    while (node != NULL && !pthread_equal(node->thread, thread))
        node = node->next;
    return node;
}

static void node_insert(struct node *node)
{
    struct node **bucket;

    node->thread = pthread_self();
    bucket = node_bucket(node->thread);
    pthread_mutex_lock(&node_mutex);
    node->next = *bucket;
    *bucket = node;
    pthread_mutex_unlock(&node_mutex);
}

static void node_remove(void *argument)
{
    struct node *node = argument;
    struct node **link = node_bucket(node->thread);

    pthread_mutex_lock(&node_mutex);
    while (*link != NULL && *link != node)
        link = &(*link)->next;
    if (*link != NULL)
        *link = node->next;
    pthread_mutex_unlock(&node_mutex);
    free(node);
}

void preload_thread_setup(void)
{
    node_key_made = pthread_key_create(&node_key, node_remove) == 0;
}

/* A node that is in no table is freed by its thread, or leaks in the child where that thread is not. */
void preload_thread_forget(void)
{
    pthread_mutex_lock(&node_mutex);
    memset(node_buckets, 0, sizeof(node_buckets));
    pthread_mutex_unlock(&node_mutex);
}

void preload_thread_after_fork(void)
{
    pthread_mutex_init(&node_mutex, NULL); /* another thread may have held it */
    preload_thread_forget();
}

/* --- registration and names --------------------------------------------------------------------------------------- */

static size_t kernel_name(char ret_name[KERNEL_NAME_BYTES])
{
    memset(ret_name, 0, KERNEL_NAME_BYTES);
    prctl(PR_GET_NAME, ret_name);
    return strnlen(ret_name, KERNEL_NAME_BYTES - 1);
}

void preload_thread_enter(void)
{
    char name[KERNEL_NAME_BYTES];
    int saved_errno = errno;

    preload_thread.tried = true;
    rip_init(0, name, kernel_name(name), 0, 0);
    errno = saved_errno;
}

static void rename_own(void)
{
    char name[KERNEL_NAME_BYTES];
    int saved_errno = errno;

    if (rip__thread.slot != NULL && preload_is_ours())
        rip_init((uint32_t)rip__tid, name, kernel_name(name), rip__idx, rip__ctr);
    errno = saved_errno;
}

static void rename_other(pthread_t thread, const char *name)
{
    struct node *node;

    pthread_mutex_lock(&node_mutex);
    node = node_find_locked(thread);
    if (node != NULL && node->slot == NULL)
        node->renamed = true;
    else if (node != NULL)
        rip__rename(node->slot, node->id, name, strnlen(name, KERNEL_NAME_BYTES - 1));
    pthread_mutex_unlock(&node_mutex);
}

/* Registers the thread that node belongs to. From here on the table owns the node. */
static void node_enter(struct node *node)
{
    bool renamed;

    if (pthread_setspecific(node_key, node) != 0) {
        preload_thread_enter();
        free(node);
        return;
    }
    node_insert(node);
    preload_thread_enter();
    pthread_mutex_lock(&node_mutex);
    node->slot = rip__thread.slot;
    node->id = (uint32_t)rip__tid;
    renamed = node->renamed;
    pthread_mutex_unlock(&node_mutex);
    if (renamed)
        rename_own();
}

/* --- wrappers ----------------------------------------------------------------------------------------------------- */

static struct node *node_new(void)
{
    preload_start();
    return preload_is_ours() && node_key_made ? calloc(1, sizeof(struct node)) : NULL;
}

static void *thread_main(void *argument)
{
    struct node *node = argument;
    void *(*routine)(void *) = node->routine;

    argument = node->argument;
    node_enter(node);
    return routine(argument);
}

static int thread_main_c11(void *argument)
{
    struct node *node = argument;
    int (*routine)(void *) = node->routine_c11;

    argument = node->argument;
    node_enter(node);
    return routine(argument);
}

PRELOAD_WRAPPER(int, pthread_create,
                (pthread_t * thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *argument))
{
    struct node *node = node_new();
    int result;

    if (node != NULL) {
        node->routine = routine;
        node->argument = argument;
        routine = thread_main;
        argument = node;
    }
    result = PRELOAD_REAL(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))(
        thread, attributes, routine, argument);
    if (result != 0)
        free(node);
    return result;
}

PRELOAD_WRAPPER(int, thrd_create, (thrd_t * thread, int (*routine)(void *), void *argument))
{
    struct node *node = node_new();
    int result;

    if (node != NULL) {
        node->routine_c11 = routine;
        node->argument = argument;
        routine = thread_main_c11;
        argument = node;
    }
    result = PRELOAD_REAL(int, thrd_create, (thrd_t *, int (*)(void *), void *))(thread, routine, argument);
    if (result != thrd_success)
        free(node);
    return result;
}

PRELOAD_WRAPPER(int, pthread_setname_np, (pthread_t thread, const char *name))
{
    int result = PRELOAD_REAL(int, pthread_setname_np, (pthread_t, const char *))(thread, name);

    if (result != 0 || !preload_is_ours())
        return result;
    if (pthread_equal(thread, pthread_self()))
        rename_own();
    else
        rename_other(thread, name);
    return result;
}

/* The kernel takes four arguments beside the option, and glibc passes all four, given or not. */
PRELOAD_WRAPPER(int, prctl, (int option, ...))
{
    unsigned long values[4];
    va_list arguments;
    int result;

    va_start(arguments, option);
    for (unsigned int i = 0; i < 4; i++)
        values[i] = va_arg(arguments, unsigned long);
    va_end(arguments);
    result = PRELOAD_REAL(int, prctl, (int, ...))(option, values[0], values[1], values[2], values[3]);
    if (option == PR_SET_NAME && result == 0)
        rename_own();
    return result;
}
