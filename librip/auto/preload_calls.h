/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_calls.h - the one list of functions that the preload library wraps.
 *
 * There is one macro for each kind of call that is announced in the ring (enum rip_call in ring.h). Its arguments are
 * (type, name, parameters, arguments), and for some macros one more:
 *   IDLE      waits for work: never a stall, however long the call takes
 *   READY     the same, with the kind of the call as the additional argument
 *   ACCEPT    waits for a connection; returns a descriptor on which requests arrive
 *   RECEIVE   receives from the descriptor in the additional argument; the descriptor's kind decides
 *   SEND      sends to the descriptor in the additional argument: waits for others
 *   CONNECT   the same; replies will arrive on the descriptor
 *   OPEN      returns a new descriptor; the additional argument is the kind of the call
 *   BUSY      waits for others, or for a disk: a stall when the call takes long
 *   LOCKS     waits for a lock that has no owner
 *   FILE_LOCK waits for a file lock, whose owner is a process
 *   SLEEP     sleeps for the time that the caller passes
 * Functions whose wrappers are not generated from this list:
 *   OWN(name)     wrapped by hand in the file named beside it
 *   CALLED(name)  not wrapped, but called by a wrapper that is written by hand
 *
 * Include this file with OWN, CALLED and ANNOUNCED(type, name, parameters, arguments, call, done) defined. call is the
 * kind of the call, and done is a statement to run after it. The types are those of the ABI: where glibc declares a
 * transparent union or an internal typedef (__SOCKADDR_ARG), the list has the plain type. The fortified (_chk) and
 * 64-bit variants that glibc 2.36 exports have entries of their own. An optional mode argument is always passed on.
 * Of stdio only fopen() and fclose() are wrapped: its other functions do not make their calls through exported names.
 */
#define IDLE(type, name, parameters, arguments) ANNOUNCED(type, name, parameters, arguments, RIP_CALL_WORK, (void)0)
#define READY(type, name, parameters, arguments, call) ANNOUNCED(type, name, parameters, arguments, call, (void)0)
#define ACCEPT(type, name, parameters, arguments)                                                                      \
    ANNOUNCED(type, name, parameters, arguments, RIP_CALL_READY, preload_descriptor_accepted(outcome))
#define RECEIVE(type, name, parameters, arguments, fd)                                                                 \
    ANNOUNCED(type, name, parameters, arguments, preload_call_receive(fd), outcome < 0 ? (void)0 : preload_received(fd))
#define SEND(type, name, parameters, arguments, fd)                                                                    \
    ANNOUNCED(type, name, parameters, arguments, RIP_CALL_BLOCK, preload_sent(fd))
#define CONNECT(type, name, parameters, arguments, fd)                                                                 \
    ANNOUNCED(type, name, parameters, arguments, (preload_descriptor_connecting(fd), RIP_CALL_BLOCK), (void)0)
#define OPEN(type, name, parameters, arguments, call)                                                                  \
    ANNOUNCED(type, name, parameters, arguments, call, preload_descriptor_forget(outcome))
#define BUSY(type, name, parameters, arguments) ANNOUNCED(type, name, parameters, arguments, RIP_CALL_BLOCK, (void)0)
#define FILE_LOCK(type, name, parameters, arguments)                                                                   \
    ANNOUNCED(type, name, parameters, arguments, RIP_CALL_SHARED, (void)0)
#define LOCKS(type, name, parameters, arguments) ANNOUNCED(type, name, parameters, arguments, RIP_CALL_LOCK, (void)0)
#define SLEEP(type, name, parameters, arguments) ANNOUNCED(type, name, parameters, arguments, RIP_CALL_SLEEP, (void)0)

/* --- waiting for work --------------------------------------------------------------------------------------------- */

ACCEPT(int, accept, (int fd, struct sockaddr *address, socklen_t *length), (fd, address, length))
ACCEPT(int, accept4, (int fd, struct sockaddr *address, socklen_t *length, int flags), (fd, address, length, flags))
READY(int, poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout), preload_call_poll(fds, count))
READY(int, __poll_chk, (struct pollfd * fds, nfds_t count, int timeout, size_t size), (fds, count, timeout, size),
      preload_call_poll(fds, count))
