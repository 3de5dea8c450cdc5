/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - accounts ordered by user, a heap of jobs in each, and one list of delayed jobs. Pure. */
#include "work/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/search.h"
#include "work/jobs.h"

struct heap {
    struct work_job *jobs; /* the parent of i is (i - 1) / 2 */
    size_t count;
    size_t capacity;
};

struct account {
    struct work_account values;
    uint32_t from[WORK_LIMIT_COUNT];    /* place at which this scan begins */
    uint32_t stopped[WORK_LIMIT_COUNT]; /* place at which the next scan begins; 0 = none */
    uint32_t last[WORK_LIMIT_COUNT];    /* place of the last work_has_turn() */
    uint64_t spent_ns;
    uint64_t paused_until_ns;
    struct heap heap;
};

/* A job that is not due yet. */
struct delayed {
    uint64_t due_ns;
    uint32_t user;
    struct work_job job;
};

struct work {
    struct account *accounts; /* ascending by user */
    size_t count;
    size_t capacity;
    struct uid_range *ranges; /* ascending by first uid */
    size_t range_count;
    struct delayed *delayed; /* ascending by due_ns */
    size_t delayed_count;
    size_t delayed_capacity;
    uint64_t totals[WORK_LIMIT_COUNT];
    uint64_t held[WORK_LIMIT_COUNT];
    uint64_t served; /* rotates the order among equal users */
};

static const struct limit {
    const char *name;
    uint64_t total;
} limits[WORK_LIMIT_COUNT] = {
#define X(name, text, total, meaning) {text, total},
    WORK_LIMIT_TABLE(X)
#undef X
};

const char *work_limit_name(enum work_limit limit)
{
    return limits[limit].name;
}

struct work *work_new(void)
{
    struct work *work = calloc(1, sizeof(*work));

    for (size_t i = 0; work != NULL && i < WORK_LIMIT_COUNT; i++)
        work->totals[i] = limits[i].total;
    return work;
}

void work_free(struct work *work)
{
    if (work == NULL)
        return;
    for (size_t i = 0; i < work->count; i++)
        free(work->accounts[i].heap.jobs);
    free(work->accounts);
    free(work->ranges);
    free(work->delayed);
    free(work);
}

/* Users ------------------------------------------------------------------------------------------------------------ */

static int compare_ranges(const void *a, const void *b)
{
    const struct uid_range *one = a, *other = b;

    return (one->first > other->first) - (one->first < other->first);
}

int work_set_ranges(struct work *work, const struct uid_range *ranges, size_t count)
{
    struct uid_range *copy = malloc((count != 0 ? count : 1) * sizeof(*copy));

    if (copy == NULL)
        return -ENOMEM;
    if (count != 0)
        memcpy(copy, ranges, count * sizeof(*copy));
    qsort(copy, count, sizeof(*copy), compare_ranges);
    free(work->ranges);
    work->ranges = copy;
    work->range_count = count;
    return 0;
}

uint32_t work_user(const struct work *work, uint32_t uid)
{
    for (size_t i = 0; i < work->range_count && work->ranges[i].first <= uid; i++)
        if (uid - work->ranges[i].first < work->ranges[i].count)
            return work->ranges[i].user;
    return uid;
}

static int compare_user(const void *key, const void *item)
{
    const uint32_t *user = key;
    const struct account *account = item;

    return (*user > account->values.user) - (*user < account->values.user);
}

/* Returns the index of the user's account, or where it must be inserted. */
static size_t place_of(const struct work *work, uint32_t user)
{
    return search_first(&user, work->accounts, work->count, sizeof(*work->accounts), compare_user);
}

static bool holds_something(const struct account *account)
{
    for (size_t i = 0; i < WORK_LIMIT_COUNT; i++)
        if (account->values.held[i] != 0)
            return true;
    return account->heap.count != 0;
}

/* Returns NULL if the user has no account and shares none. */
static struct account *find(const struct work *work, uint32_t user)
{
    struct account *last = work->count != 0 ? &work->accounts[work->count - 1] : NULL;
    size_t place = place_of(work, user);

    if (place < work->count && work->accounts[place].values.user == user)
        return &work->accounts[place];
    if (last == NULL || last->values.user != WORK_SHARED)
        return NULL;
    return work->count > WORK_USERS_MAX || holds_something(last) ? last : NULL;
}

/* Returns the user's account, made if there is none. Returns NULL if out of memory. */
static struct account *open_account(struct work *work, uint32_t user)
{
    struct account *account = find(work, user);
    size_t place;

    if (account != NULL)
        return account;
    if (work->count >= WORK_USERS_MAX && user != WORK_SHARED)
        return open_account(work, WORK_SHARED);
    if (!ARRAY_GROW(work->accounts, work->count, work->capacity))
        return NULL;
    place = place_of(work, user);
    ARRAY_OPEN(work->accounts, work->count, place);
    work->accounts[place] = (struct account){.values.user = user};
    return &work->accounts[place];
}

