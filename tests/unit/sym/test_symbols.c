/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbols.c - questions to a symbolizer that may do anything: ripd/sym/symbols.c. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>

#include "os/clock.h"
#include "support/test.h"
#include "sym/symbols.h"
#include "unit/fake_symbolizer.h"
#include "unit/sym_samples.h"

#define SHORT_NS UINT64_C(400000000)
#define LONG_NS UINT64_C(3600000000000)

static char self[4096];
static atomic_uint idle_count, trouble_count, given_up_count, start_trouble_count;

static void on_idle(void *context)
{
    (void)context;
    atomic_fetch_add(&idle_count, 1);
}

static void on_trouble(void *context, const struct symbols_trouble *trouble)
{
    (void)context;
    atomic_fetch_add(&trouble_count, 1);
    atomic_fetch_add(&given_up_count, trouble->given_up);
    atomic_fetch_add(&start_trouble_count, trouble->error != 0);
}

static struct {
    int result; /* a descriptor is opened instead of 0 */
    bool waits; /* until it is cancelled */
    atomic_uint count;
} fetching;

static int on_fetch(void *context, struct lease *ring, const struct process_facts *process,
                    const struct module_facts *module, int cancel)
{
    struct pollfd descriptor = {.fd = cancel, .events = POLLIN};

    (void)context;
    if (ring == NULL || process == NULL || !process->attested || module->path[0] != '/')
        abort();
    atomic_fetch_add(&fetching.count, 1);
    if (fetching.waits && poll(&descriptor, 1, 60000) == 1)
        return -ECANCELED;
    return fetching.result == 0 ? open("/bin/sh", O_RDONLY | O_CLOEXEC) : fetching.result;
}

static struct symbols *new_symbols(const char *program, uint64_t answer_ns, uint64_t restart_ns)
{
    const struct symbols_options options = {.program = program,
                                            .answer_ns = answer_ns,
                                            .restart_ns = restart_ns,
                                            .fetch = on_fetch,
                                            .idle = on_idle,
                                            .trouble = on_trouble};
    struct symbols *symbols = NULL;

    atomic_store(&trouble_count, 0);
    atomic_store(&given_up_count, 0);
    atomic_store(&start_trouble_count, 0);
    assert_int_equal(symbols_new(&symbols, &options), 0);
    return symbols;
}

static void wait_idle(struct symbols *symbols)
{
    for (int i = 0; !symbols_are_idle(symbols); i++) {
        assert_true(i < 60000);
        usleep(1000);
    }
}

/* Asks for one place and waits. NULL: there is no answer for now. */
static const struct symbol *answer_to(struct symbols *symbols, struct module_facts *module, uint64_t offset)
{
    symbols_want(symbols, NULL, NULL, module, offset);
    wait_idle(symbols);
    return symbol_table_find(&module->symbols, offset);
}

TEST(names)
{
    struct module_facts *fine = sample_module("/fine", "aa", 1), *none = sample_module("/missing", "bb", 1);
    struct module_facts *unnamed = sample_module("/fine", "", 1), *forgets = sample_module("/forgets", "cc", 1);
    struct symbols *symbols = new_symbols(self, LONG_NS, LONG_NS);
    struct symbols_counters counters;

    assert_string_equal(answer_to(symbols, fine, 1)->frames[0].file, "/fine");
    assert_false(symbols_want(symbols, NULL, NULL, fine, 1)); /* is there */
    assert_int_equal(answer_to(symbols, none, 1)->frame_count, 0);
    assert_int_equal(answer_to(symbols, unnamed, 1)->frame_count, 0); /* no process, no build id: nothing is opened */
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(answer_to(symbols, forgets, i)->frame_count, 1);
    symbols_count(symbols, &counters);
    assert_int_equal(counters.named_count, 6);
    assert_int_equal(counters.unnamed_count, 2);
    assert_int_equal(counters.symbolizers.start_count, 1);
    assert_int_equal(counters.refused_count, 0);
    assert_true(atomic_load(&idle_count) > 0);
    symbols_free(symbols);
    module_facts_unref(fine);
    module_facts_unref(none);
    module_facts_unref(unnamed);
    module_facts_unref(forgets);
}

