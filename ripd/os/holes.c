/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holes.c - registers ranges with a userfaultfd that is set to raise SIGBUS for a missing page. Touches one descriptor
 * of the process, which is opened at the first use and kept.
 */
#include "os/holes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int shared_descriptor = -1;

/* Returns a descriptor or -errno. */
static int open_descriptor(void)
{
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_SIGBUS};
    int descriptor = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY); /* needs no privilege */
    int result = 0;

    if (descriptor < 0)
        return -errno;
    if (ioctl(descriptor, UFFDIO_API, &api) != 0)
        result = -errno;
    if (result == 0)
        return descriptor;
    close(descriptor);
    return result;
}

int holes_refuse(const void *base, size_t size_bytes)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    struct uffdio_register request = {
        .range = {.start = (uintptr_t)base, .len = (size_bytes + page_bytes - 1) / page_bytes * page_bytes},
        .mode = UFFDIO_REGISTER_MODE_MISSING,
    };
    int descriptor = atomic_load(&shared_descriptor), none = -1;

    if (descriptor < 0) {
        descriptor = open_descriptor();
        if (descriptor < 0)
            return descriptor;
        if (!atomic_compare_exchange_strong(&shared_descriptor, &none, descriptor)) {
            close(descriptor); /* another thread was faster */
            descriptor = none;
        }
    }
    return ioctl(descriptor, UFFDIO_REGISTER, &request) == 0 ? 0 : -errno;
}
