/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness.c - whether the process that a record names may still use the ring.
 *
 * Reads locks and /proc; changes nothing.
 *
 * Guarantees
 *   1. A process that holds a lock of its record is alive.
 *   2. A record that had its LIFE lock and has it no longer is of an address space that is gone.
 *   3. What cannot be known (a pid of another namespace, a hidden /proc) counts as alive: no ring is taken from a
 *      living process for want of evidence.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "writer.h"

enum { STAT_THREADS = 20, STAT_START_TIME = 22 }; /* fields of /proc/PID/stat */

/* Facts ------------------------------------------------------------------------------------------------------------ */

/* "pid (comm) state ppid ...": comm may hold anything, so the fields count from the last parenthesis. */
static bool parse_stat(const char *text, struct rip_process_facts *ret_facts)
{
    const char *open_mark = strchr(text, '('), *close_mark = strrchr(text, ')');
    struct rip_process_facts facts = {0};
    const char *next;
    size_t bytes;

    if (open_mark == NULL || close_mark == NULL || close_mark < open_mark || close_mark[1] != ' ')
        return false;
    bytes = (size_t)(close_mark - open_mark - 1);
    memcpy(facts.comm, open_mark + 1, bytes < sizeof(facts.comm) ? bytes : sizeof(facts.comm));
    next = close_mark + 2;
    facts.state = *next;
    for (unsigned field = 3; field < STAT_START_TIME; field++) {
        next = strchr(next, ' ');
        if (next == NULL)
            return false;
        next++;
        if (field + 1 == STAT_THREADS)
            facts.thread_count = (uint32_t)strtoul(next, NULL, 10);
    }
    facts.start_time_ticks = strtoull(next, NULL, 10);
    *ret_facts = facts;
    return facts.start_time_ticks != 0;
}

int rip__process_facts(const char *path, struct rip_process_facts *ret_facts)
{
    char text[1024];
    ssize_t bytes;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);

    if (descriptor < 0)
        return -errno;
    bytes = read(descriptor, text, sizeof(text) - 1);
    close(descriptor);
    if (bytes <= 0)
        return -ESRCH;
    text[bytes] = '\0';
    return parse_stat(text, ret_facts) ? 0 : -EPROTO;
}

uint64_t rip__pid_namespace(void)
{
    struct stat status;

    return stat("/proc/thread-self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

bool rip__locked(int descriptor, uint64_t offset, uint64_t bytes)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = (off_t)bytes};

    return fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* Judging ---------------------------------------------------------------------------------------------------------- */

void rip__evidence_of_ring(struct rip_evidence *ret_evidence)
{
    *ret_evidence = (struct rip_evidence){
        .descriptor = rip__file_is_ring(rip__writer.descriptor) ? rip__writer.descriptor : -1,
        .holder_offset = RIP_LOCK_HOLDER_OFFSET,
        .life_offset = RIP_LOCK_LIFE_OFFSET,
        .pid_namespace = rip__pid_namespace(),
        .now_boot_ns = rip__boot_ns(),
    };
}

/* Whether pid runs and was started in [first, last]; 0 ticks are not known and match anything. */
static bool pid_started_within(uint32_t pid, uint64_t first_ticks, uint64_t last_ticks)
{
    struct rip_process_facts facts;
    char path[32];
    int result;

    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    result = rip__process_facts(path, &facts);
    if (result < 0) /* no such pid, or one that /proc hides */
        return kill((pid_t)pid, 0) == 0 || errno == EPERM;
    if ((facts.state == 'Z' || facts.state == 'X') && facts.thread_count <= 1) /* else only its main thread has ended */
        return false;
    return first_ticks == 0 || (facts.start_time_ticks >= first_ticks && facts.start_time_ticks <= last_ticks);
}

static uint64_t ticks_of_ns(uint64_t boot_ns)
{
    return boot_ns / (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Unborn: by age and parent. Born without a lock: the pid must have been started when the embryo was kept. */
static bool embryo_alive(const struct rip_evidence *evidence, const struct rip_process_info *info)
{
    uint64_t age_ns = evidence->now_boot_ns - info->entered_boot_ns;
    uint64_t kept_ticks = ticks_of_ns(info->entered_boot_ns);

    if (info->pid != 0)
        return pid_started_within(info->pid, kept_ticks > 1 ? kept_ticks - 1 : 1,
                                  kept_ticks + ticks_of_ns(RIP_EMBRYO_LIMIT_NS));
    if (age_ns < RIP_EMBRYO_GRACE_NS)
        return true;
    return age_ns < RIP_EMBRYO_LIMIT_NS && pid_started_within(info->parent_pid, 0, 0);
}

/*
 * A lock proves life. A record that had its LIFE lock and has it no longer is of an address space that is gone, even
 * if the same pid runs on after exec. Without that the pid must do, which says nothing from another pid namespace.
 */
bool rip__process_alive(const struct rip_evidence *evidence, uint32_t index, const struct rip_process_info *info)
{
    if (info->state == RIP_PROCESS_EXITED)
        return false;
    if (evidence->descriptor >= 0) {
        if (rip__locked(evidence->descriptor, evidence->life_offset + index, 1) ||
            rip__locked(evidence->descriptor, evidence->holder_offset + index, 1))
            return true;
        if ((info->flags & RIP_PROCESS_HAS_LIFE_LOCK) != 0)
            return false;
    }
    if (evidence->pid_namespace != info->pid_namespace && info->pid_namespace != 0)
        return true;
    if (info->state == RIP_PROCESS_EMBRYO)
        return embryo_alive(evidence, info);
    return pid_started_within(info->pid, info->start_time_ticks, info->start_time_ticks);
}
