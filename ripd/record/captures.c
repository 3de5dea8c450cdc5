/* SPDX-License-Identifier: Apache-2.0 */
/*
 * captures.c - a queue between the scanner and the thread that writes. Touches the state directory.
 *
 * The lock is held for moments only, never while a file is touched.
 */
#include "record/captures.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/acl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/file.h"
#include "record/capture_shelf.h"

#define NAME_BYTES_MAX 100u /* of a ring's name that are kept */
#define NEW_NAME ".new"
#define NAMES_MAX 1000u /* tried for a second capture of a ring in the same millisecond */
#define SECOND_NS UINT64_C(1000000000)

struct entry {
    struct entry *next;
    uint32_t user;
    uint32_t owner;
    char name[NAME_BYTES_MAX + 1];
    uint64_t ended_wall_ns;
    bool replaced;
    struct capture capture;
};

struct captures {
    char *state_directory;
    pthread_t thread;
    pthread_mutex_t mutex; /* of all that follows */
    pthread_cond_t changed;
    struct entry *first;
    struct entry **last;
    size_t bytes;
    struct captures_state state;
    bool stopping;
    bool stopped;
};

/* Files ------------------------------------------------------------------------------------------------------------ */

/* Lets one more user in. Where the file system has no access lists, or the user is ours anyway, nothing changes. */
static void admit(int descriptor, uint32_t uid, const char *rights)
{
    char text[96];
    acl_t list;

    if (uid == geteuid())
        return;
    snprintf(text, sizeof(text), "u::rw%c,u:%u:%s,g::---,m::%s,o::---", rights[2], uid, rights, rights);
    list = acl_from_text(text);
    if (list == NULL)
        return;
    (void)acl_set_fd(descriptor, list);
    acl_free(list);
}

static int open_folder(int parent, const char *name, mode_t mode)
{
    int descriptor;

    if (mkdirat(parent, name, mode) != 0 && errno != EEXIST)
        return -errno;
    descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return descriptor >= 0 ? descriptor : -errno;
}

/* Made anew where somebody has removed it, as one who wants no captures of before may. */
static int open_captures(const struct captures *captures)
{
    int parent = file_open_directory(captures->state_directory), descriptor, result;

    if (parent < 0)
        return parent;
    descriptor = open_folder(parent, CAPTURES_FOLDER, 0711);
    close(parent);
    if (descriptor < 0)
        return descriptor;
    (void)fchmod(descriptor, 0711); /* whatever the umask; another user's folder is used as it is */
    if (faccessat(descriptor, ".", W_OK | X_OK, AT_EACCESS) == 0)
        return descriptor;
    result = -errno;
    close(descriptor);
    return result;
}

static int open_user(int parent, uint32_t user)
{
    char name[16];
    int descriptor;

    snprintf(name, sizeof(name), "%u", user);
    descriptor = open_folder(parent, name, 0700);
    if (descriptor >= 0)
        admit(descriptor, user, "r-x");
    return descriptor;
}

static int write_all(int descriptor, const unsigned char *bytes, size_t count)
{
    while (count != 0) {
        ssize_t written = write(descriptor, bytes, count);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -EIO;
        bytes += written;
        count -= (size_t)written;
    }
    return fsync(descriptor) == 0 ? 0 : -errno;
}

/* A name of its own for a file that is complete. */
static int publish(int folder, const struct entry *entry)
{
    const time_t seconds = (time_t)(entry->ended_wall_ns / SECOND_NS);
    const unsigned ms = (unsigned)(entry->ended_wall_ns % SECOND_NS / 1000000);
    const char *suffix = entry->replaced ? CAPTURES_REPLACED_SUFFIX : CAPTURES_SUFFIX;
    char name[NAME_BYTES_MAX + 96], number[16] = "";
    struct tm time;

    gmtime_r(&seconds, &time);
    for (unsigned i = 1; i <= NAMES_MAX; i++) {
        snprintf(name, sizeof(name), "%s-%04d%02d%02dT%02d%02d%02d.%03uZ%s%s", entry->name, time.tm_year + 1900,
                 time.tm_mon + 1, time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec, ms, number, suffix);
        if (renameat2(folder, NEW_NAME, folder, name, RENAME_NOREPLACE) == 0)
            return fsync(folder) == 0 ? 0 : -errno;
        if (errno != EEXIST)
            return -errno;
        snprintf(number, sizeof(number), "~%u", i + 1);
    }
    return -EEXIST;
}

