/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_process.c - follows the process through fork, exec and a change of user.
 *
 * Exec: the next program inherits LD_PRELOAD and RIP_* and makes its own ring, or it cannot be traced (static,
 * set-user-id, without our environment). In either case no process would ever remove the previous program's ring. So
 * the process leaves its ring before the exec, and makes a new one if the exec fails. If no other process is in the
 * ring, the process's last state stays in it, for a ripd that has mapped it. With others in the ring its slots are
 * freed, because the process is mostly a forked child that executes its program.
 *
 * User: a process that changes to another user than its ring's owner keeps neither the descriptor nor the mapping. With
 * either it could disturb processes of the owner that share the ring. It leaves the ring while it may still remove the
 * file, and makes a ring NAME.PID as its new user. Only glibc's functions are seen, not raw system calls.
 *
 * Guarantees
 *   A. The child of fork() shares the parent's ring and registers its one thread before fork() returns.
 *   B. The child of _Fork() or of clone() with a copied address space is not traced until it executes a program: fork
 *      handlers do not run there, and hardly any function may be called. It never writes to its parent's slot, and has
 *      no descriptor of the ring.
 *   C. A parent that ends inside daemon(), by glibc's internal _exit(), leaves the ring in order.
 *   D. A signal handler that interrupts fork() and ends the process, or renames the thread, does not hang: it does not
 *      touch the ring.
 *   E. A child that shares our memory (vfork(), posix_spawn(), clone() with CLONE_VM) changes nothing: the wrappers
 *      only make the wrapped call.
 *   F. An exec leaves no file behind, whatever program it starts. While the kernel reads a program from a slow disk,
 *      the ring is in no directory, but readers that have mapped it still see the process.
 *   G. An exec failure that can be foreseen (no such file, not executable: a search along PATH) costs nothing, and the
 *      ring stays. After any other failure, and after a change of user, the process is traced in a new ring: the
 *      calling thread at once, the others from their next wrapped call.
 *   H. Under a seccomp filter only the program makes system calls. The child of fork() is not traced, and an exec or a
 *      change of user leaves the ring as it is.
 *   I. A process has no access to the ring if its real, effective and saved uid all differ from the ring's owner.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>

#include "preload.h"
#include "writer.h"

/* --- fork --------------------------------------------------------------------------------------------------------- */

static __thread bool in_daemon __attribute__((tls_model("initial-exec")));

/* Runs before librip's handler. The other two run after librip's handlers. */
static void before_fork(void)
{
    preload_thread.forking = true;
    rip_signal_fence();
}

static void after_fork_in_parent(void)
{
    rip_signal_fence();
    preload_thread.forking = false;
    if (in_daemon && !preload_filtered())
        preload_leave(); /* in the parent, daemon() calls _exit() next */
}

static void after_fork_in_child(void)
{
    in_daemon = false;
    preload_thread.forking = false;
    if (!rip_load_relaxed(&preload_state.active))
        return;
    if (preload_filtered()) {
        rip_store_relaxed(&preload_state.active, false);
        return;
    }
    preload_state.pid = getpid();
    preload_state.loader_may_hang |= !__libc_single_threaded;
    preload_thread_after_fork();
    preload_thread_enter();
}

