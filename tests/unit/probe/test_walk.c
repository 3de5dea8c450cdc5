/* SPDX-License-Identifier: Apache-2.0 */
/* test_walk.c - a privileged process opens paths with the rights of a user: ripd/probe/child/walk.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "os/file.h"
#include "probe/child/walk.h"
#include "support/descriptors.h"
#include "support/ring_stage.h"
#include "support/test.h"

enum { OTHER = 61002 };

static uid_t own_uid; /* the user whose rights count: ours, unless we are root */

/* A tree that is the root of some process. What is outside cannot be reached. */
static struct ring_stage stage;
static int root;

static const char *full(const char *name)
{
    return ring_stage_path(&stage, name);
}

static void make_folder(const char *name, uid_t owner, mode_t mode)
{
    assert_int_equal(mkdir(full(name), 0700), 0);
    assert_int_equal(chown(full(name), owner, owner), 0);
    assert_int_equal(chmod(full(name), mode), 0);
}

static void make_file(const char *name, uid_t owner, mode_t mode)
{
    ring_stage_put(&stage, name + 1, name);
    assert_int_equal(chown(full(name), owner, owner), 0);
    assert_int_equal(chmod(full(name), mode), 0);
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

/* Whatever the result, no descriptor stays open. */
static void assert_status(uid_t uid, const char *path, int status)
{
    size_t descriptors = count_descriptors();
    int found = walk_as(uid, path);

    if (found >= 0)
        close(found);
    assert_int_equal(count_descriptors(), descriptors);
    if ((found < 0 ? found : 0) != status)
        fail_msg("user %u, %s: %d", uid, path, found);
}

/* Asserts that the walk finds the file of that name. */
static void assert_found(uid_t uid, const char *path, const char *name)
{
    size_t descriptors = count_descriptors();
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
    assert_int_equal(count_descriptors(), descriptors);
}

TEST(paths)
{
    static const char *const paths[] = {
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
    make_link("/absolute", "/open/file"); /* in this root, not in ours */
    make_link("/folder", "open");
    make_link("/twice", "folder/../relative");
    make_link("/above", "../../../../../../open/file");
    make_link("/open/deep/up", "..");
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        assert_found(own_uid, paths[i], "/open/file");
    assert_status(own_uid, "/open/none", -ENOENT);
    assert_status(own_uid, "/open/file/beyond", -ENOTDIR);
    assert_status(own_uid, "open/file", -EINVAL);
    assert_status(own_uid, "", -EINVAL);
    assert_status(own_uid, "/etc/passwd", -ENOENT); /* in our root */
}

/* Directories cannot be read like files, and opening a FIFO or device may have effects. */
TEST(other_types)
{
    assert_int_equal(mkfifo(full("/fifo"), 0666), 0);
    assert_int_equal(chmod(full("/fifo"), 0666), 0);
    make_link("/to-fifo", "fifo");
    assert_status(own_uid, "/fifo", -ENOTSUP);
    assert_status(own_uid, "/to-fifo", -ENOTSUP);
    assert_status(own_uid, "/open", -ENOTSUP);
    assert_status(own_uid, "/", -ENOTSUP);
    assert_status(own_uid, "/open/..", -ENOTSUP);
    if (geteuid() == 0 && mknod(full("/device"), S_IFCHR | 0666, makedev(1, 5)) == 0)
        assert_status(own_uid, "/device", -ENOTSUP);
}

TEST(limits)
{
    char path[WALK_PATH_BYTES + 2], name[64], text[64];

    make_link("/loop", "loop");
    assert_status(own_uid, "/loop", -ELOOP);
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
    assert_status(own_uid, name, -ELOOP);

    strcpy(path, "");
    for (unsigned i = 0; i < WALK_DEPTH_MAX; i++) {
        strcat(path, "/d");
        make_folder(path, own_uid, 0755);
    }
    make_file(strcat(path, "/f"), own_uid, 0644);
    assert_found(own_uid, path, path);
    path[strlen(path) - 1] = 'd';
    make_folder(path, own_uid, 0755);
    make_file(strcat(path, "/f"), own_uid, 0644);
    assert_status(own_uid, path, -ENAMETOOLONG);

    memset(path, '/', sizeof(path));
    path[WALK_PATH_BYTES - 1] = '\0';
    assert_status(own_uid, path, -ENOTSUP);
    path[WALK_PATH_BYTES - 1] = '/';
    path[WALK_PATH_BYTES] = '\0';
    assert_status(own_uid, path, -ENAMETOOLONG);
    memset(path, '/', sizeof(path));
    memcpy(path, "/folder", strlen("/folder"));
    path[WALK_PATH_BYTES - 1] = '\0';
    assert_status(own_uid, path, -ENOTSUP); /* the rest of the path has room after the link */
    memset(path, '/', sizeof(path));
    memcpy(path, "/above", strlen("/above"));
    path[WALK_PATH_BYTES - 1] = '\0';
    assert_status(own_uid, path, -ENAMETOOLONG);
}

/* Root could open every row that exists. */
TEST(rights)
{
    static const struct {
        const char *path;
        int others; /* what another user gets */
    } rows[] = {
        {"/private/file", -EACCES},
        {"/private/readable", -EACCES},     /* a readable file in a closed directory */
        {"/private/none", -EACCES},         /* not -ENOENT: that would disclose what is there */
        {"/private/link", -EACCES},         /* to a readable file elsewhere */
        {"/private/../open/file", -EACCES}, /* this would disclose that /private exists */
        {"/private/deep/../../open/file", -EACCES},
        {"/unlisted/file", 0},          /* the directory may be searched, not listed */
        {"/listed-only/file", -EACCES}, /* the directory may be listed, not searched */
        {"/shared/private", -EACCES},
        {"/shared/executable", -EACCES}, /* may be executed, not read */
        {"/shared/readable", 0},
        {"/shared/to-private", -EACCES}, /* a link that everybody may follow */
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
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_status(own_uid, rows[i].path, rows[i].others);
    assert_found(OTHER, "/private/file", "/private/file");
    assert_found(OTHER, "/private/deep/../../open/file", "/open/file");
    assert_found(OTHER, "/shared/to-closed", "/private/readable");
    assert_status(OTHER, "/shared/of-nobody", -EACCES);
    assert_status(0, "/private/file", -EACCES); /* root is treated like other users */
    assert_int_equal(chmod(stage.directory, 0700), 0);
    assert_status(own_uid, "/open/file", -EACCES);
    assert_int_equal(chmod(stage.directory, 0755), 0);
}

/* An access control list denies the user what the mode allows others. */
TEST(access_control_lists)
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
        skip(); /* the file system has no lists */
    assert_int_equal(setxattr(full("/lists/folder"), "system.posix_acl_access", &list, sizeof(list), 0), 0);
    assert_status(own_uid, "/lists/file", -EACCES);
    assert_status(own_uid, "/lists/folder/file", -EACCES);
    assert_found(OTHER, "/lists/file", "/lists/file");
    assert_found(OTHER, "/lists/folder/file", "/lists/folder/file");
}

/* The contents of these files and links depend on the reader. */
TEST(files_of_the_kernel)
{
    static const char *const paths[] = {"/proc/self/mem",    "/proc/self/exe", "/proc/self/root/etc/passwd",
                                        "/proc/version",     "/proc/kcore",    "/proc/self/cwd/x",
                                        "/sys/kernel/notes", "/dev/zero",      "/dev/pts/0"};
    const uint32_t groups[] = {0};
    const struct permission_user user = {geteuid(), groups, 1};
    int ours = file_open_directory("/"), proc = file_open_directory("/proc");
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

static int make_root(void **state)
{
    (void)state;
    own_uid = geteuid() != 0 ? geteuid() : 61001;
    ring_stage_open(&stage);
    root = file_open_directory(stage.directory);
    return chmod(stage.directory, 0755);
}

static int remove_root(void **state)
{
    (void)state;
    close(root);
    ring_stage_close(&stage);
    return 0;
}

int main(void)
{
    return tests_run(make_root, remove_root);
}