bool work_account(const struct work *work, size_t index, struct work_account *ret_account)
{
    if (index >= work->count)
        return false;
    *ret_account = work->accounts[index].values;
    return true;
}

/* Limits ----------------------------------------------------------------------------------------------------------- */

void work_set_total(struct work *work, enum work_limit limit, uint64_t total)
{
    work->totals[limit] = total != 0 ? total : 1;
}

bool work_has_room(const struct work *work, uint32_t user, enum work_limit limit, uint64_t amount)
{
    const struct account *account = find(work, user);
    uint64_t own = account != NULL ? account->values.held[limit] : 0, free_amount;

    if (work->held[limit] >= work->totals[limit] || amount > work->totals[limit] - work->held[limit])
        return false;
    free_amount = work->totals[limit] - work->held[limit] - amount;
    /* Allow one more than stays free: otherwise no user could have the last unit of an odd total. */
    return own + amount <= free_amount + 1;
}

void work_refuse(struct work *work, uint32_t user, enum work_limit limit, uint64_t count)
{
    struct account *account = open_account(work, user);

    if (account != NULL)
        account->values.refused[limit] += count;
}

bool work_take(struct work *work, uint32_t user, enum work_limit limit, uint64_t amount)
{
    struct account *account = open_account(work, user);

    if (account == NULL || !work_has_room(work, user, limit, amount)) {
        work_refuse(work, user, limit, 1);
        return false;
    }
    account->values.held[limit] += amount;
    work->held[limit] += amount;
    return true;
}

void work_give(struct work *work, uint32_t user, enum work_limit limit, uint64_t amount)
{
    struct account *account = find(work, user);

    if (account == NULL)
        return;
    amount = amount < account->values.held[limit] ? amount : account->values.held[limit];
    account->values.held[limit] -= amount;
    work->held[limit] -= amount;
}

void work_reset(struct work *work, enum work_limit limit)
{
    for (size_t i = 0; i < work->count; i++) {
        struct account *account = &work->accounts[i];

        account->values.held[limit] = 0;
        account->from[limit] = account->stopped[limit] <= account->last[limit] ? account->stopped[limit] : 0;
        account->stopped[limit] = 0;
    }
    work->held[limit] = 0;
}

bool work_has_turn(struct work *work, uint32_t user, enum work_limit limit, uint32_t place)
{
    struct account *account = find(work, user);

    if (account == NULL)
        return true;
    account->last[limit] = place;
    return account->stopped[limit] == 0 && place >= account->from[limit];
}

void work_stop(struct work *work, uint32_t user, enum work_limit limit, uint32_t place)
{
    struct account *account = open_account(work, user);

    if (account != NULL && account->stopped[limit] == 0)
        account->stopped[limit] = place;
    work_refuse(work, user, limit, 1);
}

void work_leak(struct work *work, enum work_limit limit, uint64_t amount)
{
    for (size_t i = 0; i < work->count; i++)
        work_give(work, work->accounts[i].values.user, limit, amount);
}

uint64_t work_held(const struct work *work, uint32_t user, enum work_limit limit)
{
    const struct account *account = find(work, user);

    return account != NULL ? account->values.held[limit] : 0;
}

bool work_largest(const struct work *work, enum work_limit limit, uint32_t *ret_user)
{
    const struct account *largest = NULL;

    for (size_t i = 0; i < work->count; i++)
        if (work->accounts[i].values.held[limit] > (largest != NULL ? largest->values.held[limit] : 0))
            largest = &work->accounts[i];
    if (largest == NULL)
        return false;
    *ret_user = largest->values.user;
    return true;
}

/* Jobs ------------------------------------------------------------------------------------------------------------- */

static bool comes_before(const struct work_job *a, const struct work_job *b)
{
    if (a->class != b->class)
        return a->class < b->class;
    return a->order != b->order ? a->order < b->order : a->subject < b->subject;
}

static int heap_push(struct heap *heap, struct work_job job)
{
    size_t at = heap->count;

    if (!ARRAY_GROW(heap->jobs, heap->count, heap->capacity))
        return -ENOMEM;
    heap->count++;
    for (; at != 0 && comes_before(&job, &heap->jobs[(at - 1) / 2]); at = (at - 1) / 2)
        heap->jobs[at] = heap->jobs[(at - 1) / 2];
    heap->jobs[at] = job;
    return 0;
}

static struct work_job heap_pop(struct heap *heap)
{
    struct work_job first = heap->jobs[0], last = heap->jobs[--heap->count];
    size_t at = 0;

