/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread.c - the id of a thread, new or resumed, and the globals: librip/thread.c. */
#include "unit/forked_test.h"

#include <sys/time.h>

#include "rip/runtime.h"

static struct rip_id_info read_own_info(void)
{
    struct rip_id_info info;

    CHECK(rip_view_id(own_view(), own_slot_index(), &info) == RIP_OK);
    return info;
}

/* Returns the number of entries; each must be of a snap that was made. */
static size_t read_own_trail(struct rip_entry entries[RIP_ENTRY_COUNT])
{
    uint64_t snap_count = read_own_info().snap_count;
    size_t count;

    CHECK(rip_view_trail(own_view(), own_slot_index(), entries, &count) == RIP_OK);
    for (size_t i = 0; i < count; i++)
        CHECK(entries[i].snap == snap_count - i);
    return count;
}

static bool globals_are(pid_t tid, unsigned idx, unsigned ctr)
{
    return rip_tid == tid && rip_idx == (uint8_t)idx && rip_ctr == (uint8_t)ctr;
}

/* Without a ring, without an id ------------------------------------------------------------------------------------ */

FORKED_TEST(calls_without_a_ring_or_id)
{
    snap_times(3);
    rip_idle();
    rip_exit();
    rip_switch(NULL, NULL);
    rip_snap_at(&test_directory);
    CHECK(globals_are(0, 0, 0));
    rip_init(9, "nine", 4, 17, 18); /* the globals are set without a ring, too */
    CHECK(globals_are(9, 17, 18) && rip__thread.slot == NULL);
    snap_times(3);
    CHECK(globals_are(9, 17, 18));
    make_ring(10);
    snap_times(3);
    CHECK(globals_are(9, 17, 18) && own_live_count() == 0);
    rip_init(9, "nine", 4, 17, 18);
    snap_times(3);
    CHECK(globals_are(9, 20, 21));
    rip_exit();
    CHECK(globals_are(0, 0, 0) && own_live_count() == 0);
    snap_times(3);
    rip_exit();
    CHECK(globals_are(0, 0, 0));
}

/* Registration ----------------------------------------------------------------------------------------------------- */

FORKED_TEST(new_id)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_id_info info;

    make_ring(10);
    rip_init(0, "main thread", 4, 0, 0);
    CHECK(globals_are(gettid(), 0, 0));
    info = read_own_info();
    CHECK(info.id == (uint32_t)gettid() && info.tid == (uint32_t)gettid() && info.kind == RIP_KIND_THREAD);
    CHECK(info.name_bytes == 4 && memcmp(info.name, "main", 4) == 0);
    CHECK(info.progress == 0 && info.snap_count == 0 && info.idle == 0 && read_own_trail(entries) == 0);
    CHECK(info.process == 0 && info.generation % 2 == 0 && info.registered_boot_ns != 0);
    snap_times(1);
    CHECK(globals_are(gettid(), 1, 1) && read_own_trail(entries) == 1);
    CHECK(entries[0].address - (uintptr_t)snap_times + 65536 < 131072); /* in or near snap_times() */
    snap_times(299);
    CHECK(globals_are(gettid(), 300, 300) && read_own_info().progress == 300 &&
          read_own_trail(entries) == RIP_ENTRY_COUNT);
}

FORKED_TEST(names_of_any_bytes_and_length)
{
    static const size_t lengths[] = {0, 1, RIP_NAME_BYTES, RIP_NAME_BYTES + 1, 200};
    char name[200];

    make_ring(10);
    memset(name, 0xff, sizeof(name));
    name[1] = '\0';
    for (uint32_t i = 0; i < COUNT_OF(lengths); i++) {
        size_t kept = lengths[i] < RIP_NAME_BYTES ? lengths[i] : RIP_NAME_BYTES;
        struct rip_id_info info;

        case_number = i;
        rip_init(1 + i, name, lengths[i], 0, 0);
        info = read_own_info();
        CHECK(info.name_bytes == kept && own_slot()->name_bytes == kept && memcmp(info.name, name, kept) == 0);
    }
    rip_init(100, NULL, 77, 0, 0);
    CHECK(read_own_info().name_bytes == 0);
}