TEST(a_place_is_asked_for_once)
{
    struct module_facts *slow = sample_module("/slow", "aa", 1);
    struct symbols *symbols = new_symbols(self, LONG_NS, LONG_NS);
    struct symbols_counters counters;

    for (unsigned i = 0; i < SYMBOLS_QUERIES_MAX; i++)
        assert_true(symbols_want(symbols, NULL, NULL, slow, 1) || symbol_table_find(&slow->symbols, 1) != NULL);
    wait_idle(symbols);
    symbols_count(symbols, &counters);
    assert_int_equal(counters.named_count, 1);
    assert_int_equal(counters.refused_count, 0);
    symbols_free(symbols);
    module_facts_unref(slow);
}

TEST(too_many_questions)
{
    struct module_facts *slow = sample_module("/slow", "aa", 1);
    struct symbols *symbols = new_symbols(self, LONG_NS, LONG_NS);
    struct symbols_counters counters;

    for (uint64_t i = 0; i < SYMBOLS_QUERIES_MAX / 2 + 1000; i++)
        symbols_want(symbols, NULL, NULL, slow, i);
    symbols_count(symbols, &counters);
    assert_in_range(counters.refused_count, 500, 1000);
    symbols_free(symbols); /* while the others wait: they are let go of */
    assert_int_equal(atomic_load(&slow->references), 1);
    module_facts_unref(slow);
}

/* Once a file has as many as it may, nothing is asked any more: not of what waits either. */
TEST(names_beyond_measure)
{
    const uint64_t asked = 2 * SYMBOL_TABLE_BYTES_MAX / SYM_PACKET_BYTES;
    struct module_facts *large = sample_module("/large", "aa", 1), *count = sample_module("/count", "bb", 1);
    struct symbols *symbols = new_symbols(self, LONG_NS, LONG_NS);
    struct symbols_counters counters;

    for (uint64_t i = 0; i < asked; i++)
        symbols_want(symbols, NULL, NULL, large, i);
    wait_idle(symbols);
    symbols_count(symbols, &counters);
    assert_in_range(counters.named_count, asked / 2 - 10, asked / 2 + 40); /* frames that did not fit are left out */
    assert_int_equal(counters.unkept_count, asked - counters.named_count);
    assert_in_range(counters.kept_bytes, SYMBOL_TABLE_BYTES_MAX, SYMBOL_TABLE_BYTES_MAX + (1 << 20));
    assert_false(symbols_want(symbols, NULL, NULL, large, asked));
    assert_true(symbols_are_idle(symbols));
    assert_int_equal(answer_to(symbols, count, 1)->frames[0].line, counters.named_count);
    symbols_count(symbols, &counters);
    assert_int_equal(counters.unkept_count, asked - counters.named_count + 2);
    assert_int_equal(counters.refused_count, 0);
    symbols_free(symbols);
    module_facts_unref(large);
    module_facts_unref(count);
}

/* The file is tried twice, then not again; its user pauses, another does not. */
TEST(a_deadly_file)
{
    static const char *const paths[] = {"/dies", "/open-dies", "/nonsense", "/half", "/key"};
    struct module_facts *fine = sample_module("/fine", "aa", 2);

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct symbols *symbols = new_symbols(self, LONG_NS, LONG_NS);
        struct module_facts *deadly = sample_module(paths[i], "aa", 1);
        struct symbols_counters counters;

        assert_int_equal(answer_to(symbols, deadly, 1)->frame_count, 0);
        assert_null(answer_to(symbols, deadly, 2)); /* its user pauses: it waits */
        assert_non_null(answer_to(symbols, fine, i));
        symbols_count(symbols, &counters);
        assert_int_equal(counters.symbolizers.end_counts[CHILD_DIED] + counters.symbolizers.end_counts[CHILD_NONSENSE],
                         SYMBOLS_STRIKES_MAX);
        assert_int_equal(counters.symbolizers.start_count, SYMBOLS_STRIKES_MAX + 1);
        assert_int_equal(counters.refused_count, 0);
        assert_int_equal(atomic_load(&trouble_count), SYMBOLS_STRIKES_MAX);
        assert_int_equal(atomic_load(&given_up_count), 1);
        symbols_free(symbols);
        module_facts_unref(deadly);
    }
    module_facts_unref(fine);
}

