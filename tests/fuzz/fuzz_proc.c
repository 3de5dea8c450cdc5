/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_proc.c - PID/stat, status, credentials, statm and cgroup of processes that choose their names: accepted values
 * are in bounds.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "os/proc_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    char *text = malloc(size_bytes + 1), *taken_apart; /* exact size, to detect reads past the end */
    struct proc_credentials credentials;
    struct proc_memory memory;
    struct proc_group group;
    struct proc_status status;
    struct proc_stat stat;

    if (text == NULL)
        return 0;
    if (size_bytes != 0)
        memcpy(text, bytes, size_bytes);
    text[size_bytes] = '\0';
    if (proc_parse_stat(text, &stat) == 0) {
        require(memchr(stat.comm, 0, sizeof(stat.comm)) != NULL);
        require((stat.state >= 'A' && stat.state <= 'Z') || (stat.state >= 'a' && stat.state <= 'z'));
    }
    if (proc_parse_status(text, &status) == 0)
        require(status.namespace_count != 0 || status.pid_in_namespace == 0);
    if (proc_parse_credentials(text, &credentials) == 0)
        require(credentials.group_count <= PROC_GROUPS_MAX);
    if (proc_parse_statm(text, 4096, &memory) == 0)
        require(memory.anonymous_bytes <= memory.resident_bytes && memory.resident_bytes % 4096 == 0);
    taken_apart = strdup(text);
    require(taken_apart != NULL);
    proc_parse_group(taken_apart, &group);
    free(taken_apart);
    require(memchr(group.unit, 0, sizeof(group.unit)) != NULL && strchr(group.unit, '/') == NULL);
    require(memchr(group.container, 0, sizeof(group.container)) != NULL && strchr(group.container, '/') == NULL);
    require(group.unit[0] == '\0' || strstr(text, group.unit) != NULL);
    require(group.container[0] == '\0' || strstr(text, group.container) != NULL);
    free(text);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static const char *const seeds[] = {
        "4690 (a) (b\nc) S 1 4690 4690 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 17 0 123456 99 1 18446744073709551615\n",
        "Name:\tcheckout\nUid:\t1000\t1000\t1000\t1000\nNSpid:\t4690\t12\t1\nCoreDumping:\t0\nThreads:\t17\n",
        "Uid:\t1000\t1000\t1000\t1000\nGid:\t100\t100\t100\t100\nGroups:\t24 27 100 \nNStgid:\t4690\n",
        "12:pids:/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
        "1:name=systemd:/user.slice/user@7.service/a.slice/_b.service\n0::/lxc/c1/lxc.payload.c2/init.scope "
        "(deleted)\n",
        "82150 3127 1901 44 0 18446744073709551615 0\n",
    };

    return fuzz_text(seeds, sizeof(seeds) / sizeof(seeds[0]), number, ret_bytes, capacity_bytes);
}