/* For any initial globals: after n snaps both have advanced by n, and the progress is n. */
FORKED_TEST(globals_advance_from_any_values)
{
    static const unsigned values[] = {0, 1, 2, 31, 32, 127, 128, 200, 254, 255};
    const unsigned count = COUNT_OF(values);
    struct rip_entry entries[RIP_ENTRY_COUNT];

    make_ring(10);
    for (unsigned i = 0; i < count * count; i++) {
        unsigned idx = values[i / count], ctr = values[i % count];

        rip_init(5, "five", 4, (uint8_t)idx, (uint8_t)ctr);
        for (unsigned n = 0; n <= 300; n++) {
            CHECK(globals_are(5, idx + n, ctr + n));
            CHECK(read_own_info().snap_count == n);
            CHECK(read_own_trail(entries) == (n < RIP_ENTRY_COUNT ? n : RIP_ENTRY_COUNT));
            snap_times(1);
        }
        rip_exit();
    }
    CHECK(own_live_count() == 0);
}

/* New or resumed --------------------------------------------------------------------------------------------------- */

struct again {
    unsigned snaps;   /* snaps before the second rip_init() */
    const char *name; /* arguments of the second rip_init() */
    unsigned idx, ctr;
    uint64_t snap_count; /* expected after the second rip_init() */
};

FORKED_TEST(new_or_resumed)
{
    static const struct again cases[] = {
        {10, "same", 0, 0, 0},       /* a new registration */
        {10, NULL, 0, 0, 10},        /* no name: resumed, although the counter differs */
        {10, "same", 10, 10, 10},    /* the same name and counters */
        {10, "other", 10, 10, 10},   /* a rename, not a new registration */
        {10, "same", 0, 10, 10},     /* another index */
        {10, "same", 10, 0, 10},     /* another counter */
        {10, "same", 200, 77, 10},   /* both differ */
        {256, "same", 0, 0, 256},    /* a coroutine's counter that wrapped to 0 */
        {512, "same", 0, 0, 512},    /* wrapped twice */
        {257, "same", 0, 0, 0},      /* not a multiple of 256 */
        {0, "same", 0, 0, 0},        /* never snapped */
        {1000, "same", 9, 11, 1000}, /* both differ, after wrapping */
    };

    make_ring(10);
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        const struct again *again = &cases[i];
        struct rip_entry before[RIP_ENTRY_COUNT], after[RIP_ENTRY_COUNT];
        struct rip_slot *slot;
        size_t count;

        case_number = i;
        register_id(5, "same");
        slot = own_slot();
        snap_times(again->snaps);
        count = read_own_trail(before);
        register_id(6, "between");
        rip_init(5, again->name, 5, (uint8_t)again->idx, (uint8_t)again->ctr);
        CHECK(own_slot() == slot);
        CHECK(globals_are(5, again->idx, again->ctr));
        CHECK(read_own_info().snap_count == again->snap_count);
        CHECK(read_own_trail(after) == (again->snap_count != 0 ? count : 0));
        if (again->snap_count != 0)
            CHECK(memcmp(before, after, count * sizeof(before[0])) == 0);
        snap_times(40);
        CHECK(globals_are(5, again->idx + 40, again->ctr + 40));
        CHECK(read_own_info().snap_count == again->snap_count + 40 && read_own_trail(after) == RIP_ENTRY_COUNT);
        rip_exit();
        rip_init(6, NULL, 0, 0, 0);
        rip_exit();
    }
}

/* Resumed again and again with another counter: the bias stays a byte, and the progress stays exact. */
FORKED_TEST(resumed_with_random_counters)
{
    uint64_t snaps = 0;
    unsigned seed = 1;

    make_ring(10);
    rip_init(5, "five", 4, 3, 250);
    for (unsigned round = 0; round < 2000; round++) {
        unsigned idx = (unsigned)rand_r(&seed) % 256, ctr = (unsigned)rand_r(&seed) % 256;
        unsigned more = (unsigned)rand_r(&seed) % 70;
        struct rip_entry entries[RIP_ENTRY_COUNT];

        rip_init(5, NULL, 0, (uint8_t)idx, (uint8_t)ctr);
        snap_times(more);
        snaps += more;
        CHECK(globals_are(5, idx + more, ctr + more));
        CHECK(read_own_info().snap_count == snaps);
        CHECK(read_own_trail(entries) == (snaps < RIP_ENTRY_COUNT ? snaps : RIP_ENTRY_COUNT));
        CHECK(read_own_info().idle == 0);
    }
}