TEST(a_bad_file_is_remembered)
{
    struct module_facts *deadly = sample_module("/dies", "aa", 1);
    struct symbols *symbols = new_symbols(self, LONG_NS, 1);
    struct symbols_counters counters;

    for (uint64_t i = 0; i < 20; i++) {
        assert_int_equal(answer_to(symbols, deadly, i)->frame_count, 0);
        usleep(100); /* pauses of nanoseconds */
    }
    symbols_count(symbols, &counters);
    assert_int_equal(counters.symbolizers.start_count, SYMBOLS_STRIKES_MAX);
    symbols_free(symbols);
    module_facts_unref(deadly);
}

TEST(one_accident)
{
    char mark[64], path[96];
    struct module_facts *module;
    struct symbols *symbols = new_symbols(self, LONG_NS, LONG_NS);

    snprintf(mark, sizeof(mark), "/tmp/test_symbols-%d", (int)getpid());
    snprintf(path, sizeof(path), "/dies-once:%s", mark);
    module = sample_module(path, "aa", 1);
    assert_int_equal(answer_to(symbols, module, 1)->frame_count, 1); /* by the second try */
    unlink(mark);
    symbols_free(symbols);
    module_facts_unref(module);
}

TEST(killed_by_somebody)
{
    struct module_facts *fine = sample_module("/fine", "aa", 1);
    struct symbols *symbols = new_symbols(self, LONG_NS, LONG_NS);
    struct symbols_counters counters;

    for (uint64_t i = 0; i < 20; i++) {
        const struct symbol *symbol = answer_to(symbols, fine, i);

        assert_non_null(symbol);
        assert_int_equal(kill((pid_t)symbol->frames[0].line, SIGKILL), 0);
        assert_int_equal(waitid(P_PID, (id_t)symbol->frames[0].line, NULL, WEXITED | WNOWAIT), 0);
    }
    symbols_count(symbols, &counters);
    assert_int_equal(counters.named_count, 20);
    assert_int_equal(counters.symbolizers.end_counts[CHILD_IDLE], 19);
    assert_int_equal(counters.symbolizers.end_counts[CHILD_HUNG], 0);
    symbols_free(symbols);
    module_facts_unref(fine);
}

/* The second try gets a fraction of the time, and so does what else that user asks. */
TEST(a_hanging_file)
{
    struct module_facts *stops = sample_module("/stops", "aa", 1), *fine = sample_module("/fine", "bb", 2);
    struct symbols *symbols = new_symbols(self, SHORT_NS, LONG_NS);
    struct symbols_counters counters;

    assert_int_equal(answer_to(symbols, stops, 1)->frame_count, 0);
    assert_int_equal(answer_to(symbols, fine, 1)->frame_count, 1);
    symbols_count(symbols, &counters);
    assert_int_equal(counters.symbolizers.end_counts[CHILD_HUNG], SYMBOLS_STRIKES_MAX);
    symbols_free(symbols);
    module_facts_unref(stops);
    module_facts_unref(fine);
}

/* Who had a symbolizer end is waited for by a quarter of the time; others are not. */
TEST(haste)
{
    struct module_facts *dies = sample_module("/dies", "aa", 1), *late = sample_module("/late", "bb", 1);
    struct module_facts *of_other = sample_module("/late", "bb", 2);
    struct symbols *symbols = new_symbols(self, 4 * UINT64_C(1000000000), 1);
    struct symbols_counters counters;

    assert_int_equal(answer_to(symbols, dies, 1)->frame_count, 0);
    assert_int_equal(answer_to(symbols, of_other, 1)->frame_count, 1);
    usleep(100); /* pauses of nanoseconds */
    assert_int_equal(answer_to(symbols, late, 1)->frame_count, 0);
    symbols_count(symbols, &counters);
    assert_int_equal(counters.symbolizers.end_counts[CHILD_HUNG], SYMBOLS_STRIKES_MAX);
    symbols_free(symbols);
    module_facts_unref(dies);
    module_facts_unref(late);
    module_facts_unref(of_other);
}

