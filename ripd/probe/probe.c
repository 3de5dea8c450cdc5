/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.c - the processes of suspects: what stops them as a whole. Touches /proc, the cgroup tree and pidfds.
 *
 * Guarantees
 *   1. A process is asked about once per call, and only if it is alive and known to be the one of the record; it is
 * held by a pidfd meanwhile (HOLDS_MAX of them), so its pid cannot become another's unnoticed.
 *   2. Owners of rings have equal shares of the time; when that runs out, the next call goes on with the process after
 *      the last one of each owner.
 *   3. Nothing is kept of a process when the call is over; of its threads what watch.h says.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/pidfd.h"
#include "os/proc.h"
#include "probe/probe_state.h"
#include "util/array.h"

#define SECOND_NS UINT64_C(1000000000)

enum {
    HOLDS_MAX = 256,
    PLACES_MIN = 64,
};

/* Life ------------------------------------------------------------------------------------------------------------- */

int probe_new(struct probe **ret_probe, const struct probe_options *options)
{
    struct probe *probe = calloc(1, sizeof(*probe));
    int result;

    if (probe == NULL)
        return -ENOMEM;
    probe->budget_ns = options->budget_ns;
    probe->remote = options->remote;
    probe->anyones = options->anyones;
    probe->diag = options->diag;
    probe->hash_key = options->hash_key;
    probe->tick_ns = SECOND_NS / clock_ticks_per_second();
    probe->cgroup_path = strdup(options->cgroup_path);
    probe->proc = open(options->proc_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    result = probe->proc < 0 ? -errno : 0;
    probe->sockets = sockets_new();
    probe->stopped_facts = kernel_facts_new("");
    if (probe->cgroup_path == NULL || probe->sockets == NULL || probe->stopped_facts == NULL)
        result = -ENOMEM;
    else
        probe->stopped_facts->state = 'T';
    if (result != 0) {
        probe_free(probe);
        return result;
    }
    *ret_probe = probe;
    return 0;
}

void probe_set_budget(struct probe *probe, uint64_t budget_ns)
{
    probe->budget_ns = budget_ns;
}

void probe_free(struct probe *probe)
{
    if (probe == NULL)
        return;
    probe_forget(probe);
    watches_done(&probe->watches);
    sockets_free(probe->sockets);
    kernel_facts_unref(probe->stopped_facts);
    if (probe->proc >= 0)
        close(probe->proc);
    free(probe->cgroup_path);
    free(probe->subjects);
    free(probe->places);
    free(probe->queue);
    free(probe->owners);
    free(probe->pending);
    free(probe->again);
    free(probe);
}

/* Subjects --------------------------------------------------------------------------------------------------------- */

static uint32_t *find_place(const struct probe *probe, uint64_t key)
{
    size_t place = (size_t)hash_bytes(&probe->hash_key, &key, sizeof(key)) & (probe->place_capacity - 1);

    while (probe->places[place] != 0 && probe->subjects[probe->places[place] - 1].key != key)
        place = (place + 1) & (probe->place_capacity - 1);
    return &probe->places[place];
}

static int grow_places(struct probe *probe)
{
    size_t capacity = probe->place_capacity != 0 ? 2 * probe->place_capacity : PLACES_MIN;
    uint32_t *places = calloc(capacity, sizeof(*places));

    if (places == NULL)
        return -ENOMEM;
    free(probe->places);
    probe->places = places;
    probe->place_capacity = capacity;
    for (size_t i = 0; i < probe->subject_count; i++)
        *find_place(probe, probe->subjects[i].key) = (uint32_t)i + 1;
    return 0;
}

static enum subject_kind kind_of(const struct ring *ring, uint32_t process)
{
    static const enum subject_kind kinds[] = {
        [PROCESS_UNKNOWN] = SUBJECT_UNKNOWN, [PROCESS_ATTESTED] = SUBJECT_ALIVE, [PROCESS_ALIVE] = SUBJECT_ALIVE,
        [PROCESS_MISSING] = SUBJECT_GONE,    [PROCESS_DEAD] = SUBJECT_GONE,
    };

    return process < ring->process_count ? kinds[ring->processes[process].verdict] : SUBJECT_UNKNOWN;
}

uint32_t probe_subject(struct probe *probe, struct ring *ring, uint32_t process)
{
    uint64_t key = probe_key(ring->serial, process);
    struct subject *subjects;
    uint32_t *place;

    if (2 * (probe->subject_count + 1) > probe->place_capacity && grow_places(probe) != 0)
        return NO_SUBJECT;
    place = find_place(probe, key);
    if (*place != 0)
        return *place - 1;
    subjects = array_reserve(probe->subjects, &probe->subject_capacity, probe->subject_count + 1, sizeof(*subjects));
    if (subjects == NULL)
        return NO_SUBJECT;
    probe->subjects = subjects;
    subjects[probe->subject_count] =
        (struct subject){.key = key, .ring = ring, .process = process, .kind = kind_of(ring, process), .hold = -1};
    *place = (uint32_t)++probe->subject_count;
    return *place - 1;
}

void probe_forget(struct probe *probe)
{
    for (size_t i = 0; i < probe->subject_count; i++)
        if (probe->subjects[i].hold >= 0)
            close(probe->subjects[i].hold);
    probe->hold_count = 0;
    probe->subject_count = 0;
    probe->pending_count = 0;
    probe->again_count = 0;
    probe->searched_ns = 0;
    if (probe->sockets != NULL)
        sockets_end_pass(probe->sockets);
    free(probe->places);
    probe->places = NULL;
    probe->place_capacity = 0;
    probe->subjects = array_trim(probe->subjects, &probe->subject_capacity, 0, sizeof(*probe->subjects));
    probe->queue = array_trim(probe->queue, &probe->queue_capacity, 0, sizeof(*probe->queue));
    probe->owners = array_trim(probe->owners, &probe->owner_capacity, 0, sizeof(*probe->owners));
    probe->pending = array_trim(probe->pending, &probe->pending_capacity, 0, sizeof(*probe->pending));
    probe->again = array_trim(probe->again, &probe->again_capacity, 0, sizeof(*probe->again));
}

/* Asking ----------------------------------------------------------------------------------------------------------- */

static void hold_subject(struct probe *probe, struct subject *subject, uint32_t pid)
{
    if (probe->hold_count >= HOLDS_MAX)
        return;
    subject->hold = pidfd_of(pid);
    if (subject->hold >= 0)
        probe->hold_count++;
}

static void ask_subject(struct probe *probe, struct subject *subject)
{
    const struct ring_process *process = &subject->ring->processes[subject->process];
    struct proc_status status;
    struct proc_stat stat;

    hold_subject(probe, subject, process->pid);
    if (proc_stat(probe->proc, process->pid, &stat) != 0 || proc_status(probe->proc, process->pid, &status) != 0 ||
        stat.start_time_ticks != process->pid_start_time_ticks) {
        subject->lost = true; /* it is on its way out: the next scan will tell */
        return;
    }
    subject->attested = process->verdict == PROCESS_ATTESTED && !probe->anyones;
    subject->leader_state = stat.state;
    subject->core_dumping = status.core_dumping;
    if (proc_cgroup_frozen(probe->proc, probe->cgroup_path, process->pid, &subject->frozen) != 0)
        subject->frozen = false;
    subject->asked = true;
}

/*
 * Lanes of those that can be asked about, in probe->queue; each begins behind the one of the owner that was asked about
 * last. False: no memory.
 */
static bool queue_subjects(struct probe *probe, struct lane *lanes, size_t *begins)
{
    uint32_t *queue = array_reserve(probe->queue, &probe->queue_capacity, probe->subject_count, sizeof(*queue));
    size_t placed[REGISTRY_OWNERS_MAX] = {0}, first = 0;

    if (queue == NULL)
        return false;
    probe->queue = queue;
    for (size_t i = 0; i < probe->subject_count; i++)
        lanes[probe->subjects[i].ring->owner].count += probe->subjects[i].kind == SUBJECT_ALIVE;
    for (size_t owner = 0; owner < REGISTRY_OWNERS_MAX; owner++) {
        lanes[owner].first = first;
        first += lanes[owner].count;
    }
    for (size_t i = 0; i < probe->subject_count; i++) {
        const uint32_t owner = probe->subjects[i].ring->owner;

        if (probe->subjects[i].kind != SUBJECT_ALIVE)
            continue;
        queue[lanes[owner].first + placed[owner]++] = (uint32_t)i;
        if (probe->subjects[i].key == probe->last_subjects[owner])
            begins[owner] = placed[owner];
    }
    return true;
}

/* The owner for whom least has been spent, the first behind last, of those who have more. The maximum: none has. */
static size_t next_owner(const struct lane *lanes, const size_t *asked, size_t last)
{
    size_t least = REGISTRY_OWNERS_MAX;

    for (size_t i = 1; i <= REGISTRY_OWNERS_MAX; i++) {
        size_t owner = (last + i) % REGISTRY_OWNERS_MAX;

        if (asked[owner] < lanes[owner].count &&
            (least == REGISTRY_OWNERS_MAX || lanes[owner].spent_ns < lanes[least].spent_ns))
            least = owner;
    }
    return least;
}

void probe_ask_subjects(struct probe *probe, uint64_t deadline_mono_ns)
{
    size_t begins[REGISTRY_OWNERS_MAX] = {0}, asked[REGISTRY_OWNERS_MAX] = {0}, owner;
    struct lane lanes[REGISTRY_OWNERS_MAX] = {{0}};
    uint64_t now_mono_ns = clock_mono_ns();

    if (probe->subject_count == 0 || !queue_subjects(probe, lanes, begins))
        return;
    while ((owner = next_owner(lanes, asked, probe->last_owner)) < REGISTRY_OWNERS_MAX) {
        const uint64_t began_mono_ns = now_mono_ns;
        const size_t place = (begins[owner] + asked[owner]++) % lanes[owner].count;
        struct subject *subject = &probe->subjects[probe->queue[lanes[owner].first + place]];

        ask_subject(probe, subject);
        probe->last_subjects[owner] = subject->key;
        probe->last_owner = owner;
        now_mono_ns = clock_mono_ns();
        lanes[owner].spent_ns += now_mono_ns - began_mono_ns;
        if (now_mono_ns >= deadline_mono_ns)
            return; /* one has been asked about, however late a busy machine let us begin */
    }
}

bool probe_subject_holds(const struct registry *registry, const struct subject *subject)
{
    if (subject->hold >= 0 && pidfd_ended(subject->hold))
        return false;
    return registry_process_holds(registry, subject->ring, subject->process);
}
