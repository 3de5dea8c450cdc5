/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generate.c - makes a manual page from its template:  generate TEMPLATE > PAGE
 *
 * With the name of a command of rip and a file with its answer, it makes the page of that command: the command's
 * section of rip(1), and the answer.
 *
 * A line such as @FLAGS@ or @METRICS@ becomes the items of a list, one for each row of the table with that name.
 * @VERSION@ and the like, anywhere in a line, become values. The program is linked with parts of ripd and runs when
 * ripd is built. Exit status 1 if the template has an unknown name.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/config_option.h"
#include "app/events.h"
#include "app/hook.h"
#include "app/report.h"
#include "cases/case.h"
#include "cases/cause.h"
#include "cases/event_kind.h"
#include "cases/event_queue.h"
#include "cases/health.h"
#include "cases/kernel.h"
#include "cli/cli.h"
#include "detect/state.h"
#include "net/handlers.h"
#include "net/limits.h"
#include "record/captures.h"
#include "record/event_file.h"
#include "record/recording_file.h"
#include "rip/ring.h"
#include "view/document_event.h"
#include "view/metrics.h"
#include "view/query_parse.h"
#include "work/work.h"

#define LINE_BYTES 1024u
#define WIDTH 76u /* of a line of text */

/*
 * Writes a sentence on lines of its own, with a capital letter unless it begins with a name or an address, with a full
 * stop, and with macros escaped.
 */
static void put_sentence(const char *text)
{
    bool is_name = strncmp(text, "ripd", 4) == 0 || strncmp(text, "http", 4) == 0;
    size_t column = 0, length = strlen(text);

    for (size_t i = 0; i < length; i++) {
        char byte = i == 0 && !is_name ? (char)toupper((unsigned char)text[i]) : text[i];

        if (byte == ' ' && column + 1 + strcspn(text + i + 1, " ") > WIDTH) {
            putchar('\n');
            column = 0;
            continue;
        }
        if (column == 0 && (byte == '.' || byte == '\''))
            fputs("\\&", stdout);
        if (byte == '\\')
            fputs("\\e", stdout);
        else if (byte == '-')
            fputs("\\-", stdout); /* no hyphenation of flags and commands */
        else
            putchar(byte);
        column++;
    }
    puts(length != 0 && text[length - 1] == '.' ? "" : ".");
}

static void put_default(const struct option *option)
{
    for (size_t i = 0; option->defaults[i] != NULL; i++)
        printf("%s\n.Ql %s%s\n", i == 0 ? "Default:" : "and", option->defaults[i],
               option->defaults[i + 1] == NULL ? " ." : "");
}

static void put_flags(void)
{
    for (size_t i = 0; i < options_count; i++) {
        const struct option *option = &options[i];

        printf(".It Fl \\-%s%s%s\n", option->name, option->value_name != NULL ? " Ar " : "",
               option->value_name != NULL ? option->value_name : "");
        put_sentence(option->help);
        put_default(option);
        if (option_is_key(option))
            puts(option->applied_by_reload ? "Applied by a reload." : "A change requires a restart.");
    }
}

static void put_keys(void)
{
    for (size_t i = 0; i < options_count; i++) {
        const struct option *option = &options[i];

        if (!option_is_key(option))
            continue;
        printf(".It Cm %s No = Ar %s\n", option->name, option->value_name);
        put_sentence(option->help);
        put_default(option);
        if (option_repeats(option))
            puts("A list.");
        puts(option->applied_by_reload ? "Applied by a reload." : "A change requires a restart.");
    }
}

static void put_endpoints(void)
{
    for (size_t i = 0; i < routes_count; i++) {
        const char *separator = "Takes";

        printf(".It Pa %s\n", routes[i].pattern);
        put_sentence(routes[i].summary);
        for (size_t j = 0; j < query_parameters_count; j++)
            if ((routes[i].parameters & query_parameters[j].bit) != 0) {
                printf("%s\n.Cm %s", separator, query_parameters[j].name);
                separator = " ,"; /* mdoc removes the blank before the comma */
            }
        if (routes[i].parameters != 0)
            puts(" .");
    }
}

static void put_parameters(void)
{
    for (size_t i = 0; i < query_parameters_count; i++) {
        printf(".It Cm %s Ns = Ns Ar %s\n", query_parameters[i].name, query_parameters[i].value_name);
        put_sentence(query_parameters[i].summary);
    }
}

