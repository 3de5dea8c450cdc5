/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread.c - which id is on which thread, fresh or resumed, and the globals: librip/thread.c. */
#include "unit/ring_scene.h"

#include <sys/time.h>

#include "rip/runtime.h"

static struct rip_id_info own_info(void)
{
    struct rip_id_info info;

    CHECK(rip_view_id(own_view(), slot_index(own_slot()), &info) == RIP_OK);
    return info;
}

/* Number of entries that the reader is certain of; each must be of a snap that was made. */
static size_t own_trail(struct rip_entry entries[RIP_ENTRY_COUNT])
{
    uint64_t snap_count = own_info().snap_count;
    size_t count;

    CHECK(rip_view_trail(own_view(), slot_index(own_slot()), entries, &count) == RIP_OK);
    for (size_t i = 0; i < count; i++)
        CHECK(entries[i].snap == snap_count - i);
    return count;
}

static bool globals_are(pid_t tid, unsigned idx, unsigned ctr)
{
    return rip_tid == tid && rip_idx == (uint8_t)idx && rip_ctr == (uint8_t)ctr;
}

/* Without a ring, without an id ------------------------------------------------------------------------------------ */

SCENE(nothing_before)
{
    snap_times(3);
    rip_idle();
    rip_exit();
    rip_switch(NULL, NULL);
    rip_snap_at(&stage);
    CHECK(globals_are(0, 0, 0));
    rip_init(9, "nine", 4, 17, 18); /* no ring: what was asked for is shown all the same */
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

SCENE(fresh_id)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_id_info info;

    make_ring(10);
    rip_init(0, "main thread", 4, 0, 0);
    CHECK(globals_are(gettid(), 0, 0));
    info = own_info();
    CHECK(info.id == (uint32_t)gettid() && info.tid == (uint32_t)gettid() && info.kind == RIP_KIND_THREAD);
    CHECK(info.name_bytes == 4 && memcmp(info.name, "main", 4) == 0);
    CHECK(info.progress == 0 && info.snap_count == 0 && info.idle == 0 && own_trail(entries) == 0);
    CHECK(info.process == 0 && info.generation % 2 == 0 && info.registered_boot_ns != 0);
    snap_times(1);
    CHECK(globals_are(gettid(), 1, 1) && own_trail(entries) == 1);
    CHECK(entries[0].address - (uintptr_t)snap_times + 65536 < 131072); /* in this program's text */
    snap_times(299);
    CHECK(globals_are(gettid(), 300, 300) && own_info().progress == 300 && own_trail(entries) == RIP_ENTRY_COUNT);
}

SCENE(long_and_strange_names)
{
    char name[200];
    struct rip_id_info info;

    make_ring(10);
    memset(name, 0xff, sizeof(name));
    name[1] = '\0';
    rip_init(1, name, sizeof(name), 0, 0);
    info = own_info();
    CHECK(info.name_bytes == RIP_NAME_BYTES && memcmp(info.name, name, RIP_NAME_BYTES) == 0);
    rip_init(2, NULL, 77, 0, 0);
    CHECK(own_info().name_bytes == 0);
    begin_id(3, "");
    CHECK(own_info().name_bytes == 0);
}

/* Whatever a program starts with, after n snaps both have advanced by n, and progress is n. */
SCENE(globals_are_truthful)
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
            CHECK(own_info().snap_count == n);
            CHECK(own_trail(entries) == (n < RIP_ENTRY_COUNT ? n : RIP_ENTRY_COUNT));
            snap_times(1);
        }
        rip_exit();
    }
    CHECK(own_live_count() == 0);
}

/* Fresh or resumed ------------------------------------------------------------------------------------------------- */

struct again {
    unsigned snaps;      /* before */
    const char *name;    /* given the second time */
    unsigned idx, ctr;   /* ... */
    uint64_t snap_count; /* afterwards */
};

