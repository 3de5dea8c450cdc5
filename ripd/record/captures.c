/* SPDX-License-Identifier: Apache-2.0 */
/* captures.c - capture files, written as jobs of a writer. Touches the state directory. */
#include "record/captures.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/acl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/file.h"
#include "record/writer.h"
#include "util/array.h"
#include "util/search.h"

#define FILES_MAX 65536u    /* files read in a folder */
#define NAME_BYTES_MAX 100u /* of a ring's name in a file name */
#define NEW_NAME ".new"
#define NAMES_MAX 1000u /* file names tried if captures of a ring have the same millisecond */
#define SECOND_NS UINT64_C(1000000000)

struct entry {
    struct writer_job job;
    struct capture_label label;    /* the name in it is not valid here: see name */
    char name[NAME_BYTES_MAX + 1]; /* name of the ring, as part of a file name */
    struct capture capture;
};

struct captures {
    char *state_directory;
    struct writer writer;
    struct captures_state state; /* protected by the writer's mutex */
};

/* Retention -------------------------------------------------------------------------------------------------------- */

/*
 * See captures.h, C. Files that are not captures by type, name or folder are left alone. A failure to remove a file is
 * not an error: the next capture tries again.
 */
struct kept_file {
    char *path; /* UID/NAME */
    uint64_t bytes;
    uint64_t written_wall_ns;
};

/* The folder of a user. */
struct user_folder {
    char *name;
    struct kept_file *files; /* newest first */
    size_t count;
    size_t capacity;
    uint64_t bytes;
};

struct user_folders {
    int directory;
    struct user_folder *users; /* the last one is being read */
    size_t count;
    size_t capacity;
    size_t file_count;
    uint64_t bytes;
};

