/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_stage.c - directories, files and processes for tests. Touches /dev/shm and the test's own children.
 */
#include "support/ring_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 512, PATHS = 8, CHILD_SECONDS = 60, OPEN_FILES = 16 };

static void need(bool condition, const char *what)
{
    if (condition)
        return;
    perror(what);
    exit(EXIT_FAILURE);
}

/* Files ------------------------------------------------------------------------------------------------------------ */

void ring_stage_open(struct ring_stage *stage)
{
    strcpy(stage->directory, "/dev/shm/ripd-test.XXXXXX");
    need(mkdtemp(stage->directory) != NULL, "mkdtemp");
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void ring_stage_close(struct ring_stage *stage)
{
    need(nftw(stage->directory, remove_entry, OPEN_FILES, FTW_DEPTH | FTW_PHYS) == 0, "nftw");
}

const char *ring_stage_path(const struct ring_stage *stage, const char *name)
{
    static char paths[PATHS][PATH_BYTES];
    static unsigned turn;
    char *path = paths[turn++ % PATHS];

    snprintf(path, PATH_BYTES, "%s/%s", stage->directory, name);
    return path;
}

void ring_stage_write(const struct ring_stage *stage, const char *name, const void *bytes, size_t count)
{
    int descriptor = open(ring_stage_path(stage, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

    need(descriptor >= 0 && write(descriptor, bytes, count) == (ssize_t)count, name);
    close(descriptor);
}

void ring_stage_put(const struct ring_stage *stage, const char *name, const char *text)
{
    char directory[PATH_BYTES];

    for (const char *slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(directory, sizeof(directory), "%.*s", (int)(slash - name), name);
        need(mkdir(ring_stage_path(stage, directory), 0700) == 0 || errno == EEXIST, name);
    }
    ring_stage_write(stage, name, text, strlen(text));
}

void ring_stage_put_stat(const struct ring_stage *stage, uint32_t pid, const char *text)
{
    char name[64];

    snprintf(name, sizeof(name), "proc/%u/task/%u/stat", pid, pid);
    ring_stage_put(stage, name, text);
}

/* Rings ------------------------------------------------------------------------------------------------------------ */

static void read_boot_id(uint8_t ret_id[16])
{
    char text[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    const char *next = text;

    need(file != NULL && fgets(text, sizeof(text), file) != NULL, "boot_id");
    fclose(file);
    for (int i = 0; i < 16; i++, next += 2) {
        unsigned value;

        next += *next == '-';
        need(sscanf(next, "%2x", &value) == 1, "boot_id");
        ret_id[i] = (uint8_t)value;
    }
}

void ring_stage_build(const struct ring_stage *stage, const char *name, const struct ring_geometry *geometry,
                      struct ring_builder *ret_builder)
{
    uint64_t size_bytes = ring_builder_size(geometry);
    int descriptor = open(ring_stage_path(stage, name), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    void *bytes;

    need(descriptor >= 0 && ftruncate(descriptor, (off_t)size_bytes) == 0, name);
    bytes = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    need(bytes != MAP_FAILED, "mmap");
    close(descriptor);
    ring_builder_init(ret_builder, bytes, geometry);
    read_boot_id(ret_builder->ring->boot_id);
    memset(ret_builder->bytes + ret_builder->ring->summary_offset, 0,
           ret_builder->ring->live_offset - ret_builder->ring->summary_offset); /* as writers do: allocates its pages */
}

void ring_stage_release(struct ring_builder *builder)
{
    munmap(builder->bytes, builder->size_bytes);
}

void ring_stage_claim(struct ring_builder *builder, uint32_t record, pid_t pid, const char *comm)
{
    ring_builder_add_process(builder, record, (uint32_t)pid, ring_stage_start_time(pid), comm);
    ring_builder_process(builder, record)->flags = 0;
    ring_builder_process(builder, record)->pid_namespace = ring_stage_pid_namespace();
}

/* Processes -------------------------------------------------------------------------------------------------------- */

static _Noreturn void play(void (*body)(void *context), void (*then)(void *context), void *context, int ready)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};
    sigset_t go;
    int number;

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        signal(faults[i], SIG_DFL); /* cmocka's handler would run the next test in the child */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(CHILD_SECONDS);
    sigemptyset(&go);
    sigaddset(&go, SIGUSR1);
    sigprocmask(SIG_BLOCK, &go, NULL);
    dup2(ready, 200);
    if (body != NULL)
        body(context);
    if (write(200, "r", 1) != 1 && errno != EBADF)
        _exit(EXIT_FAILURE);
    close(200);
    close(ready);
    sigwait(&go, &number);
    if (then != NULL)
        then(context);
    for (;;)
        pause();
}

pid_t ring_stage_start(void (*body)(void *context), void (*then)(void *context), void *context)
{
    int ready[2];
    char byte;
    pid_t pid;

    need(pipe2(ready, O_CLOEXEC) == 0, "pipe2");
    fflush(NULL);
    pid = fork();
    need(pid >= 0, "fork");
    if (pid == 0)
        play(body, then, context, ready[1]);
    close(ready[1]);
    need(read(ready[0], &byte, 1) >= 0, "read"); /* 0: the process closed the pipe, or ended */
    need(waitpid(pid, NULL, WNOHANG) == 0, "a process that was started has ended");
    close(ready[0]);
    return pid;
}

void ring_stage_go(pid_t pid)
{
    need(kill(pid, SIGUSR1) == 0, "kill");
}

int ring_stage_end(pid_t pid)
{
    int status = 0;

    kill(pid, SIGKILL);
    need(waitpid(pid, &status, 0) == pid, "waitpid");
    return status;
}

/* What follows the name in the line of a process; "" if there is none. The name may hold newlines. */
static const char *read_stat(pid_t pid)
{
    static char text[1024];
    const char *rest = NULL;
    char path[64];
    FILE *file;

    memset(text, 0, sizeof(text));
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "re");
    if (file == NULL)
        return "";
    if (fread(text, 1, sizeof(text) - 1, file) > 0)
        rest = strrchr(text, ')');
    fclose(file);
    return rest != NULL ? rest + 1 : "";
}

char ring_stage_state(pid_t pid)
{
    const char *rest = read_stat(pid);

    return rest[0] != '\0' ? rest[1] : 0;
}

uint64_t ring_stage_start_time(pid_t pid)
{
    unsigned long long ticks = 0;
    const char *rest = read_stat(pid);

    for (int field = 3; rest != NULL && field < 22; field++)
        rest = strchr(rest + 1, ' ');
    need(rest != NULL && sscanf(rest, "%llu", &ticks) == 1, "start time");
    return ticks;
}

uint64_t ring_stage_pid_namespace(void)
{
    struct stat status;

    need(stat("/proc/self/ns/pid", &status) == 0, "/proc/self/ns/pid");
    return status.st_ino;
}