SCENE(fresh_or_resumed)
{
    static const struct again cases[] = {
        {10, "same", 0, 0, 0},       /* begun anew */
        {10, NULL, 0, 0, 10},        /* no name: resumed, though the counter disagrees */
        {10, "same", 10, 10, 10},    /* what it had */
        {10, "other", 10, 10, 10},   /* a new name does not end it */
        {10, "same", 0, 10, 10},     /* another index */
        {10, "same", 10, 0, 10},     /* another counter */
        {10, "same", 200, 77, 10},   /* both */
        {256, "same", 0, 0, 256},    /* a coroutine's counter that came round */
        {512, "same", 0, 0, 512},    /* again */
        {257, "same", 0, 0, 0},      /* not round */
        {0, "same", 0, 0, 0},        /* never ran */
        {1000, "same", 9, 11, 1000}, /* both, after wrapping */
    };

    make_ring(10);
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        const struct again *again = &cases[i];
        struct rip_entry before[RIP_ENTRY_COUNT], after[RIP_ENTRY_COUNT];
        struct rip_slot *slot;
        size_t count;

        begin_id(5, "same");
        slot = own_slot();
        snap_times(again->snaps);
        count = own_trail(before);
        begin_id(6, "between");
        rip_init(5, again->name, 5, (uint8_t)again->idx, (uint8_t)again->ctr);
        CHECK(own_slot() == slot);
        CHECK(globals_are(5, again->idx, again->ctr));
        CHECK(own_info().snap_count == again->snap_count);
        CHECK(own_trail(after) == (again->snap_count != 0 ? count : 0));
        if (again->snap_count != 0)
            CHECK(memcmp(before, after, count * sizeof(before[0])) == 0);
        snap_times(40);
        CHECK(globals_are(5, again->idx + 40, again->ctr + 40));
        CHECK(own_info().snap_count == again->snap_count + 40 && own_trail(after) == RIP_ENTRY_COUNT);
        rip_exit();
        rip_init(6, NULL, 0, 0, 0);
        rip_exit();
    }
}

/* Counter after counter that disagrees: the bias stays a byte, and progress exact. */
SCENE(resumed_with_ever_other_counters)
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
        CHECK(own_info().snap_count == snaps);
        CHECK(own_trail(entries) == (snaps < RIP_ENTRY_COUNT ? snaps : RIP_ENTRY_COUNT));
        CHECK(own_info().idle == 0);
    }
}

SCENE(fresh_is_seen_by_generation)
{
    uint32_t generation;

    make_ring(10);
    begin_id(5, "five");
    generation = own_info().generation;
    snap_times(3);
    rip_init(5, "five", 4, 3, 3);
    CHECK(own_info().generation == generation);
    begin_id(5, "five");
    CHECK(own_info().generation == generation + 2 && own_info().progress == 0);
    CHECK(rip_ring->registered_count == 2);
}

static bool name_is(const char *name, unsigned version)
{
    const struct rip_id_info info = own_info();

    return info.name_version == version && info.name_bytes == strlen(name) &&
           memcmp(info.name, name, info.name_bytes) == 0;
}

/* It is the same registration, and its name can be read even if a process was killed on the way to it. */
SCENE(who_is_renamed_is_the_same)
{
    void (*const rename_own)(const char *name, size_t bytes) = rip_runtime_get()->rename;
    struct rip_id_info before;

    make_ring(10);
    begin_id(5, "five");
    snap_times(3);
    before = own_info();
    CHECK(name_is("five", 0));
    rip_init(5, "cinq", 4, 3, 3);
    CHECK(name_is("cinq", 2));
    rename_own("cinq", 4);
    CHECK(name_is("cinq", 2));
    rename_own("fem", 3);
    CHECK(name_is("fem", 4));
    CHECK(own_info().generation == before.generation && own_info().progress == before.progress);
    for (unsigned i = 0; i < 200; i++)
        rename_own(i % 2 != 0 ? "pet" : "viisi", 3);
    CHECK(name_is("pet", (4 + 400) % 256));
    own_slot()->name_version |= 1;
    CHECK(name_is("pet", (4 + 400) % 256 | 1));
    rename_own("lima", 4);
    CHECK(name_is("lima", (4 + 402) % 256));
    begin_id(5, "anew");
    CHECK(name_is("anew", 0) && own_info().generation == before.generation + 2);
}

/* Several ids ------------------------------------------------------------------------------------------------------ */