READY(int, ppoll, (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
      (fds, count, timeout, mask), preload_call_poll(fds, count))
READY(int, __ppoll_chk,
      (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t size),
      (fds, count, timeout, mask, size), preload_call_poll(fds, count))
READY(int, select, (int count, fd_set *in, fd_set *out, fd_set *exceptional, struct timeval *timeout),
      (count, in, out, exceptional, timeout), preload_call_select(count, in))
READY(int, pselect,
      (int count, fd_set *in, fd_set *out, fd_set *exceptional, const struct timespec *timeout, const sigset_t *mask),
      (count, in, out, exceptional, timeout, mask), preload_call_select(count, in))
READY(int, epoll_wait, (int fd, struct epoll_event *events, int max, int timeout), (fd, events, max, timeout),
      RIP_CALL_READY)
READY(int, epoll_pwait, (int fd, struct epoll_event *events, int max, int timeout, const sigset_t *mask),
      (fd, events, max, timeout, mask), RIP_CALL_READY)
READY(int, epoll_pwait2,
      (int fd, struct epoll_event *events, int max, const struct timespec *timeout, const sigset_t *mask),
      (fd, events, max, timeout, mask), RIP_CALL_READY)
READY(int, pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t *mutex), (condition, mutex),
      preload_call_with(mutex, preload_call_condition(condition)))
READY(int, pthread_cond_timedwait, (pthread_cond_t * condition, pthread_mutex_t *mutex, const struct timespec *until),
      (condition, mutex, until), preload_call_with(mutex, RIP_CALL_WORK))
READY(int, pthread_cond_clockwait,
      (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until),
      (condition, mutex, clock, until), preload_call_with(mutex, RIP_CALL_WORK))
READY(int, cnd_wait, (cnd_t * condition, mtx_t *mutex), (condition, mutex),
      preload_call_condition((const pthread_cond_t *)(const void *)condition))
IDLE(int, cnd_timedwait, (cnd_t * condition, mtx_t *mutex, const struct timespec *until), (condition, mutex, until))
READY(int, sem_wait, (sem_t * semaphore), (semaphore), preload_call_semaphore(semaphore))
IDLE(int, sem_timedwait, (sem_t * semaphore, const struct timespec *until), (semaphore, until))
IDLE(int, sem_clockwait, (sem_t * semaphore, clockid_t clock, const struct timespec *until), (semaphore, clock, until))
IDLE(int, semop, (int set, struct sembuf *operations, size_t count), (set, operations, count))
IDLE(int, semtimedop, (int set, struct sembuf *operations, size_t count, const struct timespec *timeout),
     (set, operations, count, timeout))
READY(int, pthread_join, (pthread_t thread, void **result), (thread, result), RIP_CALL_PRIVATE)
IDLE(int, pthread_timedjoin_np, (pthread_t thread, void **result, const struct timespec *until),
     (thread, result, until))
IDLE(int, pthread_clockjoin_np, (pthread_t thread, void **result, clockid_t clock, const struct timespec *until),
     (thread, result, clock, until))
READY(int, thrd_join, (thrd_t thread, int *result), (thread, result), RIP_CALL_PRIVATE)
IDLE(pid_t, wait, (int *status), (status))
IDLE(pid_t, wait3, (int *status, int options, struct rusage *usage), (status, options, usage))
IDLE(pid_t, wait4, (pid_t pid, int *status, int options, struct rusage *usage), (pid, status, options, usage))
IDLE(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options))
IDLE(int, waitid, (idtype_t type, id_t id, siginfo_t *info, int options), (type, id, info, options))
/* These wait for a child inside glibc, without calling an exported function. */
IDLE(int, system, (const char *command), (command))
IDLE(int, pclose, (void *stream), (stream))
IDLE(int, sigwait, (const sigset_t *set, int *number), (set, number))
IDLE(int, sigwaitinfo, (const sigset_t *set, siginfo_t *info), (set, info))
IDLE(int, sigtimedwait, (const sigset_t *set, siginfo_t *info, const struct timespec *timeout), (set, info, timeout))
IDLE(int, sigsuspend, (const sigset_t *mask), (mask))
IDLE(int, sigpause, (int mask), (mask))
IDLE(int, __xpg_sigpause, (int number), (number))
IDLE(int, pause, (void), ())
/* Message queues: a receiver waits for work, as in accept(). Unlike read(), these calls have no other use. */
IDLE(ssize_t, mq_receive, (mqd_t queue, char *buffer, size_t size, unsigned int *priority),
     (queue, buffer, size, priority))
