/* SPDX-License-Identifier: Apache-2.0 */
/* fetch.c - a keeper that is asked for fetchers, and a question and its answer. See fetch.h. */
#include "probe/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/packet.h"
#include "probe/protocol.h"

struct blamed {
    uint32_t uid;
    uint64_t until_mono_ns; /* 0 = nobody */
};

/* A fetcher that has been given up: its end of the socket is closed when it is gone. */
struct leaving {
    int socket;
    uint32_t uid;
};

struct fetch {
    int keeper;
    int fetcher;           /* -1 = none */
    uint64_t next_mono_ns; /* before which no other is started */
    uint64_t number;
    struct blamed blamed[FETCH_BLAMED_MAX];
    size_t next_blamed;
    struct leaving leaving[FETCH_LEAVING_MAX];
    size_t leaving_count;
    pthread_mutex_t mutex; /* of the counters */
    struct fetch_counters counters;
};

/* Life ------------------------------------------------------------------------------------------------------------- */

int fetch_new(struct fetch **ret_fetch, int keeper)
{
    struct fetch *fetch = calloc(1, sizeof(*fetch));

    if (fetch == NULL) {
        close(keeper);
        return -ENOMEM;
    }
    fetch->keeper = keeper;
    fetch->fetcher = -1;
    pthread_mutex_init(&fetch->mutex, NULL);
    *ret_fetch = fetch;
    return 0;
}

void fetch_free(struct fetch *fetch)
{
    if (fetch == NULL)
        return;
    if (fetch->fetcher >= 0)
        close(fetch->fetcher);
    while (fetch->leaving_count != 0)
        close(fetch->leaving[--fetch->leaving_count].socket);
    close(fetch->keeper);
    pthread_mutex_destroy(&fetch->mutex);
    free(fetch);
}

static void count(struct fetch *fetch, uint64_t *counter)
{
    pthread_mutex_lock(&fetch->mutex);
    ++*counter;
    pthread_mutex_unlock(&fetch->mutex);
}

void fetch_count(struct fetch *fetch, struct fetch_counters *ret_counters)
{
    pthread_mutex_lock(&fetch->mutex);
    *ret_counters = fetch->counters;
    pthread_mutex_unlock(&fetch->mutex);
}

/* Fetchers --------------------------------------------------------------------------------------------------------- */

static bool is_readable(int socket)
{
    struct pollfd descriptor = {.fd = socket, .events = POLLIN};

    return poll(&descriptor, 1, 0) > 0;
}

/* Whatever is heard of one that was given up: it is gone, or able to notice that its socket is closed. */
static void forget_gone(struct fetch *fetch)
{
    size_t kept = 0;

    for (size_t i = 0; i < fetch->leaving_count; i++) {
        if (is_readable(fetch->leaving[i].socket))
            close(fetch->leaving[i].socket);
        else
            fetch->leaving[kept++] = fetch->leaving[i];
    }
    fetch->leaving_count = kept;
}

static bool is_blamed(struct fetch *fetch, uint32_t uid)
{
    uint64_t now_mono_ns = clock_mono_ns();

    forget_gone(fetch);
    for (size_t i = 0; i < fetch->leaving_count; i++)
        if (fetch->leaving[i].uid == uid)
            return true;
    for (size_t i = 0; i < FETCH_BLAMED_MAX; i++)
        if (fetch->blamed[i].uid == uid && now_mono_ns < fetch->blamed[i].until_mono_ns)
            return true;
    return false;
}

static void blame(struct fetch *fetch, uint32_t uid)
{
    fetch->blamed[fetch->next_blamed] = (struct blamed){uid, clock_mono_ns() + FETCH_BLAME_NS};
    fetch->next_blamed = (fetch->next_blamed + 1) % FETCH_BLAMED_MAX;
}

/* The fetcher has ended, or is given up, over a question about that user's process. */
static void drop_fetcher(struct fetch *fetch, uint32_t uid, int reason)
{
    if (reason == -ETIMEDOUT)
        fetch->leaving[fetch->leaving_count++] = (struct leaving){fetch->fetcher, uid}; /* have_fetcher() keeps room */
    else
        close(fetch->fetcher);
    fetch->fetcher = -1;
    if (reason == -ECANCELED)
        return; /* it has done nothing wrong */
    blame(fetch, uid);
    count(fetch, reason == -ETIMEDOUT ? &fetch->counters.hung_count : &fetch->counters.died_count);
}

