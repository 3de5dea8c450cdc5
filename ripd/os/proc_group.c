/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_group.c - parses the components of cgroup paths. Pure.
 *
 * The unit is the innermost component with the name of a unit that has processes: NAME.service or NAME.scope. So it is
 * the user's own unit below the user's manager (user@1000.service), and for a system in a container the unit inside.
 * init.scope belongs to a manager, and counts only if there is no other.
 *
 * The container is the innermost component whose name ends in 64 hexadecimal digits, or one made by LXC. Docker,
 * containerd, CRI-O and podman use such names, with both of their cgroup drivers:
 *
 *   docker-ID.scope  cri-containerd-ID.scope  crio-ID.scope  libpod-ID.scope  kubepods-pod7.slice:cri-containerd:ID
 *   docker/ID  kubepods/burstable/pod7/ID  lxc/NAME  lxc.payload/NAME  lxc.payload.NAME
 */
#include "os/proc_group.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define CONTAINER_DIGITS 64u

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);

    return length > end_length && strcmp(text + length - end_length, end) == 0;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Copies a name. Does nothing if it does not fit. */
static void take_name(const char *name, char *ret_name, size_t size)
{
    const size_t length = strlen(name);

    if (length != 0 && length < size)
        memcpy(ret_name, name, length + 1);
}

static void take_unit(const char *component, struct proc_group *group)
{
    if (component[0] == '_') /* systemd's prefix for names that are also file names of the kernel */
        component++;
    if (!ends_with(component, ".service") && !ends_with(component, ".scope"))
        return;
    if (strcmp(component, "init.scope") != 0 || group->unit[0] == '\0')
        take_name(component, group->unit, sizeof(group->unit));
}

/* Returns the digits at the end of a component, if they follow its start or a separator; else "". */
static const char *trailing_digits(const char *component)
{
    const size_t length = strlen(component);
    const char *digits;

    if (length < CONTAINER_DIGITS)
        return "";
    digits = component + length - CONTAINER_DIGITS;
    if (strspn(digits, "0123456789abcdef") != CONTAINER_DIGITS)
        return "";
    return digits == component || digits[-1] == '-' || digits[-1] == ':' ? digits : "";
}

static void take_container(const char *before, char *component, struct proc_group *group)
{
    static const char payload[] = "lxc.payload.", scope[] = ".scope";
    const char *name = component;

    if (starts_with(component, payload)) {
        name += sizeof(payload) - 1;
    } else if (strcmp(before, "lxc") != 0 && strcmp(before, "lxc.payload") != 0) {
        if (starts_with(component, "crio-conmon-") || starts_with(component, "libpod-conmon-"))
            return; /* a monitor of a container is not in the container */
        if (ends_with(component, scope))
            component[strlen(component) - (sizeof(scope) - 1)] = '\0';
        name = trailing_digits(component);
    }
    take_name(name, group->container, sizeof(group->container));
}

static void parse_path(char *path, struct proc_group *ret_group)
{
    static const char deleted[] = " (deleted)";
    const char *before = "";
    char *component;

    if (ends_with(path, deleted))
        path[strlen(path) - (sizeof(deleted) - 1)] = '\0';
    *ret_group = (struct proc_group){.unit = ""};
    for (; (component = strsep(&path, "/")) != NULL; before = component) {
        take_unit(component, ret_group);
        take_container(before, component, ret_group);
    }
}

/* How reliable a hierarchy is, by its controllers. */
enum { RELIABILITY_NONE, RELIABILITY_CONTROLLER, RELIABILITY_UNIFIED, RELIABILITY_SYSTEMD };

static int reliability_of(const char *controllers)
{
    if (strcmp(controllers, "name=systemd") == 0)
        return RELIABILITY_SYSTEMD;
    return controllers[0] == '\0' ? RELIABILITY_UNIFIED : RELIABILITY_CONTROLLER;
}

/* Lines are "ID:CONTROLLERS:PATH". The paths mostly agree. If not, systemd's own hierarchy is right. */
void proc_parse_group(char *text, struct proc_group *ret_group)
{
    int unit_reliability = RELIABILITY_NONE, container_reliability = RELIABILITY_NONE;
    char *line;

    *ret_group = (struct proc_group){.unit = ""};
    while ((line = strsep(&text, "\n")) != NULL) {
        const char *controllers;
        struct proc_group group;
        int reliability;

        strsep(&line, ":");
        controllers = strsep(&line, ":");
        if (line == NULL)
            continue;
        reliability = reliability_of(controllers);
        parse_path(line, &group);
        if (group.unit[0] != '\0' && reliability > unit_reliability) {
            memcpy(ret_group->unit, group.unit, sizeof(group.unit));
            unit_reliability = reliability;
        }
        if (group.container[0] != '\0' && reliability > container_reliability) {
            memcpy(ret_group->container, group.container, sizeof(group.container));
            container_reliability = reliability;
        }
    }
}
