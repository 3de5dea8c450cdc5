/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_group.h - to what a process belongs, by the names of its control groups: a unit of systemd, a container. Pure on
 * terminated text, which may be hostile: who may make control groups chooses their names. Fuzzed.
 *
 * Guarantees
 *   A. Nothing beyond the terminator is read, whatever the text.
 *   B. A name is whole or missing: none is cut.
 */
#ifndef RIPD_OS_PROC_GROUP_H
#define RIPD_OS_PROC_GROUP_H

#define PROC_UNIT_BYTES 256u      /* of systemd's names, with the terminator */
#define PROC_CONTAINER_BYTES 129u /* 64 hexadecimal digits, or a name of LXC's */

struct proc_group {
    char unit[PROC_UNIT_BYTES];           /* "checkout.service", or a scope; "" = none */
    char container[PROC_CONTAINER_BYTES]; /* "" = none */
};

/* From the text of PID/cgroup, of version 1, 2, or both, which is taken apart. */
void proc_parse_group(char *text, struct proc_group *ret_group);

#endif