SCENE(several_ids_on_one_thread)
{
    struct rip_slot *first;

    make_ring(10);
    begin_id(1, "one");
    first = own_slot();
    CHECK(own_info().kind == RIP_KIND_THREAD);
    snap_times(5);
    begin_id(2, "two");
    CHECK(own_slot() != first && own_info().kind == RIP_KIND_COROUTINE);
    CHECK(first->tid == 0 && first->kind == RIP_KIND_COROUTINE);
    CHECK(own_live_count() == 2);
    snap_times(7);
    rip_init(1, "one", 3, 5, 5);
    CHECK(own_slot() == first && own_info().snap_count == 5 && own_info().tid == (uint32_t)gettid());
    rip_exit();
    CHECK(own_live_count() == 1);
    rip_init(2, "two", 3, 7, 7);
    CHECK(own_info().snap_count == 7);
}

static pthread_barrier_t meeting;

static void *take_id_five(void *unused)
{
    (void)unused;
    rip_init(5, "five", 4, rip__ctr, 10);
    CHECK(own_info().snap_count == 10 && own_info().tid == (uint32_t)gettid());
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    CHECK(own_info().id == 5);
    return NULL;
}

/* The thread that had it may neither end it nor call it its own any more. */
SCENE(id_moves_to_another_thread)
{
    pthread_t thread;

    make_ring(10);
    pthread_barrier_init(&meeting, NULL, 2);
    begin_id(5, "five");
    snap_times(10);
    thread = begin_thread(take_id_five, NULL);
    pthread_barrier_wait(&meeting);
    rip_exit();
    CHECK(globals_are(0, 0, 0) && own_live_count() == 1);
    pthread_barrier_wait(&meeting);
    end_thread(thread);
    CHECK(own_live_count() == 0); /* it ended with the thread it was on */
}

static void *end_with_two_ids(void *unused)
{
    (void)unused;
    begin_id(1, "one");
    begin_id(0, "thread");
    rip_snap();
    return NULL;
}

SCENE(thread_end_ends_its_id)
{
    pthread_t thread;

    make_ring(10);
    for (unsigned i = 0; i < 300; i++) { /* more than there are slots */
        thread = begin_thread(end_with_two_ids, NULL);
        end_thread(thread);
        CHECK(own_live_count() == 1); /* id 1 is on no thread, and lives */
    }
    CHECK(rip_ring->refused_full_count == 0);
}

static pthread_key_t late_key;

static void register_late(void *unused)
{
    (void)unused;
    begin_id(0, "late");
}

static void *end_late(void *unused)
{
    (void)unused;
    begin_id(0, "early");
    pthread_setspecific(late_key, &late_key);
    return NULL;
}

/* A destructor that runs after ours registers again: that id ends with the thread, too. */
SCENE(id_registered_by_a_destructor)
{
    pthread_t thread;

    make_ring(10);
    begin_id(0, "main");
    pthread_key_create(&late_key, register_late);
    thread = begin_thread(end_late, NULL);
    end_thread(thread);
    CHECK(own_live_count() == 1);
}

/* Contexts --------------------------------------------------------------------------------------------------------- */

SCENE(contexts)
{
    struct rip_context main_context, one, two, refused;

    make_ring(64);
    begin_id(0, "main");
    snap_times(4);
    CHECK(rip_context_init(&one, 1, "one", 3));
    CHECK(!rip_context_init(&two, 1, "one", 3) && errno == EEXIST);
    CHECK(rip_context_init(&two, 2, "two", 3));
    CHECK(globals_are(gettid(), 4, 4) && own_live_count() == 3);
    CHECK(one.slot->tid == 0 && one.slot->kind == RIP_KIND_COROUTINE);
    rip_switch(&main_context, &one);
    CHECK(globals_are(1, 0, 0) && own_info().tid == (uint32_t)gettid());
    snap_times(300);
    rip_switch(&one, &two);
    CHECK(globals_are(2, 0, 0) && one.slot->tid == 0);
    snap_times(2);
    rip_switch(&two, &one);
    CHECK(globals_are(1, 300, 300) && own_info().progress == 300);
    rip_context_exit(&one); /* on a thread: it must be taken off first */
    CHECK(own_live_count() == 3);
    rip_init(1, "one", 3, rip_idx, rip_ctr);
    rip_exit();
    rip_switch(NULL, &main_context);
    CHECK(globals_are(gettid(), 4, 4));
    rip_context_exit(&two);
    CHECK(two.slot == NULL && own_live_count() == 1);
    rip_switch(&main_context, &two); /* inert: untraced */
    snap_times(3);
    CHECK(globals_are(0, 0, 0));
    rip_switch(NULL, &main_context);
    for (uint32_t id = 10; id < 73; id++)
        CHECK(rip_context_init(&one, id, NULL, 0));
    CHECK(!rip_context_init(&refused, 100, NULL, 0) && errno == ENOSPC && refused.slot == NULL);
}