IDLE(ssize_t, mq_timedreceive,
     (mqd_t queue, char *buffer, size_t size, unsigned int *priority, const struct timespec *until),
     (queue, buffer, size, priority, until))
IDLE(ssize_t, msgrcv, (int queue, void *message, size_t size, long type, int flags),
     (queue, message, size, type, flags))

/* --- work: files and sockets -------------------------------------------------------------------------------------- */

RECEIVE(ssize_t, read, (int fd, void *buffer, size_t size), (fd, buffer, size), fd)
RECEIVE(ssize_t, __read_chk, (int fd, void *buffer, size_t size, size_t limit), (fd, buffer, size, limit), fd)
RECEIVE(ssize_t, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count), fd)
BUSY(ssize_t, pread, (int fd, void *buffer, size_t size, off_t offset), (fd, buffer, size, offset))
BUSY(ssize_t, pread64, (int fd, void *buffer, size_t size, off64_t offset), (fd, buffer, size, offset))
BUSY(ssize_t, __pread_chk, (int fd, void *buffer, size_t size, off_t offset, size_t limit),
     (fd, buffer, size, offset, limit))
BUSY(ssize_t, __pread64_chk, (int fd, void *buffer, size_t size, off64_t offset, size_t limit),
     (fd, buffer, size, offset, limit))
BUSY(ssize_t, preadv, (int fd, const struct iovec *parts, int count, off_t offset), (fd, parts, count, offset))
BUSY(ssize_t, preadv64, (int fd, const struct iovec *parts, int count, off64_t offset), (fd, parts, count, offset))
BUSY(ssize_t, preadv2, (int fd, const struct iovec *parts, int count, off_t offset, int flags),
     (fd, parts, count, offset, flags))
BUSY(ssize_t, preadv64v2, (int fd, const struct iovec *parts, int count, off64_t offset, int flags),
     (fd, parts, count, offset, flags))
RECEIVE(ssize_t, recv, (int fd, void *buffer, size_t size, int flags), (fd, buffer, size, flags), fd)
RECEIVE(ssize_t, __recv_chk, (int fd, void *buffer, size_t size, size_t limit, int flags),
        (fd, buffer, size, limit, flags), fd)
RECEIVE(ssize_t, recvfrom, (int fd, void *buffer, size_t size, int flags, struct sockaddr *address, socklen_t *length),
        (fd, buffer, size, flags, address, length), fd)
RECEIVE(ssize_t, __recvfrom_chk,
        (int fd, void *buffer, size_t size, size_t limit, int flags, struct sockaddr *address, socklen_t *length),
        (fd, buffer, size, limit, flags, address, length), fd)
RECEIVE(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags), fd)
RECEIVE(int, recvmmsg, (int fd, struct mmsghdr *messages, unsigned int count, int flags, struct timespec *timeout),
        (fd, messages, count, flags, timeout), fd)
SEND(ssize_t, write, (int fd, const void *buffer, size_t size), (fd, buffer, size), fd)
SEND(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), fd)
BUSY(ssize_t, pwrite, (int fd, const void *buffer, size_t size, off_t offset), (fd, buffer, size, offset))
BUSY(ssize_t, pwrite64, (int fd, const void *buffer, size_t size, off64_t offset), (fd, buffer, size, offset))
BUSY(ssize_t, pwritev, (int fd, const struct iovec *parts, int count, off_t offset), (fd, parts, count, offset))
BUSY(ssize_t, pwritev64, (int fd, const struct iovec *parts, int count, off64_t offset), (fd, parts, count, offset))
BUSY(ssize_t, pwritev2, (int fd, const struct iovec *parts, int count, off_t offset, int flags),
     (fd, parts, count, offset, flags))
BUSY(ssize_t, pwritev64v2, (int fd, const struct iovec *parts, int count, off64_t offset, int flags),
     (fd, parts, count, offset, flags))
SEND(ssize_t, send, (int fd, const void *buffer, size_t size, int flags), (fd, buffer, size, flags), fd)
SEND(ssize_t, sendto,
     (int fd, const void *buffer, size_t size, int flags, const struct sockaddr *address, socklen_t length),
     (fd, buffer, size, flags, address, length), fd)
SEND(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags), fd)
SEND(int, sendmmsg, (int fd, struct mmsghdr *messages, unsigned int count, int flags), (fd, messages, count, flags), fd)
BUSY(ssize_t, sendfile, (int to, int from, off_t *offset, size_t size), (to, from, offset, size))
BUSY(ssize_t, sendfile64, (int to, int from, off64_t *offset, size_t size), (to, from, offset, size))
BUSY(ssize_t, splice, (int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size, unsigned int flags),
     (from, from_offset, to, to_offset, size, flags))
