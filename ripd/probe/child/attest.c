/* SPDX-License-Identifier: Apache-2.0 */
/* attest.c - a lock, a record, a pidfd and two files of /proc, and ring/identity.c on what they say. See attest.h. */
#include "probe/child/attest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "os/file.h"
#include "os/pidfd.h"
#include "os/proc.h"
#include "ring/identity.h"

/* Whether the kernel lets the process's own user read it: it gives the files of one that it does not to root. */
static int check_readable(int proc, uint32_t pid, uint32_t owner)
{
    struct file_identity identity;
    char name[32];
    int result;

    if (owner == 0)
        return 0;
    snprintf(name, sizeof(name), "%u/stat", pid);
    result = file_identify_at(proc, name, &identity);
    if (result != 0)
        return result == -ENOENT ? -ESRCH : result;
    return identity.uid == owner ? 0 : -EACCES;
}

/* What the record says, as far as it matters here; the rest is the registry's, which has found the ring. */
static int read_claim(struct attested *attested, int proc, struct identity_facts *ret_facts)
{
    struct rip_process_info claim;
    uint64_t own_namespace = 0;
    int result = mapping_process(&attested->mapping, attested->process, &claim);

    if (result != 0)
        return result < 0 ? -EINVAL : -ESRCH;
    if (claim.state != RIP_PROCESS_LIVE)
        return -ESRCH;
    (void)proc_own_pid_namespace(proc, &own_namespace);
    *ret_facts = (struct identity_facts){
        .claimed_pid = claim.pid,
        .claimed_start_time_ticks = claim.start_time_ticks,
        .same_boot = true,
        .same_pid_namespace = claim.pid_namespace == 0 || own_namespace == 0 || claim.pid_namespace == own_namespace,
        .file_uid = mapping_owner(&attested->mapping),
    };
    return 0;
}

static int ask_holder(const struct attested *attested, uint32_t *ret_pid)
{
    uint64_t offset = attested->mapping.view.lock_holder_offset + attested->process;
    uint32_t pid;
    int result = file_lock_holder(attested->mapping.descriptor, offset, &pid);

    if (result != 0)
        return -EINVAL;
    if (pid == 0 || pid == UINT32_MAX)
        return -ESRCH;
    *ret_pid = pid;
    return 0;
}

/* Whether pid is the process of the record, as of now. 0, -ESRCH or -EACCES. */
static int judge_holder(struct attested *attested, int proc, uint32_t pid)
{
    struct identity_memory memory = {0};
    struct identity_facts facts;
    struct proc_status status;
    struct proc_stat stat;
    int result = read_claim(attested, proc, &facts);

    if (result == 0)
        result = proc_stat(proc, pid, &stat);
    if (result == 0)
        result = proc_status(proc, pid, &status);
    if (result != 0)
        return result;
    facts.locks_known = true;
    facts.holder_pid = facts.pid = pid;
    facts.pid_exists = facts.pid_readable = true;
    facts.pid_start_time_ticks = stat.start_time_ticks;
    facts.pid_uid_real = status.uid_real;
    facts.pid_uid_effective = status.uid_effective;
    facts.pid_uid_saved = status.uid_saved;
    facts.pid_in_namespace = status.pid_in_namespace;
    if (proc_stat_ended(&stat) || identity_judge(&facts, &memory) != PROCESS_ATTESTED)
        return -ESRCH;
    return check_readable(proc, pid, facts.file_uid);
}

int attest_open(struct attested *ret_attested, int proc, int descriptor, uint32_t process)
{
    struct attested attested = {.process = process, .hold = -1, .mapping = {.descriptor = -1}};
    enum rip_status status;
    int result;

    if (!file_is_in_memory(descriptor)) {
        close(descriptor);
        return -EINVAL;
    }
    result = mapping_open(&attested.mapping, descriptor, MAPPING_COPIED, &status);
    if (result != 0)
        return -EINVAL;
    result = ask_holder(&attested, &attested.pid);
    if (result == 0) {
        attested.hold = pidfd_of(attested.pid);
        result = attested.hold < 0 ? attested.hold : judge_holder(&attested, proc, attested.pid);
    }
    if (result == 0)
        *ret_attested = attested;
    else
        attest_close(&attested);
    return result;
}

bool attest_holds(struct attested *attested, int proc)
{
    uint32_t pid;

    return judge_holder(attested, proc, attested->pid) == 0 && ask_holder(attested, &pid) == 0 &&
           pid == attested->pid && !pidfd_ended(attested->hold);
}

bool attest_thread(const struct attested *attested, int proc, const struct kernel_reading *reading)
{
    const uint32_t owner = mapping_owner(&attested->mapping);
    struct kernel_times after;
    struct proc_status status;

    if (owner == 0)
        return true;
    return proc_thread_status(proc, reading->pid, reading->tid, &status) == 0 && status.uid_real == owner &&
           status.uid_effective == owner && status.uid_saved == owner &&
           check_readable(proc, reading->pid, owner) == 0 && kernel_read_again(proc, reading, &after) == 0 &&
           kernel_has_not_run(&reading->times, &after);
}

void attest_close(struct attested *attested)
{
    if (attested->hold >= 0)
        close(attested->hold);
    mapping_close(&attested->mapping);
}
