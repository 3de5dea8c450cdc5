/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_names.c - formats bytes of a thread's memory as paths and addresses. Pure. See kernel_names.h.
 *
 * Guarantees
 *   1. Nothing beyond the given bytes is read.
 *   2. Every text is terminated, and says whether it is cut. The bytes after its end are 0.
 */
#include "probe/kernel_names.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "os/proc_net.h"
#include "os/unix_diag.h"
#include "util/array.h"

bool kernel_names_text(const unsigned char *bytes, size_t count, struct proc_name *ret_name)
{
    struct proc_name name = {.cut = false};
    size_t length = strnlen((const char *)bytes, count < sizeof(name.text) ? count : sizeof(name.text));

    if (length == count && count < sizeof(name.text))
        return false;
    name.cut = length == sizeof(name.text);
    memcpy(name.text, bytes, name.cut ? length - 1 : length);
    *ret_name = name;
    return true;
}

void kernel_names_join(const struct proc_name *base, const struct proc_name *path, struct proc_name *ret_name)
{
    struct proc_name name = {.cut = base->cut};
    size_t length = strlen(base->text);
    const char *between = "";
    int whole;

    if (base->cut || path->text[0] == '\0') { /* the path would follow what was cut, or is empty */
        *ret_name = *base;
        return;
    }
    if (length != 0 && base->text[length - 1] == '/')
        length--;
    if (path->text[0] != '/')
        between = "/";
    whole = snprintf(name.text, sizeof(name.text), "%.*s%s%s", (int)length, base->text, between, path->text);
    name.cut = path->cut || (size_t)whole >= sizeof(name.text);
    *ret_name = name;
}

/* Addresses -------------------------------------------------------------------------------------------------------- */

static bool internet(const unsigned char *bytes, size_t count, struct proc_name *name)
{
    struct proc_address address = {.port = 0};
    struct sockaddr_in found;

    if (count < sizeof(found))
        return false;
    memcpy(&found, bytes, sizeof(found));
    memcpy(address.bytes, &found.sin_addr, sizeof(found.sin_addr));
    address.port = ntohs(found.sin_port);
    proc_address_format(PROC_SOCKET_TCP, &address, name->text);
    return true;
}

static bool internet6(const unsigned char *bytes, size_t count, struct proc_name *name)
{
    struct proc_address address = {.port = 0};
    struct sockaddr_in6 found = {.sin6_port = 0};

    if (count < offsetof(struct sockaddr_in6, sin6_scope_id)) /* sin6_scope_id was added later */
        return false;
    memcpy(&found, bytes, count < sizeof(found) ? count : sizeof(found));
    memcpy(address.bytes, &found.sin6_addr, sizeof(found.sin6_addr));
    address.port = ntohs(found.sin6_port);
    proc_address_format(PROC_SOCKET_TCP6, &address, name->text);
    return true;
}

static bool unix_socket(const unsigned char *bytes, size_t count, struct proc_name *name)
{
    const size_t before = offsetof(struct sockaddr_un, sun_path);
    size_t length = count < sizeof(struct sockaddr_un) ? count : sizeof(struct sockaddr_un);

    unix_diag_name(bytes + before, length - before, name->text);
    return name->text[0] != '\0';
}

/* A socket between a virtual machine and its host: a number for each, and a port. */
static bool virtual_socket(const unsigned char *bytes, size_t count, struct proc_name *name)
{
    struct sockaddr_vm found;

    if (count < sizeof(found))
        return false;
    memcpy(&found, bytes, sizeof(found));
    snprintf(name->text, sizeof(name->text), "vsock %" PRIu32 ":%" PRIu32, found.svm_cid, found.svm_port);
    return true;
}

static const struct family {
    sa_family_t family;
    bool (*take)(const unsigned char *bytes, size_t count, struct proc_name *name);
} families[] = {
    {AF_INET, internet},
    {AF_INET6, internet6},
    {AF_UNIX, unix_socket},
    {AF_VSOCK, virtual_socket},
};

bool kernel_names_address(const unsigned char *bytes, size_t count, struct proc_name *ret_name)
{
    struct proc_name name = {.cut = false};
    sa_family_t family;

    if (count < sizeof(family))
        return false;
    memcpy(&family, bytes, sizeof(family));
    for (size_t i = 0; i < ARRAY_COUNT(families); i++)
        if (families[i].family == family && families[i].take(bytes, count, &name)) {
            *ret_name = name;
            return true;
        }
    return false;
}
