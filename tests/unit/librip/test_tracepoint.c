/* SPDX-License-Identifier: Apache-2.0 */
/* test_tracepoint.c - tracepoints defined at run time: include/rip/tracepoint.h. */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "rip/tracepoint.h"
#include "unit/forked_test.h"

static const uint8_t every_type[] = {RIP_TRACEPOINT_INT64, RIP_TRACEPOINT_UINT64, RIP_TRACEPOINT_DOUBLE,
                                     RIP_TRACEPOINT_STRING};

static struct rip_tracepoint *define(const char *name)
{
    struct rip_tracepoint *tracepoint = NULL;

    CHECK(rip_tracepoint_define("app", name, every_type, 4, &tracepoint) == 0 && tracepoint != NULL);
    return tracepoint;
}

static void fire(const struct rip_tracepoint *tracepoint)
{
    const union rip_tracepoint_value values[] = {{.int64 = -7}, {.uint64 = 8}, {.real = 2.5}, {.string = "nine"}};

    rip_tracepoint_fire(tracepoint, values);
}

/* Returns the descriptor of the newest object, or -1 if there is none. */
static int newest_descriptor(void)
{
    char link[40], target[64];
    int newest = -1;

    for (int descriptor = 3; descriptor < 600; descriptor++) {
        ssize_t bytes;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
        bytes = readlink(link, target, sizeof(target) - 1);
        target[bytes > 0 ? bytes : 0] = '\0';
        if (strstr(target, "memfd:rip-tracepoint") != NULL || strncmp(target, "/dev/shm/#", 10) == 0)
            newest = descriptor;
    }
    return newest;
}

FORKED_TEST(invalid_definitions_are_refused)
{
    static const char *const names[] = {"",         "7up",  "a b",         "a:b",  "a-b",  "a\nb",
                                        "a\x1b[2J", "a/b",  "caf\xc3\xa9", "a;b",  "a$(b", "a'b\"",
                                        "a.b",      "a\\b", "a\x7f",       "a\tb", "*",    "a,b"};
    static const uint8_t no_type[] = {RIP_TRACEPOINT_INT64, 0}, next_type[] = {RIP_TRACEPOINT_STRING + 1};
    static const uint8_t many[RIP_TRACEPOINT_ARGUMENTS_MAX + 1] = {1, 1, 1, 1, 1, 1, 1};
    struct rip_tracepoint *untouched = (struct rip_tracepoint *)test_directory, *got = untouched;
    char longest[RIP_TRACEPOINT_NAME_MAX + 2];

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CHECK(rip_tracepoint_define(names[i], "order", NULL, 0, &got) == -EINVAL);
        CHECK(rip_tracepoint_define("app", names[i], NULL, 0, &got) == -EINVAL);
    }
    memset(longest, 'x', sizeof(longest));
    longest[RIP_TRACEPOINT_NAME_MAX + 1] = '\0';
    CHECK(rip_tracepoint_define("app", longest, NULL, 0, &got) == -EINVAL);
    CHECK(rip_tracepoint_define(NULL, "order", NULL, 0, &got) == -EINVAL);
    CHECK(rip_tracepoint_define("app", "order", no_type, 2, &got) == -EINVAL);
    CHECK(rip_tracepoint_define("app", "order", next_type, 1, &got) == -EINVAL);
    CHECK(rip_tracepoint_define("app", "order", many, RIP_TRACEPOINT_ARGUMENTS_MAX + 1, &got) == -EINVAL);
    CHECK(got == untouched && newest_descriptor() == -1);

    longest[RIP_TRACEPOINT_NAME_MAX] = '\0';
    CHECK(rip_tracepoint_define(longest, longest, many, RIP_TRACEPOINT_ARGUMENTS_MAX, &got) == 0 && got != untouched);
    CHECK(!rip_tracepoint_enabled(NULL));
}

FORKED_TEST(same_definition_again)
{
    struct rip_tracepoint *order = define("order"), *got = NULL;

    CHECK(define("order") == order && define("pay") != order);
    CHECK(rip_tracepoint_define("app2", "order", every_type, 3, &got) == 0 && got != order);
    got = NULL;
    CHECK(rip_tracepoint_define("app", "order", every_type, 3, &got) == -EEXIST);
    CHECK(rip_tracepoint_define("app", "order", every_type + 1, 3, &got) == -EEXIST && got == NULL);
    CHECK(!rip_tracepoint_enabled(order));
    fire(order);
}