static void put_item(const char *name, const char *meaning)
{
    printf(".It Cm %s\n", name);
    put_sentence(meaning);
}

static void put_states(void)
{
    for (int i = 0; i < ID_STATE_COUNT; i++)
        put_item(id_state_name((enum id_state)i), id_state_meaning((enum id_state)i));
}

/* Writes the causes that can be found; names reserved for later are left out. */
static void put_causes_of(bool stops)
{
    for (int i = 0; i < CAUSE_COUNT; i++) {
        enum id_cause cause = (enum id_cause)i;

        if (id_cause_stops(cause) == stops && cause_can_be_judged(cause))
            put_item(cause == CAUSE_NONE ? "null" : id_cause_name(cause), id_cause_meaning(cause));
    }
}

static void put_idle_reasons(void)
{
    for (int i = CAUSE_COUNT; i < CAUSE_AND_REASON_COUNT; i++)
        put_item(id_cause_name((enum id_cause)i), id_cause_meaning((enum id_cause)i));
}

static void put_stall_causes(void)
{
    put_causes_of(false);
}

static void put_stop_causes(void)
{
    put_causes_of(true);
}

/* Defines a function that writes the rows of a table of constants with put_item(). */
#define LIST(function, table, row)                                                                                     \
    static void function(void)                                                                                         \
    {                                                                                                                  \
        table(row)                                                                                                     \
    }
#define OF_FIELD(name, meaning) put_item(name, meaning);
#define OF_TEXT(name, text, meaning) put_item(text, meaning);
#define OF_NAME(name, meaning) put_item(#name, meaning);
#define OF_NUMBER(number, unit, meaning)                                                                               \
    {                                                                                                                  \
        char item[64];                                                                                                 \
                                                                                                                       \
        snprintf(item, sizeof(item), "%u %s", (unsigned)(number), unit);                                               \
        put_item(item, meaning);                                                                                       \
    }
LIST(put_kernel_fields, KERNEL_FIELD_TABLE, OF_FIELD)
LIST(put_events, EVENT_KIND_TABLE, OF_TEXT)
LIST(put_reasons, EVENT_REASON_TABLE, OF_TEXT)
LIST(put_gaps, STREAM_GAP_TABLE, OF_TEXT)
LIST(put_limits, HEALTH_LIMIT_TABLE, OF_TEXT)
LIST(put_journal_fields, REPORT_FIELD_TABLE, OF_NAME)
LIST(put_http_limits, HTTP_LIMIT_TABLE, OF_NUMBER)

/* Writes the share of a user while no other user has any of the limit: half of the total. */
static void put_shares(void)
{
    char text[256];

#define X(name, label, total, meaning)                                                                                 \
    if ((uint64_t)(total) == UINT64_MAX)                                                                               \
        snprintf(text, sizeof(text), "%s", meaning);                                                                   \
    else                                                                                                               \
        snprintf(text, sizeof(text), "%s: %" PRIu64, meaning, (uint64_t)(total) / 2);                                  \
    put_item(label, text);
    WORK_LIMIT_TABLE(X)
#undef X
}

static void put_metrics(void)
{
    for (size_t i = 0; i < metrics_count; i++) {
        printf(".It Cm %s\n%s%s%s.\n", metrics[i].name, metric_type_name(metrics[i].type),
               metrics[i].labels[0] != '\0' ? " by " : "", metrics[i].labels);
        put_sentence(metrics[i].help);
    }
}

/* Writes the flags of a command of rip. */
static void put_flags_of(const struct cli_syntax *syntax)
{
    for (size_t i = 0; i < syntax->flags_count; i++) {
        const struct cli_flag *flag = &syntax->flags[i];
        const char *name = flag->name + 1;
        const bool is_long = name[0] == '-';

        printf(".It Fl %s%s%s%s\n", is_long ? "\\-" : "", name + is_long, flag->value != NULL ? " Ar " : "",
               flag->value != NULL ? flag->value : "");
        put_sentence(flag->help);
    }
}

