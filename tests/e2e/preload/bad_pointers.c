/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bad_pointers.c - makes wrapped calls with invalid pointers, and prints each result with errno. The kernel answers
 * EFAULT. A wrapper that reads such a pointer itself crashes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHOW(call)                                                                                                     \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        long outcome = (long)(call);                                                                                   \
        printf("%s: %ld %d\n", #call, outcome, errno);                                                                 \
    } while (0)

static void *bad; /* not a constant, so that the compiler cannot detect the error */

static void show_files(int full, int empty, int file)
{
    SHOW(read(full, bad, 1));
    SHOW(write(empty, bad, 1));
    SHOW(readv(full, bad, 1));
    SHOW(writev(empty, bad, 1));
    SHOW(pread(file, bad, 1, 0));
    SHOW(pwrite(file, bad, 1, 0));
    SHOW(sendfile(empty, file, bad, 1));
    SHOW(splice(full, bad, empty, NULL, 1, 0));
    SHOW(open(bad, O_RDONLY));
    SHOW(openat(AT_FDCWD, bad, O_RDONLY));
    SHOW(creat(bad, 0600));
    SHOW(execve(bad, bad, bad));
    SHOW(execv(bad, bad));
    SHOW(execveat(AT_FDCWD, bad, bad, bad, 0));
    SHOW(fcntl(file, F_SETLKW, bad));
    SHOW(fcntl(file, F_GETLK, bad));
    SHOW(fstat(file, bad));
    SHOW(msync(bad, 1, MS_SYNC));
}

static void show_sockets(int one, int other)
{
    SHOW(recv(one, bad, 1, 0));
    SHOW(recvfrom(one, bad, 1, 0, NULL, NULL));
    SHOW(recvmsg(one, bad, 0));
    SHOW(recvmmsg(one, bad, 1, 0, NULL));
    SHOW(send(other, bad, 1, 0));
    SHOW(sendto(other, bad, 1, 0, bad, 16));
    SHOW(sendmsg(other, bad, 0));
    SHOW(sendmmsg(other, bad, 1, 0));
    SHOW(connect(other, bad, 16));
    SHOW(accept(one, bad, bad));
    SHOW(accept4(one, bad, bad, 0));
}

static void show_waits(int poller)
{
    struct timespec nothing = {0};

    SHOW(poll(bad, 1, 0));
    SHOW(ppoll(bad, 1, &nothing, NULL));
    SHOW(select(1, bad, NULL, NULL, NULL));
    SHOW(pselect(1, bad, NULL, NULL, &nothing, NULL));
    SHOW(epoll_wait(poller, bad, 1, 0));
    SHOW(nanosleep(bad, NULL));
    SHOW(clock_nanosleep(CLOCK_MONOTONIC, 0, bad, NULL));
    SHOW(sigtimedwait(bad, NULL, &nothing));
    SHOW(sigsuspend(bad));
    SHOW(waitpid(-1, bad, WNOHANG));
    SHOW(waitid(P_ALL, 0, bad, WEXITED | WNOHANG));
    SHOW(semop(0x7fffffff, bad, 1));
    SHOW(msgrcv(0x7fffffff, bad, 1, 0, IPC_NOWAIT));
    SHOW(msgsnd(0x7fffffff, bad, 1, IPC_NOWAIT));
    SHOW(syscall(SYS_futex, bad, FUTEX_WAIT, 0, NULL, NULL, 0));
    SHOW(syscall(SYS_futex, bad, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    SHOW(syscall(SYS_epoll_pwait, poller, bad, 1, 0, bad, 8));
    SHOW(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, bad));
    SHOW(prctl(PR_SET_NAME, bad));
    SHOW(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, bad));
}

int main(int argc, char **argv)
{
    int full[2], empty[2], sockets[2];
    int file = open(argc == 1 ? argv[0] : argv[1], O_RDONLY);

    bad = (void *)(uintptr_t)8;
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    if (file < 0 || pipe(full) != 0 || pipe(empty) != 0 || write(full[1], "1234", 4) != 4 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0 || write(sockets[1], "1234", 4) != 4)
        return 2;
    show_files(full[0], empty[1], file);
    show_sockets(sockets[0], sockets[1]);
    show_waits(epoll_create1(0));
    return 0;
}
