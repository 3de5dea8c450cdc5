/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_group.h - finds the systemd unit and the container of a process by the names of its cgroups. Pure, on terminated
 * text that may be hostile: users who may create cgroups choose their names. Fuzzed.
 *
 * Guarantees
 *   A. Nothing beyond the terminator is read, whatever the text.
 *   B. A name is complete or missing, never cut.
 */
#ifndef RIPD_OS_PROC_GROUP_H
#define RIPD_OS_PROC_GROUP_H

#define PROC_UNIT_BYTES 256u      /* systemd's limit, with the terminator */
#define PROC_CONTAINER_BYTES 129u /* 64 hexadecimal digits, or a name of LXC */

struct proc_group {
    char unit[PROC_UNIT_BYTES];           /* "checkout.service", or a scope; "" = none */
    char container[PROC_CONTAINER_BYTES]; /* "" = none */
};

/* Parses the text of PID/cgroup, of version 1, 2, or both. The text is modified. */
void proc_parse_group(char *text, struct proc_group *ret_group);

#endif
