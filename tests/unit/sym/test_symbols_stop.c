/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbols_stop.c - the end, when the thread is in the kernel and does not come back: ripd/sym/symbols.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>

#include "sym/symbols.h"
#include "unit/fake_symbolizer.h"
#include "unit/sym_samples.h"

#define LONG_NS UINT64_C(3600000000000)

static char self[4096];
static atomic_uint call_count; /* of functions that it was given */

static void on_idle(void *context)
{
    (void)context;
    atomic_fetch_add(&call_count, 1);
}

static void on_trouble(void *context, const struct symbols_trouble *trouble)
{
    (void)context;
    (void)trouble;
    atomic_fetch_add(&call_count, 1);
}

static int on_fetch(void *context, struct lease *ring, const struct process_facts *process,
                    const struct module_facts *module, int cancel)
{
    (void)context;
    (void)ring;
    (void)process;
    (void)module;
    (void)cancel;
    atomic_fetch_add(&call_count, 1);
    return -EACCES;
}

/* A tree like /proc, with a process 7 whose maps cannot be read for as long as somebody has them open for writing. */
static void make_tree(char *tree)
{
    char command[512];

    assert_non_null(mkdtemp(tree));
    snprintf(command, sizeof(command),
             "cd %s && mkdir -p 7/task/7 && touch 7/stat && mkfifo 7/maps && "
             "echo '7 (x) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 42 0 0 18446744073709551615' >7/task/7/stat",
             tree);
    assert_int_equal(system(command), 0);
}

/* It is not waited for, and calls nobody when it comes back: whoever it would call may be gone. */
static void test_it_stops_without_its_thread(void **state)
{
    char tree[] = "/tmp/test_symbols_stop-XXXXXX", path[64], command[64];
    const struct symbols_options options = {.program = self,
                                            .proc_path = tree,
                                            .answer_ns = LONG_NS,
                                            .restart_ns = LONG_NS,
                                            .fetch = on_fetch,
                                            .idle = on_idle,
                                            .trouble = on_trouble};
    struct module_facts *module = sample_module("/fetched", "", geteuid());
    struct process_facts *process = sample_process(7, 42);
    struct lease *ring = lease_new(STDIN_FILENO);
    struct symbols *symbols = NULL;
    int maps;

    (void)state;
    make_tree(tree);
    assert_int_equal(symbols_new(&symbols, &options), 0);
    assert_true(symbols_want(symbols, ring, process, module, 1));
    snprintf(path, sizeof(path), "%s/7/maps", tree);
    while ((maps = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
        usleep(1000); /* until the thread reads them */
    symbols_free(symbols);
    assert_int_equal(atomic_load(&module->references), 2); /* it still does */
    close(maps);
    while (atomic_load(&module->references) != 1)
        usleep(1000);
    assert_int_equal(atomic_load(&call_count), 0);
    snprintf(command, sizeof(command), "rm -r %s", tree);
    assert_int_equal(system(command), 0);
    lease_unref(ring);
    process_facts_unref(process);
    module_facts_unref(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_stops_without_its_thread),
    };

    fake_symbolizer();
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