FORKED_TEST(maximum_number_of_tracepoints)
{
    struct rip_tracepoint *got = NULL;
    char name[16];

    for (unsigned i = 0; i < RIP_TRACEPOINT_COUNT_MAX; i++) {
        snprintf(name, sizeof(name), "order%u", i);
        fire(define(name));
    }
    CHECK(rip_tracepoint_define("app", "one_more", NULL, 0, &got) == -ENOSPC && got == NULL);
    CHECK(define("order0") != define("order1"));
}

enum { NAMES = 16, THREADS = 8 };

static void *define_all(void *argument)
{
    struct rip_tracepoint **defined = argument;
    char name[16];

    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "order%u", i);
        defined[i] = define(name);
    }
    return NULL;
}

FORKED_TEST(threads_define_the_same_tracepoints)
{
    static struct rip_tracepoint *defined[THREADS][NAMES];
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++)
        threads[i] = start_thread(define_all, defined[i]);
    for (unsigned i = 0; i < THREADS; i++)
        join_thread(threads[i]);
    for (unsigned i = 1; i < THREADS; i++)
        CHECK(memcmp(defined[i], defined[0], sizeof(defined[0])) == 0);
    for (unsigned i = 0; i < NAMES; i++)
        fire(defined[0][i]);
}

/* The number of a closed descriptor is reused, and with it the path from which the object was loaded. */
FORKED_TEST(application_closes_the_descriptor)
{
    struct rip_tracepoint *order = define("order"), *pay;
    int descriptor = newest_descriptor();

    CHECK(descriptor >= 0 && fcntl(descriptor, F_GETFD) == FD_CLOEXEC && close(descriptor) == 0);
    pay = define("pay");
    CHECK(pay->probe != order->probe && pay->semaphore != order->semaphore);
    fire(order);
    fire(pay);
}

FORKED_TEST(a_child_has_its_own_semaphore)
{
    struct rip_tracepoint *order = define("order");
    pid_t child = fork();
    int status;

    if (child == 0) {
        *(uint16_t *)(uintptr_t)order->semaphore = 1; /* as a tracer does that attaches to the child */
        fire(order);
        _exit(rip_tracepoint_enabled(order) && define("order") == order && define("pay") != order ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(!rip_tracepoint_enabled(order));
}

/* The kernel may forbid the execution of memfds (vm.memfd_noexec = 2). */
FORKED_TEST(without_memfd)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = COUNT_OF(code), .filter = code};

    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
    fire(define("order"));
    CHECK(newest_descriptor() >= 0);
}

/* Attaches as bpftrace and perf do: the kernel puts a breakpoint on the nop, and increments the semaphore. */
static int attach(const struct rip_tracepoint *tracepoint)
{
    struct perf_event_attr attributes = {.size = sizeof(attributes)};
    FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
    uintptr_t code = (uintptr_t)tracepoint->probe;
    char path[40];
    Dl_info object;

    if (file == NULL || fscanf(file, "%u", &attributes.type) != 1)
        skip_test("the kernel has no uprobes");
    fclose(file);
    CHECK(dladdr((const void *)code, &object) != 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", newest_descriptor());
    attributes.config = ((uintptr_t)tracepoint->semaphore - (uintptr_t)object.dli_fbase) << 32;
    attributes.config1 = (uintptr_t)path;
    attributes.config2 = code - (uintptr_t)object.dli_fbase;
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

FORKED_TEST(kernel_attaches)
{
    struct rip_tracepoint *order = define("order");
    int reader = attach(order);
    uint64_t count = 0;

    if (reader < 0)
        skip_test("this process may not attach uprobes");
    CHECK(rip_tracepoint_enabled(order) && !rip_tracepoint_enabled(define("pay")));
    for (unsigned i = 0; i < 1000; i++)
        fire(order);
    CHECK(read(reader, &count, sizeof(count)) == (ssize_t)sizeof(count) && count == 1000);
    CHECK(close(reader) == 0 && !rip_tracepoint_enabled(order));
    fire(order);
}
