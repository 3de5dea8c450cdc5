/* SPDX-License-Identifier: Apache-2.0 */
/* test_walk.c - only where a user may go, by somebody who may go anywhere: ripd/probe/child/walk.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "probe/child/walk.h"
#include "support/descriptors.h"
#include "support/test.h"

enum { OTHER = 61002 };

static uid_t own_uid; /* the user whose ways these are: ourselves, unless we are root */

/* A tree that is some process's root; what stands beside it is out of reach. */
static char root_path[64];
static int root;

static const char *full(const char *name)
{
    static char paths[4][4096];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s%s", root_path, name);
    return path;
}

static void make_folder(const char *name, uid_t owner, mode_t mode)
{
    assert_int_equal(mkdir(full(name), 0700), 0);
    assert_int_equal(chown(full(name), owner, owner), 0);
    assert_int_equal(chmod(full(name), mode), 0);
}

static void make_file(const char *name, uid_t owner, mode_t mode)
{
    int file = open(full(name), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

    assert_true(file >= 0);
    assert_int_equal(write(file, name, strlen(name)), strlen(name));
    assert_int_equal(fchown(file, owner, owner), 0);
    assert_int_equal(fchmod(file, mode), 0);
    close(file);
}

static void make_link(const char *name, const char *text)
{
    assert_int_equal(symlink(text, full(name)), 0);
}

static int walk_as(uid_t uid, const char *path)
{
    const uint32_t groups[] = {uid};
    const struct permission_user user = {uid, groups, 1};

    return walk_open(root, path, &user);
}

/* Whether the walk found the file of that name. */
static void assert_found(uid_t uid, const char *path, const char *name)
{
    int found = walk_as(uid, path), file;
    struct stat about, expected;
    char text[256] = "";

    assert_true(found >= 0);
    assert_int_equal(fstat(found, &about) | stat(full(name), &expected), 0);
    assert_true(about.st_ino == expected.st_ino && about.st_dev == expected.st_dev);
    assert_int_equal(fcntl(found, F_GETFL) & O_PATH, O_PATH);
    file = walk_reopen(found);
    assert_int_equal(fcntl(file, F_GETFL) & (O_ACCMODE | O_PATH), O_RDONLY);
    assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC);
    assert_int_equal(read(file, text, sizeof(text) - 1), strlen(name));
    assert_string_equal(text, name);
    close(file);
    close(found);
}

TEST(ways)
{
    static const char *const ways[] = {
        "/open/file",
        "//open///file",
        "/./open/./file",
        "/open/../open/file",
        "/../../../open/file",
        "/open/deep/../file",
        "/relative",
        "/absolute",
        "/folder/file",
        "/twice",
        "/above",
        "/open/deep/up/file",
    };

    make_folder("/open", own_uid, 0755);
    make_folder("/open/deep", own_uid, 0755);
    make_file("/open/file", own_uid, 0644);
    make_link("/relative", "open/file");
    make_link("/absolute", "/open/file"); /* of this root, not of ours */
    make_link("/folder", "open");
    make_link("/twice", "folder/../relative");
    make_link("/above", "../../../../../../open/file");
    make_link("/open/deep/up", "..");
    for (size_t i = 0; i < COUNT_OF(ways); i++)
        assert_found(own_uid, ways[i], "/open/file");
    assert_int_equal(walk_as(own_uid, "/open/none"), -ENOENT);
    assert_int_equal(walk_as(own_uid, "/open/file/beyond"), -ENOTDIR);
    assert_int_equal(walk_as(own_uid, "open/file"), -EINVAL);
    assert_int_equal(walk_as(own_uid, ""), -EINVAL);
    assert_int_equal(walk_as(own_uid, "/etc/passwd"), -ENOENT); /* of another root */
}

/* What cannot be read in pieces, or would act when it is opened. */
TEST(other_things)
{
    assert_int_equal(mkfifo(full("/fifo"), 0666), 0);
    assert_int_equal(chmod(full("/fifo"), 0666), 0);
    make_link("/to-fifo", "fifo");
    assert_int_equal(walk_as(own_uid, "/fifo"), -ENOTSUP);
    assert_int_equal(walk_as(own_uid, "/to-fifo"), -ENOTSUP);
    assert_int_equal(walk_as(own_uid, "/open"), -ENOTSUP);
    assert_int_equal(walk_as(own_uid, "/"), -ENOTSUP);
    assert_int_equal(walk_as(own_uid, "/open/.."), -ENOTSUP);
    if (geteuid() == 0 && mknod(full("/device"), S_IFCHR | 0666, makedev(1, 5)) == 0)
        assert_int_equal(walk_as(own_uid, "/device"), -ENOTSUP);
}

