/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosts.h - one request to several ripd in parallel: what --url, --prometheus and --timeout mean to every
 * command that shows a list.
 *
 * Guarantees
 *   A. The answer of one host does not wait for another that hangs longer than --timeout.
 *   B. A host that did not answer is named on standard error, and in the exit status.
 *   C. What Prometheus says is not believed: an instance is a URL like one of --url, or it is refused.
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
    bool reads_rings;            /* the command reads the rings itself where no ripd was named and none is there */
    bool json;
};

/* Rows of a table of flags, for settings with a member `hosts`: rings; hosts; how to print. */
#define HOSTS_DIR_FLAG                                                                                                 \
    CLI_FLAG("--dir", "DIR", CLI_LIST, hosts.directories,                                                              \
             "reads the rings of this directory and asks no ripd; several times for several")
#define HOSTS_URL_FLAGS                                                                                                \
    CLI_FLAG("--url", "URL", CLI_LIST, hosts.urls,                                                                     \
             "http://HOST:PORT or unix:/PATH, several times for several hosts; else $RIPD_URL, "                       \
             "else " CLIENT_URL_DEFAULT),                                                                              \
        CLI_BETWEEN("--timeout", "DUR", CLI_DURATION, hosts.timeout_ns, HOSTS_TIMEOUT_MIN_NS, HOSTS_TIMEOUT_MAX_NS,    \
                    "how long a host may take to answer (default 10s)")
#define HOSTS_JSON_FLAG CLI_FLAG("--json", NULL, CLI_SWITCH, hosts.json, "one JSON object a line, as ripd has it")
#define HOSTS_FLAGS                                                                                                    \
    HOSTS_URL_FLAGS,                                                                                                   \
        CLI_FLAG("--prometheus", "URL", CLI_TEXT, hosts.prometheus,                                                    \
                 "asks this Prometheus which hosts report stalls, and then those"),                                    \
        HOSTS_JSON_FLAG

#define HOSTS_TIMEOUT_MIN_NS UINT64_C(10000000)
#define HOSTS_TIMEOUT_MAX_NS UINT64_C(3600000000000)
#define HOSTS_TIMEOUT_NS UINT64_C(10000000000) /* unless another is given */

/*
 * Finds the hosts of this program; from now on SIGPIPE is ignored. CLI_OK, or the exit status
 * after an error message: a flag is wrong, or Prometheus does not answer.
 */
int hosts_open(const struct hosts_options *options);

size_t hosts_count(void);
const char *hosts_name(size_t i);

/* For a stream, beside the documents; not where hosts_are_local(). */
struct client *hosts_client(size_t i);

/* The exit status of a command whose request ended so. */
int hosts_status(enum client_result result);

/* Their answers are from the rings of this host: local.h. */
bool hosts_are_local(void);

/* Several --url, or --prometheus: tables have a column HOST. False for NULL, which is no host. */
bool hosts_named(void);

/* Sends the request to all; see struct client. The documents of the request before are freed. */
void hosts_get(const char *target, const char *schema, const char *list);

/* The same with a target for each host; NULL: no request to this one. Not where hosts_are_local(). */
void hosts_get_each(const char *const *targets, const char *schema, const char *list);

/* Another request to one of them. The caller owns the document; NULL on failure, see hosts_error(). */
json_t *hosts_get_one(size_t i, const char *target, const char *schema);

/* What a host answered last; NULL: it did not, and why. */
json_t *hosts_document(size_t i);
const char *hosts_error(size_t i);

/* After error messages for those that did not answer: CLI_OK if all did, else the exit status. */
int hosts_report(void);

/* An object of a host's answer as JSON, a line; with a member "host" where hosts_named(). */
void hosts_print_json(size_t i, const json_t *object);

#endif