/* What could not be opened by way of a process is tried again by way of another one, not of the same. */
TEST(a_file_that_appears)
{
    struct process_facts *process = sample_process(UINT32_MAX, 1);
    char mark[64], path[96];
    struct module_facts *module;
    struct symbols *symbols = new_symbols(self, LONG_NS, LONG_NS);

    snprintf(mark, sizeof(mark), "/tmp/test_symbols-%d", (int)getpid());
    snprintf(path, sizeof(path), "/appears:%s", mark);
    module = sample_module(path, "aa", 1);
    assert_int_equal(answer_to(symbols, module, 1)->frame_count, 0);
    close(open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(answer_to(symbols, module, 2)->frame_count, 0);
    assert_true(symbols_want(symbols, NULL, process, module, 3));
    wait_idle(symbols);
    assert_int_equal(symbol_table_find(&module->symbols, 3)->frame_count, 1);
    assert_int_equal(answer_to(symbols, module, 4)->frame_count, 1); /* it is open now */
    unlink(mark);
    symbols_free(symbols);
    module_facts_unref(module);
    process_facts_unref(process);
}

TEST(stop_while_it_hangs)
{
    struct module_facts *stops = sample_module("/stops", "aa", 1);
    uint64_t before_ns, free_ns;
    struct symbols *symbols;

    while (waitpid(-1, NULL, 0) > 0) /* those that an earlier test has killed, on a busy machine */
        continue;
    symbols = new_symbols(self, LONG_NS, LONG_NS);
    before_ns = clock_mono_ns();
    for (uint64_t i = 0; i < 10; i++)
        assert_true(symbols_want(symbols, NULL, NULL, stops, i));
    usleep(100000);
    free_ns = clock_mono_ns();
    symbols_free(symbols);
    assert_true(clock_mono_ns() - before_ns < LONG_NS / 60);
    assert_int_equal(atomic_load(&stops->references), 1);
    if (clock_mono_ns() - free_ns < SHORT_NS) /* or the machine is so busy that it does not go */
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    module_facts_unref(stops);
}

TEST(no_program)
{
    struct module_facts *fine = sample_module("/fine", "aa", 1);
    struct symbols *symbols = new_symbols("/nowhere/ripd-symbolizer", LONG_NS, LONG_NS);

    assert_null(answer_to(symbols, fine, 1));
    assert_false(symbols_want(symbols, NULL, NULL, fine, 1)); /* not before the pause is over */
    assert_int_equal(atomic_load(&start_trouble_count), 1);
    symbols_free(symbols);
    module_facts_unref(fine);
}

/* A start that failed is not tried again for each question that waited for it. */
TEST(no_start)
{
    struct module_facts *fine = sample_module("/fine", "aa", 1);
    struct symbols *symbols = new_symbols("/bin/cat", LONG_NS, LONG_NS); /* ends before it says that it is ready */
    struct symbols_counters counters;

    for (uint64_t i = 0; i < 100; i++)
        symbols_want(symbols, NULL, NULL, fine, i);
    wait_idle(symbols);
    symbols_count(symbols, &counters);
    assert_int_equal(atomic_load(&start_trouble_count), 1);
    assert_int_equal(counters.refused_count, 100);
    assert_int_equal(counters.unnamed_count, 0); /* nobody has looked: it may be found later */
    symbols_free(symbols);
    module_facts_unref(fine);
}

struct crowd {
    struct symbols *symbols;
    struct module_facts *modules[4];
};

static void *ask_a_lot(void *context)
{
    struct crowd *crowd = context;

    for (uint64_t i = 0; i < 400; i++) {
        symbols_want(crowd->symbols, NULL, NULL, crowd->modules[i % 4], i / 8);
        symbol_table_find(&crowd->modules[i % 4]->symbols, i / 4);
    }
    return NULL;
}

/* Several threads ask and look at once, while symbolizers come and go. */
TEST(a_crowd)
{
    struct crowd crowd = {new_symbols(self, LONG_NS, 1),
                          {sample_module("/fine", "aa", 1), sample_module("/dies", "bb", 2),
                           sample_module("/forgets", "cc", 3), sample_module("/nonsense", "dd", 4)}};
    struct symbols_counters counters;
    pthread_t threads[4];

    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_a_lot, &crowd), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    wait_idle(crowd.symbols);
    symbols_count(crowd.symbols, &counters);
    assert_in_range(counters.named_count, 2, 100); /* 50 each of two files */
    symbols_free(crowd.symbols);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(atomic_load(&crowd.modules[i]->references), 1);
        module_facts_unref(crowd.modules[i]);
    }
}

/* Files that only somebody else can open --------------------------------------------------------------------------- */

struct scene {
    struct symbols *symbols;
    struct lease *ring;
    struct process_facts *process;
    struct module_facts *module;
};

static void scene_open(struct scene *scene, uint64_t restart_ns)
{
    scene->symbols = new_symbols(self, LONG_NS, restart_ns);
    scene->ring = lease_new(STDIN_FILENO);
    scene->process = sample_process((uint32_t)getpid(), 1);
    scene->module = sample_module("/fetched", "aa", 1);
    fetching.result = 0;
    fetching.waits = false;
    atomic_store(&fetching.count, 0);
}

