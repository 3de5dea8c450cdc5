/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_thread_parse.c - the text of schedstat, status, wchan, syscall and fdinfo as values. Pure on terminated text.
 *
 * Guarantees
 *   1. Nothing beyond the terminator is read, whatever the text.
 *   2. An error, and untouched output, for text that lacks a field or has a number that does not fit.
 */
#include <errno.h>
#include <string.h>

#include "os/proc_text.h"
#include "os/proc_thread.h"

int proc_parse_schedstat(const char *text, struct proc_schedstat *ret_schedstat)
{
    struct proc_schedstat schedstat;

    text = text_decimal(text, UINT64_MAX, &schedstat.cpu_ns);
    if (text != NULL)
        text = text_decimal(text, UINT64_MAX, &schedstat.wait_ns);
    if (text == NULL || text_decimal(text, UINT64_MAX, &schedstat.slice_count) == NULL)
        return -EINVAL;
    *ret_schedstat = schedstat;
    return 0;
}

int proc_parse_switches(const char *text, struct proc_switches *ret_switches)
{
    const char *voluntary = text_find_line(text, "voluntary_ctxt_switches:");
    const char *involuntary = text_find_line(text, "nonvoluntary_ctxt_switches:");
    struct proc_switches switches;

    if (voluntary == NULL || involuntary == NULL ||
        text_decimal(voluntary, UINT64_MAX, &switches.voluntary_count) == NULL ||
        text_decimal(involuntary, UINT64_MAX, &switches.involuntary_count) == NULL)
        return -EINVAL;
    *ret_switches = switches;
    return 0;
}

static bool is_symbol_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '_' || byte == '.' || byte == '$';
}

int proc_parse_wchan(const char *text, char ret_wchan[PROC_WCHAN_BYTES])
{
    size_t length = 0;

    while (length < PROC_WCHAN_BYTES && is_symbol_byte(text[length]))
        length++;
    if (length == 0 || length == PROC_WCHAN_BYTES || (text[length] != '\0' && text[length] != '\n'))
        return -EINVAL;
    if (length == 1 && text[0] == '0')
        return -ENODATA;
    memcpy(ret_wchan, text, length);
    ret_wchan[length] = '\0';
    return 0;
}

/* A number as the kernel writes it there: 0x and hexadecimal digits. */
static const char *parse_argument(const char *text, uint64_t *ret_value)
{
    text = text_skip_blanks(text);
    return text[0] == '0' && text[1] == 'x' ? text_hex(text + 2, UINT64_MAX, ret_value) : NULL;
}

static int parse_outside(const char *text, struct proc_syscall *ret_syscall)
{
    struct proc_syscall outside = {.kind = PROC_SYSCALL_OUTSIDE};

    if (parse_argument(text, &outside.stack_pointer) == NULL)
        return -EINVAL;
    *ret_syscall = outside;
    return 0;
}

int proc_parse_syscall(const char *text, struct proc_syscall *ret_syscall)
{
    struct proc_syscall inside = {.kind = PROC_SYSCALL_INSIDE};

    if (strncmp(text, "running", 7) == 0) {
        *ret_syscall = (struct proc_syscall){.kind = PROC_SYSCALL_RUNNING};
        return 0;
    }
    if (strncmp(text, "-1 ", 3) == 0)
        return parse_outside(text + 3, ret_syscall);
    text = text_decimal(text, UINT32_MAX, &inside.number);
    for (size_t i = 0; text != NULL && i < PROC_SYSCALL_ARGUMENTS; i++)
        text = parse_argument(text, &inside.arguments[i]);
    if (text == NULL || parse_argument(text, &inside.stack_pointer) == NULL)
        return -EINVAL;
    *ret_syscall = inside;
    return 0;
}

int proc_parse_descriptor(const char *text, uint64_t *ret_inode, uint64_t *ret_mount)
{
    const char *inode_text = text_find_line(text, "ino:"), *mount_text = text_find_line(text, "mnt_id:");
    uint64_t inode, mount;

    if (inode_text == NULL || mount_text == NULL || text_decimal(inode_text, UINT64_MAX, &inode) == NULL ||
        text_decimal(mount_text, UINT64_MAX, &mount) == NULL)
        return -EINVAL;
    *ret_inode = inode;
    *ret_mount = mount;
    return 0;
}
