/* SPDX-License-Identifier: Apache-2.0 */
/* test_sandbox.c - what the sandbox refuses, tried from inside: ripd/sym/child/sandbox.c, ripd/os/sandbox.c. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/capability.h"
#include "os/packet.h"
#include "os/sandbox.h"
#include "os/spawn.h"
#include "support/test.h"
#include "sym/child/sandbox.h"
#include "sym/protocol.h"

static char existing[] = "/tmp/test_sandbox-XXXXXX";
static pid_t parent;

/* The kernel would refuse these with another errno than EPERM: EPERM comes from the sandbox. */
#define NO_PROCESS 0x7ffffffe
#define NO_FILE "/tmp/test_sandbox-none"

/* The first call that was not refused, or NULL. Shared with the process in the sandbox. */
static const char **allowed;

#define REFUSED(call)                                                                                                  \
    do {                                                                                                               \
        if ((long)(call) != -1 || errno != EPERM) {                                                                    \
            *allowed = #call;                                                                                          \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

static int try_all(void)
{
    char *const arguments[] = {NULL};
    char byte;
    struct iovec local = {&byte, 1}, remote = {existing, 1};
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int count;

    REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
    REFUSED(socket(AF_INET, SOCK_STREAM, 0));
    REFUSED(execve("/bin/true", arguments, arguments));
    REFUSED(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    REFUSED(syscall(SYS_clone3, NULL, 0));
    REFUSED(open("/tmp/test_sandbox-new", O_CREAT | O_WRONLY, 0600));
    REFUSED(open(existing, O_WRONLY));
    REFUSED(open(existing, O_RDWR));
    REFUSED(open(existing, O_RDONLY | O_TRUNC));
    REFUSED(syscall(SYS_open, existing, O_RDONLY));
    REFUSED(syscall(SYS_openat2, AT_FDCWD, existing, NULL, 0));
    REFUSED(unlink(NO_FILE));
    REFUSED(chmod(NO_FILE, 0777));
    REFUSED(write(STDERR_FILENO, "x", 1));
    REFUSED(ptrace(PTRACE_ATTACH, NO_PROCESS, NULL, NULL));
    REFUSED(process_vm_readv(NO_PROCESS, &local, 1, &remote, 1, 0));
    REFUSED(kill(NO_PROCESS, 0));
    REFUSED(syscall(SYS_tgkill, NO_PROCESS, NO_PROCESS, 0));
    REFUSED(fcntl(SPAWN_SOCKET, F_SETOWN, parent));
    REFUSED(fcntl(SPAWN_SOCKET, F_SETSIG, SIGKILL));
    REFUSED(fcntl(SPAWN_SOCKET, F_SETFL, O_ASYNC));
    REFUSED(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REFUSED(mprotect(page, 4096, PROT_READ | PROT_EXEC));
    REFUSED(ioctl(SPAWN_SOCKET, FIONREAD, &count));
    REFUSED(syscall(SYS_io_uring_setup, 1, NULL));
    REFUSED(syscall(SYS_unshare, 0));
    REFUSED(setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1));
    REFUSED(syscall(SYS_bpf, 0, NULL, 0));
    return 0;
}

/* Runs work in a new sandbox. before runs first, and may be NULL. Returns the wait status. */
static int run_inside_after(int (*before)(void), int (*work)(void))
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        int ends[2];

        if ((before != NULL && before() != 0) || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0 ||
            dup2(ends[0], SPAWN_SOCKET) < 0 || sandbox_enter() != 0)
            _exit(255);
        _exit(work());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int run_inside(int (*work)(void))
{
    return run_inside_after(NULL, work);
}

static void need_filter(void)
{
    if (SANDBOX_FOR_SANITIZER)
        skip();
}

TEST(refused_calls)
{
    int status;

    need_filter();
    allowed = mmap(NULL, sizeof(*allowed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(allowed, MAP_FAILED);
    status = run_inside(try_all);
    if (*allowed != NULL)
        print_error("not refused: %s\n", *allowed);
    assert_int_equal(status, 0);
    munmap(allowed, sizeof(*allowed));
    assert_int_equal(access(existing, F_OK), 0);
}

/* A symbolizer needs these. */
static int do_the_work(void)
{
    struct stat about;
    int descriptor = open(existing, O_RDONLY | O_CLOEXEC);
    void *memory = malloc(100 << 20);
    char byte;

    if (descriptor < 0 || fstat(descriptor, &about) != 0 || read(descriptor, &byte, 1) != 1)
        return 1;
    if (mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0) == MAP_FAILED || memory == NULL)
        return 2;
    memset(memory, 1, 100 << 20);
    free(memory);
    if (getuid() == 0 || geteuid() == 0 || getgid() == 0 || getgroups(0, NULL) > 0)
        return 3;
    return packet_send(SPAWN_SOCKET, "x", 1, -1, true) == -EPIPE ? 0 : 4; /* the sandbox closed the other end */
}

TEST(allowed_calls)
{
    if (geteuid() != 0)
        skip();
    assert_int_equal(run_inside(do_the_work), 0);
}

/* Reads a file of /proc/self whole. */
static int read_self(const char *path, char *ret_text, size_t capacity)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = descriptor < 0 ? -1 : read(descriptor, ret_text, capacity - 1);

    ret_text[bytes < 0 ? 0 : bytes] = '\0';
    if (descriptor >= 0)
        close(descriptor);
    return bytes < 0 ? -1 : 0;
}

/* Becomes a user with ambient capabilities, as a service manager can start a service. */
static int be_privileged(void)
{
    const uint64_t mask = CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_DAC_READ_SEARCH);
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

    data[0].effective = data[0].permitted = data[0].inheritable = (uint32_t)mask;
    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || setresgid(61234, 61234, 61234) != 0 ||
        setresuid(61234, 61234, 61234) != 0 || syscall(SYS_capset, &header, data) != 0)
        return -1;
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_PTRACE, 0, 0);
}