static void scene_close(struct scene *scene)
{
    symbols_free(scene->symbols);
    lease_unref(scene->ring);
    assert_int_equal(atomic_load(&scene->module->references), 1);
    process_facts_unref(scene->process);
    module_facts_unref(scene->module);
}

static const struct symbol *fetched(struct scene *scene, uint64_t offset)
{
    symbols_want(scene->symbols, scene->ring, scene->process, scene->module, offset);
    wait_idle(scene->symbols);
    return symbol_table_find(&scene->module->symbols, offset);
}

TEST(fetched)
{
    struct scene scene;

    scene_open(&scene, LONG_NS);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(fetched(&scene, i)->frame_count, 1);
    assert_int_equal(atomic_load(&fetching.count), 1); /* for one file */
    scene_close(&scene);
}

TEST(not_to_be_had)
{
    struct scene scene;

    scene_open(&scene, LONG_NS);
    fetching.result = -EACCES;
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(fetched(&scene, i)->frame_count, 0);
    assert_int_equal(atomic_load(&fetching.count), 1);
    fetching.result = 0;
    scene.process->pid++; /* another process may have it */
    assert_int_equal(fetched(&scene, 5)->frame_count, 1);
    assert_int_equal(atomic_load(&fetching.count), 2);
    scene_close(&scene);
}

/* What cannot be had now is asked for again, but not at once, and nothing is known of it until then. */
TEST(not_now)
{
    static const int results[] = {-EAGAIN, -EMFILE, -ENFILE};

    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        struct symbols_counters counters;
        struct scene scene;
        uint64_t before_ns;

        scene_open(&scene, SHORT_NS);
        fetching.result = results[i];
        before_ns = clock_mono_ns();
        for (uint64_t k = 0; k < 5; k++)
            assert_null(fetched(&scene, k));
        if (clock_mono_ns() - before_ns < SHORT_NS)
            assert_int_equal(atomic_load(&fetching.count), 1);
        symbols_count(scene.symbols, &counters);
        assert_int_equal(counters.refused_count, 5);
        assert_int_equal(counters.unnamed_count, 0);
        fetching.result = 0;
        while (clock_mono_ns() - before_ns < 2 * SHORT_NS)
            usleep(10000);
        assert_int_equal(fetched(&scene, 0)->frame_count, 1);
        scene_close(&scene);
    }
}