BUSY(ssize_t, tee, (int from, int to, size_t size, unsigned int flags), (from, to, size, flags))
BUSY(ssize_t, vmsplice, (int fd, const struct iovec *parts, size_t count, unsigned int flags),
     (fd, parts, count, flags))
BUSY(ssize_t, copy_file_range,
     (int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size, unsigned int flags),
     (from, from_offset, to, to_offset, size, flags))
CONNECT(int, connect, (int fd, const struct sockaddr *address, socklen_t length), (fd, address, length), fd)
RECEIVE(int, eventfd_read, (int fd, uint64_t *value), (fd, value), fd)
BUSY(int, eventfd_write, (int fd, uint64_t value), (fd, value))
BUSY(int, mq_send, (mqd_t queue, const char *buffer, size_t size, unsigned int priority),
     (queue, buffer, size, priority))
BUSY(int, mq_timedsend,
     (mqd_t queue, const char *buffer, size_t size, unsigned int priority, const struct timespec *until),
     (queue, buffer, size, priority, until))
BUSY(int, msgsnd, (int queue, const void *message, size_t size, int flags), (queue, message, size, flags))
BUSY(int, fsync, (int fd), (fd))
BUSY(int, fdatasync, (int fd), (fd))
BUSY(int, syncfs, (int fd), (fd))
BUSY(int, msync, (void *start, size_t size, int flags), (start, size, flags))
BUSY(int, sync_file_range, (int fd, off64_t offset, off64_t size, unsigned int flags), (fd, offset, size, flags))
FILE_LOCK(int, flock, (int fd, int operation), (fd, operation))
FILE_LOCK(int, lockf, (int fd, int command, off_t size), (fd, command, size))
FILE_LOCK(int, lockf64, (int fd, int command, off64_t size), (fd, command, size))

/*
 * open() can block on a FIFO until its other end is opened, on a file of a network server that is down, and on a file
 * with a lease.
 */
OPEN(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode), preload_call_open(flags))
OPEN(int, open64, (const char *path, int flags, mode_t mode), (path, flags, mode), preload_call_open(flags))
OPEN(int, __open_2, (const char *path, int flags), (path, flags), preload_call_open(flags))
OPEN(int, __open64_2, (const char *path, int flags), (path, flags), preload_call_open(flags))
OPEN(int, openat, (int directory, const char *path, int flags, mode_t mode), (directory, path, flags, mode),
     preload_call_open(flags))
OPEN(int, openat64, (int directory, const char *path, int flags, mode_t mode), (directory, path, flags, mode),
     preload_call_open(flags))
OPEN(int, __openat_2, (int directory, const char *path, int flags), (directory, path, flags), preload_call_open(flags))
OPEN(int, __openat64_2, (int directory, const char *path, int flags), (directory, path, flags),
     preload_call_open(flags))
OPEN(int, creat, (const char *path, mode_t mode), (path, mode), RIP_CALL_BLOCK)
OPEN(int, creat64, (const char *path, mode_t mode), (path, mode), RIP_CALL_BLOCK)
ANNOUNCED(void *, fopen, (const char *path, const char *mode), (path, mode), preload_call_fopen(mode), (void)0)
ANNOUNCED(void *, fopen64, (const char *path, const char *mode), (path, mode), preload_call_fopen(mode), (void)0)

/* --- work: locks -------------------------------------------------------------------------------------------------- */

LOCKS(int, pthread_spin_lock, (pthread_spinlock_t * lock), (lock))
LOCKS(int, pthread_barrier_wait, (pthread_barrier_t * barrier), (barrier))

/* --- work: sleeps and names --------------------------------------------------------------------------------------- */

SLEEP(unsigned int, sleep, (unsigned int seconds), (seconds))
SLEEP(int, usleep, (useconds_t microseconds), (microseconds))
SLEEP(int, nanosleep, (const struct timespec *duration, struct timespec *left), (duration, left))
SLEEP(int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *duration, struct timespec *left),
      (clock, flags, duration, left))
SLEEP(int, thrd_sleep, (const struct timespec *duration, struct timespec *left), (duration, left))
BUSY(int, getaddrinfo, (const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result),
     (node, service, hints, result))