#define X(name, summary)                                                                                               \
    static void put_flags_of_##name(void)                                                                              \
    {                                                                                                                  \
        put_flags_of(&cli_##name##_syntax);                                                                            \
    }
CLIENT_COMMAND_TABLE(X)
#undef X

static const struct {
    const char *name;
    void (*put)(void);
} lists[] = {
#define X(name, summary) {"@FLAGS_OF_" #name "@", put_flags_of_##name},
    CLIENT_COMMAND_TABLE(X)
#undef X
        {"@FLAGS@", put_flags},
    {"@KEYS@", put_keys},
    {"@ENDPOINTS@", put_endpoints},
    {"@PARAMETERS@", put_parameters},
    {"@STATES@", put_states},
    {"@STALL_CAUSES@", put_stall_causes},
    {"@IDLE_REASONS@", put_idle_reasons},
    {"@STOP_CAUSES@", put_stop_causes},
    {"@KERNEL_FIELDS@", put_kernel_fields},
    {"@EVENTS@", put_events},
    {"@REASONS@", put_reasons},
    {"@GAPS@", put_gaps},
    {"@HTTP_LIMITS@", put_http_limits},
    {"@METRICS@", put_metrics},
    {"@LIMITS@", put_limits},
    {"@SHARES@", put_shares},
    {"@JOURNAL_FIELDS@", put_journal_fields},
};

/* Values that may be anywhere in a line. */
static const struct {
    const char *name;
    const char *text; /* NULL: the number */
    uint64_t number;
} values[] = {
    {"@VERSION@", RIP_VERSION, 0},
    {"@SYSCONFDIR@", RIP_SYSCONFDIR, 0},
    {"@BEGIN_MESSAGE_ID@", REPORT_BEGIN_MESSAGE_ID, 0},
    {"@END_MESSAGE_ID@", REPORT_END_MESSAGE_ID, 0},
    {"@CONFIG_FILE_BYTES_MAX@", NULL, CONFIG_FILE_BYTES_MAX},
    {"@CONFIG_LINE_BYTES_MAX@", NULL, CONFIG_LINE_BYTES_MAX},
    {"@WORK_EVENTS_PER_SCAN@", NULL, WORK_EVENTS_PER_SCAN},
    {"@WORK_NOTICES_PER_SCAN@", NULL, WORK_NOTICES_PER_SCAN},
    {"@RULES_MAX@", NULL, RULES_MAX},
    {"@EPISODE_UNEXAMINED_SCANS@", NULL, EPISODE_UNEXAMINED_SCANS},
    {"@EPISODE_UNEXAMINED_BEHIND_SCANS@", NULL, EPISODE_UNEXAMINED_BEHIND_SCANS},
    {"@HOOK_RUNNING_MAX@", NULL, HOOK_RUNNING_MAX},
    {"@HOOK_USER_RUNNING_MAX@", NULL, HOOK_USER_RUNNING_MAX},
    {"@HOOK_TIME_LIMIT_S@", NULL, HOOK_TIME_LIMIT_NS / 1000000000},
    {"@HOOK_GRACE_S@", NULL, HOOK_GRACE_NS / 1000000000},
    {"@HOOK_WAITING_MAX@", NULL, EVENT_QUEUE_MAX},
    {"@EVENT_NAMED_BYTES_MAX@", NULL, EVENT_NAMED_BYTES_MAX},
    {"@EVENT_FILE_MIB@", NULL, EVENT_FILE_BYTES_MAX >> 20},
    {"@RECORDING_SEGMENTS_KEPT@", NULL, RECORDING_SEGMENTS_KEPT},
    {"@RECORDING_SEGMENT_MIB@", NULL, RECORDING_SEGMENT_BYTES >> 20},
    {"@CAPTURES_OF_USER@", NULL, CAPTURES_OF_USER},
    {"@CAPTURES_OF_USER_MIB@", NULL, CAPTURES_OF_USER_BYTES >> 20},
    {"@CAPTURES_REPLACED@", NULL, CAPTURES_REPLACED},
    {"@CAPTURES_OF_ALL@", NULL, CAPTURES_OF_ALL},
    {"@CAPTURES_OF_ALL_MIB@", NULL, CAPTURES_OF_ALL_BYTES >> 20},
    {"@HISTORY_PATIENCE_S@", NULL, EVENTS_PATIENCE_NS / 1000000000},
};

/* Writes the value whose name line begins with. Returns the length of that name, or 0 if line begins with none. */
static size_t put_value(const char *line)
{
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        size_t length = strlen(values[i].name);

        if (strncmp(line, values[i].name, length) != 0)
            continue;
        if (values[i].text != NULL)
            fputs(values[i].text, stdout);
        else
            printf("%" PRIu64, values[i].number);
        return length;
    }
    return 0;
}

