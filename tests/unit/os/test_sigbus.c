/* SPDX-License-Identifier: Apache-2.0 */
/* test_sigbus.c - guarded reads of mapped files that are cut, and all other faults: ripd/os/sigbus.c. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/sigbus.h"
#include "support/test.h"

enum { PAGE = 4096, PAGES = 64, SIZE = PAGE * PAGES };

struct cut_file {
    int descriptor;
    const volatile unsigned char *base;
};

/* Installs the handler again, because cmocka sets its own before each test. */
static void open_file(struct cut_file *file)
{
    char path[] = "/dev/shm/ripd-test.XXXXXX";

    assert_int_equal(sigbus_install(), 0);
    file->descriptor = mkstemp(path);
    assert_true(file->descriptor >= 0);
    unlink(path);
    assert_int_equal(ftruncate(file->descriptor, SIZE), 0);
    file->base = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, file->descriptor, 0);
    assert_ptr_not_equal(file->base, MAP_FAILED);
}

static void close_file(struct cut_file *file)
{
    munmap((void *)(uintptr_t)file->base, SIZE);
    close(file->descriptor);
}

/* Reads all pages, and cuts the file before page `cut`. Returns the count of read pages, negative after a fault. */
static int read_pages(const struct cut_file *file, int cut)
{
    static volatile int page;

    page = 0;
    if (SIGBUS_GUARD((const void *)(uintptr_t)file->base, SIZE)) {
        for (; page < PAGES; page++) {
            if (page == cut && ftruncate(file->descriptor, (off_t)cut * PAGE) != 0)
                abort();
            (void)file->base[page * PAGE];
        }
        sigbus_unguard();
        return page;
    }
    return -page;
}

TEST(a_cut_file)
{
    struct cut_file file;
    sigset_t before, after;

    open_file(&file);
    assert_int_equal(read_pages(&file, -1), PAGES);
    sigprocmask(SIG_BLOCK, NULL, &before);
    for (int cut = PAGES - 1; cut > 0; cut -= 7) /* several times: the handler stays installed */
        assert_int_equal(read_pages(&file, cut), -cut);
    sigprocmask(SIG_BLOCK, NULL, &after);
    assert_int_equal(sigismember(&before, SIGBUS), 0);
    assert_int_equal(sigismember(&after, SIGBUS), 0);
    close_file(&file);
}

struct guarded_thread {
    struct cut_file file;
    int faults;
};

/* Each thread has its own guard. read_pages() has a static counter, so it cannot be used here. */
static void *fault_in_thread(void *context)
{
    struct guarded_thread *thread = context;

    for (volatile int i = 0; i < 1000; i++) {
        if (SIGBUS_GUARD((const void *)(uintptr_t)thread->file.base, SIZE)) {
            (void)thread->file.base[(i % PAGES) * PAGE];
            sigbus_unguard();
        } else {
            thread->faults++;
        }
    }
    return NULL;
}

TEST(threads_have_their_own_guards)
{
    struct guarded_thread threads[4] = {0};
    pthread_t ids[4];

    for (int i = 0; i < 4; i++) {
        open_file(&threads[i].file);
        assert_int_equal(ftruncate(threads[i].file.descriptor, i % 2 != 0 ? SIZE : 0), 0);
        assert_int_equal(pthread_create(&ids[i], NULL, fault_in_thread, &threads[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(ids[i], NULL);
        assert_int_equal(threads[i].faults, i % 2 != 0 ? 0 : 1000);
        close_file(&threads[i].file);
    }
}

/* Returns the wait status of a child that calls act() with the handler installed. */
static int status_of(void (*act)(void))
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit none = {0, 0};

        setrlimit(RLIMIT_CORE, &none);
        alarm(30);
        act();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static struct cut_file victim;

#define GUARD_VICTIM(size) SIGBUS_GUARD((const void *)(uintptr_t)victim.base, size)

static void fault_without_guard(void)
{
    (void)victim.base[0];
}

static void fault_outside_guard(void)
{
    static char other[PAGE];

    if (SIGBUS_GUARD(other, sizeof(other))) {
        (void)victim.base[0];
        sigbus_unguard();
    }
}

static void fault_behind_guard(void)
{
    if (GUARD_VICTIM(PAGE)) {
        (void)victim.base[PAGE]; /* the first byte behind the guard */
        sigbus_unguard();
    }
}

static void fault_after_unguard(void)
{
    if (GUARD_VICTIM(SIZE))
        sigbus_unguard();
    (void)victim.base[0];
}

static void receive_signal(void)
{
    if (GUARD_VICTIM(SIZE)) {
        kill(getpid(), SIGBUS);
        usleep(100000);
        sigbus_unguard();
    }
}

TEST(other_faults_kill)
{
    void (*const acts[])(void) = {fault_without_guard, fault_outside_guard, fault_behind_guard, fault_after_unguard,
                                  receive_signal};

    open_file(&victim);
    assert_int_equal(ftruncate(victim.descriptor, 0), 0);
    for (size_t i = 0; i < COUNT_OF(acts); i++) {
        int status = status_of(acts[i]);

        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGBUS);
    }
    close_file(&victim);
}
