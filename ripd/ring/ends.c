/* SPDX-License-Identifier: Apache-2.0 */
/* ends.c - see ends.h. Touches pidfds and /proc. */
#include "ring/ends.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "os/pidfd.h"
#include "os/proc.h"

struct end_watch {
    struct ring_host *host;
    uint32_t user;  /* whose account is charged */
    int descriptor; /* pidfd; -1 = its end was noticed */
    struct process_end end;
    bool noted;             /* the end is likely, or certain */
    bool dying;             /* the end is certain */
    struct end_watch *next; /* in the list of those noted and not returned yet */
};

/* Returns a pidfd of the process that the record was judged to be of, or -errno. */
static int open_pidfd(const struct ring_host *host, const struct ring_process *process)
{
    int descriptor = pidfd_of(process->pid);
    struct proc_stat stat;

    if (descriptor < 0)
        return descriptor;
    if (process_stat(host->proc, process, &stat))
        return descriptor;
    close(descriptor);
    return -ESRCH;
}

static struct end_watch *new_watch(struct ring_host *host, const struct ring *ring, const struct ring_process *process)
{
    struct end_watch *watch = calloc(1, sizeof(*watch));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

    if (watch == NULL)
        return NULL;
    *watch = (struct end_watch){.host = host,
                                .user = ring->user,
                                .descriptor = open_pidfd(host, process),
                                .end = {.ring = ring->serial,
                                        .process = process->claim.index,
                                        .generation = process->claim.generation,
                                        .pid = process->pid,
                                        .descriptor = -1}};
    if (watch->descriptor >= 0 && epoll_ctl(host->ends_epoll, EPOLL_CTL_ADD, watch->descriptor, &event) == 0)
        return watch;
    if (watch->descriptor >= 0)
        close(watch->descriptor);
    free(watch);
    return NULL;
}

void ends_watch(struct ring_host *host, const struct ring *ring, struct ring_process *process)
{
    if (host->ends_epoll < 0 || process->watch != NULL || process->unwatchable)
        return;
    process->unwatchable = !work_take(host->work, ring->user, WORK_ENDINGS, 1);
    if (process->unwatchable)
        return;
    process->watch = new_watch(host, ring, process);
    if (process->watch == NULL)
        work_give(host->work, ring->user, WORK_ENDINGS, 1);
}

/*
 * Removes the pidfd from the epoll set explicitly: closing it is not enough while a forked child that has not executed
 * its program yet has a copy.
 */
static void close_pidfd(struct end_watch *watch)
{
    if (watch->descriptor < 0)
        return;
    epoll_ctl(watch->host->ends_epoll, EPOLL_CTL_DEL, watch->descriptor, NULL);
    close(watch->descriptor);
    watch->descriptor = -1;
}

static void unlink_noted(struct end_watch *watch)
{
    struct end_watch **at = &watch->host->ends_noted;

    while (*at != NULL && *at != watch)
        at = &(*at)->next;
    if (*at != NULL)
        *at = watch->next;
}

void ends_unwatch(struct end_watch *watch)
{
    if (watch == NULL)
        return;
    unlink_noted(watch);
    close_pidfd(watch);
    work_give(watch->host->work, watch->user, WORK_ENDINGS, 1);
    free(watch);
}

/* Returns true if the process has not ended and is not about to. Its address space goes a moment before the process. */
static bool is_running(const struct end_watch *watch)
{
    struct proc_stat stat;

    return !pidfd_ended(watch->descriptor) && proc_stat(watch->host->proc, watch->end.pid, &stat) == 0 &&
           stat.state != 'Z' && (stat.flags & (PROC_FLAG_EXITING | PROC_FLAGS_KILLED)) == 0;
}

static void note(struct end_watch *watch)
{
    if (watch->descriptor < 0 || watch->noted)
        return;
    watch->noted = watch->end.open = true;
    watch->next = watch->host->ends_noted;
    watch->host->ends_noted = watch;
}

void ends_note_dying(struct end_watch *watch)
{
    if (watch == NULL)
        return;
    watch->dying = true;
    note(watch);
}

bool ends_is_dying(const struct end_watch *watch)
{
    return watch != NULL && watch->dying;
}

void ends_judge(struct end_watch *watch, enum process_verdict verdict)
{
    if (watch == NULL)
        return;
    if (verdict == PROCESS_ATTESTED && watch->noted && !watch->dying) {
        unlink_noted(watch);
        watch->noted = watch->end.open = watch->end.replaced = false;
    } else if ((verdict == PROCESS_MISSING || verdict == PROCESS_DEAD) && watch->descriptor >= 0 && !watch->noted) {
        watch->end.replaced = is_running(watch);
        note(watch);
    }
    if (verdict == PROCESS_DEAD && watch->end.replaced)
        close_pidfd(watch); /* the end of the new program is not ours */
}

bool ends_next(struct ring_host *host, struct process_end *ret_end)
{
    struct end_watch *watch = host->ends_noted;
    struct epoll_event event;

    if (watch != NULL) {
        host->ends_noted = watch->next;
        watch->next = NULL;
        *ret_end = watch->end;
        return true;
    }
    if (epoll_wait(host->ends_epoll, &event, 1, 0) != 1)
        return false;
    watch = event.data.ptr;
    epoll_ctl(host->ends_epoll, EPOLL_CTL_DEL, watch->descriptor, NULL);
    *ret_end = watch->end;
    ret_end->open = false;
    ret_end->descriptor = watch->descriptor;
    watch->descriptor = -1;
    return true;
}