static bool ends_in(const char *name, const char *suffix)
{
    const size_t length = strlen(name), suffix_length = strlen(suffix);

    return length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

static int add_file(void *context, const char *name)
{
    struct user_folders *all = context;
    struct user_folder *user = &all->users[all->count - 1];
    struct stat status;
    char *path;

    if (!ends_in(name, CAPTURES_SUFFIX) || asprintf(&path, "%s/%s", user->name, name) < 0)
        return 0;
    if (fstatat(all->directory, path, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) ||
        !ARRAY_GROW(user->files, user->count, user->capacity)) {
        free(path);
        return 0;
    }
    user->files[user->count++] = (struct kept_file){
        .path = path,
        .bytes = (uint64_t)status.st_size,
        .written_wall_ns = (uint64_t)status.st_mtim.tv_sec * SECOND_NS + (uint64_t)status.st_mtim.tv_nsec,
    };
    user->bytes += (uint64_t)status.st_size;
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct kept_file *a = left, *b = right;

    return search_order_then(search_order(b->written_wall_ns, a->written_wall_ns), strcmp(b->path, a->path));
}

static int add_user(void *context, const char *name)
{
    struct user_folders *all = context;
    struct user_folder *user;
    int folder;

    if (name[strspn(name, "0123456789")] != '\0') /* not the folder of a user */
        return 0;
    folder = openat(all->directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return 0;
    if (ARRAY_GROW(all->users, all->count, all->capacity)) {
        user = &all->users[all->count++];
        *user = (struct user_folder){.name = strdup(name)};
        if (user->name != NULL)
            (void)file_list(folder, FILES_MAX, add_file, all);
        if (user->count != 0)
            qsort(user->files, user->count, sizeof(*user->files), compare);
        all->file_count += user->count;
        all->bytes += user->bytes;
    }
    close(folder);
    return 0;
}

static void remove_file(struct user_folders *all, struct user_folder *user, size_t index)
{
    struct kept_file *file = &user->files[index];

    unlinkat(all->directory, file->path, 0);
    user->bytes -= file->bytes;
    all->bytes -= file->bytes;
    all->file_count--;
    free(file->path);
    ARRAY_CLOSE(user->files, user->count, index);
}

/* Removes captures that exceed the limits of one user. */
static void trim_user(struct user_folders *all, struct user_folder *user, uint64_t now_wall_ns)
{
    size_t replaced = 0;
    uint64_t bytes = 0;

    for (size_t i = 0; i < user->count;) {
        const struct kept_file *file = &user->files[i];
        const bool is_replaced = ends_in(file->path, CAPTURES_REPLACED_SUFFIX);
        const bool is_old =
            file->written_wall_ns < now_wall_ns && now_wall_ns - file->written_wall_ns > CAPTURES_AGE_NS;

        if (is_old || i == CAPTURES_OF_USER || bytes + file->bytes > CAPTURES_OF_USER_BYTES ||
            (is_replaced && replaced == CAPTURES_REPLACED)) {
            remove_file(all, user, i);
            continue;
        }
        replaced += is_replaced;
        bytes += file->bytes;
        i++;
    }
}

/* Removes the oldest capture of the user with most bytes. Returns false if there is none. */
static bool remove_from_largest(struct user_folders *all)
{
    struct user_folder *largest = NULL;

    for (size_t i = 0; i < all->count; i++)
        if (all->users[i].count != 0 && (largest == NULL || all->users[i].bytes > largest->bytes))
            largest = &all->users[i];
    if (largest != NULL)
        remove_file(all, largest, largest->count - 1);
    return largest != NULL;
}

/*
 * Removes captures that exceed the limits, and empty folders; if the disk is full, at least one capture. Returns false
 * if none was removed for a full disk.
 */
static bool trim(int directory, bool is_full)
{
    const uint64_t now_wall_ns = clock_wall_ns();
    struct user_folders all = {.directory = directory};
    bool removed;

    (void)file_list(directory, FILES_MAX, add_user, &all);
    removed = is_full && remove_from_largest(&all);
    for (size_t i = 0; i < all.count; i++)
        trim_user(&all, &all.users[i], now_wall_ns);
    while ((all.file_count > CAPTURES_OF_ALL || all.bytes > CAPTURES_OF_ALL_BYTES) && remove_from_largest(&all))
        continue;
    for (size_t i = 0; i < all.count; i++) {
        struct user_folder *user = &all.users[i];

        if (user->count == 0 && user->name != NULL && !is_full) /* the folder being written to must stay */
            (void)unlinkat(directory, user->name, AT_REMOVEDIR);
        for (size_t j = 0; j < user->count; j++)
            free(user->files[j].path);
        free(user->files);
        free(user->name);
    }
    free(all.users);
    return removed;
}

/* Files ------------------------------------------------------------------------------------------------------------ */

/* Grants one more user access. Does nothing for ripd's own user, or if the file system has no ACLs. */
static void grant_access(int descriptor, uint32_t uid, const char *rights)
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

/* Recreates the folder if it was removed, which is how an administrator drops all captures. */
static int open_captures(const struct captures *captures)
{
    int parent = file_open_directory(captures->state_directory), descriptor, result;

    if (parent < 0)
        return parent;
    descriptor = open_folder(parent, CAPTURES_FOLDER, 0711);
    close(parent);
    if (descriptor < 0)
        return descriptor;
    (void)fchmod(descriptor, 0711); /* regardless of the umask; a folder of another user is used as it is */
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
        grant_access(descriptor, user, "r-x");
    return descriptor;
}

/* Gives a complete file its final, unique name. */
static int publish(int folder, const struct entry *entry)
{
    const time_t seconds = (time_t)(entry->label.ended_wall_ns / SECOND_NS);
    const unsigned ms = (unsigned)(entry->label.ended_wall_ns % SECOND_NS / 1000000);
    const char *suffix = entry->label.replaced ? CAPTURES_REPLACED_SUFFIX : CAPTURES_SUFFIX;
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
    size_t written;

    unlinkat(folder, NEW_NAME, 0);
    descriptor = openat(folder, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return -errno;
    grant_access(descriptor, entry->label.owner, "r--");
    result = file_write(descriptor, bytes, count, &written);
    if (result == 0 && fsync(descriptor) != 0)
        result = -errno;
    close(descriptor);
    if (result == 0)
        result = publish(folder, entry);
    if (result != 0)
        unlinkat(folder, NEW_NAME, 0);
    return result;
}

/* While the disk is full, removes older captures of any user. */
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
    while (result == -ENOSPC && gone++ < CAPTURES_OF_USER && trim(directory, true));
    free(bytes);
    return result;
}

static int write_entry(const struct captures *captures, const struct entry *entry)
{
    int directory = open_captures(captures), folder, result;

    if (directory < 0)
        return directory;
    folder = result = open_user(directory, entry->label.user);
    if (folder >= 0) {
        result = write_packed(directory, folder, entry);
        close(folder);
        (void)trim(directory, false);
    }
    close(directory);
    return result;
}

/* The queue -------------------------------------------------------------------------------------------------------- */

static bool write_job(void *context, struct writer_job *job)
{
    struct captures *captures = context;
    struct entry *entry = (struct entry *)(void *)job;
    int result;

    if (entry == NULL)
        return true;
    result = write_entry(captures, entry);
    capture_done(&entry->capture);
    free(entry);
    pthread_mutex_lock(&captures->writer.mutex);
    captures->state.error = result;
    captures->state.written_count += result == 0;
    captures->state.failed_count += result != 0;
    pthread_mutex_unlock(&captures->writer.mutex);
    return true;
}

/* Replaces bytes that are not plain in a file name by '_'. */
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
    struct entry *entry = calloc(1, sizeof(*entry));
    bool added;

    if (entry != NULL) {
        *entry = (struct entry){
            .job.bytes = capture->document_bytes + capture->ring_bytes, .label = *label, .capture = *capture};
        copy_name(entry->name, label->name);
    }
    pthread_mutex_lock(&captures->writer.mutex);
    added = entry != NULL && writer_add(&captures->writer, &entry->job);
    captures->state.failed_count += !added;
    pthread_mutex_unlock(&captures->writer.mutex);
    if (!added) {
        free(entry);
        capture_done(capture);
    }
    *capture = (struct capture){0};
    return added;
}

void captures_state(struct captures *captures, struct captures_state *ret_state)
{
    pthread_mutex_lock(&captures->writer.mutex);
    *ret_state = captures->state;
    pthread_mutex_unlock(&captures->writer.mutex);
}

/* Open and close --------------------------------------------------------------------------------------------------- */

static void captures_free(struct captures *captures)
{
    free(captures->state_directory);
    free(captures);
}

/* Sets *ret_problem to one line if captures cannot be written now, otherwise to NULL. */
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
    const struct writer_options options = {.context = captures, .bytes_max = CAPTURES_QUEUE_BYTES, .write = write_job};
    int error = -ENOMEM;

    if (captures == NULL)
        return error;
    captures->state_directory = strdup(state_directory);
    if (captures->state_directory != NULL)
        error = writer_open(&captures->writer, &options);
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
    if (captures != NULL && writer_close(&captures->writer, CAPTURES_CLOSE_NS))
        captures_free(captures);
}