TEST(limits)
{
    char path[WALK_PATH_BYTES + 2], name[64], text[64];

    make_link("/loop", "loop");
    assert_int_equal(walk_as(own_uid, "/loop"), -ELOOP);
    make_file("/end", own_uid, 0644);
    make_link("/link-0", "end");
    for (unsigned i = 1; i <= WALK_LINKS_MAX; i++) {
        snprintf(name, sizeof(name), "/link-%u", i);
        snprintf(text, sizeof(text), "link-%u", i - 1);
        make_link(name, text);
    }
    snprintf(name, sizeof(name), "/link-%u", WALK_LINKS_MAX - 1);
    assert_found(own_uid, name, "/end");
    snprintf(name, sizeof(name), "/link-%u", WALK_LINKS_MAX);
    assert_int_equal(walk_as(own_uid, name), -ELOOP);

    strcpy(path, "");
    for (unsigned i = 0; i < WALK_DEPTH_MAX; i++) {
        strcat(path, "/d");
        make_folder(path, own_uid, 0755);
    }
    strcpy(text, "");
    make_file(strcat(path, "/f"), own_uid, 0644);
    assert_found(own_uid, path, path);
    path[strlen(path) - 1] = 'd';
    make_folder(path, own_uid, 0755);
    make_file(strcat(path, "/f"), own_uid, 0644);
    assert_int_equal(walk_as(own_uid, path), -ENAMETOOLONG);

    memset(path, '/', sizeof(path));
    path[WALK_PATH_BYTES - 1] = '\0';
    assert_int_equal(walk_as(own_uid, path), -ENOTSUP);
    path[WALK_PATH_BYTES - 1] = '/';
    path[WALK_PATH_BYTES] = '\0';
    assert_int_equal(walk_as(own_uid, path), -ENAMETOOLONG);
    memset(path, '/', sizeof(path));
    memcpy(path, "/folder", strlen("/folder"));
    path[WALK_PATH_BYTES - 1] = '\0';
    assert_int_equal(walk_as(own_uid, path), -ENOTSUP); /* what follows the link has room */
    memset(path, '/', sizeof(path));
    memcpy(path, "/above", strlen("/above"));
    path[WALK_PATH_BYTES - 1] = '\0';
    assert_int_equal(walk_as(own_uid, path), -ENAMETOOLONG);
}

/* Every row would lead to a file for root. */
TEST(rights)
{
    static const struct {
        const char *path;
        int others; /* what another user gets */
    } rows[] = {
        {"/private/file", -EACCES},         /* closed */
        {"/private/readable", -EACCES},     /* in a folder that is closed */
        {"/private/none", -EACCES},         /* nor does it say whether there is one */
        {"/private/link", -EACCES},         /* to a file that is not */
        {"/private/../open/file", -EACCES}, /* whether there is such a folder */
        {"/private/deep/../../open/file", -EACCES},
        {"/unlisted/file", 0},          /* may be searched, and not listed */
        {"/listed-only/file", -EACCES}, /* may be listed, and not searched */
        {"/shared/private", -EACCES},
        {"/shared/executable", -EACCES}, /* may be executed, and not read */
        {"/shared/readable", 0},
        {"/shared/to-private", -EACCES}, /* a link that all may follow */
        {"/shared/to-closed", -EACCES},
        {"/shared/of-nobody", -EACCES},
    };

    if (geteuid() != 0)
        skip();
    make_folder("/private", OTHER, 0700);
    make_folder("/private/deep", OTHER, 0755);
    make_file("/private/file", OTHER, 0600);
    make_file("/private/readable", OTHER, 0644);
    make_link("/private/link", "../open/file");
    make_folder("/unlisted", OTHER, 0711);
    make_file("/unlisted/file", OTHER, 0644);
    make_folder("/listed-only", OTHER, 0744);
    make_file("/listed-only/file", OTHER, 0644);
    make_folder("/shared", OTHER, 0755);
    make_file("/shared/private", OTHER, 0600);
    make_file("/shared/executable", OTHER, 0711);
    make_file("/shared/readable", OTHER, 0644);
    make_link("/shared/to-private", "private");
    make_link("/shared/to-closed", "/private/readable");
    make_file("/shared/of-nobody", OTHER, 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int found = walk_as(own_uid, rows[i].path);

        assert_int_equal(found < 0 ? found : 0, rows[i].others);
        if (found >= 0)
            close(found);
    }
    assert_found(OTHER, "/private/file", "/private/file");
    assert_found(OTHER, "/private/deep/../../open/file", "/open/file");
    assert_found(OTHER, "/shared/to-closed", "/private/readable");
    assert_int_equal(walk_as(OTHER, "/shared/of-nobody"), -EACCES);
    assert_int_equal(walk_as(0, "/private/file"), -EACCES); /* that user has to have the right, like others */
    assert_int_equal(chmod(root_path, 0700), 0);
    assert_int_equal(walk_as(own_uid, "/open/file"), -EACCES);
    assert_int_equal(chmod(root_path, 0755), 0);
}

