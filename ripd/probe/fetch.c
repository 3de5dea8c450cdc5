/* SPDX-License-Identifier: Apache-2.0 */
/* fetch.c - sends queries to the fetcher and checks its answers. See fetch.h. */
#include "probe/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/child.h"
#include "probe/protocol.h"

struct fetch {
    struct child *child;
    int keeper;
    uint64_t number;
    _Atomic uint64_t opened_count, refused_count, missed_count; /* relaxed: counters only */
};

int fetch_new(struct fetch **ret_fetch, int keeper)
{
    const struct child_options options = {
        .keeper = keeper,
        .request = PROBE_FETCHER,
        .restart_ns = FETCH_RESTART_NS,
        .pause_ns = FETCH_PAUSE_NS,
        .user_ends = 1,
    };
    struct fetch *fetch = calloc(1, sizeof(*fetch));

    if (fetch == NULL || child_new(&fetch->child, &options) != 0) {
        free(fetch);
        close(keeper);
        return -ENOMEM;
    }
    fetch->keeper = keeper;
    *ret_fetch = fetch;
    return 0;
}

void fetch_free(struct fetch *fetch)
{
    if (fetch == NULL)
        return;
    child_free(fetch->child);
    close(fetch->keeper);
    free(fetch);
}

static void count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

void fetch_count(const struct fetch *fetch, struct fetch_counters *ret_counters)
{
    struct child_counters counters;

    child_count(fetch->child, &counters);
    *ret_counters = (struct fetch_counters){
        .opened_count = atomic_load_explicit(&fetch->opened_count, memory_order_relaxed),
        .refused_count = atomic_load_explicit(&fetch->refused_count, memory_order_relaxed),
        .missed_count = atomic_load_explicit(&fetch->missed_count, memory_order_relaxed),
        .start_count = counters.start_count,
        .died_count = child_died_count(&counters),
        .hung_count = counters.end_counts[CHILD_HUNG],
    };
}

static bool is_file_to_read(int descriptor)
{
    struct stat about;
    int flags = fcntl(descriptor, F_GETFL);

    return flags >= 0 && (flags & (O_ACCMODE | O_PATH)) == O_RDONLY && fstat(descriptor, &about) == 0 &&
           S_ISREG(about.st_mode);
}

/* A lack of memory or descriptors, here or in the fetcher, says nothing about the file. */
static bool is_shortage(int error)
{
    return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EINTR;
}

/* Returns a descriptor, or the fetcher's -errno. -EAGAIN and -EBUSY say nothing about the file. */
static int ask(struct fetch *fetch, int ring, const struct fetch_query *query, int cancel)
{
    const struct probe_fetch message = {
        .kind = PROBE_FETCH,
        .exact = query->exact,
        .number = ++fetch->number,
        .start = query->start,
        .process = query->process,
    };
    struct probe_fetched answer;
    int file = -1;
    ssize_t bytes = child_ask(fetch->child,
                              &(struct child_query){
                                  .bytes = &message,
                                  .count = sizeof(message),
                                  .descriptor = ring,
                                  .user = query->uid,
                                  .wait = {.limit_ns = FETCH_LIMIT_NS, .cancel = cancel},
                              },
                              &answer, sizeof(answer), &file);

    if (bytes < 0)
        return bytes == -ECANCELED ? -ECANCELED : bytes == -EMFILE ? -EAGAIN : -EBUSY;
    if (probe_fetched_is_sound(&answer, (size_t)bytes, &message) && (answer.status == 0) == (file >= 0) &&
        (file < 0 || is_file_to_read(file)))
        return file >= 0 ? file : is_shortage(answer.status) ? -EAGAIN : answer.status;
    if (file >= 0)
        close(file);
    child_drop(fetch->child, CHILD_NONSENSE, query->uid, 0);
    return -EBUSY;
}

int fetch_file(struct fetch *fetch, int ring, const struct fetch_query *query, int cancel)
{
    int result;

    child_check(fetch->child);
    result = child_is_blamed(fetch->child, query->uid, 0) ? -EBUSY : child_start(fetch->child, cancel);
    if (result == 0)
        result = ask(fetch, ring, query, cancel);
    else if (is_shortage(result))
        result = -EAGAIN;
    if (result == -EAGAIN || result == -ECANCELED)
        return result;
    count(result >= 0                               ? &fetch->opened_count
          : result == -EBUSY || result == -ENOTCONN ? &fetch->missed_count
                                                    : &fetch->refused_count);
    return result == -EBUSY ? -EAGAIN : result;
}