static int start_fetcher(struct fetch *fetch)
{
    const struct probe_link message = {.kind = PROBE_FETCHER};
    int ends[2], result = packet_pair(ends);

    if (result != 0)
        return -EAGAIN;
    result = packet_send(fetch->keeper, &message, sizeof(message), ends[1], false);
    close(ends[1]);
    if (result != 0) {
        close(ends[0]);
        return result == -EPIPE ? -ENOTCONN : -EAGAIN;
    }
    fetch->fetcher = ends[0];
    fetch->next_mono_ns = clock_mono_ns() + FETCH_RESTART_NS;
    count(fetch, &fetch->counters.start_count);
    return 0;
}

static int have_fetcher(struct fetch *fetch)
{
    if (fetch->fetcher >= 0 && is_readable(fetch->fetcher)) { /* nothing was asked: this is its end, or nonsense */
        close(fetch->fetcher);
        fetch->fetcher = -1;
        count(fetch, &fetch->counters.died_count);
    }
    if (fetch->leaving_count == FETCH_LEAVING_MAX)
        return -EBUSY;
    if (fetch->fetcher >= 0)
        return 0;
    return clock_mono_ns() >= fetch->next_mono_ns ? start_fetcher(fetch) : -EAGAIN;
}

/* Asking ----------------------------------------------------------------------------------------------------------- */

/* 0: there is an answer; -ETIMEDOUT, -ECANCELED. */
static int await(const struct fetch *fetch, int cancel)
{
    uint64_t until_mono_ns = clock_mono_ns() + FETCH_PATIENCE_NS;

    for (;;) {
        uint64_t now_mono_ns = clock_mono_ns(), left_ns = until_mono_ns > now_mono_ns ? until_mono_ns - now_mono_ns : 0;
        struct timespec left = {(time_t)(left_ns / 1000000000), (long)(left_ns % 1000000000)};
        struct pollfd descriptors[] = {{.fd = fetch->fetcher, .events = POLLIN}, {.fd = cancel, .events = POLLIN}};
        int ready = ppoll(descriptors, 2, &left, NULL);

        if (ready > 0 && descriptors[1].revents != 0)
            return -ECANCELED;
        if (ready > 0)
            return 0;
        if (ready == 0 || errno != EINTR)
            return -ETIMEDOUT;
    }
}

static bool is_file_to_read(int descriptor)
{
    struct stat about;
    int flags = fcntl(descriptor, F_GETFL);

    return flags >= 0 && (flags & (O_ACCMODE | O_PATH)) == O_RDONLY && fstat(descriptor, &about) == 0 &&
           S_ISREG(about.st_mode);
}

/* 0 and what was told; -EPIPE: the fetcher has ended, or talks nonsense. */
static int receive(const struct fetch *fetch, const struct probe_fetch *question, int *ret_status, int *ret_file)
{
    struct probe_fetched fetched;
    int file = -1;
    ssize_t bytes = packet_receive(fetch->fetcher, &fetched, sizeof(fetched), false, &file);

    if (bytes < 0)
        return -EPIPE;
    if (probe_fetched_is_sound(&fetched, (size_t)bytes, question) && (fetched.status == 0) == (file >= 0) &&
        (file < 0 || is_file_to_read(file))) {
        *ret_status = fetched.status;
        *ret_file = file;
        return 0;
    }
    if (file >= 0)
        close(file);
    return -EPIPE;
}

static int ask(struct fetch *fetch, int ring, const struct fetch_query *wish, int cancel, int *ret_status,
               int *ret_file)
{
    const struct probe_fetch question = {
        .kind = PROBE_FETCH,
        .exact = wish->exact,
        .number = ++fetch->number,
        .start = wish->start,
        .process = wish->process,
    };
    int result = packet_send(fetch->fetcher, &question, sizeof(question), ring, false);

    if (result == 0)
        result = await(fetch, cancel);
    if (result == 0)
        result = receive(fetch, &question, ret_status, ret_file);
    return result == 0 || result == -ETIMEDOUT || result == -ECANCELED ? result : -EPIPE;
}

int fetch_file(struct fetch *fetch, int ring, const struct fetch_query *wish, int cancel)
{
    int result = is_blamed(fetch, wish->uid) ? -EBUSY : have_fetcher(fetch), status = 0, file = -1;

    if (result == 0) {
        result = ask(fetch, ring, wish, cancel, &status, &file);
        if (result != 0)
            drop_fetcher(fetch, wish->uid, result);
    }
    if (result != 0) {
        if (result != -EAGAIN && result != -ECANCELED)
            count(fetch, &fetch->counters.missed_count);
        return result;
    }
    count(fetch, status == 0 ? &fetch->counters.opened_count : &fetch->counters.refused_count);
    return status == 0 ? file : status;
}