/* An access control list that names the user: its mode says that others may. */
TEST(lists)
{
    struct {
        uint32_t version;
        struct {
            uint16_t tag, permissions;
            uint32_t id;
        } entries[5];
    } list = {2,
              {{0x01, 7, UINT32_MAX},
               {0x02, 0, own_uid},
               {0x04, 5, UINT32_MAX},
               {0x10, 5, UINT32_MAX},
               {0x20, 5, UINT32_MAX}}};

    if (geteuid() != 0)
        skip();
    make_folder("/lists", OTHER, 0755);
    make_file("/lists/file", OTHER, 0755);
    make_folder("/lists/folder", OTHER, 0755);
    make_file("/lists/folder/file", OTHER, 0755);
    assert_found(own_uid, "/lists/file", "/lists/file");
    if (setxattr(full("/lists/file"), "system.posix_acl_access", &list, sizeof(list), 0) != 0)
        skip(); /* the file system has none */
    assert_int_equal(setxattr(full("/lists/folder"), "system.posix_acl_access", &list, sizeof(list), 0), 0);
    assert_int_equal(walk_as(own_uid, "/lists/file"), -EACCES);
    assert_int_equal(walk_as(own_uid, "/lists/folder/file"), -EACCES);
    assert_found(OTHER, "/lists/file", "/lists/file");
    assert_found(OTHER, "/lists/folder/file", "/lists/folder/file");
}

/* The kernel's own files and links, which depend on the reader. */
TEST(proc)
{
    static const char *const paths[] = {"/proc/self/mem",    "/proc/self/exe", "/proc/self/root/etc/passwd",
                                        "/proc/version",     "/proc/kcore",    "/proc/self/cwd/x",
                                        "/sys/kernel/notes", "/dev/zero",      "/dev/pts/0"};
    const uint32_t groups[] = {0};
    const struct permission_user user = {geteuid(), groups, 1};
    int ours = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int file = open("/proc/self/stat", O_PATH | O_CLOEXEC);

    for (size_t i = 0; i < COUNT_OF(paths); i++)
        assert_true(walk_open(ours, paths[i], &user) < 0);
    assert_int_equal(walk_open(ours, "/proc/version", &user), -ENOTSUP);
    assert_int_equal(walk_open(proc, "/version", &user), -EACCES);
    assert_int_equal(walk_check(file, &user), -ENOTSUP);
    close(file);
    close(proc);
    close(ours);
}

/* Whatever becomes of a walk, it leaves nothing open. */
TEST(descriptors)
{
    static const char *const paths[] = {
        "/open/deep/up/deep/../file", "/open/deep/none", "/loop",   "/fifo", "/d/d/d/d/none", "/private/file",
        "/open/file/beyond",          "/open",           "relative"};
    size_t before = count_descriptors();

    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        int found = walk_as(own_uid, paths[i]);

        if (found >= 0)
            close(found);
        assert_int_equal(count_descriptors(), before);
    }
}

static int make_root(void **state)
{
    (void)state;
    own_uid = geteuid() != 0 ? geteuid() : 61001;
    strcpy(root_path, "/dev/shm/test_walk-XXXXXX");
    if (mkdtemp(root_path) == NULL || chmod(root_path, 0755) != 0)
        return -1;
    root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return root < 0;
}

static int remove_root(void **state)
{
    char command[128];

    (void)state;
    close(root);
    snprintf(command, sizeof(command), "rm -rf %s", root_path);
    return system(command);
}

int main(void)
{
    return tests_run(make_root, remove_root);
}
