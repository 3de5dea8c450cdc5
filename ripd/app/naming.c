/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming.c - which queries go to the symbolizer, and how long a scan or a page waits for the answers.
 *
 * Queries for locations come before those for trails, because a begin event carries the name of its location.
 */
#include "app/naming.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "app/log.h"
#include "cases/waits.h"
#include "os/clock.h"
#include "os/packet.h"
#include "os/spawn.h"
#include "util/array.h"
#include "util/time_limit.h"

#define ANSWER_NS UINT64_C(20000000000) /* gigabytes of debug information take seconds the first time */
#define STILL_NS UINT64_C(5000000000)   /* limit without use of processor time */
#define RESTART_NS UINT64_C(1000000000)
#define INTERVAL_DIVISOR 20u

static void on_idle(void *context)
{
    struct naming *naming = context;

    (void)eventfd_write(naming->descriptor, 1); /* fails only if it is readable already */
}

/* Called on the names thread. */
static int on_fetch(void *context, struct lease *ring, const struct process_facts *process,
                    const struct module_facts *module, int cancel)
{
    const struct naming *naming = context;
    const struct fetch_query query = {
        .uid = module->uid,
        .process = process->index,
        .start = module->start,
        .exact = module->build_id[0] == '\0',
    };
    int descriptor = lease_duplicate(ring), result;

    if (descriptor < 0)
        return descriptor;
    result = fetch_file(naming->fetch, descriptor, &query, cancel);
    close(descriptor);
    return result;
}

static const char *text_of(const struct symbols_trouble *trouble)
{
    return trouble->error == 0 ? child_end_name(trouble->end) : strerror(-trouble->error);
}

/* Called on the names thread. */
static void on_trouble(void *context, const struct symbols_trouble *trouble)
{
    struct naming *naming = context;
    char quoted[LOG_QUOTED_BYTES];

    if (!report_budget_take(&naming->budget, clock_mono_ns(), "ends of symbolizers"))
        return;
    if (trouble->error != 0)
        log_line(LOG_LEVEL_ERROR, "symbolizer cannot be started, functions and lines stay unknown: %s",
                 text_of(trouble));
    else if (trouble->path == NULL)
        log_line(LOG_LEVEL_WARNING, "symbolizer ended, it is restarted when needed: reason=%s", text_of(trouble));
    else
        log_line(LOG_LEVEL_WARNING, "symbolizer ended: reason=%s file=%s file_is_tried_again=%s", text_of(trouble),
                 log_quote_text(trouble->path, quoted), trouble->given_up ? "no" : "yes");
}

void naming_open(struct naming *ret_naming, struct registry *registry, struct fetch *fetch,
                 const struct hash_key *hash_key, const struct uid_range *ranges, size_t range_count)
{
    char program[PATH_MAX];
    struct symbols_options options = {
        .program = program,
        .answer_ns = ANSWER_NS,
        .still_ns = STILL_NS,
        .restart_ns = RESTART_NS,
        .hash_key = *hash_key,
        .ranges = ranges,
        .range_count = range_count,
        .fetch = fetch != NULL ? on_fetch : NULL,
        .idle = on_idle,
        .trouble = on_trouble,
        .context = ret_naming,
    };
    int error;

    *ret_naming = (struct naming){.registry = registry, .fetch = fetch, .descriptor = -1};
    report_budget_init(&ret_naming->budget, clock_mono_ns());
    if (spawn_find("ripd-symbolizer", RIPD_LIBEXEC_FROM_SBIN, program, sizeof(program)) != 0) {
        log_line(LOG_LEVEL_WARNING, "ripd-symbolizer not found: functions and lines stay unknown");
        return;
    }
    ret_naming->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    error = ret_naming->descriptor < 0 ? -errno : symbols_new(&ret_naming->symbols, &options);
    if (error != 0)
        log_line(LOG_LEVEL_WARNING, "no symbolizer, functions and lines stay unknown: %s", strerror(-error));
}

void naming_close(struct naming *naming)
{
    symbols_free(naming->symbols);
    naming->symbols = NULL;
    while (naming->held_count != 0)
        page_unref(naming->held[--naming->held_count].page);
    if (naming->descriptor >= 0)
        close(naming->descriptor);
    naming->descriptor = -1;
}

/* Queries ---------------------------------------------------------------------------------------------------------- */

enum asked { ASKED_SETTLED, ASKED_WAITING, ASKED_REFUSED };

static enum asked ask(struct naming *naming, const struct item *item, struct module_facts *module, uint64_t offset)
{
    struct process_facts *process = item == NULL ? NULL : item->process;
    struct lease *ring;

    if (module->is_scripts || symbol_table_find(&module->symbols, offset) != NULL)
        return ASKED_SETTLED;
    ring = item == NULL || naming->fetch == NULL ? NULL : registry_lease(naming->registry, item->ring);
    if (symbols_want(naming->symbols, ring, process, module, offset))
        return ASKED_WAITING;
    if (symbol_table_find(&module->symbols, offset) != NULL || symbol_table_is_full(&module->symbols))
        return ASKED_SETTLED;
    return ASKED_REFUSED;
}

static enum asked ask_entry(struct naming *naming, const struct item *item, size_t entry)
{
    struct module_facts *module =
        item->process == NULL ? NULL : process_facts_module(item->process, item->entries[entry].address);

    if (module == NULL)
        return ASKED_SETTLED;
    return ask(naming, item, module, item->entries[entry].address - module->bias);
}

