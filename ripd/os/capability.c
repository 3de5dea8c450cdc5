/* SPDX-License-Identifier: Apache-2.0 */
/* capability.c - capget, capset and prctl. Touches only the calling thread's credentials. */
#include "os/capability.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct capability_sets {
    struct __user_cap_header_struct header;
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]; /* the low 32 bits of each set, then the high ones */
};

static int get_sets(struct capability_sets *ret_sets)
{
    *ret_sets = (struct capability_sets){.header.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(SYS_capget, &ret_sets->header, ret_sets->data) == 0 ? 0 : -errno;
}

static uint64_t permitted_of(const struct capability_sets *sets)
{
    return (uint64_t)sets->data[1].permitted << 32 | sets->data[0].permitted;
}

int capability_permitted(uint64_t *ret_mask)
{
    struct capability_sets sets;
    int result = get_sets(&sets);

    if (result == 0)
        *ret_mask = permitted_of(&sets);
    return result;
}

/* Needs CAP_SETPCAP. Without it the bounding set stays, which is of no use to a thread without new privileges. */
static void drop_bounding(void)
{
    for (unsigned long number = 0; prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; number++)
        (void)prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
}

int capability_keep(uint64_t mask)
{
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    struct capability_sets sets;
    uint64_t kept;
    int result = get_sets(&sets);

    if (result != 0)
        return result;
    kept = permitted_of(&sets) & mask;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -errno;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
        return -errno;
    drop_bounding();
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        data[i] = (struct __user_cap_data_struct){
            .permitted = (uint32_t)(kept >> (32 * i)),
            .effective = (uint32_t)(kept >> (32 * i)),
        };
    if (memcmp(data, sets.data, sizeof(data)) == 0)
        return 0; /* nothing to give up; capset may be refused where no process has capabilities */
    return syscall(SYS_capset, &sets.header, data) == 0 ? 0 : -errno;
}
