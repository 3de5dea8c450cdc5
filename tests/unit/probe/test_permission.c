/* SPDX-License-Identifier: Apache-2.0 */
/* test_permission.c - which user may read which file, compared with the kernel: ripd/probe/permission.c. */
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/permission.h"
#include "support/test.h"

enum { USER = 61001, OTHER = 61002, GROUP = 61011, FOREIGN_GROUP = 61012 };

static const uint32_t groups[] = {USER, GROUP};

/* Whether the kernel allows USER, in these groups, the access. */
static bool is_allowed(const struct permission_file *file, enum permission wanted)
{
    bool owner = (file->mode >> 6 & wanted) != 0, group = (file->mode >> 3 & wanted) != 0;

    if (file->uid == USER)
        return owner;
    return file->gid == GROUP ? group : (file->mode & wanted) != 0;
}

/*
 * Every mode of a file of the user, of its group, and of others. Only one access is refused that the kernel would
 * allow: to a file that is closed to a group which the user may have, and to a file with an access control list.
 */
TEST(modes)
{
    static const uint32_t uids[] = {USER, OTHER, 0}, gids[] = {GROUP, FOREIGN_GROUP, 0};
    static const enum permission all[] = {PERMISSION_READ, PERMISSION_SEARCH};
    const struct permission_user known = {USER, groups, 2}, unknown = {USER, NULL, 0};

    for (uint32_t mode = 0; mode <= 07777; mode++) {
        for (size_t i = 0; i < 9 * 2; i++) {
            struct permission_file file = {uids[i % 3], gids[i / 3 % 3], S_IFREG | mode, false};
            enum permission wanted = all[i / 9];
            bool allowed = is_allowed(&file, wanted), of_user = file.uid == USER;
            bool closed_to_group = !of_user && (mode >> 3 & wanted) == 0;

            assert_int_equal(permission_allows(&known, &file, wanted), allowed && !closed_to_group);
            if (file.gid != GROUP || of_user)
                assert_int_equal(permission_allows(&unknown, &file, wanted), allowed && !closed_to_group);
            else
                assert_true(allowed || !permission_allows(&unknown, &file, wanted));
            file.has_list = true;
            assert_int_equal(permission_allows(&known, &file, wanted), allowed && of_user);
        }
    }
}

/* In a process of the user: reports whether it can open the file. */
static void ask_kernel(const char *path, int answers)
{
    const gid_t gids[] = {USER, GROUP};
    char allowed;
    int descriptor;

    if (setgroups(2, gids) != 0 || setresgid(USER, USER, USER) != 0 || setresuid(USER, USER, USER) != 0)
        _exit(1);
    descriptor = open(path, O_RDONLY | O_CLOEXEC);
    allowed = descriptor >= 0;
    _exit(write(answers, &allowed, 1) == 1 ? 0 : 1);
}

TEST(the_kernel)
{
    static const uint32_t owners[][2] = {{USER, 0}, {OTHER, GROUP}, {OTHER, FOREIGN_GROUP}};
    const struct permission_user user = {USER, groups, 2};
    char path[] = "/tmp/test_permission-XXXXXX";
    int file, answers[2];

    if (geteuid() != 0)
        skip();
    file = mkstemp(path);
    assert_true(file >= 0 && pipe2(answers, O_CLOEXEC) == 0);
    for (size_t i = 0; i < 3; i++) {
        for (uint32_t bits = 0; bits < 8; bits++) { /* who may read */
            uint32_t mode = (bits & 4) << 6 | (bits & 2) << 4 | (bits & 1) << 2;
            struct permission_file about = {owners[i][0], owners[i][1], mode, false};
            char allowed = 2;
            pid_t pid;
            int status;

            assert_int_equal(fchown(file, owners[i][0], owners[i][1]) | fchmod(file, mode), 0);
            pid = fork();
            if (pid == 0)
                ask_kernel(path, answers[1]);
            assert_int_equal(waitpid(pid, &status, 0), pid);
            assert_int_equal(status, 0);
            assert_int_equal(read(answers[0], &allowed, 1), 1);
            assert_int_equal(allowed, is_allowed(&about, PERMISSION_READ));
            assert_true(!permission_allows(&user, &about, PERMISSION_READ) || allowed == 1);
        }
    }
    unlink(path);
    close(file);
    close(answers[0]);
    close(answers[1]);
}
