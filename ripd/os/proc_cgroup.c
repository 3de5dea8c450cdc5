/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_cgroup.c - is a process frozen by its cgroup? Reads PID/cgroup and one file of each hierarchy that can freeze.
 *
 * Guarantees
 *   1. A path that leaves the tree ("/..", as seen from another cgroup namespace) is not looked up: not known.
 *   2. Frozen is what the kernel says of the group itself, which includes a freeze of any group above it.
 */
#include "os/proc.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "os/file.h"

#include <fcntl.h>
#include <unistd.h>

enum { CGROUP_BYTES = 8192, VALUE_BYTES = 256 };

static bool leaves_tree(const char *path)
{
    for (const char *next = strstr(path, "/.."); next != NULL; next = strstr(next + 1, "/.."))
        if (next[3] == '/' || next[3] == '\0')
            return true;
    return false;
}

/* Reads file of group path below one of the places where a hierarchy may be mounted. Length or -errno. */
static ssize_t read_group(int root, const char *mount, const char *path, const char *file, char *ret_text, size_t size)
{
    char name[PATH_MAX];
    int length;

    if (path[0] != '/' || leaves_tree(path))
        return -ENOENT;
    length = snprintf(name, sizeof(name), "%s%s/%s", mount, path, file);
    if (length < 0 || (size_t)length >= sizeof(name))
        return -ENAMETOOLONG;
    return file_read_at(root, name, ret_text, size);
}

static int frozen_v1(int root, const char *path, bool *ret_frozen)
{
    char text[VALUE_BYTES];

    if (read_group(root, "./freezer", path, "freezer.state", text, sizeof(text)) < 0)
        return -ENOENT;
    *ret_frozen = strncmp(text, "FROZEN", strlen("FROZEN")) == 0;
    return 0;
}

static int frozen_v2(int root, const char *path, bool *ret_frozen)
{
    static const char *const mounts[] = {".", "./unified"};
    char text[VALUE_BYTES];

    for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
        if (read_group(root, mounts[i], path, "cgroup.events", text, sizeof(text)) < 0)
            continue;
        *ret_frozen = strncmp(text, "frozen 1", 8) == 0 || strstr(text, "\nfrozen 1") != NULL;
        return 0;
    }
    return -ENOENT;
}

/* Whether a comma-separated list of controllers has one. */
static bool has_controller(const char *list, const char *controller)
{
    size_t length = strlen(controller);

    for (;; list++) {
        size_t part = strcspn(list, ",");

        if (part == length && strncmp(list, controller, length) == 0)
            return true;
        list += part;
        if (*list == '\0')
            return false;
    }
}

/* One line, "ID:CONTROLLERS:PATH". -ENOENT: of a hierarchy that cannot freeze, or not readable here. */
static int frozen_line(int root, char *line, bool *ret_frozen)
{
    char *controllers = strchr(line, ':');
    char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

    if (path == NULL)
        return -ENOENT;
    *controllers++ = '\0';
    *path++ = '\0';
    if (has_controller(controllers, "freezer"))
        return frozen_v1(root, path, ret_frozen);
    if (strcmp(line, "0") == 0 && *controllers == '\0')
        return frozen_v2(root, path, ret_frozen);
    return -ENOENT;
}

static int frozen_groups(int root, char *text, bool *ret_frozen)
{
    char *rest = NULL;
    bool known = false, frozen = false;

    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        bool here = false;

        if (frozen_line(root, line, &here) != 0)
            continue;
        known = true;
        frozen = frozen || here;
    }
    if (!known)
        return -ENOENT;
    *ret_frozen = frozen;
    return 0;
}

int proc_cgroup_frozen(int proc, const char *cgroup_root, uint32_t pid, bool *ret_frozen)
{
    char name[32], text[CGROUP_BYTES];
    ssize_t length;
    int root, result;

    snprintf(name, sizeof(name), "%u/cgroup", pid);
    length = file_read_at(proc, name, text, sizeof(text));
    if (length <= 0)
        return length == 0 || length == -ENOENT ? -ESRCH : (int)length;
    root = open(cgroup_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -errno;
    result = frozen_groups(root, text, ret_frozen);
    close(root);
    return result;
}
