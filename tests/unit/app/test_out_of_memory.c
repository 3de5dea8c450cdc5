/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_out_of_memory.c - runs a sequence of calls again and again; each time another allocation fails. Only the data of
 * that allocation is lost, nothing leaks (the sanitizers check), and later calls succeed.
 */
#include <errno.h>

#include "app/events.h"
#include "app/log.h"
#include "cases/case.h"
#include "cases/locations.h"
#include "net/event_store.h"
#include "net/lists.h"
#include "record/event_line.h"
#include "record/event_load.h"
#include "support/test.h"
#include "unit/event_samples.h"
#include "unit/sample_event.h"

#define SECOND_NS UINT64_C(1000000000)
#define STORY_ALLOCATIONS_MAX 100000

static long until_failure = -1; /* allocations that succeed before one fails; negative: all succeed */

static bool fails(void)
{
    return until_failure >= 0 && until_failure-- == 0;
}

/*
 * The linker puts the __wrap_ functions in place of the others (--wrap), in all code that is linked statically. jansson
 * is not.
 */
#define WRAP(type, name, parameters, arguments)                                                                        \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters                                                                                      \
    {                                                                                                                  \
        return fails() ? NULL : __real_##name arguments;                                                               \
    }

WRAP(void *, malloc, (size_t bytes), (bytes))
WRAP(void *, calloc, (size_t count, size_t bytes), (count, bytes))
WRAP(void *, realloc, (void *memory, size_t bytes), (memory, bytes))
WRAP(void *, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes))
WRAP(char *, strdup, (const char *text), (text))
WRAP(char *, strndup, (const char *text, size_t bytes), (text, bytes))

/* Repeats the calls; the first allocation fails, then the second, until none does. More than min_count must fail. */
static void repeat_failing(void (*story)(void), long min_count)
{
    long number = 0;

    for (bool failed = true; failed; number++) {
        assert_true(number < STORY_ALLOCATIONS_MAX);
        until_failure = number;
        story();
        failed = until_failure < 0;
        until_failure = -1;
    }
    assert_true(number > min_count);
}

/* From now on allocations succeed. Returns the previous number, to be restored. */
static long with_memory(void)
{
    long left = until_failure;

    until_failure = -1;
    return left;
}

/* Events ----------------------------------------------------------------------------------------------------------- */

static struct {
    uint64_t announced;
    uint64_t open[16]; /* episodes begun and not ended */
    size_t open_count;
} heard;

/* Events come in order, without a gap, and no end comes without its begin. */
static void on_announce(void *context, struct event *event)
{
    size_t i = 0;

    (void)context;
    assert_int_equal(event->sequence, ++heard.announced);
    assert_non_null(event->text);
    if (event->kind == EVENT_BEGIN) {
        heard.open[heard.open_count++] = event->episode;
        return;
    }
    while (i < heard.open_count && heard.open[i] != event->episode)
        i++;
    assert_true(i < heard.open_count);
    heard.open[i] = heard.open[--heard.open_count];
}

static uint32_t user_of(void *context, uint32_t ring)
{
    (void)context;
    return ring;
}

/* A scan on which the ids of these slots are stalled, and there is a change of one more. */
static void step_events(struct events *events, struct cases *cases, const uint32_t *slots, size_t count,
                        enum detector_event_kind kind, uint32_t slot, uint64_t now_ns)
{
    const struct detector_event change = {
        .kind = kind, .ring = 1, .slot = slot, .generation = 2, .cause = CAUSE_BLOCKED, .frozen_for_ns = SECOND_NS};
    struct snapshot moment = {.scanned_mono_ns = now_ns, .scanned_wall_ns = SAMPLE_SCANNED_WALL_NS};
    struct detector_suspect suspects[2];
    struct detector_update update = {.suspects = suspects, .suspect_count = count, .events = &change, .event_count = 1};

    for (size_t i = 0; i < count; i++)
        suspects[i] = (struct detector_suspect){
            .ring = 1, .slot = slots[i], .generation = 2, .state = ID_STALLED, .frozen_for_ns = SECOND_NS};
    (void)cases_begin(cases, suspects, count, user_of, NULL);
    cases_judge(cases, suspects, count);
    cases_end(cases, &update, now_ns);
    events_step(events, &(struct events_scan){.update = &update, .moment = &moment});
}

static void events_story(void)
{
    static const uint32_t both[] = {1, 7}, last[] = {9};
    long left = with_memory();
    struct work *work = work_new();
    struct health health = {0};
    struct events_options options = {.work = work, .health = &health, .announce = on_announce};
    struct events *events = NULL;

    memset(&heard, 0, sizeof(heard));
    until_failure = left;
    options.cases = cases_new(work, SECOND_NS);
    if (options.cases != NULL && events_new(&events, &options, 0) == 0) {
        step_events(events, options.cases, both, 1, DETECTOR_STALLED, 1, SECOND_NS);
        step_events(events, options.cases, both, 2, DETECTOR_STALLED, 7, 2 * SECOND_NS);
        step_events(events, options.cases, both + 1, 1, DETECTOR_GONE, 1, 3 * SECOND_NS);
        left = with_memory();
        step_events(events, options.cases, NULL, 0, DETECTOR_GONE, 7, 4 * SECOND_NS);
        step_events(events, options.cases, last, 1, DETECTOR_STALLED, 9, 5 * SECOND_NS);
        step_events(events, options.cases, NULL, 0, DETECTOR_GONE, 9, 6 * SECOND_NS);
        assert_true(heard.announced >= 2 && heard.open_count <= 1); /* at most one end was lost */
        until_failure = left;
    }
    left = with_memory();
    events_free(events);
    cases_free(options.cases);
    work_free(work);
    until_failure = left;
}