static bool name_is(const char *name, unsigned version)
{
    const struct rip_id_info info = read_own_info();

    return info.name_version == version && info.name_bytes == strlen(name) &&
           memcmp(info.name, name, info.name_bytes) == 0;
}

/* A rename keeps the registration. The name can be read even if a process was killed while it renamed the id. */
FORKED_TEST(renaming_keeps_the_registration)
{
    void (*const rename_own)(const char *name, size_t bytes) = rip_runtime_get()->rename;
    struct rip_id_info before;

    make_ring(10);
    register_id(5, "five");
    snap_times(3);
    before = read_own_info();
    CHECK(name_is("five", 0));
    rip_init(5, "cinq", 4, 3, 3);
    CHECK(name_is("cinq", 2));
    rename_own("cinq", 4);
    CHECK(name_is("cinq", 2));
    rename_own("fem", 3);
    CHECK(name_is("fem", 4));
    CHECK(read_own_info().generation == before.generation && read_own_info().progress == before.progress);
    for (unsigned i = 0; i < 200; i++)
        rename_own(i % 2 != 0 ? "pet" : "viisi", 3);
    CHECK(name_is("pet", (4 + 400) % 256));
    own_slot()->name_version |= 1;
    CHECK(name_is("pet", (4 + 400) % 256 | 1));
    rename_own("lima", 4);
    CHECK(name_is("lima", (4 + 402) % 256));
    register_id(5, "anew");
    CHECK(name_is("anew", 0) && read_own_info().generation == before.generation + 2);
}

/* Several ids ------------------------------------------------------------------------------------------------------ */

FORKED_TEST(several_ids_on_one_thread)
{
    struct rip_slot *first;

    make_ring_with_id(10);
    first = own_slot();
    CHECK(read_own_info().kind == RIP_KIND_THREAD);
    snap_times(5);
    register_id(2, "two");
    CHECK(own_slot() != first && read_own_info().kind == RIP_KIND_COROUTINE);
    CHECK(first->tid == 0 && first->kind == RIP_KIND_COROUTINE);
    CHECK(own_live_count() == 2);
    snap_times(7);
    rip_init(1, "one", 3, 5, 5);
    CHECK(own_slot() == first && read_own_info().snap_count == 5 && read_own_info().tid == (uint32_t)gettid());
    rip_exit();
    CHECK(own_live_count() == 1);
    rip_init(2, "two", 3, 7, 7);
    CHECK(read_own_info().snap_count == 7);
}

static pthread_barrier_t meeting;

static void *take_id_five(void *unused)
{
    (void)unused;
    rip_init(5, "five", 4, rip__ctr, 10);
    CHECK(read_own_info().snap_count == 10 && read_own_info().tid == (uint32_t)gettid());
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    CHECK(read_own_info().id == 5);
    return NULL;
}

/* The previous thread can no longer end the id, and no longer has it. */
FORKED_TEST(id_moves_to_another_thread)
{
    pthread_t thread;

    make_ring(10);
    pthread_barrier_init(&meeting, NULL, 2);
    register_id(5, "five");
    snap_times(10);
    thread = start_thread(take_id_five, NULL);
    pthread_barrier_wait(&meeting);
    rip_exit();
    CHECK(globals_are(0, 0, 0) && own_live_count() == 1);
    pthread_barrier_wait(&meeting);
    join_thread(thread);
    CHECK(own_live_count() == 0); /* the id ended with its thread */
}

static void *end_with_two_ids(void *unused)
{
    (void)unused;
    register_id(1, "one");
    register_id(0, "thread");
    rip_snap();
    return NULL;
}

