/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.c - clients, their last answers, and the instances from Prometheus. Touches the network through client.h. */
#include "cli/hosts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/item.h"
#include "cli/local.h"
#include "cli/table.h"
#include "os/file.h"
#include "util/array.h"

#define NS_PER_MS 1000000u
#define URL_BYTES 512u
#define QUERY_BYTES 512u
#define LOST_NAME_BYTES 128u

/* Instances with stalls; and those whose ripd was seen in the last day and is not seen now. */
#define STALLED_QUERY "ripd_ids{state=\"stalled\"} > 0"
#define LOST_QUERY "last_over_time(ripd_ids{state=\"stalled\"}[1d]) unless ripd_ids{state=\"stalled\"}"

static struct {
    long answer_ms;
    bool named;
    size_t count;
    size_t lost_count; /* instances that Prometheus itself does not reach; named once */
    char first_lost[LOST_NAME_BYTES];
    struct client clients[CLI_LIST_MAX];
    bool reads_rings; /* if there is no ripd */
    struct cli_list directories;
    struct local *local; /* NULL: requests are sent to ripd */
    size_t denied;       /* files that may be rings, but cannot be read */
} hosts;

int hosts_status(enum client_result result)
{
    static const int statuses[] = {
        [CLIENT_OK] = CLI_OK,         [CLIENT_UNREACHABLE] = CLI_UNREACHABLE,
        [CLIENT_REFUSED] = CLI_USAGE, [CLIENT_NOT_UNDERSTOOD] = CLI_ANSWER,
        [CLIENT_STOPPED] = CLI_OK,
    };

    return statuses[result];
}

static int add_host(const char *url)
{
    struct client *client = &hosts.clients[hosts.count];
    enum client_result result = client_open(client, url);

    if (result == CLIENT_OK)
        hosts.count++;
    else
        cli_error("%s", client->error);
    return hosts_status(result);
}

static int take_stalled(const char *instance)
{
    char url[URL_BYTES];

    for (size_t i = 0; i < hosts.count; i++)
        if (strcmp(hosts_name(i), instance) == 0)
            return CLI_OK; /* there is one series per job */
    if (hosts.count == CLI_LIST_MAX)
        return cli_fail(CLI_OK, "--prometheus: more than %u hosts report stalls; the others are left out",
                        CLI_LIST_MAX);
    if (snprintf(url, sizeof(url), "%s%s", strstr(instance, "://") != NULL ? "" : "http://", instance) >=
        (int)URL_BYTES)
        return cli_fail(CLI_ANSWER, "--prometheus: '%.100s' is not the address of a host", instance);
    return add_host(url) == CLI_OK ? CLI_OK : CLI_ANSWER;
}

static int take_lost(const char *instance)
{
    cli_error("%.200s: Prometheus cannot reach the ripd there", instance);
    if (hosts.lost_count++ == 0)
        snprintf(hosts.first_lost, sizeof(hosts.first_lost), "%s", instance);
    return CLI_OK;
}

/* Each series of the answer has a label "instance": a host to query if it has stalls, or a host that was lost. */
static int ask_prometheus(const char *url, const char *query, bool lost)
{
    char target[QUERY_BYTES] = "/api/v1/query";
    struct client client;
    json_t *result, *series;
    int status;
    size_t i;

    if (client_open(&client, url) != CLIENT_OK)
        return cli_fail(CLI_USAGE, "--prometheus: '%.100s': expected http://HOST:PORT or https://HOST:PORT", url);
    (void)client_target_add(target, sizeof(target), "query", query);
    client.target = target;
    client.server = "prometheus";
    client_get_all(&client, 1, hosts.answer_ms);
    result = json_object_get(json_object_get(client.document, "data"), "result");
    status = hosts_status(client.result);
    if (status != CLI_OK)
        cli_error("--prometheus: %s%s", client.error,
                  client.result == CLIENT_REFUSED ? "; expected the address of a Prometheus" : "");
    else if (!json_is_array(result))
        status = cli_fail(CLI_ANSWER, "--prometheus: %s: the answer is not from Prometheus", client.shown);
    json_array_foreach(result, i, series)
    {
        const char *instance = item_text(json_object_get(series, "metric"), "instance");

        if (status == CLI_OK && instance != NULL)
            status = lost ? take_lost(instance) : take_stalled(instance);
    }
    client_close(&client);
    return status;
}

static int find_hosts(const struct hosts_options *options)
{
    int status = CLI_OK;

    if (options->prometheus != NULL) {
        hosts.named = true;
        status = ask_prometheus(options->prometheus, STALLED_QUERY, false);
        if (status == CLI_OK)
            status = ask_prometheus(options->prometheus, LOST_QUERY, true);
        return status;
    }
    hosts.named = options->urls.count > 1;
    if (options->urls.count == 0)
        return add_host(NULL);
    for (size_t i = 0; i < options->urls.count && status == CLI_OK; i++)
        status = add_host(options->urls.values[i]);
    return status;
}

/* Returns 0 or -errno. */
static int check_directory(const char *path)
{
    int directory = file_open_directory(path);

    if (directory < 0)
        return directory;
    close(directory);
    return access(path, X_OK) == 0 ? 0 : -errno;
}