BUSY(int, getnameinfo,
     (const struct sockaddr *address, socklen_t length, char *host, socklen_t host_size, char *service,
      socklen_t service_size, int flags),
     (address, length, host, host_size, service, service_size, flags))
BUSY(struct hostent *, gethostbyname, (const char *name), (name))
BUSY(struct hostent *, gethostbyname2, (const char *name, int family), (name, family))
BUSY(struct hostent *, gethostbyaddr, (const void *address, socklen_t length, int family), (address, length, family))
BUSY(int, gethostbyname_r,
     (const char *name, struct hostent *host, char *buffer, size_t size, struct hostent **result, int *error),
     (name, host, buffer, size, result, error))
BUSY(int, gethostbyname2_r,
     (const char *name, int family, struct hostent *host, char *buffer, size_t size, struct hostent **result,
      int *error),
     (name, family, host, buffer, size, result, error))
BUSY(int, gethostbyaddr_r,
     (const void *address, socklen_t length, int family, struct hostent *host, char *buffer, size_t size,
      struct hostent **result, int *error),
     (address, length, family, host, buffer, size, result, error))

/* --- by hand ------------------------------------------------------------------------------------------------------ */

OWN(pthread_mutex_lock) /* preload_lock.c, like the following */
OWN(pthread_mutex_timedlock)
OWN(pthread_mutex_clocklock)
OWN(mtx_lock)
OWN(mtx_timedlock)
OWN(pthread_rwlock_rdlock)
OWN(pthread_rwlock_timedrdlock)
OWN(pthread_rwlock_clockrdlock)
OWN(pthread_rwlock_wrlock)
OWN(pthread_rwlock_timedwrlock)
OWN(pthread_rwlock_clockwrlock)
OWN(flockfile)
OWN(pthread_once) /* preload_once.c */
OWN(call_once)
OWN(syscall)    /* preload_syscall.c */
OWN(socket)     /* preload_descriptor.c */
OWN(socketpair) /* preload_descriptor.c */
OWN(pipe)       /* preload_descriptor.c */
OWN(pipe2)      /* preload_descriptor.c */
OWN(dup)        /* preload_descriptor.c */
OWN(fclose)     /* preload_descriptor.c */
OWN(fstat)      /* preload_shield.c: hides the ring's descriptor */
OWN(fstat64)
OWN(__fxstat)
OWN(__fxstat64)
OWN(fcntl)              /* preload_shield.c: only commands that wait for a lock can block */
OWN(fcntl64)            /* preload_shield.c */
OWN(close)              /* preload_shield.c */
OWN(close_range)        /* preload_shield.c */
OWN(closefrom)          /* preload_shield.c */
OWN(dup2)               /* preload_shield.c */
OWN(dup3)               /* preload_shield.c */
OWN(pthread_create)     /* preload_thread.c */
OWN(thrd_create)        /* preload_thread.c */
OWN(pthread_setname_np) /* preload_thread.c */
OWN(prctl)              /* preload_thread.c */
OWN(_Fork)              /* preload_process.c */
OWN(vfork)              /* preload_process.c */
OWN(clone)              /* preload_process.c */
OWN(daemon)             /* preload_process.c */
OWN(dl_iterate_phdr)    /* preload_sanitizer.c */
OWN(_exit)              /* preload.c */
OWN(_Exit)              /* preload.c */
OWN(execve)             /* preload_process.c, like all that follow */
OWN(execv)
OWN(execvp)
OWN(execvpe)
OWN(execl)
OWN(execle)
OWN(execlp)
OWN(execveat)
OWN(fexecve)
OWN(setuid)
OWN(seteuid)
OWN(setreuid)
OWN(setresuid)
OWN(ruby_run_node) /* preload_binding.c */

/* --- not wrapped -------------------------------------------------------------------------------------------------- */

CALLED(pthread_mutex_trylock) /* preload_lock.c */
CALLED(ftrylockfile)
CALLED(pthread_mutex_unlock) /* preload_own.c */
CALLED(pthread_rwlock_tryrdlock)
CALLED(pthread_rwlock_trywrlock)

#undef IDLE
#undef READY
#undef ACCEPT
#undef RECEIVE
#undef SEND
#undef CONNECT
#undef OPEN
#undef BUSY
#undef FILE_LOCK
#undef LOCKS
#undef SLEEP
#undef ANNOUNCED
#undef OWN
#undef CALLED