static int have_no_capability(void)
{
    char status[4096];

    if (read_self("/proc/self/status", status, sizeof(status)) != 0)
        return 1;
    for (size_t i = 0; i < 4; i++) {
        static const char *const sets[] = {"CapInh:\t", "CapPrm:\t", "CapEff:\t", "CapAmb:\t"};
        const char *set = strstr(status, sets[i]);

        if (set == NULL || strncmp(set + strlen(sets[i]), "0000000000000000\n", 17) != 0)
            return 2;
    }
    return strstr(status, "NoNewPrivs:\t1\n") != NULL ? 0 : 3;
}

TEST(no_capability)
{
    uint64_t permitted = 0;

    if (capability_permitted(&permitted) != 0 || (permitted & CAPABILITY(CAP_SYS_PTRACE)) == 0) {
        print_message("skipped: needs CAP_SYS_PTRACE\n");
        skip();
    }
    assert_int_equal(run_inside(have_no_capability), 0);
    assert_int_equal(run_inside_after(be_privileged, have_no_capability), 0);
}

/* Soft and hard limits. */
static int have_limits(void)
{
    static const struct {
        const char *name;
        unsigned long long value;
    } limits[] = {
        {"Max core file size", 0},
        {"Max file size", 0},
        {"Max open files", SANDBOX_DESCRIPTORS_MAX},
        {"Max address space", SANDBOX_MEMORY_BYTES},
    };
    char text[4096];

    if (read_self("/proc/self/limits", text, sizeof(text)) != 0)
        return 1;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        const char *line = strstr(text, limits[i].name);
        unsigned long long soft = 1, hard = 1;

        if (line == NULL || sscanf(line + strlen(limits[i].name), "%llu %llu", &soft, &hard) != 2 ||
            soft != limits[i].value || hard != limits[i].value)
            return 2 + (int)i;
    }
    if (read_self("/proc/self/oom_score_adj", text, sizeof(text)) != 0 || strcmp(text, "1000\n") != 0)
        return 9;
    return 0;
}

static int take_memory(void)
{
    size_t bytes = (size_t)SANDBOX_MEMORY_BYTES;
    int status = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? 0 : 1;

    for (size_t i = 0; i < 2 * SANDBOX_DESCRIPTORS_MAX && status == 0; i++)
        if (open(existing, O_RDONLY) < 0)
            return errno == EMFILE ? 0 : 2;
    return 3;
}

TEST(limits)
{
    need_filter();
    assert_int_equal(run_inside(take_memory), 0);
    assert_int_equal(run_inside(have_limits), 0);
}

static int call_abort(void)
{
    abort();
}

TEST(abort_leaves_no_core)
{
    int status;

    need_filter();
    status = run_inside(call_abort);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_false(WCOREDUMP(status));
}

/* It ends when the process that started it ends. */
TEST(it_dies_with_its_parent)
{
    struct pollfd ended;
    int ends[2];
    pid_t middle;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    middle = fork();
    if (middle == 0) {
        if (fork() == 0) {
            (void)dup2(ends[1], SPAWN_SOCKET); /* the sandbox closes higher numbers */
            if (ends[1] != SPAWN_SOCKET)
                close(ends[1]);
            if (sandbox_enter() != 0)
                _exit(255);
            for (;;)
                (void)recv(SPAWN_SOCKET, NULL, 0, 0); /* not a socket: fails at once */
        }
        usleep(200000);
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(waitpid(middle, NULL, 0), middle);
    ended = (struct pollfd){.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&ended, 1, 30000), 1);
    assert_true((ended.revents & POLLHUP) != 0);
    close(ends[0]);
}

static int make_file(void **state)
{
    int descriptor = mkstemp(existing);

    (void)state;
    parent = getpid();
    return descriptor < 0 || fchmod(descriptor, 0644) != 0 || write(descriptor, "x", 1) != 1 || close(descriptor) != 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(existing);
}

int main(void)
{
    return tests_run(make_file, remove_file);
}
