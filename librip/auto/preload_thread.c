/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_thread.c - gives every thread a slot under its own name.
 *
 * A thread registers itself before its start routine runs. Threads that were not created through our pthread_create()
 * register at their first wrapped call: glibc's helper threads, and threads of a library that looked up
 * pthread_create() itself, as jemalloc does.
 *
 * A thread that was created through our wrapper has a node in a table, from before it registers until its
 * thread-specific data is destroyed. pthread_setname_np() uses the node to find the slot of another thread.
 *
 * Guarantees
 *   A. If there is no memory for a node, the thread is still created, and registers at its first wrapped call.
 *   B. A rename reaches the slot whether it comes before, during or after the registration. The thread enters its node
 *      first and then reads its name from the kernel; a renaming thread sets the name in the kernel first and then
 *      looks for the node.
 *   C. Under a seccomp filter nodes come from a small static array, and a thread has the name of the thread that
 *      created it, as in the kernel.
 *   D. A node's slot is written only under the table's lock while the node is in the table. The thread removes its node
 *      before librip frees the slot: our key is older, and keys are destroyed in the order of their creation.
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
#define SPARE_NODE_COUNT 64u /* for threads created under a seccomp filter, where malloc() must not be called */

struct node {
    struct node *next;
    pthread_t thread;
    struct rip_slot *slot; /* NULL = not registered yet, or not traced */
    uint32_t id;
    bool renamed;                 /* before the thread was registered */
    bool set_aside;               /* one of spare_nodes */
    char name[KERNEL_NAME_BYTES]; /* under a seccomp filter the creator's name; if renamed, the new name */
    void *(*routine)(void *);
    int (*routine_c11)(void *); /* of a thread made by thrd_create() */
    void *argument;
};

__thread struct preload_thread preload_thread;

static pthread_mutex_t node_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct node *node_buckets[NODE_BUCKET_COUNT];
static RIP_EARLY pthread_key_t node_key;
static RIP_EARLY bool node_key_made;
static struct node spare_nodes[SPARE_NODE_COUNT];
static uint32_t spare_nodes_used[SPARE_NODE_COUNT];

/* --- nodes -------------------------------------------------------------------------------------------------------- */

static struct node *node_take_spare(void)
{
    for (unsigned int i = 0; i < SPARE_NODE_COUNT; i++) {
        uint32_t expected = 0;

        if (rip_compare_exchange(&spare_nodes_used[i], &expected, 1)) {
            spare_nodes[i] = (struct node){.set_aside = true};
            return &spare_nodes[i];
        }
    }
    return NULL;
}

static void node_free(struct node *node)
{
    if (node == NULL || !node->set_aside)
        free(node);
    else
        rip_store_release(&spare_nodes_used[node - spare_nodes], 0); /* pairs with the exchange in node_take_spare() */
}

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
    rip__mutex_lock(&node_mutex);
    node->next = *bucket;
    *bucket = node;
    pthread_mutex_unlock(&node_mutex);
}

static void node_remove(void *argument)
{
    struct node *node = argument;
    struct node **link = node_bucket(node->thread);

    rip__mutex_lock(&node_mutex);
    while (*link != NULL && *link != node)
        link = &(*link)->next;
    if (*link != NULL)
        *link = node->next;
    pthread_mutex_unlock(&node_mutex);
    node_free(node);
}

void preload_thread_setup(void)
{
    node_key_made = pthread_key_create(&node_key, node_remove) == 0;
}

/* A node that is not in the table is freed by its thread. In a forked child without that thread it leaks. */
void preload_thread_forget(void)
{
    rip__mutex_lock(&node_mutex);
    memset(node_buckets, 0, sizeof(node_buckets));
    pthread_mutex_unlock(&node_mutex);
}

void preload_thread_after_fork(void)
{
    pthread_mutex_init(&node_mutex, NULL); /* another thread may have held it */
    preload_thread_forget();
}

/* --- registration and names --------------------------------------------------------------------------------------- */

