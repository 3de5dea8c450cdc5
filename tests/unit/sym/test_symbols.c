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

/* What a test has, until it ends. */
static struct symbols *symbols;
static struct symbols_counters counters;
static struct module_facts *modules[8];
static size_t module_count;

static struct module_facts *module_of(const char *path, const char *build_id, uint32_t uid)
{
    return modules[module_count++] = sample_module(path, build_id, uid);
}

static const struct uid_range subordinate = {100000, 65536, 1};

static void begin_with(const char *program, uint64_t answer_ns, uint64_t restart_ns)
{
    const struct symbols_options options = {.program = program,
                                            .answer_ns = answer_ns,
                                            .restart_ns = restart_ns,
                                            .ranges = &subordinate,
                                            .range_count = 1,
                                            .fetch = on_fetch,
                                            .idle = on_idle,
                                            .trouble = on_trouble};

    atomic_store(&trouble_count, 0);
    atomic_store(&given_up_count, 0);
    atomic_store(&start_trouble_count, 0);
    assert_int_equal(symbols_new(&symbols, &options), 0);
}

static void begin(uint64_t answer_ns, uint64_t restart_ns)
{
    begin_with(self, answer_ns, restart_ns);
}

/* Nothing has kept a module. */
static int end(void **state)
{
    (void)state;
    symbols_free(symbols);
    symbols = NULL;
    while (module_count != 0) {
        struct module_facts *module = modules[--module_count];

        assert_int_equal(atomic_load(&module->references), 1);
        module_facts_unref(module);
    }
    return 0;
}

static bool want(struct module_facts *module, uint64_t offset)
{
    return symbols_want(symbols, NULL, NULL, module, offset);
}

static void wait_idle(void)
{
    for (int i = 0; !symbols_are_idle(symbols); i++) {
        assert_true(i < 60000);
        usleep(1000);
    }
}

/* Asks for one place and waits. NULL: there is no answer for now. */
static const struct symbol *answer_to(struct module_facts *module, uint64_t offset)
{
    want(module, offset);
    wait_idle();
    return symbol_table_find(&module->symbols, offset);
}

static void count(void)
{
    symbols_count(symbols, &counters);
}

/* A module PATH:FILE, with which the symbolizer does what PATH says until or unless FILE is there. */
static struct module_facts *module_with_mark(const char *path, char ret_mark[64])
{
    char text[96];

    snprintf(ret_mark, 64, "/tmp/test_symbols-%d", (int)getpid());
    snprintf(text, sizeof(text), "%s:%s", path, ret_mark);
    return module_of(text, "aa", 1);
}

TEST(names, NULL, end)
{
    struct module_facts *fine = module_of("/fine", "aa", 1), *none = module_of("/missing", "bb", 1);
    struct module_facts *unnamed = module_of("/fine", "", 1), *forgets = module_of("/forgets", "cc", 1);

    begin(LONG_NS, LONG_NS);
    assert_string_equal(answer_to(fine, 1)->frames[0].file, "/fine");
    assert_false(want(fine, 1)); /* is there */
    assert_int_equal(answer_to(none, 1)->frame_count, 0);
    assert_int_equal(answer_to(unnamed, 1)->frame_count, 0); /* no process, no build id: nothing is opened */
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(answer_to(forgets, i)->frame_count, 1);
    count();
    assert_int_equal(counters.named_count, 6);
    assert_int_equal(counters.unnamed_count, 2);
    assert_int_equal(counters.symbolizers.start_count, 1);
    assert_int_equal(counters.refused_count, 0);
    assert_true(atomic_load(&idle_count) > 0);
}

TEST(a_place_is_asked_for_once, NULL, end)
{
    struct module_facts *slow = module_of("/slow", "aa", 1);

    begin(LONG_NS, LONG_NS);
    for (unsigned i = 0; i < SYMBOLS_QUERIES_MAX; i++)
        assert_true(want(slow, 1) || symbol_table_find(&slow->symbols, 1) != NULL);
    wait_idle();
    count();
    assert_int_equal(counters.named_count, 1);
    assert_int_equal(counters.refused_count, 0);
}