/*
 * Asks for the names of the item's trail. Returns true if answers are pending. *ret_refused is true if a query was
 * refused; then the rest was not tried, because the reason is the user's quota or the symbolizer.
 */
static bool ask_trail(struct naming *naming, const struct item *item, bool *ret_refused)
{
    bool waiting = false;

    *ret_refused = false;
    for (size_t i = 0; i < item->entry_count && !*ret_refused; i++) {
        enum asked asked = ask_entry(naming, item, i);

        waiting = waiting || asked == ASKED_WAITING;
        *ret_refused = asked == ASKED_REFUSED;
    }
    return waiting;
}

/* Waits until no query is pending, or until the timeout. */
static void wait_idle(struct naming *naming, uint64_t limit_ns)
{
    uint64_t until_ns = clock_mono_ns() + limit_ns;
    eventfd_t value;

    while (!symbols_are_idle(naming->symbols)) {
        if (!packet_await(naming->descriptor, until_ns))
            return;
        (void)eventfd_read(naming->descriptor, &value);
    }
}

void naming_cases(struct naming *naming, const struct cases *cases, const struct snapshot *snapshot)
{
    uint64_t limit_ns = snapshot->interval_ns / INTERVAL_DIVISOR;
    bool waiting = false, refused;
    size_t count;
    struct stall_case *const *stalls = cases_all(cases, &count);

    if (naming->symbols == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        if (stalls[i]->item != NULL && !stalls[i]->names_asked && stalls[i]->item->entry_count != 0)
            waiting = ask_entry(naming, stalls[i]->item, 0) == ASKED_WAITING || waiting;
    for (size_t i = 0; snapshot->waits != NULL && i < snapshot->waits->count; i++) {
        const struct item *item = snapshot->waits->nodes[i].item;

        if (item != NULL && item->entry_count != 0)
            waiting = ask_entry(naming, item, 0) == ASKED_WAITING || waiting;
    }
    if (waiting)
        wait_idle(naming, limit_ns < NAMING_STALLS_NS ? limit_ns : NAMING_STALLS_NS);
    for (size_t i = 0; i < count; i++) {
        if (stalls[i]->item == NULL || stalls[i]->names_asked)
            continue;
        ask_trail(naming, stalls[i]->item, &refused);
        stalls[i]->names_asked = !refused;
    }
}

bool naming_is_pending(void *context, const struct item *item)
{
    const struct naming *naming = context;
    uint64_t offset;
    const struct module_facts *module = item_module(item, &offset);

    return naming->symbols != NULL && module != NULL && !module->is_scripts &&
           symbol_table_find(&module->symbols, offset) == NULL && !symbol_table_is_full(&module->symbols) &&
           !symbols_are_idle(naming->symbols);
}

/* Pages ------------------------------------------------------------------------------------------------------------ */

static bool ask_page(struct naming *naming, const struct page *page)
{
    bool waiting = false, refused;

    if (page->locations == NULL && page->sightings == NULL)
        return false; /* its stalls are named with their snapshot, or there is nothing to name */
    for (size_t i = 0; i < page->count; i++) {
        if (page->locations != NULL) {
            const struct location_group *group = &page->locations->groups[page->first + i];

            if (group->module != NULL)
                waiting = ask(naming, group->example, group->module, group->offset) == ASKED_WAITING || waiting;
        } else {
            waiting = ask_trail(naming, page->sightings[i].item, &refused) || waiting;
        }
    }
    return waiting;
}

bool naming_hold(struct naming *naming, uint64_t ticket, struct page *page)
{
    if (naming->symbols == NULL || page == NULL || !ask_page(naming, page) || naming->held_count == NAMING_PAGES_MAX)
        return false;
    naming->held[naming->held_count++] = (struct held_page){ticket, page, clock_mono_ns() + NAMING_PAGE_NS};
    return true;
}

bool naming_release(struct naming *naming, uint64_t *ret_ticket, struct page **ret_page)
{
    eventfd_t value;

    if (naming->descriptor >= 0)
        (void)eventfd_read(naming->descriptor, &value); /* reset it, or poll would return at once from now on */
    if (naming->held_count == 0)
        return false;
    if (naming->held[0].until_mono_ns > clock_mono_ns() && !symbols_are_idle(naming->symbols))
        return false;
    *ret_ticket = naming->held[0].ticket;
    *ret_page = naming->held[0].page;
    ARRAY_CLOSE(naming->held, naming->held_count, 0);
    return true;
}

uint64_t naming_wait_ns(const struct naming *naming, uint64_t now_mono_ns)
{
    if (naming->held_count == 0)
        return UINT64_MAX;
    return time_left_ns(naming->held[0].until_mono_ns, now_mono_ns);
}

void naming_health(const struct naming *naming, struct health *health)
{
    struct symbols_counters counters;

    if (naming->symbols == NULL)
        return;
    symbols_count(naming->symbols, &counters);
    health->names_found_count = counters.named_count;
    health->names_missing_count = counters.unnamed_count;
    health->names_refused_count = counters.refused_count;
    health->names_bytes = counters.kept_bytes;
    health->names_bytes_max = SYMBOLS_BYTES_MAX;
    health->limit_counts[HEALTH_LIMIT_SYMBOLS] = counters.unkept_count;
    health->symbolizer_start_count = counters.symbolizers.start_count;
    health->symbolizer_hung_count = counters.symbolizers.end_counts[CHILD_HUNG];
    health->symbolizer_died_count = child_died_count(&counters.symbolizers);
}