/* The symbolizer has no descriptor left for it; later it has. */
TEST(no_descriptors)
{
    char mark[64], path[96];
    struct module_facts *module;
    struct symbols *symbols = new_symbols(self, LONG_NS, SHORT_NS);
    const struct symbol *symbol;

    snprintf(mark, sizeof(mark), "/tmp/test_symbols-%d", (int)getpid());
    snprintf(path, sizeof(path), "/lacks:%s", mark);
    module = sample_module(path, "aa", 1);
    assert_null(answer_to(symbols, module, 1));
    close(open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    while ((symbol = answer_to(symbols, module, 1)) == NULL)
        usleep(10000);
    assert_int_equal(symbol->frame_count, 1);
    unlink(mark);
    symbols_free(symbols);
    module_facts_unref(module);
}

/* Users -------------------------------------------------------------------------------------------------------------*/

/* Uids of a subordinate range pause with their user, and have no share of their own. */
TEST(subordinate_uids)
{
    const struct work_range range = {100000, 65536, 1};
    struct symbols *symbols = new_symbols(self, LONG_NS, LONG_NS);
    struct module_facts *deadly = sample_module("/dies", "aa", 100001);
    struct module_facts *of_user = sample_module("/fine", "bb", 1), *of_range = sample_module("/fine", "bb", 100002);
    struct module_facts *of_other = sample_module("/fine", "bb", 2);
    struct work_account account;

    assert_int_equal(symbols_set_ranges(symbols, &range, 1), 0);
    assert_int_equal(answer_to(symbols, deadly, 1)->frame_count, 0);
    assert_null(answer_to(symbols, of_user, 1));
    assert_null(answer_to(symbols, of_range, 1));
    assert_int_equal(answer_to(symbols, of_other, 1)->frame_count, 1);
    assert_true(symbols_account(symbols, 0, &account));
    assert_int_equal(account.user, 1);
    assert_int_equal(account.held[WORK_SYMBOL_QUERIES], 2);
    assert_true(symbols_account(symbols, 1, &account));
    assert_int_equal(account.user, 2);
    assert_false(symbols_account(symbols, 2, &account));
    symbols_free(symbols);
    module_facts_unref(deadly);
    module_facts_unref(of_user);
    module_facts_unref(of_range);
    module_facts_unref(of_other);
}

/* One user's names take half of what there is; others have room, and all of it comes back. */
TEST(bytes_of_a_user)
{
    enum { MODULES = SYMBOLS_BYTES_MAX / 2 / SYMBOL_TABLE_BYTES_MAX + 1 };
    const uint64_t asked = SYMBOL_TABLE_BYTES_MAX / SYM_PACKET_BYTES + 50; /* an answer is a little smaller */
    struct symbols *symbols = new_symbols(self, LONG_NS, LONG_NS);
    struct module_facts *modules[MODULES], *of_other = sample_module("/large", "aa", 2);
    struct symbols_counters counters;
    struct work_account account;

    for (size_t i = 0; i < MODULES; i++) {
        modules[i] = sample_module("/large", "aa", 1);
        for (uint64_t k = 0; k < asked; k++)
            symbols_want(symbols, NULL, NULL, modules[i], k);
        wait_idle(symbols);
    }
    symbols_count(symbols, &counters);
    assert_in_range(counters.kept_bytes, SYMBOLS_BYTES_MAX / 2 - 2 * SYM_PACKET_BYTES, SYMBOLS_BYTES_MAX / 2);
    assert_false(symbol_table_is_full(&modules[MODULES - 1]->symbols)); /* it may go on when others have gone */
    assert_true(symbols_account(symbols, 0, &account));
    assert_int_equal(account.held[WORK_SYMBOL_BYTES], counters.kept_bytes);
    assert_true(account.refused[WORK_SYMBOL_BYTES] != 0);
    assert_null(answer_to(symbols, modules[MODULES - 1], asked));
    assert_int_equal(answer_to(symbols, of_other, 1)->frame_count > 1, 1);
    module_facts_unref(modules[0]);
    assert_non_null(answer_to(symbols, modules[MODULES - 1], asked));
    for (size_t i = 1; i < MODULES; i++)
        module_facts_unref(modules[i]);
    symbols_free(symbols); /* tables outlive it */
    module_facts_unref(of_other);
}

/* Nobody is asked for what is no file, or not of a process that is vouched for. */
TEST(not_fetched)
{
    struct module_facts *vdso = sample_module("linux-vdso.so.1", "bb", 1), *fine = sample_module("/fine", "cc", 1);
    struct scene scene;

    scene_open(&scene, LONG_NS);
    symbols_want(scene.symbols, NULL, scene.process, scene.module, 1);
    symbols_want(scene.symbols, scene.ring, NULL, scene.module, 2);
    wait_idle(scene.symbols);
    scene.process->attested = false;
    assert_int_equal(fetched(&scene, 3)->frame_count, 0);
    scene.process->attested = scene.process->dead = true;
    scene.process->pid++;
    assert_int_equal(fetched(&scene, 4)->frame_count, 0);
    scene.process->dead = false;
    symbols_want(scene.symbols, scene.ring, scene.process, vdso, 1);
    wait_idle(scene.symbols);
    assert_int_equal(atomic_load(&fetching.count), 0);
    symbols_want(scene.symbols, scene.ring, scene.process, fine, 1);
    wait_idle(scene.symbols);
    assert_int_equal(symbol_table_find(&fine->symbols, 1)->frame_count, 1);
    assert_int_equal(atomic_load(&fetching.count), 1); /* the very file, before one of that name */
    scene_close(&scene);
    module_facts_unref(vdso);
    module_facts_unref(fine);
}

TEST(an_end_while_it_is_fetched)
{
    uint64_t before_ns = clock_mono_ns();
    struct scene scene;

    scene_open(&scene, LONG_NS);
    fetching.waits = true;
    symbols_want(scene.symbols, scene.ring, scene.process, scene.module, 1);
    while (atomic_load(&fetching.count) == 0)
        usleep(1000);
    scene_close(&scene);
    assert_true(clock_mono_ns() - before_ns < 60 * UINT64_C(1000000000));
}

int main(void)
{
    fake_symbolizer();
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
        return 1;
    return tests_run(NULL, NULL);
}