    for (size_t child = 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count && comes_before(&heap->jobs[child + 1], &heap->jobs[child]))
            child++;
        if (!comes_before(&heap->jobs[child], &last))
            break;
        heap->jobs[at] = heap->jobs[child];
        at = child;
    }
    heap->jobs[at] = last;
    return first;
}

static bool is_needed(const struct account *account)
{
    for (size_t i = 0; i < WORK_LIMIT_COUNT; i++)
        if (account->values.refused[i] != 0)
            return true;
    return holds_something(account) || account->spent_ns != 0 || account->paused_until_ns != 0;
}

void work_begin(struct work *work)
{
    size_t kept = 0;

    work_clear(work);
    for (size_t i = 0; i < work->count; i++) {
        struct account *account = &work->accounts[i];

        account->spent_ns /= 2;
        ARRAY_TRIM(account->heap.jobs, account->heap.capacity, 0);
        if (is_needed(account))
            work->accounts[kept++] = *account;
        else
            free(account->heap.jobs);
    }
    work->count = kept;
    ARRAY_TRIM(work->delayed, work->delayed_capacity, 0);
}

int work_push(struct work *work, uint32_t user, struct work_job job)
{
    struct account *account = open_account(work, user);

    return account != NULL ? heap_push(&account->heap, job) : -ENOMEM;
}

int work_push_at(struct work *work, uint32_t user, struct work_job job, uint64_t due_ns)
{
    size_t at = work->delayed_count;

    if (!ARRAY_GROW(work->delayed, work->delayed_count, work->delayed_capacity))
        return -ENOMEM;
    for (; at != 0 && work->delayed[at - 1].due_ns > due_ns; at--) /* delays are similar: nearly always the last */
        work->delayed[at] = work->delayed[at - 1];
    work->delayed[at] = (struct delayed){.due_ns = due_ns, .user = user, .job = job};
    work->delayed_count++;
    return 0;
}

static void release_due(struct work *work, uint64_t now_ns)
{
    size_t due = 0;

    while (due < work->delayed_count && work->delayed[due].due_ns <= now_ns &&
           work_push(work, work->delayed[due].user, work->delayed[due].job) == 0)
        due++;
    work->delayed_count -= due;
    if (due != 0 && work->delayed_count != 0)
        memmove(work->delayed, &work->delayed[due], work->delayed_count * sizeof(*work->delayed));
}

bool work_next(struct work *work, uint64_t now_ns, uint16_t class_max, struct work_job *ret_job, uint32_t *ret_user)
{
    struct account *next = NULL;

    release_due(work, now_ns);
    for (size_t i = 0; i < work->count; i++) {
        struct account *account = &work->accounts[(work->served + i) % work->count];

        if (account->heap.count != 0 && account->heap.jobs[0].class <= class_max &&
            account->paused_until_ns <= now_ns && (next == NULL || account->spent_ns < next->spent_ns))
            next = account;
    }
    if (next == NULL)
        return false;
    work->served = (uint64_t)(next - work->accounts) + 1;
    *ret_job = heap_pop(&next->heap);
    *ret_user = next->values.user;
    return true;
}

uint64_t work_delayed_until(const struct work *work)
{
    return work->delayed_count != 0 ? work->delayed[0].due_ns : UINT64_MAX;
}

uint64_t work_next_due(const struct work *work)
{
    uint64_t due_ns = work_delayed_until(work);

    for (size_t i = 0; i < work->count; i++)
        if (work->accounts[i].heap.count != 0 && work->accounts[i].paused_until_ns < due_ns)
            due_ns = work->accounts[i].paused_until_ns;
    return due_ns;
}

void work_clear(struct work *work)
{
    for (size_t i = 0; i < work->count; i++)
        work->accounts[i].heap.count = 0;
    work->delayed_count = 0;
}

void work_refuse_queued(struct work *work, enum work_limit limit, uint16_t class_max)
{
    release_due(work, UINT64_MAX);
    for (size_t i = 0; i < work->count; i++) {
        const struct account *account = &work->accounts[i];

        for (size_t j = 0; j < account->heap.count; j++)
            if (account->heap.jobs[j].class <= class_max)
                work_refuse(work, account->values.user, limit, 1);
    }
    work_clear(work);
}

size_t work_drop(struct work *work, uint32_t user)
{
    struct account *account = find(work, user);
    size_t count = account != NULL ? account->heap.count : 0;

    if (account != NULL)
        account->heap.count = 0;
    return count;
}

void work_spend(struct work *work, uint32_t user, uint64_t spent_ns)
{
    struct account *account = open_account(work, user);

    if (account != NULL)
        account->spent_ns += spent_ns != 0 ? spent_ns : 1;
}

void work_pause(struct work *work, uint32_t user, uint64_t until_ns)
{
    struct account *account = open_account(work, user);

    if (account != NULL)
        account->paused_until_ns = until_ns;
}
