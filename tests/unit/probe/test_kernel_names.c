/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernel_names.c - converts bytes of a thread's memory to paths and addresses: ripd/probe/kernel_names.c. */
#include "probe/kernel_names.h"

#include <arpa/inet.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "support/guarded_copy.h"
#include "support/test.h"

static struct proc_name name_of(const char *text)
{
    struct proc_name name = {.cut = false};

    snprintf(name.text, sizeof(name.text), "%s", text);
    return name;
}

/* Texts ------------------------------------------------------------------------------------------------------------ */

static void assert_text(const void *bytes, size_t count, const char *text, bool cut)
{
    struct proc_name name = name_of("untouched");
    struct guarded_copy copy;

    guarded_copy_new(&copy, bytes, count);
    assert_int_equal(kernel_names_text(copy.bytes, count, &name), text != NULL);
    assert_string_equal(name.text, text != NULL ? text : "untouched");
    assert_int_equal(name.cut, cut);
    guarded_copy_free(&copy);
}

TEST(texts)
{
    char bytes[PROC_LINK_BYTES + 1], longest[PROC_LINK_BYTES];

    assert_text("", 0, NULL, false);
    assert_text("/a", 2, NULL, false); /* the rest could not be read */
    assert_text("/a", 3, "/a", false);
    assert_text("", 1, "", false);
    assert_text("/a\0/b", 6, "/a", false);
    memset(bytes, 'x', sizeof(bytes));
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_text(longest, sizeof(longest), longest, false);
    assert_text(bytes, sizeof(bytes) - 2, NULL, false);
    assert_text(bytes, sizeof(bytes) - 1, longest, true);
    assert_text(bytes, sizeof(bytes), longest, true);
}

/* Paths ------------------------------------------------------------------------------------------------------------ */

static void assert_joined(const char *base, const char *path, const char *text)
{
    struct proc_name from = name_of(base), name = name_of(path);

    kernel_names_join(&from, &name, &name);
    assert_string_equal(name.text, text);
    assert_false(name.cut);
}

TEST(joins)
{
    assert_joined("/", "/etc/passwd", "/etc/passwd");
    assert_joined("/", "etc/passwd", "/etc/passwd");
    assert_joined("/srv/jail", "/etc/passwd", "/srv/jail/etc/passwd");
    assert_joined("/var/lib", "db/orders", "/var/lib/db/orders");
    assert_joined("/var/lib", "../x", "/var/lib/../x");
    assert_joined("/var/lib (deleted)", "x", "/var/lib (deleted)/x");
    assert_joined("/var/lib", "", "/var/lib");
    assert_joined("/", "", "/");
}

TEST(joins_that_are_cut)
{
    struct proc_name base = {.text = ""}, path = {.text = ""}, name;
    char text[2 * PROC_LINK_BYTES];

    memset(base.text, 'b', sizeof(base.text) - 1);
    memset(path.text, 'p', sizeof(path.text) - 1);
    base.text[0] = '/';
    base.text[200] = '\0';
    snprintf(text, sizeof(text), "%s/%s", base.text, path.text);
    text[PROC_LINK_BYTES - 1] = '\0';
    kernel_names_join(&base, &path, &name);
    assert_string_equal(name.text, text);
    assert_true(name.cut);
    path.text[PROC_LINK_BYTES - 1 - 201] = '\0'; /* just fits */
    kernel_names_join(&base, &path, &name);
    assert_string_equal(name.text, text);
    assert_false(name.cut);
    path.cut = true;
    kernel_names_join(&base, &path, &name);
    assert_true(name.cut);
    path = name_of("x");
    base.cut = true; /* then nothing can be appended */
    kernel_names_join(&base, &path, &name);
    assert_string_equal(name.text, base.text);
    assert_true(name.cut);
}

/* Addresses -------------------------------------------------------------------------------------------------------- */

static void assert_address(const void *bytes, size_t count, const char *text)
{
    struct proc_name name = name_of("untouched");
    struct guarded_copy copy;

    guarded_copy_new(&copy, bytes, count);
    assert_int_equal(kernel_names_address(copy.bytes, count, &name), text != NULL);
    assert_string_equal(name.text, text != NULL ? text : "untouched");
    assert_false(name.cut);
    guarded_copy_free(&copy);
}

TEST(internet)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(5432)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(80), .sin6_addr = IN6ADDR_LOOPBACK_INIT};

    four.sin_addr.s_addr = htonl(0x0a000001);
    assert_address(&four, sizeof(four), "10.0.0.1:5432");
    for (size_t cut = 0; cut < sizeof(four); cut++)
        assert_address(&four, cut, NULL);
    assert_address(&six, sizeof(six), "[::1]:80");
    assert_address(&six, sizeof(six) - sizeof(six.sin6_scope_id), "[::1]:80");
    for (size_t cut = 0; cut < sizeof(six) - sizeof(six.sin6_scope_id); cut++)
        assert_address(&six, cut, NULL);
}

TEST(unix)
{
    const size_t before = offsetof(struct sockaddr_un, sun_path);
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/db.sock"};
    unsigned char longer[KERNEL_ADDRESS_BYTES];
    char longest[sizeof(address.sun_path) + 1] = "";

    assert_address(&address, sizeof(address), "/run/db.sock");
    assert_address(&address, before + 4, "/run"); /* the length ends it, too */
    assert_address(&address, before, NULL);
    assert_address(&address, 1, NULL);
    memcpy(address.sun_path, "\0job\0queue", 10);
    assert_address(&address, before + 10, "@job@queue");
    assert_address(&address, before + 1, "@");
    memset(address.sun_path, 'x', sizeof(address.sun_path));
    memset(longest, 'x', sizeof(longest) - 1);
    assert_address(&address, sizeof(address), longest);
    memset(longer, 'x', sizeof(longer));
    memcpy(longer, &address, before);
    assert_address(longer, sizeof(longer), longest);
}

TEST(other_families)
{
    struct sockaddr_vm machine = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_HOST, .svm_port = 1024};
    struct sockaddr other = {.sa_family = AF_UNSPEC};

    assert_address(&machine, sizeof(machine), "vsock 2:1024");
    for (size_t cut = 0; cut < sizeof(machine); cut++)
        assert_address(&machine, cut, NULL);
    assert_address(&other, sizeof(other), NULL);
    other.sa_family = UINT16_MAX;
    assert_address(&other, sizeof(other), NULL);
}
