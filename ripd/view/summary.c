/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.c - writes a sentence phrase by phrase:
 *
 *   worker-17 of checkout (pid 4690) | has been blocked for 13.8 s | in db_wait (src/db.c:120) | : recvfrom on tcp ...
 *
 * Pure.
 */
#include "view/summary.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cases/waits.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define PLACE_BYTES 160u /* at most, of a function or a file */
#define CHAIN_NAMES 3u   /* holders named before the last one */

struct sentence {
    char *text; /* SUMMARY_BYTES, terminated */
    size_t length;
};

/* Writes at most max bytes. */
static void put_bytes(struct sentence *sentence, const void *bytes, size_t length, size_t max)
{
    const unsigned char *from = bytes;
    size_t room = SUMMARY_BYTES - 1 - sentence->length, taken = length;
    bool cut = length > max || length > room;

    if (cut) {
        taken = max < room ? max : room;
        taken = taken > 3 ? taken - 3 : 0;
        while (taken > 0 && (from[taken] & 0xc0) == 0x80)
            taken--;
    }
    memcpy(sentence->text + sentence->length, from, taken);
    sentence->length += taken;
    sentence->text[sentence->length] = '\0';
    if (cut && room >= 3) {
        memcpy(sentence->text + sentence->length, "...", 4);
        sentence->length += 3;
    }
}

static void put(struct sentence *sentence, const char *text)
{
    put_bytes(sentence, text, strlen(text), SUMMARY_BYTES);
}

__attribute__((format(printf, 2, 3))) static void put_format(struct sentence *sentence, const char *format, ...)
{
    char text[64];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    put(sentence, text);
}

/* Writes at most two units. */
static void put_duration(struct sentence *sentence, uint64_t ns)
{
    uint64_t seconds = ns / NS_PER_SECOND;

    if (seconds == 0)
        put_format(sentence, "%" PRIu64 " ms", ns / (NS_PER_SECOND / 1000));
    else if (seconds < 60)
        put_format(sentence, "%" PRIu64 ".%" PRIu64 " s", seconds, ns % NS_PER_SECOND / (NS_PER_SECOND / 10));
    else if (seconds < 3600)
        put_format(sentence, "%" PRIu64 " min %" PRIu64 " s", seconds / 60, seconds % 60);
    else if (seconds < 86400)
        put_format(sentence, "%" PRIu64 " h %" PRIu64 " min", seconds / 3600, seconds / 60 % 60);
    else
        put_format(sentence, "%" PRIu64 " d %" PRIu64 " h", seconds / 86400, seconds / 3600 % 24);
}

/* Subject ---------------------------------------------------------------------------------------------------------- */

struct subject {
    const uint8_t *name;
    size_t name_bytes; /* 0: none */
    uint32_t id;
    const char *comm; /* "": not known */
    uint32_t pid;     /* 0: not known */
    const char *ring; /* "": the id could not be read */
};

static void put_subject(struct sentence *sentence, const struct subject *subject)
{
    const bool is_main = subject->name_bytes != 0 && subject->name_bytes == strlen(subject->comm) &&
                         memcmp(subject->name, subject->comm, subject->name_bytes) == 0;

    if (subject->ring[0] == '\0') {
        put(sentence, "an id that could not be read");
        return;
    }
    if (subject->name_bytes != 0)
        put_bytes(sentence, subject->name, subject->name_bytes, RIP_NAME_BYTES);
    else
        put_format(sentence, "id %" PRIu32, subject->id);
    if (subject->comm[0] != '\0' && !is_main) {
        put(sentence, " of ");
        put(sentence, subject->comm);
    } else if (subject->comm[0] == '\0' && subject->pid == 0) {
        put(sentence, " of ring ");
        put(sentence, subject->ring);
    }
    if (subject->pid != 0)
        put_format(sentence, " (pid %" PRIu32 ")", subject->pid);
}

static struct subject subject_of(const struct item *item)
{
    return (struct subject){
        .name = item->name,
        .name_bytes = item->name_bytes,
        .id = item->id,
        .comm = item->process != NULL ? item->process->comm : "",
        .pid = item->process != NULL ? item->process->pid : 0,
        .ring = item->ring_name,
    };
}

/* What it does ----------------------------------------------------------------------------------------------------- */

