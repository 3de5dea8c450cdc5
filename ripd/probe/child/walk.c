/* SPDX-License-Identifier: Apache-2.0 */
/* walk.c - resolves one name at a time: opens it with O_PATH, checks it, continues. See walk.h. */
#include "probe/child/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "util/array.h"

#define ACCESS_LIST "system.posix_acl_access"

enum { FIND_FLAGS = O_PATH | O_NOFOLLOW | O_CLOEXEC, LINK_BYTES = sizeof("/proc/self/fd/") + 3 * sizeof(int) };

struct walk {
    const struct permission_user *user;
    int directories[WALK_DEPTH_MAX + 1]; /* from the root down; owned, except the first */
    size_t depth;                        /* index of the current directory */
    unsigned link_count;
    char rest[WALK_PATH_BYTES]; /* the rest of the path, from index at on */
    size_t at;
};

/* Whether a file is on a file system whose content the kernel generates. */
static bool is_kernel_file_system(int found)
{
    static const unsigned long kinds[] = {
        PROC_SUPER_MAGIC,   SYSFS_MAGIC,         DEBUGFS_MAGIC,  TRACEFS_MAGIC,  SECURITYFS_MAGIC,
        CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,   SELINUX_MAGIC,  EFIVARFS_MAGIC,
        DEVPTS_SUPER_MAGIC, NSFS_MAGIC,          BINFMTFS_MAGIC, PSTOREFS_MAGIC,
    };
    struct statfs system;

    if (fstatfs(found, &system) != 0)
        return true;
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
        if ((unsigned long)system.f_type == kinds[i])
            return true;
    return false;
}

static void name_link(int found, char ret_name[LINK_BYTES])
{
    snprintf(ret_name, LINK_BYTES, "/proc/self/fd/%d", found);
}

/* Whether a file has an access control list. Returns true if that is not known. */
static bool has_list(int found)
{
    char name[LINK_BYTES];

    name_link(found, name);
    return getxattr(name, ACCESS_LIST, NULL, 0) >= 0 || (errno != ENODATA && errno != EOPNOTSUPP);
}

static bool is_allowed(const struct permission_user *user, int found, const struct stat *about, enum permission wanted)
{
    struct permission_file file = {.uid = about->st_uid, .gid = about->st_gid, .mode = about->st_mode};

    file.has_list = !permission_is_owner(user, &file) && has_list(found);
    return permission_allows(user, &file, wanted);
}

int walk_check(int found, const struct permission_user *user)
{
    struct stat about;

    if (fstat(found, &about) != 0)
        return -errno;
    if (!S_ISREG(about.st_mode) || is_kernel_file_system(found))
        return -ENOTSUP;
    return is_allowed(user, found, &about, PERMISSION_READ) ? 0 : -EACCES;
}

int walk_reopen(int found)
{
    char name[LINK_BYTES];
    int descriptor;

    name_link(found, name);
    descriptor = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); /* O_NONBLOCK: not to wait for a lease */
    return descriptor >= 0 ? descriptor : -errno;
}

/* Steps ------------------------------------------------------------------------------------------------------------ */

static void leave_to(struct walk *walk, size_t depth)
{
    while (walk->depth > depth)
        close(walk->directories[walk->depth--]);
}

/* Makes found the current directory. Takes ownership of found on success. */
static int enter(struct walk *walk, int found, const struct stat *about)
{
    if (is_kernel_file_system(found))
        return -ENOTSUP;
    if (!is_allowed(walk->user, found, about, PERMISSION_SEARCH))
        return -EACCES;
    if (walk->depth == WALK_DEPTH_MAX)
        return -ENAMETOOLONG;
    walk->directories[++walk->depth] = found;
    return 0;
}

/* Puts the text of a link before the rest of the path. */
static int follow(struct walk *walk, int found)
{
    char text[WALK_PATH_BYTES];
    size_t rest_bytes = strlen(walk->rest + walk->at) + 1;
    ssize_t length;

    if (walk->link_count++ == WALK_LINKS_MAX)
        return -ELOOP;
    if (is_kernel_file_system(found))
        return -ENOTSUP;
    length = readlinkat(found, "", text, sizeof(text));
    if (length <= 0)
        return length < 0 ? -errno : -ENOENT;
    if ((size_t)length + 1 + rest_bytes > sizeof(text))
        return -ENAMETOOLONG;
    text[length] = '/';
    memcpy(text + length + 1, walk->rest + walk->at, rest_bytes);
    memcpy(walk->rest, text, (size_t)length + 1 + rest_bytes);
    walk->at = 0;
    if (walk->rest[0] == '/')
        leave_to(walk, 0);
    return 0;
}

/* Returns the next name of the path, terminated, or NULL at its end. *ret_last: only slashes follow. */
static const char *next_name(struct walk *walk, bool *ret_last)
{
    char *name = walk->rest + walk->at + strspn(walk->rest + walk->at, "/"), *end = name + strcspn(name, "/");

    if (*name == '\0')
        return NULL;
    walk->at = (size_t)(end - walk->rest) + (*end != '\0');
    *end = '\0';
    *ret_last = walk->rest[walk->at + strspn(walk->rest + walk->at, "/")] == '\0';
    return name;
}

/* Resolves one name. Returns 1 if *ret_found is the file, 0 to continue, or -errno. */
static int step(struct walk *walk, const char *name, bool last, int *ret_found)
{
    struct stat about;
    int found, result;

    if (strcmp(name, ".") == 0)
        return 0;
    if (strcmp(name, "..") == 0) {
        leave_to(walk, walk->depth > 0 ? walk->depth - 1 : 0);
        return 0;
    }
    found = openat(walk->directories[walk->depth], name, FIND_FLAGS);
    if (found < 0)
        return -errno;
    result = fstat(found, &about) != 0 ? -errno : 0;
    if (result == 0 && S_ISDIR(about.st_mode)) {
        result = enter(walk, found, &about);
        if (result == 0)
            return 0;
    } else if (result == 0 && S_ISLNK(about.st_mode)) {
        result = follow(walk, found);
    } else if (result == 0) {
        result = last ? walk_check(found, walk->user) : -ENOTDIR;
        if (result == 0) {
            *ret_found = found;
            return 1;
        }
    }
    close(found);
    return result;
}

int walk_open(int root, const char *path, const struct permission_user *user)
{
    struct walk walk = {.user = user, .directories = {root}};
    int result = 0, found = -1;
    size_t length = strlen(path);
    struct stat about;

    if (path[0] != '/')
        return -EINVAL;
    if (length >= sizeof(walk.rest))
        return -ENAMETOOLONG;
    memcpy(walk.rest, path, length + 1);
    if (fstat(root, &about) != 0)
        return -errno;
    if (is_kernel_file_system(root) || !is_allowed(user, root, &about, PERMISSION_SEARCH))
        return -EACCES;
    while (result == 0) {
        bool last = false;
        const char *name = next_name(&walk, &last);

        result = name != NULL ? step(&walk, name, last, &found) : -ENOTSUP; /* NULL: the path is a directory */
    }
    leave_to(&walk, 0);
    return result > 0 ? found : result;
}