FORKED_TEST(thread_end_ends_its_id)
{
    pthread_t thread;

    make_ring(10);
    for (unsigned i = 0; i < 300; i++) { /* more than the ring has slots */
        thread = start_thread(end_with_two_ids, NULL);
        join_thread(thread);
        CHECK(own_live_count() == 1); /* id 1 is on no thread and stays live */
    }
    CHECK(rip_ring->refused_full_count == 0);
}

static pthread_key_t late_key;

static void register_late(void *unused)
{
    (void)unused;
    register_id(0, "late");
}

static void *end_late(void *unused)
{
    (void)unused;
    register_id(0, "early");
    pthread_setspecific(late_key, &late_key);
    return NULL;
}

/*
 * A destructor of thread-specific data that runs after the library's registers again: that id ends with the thread,
 * too.
 */
FORKED_TEST(id_registered_by_a_destructor)
{
    pthread_t thread;

    make_ring(10);
    register_id(0, "main");
    pthread_key_create(&late_key, register_late);
    thread = start_thread(end_late, NULL);
    join_thread(thread);
    CHECK(own_live_count() == 1);
}

/* Contexts --------------------------------------------------------------------------------------------------------- */

FORKED_TEST(contexts)
{
    struct rip_context main_context, one, two, refused;

    make_ring(64);
    register_id(0, "main");
    snap_times(4);
    CHECK(rip_context_init(&one, 1, "one", 3));
    CHECK(!rip_context_init(&two, 1, "one", 3) && errno == EEXIST);
    CHECK(rip_context_init(&two, 2, "two", 3));
    CHECK(globals_are(gettid(), 4, 4) && own_live_count() == 3);
    CHECK(one.slot->tid == 0 && one.slot->kind == RIP_KIND_COROUTINE);
    rip_switch(&main_context, &one);
    CHECK(globals_are(1, 0, 0) && read_own_info().tid == (uint32_t)gettid());
    snap_times(300);
    rip_switch(&one, &two);
    CHECK(globals_are(2, 0, 0) && one.slot->tid == 0);
    snap_times(2);
    rip_switch(&two, &one);
    CHECK(globals_are(1, 300, 300) && read_own_info().progress == 300);
    rip_context_exit(&one); /* no effect: the id is on a thread */
    CHECK(own_live_count() == 3);
    rip_init(1, "one", 3, rip_idx, rip_ctr);
    rip_exit();
    rip_switch(NULL, &main_context);
    CHECK(globals_are(gettid(), 4, 4));
    rip_context_exit(&two);
    CHECK(two.slot == NULL && own_live_count() == 1);
    rip_switch(&main_context, &two); /* the context has no id: the thread is untraced */
    snap_times(3);
    CHECK(globals_are(0, 0, 0));
    rip_switch(NULL, &main_context);
    for (uint32_t id = 10; id < 73; id++)
        CHECK(rip_context_init(&one, id, NULL, 0));
    CHECK(!rip_context_init(&refused, 100, NULL, 0) && errno == ENOSPC && refused.slot == NULL);
}

FORKED_TEST(context_without_a_ring)
{
    struct rip_context context;

    CHECK(!rip_context_init(&context, 1, "one", 3) && errno == ENOENT);
    rip_switch(NULL, &context);
    snap_times(3);
    rip_context_exit(&context);
}

/* One context may be both arguments: it is read before it is written. */
FORKED_TEST(switch_with_one_context)
{
    struct rip_context context;

    make_ring_with_id(10);
    snap_times(5);
    CHECK(rip_context_init(&context, 2, "two", 3));
    rip_switch(&context, &context);
    CHECK(globals_are(2, 0, 0) && read_own_info().id == 2);
    CHECK(context.id == 1 && context.ctr == 5);
    rip_switch(&context, &context);
    CHECK(globals_are(1, 5, 5) && read_own_info().id == 1);
}

/* Idle, errno, signals --------------------------------------------------------------------------------------------- */

FORKED_TEST(snap_ends_idle)
{
    make_ring(10);
    register_id(5, "five");
    CHECK(read_own_info().idle == 0);
    rip_idle();
    CHECK(read_own_info().idle == 1);
    register_id(6, "six");
    rip_init(5, NULL, 0, 77, 33); /* the id stays idle with any counter */
    CHECK(read_own_info().idle == 1);
    rip_snap();
    CHECK(read_own_info().idle == 0);
}