/* By cause, if stalled or stopped; followed by "for" and a duration. */
static const char *const cause_phrases[CAUSE_COUNT] = {
    [CAUSE_NONE] = "has not moved",
    [CAUSE_SPINNING] = "has been spinning",
    [CAUSE_BLOCKED] = "has been blocked",
    [CAUSE_SLEEPING] = "has been sleeping",
    [CAUSE_UNINTERRUPTIBLE] = "has been in uninterruptible sleep",
    [CAUSE_STARVED] = "has been waiting for a processor",
    [CAUSE_DEADLOCK] = "has been deadlocked",
    [CAUSE_PARKED] = "has been parked, on no thread,",
    [CAUSE_UNKNOWN] = "has not moved",
    [CAUSE_SIGNAL] = "has been stopped by a signal",
    [CAUSE_TRACER] = "has been held by a tracer",
    [CAUSE_FREEZER] = "has been frozen with its control group",
    [CAUSE_CORE_DUMP] = "has been waiting for a core dump",
};

/* By state, if no duration is known. */
static const char *const state_phrases[ID_STATE_COUNT] = {
    [ID_RUNNING] = "is running", [ID_IDLE] = "is idle",      [ID_STALLED] = "has not moved",
    [ID_STOPPED] = "is stopped", [ID_EXITED] = "has exited", [ID_DEAD] = "is dead",
};

static void put_state(struct sentence *sentence, const struct sighting *sighting)
{
    const char *phrase = state_phrases[sighting->state];

    put(sentence, " ");
    if (sighting->state == ID_STALLED || sighting->state == ID_STOPPED) {
        if (sighting->cause != CAUSE_NONE || sighting->state == ID_STALLED)
            phrase = cause_phrases[sighting->cause];
        else
            phrase = "has been stopped";
    } else if (sighting->state == ID_IDLE && sighting->since_wall_ns != 0) {
        phrase = "has been idle";
    }
    put(sentence, phrase);
    if (sighting->since_wall_ns == 0 || sighting->state == ID_EXITED || sighting->state == ID_DEAD)
        return;
    put(sentence, " for ");
    put_duration(sentence, sighting->frozen_for_ns);
}

/* Where ------------------------------------------------------------------------------------------------------------ */

struct place {
    const char *function; /* NULL: not known, likewise below */
    const char *file;
    uint32_t line;
    const char *module; /* offset is in this module */
    uint64_t offset;
};

static void put_place(struct sentence *sentence, const char *before, const struct place *place)
{
    if (place->function == NULL && place->module == NULL)
        return;
    put(sentence, before);
    if (place->function == NULL) {
        put_bytes(sentence, place->module, strlen(place->module), PLACE_BYTES);
        put_format(sentence, "+0x%" PRIx64, place->offset);
        return;
    }
    put_bytes(sentence, place->function, strlen(place->function), PLACE_BYTES);
    if (place->file != NULL) {
        put(sentence, " (");
        put_bytes(sentence, place->file, strlen(place->file), PLACE_BYTES);
        if (place->line != 0)
            put_format(sentence, ":%" PRIu32, place->line);
        put(sentence, ")");
    } else if (place->module != NULL) {
        put(sentence, " (");
        put_bytes(sentence, place->module, strlen(place->module), PLACE_BYTES);
        put(sentence, ")");
    }
}

static struct place place_of(const struct item *item)
{
    struct place place = {.function = NULL};
    const struct module_facts *module = item_module(item, &place.offset);
    const struct symbol_frame frame = module_place(module, place.offset);

    place.module = module != NULL && !module->is_scripts ? module->name : NULL;
    place.function = frame.function;
    place.file = frame.file;
    place.line = frame.line;
    return place;
}

/* What it waits for ------------------------------------------------------------------------------------------------ */

static bool same_name(const struct waits_node *a, const struct waits_node *b)
{
    return a->kind == WAITS_ID && b->kind == WAITS_ID && a->id != b->id && a->name_bytes == b->name_bytes &&
           memcmp(a->name, b->name, a->name_bytes) == 0;
}

static void put_node(struct sentence *sentence, const struct waits_node *node, bool ambiguous)
{
    uint32_t tid = node->tid != 0 ? node->tid : node->holder;

    if (node->kind == WAITS_READERS)
        put(sentence, "readers");
    else if (node->kind == WAITS_GONE)
        put_format(sentence, "thread %" PRIu32 ", which is gone", node->holder);
    else if (node->kind == WAITS_THREAD)
        put_format(sentence, node->holder_is_id ? "id %" PRIu32 : "thread %" PRIu32,
                   node->holder_is_id ? node->holder : tid);
    else if (node->name_bytes != 0)
        put_bytes(sentence, node->name, node->name_bytes, RIP_NAME_BYTES);
    else
        put_format(sentence, "id %" PRIu32, node->id);
    if (ambiguous && node->name_bytes != 0)
        put_format(sentence, " (id %" PRIu32 ")", node->id);
}