TEST(events)
{
    repeat_failing(events_story, 10);
}

/* History ---------------------------------------------------------------------------------------------------------- */

static void history_story(void)
{
    long left = with_memory();
    struct event *begin = sample_begin(1, 1), *end = sample_end(2, begin);
    const struct event_subject subject = {.episode = 1, .stall_count = 1};
    const struct event_line lines[] = {{EVENT_LINE_EVENT, begin, subject, 0, 0, 0},
                                       {EVENT_LINE_SUBJECT, NULL, subject, 0, 0, 0},
                                       {EVENT_LINE_EVENT, end, subject, 0, 0, 0}};
    struct event_open_set open = {0};
    struct event_line *carried;
    size_t count;
    struct event_load load = {0};
    int status = 0;

    until_failure = left;
    for (size_t i = 0; i < 3 && status == 0; i++) {
        size_t length;
        char *text;

        status = event_line_format(&lines[i], 1, &text, &length);
        if (status != 0)
            break;
        status = event_load_line(&load, text, length - 1);
        free(text);
    }
    assert_true(status == 0 || status == -ENOMEM);
    assert_int_equal(load.damaged_count, 0); /* out of memory is not damage */
    status = event_open_add(&open, begin, &subject);
    assert_int_equal(open.count, status == 0);
    if (event_open_lines(&open, 1, &carried, &count) == 0) {
        assert_int_equal(count, 1 + open.count);
        event_unref(carried[count - 1].event);
        free(carried);
    }
    event_open_done(&open);
    event_load_done(&load);
    event_unref(begin);
    event_unref(end);
}

TEST(history)
{
    repeat_failing(history_story, 8);
}

/* Lists ------------------------------------------------------------------------------------------------------------ */

static void store_story(void)
{
    struct event_store store = {0}, from = {0};
    uint64_t newest;

    for (uint64_t i = 1; i <= 200; i++) {
        long left = with_memory();
        struct event *event = sample_event(i, 10);

        until_failure = left;
        event_store_add(&from, event);
    }
    newest = from.newest_sequence;
    assert_true(newest >= 199);
    event_store_move(&store, &from);
    for (size_t i = 1; i < store.count; i++)
        assert_true(event_store_at(&store, i)->sequence > event_store_at(&store, i - 1)->sequence);
    assert_true(store.count >= 199); /* at most one was lost */
    event_store_done(&store);
    event_store_done(&from);
}

TEST(store)
{
    repeat_failing(store_story, 2);
}

static void locations_story(void)
{
    long left = with_memory();
    struct process_facts *process = sample_process("/usr/bin/checkout", 1);
    struct locations *locations;
    uint64_t counted = 0, added = 0;

    until_failure = left;
    locations = locations_new(&(struct hash_key){{0, 0}});
    for (uint32_t i = 0; locations != NULL && i < 3000; i++) {
        struct located_id id = {
            .process = process, .snapped = true, .address = SAMPLE_BIAS + 0x1000 + i % 2000, .ring = 1, .slot = i};

        added += locations_add(locations, &id) == 0;
    }
    if (locations != NULL) {
        locations_sort(locations);
        for (size_t i = 0; i < locations->count; i++)
            counted += locations->groups[i].count;
        assert_int_equal(counted, added);
    }
    locations_free(locations);
    process_facts_unref(process);
}

TEST(locations)
{
    repeat_failing(locations_story, 6);
}

static void lists_story(void)
{
    struct lists *lists = lists_new(1);

    for (int i = 0; lists != NULL && i < 20; i++) {
        const struct document document = {.sequence = 1, .body = calloc(1, 10), .body_bytes = 10};

        list_unref(lists_add(lists, (struct span){i % 2 == 0 ? "a" : "b", 1}, 1, &document));
    }
    lists_free(lists);
}

TEST(lists)
{
    repeat_failing(lists_story, 20);
}

/* A list that is built in slices is complete, or fails. */
static size_t list_story_bytes;

static void list_story(void)
{
    long left = with_memory();
    struct snapshot *snapshot = sample_snapshot(1, 0, 20);
    struct document_build *build;
    struct document document;
    struct query query;
    struct page *page;
    int status;

    query_init(&query);
    page = query_stalls(&query, snapshot);
    until_failure = left;
    build = document_build_new(DOCUMENT_STALLS, page, QUERY_TRAIL_MAX);
    status = build != NULL ? 1 : -ENOMEM;
    while (status > 0)
        status = document_build_step(build, 4096, &document);
    if (status == 0) {
        if (list_story_bytes == 0)
            list_story_bytes = document.body_bytes;
        assert_int_equal(document.body_bytes, list_story_bytes);
        free(document.body);
    }
    document_build_free(build);
    left = with_memory();
    page_unref(page);
    snapshot_unref(snapshot);
    until_failure = left;
}

TEST(list)
{
    repeat_failing(list_story, 6);
    assert_true(list_story_bytes > 3 * 4096);
}

int main(void)
{
    log_set_level(LOG_LEVEL_ERROR);
    return tests_run(NULL, NULL);
}