SCENE(context_without_a_ring)
{
    struct rip_context context;

    CHECK(!rip_context_init(&context, 1, "one", 3) && errno == ENOENT);
    rip_switch(NULL, &context);
    snap_times(3);
    rip_context_exit(&context);
}

/* The coroutine that is put on the thread comes out of the place where the one before goes. */
SCENE(switch_with_one_context)
{
    struct rip_context context;

    make_ring(10);
    begin_id(1, "one");
    snap_times(5);
    CHECK(rip_context_init(&context, 2, "two", 3));
    rip_switch(&context, &context);
    CHECK(globals_are(2, 0, 0) && own_info().id == 2);
    CHECK(context.id == 1 && context.ctr == 5);
    rip_switch(&context, &context);
    CHECK(globals_are(1, 5, 5) && own_info().id == 1);
}

/* Idle, errno, signals --------------------------------------------------------------------------------------------- */

SCENE(idle_ends_by_itself)
{
    make_ring(10);
    begin_id(5, "five");
    CHECK(own_info().idle == 0);
    rip_idle();
    CHECK(own_info().idle == 1);
    begin_id(6, "six");
    rip_init(5, NULL, 0, 77, 33); /* idle stays with the id, whatever its counter */
    CHECK(own_info().idle == 1);
    rip_snap();
    CHECK(own_info().idle == 0);
}

SCENE(errno_is_kept)
{
    struct rip_context context;

    errno = 4711;
    make_ring(10);
    CHECK(errno == 4711);
    CHECK(rip_create_ring(on_stage("ring"), 10) && errno == 4711);
    begin_id(5, "five");
    rip_snap();
    rip_refresh_modules();
    CHECK(rip_context_init(&context, 9, NULL, 0));
    rip_context_exit(&context);
    rip_exit();
    CHECK(errno == 4711);
    if (fork() == 0) {
        CHECK(errno == 4711);
        begin_id(5, "five");
        CHECK(errno == 4711 && rip__thread.slot != NULL);
        _exit(0);
    }
    CHECK(errno == 4711);
    CHECK(end_of(-1) == 0);
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

/* The count never goes back, and none of either side's snaps is lost. */
SCENE(handler_that_snaps)
{
    struct itimerval off = {0};
    uint64_t last = 0, snaps = 0;

    make_ring(10);
    begin_id(5, "five");
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
    last = own_info().progress;
    CHECK(last == snaps + handler_snaps + 1 && globals_are(5, (unsigned)last, (unsigned)last));
}

/* A handler in the middle of rip_init() and rip_exit() snaps for one id, the other, or nobody; never astray. What it
 * snaps for an id is counted.
 */
SCENE(handler_that_snaps_while_ids_change)
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

/* A deadline is the registration's: resumed it stays, on whatever thread; a fresh id and a reused slot have none. */
SCENE(deadlines)
{
    make_ring(64);
    rip_deadline_ms(9); /* of nobody */
    begin_id(7, "seven");
    CHECK(own_info().deadline_ms == 0);
    rip_deadline_ms(250);
    snap_times(3);
    CHECK(own_info().deadline_ms == 250 && own_info().snap_count == 3);
    begin_id(8, "eight");
    CHECK(own_info().deadline_ms == 0);
    rip_init(7, NULL, 0, 3, 3);
    CHECK(own_info().deadline_ms == 250);
    rip_init(7, "other", 5, 3, 3);
    CHECK(own_info().deadline_ms == 250);
    rip_deadline_ms(UINT32_MAX);
    CHECK(own_info().deadline_ms == UINT32_MAX);
    begin_id(7, "seven");
    CHECK(own_info().deadline_ms == 0 && own_info().snap_count == 0);
    rip_deadline_ms(1);
    rip_exit();
    begin_id(9, "nine");
    CHECK(own_info().deadline_ms == 0);
}