/* Writes the state of the last node of a chain, which waits for no lock. */
static void put_condition(struct sentence *sentence, const struct waits_node *node)
{
    if (!node->has_state || node->deadlocked)
        return;
    put(sentence, " (");
    put(sentence, node->cause != CAUSE_NONE ? id_cause_name(node->cause) : id_state_name(node->state));
    put(sentence, ")");
}

/*
 * Returns whether two of the ids named in the sentence have the same name, as in a program that gives its threads no
 * names.
 */
static bool has_namesakes(const struct waits_node *node, const struct waits_chain *chain)
{
    const struct waits_node *named[CHAIN_NAMES + 2] = {node};
    size_t named_count = 1;

    for (size_t i = 0; i < chain->count; i++)
        if (i < CHAIN_NAMES || i + 1 == chain->count)
            named[named_count++] = chain->steps[i].node;
    for (size_t i = 1; i < named_count; i++)
        for (size_t j = 0; j < i; j++)
            if (same_name(named[i], named[j]))
                return true;
    return false;
}

/* Writes "it waits for a lock held by b, which waits for c". Returns false if it waits for no lock whose holder is
 * known. */
static bool put_chain(struct sentence *sentence, const struct waits *waits, uint32_t node)
{
    struct waits_chain chain = {.count = 0};
    bool ambiguous;

    if (waits != NULL)
        waits_chain(waits, node, &chain);
    if (chain.count == 0)
        return false;
    ambiguous = has_namesakes(&waits->nodes[node], &chain);
    put(sentence, ": it waits for a lock held by ");
    put_node(sentence, chain.steps[0].node, ambiguous);
    for (size_t i = 1; i < chain.count; i++) {
        const bool is_last = i + 1 == chain.count;
        const uint64_t between = is_last ? chain.left_out + (i > CHAIN_NAMES ? i - CHAIN_NAMES : 0) : 0;

        if (i >= CHAIN_NAMES && !is_last)
            continue;
        if (between != 0)
            put_format(sentence, ", and %" PRIu64 " more that wait%s for ", between, between == 1 ? "s" : "");
        else
            put(sentence, ", which waits for ");
        put_node(sentence, chain.steps[i].node, ambiguous);
    }
    put_condition(sentence, chain.steps[chain.count - 1].node);
    return true;
}

static void put_holder(struct sentence *sentence, const struct kernel_facts *kernel)
{
    const bool is_lock =
        kernel->syscall != NULL && (strcmp(kernel->syscall, "flock") == 0 || strcmp(kernel->syscall, "fcntl") == 0);
    const bool is_child = kernel->syscall != NULL && strcmp(kernel->syscall, "vfork") == 0;

    if (kernel->holder_pid == 0)
        return;
    put(sentence, is_lock    ? ", held by "
                  : is_child ? ", until its child ends or executes a program: "
                             : ", at the other end ");
    if (kernel->holder_comm[0] != '\0') {
        put(sentence, kernel->holder_comm);
        put_format(sentence, " (pid %" PRIu32 ")", kernel->holder_pid);
    } else {
        put_format(sentence, "pid %" PRIu32, kernel->holder_pid);
    }
}

static void put_call(struct sentence *sentence, const struct kernel_facts *kernel, enum id_cause cause)
{
    put(sentence, ": ");
    put(sentence, kernel->syscall);
    if (kernel->target[0] != '\0') {
        put(sentence, " on ");
        put_bytes(sentence, kernel->target, strlen(kernel->target), KERNEL_TARGET_BYTES);
    }
    put_holder(sentence, kernel);
    if (kernel->asked_ns == KERNEL_UNKNOWN)
        return;
    put(sentence, ", for ");
    put_duration(sentence, kernel->asked_ns);
    if (cause != CAUSE_SLEEPING)
        put(sentence, " at most");
}

