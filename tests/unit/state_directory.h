/* SPDX-License-Identifier: Apache-2.0 */
/* state_directory.h - a state directory for a test, and the contents of its files. */
#ifndef TESTS_UNIT_STATE_DIRECTORY_H
#define TESTS_UNIT_STATE_DIRECTORY_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/event_file.h"

struct state_directory {
    char path[64];
    char file[128]; /* path of a file, see state_path() */
};

static inline int state_directory_set_up(void **state)
{
    struct state_directory *directory = calloc(1, sizeof(*directory));

    strcpy(directory->path, "/dev/shm/rip-history-XXXXXX");
    if (mkdtemp(directory->path) == NULL)
        return -1;
    *state = directory;
    return 0;
}

static inline int state_directory_tear_down(void **state)
{
    struct state_directory *directory = *state;
    char command[128];

    snprintf(command, sizeof(command), "rm -rf '%s'", directory->path);
    free(directory);
    return system(command);
}

static inline const char *state_path(struct state_directory *directory, const char *name)
{
    snprintf(directory->file, sizeof(directory->file), "%s/%s", directory->path, name);
    return directory->file;
}

static inline void state_write(struct state_directory *directory, const char *name, const char *text, size_t length)
{
    int descriptor = open(state_path(directory, name), O_WRONLY | O_CREAT | O_TRUNC, 0640);

    if (descriptor < 0 || write(descriptor, text, length) != (ssize_t)length)
        abort();
    close(descriptor);
}

/* Returns the text of a file, which the caller frees, or NULL if there is no such file. */
static inline char *state_read(struct state_directory *directory, const char *name)
{
    int descriptor = open(state_path(directory, name), O_RDONLY);
    struct stat status;
    char *text;

    if (descriptor < 0)
        return NULL;
    if (fstat(descriptor, &status) != 0)
        abort();
    text = malloc((size_t)status.st_size + 1);
    if (read(descriptor, text, (size_t)status.st_size) != status.st_size)
        abort();
    text[status.st_size] = '\0';
    close(descriptor);
    return text;
}

#endif