TEST(too_many_questions, NULL, end)
{
    struct module_facts *slow = module_of("/slow", "aa", 1);

    begin(LONG_NS, LONG_NS);
    for (uint64_t i = 0; i < SYMBOLS_QUERIES_MAX / 2 + 1000; i++)
        want(slow, i);
    count();
    assert_in_range(counters.refused_count, 500, 1000);
    end(NULL); /* while the others wait: they are let go of */
}

/* Once a file has as many as it may, nothing is asked any more: not of what waits either. */
TEST(names_beyond_measure, NULL, end)
{
    const uint64_t asked = 2 * SYMBOL_TABLE_BYTES_MAX / SYM_PACKET_BYTES;
    struct module_facts *large = module_of("/large", "aa", 1), *counted = module_of("/count", "bb", 1);

    begin(LONG_NS, LONG_NS);
    for (uint64_t i = 0; i < asked; i++)
        want(large, i);
    wait_idle();
    count();
    assert_in_range(counters.named_count, asked / 2 - 10, asked / 2 + 40); /* frames that did not fit are left out */
    assert_int_equal(counters.unkept_count, asked - counters.named_count);
    assert_in_range(counters.kept_bytes, SYMBOL_TABLE_BYTES_MAX, SYMBOL_TABLE_BYTES_MAX + (1 << 20));
    assert_false(want(large, asked));
    assert_true(symbols_are_idle(symbols));
    assert_int_equal(answer_to(counted, 1)->frames[0].line, counters.named_count);
    count();
    assert_int_equal(counters.unkept_count, asked - counters.named_count + 2);
    assert_int_equal(counters.refused_count, 0);
}

/* The file is tried twice, then not again; its user pauses, another does not. */
TEST(a_deadly_file, NULL, end)
{
    static const char *const paths[] = {"/dies", "/open-dies", "/nonsense", "/half", "/key"};

    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        struct module_facts *fine = module_of("/fine", "aa", 2), *deadly = module_of(paths[i], "aa", 1);

        begin(LONG_NS, LONG_NS);
        assert_int_equal(answer_to(deadly, 1)->frame_count, 0);
        assert_null(answer_to(deadly, 2)); /* its user pauses: it waits */
        assert_non_null(answer_to(fine, i));
        count();
        assert_int_equal(counters.symbolizers.end_counts[CHILD_DIED] + counters.symbolizers.end_counts[CHILD_NONSENSE],
                         SYMBOLS_STRIKES_MAX);
        assert_int_equal(counters.symbolizers.start_count, SYMBOLS_STRIKES_MAX + 1);
        assert_int_equal(counters.refused_count, 0);
        assert_int_equal(atomic_load(&trouble_count), SYMBOLS_STRIKES_MAX);
        assert_int_equal(atomic_load(&given_up_count), 1);
        end(NULL);
    }
}

TEST(a_bad_file_is_remembered, NULL, end)
{
    struct module_facts *deadly = module_of("/dies", "aa", 1);

    begin(LONG_NS, 1);
    for (uint64_t i = 0; i < 20; i++) {
        assert_int_equal(answer_to(deadly, i)->frame_count, 0);
        usleep(100); /* pauses of nanoseconds */
    }
    count();
    assert_int_equal(counters.symbolizers.start_count, SYMBOLS_STRIKES_MAX);
}

TEST(one_accident, NULL, end)
{
    char mark[64];
    struct module_facts *module = module_with_mark("/dies-once", mark);

    begin(LONG_NS, LONG_NS);
    assert_int_equal(answer_to(module, 1)->frame_count, 1); /* by the second try */
    unlink(mark);
}

TEST(killed_by_somebody, NULL, end)
{
    struct module_facts *fine = module_of("/fine", "aa", 1);

    begin(LONG_NS, LONG_NS);
    for (uint64_t i = 0; i < 20; i++) {
        const struct symbol *symbol = answer_to(fine, i);

        assert_non_null(symbol);
        assert_int_equal(kill((pid_t)symbol->frames[0].line, SIGKILL), 0);
        assert_int_equal(waitid(P_PID, (id_t)symbol->frames[0].line, NULL, WEXITED | WNOWAIT), 0);
    }
    count();
    assert_int_equal(counters.named_count, 20);
    assert_int_equal(counters.symbolizers.end_counts[CHILD_IDLE], 19);
    assert_int_equal(counters.symbolizers.end_counts[CHILD_HUNG], 0);
}