/* Returns 0, or -1 if the line has an unknown name. */
static int put_line(const char *line)
{
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (strcmp(line, lists[i].name) == 0) {
            lists[i].put();
            return 0;
        }
    while (*line != '\0') {
        size_t length = put_value(line);

        if (length == 0 && *line == '@' && isupper((unsigned char)line[1]))
            return -1;
        if (length == 0)
            putchar(*line++);
        line += length;
    }
    putchar('\n');
    return 0;
}

/*
 * Writes the lines of a template: all, or those of a command of rip without their title. Returns 0, or -1 after an
 * error message.
 */
static int put_template(FILE *template, const char *name, const char *command)
{
    char line[LINE_BYTES], title[LINE_BYTES];
    bool inside = command == NULL;

    snprintf(title, sizeof(title), ".Ss rip %s", command != NULL ? command : "");
    while (fgets(line, sizeof(line), template) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (command != NULL && (strncmp(line, ".Ss ", 4) == 0 || strncmp(line, ".Sh ", 4) == 0)) {
            inside = strcmp(line, title) == 0;
            continue;
        }
        if (inside && put_line(line) != 0) {
            fprintf(stderr, "%s: unknown name: %s\n", name, line);
            return -1;
        }
    }
    return 0;
}

/* Writes a line of an answer literally. mdoc and groff read ASCII, and names for other characters. */
static void put_literal(const char *line)
{
    if (*line == '.' || *line == '\'')
        fputs("\\&", stdout);
    for (const unsigned char *at = (const unsigned char *)line; *at != '\0'; at++)
        if (*at == '\\')
            fputs("\\e", stdout);
        else if (*at == '-')
            fputs("\\-", stdout);
        else if (*at < 0x80)
            putchar(*at);
        else if ((*at & 0xf0) == 0xe0 && at[1] != '\0' && at[2] != '\0') {
            printf("\\[u%04X]", (*at & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu));
            at += 2;
        }
}

static const char *summary_of(const char *command)
{
#define X(name, summary)                                                                                               \
    if (strcmp(command, #name) == 0)                                                                                   \
        return summary;
    CLIENT_COMMAND_TABLE(X)
#undef X
    return CLI_RUN_SUMMARY;
}

/* Writes the description and then the answer, which may be NULL. Returns 0, or -1 after an error message. */
static int put_command_page(FILE *template, const char *name, const char *command, FILE *answer)
{
    char line[LINE_BYTES];

    printf(".\\\" SPDX-License-Identifier: Apache-2.0\n.Dd November 23, 2026\n.Dt RIP\\-");
    for (const char *byte = command; *byte != '\0'; byte++)
        putchar(toupper((unsigned char)*byte));
    printf(" 1\n.Os librip %s\n.Sh NAME\n.Nm rip\\-%s\n.Nd %s\n.Sh SYNOPSIS\n.Nm rip\n.Cm %s\n.Op Ar flag ...\n"
           ".Op Ar word ...\n.Sh DESCRIPTION\n",
           RIP_VERSION, command, summary_of(command), command);
    if (put_template(template, name, command) != 0)
        return -1;
    if (answer != NULL) {
        puts(".Sh EXAMPLES\nA program of which two threads are in a deadlock, and 47 wait for one of them:\n.Bd "
             "-literal");
        while (fgets(line, sizeof(line), answer) != NULL)
            put_literal(line);
        puts(".Ed");
    }
    puts(".Sh SEE ALSO\n.Xr rip 1 ,\n.Xr ripd 8");
    return 0;
}

int main(int argc, char **argv)
{
    FILE *template = argc == 2 || argc == 4 ? fopen(argv[1], "r") : NULL;
    FILE *answer = argc == 4 ? fopen(argv[3], "r") : NULL;
    int status;

    if (template == NULL) {
        fprintf(stderr, "usage: %s TEMPLATE [COMMAND ANSWER] > PAGE\n", argv[0]);
        return 1;
    }
    status = argc == 4 ? put_command_page(template, argv[1], argv[2], answer) : put_template(template, argv[1], NULL);
    fclose(template);
    if (answer != NULL)
        fclose(answer);
    return status == 0 && fflush(stdout) == 0 ? 0 : 1;
}
