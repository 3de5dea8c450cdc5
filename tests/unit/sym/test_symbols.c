/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbols.c - queries to a symbolizer that misbehaves: ripd/sym/symbols.c. */
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

static char self[4096], mark[64];
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

/* How on_fetch() answers. */
static struct {
    int result; /* 0: it opens a file */
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

/* Of the test; released by end(). */
static struct symbols *symbols;
static struct symbols_counters counters;
static struct module_facts *modules[8];
static size_t module_count;

/* Makes a module with a build id of its own: the symbolizer takes modules with the same build id for the same file. */
static struct module_facts *module_of(const char *path, uint32_t uid)
{
    const char build_id[] = {'a', (char)('0' + module_count), '\0'};

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

    trouble_count = given_up_count = start_trouble_count = 0;
    assert_int_equal(symbols_new(&symbols, &options), 0);
}

/* The fixture of most tests: timeout and pause do not expire. */
static int begin(void **state)
{
    (void)state;
    begin_with(self, LONG_NS, LONG_NS);
    return 0;
}

/* symbols_free() releases all references to modules. */
static int end(void **state)
{
    (void)state;
    symbols_free(symbols);
    symbols = NULL;
    while (module_count != 0) {
        struct module_facts *module = modules[--module_count];

        assert_int_equal(module->references, 1);
        module_facts_unref(module);
    }
    return 0;
}

static bool want(struct module_facts *module, uint64_t offset)
{
    return symbols_want(symbols, NULL, NULL, module, offset);
}

/* Waits until all queries are answered, and counts. */
static void wait_idle(void)
{
    for (int i = 0; !symbols_are_idle(symbols); i++) {
        assert_true(i < 60000);
        usleep(1000);
    }
    symbols_count(symbols, &counters);
}

/* Queries one place and waits. Returns NULL if there is no answer yet. */
static const struct symbol *answer_to(struct module_facts *module, uint64_t offset)
{
    want(module, offset);
    wait_idle();
    return symbol_table_find(&module->symbols, offset);
}

static void assert_frames(struct module_facts *module, uint64_t offset, size_t count)
{
    const struct symbol *symbol = answer_to(module, offset);

    assert_non_null(symbol);
    assert_int_equal(symbol->frame_count, count);
}

/* Makes a module PATH:MARK: the fake symbolizer does what PATH says, depending on a file MARK. */
static struct module_facts *module_with_mark(const char *path)
{
    char text[96];

