/* SPDX-License-Identifier: Apache-2.0 */
/* event_load.c - turns lines into state; open episodes are a sorted array. Touches nothing. */
#include "record/event_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/search.h"

/* Open episodes ---------------------------------------------------------------------------------------------------- */

void event_open_done(struct event_open_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        event_unref(set->episodes[i].begin);
    free(set->episodes);
    *set = (struct event_open_set){0};
}

static int compare_episode(const void *key, const void *item)
{
    return search_order(*(const uint64_t *)key, ((const struct event_open *)item)->subject.episode);
}

struct event_open *event_open_find(struct event_open_set *set, uint64_t episode)
{
    size_t place = search_equal(&episode, set->episodes, set->count, sizeof(*set->episodes), compare_episode);

    return place < set->count ? &set->episodes[place] : NULL;
}

int event_open_add(struct event_open_set *set, struct event *begin, const struct event_subject *subject)
{
    const size_t place =
        search_first(&subject->episode, set->episodes, set->count, sizeof(*set->episodes), compare_episode);

    if (place < set->count && set->episodes[place].subject.episode == subject->episode)
        return 0;
    if (!ARRAY_GROW(set->episodes, set->count, set->capacity))
        return -ENOMEM;
    ARRAY_OPEN(set->episodes, set->count, place);
    set->episodes[place] = (struct event_open){.begin = event_ref(begin), .subject = *subject};
    return 0;
}

void event_open_remove(struct event_open_set *set, uint64_t episode)
{
    struct event_open *found = event_open_find(set, episode);

    if (found == NULL)
        return;
    event_unref(found->begin);
    ARRAY_CLOSE(set->episodes, set->count, (size_t)(found - set->episodes));
    ARRAY_TRIM(set->episodes, set->capacity, set->count);
}

void event_open_forget(struct event_open_set *set, uint64_t sequence)
{
    size_t kept = 0;

    for (size_t i = 0; i < set->count; i++) {
        if (set->episodes[i].end_sequence != 0 && set->episodes[i].end_sequence <= sequence)
            event_unref(set->episodes[i].begin);
        else
            set->episodes[kept++] = set->episodes[i];
    }
    set->count = kept;
    ARRAY_TRIM(set->episodes, set->capacity, set->count);
}

int event_open_lines(const struct event_open_set *set, uint64_t sequence, struct event_line **ret_lines,
                     size_t *ret_count)
{
    struct event_line *lines = calloc(set->count + 1, sizeof(*lines));
    size_t count = 1;

    if (lines == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < set->count; i++) {
        const struct event_open *open = &set->episodes[i];

        if (open->begin->sequence <= sequence && (open->end_sequence == 0 || open->end_sequence > sequence))
            lines[count++] = (struct event_line){
                .kind = EVENT_LINE_CARRIED, .event = event_ref(open->begin), .subject = open->subject};
    }
    *ret_lines = lines;
    *ret_count = count;
    return 0;
}

/* Lines ------------------------------------------------------------------------------------------------------------ */

void event_load_forget_events(struct event_load *load)
{
    for (size_t i = 0; i < load->event_count; i++)
        event_unref(load->events[i]);
    free(load->events);
    load->events = NULL;
    load->event_count = load->capacity = 0;
}

void event_load_done(struct event_load *load)
{
    event_load_forget_events(load);
    event_open_done(&load->open);
    *load = (struct event_load){0};
}

/* Takes ownership of the reference. */
static int keep(struct event_load *load, struct event *event)
{
    if (load->event_count == EVENT_HISTORY_KEPT_MAX) {
        event_unref(load->events[0]);
        ARRAY_CLOSE(load->events, load->event_count, 0);
    }
    if (!ARRAY_GROW(load->events, load->event_count, load->capacity)) {
        event_unref(event);
        return -ENOMEM;
    }
    load->events[load->event_count++] = event;
    return 0;
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Takes ownership of the line's reference. */
static int take_event(struct event_load *load, const struct event_line *line)
{
    struct event *event = line->event;
    int status = 0;

    if (event->sequence <= load->sequence) { /* from a file that is read twice, or a foreign one */
        load->damaged_count++;
        event_unref(event);
        return 0;
    }
    load->sequence = event->sequence;
    load->episode = max_of(load->episode, event->episode);
    if (event->kind == EVENT_BEGIN)
        status = event_open_add(&load->open, event, &line->subject);
    else
        event_open_remove(&load->open, event->episode);
    if (status == 0)
        return keep(load, event);
    event_unref(event);
    return status;
}

int event_load_line(void *context, const char *text, size_t length)
{
    struct event_load *load = context;
    struct event_line line;
    struct event_open *open;
    int status = event_line_parse(text, length, &line);

    if (status == -EBADMSG) {
        load->damaged_count++;
        return 0;
    }
    if (status != 0)
        return status;
    load->line_count++;
    switch (line.kind) {
    case EVENT_LINE_HISTORY: /* followed by all open episodes */
        event_open_done(&load->open);
        load->epoch = line.epoch;
        load->sequence = max_of(load->sequence, line.sequence);
        load->episode = max_of(load->episode, line.episode);
        return 0;
    case EVENT_LINE_CARRIED:
        status = event_open_add(&load->open, line.event, &line.subject);
        load->episode = max_of(load->episode, line.event->episode);
        event_unref(line.event);
        return status;
    case EVENT_LINE_EVENT:
        return take_event(load, &line);
    case EVENT_LINE_SUBJECT:
        break;
    }
    open = event_open_find(&load->open, line.subject.episode);
    if (open != NULL)
        open->subject = line.subject;
    return 0;
}
