/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_exec.c - the process becomes another program.
 *
 * The next program inherits LD_PRELOAD and RIP_* and makes a ring of its own, or it is one that cannot be traced
 * (static, set-user-id, without our environment). In either case nobody would ever remove the ring of the program
 * before it. So the process leaves its ring before the exec, and makes a new one if the exec fails.
 *
 * Guarantees
 *   A. An exec leaves no file behind, whatever program it starts.
 *   B. A failure that can be foreseen (no such file, not executable: a search along PATH) costs nothing: the ring
 * stays. C. After any other failure the calling thread is traced in a new ring; the process's other threads are
 * untraced. D. In a vfork() child nothing is done but the exec.
 *
 * What that costs: while the kernel reads a program from a slow disk the process is in no ring.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "preload.h"
#include "writer.h"

typedef char *const *string_list;

/* --- will it succeed? --------------------------------------------------------------------------------------------- */

static bool is_program(int directory, const char *path)
{
    struct stat status;

    return fstatat(directory, path, &status, 0) == 0 && S_ISREG(status.st_mode) &&
           faccessat(directory, path, X_OK, AT_EACCESS) == 0;
}

/* As execvp() searches. */
static bool is_program_on_path(const char *file)
{
    const char *path = getenv("PATH");
    char candidate[PATH_MAX];

    if (strchr(file, '/') != NULL)
        return is_program(AT_FDCWD, file);
    if (path == NULL)
        path = "/bin:/usr/bin";
    while (true) {
        size_t bytes = strcspn(path, ":");
        size_t file_bytes = strlen(file) + 1;

        if (bytes + 1 + file_bytes <= sizeof(candidate)) {
            memcpy(candidate, path, bytes);
            candidate[bytes] = '/';
            memcpy(candidate + bytes + (bytes > 0), file, file_bytes);
            if (is_program(AT_FDCWD, candidate))
                return true;
        }
        if (path[bytes] == '\0')
            return false;
        path += bytes + 1;
    }
}

/* --- before and after --------------------------------------------------------------------------------------------- */

/* True if the ring was left. Keeps errno. */
static bool leave_if(bool (*check)(const char *), const char *path)
{
    int saved_errno = errno;
    bool left = preload_is_ours() && path != NULL && check(path);

    if (left)
        preload_leave();
    errno = saved_errno;
    return left;
}

static bool is_program_here(const char *path)
{
    return is_program(AT_FDCWD, path);
}

static int failed(bool left)
{
    if (left)
        preload_return();
    return -1;
}

/* --- wrappers ----------------------------------------------------------------------------------------------------- */

PRELOAD_WRAPPER(int, execve, (const char *path, string_list arguments, string_list environment))
{
    bool left = leave_if(is_program_here, path);

    PRELOAD_REAL(int, execve, (const char *, string_list, string_list))(path, arguments, environment);
    return failed(left);
}

PRELOAD_WRAPPER(int, execv, (const char *path, string_list arguments))
{
    return wrap_execve(path, arguments, environ);
}

PRELOAD_WRAPPER(int, execvpe, (const char *file, string_list arguments, string_list environment))
{
    bool left = leave_if(is_program_on_path, file);

    PRELOAD_REAL(int, execvpe, (const char *, string_list, string_list))(file, arguments, environment);
    return failed(left);
}

PRELOAD_WRAPPER(int, execvp, (const char *file, string_list arguments))
{
    return wrap_execvpe(file, arguments, environ);
}

PRELOAD_WRAPPER(int, fexecve, (int fd, string_list arguments, string_list environment))
{
    bool left = preload_is_ours() && fcntl(fd, F_GETFD) >= 0;

    if (left)
        preload_leave();
    PRELOAD_REAL(int, fexecve, (int, string_list, string_list))(fd, arguments, environment);
    return failed(left);
}

PRELOAD_WRAPPER(int, execveat,
                (int directory, const char *path, string_list arguments, string_list environment, int flags))
{
    int saved_errno = errno;
    bool left = preload_is_ours() && path != NULL &&
                (path[0] == '\0' ? (flags & AT_EMPTY_PATH) != 0 : is_program(directory, path));

    if (left)
        preload_leave();
    errno = saved_errno;
    PRELOAD_REAL(int, execveat, (int, const char *, string_list, string_list, int))
    (directory, path, arguments, environment, flags);
    return failed(left);
}

/*
 * The variadic three: their arguments become an array that ends with the first NULL; what stands behind that is the
 * environment of execle(). A vfork() child may not allocate, so the array is on the stack unless it is very long.
 */
#define LIST_SHORT 256

struct argument_list {
    char **items;
    size_t mapped_bytes; /* 0 = items is on_stack */
    char *on_stack[LIST_SHORT];
};

static size_t count_arguments(const char *first, va_list *rest)
{
    size_t count = 0;

    for (const char *argument = first; argument != NULL; argument = va_arg(*rest, const char *))
        count++;
    return count;
}

static bool list_open(struct argument_list *list, size_t count)
{
    list->mapped_bytes = 0;
    list->items = list->on_stack;
    if (count < LIST_SHORT)
        return true;
    list->mapped_bytes = (count + 1) * sizeof(*list->items);
    list->items = mmap(NULL, list->mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return list->items != MAP_FAILED;
}

static void list_fill(struct argument_list *list, size_t count, const char *first, va_list *rest)
{
    list->items[0] = (char *)(uintptr_t)first;
    for (size_t i = 1; i <= count; i++)
        list->items[i] = va_arg(*rest, char *);
}

/* The exec has failed. */
static int list_close(struct argument_list *list, int result)
{
    int saved_errno = errno;

    if (list->mapped_bytes != 0)
        munmap(list->items, list->mapped_bytes);
    errno = saved_errno;
    return result;
}

PRELOAD_WRAPPER(int, execl, (const char *path, const char *first, ...))
{
    struct argument_list list;
    va_list rest;
    size_t count;

    va_start(rest, first);
    count = count_arguments(first, &rest);
    va_end(rest);
    if (!list_open(&list, count))
        return -1;
    va_start(rest, first);
    list_fill(&list, count, first, &rest);
    va_end(rest);
    return list_close(&list, wrap_execve(path, list.items, environ));
}

PRELOAD_WRAPPER(int, execlp, (const char *file, const char *first, ...))
{
    struct argument_list list;
    va_list rest;
    size_t count;

    va_start(rest, first);
    count = count_arguments(first, &rest);
    va_end(rest);
    if (!list_open(&list, count))
        return -1;
    va_start(rest, first);
    list_fill(&list, count, first, &rest);
    va_end(rest);
    return list_close(&list, wrap_execvpe(file, list.items, environ));
}

PRELOAD_WRAPPER(int, execle, (const char *path, const char *first, ...))
{
    struct argument_list list;
    char *const *environment;
    va_list rest;
    size_t count;

    va_start(rest, first);
    count = count_arguments(first, &rest);
    va_end(rest);
    if (!list_open(&list, count))
        return -1;
    va_start(rest, first);
    list_fill(&list, count, first, &rest);
    environment = va_arg(rest, char *const *);
    va_end(rest);
    return list_close(&list, wrap_execve(path, list.items, environment));
}