    snprintf(mark, sizeof(mark), "/tmp/test_symbols-%d", (int)getpid());
    snprintf(text, sizeof(text), "%s:%s", path, mark);
    return module_of(text, 1);
}

static void make_mark(void)
{
    close(open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

TEST(names, begin, end)
{
    struct module_facts *fine = module_of("/fine", 1), *none = module_of("/missing", 1);
    struct module_facts *forgets = module_of("/forgets", 1), *unnamed = sample_module("/fine", "", 1);

    assert_string_equal(answer_to(fine, 1)->frames[0].file, "/fine");
    assert_false(want(fine, 1)); /* already known */
    assert_frames(none, 1, 0);
    assert_frames(unnamed, 1, 0); /* without process and build id no file is opened */
    for (uint64_t i = 0; i < 5; i++)
        assert_frames(forgets, i, 1);
    assert_int_equal(counters.named_count, 6);
    assert_int_equal(counters.unnamed_count, 2);
    assert_int_equal(counters.symbolizers.start_count, 1);
    assert_int_equal(counters.refused_count, 0);
    assert_true(idle_count > 0);
    module_facts_unref(unnamed);
}

TEST(a_place_is_queried_once, begin, end)
{
    struct module_facts *slow = module_of("/slow", 1);

    for (unsigned i = 0; i < SYMBOLS_QUERIES_MAX; i++)
        assert_true(want(slow, 1) || symbol_table_find(&slow->symbols, 1) != NULL);
    wait_idle();
    assert_int_equal(counters.named_count, 1);
    assert_int_equal(counters.refused_count, 0);
}

/* symbols_free() drops the queries that wait. */
TEST(too_many_queries, begin, end)
{
    struct module_facts *slow = module_of("/slow", 1);

    for (uint64_t i = 0; i < SYMBOLS_QUERIES_MAX / 2 + 1000; i++)
        want(slow, i);
    symbols_count(symbols, &counters);
    assert_in_range(counters.refused_count, 500, 1000);
}

/* A module whose table is full gets no further answers, not even to queries that wait. */
TEST(a_full_table, begin, end)
{
    const uint64_t wanted = 2 * SYMBOL_TABLE_BYTES_MAX / SYM_PACKET_BYTES;
    struct module_facts *large = module_of("/large", 1), *counted = module_of("/count", 1);
    const struct symbol *symbol;

    for (uint64_t i = 0; i < wanted; i++)
        want(large, i);
    wait_idle();
    assert_in_range(counters.named_count, wanted / 2 - 10, wanted / 2 + 40); /* frames that do not fit are left out */
    assert_int_equal(counters.unkept_count, wanted - counters.named_count);
    assert_in_range(counters.kept_bytes, SYMBOL_TABLE_BYTES_MAX, SYMBOL_TABLE_BYTES_MAX + (1 << 20));
    assert_false(want(large, wanted));
    assert_true(symbols_are_idle(symbols));
    symbol = answer_to(counted, 1);
    assert_int_equal(symbol->frames[0].line, counters.named_count - 1);
    assert_int_equal(counters.unkept_count, wanted - counters.named_count + 2);
    assert_int_equal(counters.refused_count, 0);
}

/* Symbolizers that fail ------------------------------------------------------------------------------------------- */

static uint64_t failure_count(void)
{
    return counters.symbolizers.end_counts[CHILD_DIED] + counters.symbolizers.end_counts[CHILD_NONSENSE];
}

/* The file is tried twice, then given up. Its user has to pause, another user does not. */
TEST(a_file_that_ends_symbolizers)
{
    static const char *const paths[] = {"/dies", "/open-dies", "/nonsense", "/half", "/key", "/long", "/error"};

    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        struct module_facts *fine = module_of("/fine", 2), *deadly = module_of(paths[i], 1);

        begin(NULL);
        assert_frames(deadly, 1, 0);
        assert_null(answer_to(deadly, 2)); /* its user pauses */
        assert_non_null(answer_to(fine, i));
        assert_int_equal(failure_count(), SYMBOLS_STRIKES_MAX);
        assert_int_equal(counters.symbolizers.start_count, SYMBOLS_STRIKES_MAX + 1);
        assert_int_equal(counters.refused_count, 0);
        assert_int_equal(trouble_count, SYMBOLS_STRIKES_MAX);
        assert_int_equal(given_up_count, 1);
        end(NULL);
    }
}

TEST(a_file_that_was_given_up, begin, end)
{
    struct module_facts *deadly = module_of("/dies", 1);

    begin_with(self, LONG_NS, 1);
    for (uint64_t i = 0; i < 20; i++) {
        assert_frames(deadly, i, 0);
        usleep(100); /* longer than a pause */
    }
    assert_int_equal(counters.symbolizers.start_count, SYMBOLS_STRIKES_MAX);
}

TEST(one_failure_is_forgiven, begin, end)
{
    assert_frames(module_with_mark("/dies-once"), 1, 1); /* by the second try */
    unlink(mark);
}

TEST(killed_between_queries, begin, end)
{
    struct module_facts *fine = module_of("/fine", 1);

    for (uint64_t i = 0; i < 20; i++) {
        const struct symbol *symbol = answer_to(fine, i);

        assert_non_null(symbol);
        assert_int_equal(kill((pid_t)symbol->frames[0].line, SIGKILL), 0);
        assert_int_equal(waitid(P_PID, (id_t)symbol->frames[0].line, NULL, WEXITED | WNOWAIT), 0);
    }
    assert_int_equal(counters.named_count, 20);
    assert_int_equal(counters.symbolizers.end_counts[CHILD_IDLE], 19);
    assert_int_equal(counters.symbolizers.end_counts[CHILD_HUNG], 0);
}

/* The second try, and all other queries of that user, get a fraction of the time. */
TEST(a_file_that_hangs, NULL, end)
{
    struct module_facts *stops = module_of("/stops", 1), *fine = module_of("/fine", 2);

    begin_with(self, SHORT_NS, LONG_NS);
    assert_frames(stops, 1, 0);
    assert_frames(fine, 1, 1);
    assert_int_equal(counters.symbolizers.end_counts[CHILD_HUNG], SYMBOLS_STRIKES_MAX);
}

/* After a failure a user gets a quarter of the time. Other users get all of it. */
TEST(less_time_after_a_failure, NULL, end)
{
    struct module_facts *dies = module_of("/dies", 1), *late = module_of("/late", 1), *of_other = module_of("/late", 2);

    begin_with(self, 4 * UINT64_C(1000000000), 1);
    assert_frames(dies, 1, 0);
    assert_frames(of_other, 1, 1);
    usleep(100); /* longer than a pause */
    assert_frames(late, 1, 0);
    assert_int_equal(counters.symbolizers.end_counts[CHILD_HUNG], SYMBOLS_STRIKES_MAX);
}

/* A file that could not be opened through a process is tried again through another process. */
TEST(a_file_that_appears, begin, end)
{
    struct process_facts *process = sample_process(UINT32_MAX, 1);
    struct module_facts *module = module_with_mark("/appears");

    assert_frames(module, 1, 0);
    make_mark();
    assert_frames(module, 2, 0);
    assert_true(symbols_want(symbols, NULL, process, module, 3));
    wait_idle();
    assert_int_equal(symbol_table_find(&module->symbols, 3)->frame_count, 1);
    assert_frames(module, 4, 1); /* it is open now */
    unlink(mark);
    process_facts_unref(process);
}

TEST(free_while_it_hangs, begin, end)
{
    struct module_facts *stops = module_of("/stops", 1);
    uint64_t before_ns, free_ns;

    while (waitpid(-1, NULL, 0) > 0) /* children that earlier tests killed, on a busy machine */
        continue;
    before_ns = clock_mono_ns();
    for (uint64_t i = 0; i < 10; i++)
        assert_true(want(stops, i));
    usleep(100000);
    free_ns = clock_mono_ns();
    end(NULL);
    assert_true(clock_mono_ns() - before_ns < LONG_NS / 60);
    if (clock_mono_ns() - free_ns < SHORT_NS) /* on a busy machine this proves nothing */
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

TEST(no_program, NULL, end)
{
    struct module_facts *fine = module_of("/fine", 1);

    begin_with("/nowhere/ripd-symbolizer", LONG_NS, LONG_NS);
    assert_null(answer_to(fine, 1));
    assert_false(want(fine, 1)); /* not during the pause */
    assert_int_equal(start_trouble_count, 1);
}

/* A failed start is not tried again for each query that waits for it. */
TEST(no_start, NULL, end)
{
    struct module_facts *fine = module_of("/fine", 1);

    begin_with("/bin/cat", LONG_NS, LONG_NS); /* ends before it is ready */
    for (uint64_t i = 0; i < 100; i++)
        want(fine, i);
    wait_idle();
    assert_int_equal(start_trouble_count, 1);
    assert_int_equal(counters.refused_count, 100);
    assert_int_equal(counters.unnamed_count, 0); /* unknown, not unnamed: it may be found later */
}

static void *query_a_lot(void *context)
{
    (void)context;
    for (uint64_t i = 0; i < 400; i++) {
        want(modules[i % 4], i / 8);
        symbol_table_find(&modules[i % 4]->symbols, i / 4);
    }
    return NULL;
}

/* Several threads query and read tables at the same time, while symbolizers end and start. */
TEST(several_threads, NULL, end)
{
    static const char *const paths[] = {"/fine", "/dies", "/forgets", "/nonsense"};
    pthread_t threads[4];

    begin_with(self, LONG_NS, 1);
    for (uint32_t i = 0; i < 4; i++)
        module_of(paths[i], i + 1);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, query_a_lot, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    wait_idle();
    assert_in_range(counters.named_count, 2, 100); /* at most 50 of each of two files */
}

/* Files that another process opens ----------------------------------------------------------------------------------
 */

static struct lease *ring;
static struct process_facts *process;
static struct module_facts *fetched_module;

static void begin_fetching(uint64_t restart_ns)
{
    begin_with(self, LONG_NS, restart_ns);
    ring = lease_new(STDIN_FILENO);
    process = sample_process((uint32_t)getpid(), 1);
    fetched_module = module_of("/fetched", 1);
    fetching.result = 0;
    fetching.waits = false;
    fetching.count = 0;
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
    assert_int_equal(fetching.count, 1); /* once per file */
}

TEST(fetch_refused, NULL, end_fetching)
{
    begin_fetching(LONG_NS);
    fetching.result = -EACCES;
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(fetched(i)->frame_count, 0);
    assert_int_equal(fetching.count, 1);
    fetching.result = 0;
    process->pid++; /* another process may have the file */
    assert_int_equal(fetched(5)->frame_count, 1);
    assert_int_equal(fetching.count, 2);
}

/* A temporary error leaves the place unknown. It is fetched again after a pause. */
TEST(fetch_fails_for_now)
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
            assert_int_equal(fetching.count, 1);
        assert_int_equal(counters.refused_count, 5);
        assert_int_equal(counters.unnamed_count, 0);
        fetching.result = 0;
        while (clock_mono_ns() - before_ns < 2 * SHORT_NS)
            usleep(10000);
        assert_int_equal(fetched(0)->frame_count, 1);
        end_fetching(NULL);
    }
}

/* The symbolizer has no file descriptor left at first. */
TEST(no_descriptors, NULL, end)
{
    struct module_facts *module = module_with_mark("/lacks");
    const struct symbol *symbol;

    begin_with(self, LONG_NS, SHORT_NS);
    assert_null(answer_to(module, 1));
    make_mark();
    while ((symbol = answer_to(module, 1)) == NULL)
        usleep(10000);
    assert_int_equal(symbol->frame_count, 1);
    unlink(mark);
}

/* Users ------------------------------------------------------------------------------------------------------------ */

/* Uids of a subordinate range pause with their user, and share the account of that user. */
TEST(subordinate_uids, begin, end)
{
    struct module_facts *deadly = module_of("/dies", 100001);
    struct module_facts *of_user = module_of("/fine", 1), *of_range = module_of("/fine", 100002);
    struct module_facts *of_other = module_of("/fine", 2);
    struct work_account account;

    assert_frames(deadly, 1, 0);
    assert_null(answer_to(of_user, 1));
    assert_null(answer_to(of_range, 1));
    assert_frames(of_other, 1, 1);
    assert_true(symbols_account(symbols, 0, &account));
    assert_int_equal(account.user, 1);
    assert_int_equal(account.held[WORK_SYMBOL_QUERIES], 2);
    assert_true(symbols_account(symbols, 1, &account));
    assert_int_equal(account.user, 2);
    assert_false(symbols_account(symbols, 2, &account));
}

/* The names of one user may take half of the memory. It is free again when the modules are. */
TEST(bytes_of_a_user, begin, end)
{
    enum { MODULES = SYMBOLS_BYTES_MAX / 2 / SYMBOL_TABLE_BYTES_MAX + 1 };
    const uint64_t wanted = SYMBOL_TABLE_BYTES_MAX / SYM_PACKET_BYTES + 50; /* an answer is a little smaller */
    struct module_facts *large[MODULES], *of_other = module_of("/large", 2);
    struct work_account account;

    for (size_t i = 0; i < MODULES; i++) {
        large[i] = sample_module("/large", "aa", 1);
        for (uint64_t k = 0; k < wanted; k++)
            want(large[i], k);
        wait_idle();
    }
    assert_in_range(counters.kept_bytes, SYMBOLS_BYTES_MAX / 2 - 2 * SYM_PACKET_BYTES, SYMBOLS_BYTES_MAX / 2);
    assert_false(symbol_table_is_full(&large[MODULES - 1]->symbols)); /* it may grow again later */
    assert_true(symbols_account(symbols, 0, &account));
    assert_int_equal(account.held[WORK_SYMBOL_BYTES], counters.kept_bytes);
    assert_true(account.refused[WORK_SYMBOL_BYTES] != 0);
    assert_null(answer_to(large[MODULES - 1], wanted));
    assert_true(answer_to(of_other, 1)->frame_count > 1);
    module_facts_unref(large[0]);
    assert_non_null(answer_to(large[MODULES - 1], wanted));
    for (size_t i = 1; i < MODULES; i++)
        module_facts_unref(large[i]);
}

/* Nothing is fetched for a module that is no file, or for a process that is not attested. */
TEST(not_fetched, NULL, end_fetching)
{
    struct module_facts *vdso = module_of("linux-vdso.so.1", 1), *fine = module_of("/fine", 1);

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
    assert_int_equal(fetching.count, 0);
    symbols_want(symbols, ring, process, fine, 1);
    wait_idle();
    assert_int_equal(symbol_table_find(&fine->symbols, 1)->frame_count, 1);
    assert_int_equal(fetching.count, 1); /* the file itself is preferred to one of the same name */
}

TEST(free_during_a_fetch)
{
    uint64_t before_ns = clock_mono_ns();

    begin_fetching(LONG_NS);
    fetching.waits = true;
    symbols_want(symbols, ring, process, fetched_module, 1);
    while (fetching.count == 0)
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
