/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_credentials.h - with whose rights a process opens files, as /proc/PID/status says. Takes the descriptor of a
 * proc directory.
 */
#ifndef RIPD_OS_PROC_CREDENTIALS_H
#define RIPD_OS_PROC_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#define PROC_GROUPS_MAX 64u /* more are left out */

struct proc_credentials {
    uint32_t uid; /* that files are opened with */
    uint32_t gid; /* likewise */
    bool own_gid; /* real, effective and saved gid are the same: no program has lent it */
    uint32_t groups[PROC_GROUPS_MAX];
    uint32_t group_count;
};

/* 0 or -errno; -ESRCH when the process is gone. */
int proc_credentials(int proc, uint32_t pid, struct proc_credentials *ret_credentials);

/* -EINVAL: the text lacks something. A group that the text ends in is left out, for it may have been cut. Pure. */
int proc_parse_credentials(const char *text, struct proc_credentials *ret_credentials);

#endif
