/* SPDX-License-Identifier: Apache-2.0 */
/* animal_files.c - kinds that wait for a file: pipes, and file locks that another process holds. */
#include "animal.h"

#include <fcntl.h>
#include <librip.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char byte;

static void forget_end(void *end)
{
    close(*(int *)end);
}

/* Only a companion has the other end. */
static void pipe_with_companion(int ends[2], int mine)
{
    int child;

    if (pipe2(ends, O_CLOEXEC) != 0)
        animal_fail("pipe");
    child = animal_companion(forget_end, &ends[mine]);
    close(ends[1 - mine]);
    printf("peer %d\n", child);
}

ANIMAL_STALL read_an_empty_pipe(void)
{
    int ends[2];

    pipe_with_companion(ends, 0);
    rip_snap(); /* STALL(pipe-read) */
    if (read(ends[0], &byte, 1) < 0)
        return;
}

static void fill(int fd)
{
    fcntl(fd, F_SETFL, O_NONBLOCK);
    while (write(fd, &byte, 1) == 1)
        ;
    fcntl(fd, F_SETFL, 0);
}

ANIMAL_STALL write_a_full_pipe(void)
{
    int ends[2];

    pipe_with_companion(ends, 1);
    fill(ends[1]);
    rip_snap(); /* STALL(pipe-write) */
    if (write(ends[1], &byte, 1) < 0)
        return;
}

static void forget_nothing(void *unused)
{
    (void)unused;
}

/* The thread keeps the read end, and so does a child that has inherited both ends. */
ANIMAL_STALL write_to_itself(void)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        animal_fail("pipe");
    animal_companion(forget_nothing, NULL);
    printf("peer %d\n", (int)getpid());
    fill(ends[1]);
    rip_snap(); /* STALL(pipe-own) */
    if (write(ends[1], &byte, 1) < 0)
        return;
}

/* The same, and another child has only the read end. */
ANIMAL_STALL write_to_a_reader(void)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        animal_fail("pipe");
    animal_companion(forget_nothing, NULL);
    printf("peer %d\n", animal_companion(forget_end, &ends[1]));
    fill(ends[1]);
    rip_snap(); /* STALL(pipe-reader) */
    if (write(ends[1], &byte, 1) < 0)
        return;
}

static int open_file(void)
{
    const char *path = getenv("ZOO_FILE");
    int file = path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (file < 0)
        animal_fail("ZOO_FILE");
    return file;
}

static void hold_flock(void *context)
{
    (void)context;
    if (flock(open_file(), LOCK_EX) != 0)
        _exit(1);
}

ANIMAL_STALL wait_for_flock(void)
{
    int file = open_file();

    printf("peer %d\n", animal_companion(hold_flock, NULL));
    rip_snap(); /* STALL(flock) */
    flock(file, LOCK_EX);
}

static void hold_record(void *context)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10};

    (void)context;
    if (fcntl(open_file(), F_SETLK, &lock) != 0)
        _exit(1);
}

ANIMAL_STALL wait_for_record(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int file = open_file();

    printf("peer %d\n", animal_companion(hold_record, NULL));
    rip_snap(); /* STALL(record-lock) */
    fcntl(file, F_SETLKW, &lock);
}

/* A FIFO that no other process opens. Returns its name in the directory. */
static const char *make_fifo(char directory[PATH_MAX])
{
    const char *path = getenv("ZOO_FILE");
    const char *last = path != NULL ? strrchr(path, '/') : NULL;

    if (last == NULL || mkfifo(path, 0600) != 0)
        animal_fail("ZOO_FILE");
    snprintf(directory, PATH_MAX, "%.*s", (int)(last - path), path);
    return last + 1;
}

ANIMAL_STALL open_a_fifo(void)
{
    char directory[PATH_MAX];

    make_fifo(directory);
    rip_snap(); /* STALL(fifo-open) */
    open(getenv("ZOO_FILE"), O_RDONLY);
}

ANIMAL_STALL open_a_fifo_nearby(void)
{
    char directory[PATH_MAX];
    const char *name = make_fifo(directory);

    if (chdir(directory) != 0)
        animal_fail("chdir");
    rip_snap(); /* STALL(fifo-nearby) */
    open(name, O_WRONLY);
}

ANIMAL_STALL open_a_fifo_below(void)
{
    char directory[PATH_MAX];
    const char *name = make_fifo(directory);
    int below = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (below < 0)
        animal_fail("open");
    rip_snap(); /* STALL(fifo-below) */
    openat(below, name, O_RDONLY);
}

static void hold_fifo(void *context)
{
    (void)context;
    if (open(getenv("ZOO_FILE"), O_RDWR | O_CLOEXEC) < 0)
        _exit(1);
}

ANIMAL_STALL read_an_empty_fifo(void)
{
    char directory[PATH_MAX];
    int fifo;

    make_fifo(directory);
    printf("peer %d\n", animal_companion(hold_fifo, NULL));
    fifo = open(getenv("ZOO_FILE"), O_RDONLY | O_CLOEXEC);
    rip_snap(); /* STALL(fifo-read) */
    if (read(fifo, &byte, 1) < 0)
        return;
}

const struct animal file_animals[] = {{"pipe-read", read_an_empty_pipe, 1},
                                      {"pipe-write", write_a_full_pipe, 1},
                                      {"pipe-own", write_to_itself, 1},
                                      {"pipe-reader", write_to_a_reader, 1},
                                      {"flock", wait_for_flock, 1},
                                      {"record-lock", wait_for_record, 1},
                                      {"fifo-open", open_a_fifo, 1},
                                      {"fifo-nearby", open_a_fifo_nearby, 1},
                                      {"fifo-below", open_a_fifo_below, 1},
                                      {"fifo-read", read_an_empty_fifo, 1},
                                      {NULL, NULL, 0}};