static int read_rings(void)
{
    struct cli_list *directories = &hosts.directories;
    int result;

    for (size_t i = 0; i < directories->count; i++) {
        result = check_directory(directories->values[i]);
        if (result != 0)
            return cli_fail(CLI_UNREACHABLE, "--dir: '%.200s': %s", directories->values[i], strerror(-result));
    }
    cli_add_directories(directories);
    result = local_new(&hosts.local, directories->values, directories->count, &hosts.denied);
    if (result == 0)
        return CLI_OK;
    return cli_fail(CLI_UNREACHABLE, "%s", strerror(-result));
}

/* Answers the request to the only host from its rings. */
static void answer_locally(void)
{
    struct client *client = &hosts.clients[0];

    json_decref(client->document);
    client->document = local_answer(hosts.local, client->target, client->error);
    client->result = client->document != NULL ? CLIENT_OK : CLIENT_REFUSED;
}

int hosts_open(const struct hosts_options *options)
{
    int status;

    signal(SIGPIPE, SIG_IGN); /* a write to a closed pipe fails instead */
    hosts.answer_ms = (long)((options->timeout_ns != 0 ? options->timeout_ns : HOSTS_TIMEOUT_NS) / NS_PER_MS);
    hosts.directories = options->directories;
    hosts.reads_rings = options->reads_rings && options->urls.count == 0 && options->prometheus == NULL;
    if (options->directories.count != 0 && !hosts.reads_rings)
        status = cli_fail(CLI_USAGE, "--dir: expected without --url and --prometheus");
    else if (options->prometheus != NULL && options->urls.count != 0)
        status = cli_fail(CLI_USAGE, "--prometheus: expected without --url");
    else
        status = find_hosts(options);
    if (status == CLI_OK && options->directories.count != 0)
        status = read_rings();
    return status;
}

size_t hosts_count(void)
{
    return hosts.count;
}

const char *hosts_name(size_t i)
{
    return hosts.local != NULL ? "the rings" : hosts.clients[i].shown;
}

struct client *hosts_client(size_t i)
{
    return &hosts.clients[i];
}

bool hosts_are_local(void)
{
    return hosts.local != NULL;
}

const struct cli_list *hosts_directories(void)
{
    return &hosts.directories;
}

bool hosts_named(void)
{
    return hosts.named;
}

static void prepare(struct client *client, const char *target, const char *schema, const char *list)
{
    client->target = target;
    client->schema = schema;
    client->list = list;
}

void hosts_get_each(const char *const *targets, const char *schema, const char *list)
{
    for (size_t i = 0; i < hosts.count; i++)
        prepare(&hosts.clients[i], targets[i], schema, list);
    client_get_all(hosts.clients, hosts.count, hosts.answer_ms);
}

void hosts_get(const char *target, const char *schema, const char *list)
{
    const struct client *first = &hosts.clients[0];

    for (size_t i = 0; i < hosts.count; i++)
        prepare(&hosts.clients[i], target, schema, list);
    if (hosts.local == NULL) {
        client_get_all(hosts.clients, hosts.count, hosts.answer_ms);
        if (!hosts.reads_rings || first->status != 0 || first->result != CLIENT_UNREACHABLE || read_rings() != CLI_OK)
            return;
        cli_error("%s; reading the rings instead: stalled means not moved for %u s", first->error,
                  LOCAL_PAUSE_MS / 1000);
    }
    answer_locally();
}

json_t *hosts_get_one(size_t i, const char *target, const char *schema)
{
    struct client *client = &hosts.clients[i];
    const enum client_result kept_result = client->result;
    json_t *kept = client->document, *document;

    client->document = NULL;
    prepare(client, target, schema, NULL);
    if (hosts.local != NULL)
        answer_locally();
    else
        client_get_all(client, 1, hosts.answer_ms);
    document = client->document;
    client->document = kept;
    client->result = kept_result;
    return document;
}

json_t *hosts_document(size_t i)
{
    return hosts.clients[i].document;
}

const char *hosts_error(size_t i)
{
    return hosts.clients[i].error;
}

size_t hosts_lost(const char **ret_first)
{
    *ret_first = hosts.first_lost;
    return hosts.lost_count;
}

int hosts_report(void)
{
    int worst = hosts.lost_count != 0 ? CLI_UNREACHABLE : CLI_OK;

    for (size_t i = 0; i < hosts.count; i++) {
        int status = hosts_status(hosts.clients[i].result);

        if (status == CLI_OK)
            continue;
        cli_error("%s", hosts_error(i));
        if (status > worst)
            worst = status;
    }
    if (hosts.denied != 0)
        cli_error("%zu file%s there cannot be read by this user; a ripd can show the rings of other users",
                  hosts.denied, hosts.denied == 1 ? "" : "s");
    return worst;
}

void hosts_print_json(size_t i, const json_t *object)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)object);

    if (json_is_object(copy) && hosts_named())
        json_object_set_new(copy, "host", json_string(hosts_name(i)));
    table_print_json(copy);
    json_decref(copy);
}
