/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c - `rip check`: a plugin for Nagios, Icinga and compatible programs.
 *
 * Guarantees
 *   A. There is always one line on standard output, and the exit status follows the convention: 0 OK, 1 WARNING, 2
 *      CRITICAL, 3 UNKNOWN. A wrong flag is also UNKNOWN, because nothing was checked.
 *   B. UNKNOWN takes precedence over OK and WARNING, not over CRITICAL: what is known to be stuck is reported even if a
 *      host does not answer.
 *   C. A ripd that does not answer, does not scan, or cannot read a ring is never OK. Nor is a ripd that Prometheus has
 *      lost.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/filters.h"
#include "cli/hosts.h"
#include "cli/item.h"
#include "cli/list.h"
#include "cli/table.h"
#include "util/array.h"

#define NS_PER_MS 1000000u
#define DETAIL_BYTES 1024u
#define CAUSE_DEFAULT "!sleeping"
#define CRITICAL_NS UINT64_C(60000000000)

enum severity { SEVERITY_OK, SEVERITY_WARNING, SEVERITY_CRITICAL, SEVERITY_UNKNOWN };
static const char *const severity_names[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};

struct settings {
    struct hosts_options hosts;
    struct filters filters;
    uint64_t warning_ns;
    uint64_t critical_ns;
};

static struct settings settings = {.critical_ns = CRITICAL_NS, .filters.values[FILTER_CAUSE] = CAUSE_DEFAULT};

static const struct cli_flag flags[] = {
    CLI_BETWEEN("--warning", "DUR", CLI_DURATION, warning_ns, 0, DURATION_SETTING_MAX_NS,
                "WARNING if an id is stalled for this long (default 0ms: every stall)"),
    CLI_BETWEEN("--critical", "DUR", CLI_DURATION, critical_ns, 0, DURATION_SETTING_MAX_NS,
                "CRITICAL if an id is stalled for this long (default 1m)"),
    HOSTS_FLAGS,
    FILTERS_FLAGS,
};

/* The exit status of a wrong flag. */
static int unknown(void)
{
    puts("RIP UNKNOWN - nothing was checked");
    return SEVERITY_UNKNOWN;
}

static const char values[] = FILTER_VALUES;

const struct cli_syntax cli_check_syntax = {
    .name = "check",
    .usage = "usage: rip check [FLAG...]\n"
             "\n"
             "Prints in one line whether anything is stalled, with an exit status of the Nagios convention.\n"
             "Without --cause, ids that have chosen to sleep are left out, as with --cause '" CAUSE_DEFAULT "'.\n"
             "\n",
    .values = values,
    .notes =
        "\n"
        "exit status: 0 OK; 1 WARNING; 2 CRITICAL; 3 UNKNOWN: ripd does not answer or does not scan, or a flag is\n"
        "wrong\n",
    .mistake = unknown,
    CLI_FLAGS(flags),
};

/* The result of all hosts together, and the thresholds. */
struct finding {
    long long warning_ms;
    long long critical_ms;
    struct frame frame;    /* of the hosts that scan */
    long long longest_ms;  /* 0: none is stalled, or not known */
    const json_t *longest; /* NULL: none is stalled */
    size_t host;           /* host of that stall */
    size_t silent;
    size_t lost;               /* those of silent that only Prometheus knows */
    char detail[DETAIL_BYTES]; /* of the first host that is UNKNOWN */
};

static void look_at(struct finding *finding, size_t i)
{
    const json_t *document = hosts_document(i);
    const json_t *first = json_array_get(json_object_get(document, "stalls"), 0); /* the list is sorted: the longest */
    struct frame frame = {.answered = 0};

    frame_add(&frame, document);
    if (document == NULL || frame.late_ms != 0) {
        if (finding->silent++ != 0)
            return;
        if (document == NULL)
            snprintf(finding->detail, sizeof(finding->detail), "%s", hosts_error(i));
        else
            snprintf(finding->detail, sizeof(finding->detail), "ripd on %s does not scan: the last scan is %lld s old",
                     hosts_name(i), frame.late_ms / 1000);
        return;
    }
    frame_add(&finding->frame, document);
    if (json_is_object(first) &&
        (finding->longest == NULL || item_number(first, "frozen_for_ms") > finding->longest_ms)) {
        finding->longest_ms = item_number(first, "frozen_for_ms") > 0 ? item_number(first, "frozen_for_ms") : 0;
        finding->longest = first;
        finding->host = i;
    }
}

static void count_lost(struct finding *finding)
{
    const char *first;

    finding->lost = finding->silent = hosts_lost(&first);
    if (finding->lost != 0)
        snprintf(finding->detail, sizeof(finding->detail), "Prometheus cannot reach the ripd of %s", first);
}