/* Writes the share of the time between two examinations that something took. */
static void put_share(struct sentence *sentence, uint64_t part_ns, uint64_t window_ns, const char *of_what)
{
    uint64_t percent;

    if (part_ns == KERNEL_UNKNOWN || window_ns == KERNEL_UNKNOWN || window_ns == 0)
        return;
    percent = (part_ns < window_ns ? part_ns : window_ns) / (window_ns / 100 + (window_ns < 100));
    put_format(sentence, ": %" PRIu64 " %% of %s", percent < 100 ? percent : 100, of_what);
}

static void put_kernel(struct sentence *sentence, const struct sighting *sighting)
{
    static const char *const modes[] = {
        [KERNEL_MODE_UNKNOWN] = "", [KERNEL_MODE_USER] = ", in the program", [KERNEL_MODE_SYSTEM] = ", in the kernel"};
    const struct kernel_facts *kernel = sighting->kernel;

    if (sighting->cause == CAUSE_SPINNING) {
        put_share(sentence, kernel->cpu_ns, kernel->window_ns, "a processor");
        put(sentence, modes[kernel->mode]);
    } else if (sighting->cause == CAUSE_STARVED) {
        put_share(sentence, kernel->wait_ns, kernel->window_ns, "the time ready to run");
    } else if (kernel->syscall != NULL) {
        put_call(sentence, kernel, sighting->cause);
    } else if ((kernel->denied & KERNEL_DENIED(SYSCALL)) != 0) {
        put(sentence, ": no permission to read what it waits for");
    }
}

/*
 * Writes why a thread is blocked in RIP_CALL_PRIVATE. The kernel facts add nothing then. Returns false for other calls.
 */
static bool put_stuck(struct sentence *sentence, const struct sighting *sighting)
{
    if (sighting->cause != CAUSE_BLOCKED || sighting->item == NULL || sighting->item->call != RIP_CALL_PRIVATE)
        return false;
    put(sentence,
        ": all threads of its process wait for each other without a time limit, nothing but a signal can wake "
        "any of them");
    return true;
}

/* Sentences -------------------------------------------------------------------------------------------------------- */

void summary_of_id(const struct sighting *sighting, char ret_text[SUMMARY_BYTES])
{
    static const struct subject unknown = {.comm = "", .ring = ""};
    struct sentence sentence = {.text = ret_text};
    const bool is_still = sighting->state == ID_STALLED || sighting->state == ID_STOPPED;
    const struct item *item = sighting->item;
    struct subject subject = item != NULL ? subject_of(item) : unknown;

    ret_text[0] = '\0';
    put_subject(&sentence, &subject);
    put_state(&sentence, sighting);
    if (item != NULL) {
        struct place place = place_of(item);

        put_place(&sentence, is_still && place.function != NULL ? " in " : is_still ? " at " : ", last at ", &place);
    }
    if (sighting->state != ID_STALLED)
        return;
    if (!put_chain(&sentence, sighting->waits, sighting->wait_node) && !put_stuck(&sentence, sighting) &&
        sighting->kernel != NULL)
        put_kernel(&sentence, sighting);
}

void summary_of_state(const struct sighting *sighting, char ret_text[SUMMARY_BYTES])
{
    struct sentence sentence = {.text = ret_text};

    ret_text[0] = '\0';
    put_state(&sentence, sighting);
}

void summary_of_end(const struct event *event, char ret_text[SUMMARY_BYTES])
{
    static const char *const ends[EVENT_REASON_COUNT] = {
        [EVENT_REASON_MOVED] = " moved again",
        [EVENT_REASON_STOPPED] = " was stopped",
        [EVENT_REASON_GONE] = " is gone",
        [EVENT_REASON_EXCUSED] = " has a longer threshold now",
        [EVENT_REASON_UNWATCHED] = " is no longer watched",
    };
    struct sentence sentence = {.text = ret_text};
    struct subject subject = {event->name, event->name_bytes, event->id, event->comm, event->pid, event->ring};
    struct place place = {event->function, event->file, event->line, event->module, event->offset};

    ret_text[0] = '\0';
    put_subject(&sentence, &subject);
    put(&sentence, ends[event->reason]);
    if (event->duration_ns != EVENT_UNKNOWN_NS) {
        put(&sentence, ", after ");
        put_duration(&sentence, event->duration_ns);
    }
    put_place(&sentence, place.function != NULL ? " in " : " at ", &place);
    if (event->cause != CAUSE_NONE && event->cause != CAUSE_UNKNOWN)
        put_format(&sentence, ": %s", id_cause_name(event->cause));
}
