/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mailbox.c - what other threads hand over: snapshots, events, answers to questions, host names, and that it is
 * time to stop.
 *
 * Guarantees
 *   A. Whoever puts something in never waits for the HTTP thread, and what lies here is bounded: one snapshot, one list
 *      of names, as many events as are kept anyway, and the answers to the questions that were asked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "net/server.h"

int mailbox_open(struct mailbox *mailbox)
{
    mailbox->descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (mailbox->descriptor < 0)
        return -errno;
    mailbox->completions = calloc(HTTP_ASKED_MAX, sizeof(*mailbox->completions));
    if (mailbox->completions == NULL)
        return -ENOMEM;
    mailbox->completion_capacity = HTTP_ASKED_MAX;
    return 0;
}

void mailbox_init(struct mailbox *mailbox)
{
    mailbox->descriptor = -1;
    pthread_mutex_init(&mailbox->mutex, NULL);
}

void mailbox_done(struct mailbox *mailbox)
{
    snapshot_unref(mailbox->snapshot);
    event_store_done(&mailbox->events);
    hosts_done(&mailbox->hosts);
    for (size_t i = 0; i < mailbox->completion_count; i++)
        page_unref(mailbox->completions[i].page);
    free(mailbox->completions);
    if (mailbox->descriptor >= 0)
        close(mailbox->descriptor);
    pthread_mutex_destroy(&mailbox->mutex);
}

void mailbox_wake(struct mailbox *mailbox)
{
    (void)eventfd_write(mailbox->descriptor, 1); /* fails only when the thread is awake anyway */
}

/* Takes the first that may be taken now. */
static bool take_completion(struct mailbox *mailbox, size_t items_max, struct completion *ret_completion)
{
    for (size_t i = 0; i < mailbox->completion_count; i++) {
        const struct page *page = mailbox->completions[i].page;

        if (page != NULL && page->count > items_max)
            continue;
        *ret_completion = mailbox->completions[i];
        memmove(&mailbox->completions[i], &mailbox->completions[i + 1],
                (--mailbox->completion_count - i) * sizeof(*mailbox->completions));
        return true;
    }
    return false;
}

void mailbox_take(struct mailbox *mailbox, size_t items_max, struct mail *ret_mail)
{
    struct mail mail = {0};

    pthread_mutex_lock(&mailbox->mutex);
    mail.snapshot = mailbox->snapshot;
    mailbox->snapshot = NULL;
    mail.hosts = mailbox->hosts;
    mailbox->hosts = (struct hosts){NULL, 0};
    mail.events = mailbox->events;
    mailbox->events = (struct event_store){.newest_sequence = mail.events.newest_sequence};
    mail.found = take_completion(mailbox, items_max, &mail.completion);
    mail.stop = mailbox->stop;
    pthread_mutex_unlock(&mailbox->mutex);
    *ret_mail = mail;
}

void http_publish(struct http *http, struct snapshot *snapshot)
{
    struct snapshot *replaced;

    snapshot_ref(snapshot);
    pthread_mutex_lock(&http->mailbox.mutex);
    replaced = http->mailbox.snapshot;
    http->mailbox.snapshot = snapshot;
    pthread_mutex_unlock(&http->mailbox.mutex);
    snapshot_unref(replaced);
    mailbox_wake(&http->mailbox);
}

void http_publish_event(struct http *http, struct event *event)
{
    event_ref(event);
    pthread_mutex_lock(&http->mailbox.mutex);
    (void)event_store_add(&http->mailbox.events, event); /* without memory it is missing, and streams say so */
    pthread_mutex_unlock(&http->mailbox.mutex);
    mailbox_wake(&http->mailbox);
}

int http_allow_hosts(struct http *http, const char *const *names, size_t count)
{
    const char *wrong;
    struct hosts hosts, replaced;
    int status = hosts_copy(&hosts, names, count, &wrong);

    if (status < 0)
        return status;
    pthread_mutex_lock(&http->mailbox.mutex);
    replaced = http->mailbox.hosts;
    http->mailbox.hosts = hosts;
    pthread_mutex_unlock(&http->mailbox.mutex);
    hosts_done(&replaced);
    mailbox_wake(&http->mailbox);
    return 0;
}

void http_complete(struct http *http, uint64_t ticket, struct page *page)
{
    struct mailbox *mailbox = &http->mailbox;
    bool kept = false;

    pthread_mutex_lock(&mailbox->mutex);
    if (mailbox->completion_count == mailbox->completion_capacity) {
        size_t capacity = mailbox->completion_capacity * 2;
        struct completion *larger = realloc(mailbox->completions, capacity * sizeof(*larger));

        if (larger != NULL) {
            mailbox->completions = larger;
            mailbox->completion_capacity = capacity;
        }
    }
    if (mailbox->completion_count < mailbox->completion_capacity) {
        mailbox->completions[mailbox->completion_count++] = (struct completion){ticket, page};
        kept = true;
    }
    pthread_mutex_unlock(&mailbox->mutex);
    if (!kept)
        page_unref(page); /* no memory: the question runs into its time limit */
    mailbox_wake(mailbox);
}

void http_stop(struct http *http)
{
    if (!http->started)
        return;
    pthread_mutex_lock(&http->mailbox.mutex);
    http->mailbox.stop = true;
    pthread_mutex_unlock(&http->mailbox.mutex);
    mailbox_wake(&http->mailbox);
    pthread_join(http->thread, NULL);
    http->started = false;
}