/* The second try gets a fraction of the time, and so does what else that user asks. */
TEST(a_hanging_file, NULL, end)
{
    struct module_facts *stops = module_of("/stops", "aa", 1), *fine = module_of("/fine", "bb", 2);

    begin(SHORT_NS, LONG_NS);
    assert_int_equal(answer_to(stops, 1)->frame_count, 0);
    assert_int_equal(answer_to(fine, 1)->frame_count, 1);
    count();
    assert_int_equal(counters.symbolizers.end_counts[CHILD_HUNG], SYMBOLS_STRIKES_MAX);
}

/* Who had a symbolizer end is waited for by a quarter of the time; others are not. */
TEST(haste, NULL, end)
{
    struct module_facts *dies = module_of("/dies", "aa", 1), *late = module_of("/late", "bb", 1);
    struct module_facts *of_other = module_of("/late", "bb", 2);

    begin(4 * UINT64_C(1000000000), 1);
    assert_int_equal(answer_to(dies, 1)->frame_count, 0);
    assert_int_equal(answer_to(of_other, 1)->frame_count, 1);
    usleep(100); /* pauses of nanoseconds */
    assert_int_equal(answer_to(late, 1)->frame_count, 0);
    count();
    assert_int_equal(counters.symbolizers.end_counts[CHILD_HUNG], SYMBOLS_STRIKES_MAX);
}