static void enter_as(const char *name)
{
    int saved_errno = errno;

    preload_thread.tried = true;
    rip_init(0, name, strnlen(name, KERNEL_NAME_BYTES - 1), 0, 0);
    preload_set_frame(0); /* in a forked child the frame is that of the thread that forked */
    preload_runtime_enter();
    preload_pages_enter();
    if (rip__thread.slot != NULL)
        rip_store_relaxed(&rip__thread.slot->call, RIP_CALL_OUTSIDE);
    errno = saved_errno;
}

void preload_thread_enter(void)
{
    char name[KERNEL_NAME_BYTES] = "";

    if (!preload_filtered())
        prctl(PR_GET_NAME, name);
    enter_as(name);
}

/* Renames the calling thread. As in the kernel, the name is cut to KERNEL_NAME_BYTES - 1. */
static void rename_own(const char *name)
{
    const struct rip_slot *slot = rip__thread.slot;
    int saved_errno = errno;

    if (slot != NULL && preload_is_ours()) {
        const uint8_t ctr = (uint8_t)rip_load_relaxed(&slot->count);

        rip_init((uint32_t)rip__tid, name, strnlen(name, KERNEL_NAME_BYTES - 1), (uint8_t)(ctr + slot->index_bias),
                 ctr);
    }
    errno = saved_errno;
}

static void rename_other(pthread_t thread, const char *name)
{
    struct node *node;

    rip__mutex_lock(&node_mutex);
    node = node_find_locked(thread);
    if (node != NULL && node->slot == NULL) {
        node->renamed = true;
        strncpy(node->name, name, KERNEL_NAME_BYTES - 1);
    } else if (node != NULL)
        rip__rename(node->slot, node->id, name, strnlen(name, KERNEL_NAME_BYTES - 1));
    pthread_mutex_unlock(&node_mutex);
}

/* Registers the calling thread. The table takes ownership of the node. */
static void node_enter(struct node *node)
{
    bool renamed;

    if (pthread_setspecific(node_key, node) != 0) {
        preload_thread_enter();
        node_free(node);
        return;
    }
    node_insert(node);
    if (preload_filtered())
        enter_as(node->name);
    else
        preload_thread_enter();
    rip__mutex_lock(&node_mutex);
    node->slot = rip__thread.slot;
    node->id = (uint32_t)rip__tid;
    renamed = node->renamed;
    pthread_mutex_unlock(&node_mutex);
    if (renamed)
        rename_own(node->name);
}

/* --- wrappers ----------------------------------------------------------------------------------------------------- */

static struct node *node_new(void)
{
    struct node *node;

    preload_start();
    if (!preload_is_ours() || !node_key_made)
        return NULL;
    if (!preload_filtered())
        return calloc(1, sizeof(struct node));
    node = node_take_spare();
    if (node != NULL && rip__thread.slot != NULL)
        rip__slot_name(rip__thread.slot, node->name, sizeof(node->name));
    return node;
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
        node_free(node);
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
        node_free(node);
    return result;
}

PRELOAD_WRAPPER(int, pthread_setname_np, (pthread_t thread, const char *name))
{
    int result = PRELOAD_REAL(int, pthread_setname_np, (pthread_t, const char *))(thread, name);

    if (result != 0 || !preload_is_ours())
        return result;
    if (pthread_equal(thread, pthread_self()))
        rename_own(name);
    else
        rename_other(thread, name);
    return result;
}

/* The kernel takes four arguments in addition to the option. glibc always passes all four. */
PRELOAD_WRAPPER(int, prctl, (int option, ...))
{
    unsigned long values[4];
    va_list arguments;
    bool begun;
    int result;

    va_start(arguments, option);
    for (unsigned int i = 0; i < 4; i++)
        values[i] = va_arg(arguments, unsigned long);
    va_end(arguments);
    begun = preload_is_filter_prctl(option, values) && preload_filter_begin();
    result = PRELOAD_REAL(int, prctl, (int, ...))(option, values[0], values[1], values[2], values[3]);
    preload_filter_end(begun, result == 0);
    if (option == PR_SET_NAME && result == 0)
        rename_own((const char *)values[0]);
    return result;
}
