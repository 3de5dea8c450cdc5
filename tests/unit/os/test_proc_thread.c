/* SPDX-License-Identifier: Apache-2.0 */
/* test_proc_thread.c - reads a thread and a descriptor in /proc: ripd/os/proc_thread.c. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/file.h"
#include "os/proc_thread.h"
#include "support/ring_stage.h"
#include "support/test.h"

struct reader {
    int ends[2];
    uint32_t tid;
};

static void *read_for_ever(void *context)
{
    struct reader *reader = context;
    char byte;

    __atomic_store_n(&reader->tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    return read(reader->ends[0], &byte, 1) == 1 ? reader : NULL;
}

TEST(a_thread_of_this_process)
{
    int proc = file_open_directory("/proc");
    struct proc_syscall call = {.kind = PROC_SYSCALL_RUNNING};
    uint32_t pid = (uint32_t)getpid();
    struct proc_descriptor descriptor;
    struct proc_schedstat schedstat;
    struct proc_switches switches;
    struct reader reader = {.tid = 0};
    char wchan[PROC_WCHAN_BYTES];
    pthread_t thread;
    uint64_t inode;
    int result;

    assert_int_equal(pipe(reader.ends), 0);
    pthread_create(&thread, NULL, read_for_ever, &reader);
    while (__atomic_load_n(&reader.tid, __ATOMIC_ACQUIRE) == 0)
        usleep(100);
    for (int i = 0; i < 10000 && call.kind != PROC_SYSCALL_INSIDE; i++) {
        result = proc_thread_syscall(proc, pid, reader.tid, &call);
        if (result != 0)
            break;
        usleep(1000);
    }
    assert_int_equal(proc_thread_schedstat(proc, pid, reader.tid, &schedstat), 0);
    assert_int_equal(proc_thread_switches(proc, pid, reader.tid, &switches), 0);
    assert_true(switches.voluntary_count != 0);
    if (result == 0) { /* some containers deny it even for the own process */
        assert_int_equal(call.number, SYS_read);
        assert_int_equal(call.arguments[0], reader.ends[0]);
        assert_int_equal(proc_thread_wchan(proc, pid, reader.tid, wchan), 0);
    }
    assert_int_equal(proc_descriptor(proc, pid, (uint32_t)reader.ends[0], &descriptor), 0);
    assert_true(proc_link_inode(descriptor.link, "pipe", &inode));
    assert_int_equal(descriptor.inode, inode);
    assert_true(descriptor.readable && !descriptor.writable && !descriptor.link_cut);
    assert_int_equal(write(reader.ends[1], "", 1), 1);
    pthread_join(thread, NULL);
    assert_int_equal(proc_thread_schedstat(proc, pid, reader.tid, &schedstat), -ESRCH);
    assert_int_equal(proc_thread_wchan(proc, pid, reader.tid, wchan), -ESRCH);
    assert_int_equal(proc_descriptor(proc, pid, 100000, &descriptor), -ESRCH);
    close(reader.ends[0]);
    close(reader.ends[1]);
    close(proc);
}

TEST(a_long_link_is_cut)
{
    int proc = file_open_directory("/proc"), file;
    struct proc_descriptor descriptor;
    struct ring_stage stage;
    char name[400];

    memset(name, 'n', sizeof(name));
    name[200] = '/';
    name[sizeof(name) - 1] = '\0';
    ring_stage_open(&stage);
    ring_stage_put(&stage, name, "");
    file = open(ring_stage_path(&stage, name), O_RDWR | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(proc_descriptor(proc, (uint32_t)getpid(), (uint32_t)file, &descriptor), 0);
    assert_true(descriptor.link_cut);
    assert_int_equal(strlen(descriptor.link), sizeof(descriptor.link) - 1);
    close(file);
    close(proc);
    ring_stage_close(&stage);
}
