/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosts.h - one request to several ripd in parallel: --url, --prometheus and --timeout of every command that shows a
 * list.
 *
 * Guarantees
 *   A. A host that hangs delays the others by at most --timeout.
 *   B. A host that did not answer is named on standard error, and changes the exit status.
 *   C. Answers from Prometheus are not trusted: an instance is validated like a value of --url, or refused.
 */
#ifndef RIP_CLI_HOSTS_H
#define RIP_CLI_HOSTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/cli.h"
#include "cli/client.h"

/* All zero: not given. */
struct hosts_options {
    struct cli_list urls;
    const char *prometheus;
    uint64_t timeout_ns;
    struct cli_list directories; /* of rings, which are read instead of a ripd */
    bool reads_rings;            /* the command reads the rings itself if no ripd was named and none is running */
    bool json;
};

/* Rows of a table of flags, for settings with a member `hosts`: rings; hosts; output. */
#define HOSTS_DIR_FLAG                                                                                                 \
    CLI_FLAG("--dir", "DIR", CLI_LIST, hosts.directories,                                                              \
             "read the rings of this directory instead of querying a ripd; repeatable")
#define HOSTS_URL_FLAGS                                                                                                \
    CLI_FLAG("--url", "URL", CLI_LIST, hosts.urls,                                                                     \
             "http://HOST:PORT or unix:/PATH; repeatable, for several hosts (default: $RIPD_URL, "                     \
             "else " CLIENT_URL_DEFAULT ")"),                                                                          \
        CLI_BETWEEN("--timeout", "DUR", CLI_DURATION, hosts.timeout_ns, HOSTS_TIMEOUT_MIN_NS, HOSTS_TIMEOUT_MAX_NS,    \
                    "how long a host may take to answer (default 10s)")
#define HOSTS_JSON_FLAG                                                                                                \
    CLI_FLAG("--json", NULL, CLI_SWITCH, hosts.json, "print one JSON object per line, in ripd's format")
#define HOSTS_FLAGS                                                                                                    \
    HOSTS_URL_FLAGS,                                                                                                   \
        CLI_FLAG("--prometheus", "URL", CLI_TEXT, hosts.prometheus,                                                    \
                 "query this Prometheus for hosts with stalls, and then those hosts"),                                 \
        HOSTS_JSON_FLAG

#define HOSTS_TIMEOUT_MIN_NS UINT64_C(10000000)
#define HOSTS_TIMEOUT_MAX_NS UINT64_C(3600000000000)
#define HOSTS_TIMEOUT_NS UINT64_C(10000000000) /* default of --timeout */

/*
 * Finds the hosts of this program, and ignores SIGPIPE from now on. Returns CLI_OK, or the exit status after an error
 * message: a flag is wrong, or Prometheus does not answer.
 */
int hosts_open(const struct hosts_options *options);

size_t hosts_count(void);
const char *hosts_name(size_t i);

/* For a stream, in addition to the documents; not if hosts_are_local(). */
struct client *hosts_client(size_t i);

/* Returns the exit status of a command whose request had this result. */
int hosts_status(enum client_result result);

/* Returns whether the answers are from the rings of this host: local.h. */
bool hosts_are_local(void);

/* Returns the directories of these rings. */
const struct cli_list *hosts_directories(void);

/*
 * Returns whether there are several --url, or --prometheus: tables then have a column HOST.
 */
bool hosts_named(void);

/* Sends the request to all hosts; see struct client. Frees the documents of the request before. */
void hosts_get(const char *target, const char *schema, const char *list);

/* The same with a target for each host; NULL: no request to this host. Not if hosts_are_local(). */
void hosts_get_each(const char *const *targets, const char *schema, const char *list);

/* Sends another request to one host. The caller owns the document. Returns NULL on failure, see hosts_error(). */
json_t *hosts_get_one(size_t i, const char *target, const char *schema);

/* The last answer of a host; NULL if it did not answer. hosts_error() is the reason. */
json_t *hosts_document(size_t i);
const char *hosts_error(size_t i);

/* Returns how many instances Prometheus itself does not reach, and the name of the first one. */
size_t hosts_lost(const char **ret_first);

/* Prints error messages for hosts that did not answer. Returns CLI_OK if all did, else the exit status. */
int hosts_report(void);

/* Prints an object of a host's answer as a line of JSON, with a member "host" if hosts_named(). */
void hosts_print_json(size_t i, const json_t *object);

#endif