static int write_file(int folder, const struct entry *entry, const void *bytes, size_t count)
{
    int descriptor, result;

    unlinkat(folder, NEW_NAME, 0);
    descriptor = openat(folder, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return -errno;
    admit(descriptor, entry->owner, "r--");
    result = write_all(descriptor, bytes, count);
    close(descriptor);
    if (result == 0)
        result = publish(folder, entry);
    if (result != 0)
        unlinkat(folder, NEW_NAME, 0);
    return result;
}

/* While the disk is full, older captures give way, of any user. */
static int write_packed(int directory, int folder, const struct entry *entry)
{
    unsigned gone = 0;
    void *bytes = NULL;
    size_t count;
    int result = capture_pack(&entry->capture, &bytes, &count);

    if (result != 0)
        return result;
    do
        result = write_file(folder, entry, bytes, count);
    while (result == -ENOSPC && gone++ < CAPTURES_OF_USER && capture_shelf_give_way(directory));
    free(bytes);
    return result;
}

static int write_entry(const struct captures *captures, const struct entry *entry)
{
    int directory = open_captures(captures), folder, result;

    if (directory < 0)
        return directory;
    folder = result = open_user(directory, entry->user);
    if (folder >= 0) {
        result = write_packed(directory, folder, entry);
        capture_shelf_trim(folder, clock_wall_ns());
        close(folder);
        capture_shelf_trim_all(directory);
    }
    close(directory);
    return result;
}

/* The queue -------------------------------------------------------------------------------------------------------- */

static void entry_free(struct entry *entry)
{
    capture_done(&entry->capture);
    free(entry);
}

/* The lock is held. */
static struct entry *take_entry(struct captures *captures)
{
    struct entry *entry = captures->first;

    if (entry == NULL)
        return NULL;
    captures->first = entry->next;
    if (captures->first == NULL)
        captures->last = &captures->first;
    return entry;
}

static void *run(void *context)
{
    struct captures *captures = context;
    struct entry *entry;

    pthread_mutex_lock(&captures->mutex);
    for (;;) {
        size_t bytes;
        int result;

        while ((entry = take_entry(captures)) == NULL && !captures->stopping)
            pthread_cond_wait(&captures->changed, &captures->mutex);
        if (entry == NULL)
            break;
        pthread_mutex_unlock(&captures->mutex);
        result = write_entry(captures, entry);
        bytes = entry->capture.document_bytes + entry->capture.ring_bytes;
        entry_free(entry);
        pthread_mutex_lock(&captures->mutex);
        captures->bytes -= bytes;
        captures->state.error = result;
        captures->state.written_count += result == 0;
        captures->state.failed_count += result != 0;
    }
    captures->stopped = true;
    pthread_cond_broadcast(&captures->changed);
    pthread_mutex_unlock(&captures->mutex);
    return NULL;
}

/* What is no plain letter of a file name becomes '_'. */
static void copy_name(char target[NAME_BYTES_MAX + 1], const char *name)
{
    size_t i;

    for (i = 0; name[i] != '\0' && i < NAME_BYTES_MAX; i++) {
        const char c = name[i];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                           c == '_' || (c == '.' && i != 0);

        target[i] = plain ? c : '_';
    }
    target[i] = '\0';
}

bool captures_add(struct captures *captures, const struct capture_label *label, struct capture *capture)
{
    const size_t bytes = capture->document_bytes + capture->ring_bytes;
    struct entry *entry = calloc(1, sizeof(*entry));
    bool has_room;

    pthread_mutex_lock(&captures->mutex);
    has_room = entry != NULL && bytes <= CAPTURES_QUEUE_BYTES - captures->bytes;
    if (has_room) {
        *entry = (struct entry){.user = label->user,
                                .owner = label->owner,
                                .ended_wall_ns = label->ended_wall_ns,
                                .replaced = label->replaced,
                                .capture = *capture};
        copy_name(entry->name, label->name);
        captures->bytes += bytes;
        *captures->last = entry;
        captures->last = &entry->next;
        pthread_cond_broadcast(&captures->changed);
    } else {
        captures->state.failed_count++;
    }
    pthread_mutex_unlock(&captures->mutex);
    if (has_room) {
        *capture = (struct capture){0};
        return true;
    }
    free(entry);
    capture_done(capture);
    return false;
}

void captures_state(struct captures *captures, struct captures_state *ret_state)
{
    pthread_mutex_lock(&captures->mutex);
    *ret_state = captures->state;
    pthread_mutex_unlock(&captures->mutex);
}

/* Life ------------------------------------------------------------------------------------------------------------- */

static void captures_free(struct captures *captures)
{
    struct entry *entry;

    while ((entry = take_entry(captures)) != NULL)
        entry_free(entry);
    pthread_cond_destroy(&captures->changed);
    pthread_mutex_destroy(&captures->mutex);
    free(captures->state_directory);
    free(captures);
}

/* Whether captures can be written now; else why not, in one line. */
static void check(const struct captures *captures, char **ret_problem)
{
    const int directory = open_captures(captures);

    *ret_problem = NULL;
    if (directory >= 0)
        close(directory);
    else if (asprintf(ret_problem, "state directory '%s': %s: %s", captures->state_directory, CAPTURES_FOLDER,
                      strerror(-directory)) < 0)
        *ret_problem = NULL;
}

int captures_open(struct captures **ret_captures, const char *state_directory, char **ret_problem)
{
    struct captures *captures = calloc(1, sizeof(*captures));
    int error;

    if (captures == NULL)
        return -ENOMEM;
    captures->state_directory = strdup(state_directory);
    if (captures->state_directory == NULL) {
        free(captures);
        return -ENOMEM;
    }
    captures->last = &captures->first;
    pthread_mutex_init(&captures->mutex, NULL);
    pthread_cond_init(&captures->changed, NULL);
    error = -pthread_create(&captures->thread, NULL, run, captures);
    if (error != 0) {
        captures_free(captures);
        return error;
    }
    check(captures, ret_problem);
    *ret_captures = captures;
    return 0;
}

void captures_close(struct captures *captures)
{
    const uint64_t until_ns = clock_wall_ns() + CAPTURES_CLOSE_NS;
    const struct timespec until = clock_timespec(until_ns);
    bool stopped;
    int error = 0;

    if (captures == NULL)
        return;
    pthread_mutex_lock(&captures->mutex);
    captures->stopping = true;
    pthread_cond_broadcast(&captures->changed);
    while (!captures->stopped && error == 0)
        error = pthread_cond_timedwait(&captures->changed, &captures->mutex, &until);
    stopped = captures->stopped;
    pthread_mutex_unlock(&captures->mutex);
    if (!stopped)
        return; /* the disk hangs: the thread keeps what it uses, and goes with the process */
    pthread_join(captures->thread, NULL);
    captures_free(captures);
}
