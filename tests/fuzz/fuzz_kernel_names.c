/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_kernel_names.c - paths and addresses from a thread's memory: texts are terminated and not longer than the
 * memory.
 */
#include <arpa/inet.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "fuzz.h"
#include "probe/kernel_names.h"

static void check_name(const struct proc_name *name)
{
    size_t length = strnlen(name->text, sizeof(name->text));

    require(length < sizeof(name->text));
    for (size_t i = length; i < sizeof(name->text); i++)
        require(name->text[i] == '\0');
}

/* The first half is the directory in which the path in the second half begins. */
static void check_paths(const unsigned char *bytes, size_t count)
{
    struct proc_name base, path, joined;

    if (!kernel_names_text(bytes, count / 2, &base))
        return;
    check_name(&base);
    if (!kernel_names_text(bytes + count / 2, count - count / 2, &path))
        return;
    check_name(&path);
    kernel_names_join(&base, &path, &joined);
    check_name(&joined);
    require(joined.cut || strlen(joined.text) + 1 >= strlen(path.text));
    require(!joined.cut || base.cut || path.cut || strlen(joined.text) == sizeof(joined.text) - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    unsigned char *copy = malloc(size_bytes + 1); /* exact size, to detect reads past the end */
    struct proc_name name;

    if (copy == NULL)
        return 0;
    if (size_bytes != 0)
        memcpy(copy + 1, bytes, size_bytes);
    check_paths(copy + 1, size_bytes);
    if (kernel_names_address(copy + 1, size_bytes, &name)) {
        check_name(&name);
        require(name.text[0] != '\0' && !name.cut);
    }
    free(copy);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static const struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = 80};
    static const struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = 80};
    static const struct sockaddr_un path = {.sun_family = AF_UNIX, .sun_path = "/run/db.sock"};
    static const struct sockaddr_un abstract = {.sun_family = AF_UNIX, .sun_path = "\0job\0queue"};
    static const struct sockaddr_vm machine = {.svm_family = AF_VSOCK, .svm_cid = 2, .svm_port = 1024};
    static const char paths[] = "/var/lib\0db/data"; /* two halves of the same length, with terminators */
    static const struct {
        const void *bytes;
        size_t count;
    } seeds[] = {{&four, sizeof(four)},         {&six, sizeof(six)},         {&path, sizeof(path)},
                 {&abstract, sizeof(abstract)}, {&machine, sizeof(machine)}, {paths, sizeof(paths)}};

    if (number >= sizeof(seeds) / sizeof(seeds[0]) || seeds[number].count > capacity_bytes)
        return 0;
    memcpy(ret_bytes, seeds[number].bytes, seeds[number].count);
    return seeds[number].count;
}