/* What could not be opened by way of a process is tried again by way of another one, not of the same. */
TEST(a_file_that_appears, NULL, end)
{
    struct process_facts *process = sample_process(UINT32_MAX, 1);
    char mark[64];
    struct module_facts *module = module_with_mark("/appears", mark);

    begin(LONG_NS, LONG_NS);
    assert_int_equal(answer_to(module, 1)->frame_count, 0);
    close(open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(answer_to(module, 2)->frame_count, 0);
    assert_true(symbols_want(symbols, NULL, process, module, 3));
    wait_idle();
    assert_int_equal(symbol_table_find(&module->symbols, 3)->frame_count, 1);
    assert_int_equal(answer_to(module, 4)->frame_count, 1); /* it is open now */
    unlink(mark);
    process_facts_unref(process);
}

TEST(stop_while_it_hangs, NULL, end)
{
    struct module_facts *stops = module_of("/stops", "aa", 1);
    uint64_t before_ns, free_ns;

    while (waitpid(-1, NULL, 0) > 0) /* those that an earlier test has killed, on a busy machine */
        continue;
    begin(LONG_NS, LONG_NS);
    before_ns = clock_mono_ns();
    for (uint64_t i = 0; i < 10; i++)
        assert_true(want(stops, i));
    usleep(100000);
    free_ns = clock_mono_ns();
    end(NULL);
    assert_true(clock_mono_ns() - before_ns < LONG_NS / 60);
    if (clock_mono_ns() - free_ns < SHORT_NS) /* or the machine is so busy that it does not go */
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

TEST(no_program, NULL, end)
{
    struct module_facts *fine = module_of("/fine", "aa", 1);

    begin_with("/nowhere/ripd-symbolizer", LONG_NS, LONG_NS);
    assert_null(answer_to(fine, 1));
    assert_false(want(fine, 1)); /* not before the pause is over */
    assert_int_equal(atomic_load(&start_trouble_count), 1);
}

/* A start that failed is not tried again for each question that waited for it. */
TEST(no_start, NULL, end)
{
    struct module_facts *fine = module_of("/fine", "aa", 1);

    begin_with("/bin/cat", LONG_NS, LONG_NS); /* ends before it says that it is ready */
    for (uint64_t i = 0; i < 100; i++)
        want(fine, i);
    wait_idle();
    count();
    assert_int_equal(atomic_load(&start_trouble_count), 1);
    assert_int_equal(counters.refused_count, 100);
    assert_int_equal(counters.unnamed_count, 0); /* nobody has looked: it may be found later */
}

static void *ask_a_lot(void *context)
{
    (void)context;
    for (uint64_t i = 0; i < 400; i++) {
        want(modules[i % 4], i / 8);
        symbol_table_find(&modules[i % 4]->symbols, i / 4);
    }
    return NULL;
}

/* Several threads ask and look at once, while symbolizers come and go. */
TEST(a_crowd, NULL, end)
{
    static const char *const paths[] = {"/fine", "/dies", "/forgets", "/nonsense"};
    pthread_t threads[4];

    begin(LONG_NS, 1);
    for (uint32_t i = 0; i < 4; i++)
        module_of(paths[i], "aa", i + 1);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_a_lot, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    wait_idle();
    count();
    assert_in_range(counters.named_count, 2, 100); /* 50 each of two files */
}

/* Files that only somebody else can open --------------------------------------------------------------------------- */

static struct lease *ring;
static struct process_facts *process;
static struct module_facts *fetched_module;

static void begin_fetching(uint64_t restart_ns)
{
    begin(LONG_NS, restart_ns);
    ring = lease_new(STDIN_FILENO);
    process = sample_process((uint32_t)getpid(), 1);
    fetched_module = module_of("/fetched", "aa", 1);
    fetching.result = 0;
    fetching.waits = false;
    atomic_store(&fetching.count, 0);
}

static int end_fetching(void **state)
{
    end(state);
    lease_unref(ring);
    process_facts_unref(process);
    return 0;
}

static const struct symbol *fetched(uint64_t offset)
{
    symbols_want(symbols, ring, process, fetched_module, offset);
    wait_idle();
    return symbol_table_find(&fetched_module->symbols, offset);
}

TEST(fetched, NULL, end_fetching)
{
    begin_fetching(LONG_NS);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(fetched(i)->frame_count, 1);
    assert_int_equal(atomic_load(&fetching.count), 1); /* for one file */
}

TEST(not_to_be_had, NULL, end_fetching)
{
    begin_fetching(LONG_NS);
    fetching.result = -EACCES;
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(fetched(i)->frame_count, 0);
    assert_int_equal(atomic_load(&fetching.count), 1);
    fetching.result = 0;
    process->pid++; /* another process may have it */
    assert_int_equal(fetched(5)->frame_count, 1);
    assert_int_equal(atomic_load(&fetching.count), 2);
}

/* What cannot be had now is asked for again, but not at once, and nothing is known of it until then. */
TEST(not_now)
{
    static const int results[] = {-EAGAIN, -EMFILE, -ENFILE};

    for (size_t i = 0; i < COUNT_OF(results); i++) {
        uint64_t before_ns;

        begin_fetching(SHORT_NS);
        fetching.result = results[i];
        before_ns = clock_mono_ns();
        for (uint64_t k = 0; k < 5; k++)
            assert_null(fetched(k));
        if (clock_mono_ns() - before_ns < SHORT_NS)
            assert_int_equal(atomic_load(&fetching.count), 1);
        count();
        assert_int_equal(counters.refused_count, 5);
        assert_int_equal(counters.unnamed_count, 0);
        fetching.result = 0;
        while (clock_mono_ns() - before_ns < 2 * SHORT_NS)
            usleep(10000);
        assert_int_equal(fetched(0)->frame_count, 1);
        end_fetching(NULL);
    }
}

/* The symbolizer has no descriptor left for it; later it has. */
TEST(no_descriptors, NULL, end)
{
    char mark[64];
    struct module_facts *module = module_with_mark("/lacks", mark);
    const struct symbol *symbol;

    begin(LONG_NS, SHORT_NS);
    assert_null(answer_to(module, 1));
    close(open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    while ((symbol = answer_to(module, 1)) == NULL)
        usleep(10000);
    assert_int_equal(symbol->frame_count, 1);
    unlink(mark);
}

/* Users -------------------------------------------------------------------------------------------------------------*/

/* Uids of a subordinate range pause with their user, and have no share of their own. */
TEST(subordinate_uids, NULL, end)
{
    struct module_facts *deadly = module_of("/dies", "aa", 100001);
    struct module_facts *of_user = module_of("/fine", "bb", 1), *of_range = module_of("/fine", "bb", 100002);
    struct module_facts *of_other = module_of("/fine", "bb", 2);
    struct work_account account;

    begin(LONG_NS, LONG_NS);
    assert_int_equal(answer_to(deadly, 1)->frame_count, 0);
    assert_null(answer_to(of_user, 1));
    assert_null(answer_to(of_range, 1));
    assert_int_equal(answer_to(of_other, 1)->frame_count, 1);
    assert_true(symbols_account(symbols, 0, &account));
    assert_int_equal(account.user, 1);
    assert_int_equal(account.held[WORK_SYMBOL_QUERIES], 2);
    assert_true(symbols_account(symbols, 1, &account));
    assert_int_equal(account.user, 2);
    assert_false(symbols_account(symbols, 2, &account));
}

/* One user's names take half of what there is; others have room, and all of it comes back. */
TEST(bytes_of_a_user, NULL, end)
{
    enum { MODULES = SYMBOLS_BYTES_MAX / 2 / SYMBOL_TABLE_BYTES_MAX + 1 };
    const uint64_t asked = SYMBOL_TABLE_BYTES_MAX / SYM_PACKET_BYTES + 50; /* an answer is a little smaller */
    struct module_facts *large[MODULES], *of_other = module_of("/large", "aa", 2);
    struct work_account account;

    begin(LONG_NS, LONG_NS);
    for (size_t i = 0; i < MODULES; i++) {
        large[i] = sample_module("/large", "aa", 1);
        for (uint64_t k = 0; k < asked; k++)
            want(large[i], k);
        wait_idle();
    }
    count();
    assert_in_range(counters.kept_bytes, SYMBOLS_BYTES_MAX / 2 - 2 * SYM_PACKET_BYTES, SYMBOLS_BYTES_MAX / 2);
    assert_false(symbol_table_is_full(&large[MODULES - 1]->symbols)); /* it may go on when others have gone */
    assert_true(symbols_account(symbols, 0, &account));
    assert_int_equal(account.held[WORK_SYMBOL_BYTES], counters.kept_bytes);
    assert_true(account.refused[WORK_SYMBOL_BYTES] != 0);
    assert_null(answer_to(large[MODULES - 1], asked));
    assert_int_equal(answer_to(of_other, 1)->frame_count > 1, 1);
    module_facts_unref(large[0]);
    assert_non_null(answer_to(large[MODULES - 1], asked));
    for (size_t i = 1; i < MODULES; i++)
        module_facts_unref(large[i]);
    end(NULL); /* tables outlive it */
}

/* Nobody is asked for what is no file, or not of a process that is vouched for. */
TEST(not_fetched, NULL, end_fetching)
{
    struct module_facts *vdso = module_of("linux-vdso.so.1", "bb", 1), *fine = module_of("/fine", "cc", 1);

    begin_fetching(LONG_NS);
    symbols_want(symbols, NULL, process, fetched_module, 1);
    symbols_want(symbols, ring, NULL, fetched_module, 2);
    wait_idle();
    process->attested = false;
    assert_int_equal(fetched(3)->frame_count, 0);
    process->attested = process->dead = true;
    process->pid++;
    assert_int_equal(fetched(4)->frame_count, 0);
    process->dead = false;
    symbols_want(symbols, ring, process, vdso, 1);
    wait_idle();
    assert_int_equal(atomic_load(&fetching.count), 0);
    symbols_want(symbols, ring, process, fine, 1);
    wait_idle();
    assert_int_equal(symbol_table_find(&fine->symbols, 1)->frame_count, 1);
    assert_int_equal(atomic_load(&fetching.count), 1); /* the very file, before one of that name */
}

TEST(an_end_while_it_is_fetched)
{
    uint64_t before_ns = clock_mono_ns();

    begin_fetching(LONG_NS);
    fetching.waits = true;
    symbols_want(symbols, ring, process, fetched_module, 1);
    while (atomic_load(&fetching.count) == 0)
        usleep(1000);
    end_fetching(NULL);
    assert_true(clock_mono_ns() - before_ns < 60 * UINT64_C(1000000000));
}

int main(void)
{
    fake_symbolizer();
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
        return 1;
    return tests_run(NULL, NULL);
}