static enum severity judge(const struct finding *finding)
{
    if (finding->longest != NULL && finding->longest_ms >= finding->critical_ms)
        return SEVERITY_CRITICAL;
    if (finding->silent != 0 || (finding->frame.unreadable != 0 && finding->longest == NULL))
        return SEVERITY_UNKNOWN;
    if (finding->longest != NULL && (finding->longest_ms >= finding->warning_ms || finding->warning_ms == 0))
        return SEVERITY_WARNING;
    return SEVERITY_OK;
}

/* A plugin's output has its performance data after a '|', so the text may not contain one. */
static void print_text(const char *text)
{
    const struct text_style style = {.utf8 = text_style_of_output().utf8, .columns = TEXT_ANY_COLUMNS};
    char shown[DETAIL_BYTES * 3];

    text_fit(&style, text, strlen(text), TEXT_ANY_COLUMNS, shown, sizeof(shown));
    for (char *at = shown; *at != '\0'; at++)
        if (*at == '|')
            *at = '/';
    fputs(shown, stdout);
}

/* U is a value that is not known: https://www.monitoring-plugins.org/doc/guidelines.html */
static void print_perfdata(const struct finding *finding, size_t host_count)
{
    long long ms = finding->longest_ms;

    if (finding->silent == host_count)
        puts(" | stalled=U longest=U unreadable_rings=U");
    else
        printf(" | stalled=%lld;;;0 longest=%lld.%03llds;%lld.%03lld;%lld.%03lld;0 unreadable_rings=%lld;;;0\n",
               finding->frame.total, ms / 1000, ms % 1000, finding->warning_ms / 1000, finding->warning_ms % 1000,
               finding->critical_ms / 1000, finding->critical_ms % 1000, finding->frame.unreadable);
}

static void print_finding(enum severity severity, const struct finding *finding)
{
    size_t host_count = hosts_count() + finding->lost;
    long long ms = finding->longest_ms;

    printf("RIP %s - ", severity_names[severity]);
    if (finding->longest != NULL) {
        printf("%lld stalled, the longest for %lld.%lld s: ", finding->frame.total, ms / 1000, ms % 1000 / 100);
        if (hosts_named()) {
            print_text(hosts_name(finding->host));
            fputs(": ", stdout);
        }
        print_text(item_text(finding->longest, "summary") != NULL ? item_text(finding->longest, "summary") : "-");
    } else if (finding->silent == 0) {
        printf("nothing is stalled among %lld ids", finding->frame.ids);
    }
    if (finding->frame.unreadable != 0)
        printf("%s%lld ring%s cannot be read", finding->longest != NULL || finding->silent == 0 ? "; " : "",
               finding->frame.unreadable, finding->frame.unreadable == 1 ? "" : "s");
    if (finding->silent != 0) {
        if (finding->longest != NULL || finding->frame.unreadable != 0)
            fputs("; ", stdout);
        if (finding->silent > 1)
            printf("%zu of %zu hosts: ", finding->silent, host_count);
        print_text(finding->detail);
    }
    print_perfdata(finding, host_count);
}

static void print_finding_json(enum severity severity, const struct finding *finding)
{
    json_t *object =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:O?}", "check", severity_names[severity], "stalled",
                  (json_int_t)finding->frame.total, "longest_ms", (json_int_t)finding->longest_ms, "ids",
                  (json_int_t)finding->frame.ids, "unreadable_rings", (json_int_t)finding->frame.unreadable,
                  "silent_hosts", (json_int_t)finding->silent, "longest", finding->longest);

    if (finding->silent != 0)
        json_object_set_new(object, "detail", json_string(finding->detail));
    if (hosts_named() && finding->longest != NULL)
        json_object_set_new(object, "host", json_string(hosts_name(finding->host)));
    table_print_json(object);
    json_decref(object);
}

static int check(const char *target)
{
    struct finding finding = {.warning_ms = (long long)(settings.warning_ns / NS_PER_MS),
                              .critical_ms = (long long)(settings.critical_ns / NS_PER_MS)};
    enum severity severity;

    hosts_get(target, "ripd/stalls/1", "stalls");
    count_lost(&finding);
    for (size_t i = 0; i < hosts_count(); i++)
        look_at(&finding, i);
    severity = judge(&finding);
    if (settings.hosts.json)
        print_finding_json(severity, &finding);
    else
        print_finding(severity, &finding);
    return (int)severity;
}

int cli_check(char **words)
{
    char target[FILTERS_TARGET_BYTES];

    (void)words;
    if (!filters_target(&settings.filters, "/stalls?trail=0&limit=1", target))
        return unknown();
    if (settings.warning_ns > settings.critical_ns) {
        cli_error("--warning: expected no longer than --critical");
        return unknown();
    }
    if (hosts_open(&settings.hosts) != CLI_OK)
        return unknown();
    return check(target);
}