FORKED_TEST(errno_is_kept)
{
    struct rip_context context;

    errno = 4711;
    make_ring(10);
    CHECK(errno == 4711);
    CHECK(rip_create_ring(test_path("ring"), 10) && errno == 4711);
    register_id(5, "five");
    rip_snap();
    rip_refresh_modules();
    CHECK(rip_context_init(&context, 9, NULL, 0));
    rip_context_exit(&context);
    rip_exit();
    CHECK(errno == 4711);
    if (fork() == 0) {
        CHECK(errno == 4711);
        register_id(5, "five");
        CHECK(errno == 4711 && rip__thread.slot != NULL);
        _exit(0);
    }
    CHECK(errno == 4711);
    CHECK(exit_status_of(-1) == 0);
}

static volatile unsigned handler_snaps, recorded_snaps;

static void on_alarm(int signal)
{
    (void)signal;
    for (unsigned i = 0; i < 3; i++)
        rip_snap();
    handler_snaps += 3;
    if (rip__thread.slot != NULL)
        recorded_snaps += 3;
}

static void interrupt_every_us(long us)
{
    struct itimerval timer = {{0, us}, {0, us}};

    CHECK(signal(SIGVTALRM, on_alarm) != SIG_ERR);
    CHECK(setitimer(ITIMER_VIRTUAL, &timer, NULL) == 0);
}

/* The count never decreases, and no snap of the thread or of its handler is lost. */
FORKED_TEST(handler_that_snaps)
{
    struct itimerval off = {0};
    uint64_t last = 0, snaps = 0;

    make_ring(10);
    register_id(5, "five");
    interrupt_every_us(1000);
    while (handler_snaps < 600) {
        uint64_t count;

        snap_times(1);
        snaps++;
        count = rip_load_relaxed(&own_slot()->count);
        CHECK(count > last);
        last = count;
    }
    CHECK(setitimer(ITIMER_VIRTUAL, &off, NULL) == 0);
    rip_snap();
    last = read_own_info().progress;
    CHECK(last == snaps + handler_snaps + 1 && globals_are(5, (unsigned)last, (unsigned)last));
}

/*
 * A handler that snaps inside rip_init() or rip_exit() snaps for the old id, the new id, or none. Every snap for an id
 * is counted.
 */
FORKED_TEST(handler_that_snaps_while_ids_change)
{
    struct itimerval off = {0};
    uint32_t round;

    make_ring(64);
    interrupt_every_us(500);
    for (round = 0; handler_snaps < 300; round++) {
        rip_init(1 + round % 7, "x", 1, 0, 0);
        rip_snap();
        if (round % 3 == 0)
            rip_exit();
    }
    CHECK(setitimer(ITIMER_VIRTUAL, &off, NULL) == 0);
    CHECK(rip_ring->refused_full_count == 0 && own_live_count() <= 7);
    CHECK(made_count(own_view()) == round + recorded_snaps);
}

/*
 * A deadline belongs to the registration: a resumed id keeps it on any thread; a new id has none, also in a reused
 * slot.
 */
FORKED_TEST(deadlines)
{
    make_ring(64);
    rip_deadline_ms(9); /* no effect without an id */
    register_id(7, "seven");
    CHECK(read_own_info().deadline_ms == 0);
    rip_deadline_ms(250);
    snap_times(3);
    CHECK(read_own_info().deadline_ms == 250 && read_own_info().snap_count == 3);
    register_id(8, "eight");
    CHECK(read_own_info().deadline_ms == 0);
    rip_init(7, NULL, 0, 3, 3);
    CHECK(read_own_info().deadline_ms == 250);
    rip_init(7, "other", 5, 3, 3);
    CHECK(read_own_info().deadline_ms == 250);
    rip_deadline_ms(UINT32_MAX);
    CHECK(read_own_info().deadline_ms == UINT32_MAX);
    register_id(7, "seven");
    CHECK(read_own_info().deadline_ms == 0 && read_own_info().snap_count == 0);
    rip_deadline_ms(1);
    rip_exit();
    register_id(9, "nine");
    CHECK(read_own_info().deadline_ms == 0);
}