void preload_fork_setup(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

PRELOAD_WRAPPER(int, daemon, (int keep_directory, int keep_streams))
{
    int result;

    in_daemon = preload_is_free();
    result = PRELOAD_REAL(int, daemon, (int, int))(keep_directory, keep_streams);
    if (in_daemon) { /* the fork failed */
        in_daemon = false;
        preload_reopen();
    }
    return result;
}

/* Thread state that a child with a copied address space must not inherit. */
struct thread_trace {
    struct rip_slot *slot;
    bool tried;
};

static struct thread_trace hide_trace(void)
{
    struct thread_trace trace = {rip__thread.slot, preload_thread.tried};

    preload_thread.tried = true;
    rip__thread.slot = NULL;
    rip_signal_fence();
    return trace;
}

static void show_trace(struct thread_trace trace)
{
    rip_signal_fence();
    rip__thread.slot = trace.slot;
    preload_thread.tried = trace.tried;
}

PRELOAD_WRAPPER(pid_t, _Fork, (void))
{
    struct thread_trace trace = hide_trace();
    pid_t pid = PRELOAD_REAL(pid_t, _Fork, (void))();

    if (pid != 0)
        show_trace(trace);
    else
        rip__file_drop_descriptor();
    return pid;
}

/*
 * vfork() returns twice from one stack frame, so its wrapper must not have a frame: it only jumps. Until the child has
 * executed a program or exited, the kernel keeps the parent in vfork(), in state D.
 */
#if defined(__x86_64__) && !defined(__ILP32__)
__attribute__((used)) static void *before_vfork(const void *return_address) __asm__("preload_before_vfork");
static void *before_vfork(const void *return_address)
{
    struct rip_slot *slot = NULL;

    if (rip__thread.slot != NULL && !preload_in_vfork_child())
        slot = preload_record_at(return_address, preload_place(return_address));
    if (slot != NULL) {
        rip_store_relaxed(&slot->call, RIP_CALL_VFORK);
        preload_thread.special |= PRELOAD_VFORKED;
    }
    return preload_function(CALL_vfork);
}

__asm__(".text\n"
        ".globl vfork\n"
        ".type vfork, @function\n"
        "vfork:\n"
        ".cfi_startproc\n"
        "movq (%rsp), %rdi\n"
        "subq $8, %rsp\n"
        ".cfi_adjust_cfa_offset 8\n"
        "call preload_before_vfork\n"
        "addq $8, %rsp\n"
        ".cfi_adjust_cfa_offset -8\n"
        "jmp *%rax\n"
        ".cfi_endproc\n"
        ".size vfork, . - vfork\n");
#endif

struct clone_start {
    int (*function)(void *);
    void *argument;
};

/* Runs in a child with a copy of its parent's descriptors. */
static int clone_main(void *argument)
{
    const struct clone_start *start = argument;

    rip__file_drop_descriptor();
    return start->function(start->argument);
}

PRELOAD_WRAPPER(int, clone, (int (*function)(void *), void *stack, int flags, void *argument, ...))
{
    bool copies_memory = (flags & CLONE_VM) == 0;
    struct clone_start start = {function, argument};
    struct thread_trace trace = {0};
    void *rest[3]; /* parent_tid, tls, child_tid; garbage if the caller did not pass them */
    va_list arguments;
    int result;

    va_start(arguments, argument);
    for (unsigned int i = 0; i < 3; i++)
        rest[i] = va_arg(arguments, void *);
    va_end(arguments);
    if (copies_memory)
        trace = hide_trace();
    if (copies_memory && (flags & CLONE_FILES) == 0) {
        function = clone_main;
        argument = &start;
    }
    result = PRELOAD_REAL(int, clone, (int (*)(void *), void *, int, void *, ...))(function, stack, flags, argument,
                                                                                   rest[0], rest[1], rest[2]);
    if (copies_memory)
        show_trace(trace); /* clone() returns in the parent only */
    return result;
}

/* --- exec --------------------------------------------------------------------------------------------------------- */

typedef char *const *string_list;

/* flags: AT_EMPTY_PATH or 0. Only the kernel reads path, because it may be a bad pointer. */
static bool is_program(int directory, const char *path, int flags)
{
    struct stat status;

    return fstatat(directory, path, &status, flags) == 0 && S_ISREG(status.st_mode) &&
           faccessat(directory, path, X_OK, AT_EACCESS | flags) == 0;
}

/* Searches as execvp() does. */
static bool is_program_on_path(const char *file)
{
    const char *path = getenv("PATH");
    char candidate[PATH_MAX];

    if (strchr(file, '/') != NULL)
        return is_program(AT_FDCWD, file, 0);
    if (path == NULL)
        path = "/bin:/usr/bin";
    while (true) {
        size_t bytes = strcspn(path, ":");
        size_t file_bytes = strlen(file) + 1;

        if (bytes + 1 + file_bytes <= sizeof(candidate)) {
            memcpy(candidate, path, bytes);
            candidate[bytes] = '/';
            memcpy(candidate + bytes + (bytes > 0), file, file_bytes);
            if (is_program(AT_FDCWD, candidate, 0))
                return true;
        }
        if (path[bytes] == '\0')
            return false;
        path += bytes + 1;
    }
}

/* Returns true if the process left its ring. Keeps errno. */
static bool leave_if(bool (*check)(const char *), const char *path)
{
    int saved_errno = errno;
    bool left = preload_is_free() && path != NULL && check(path);

    if (left)
        preload_leave_to_exec();
    errno = saved_errno;
    return left;
}

static bool is_program_here(const char *path)
{
    return is_program(AT_FDCWD, path, 0);
}

static int exec_failed(bool left)
{
    if (left)
        preload_reopen();
    return -1;
}

PRELOAD_WRAPPER(int, execve, (const char *path, string_list arguments, string_list environment))
{
    bool left = leave_if(is_program_here, path);

    PRELOAD_REAL(int, execve, (const char *, string_list, string_list))(path, arguments, environment);
    return exec_failed(left);
}

PRELOAD_WRAPPER(int, execv, (const char *path, string_list arguments))
{
    return wrap_execve(path, arguments, environ);
}

PRELOAD_WRAPPER(int, execvpe, (const char *file, string_list arguments, string_list environment))
{
    bool left = leave_if(is_program_on_path, file);

    PRELOAD_REAL(int, execvpe, (const char *, string_list, string_list))(file, arguments, environment);
    return exec_failed(left);
}

PRELOAD_WRAPPER(int, execvp, (const char *file, string_list arguments))
{
    return wrap_execvpe(file, arguments, environ);
}

PRELOAD_WRAPPER(int, fexecve, (int fd, string_list arguments, string_list environment))
{
    bool left = preload_is_free() && fcntl(fd, F_GETFD) >= 0;

    if (left)
        preload_leave_to_exec();
    PRELOAD_REAL(int, fexecve, (int, string_list, string_list))(fd, arguments, environment);
    return exec_failed(left);
}

PRELOAD_WRAPPER(int, execveat,
                (int directory, const char *path, string_list arguments, string_list environment, int flags))
{
    int saved_errno = errno;
    bool left = preload_is_free() && path != NULL && is_program(directory, path, flags & AT_EMPTY_PATH);

    if (left)
        preload_leave_to_exec();
    errno = saved_errno;
    PRELOAD_REAL(int, execveat, (int, const char *, string_list, string_list, int))
    (directory, path, arguments, environment, flags);
    return exec_failed(left);
}

/*
 * execl(), execlp() and execle(): their arguments are copied to an array that ends with the first NULL. execle() has
 * its environment after it. A vfork() child may not call malloc(), so the array is on the stack unless it is very long.
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

/* Called after a failed exec. */
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

/* --- another user ------------------------------------------------------------------------------------------------- */

struct users {
    uid_t real;
    uid_t effective;
    uid_t saved;
};

#define KEEP ((uid_t)-1)

/* Returns true if none of the uids is the ring's owner: then the process cannot become the owner again. */
static bool leaves_owner(const struct users *users)
{
    const uid_t owner = rip__writer.owner;

    return users->real != owner && users->effective != owner && users->saved != owner;
}

/* next: the uids that the process will have; KEEP = unchanged. Returns true if the process left its ring. */
static bool leave_unless_owner(struct users next)
{
    int saved_errno = errno;
    struct users now;
    bool left = false;

    if (preload_is_free() && getresuid(&now.real, &now.effective, &now.saved) == 0) {
        next.real = next.real != KEEP ? next.real : now.real;
        next.effective = next.effective != KEEP ? next.effective : now.effective;
        next.saved = next.saved != KEEP ? next.saved : now.saved;
        left = leaves_owner(&next);
    }
    if (left)
        preload_leave();
    errno = saved_errno;
    return left;
}

static int reopen_if(bool left, int result)
{
    if (left)
        preload_reopen();
    return result;
}

/* For the superuser all three uids change, for others only the effective uid. */
PRELOAD_WRAPPER(int, setuid, (uid_t user))
{
    bool all = !preload_filtered() && geteuid() == 0;
    bool left = leave_unless_owner((struct users){all ? user : KEEP, user, all ? user : KEEP});

    return reopen_if(left, PRELOAD_REAL(int, setuid, (uid_t))(user));
}

PRELOAD_WRAPPER(int, seteuid, (uid_t effective))
{
    bool left = leave_unless_owner((struct users){KEEP, effective, KEEP});

    return reopen_if(left, PRELOAD_REAL(int, seteuid, (uid_t))(effective));
}

/*
 * setreuid() sets the saved uid to the effective uid if the real uid is set, or if the effective uid is set to
 * something other than the real uid.
 */
static uid_t saved_by_setreuid(uid_t real, uid_t effective)
{
    if (preload_filtered() || (real == KEEP && (effective == KEEP || effective == getuid())))
        return KEEP;
    return effective != KEEP ? effective : geteuid();
}

PRELOAD_WRAPPER(int, setreuid, (uid_t real, uid_t effective))
{
    bool left = leave_unless_owner((struct users){real, effective, saved_by_setreuid(real, effective)});

    return reopen_if(left, PRELOAD_REAL(int, setreuid, (uid_t, uid_t))(real, effective));
}

PRELOAD_WRAPPER(int, setresuid, (uid_t real, uid_t effective, uid_t saved))
{
    bool left = leave_unless_owner((struct users){real, effective, saved});

    return reopen_if(left, PRELOAD_REAL(int, setresuid, (uid_t, uid_t, uid_t))(real, effective, saved));
}
