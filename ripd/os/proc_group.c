/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_group.c - components of the paths of control groups. Pure.
 *
 * A unit is the innermost component that is called like one which has processes: NAME.service, NAME.scope. That is a
 * user's own unit below his manager's (user@1000.service), and the unit of a system that runs in a container.
 * init.scope is that of a manager, and counts only where there is no other.
 *
 * A container is the innermost component whose name ends in 64 hexadecimal digits, which is how Docker, containerd,
 * CRI-O and podman call theirs under either of their drivers, or one that LXC has made:
 *
 *   docker-ID.scope  cri-containerd-ID.scope  crio-ID.scope  libpod-ID.scope  kubepods-pod7.slice:cri-containerd:ID
 *   docker/ID  kubepods/burstable/pod7/ID  lxc/NAME  lxc.payload/NAME  lxc.payload.NAME
 */
#include "os/proc_group.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "util/text.h"

#define CONTAINER_DIGITS 64u

/* Bytes of the text that is being parsed. */
struct part {
    const char *text;
    size_t length;
};

static bool ends_with(struct part part, const char *end)
{
    size_t length = strlen(end);

    return part.length > length && memcmp(part.text + part.length - length, end, length) == 0;
}

static bool starts_with(struct part part, const char *start)
{
    size_t length = strlen(start);

    return part.length > length && memcmp(part.text, start, length) == 0;
}

static bool is_called(struct part part, const char *name)
{
    return part.length == strlen(name) && memcmp(part.text, name, part.length) == 0;
}

/* Nothing changes where it does not fit. */
static void take_name(struct part name, char *ret_name, size_t size)
{
    if (name.length == 0 || name.length >= size)
        return;
    memcpy(ret_name, name.text, name.length);
    ret_name[name.length] = '\0';
}

static void take_unit(struct part component, struct proc_group *group)
{
    if (component.length > 1 && component.text[0] == '_') { /* systemd's mark of a name that the kernel has, too */
        component.text++;
        component.length--;
    }
    if (!ends_with(component, ".service") && !ends_with(component, ".scope"))
        return;
    if (!is_called(component, "init.scope") || group->unit[0] == '\0')
        take_name(component, group->unit, sizeof(group->unit));
}

/* The digits at its end, behind nothing or a separator; length 0: it has none. */
static struct part digits_of(struct part component)
{
    static const struct part none;
    struct part digits = component;

    if (component.length < CONTAINER_DIGITS)
        return none;
    digits.text += component.length - CONTAINER_DIGITS;
    digits.length = CONTAINER_DIGITS;
    for (size_t i = 0; i < CONTAINER_DIGITS; i++)
        if (strchr("0123456789abcdef", digits.text[i]) == NULL)
            return none;
    if (component.length > CONTAINER_DIGITS && digits.text[-1] != '-' && digits.text[-1] != ':')
        return none;
    return digits;
}

static void take_container(struct part before, struct part component, struct proc_group *group)
{
    static const char payload[] = "lxc.payload.", scope[] = ".scope";

    if (is_called(before, "lxc") || is_called(before, "lxc.payload")) {
        take_name(component, group->container, sizeof(group->container));
        return;
    }
    if (starts_with(component, payload)) {
        component.text += sizeof(payload) - 1;
        component.length -= sizeof(payload) - 1;
        take_name(component, group->container, sizeof(group->container));
        return;
    }
    if (starts_with(component, "crio-conmon-") || starts_with(component, "libpod-conmon-"))
        return; /* who looks after a container is not in it */
    if (ends_with(component, scope))
        component.length -= sizeof(scope) - 1;
    take_name(digits_of(component), group->container, sizeof(group->container));
}

static void parse_path(struct part path, struct proc_group *ret_group)
{
    static const char deleted[] = " (deleted)";
    struct part before = {path.text, 0};
    const char *end;

    if (ends_with(path, deleted))
        path.length -= sizeof(deleted) - 1;
    end = path.text + path.length;
    *ret_group = (struct proc_group){.unit = ""};
    for (const char *at = path.text; at < end;) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        struct part component = {at, (size_t)((slash != NULL ? slash : end) - at)};

        take_unit(component, ret_group);
        take_container(before, component, ret_group);
        before = component;
        at += component.length + 1;
    }
}

/* How far a hierarchy is to be believed about units: its controllers, behind "ID:". */
enum { BELIEVED_NONE, BELIEVED_CONTROLLER, BELIEVED_UNIFIED, BELIEVED_SYSTEMD };

static int belief_in(const char *controllers)
{
    static const char systemd[] = "name=systemd:";

    if (strncmp(controllers, systemd, sizeof(systemd) - 1) == 0)
        return BELIEVED_SYSTEMD;
    return controllers[0] == ':' ? BELIEVED_UNIFIED : BELIEVED_CONTROLLER;
}

/* Lines are "ID:CONTROLLERS:PATH". The paths mostly agree; where they do not, systemd's own hierarchy is right. */
void proc_parse_group(const char *text, struct proc_group *ret_group)
{
    int unit_belief = BELIEVED_NONE, container_belief = BELIEVED_NONE;

    *ret_group = (struct proc_group){.unit = ""};
    for (; text != NULL; text = text_next_line(text)) {
        size_t length = strcspn(text, "\n");
        const char *controllers = memchr(text, ':', length), *path;
        struct proc_group group;
        int belief;

        if (controllers == NULL)
            continue;
        controllers++;
        path = memchr(controllers, ':', length - (size_t)(controllers - text));
        if (path == NULL)
            continue;
        belief = belief_in(controllers);
        path++;
        parse_path((struct part){path, length - (size_t)(path - text)}, &group);
        if (group.unit[0] != '\0' && belief > unit_belief) {
            memcpy(ret_group->unit, group.unit, sizeof(group.unit));
            unit_belief = belief;
        }
        if (group.container[0] != '\0' && belief > container_belief) {
            memcpy(ret_group->container, group.container, sizeof(group.container));
            container_belief = belief;
        }
    }
}
