/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - the settings of ripd, from its command line and its file. The flags are one table in config_table.c, from
 * which the keys of the file, --help and the manual page are made too.
 *
 * What the command line says outranks the file, and the file outranks the defaults. A list is not added to from one of
 * them to the next but replaced: --dir on the command line replaces every dir of the file.
 *
 * Guarantees
 *   A. A configuration owns its strings; nothing in it points into a command line or a file.
 *   B. Every mistake is one line that says where it is, what was found and what was expected. What was there before
 *      stays as it was.
 */
#ifndef RIPD_APP_CONFIG_H
#define RIPD_APP_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "app/log.h"
#include "cases/scan_record.h"
#include "detect/rules.h"

#define CONFIG_LIST_MAX 64u
#define CONFIG_LISTEN_MAX 16u
#define CONFIG_DIRECTORIES_MAX CONFIG_LIST_MAX
#define CONFIG_HOSTS_MAX CONFIG_LIST_MAX

struct config_list {
    char *items[CONFIG_LIST_MAX];
    size_t count;
    bool by_default; /* no source gave it */
};

struct config {
    struct config_list listen;
    struct config_list directories;
    struct config_list allow_hosts;
    uint64_t interval_ns;
    uint64_t stall_after_ns;
    struct rules rules; /* in place of stall_after_ns, by name */
    enum log_level log_level;
    char *state_directory;  /* absolute; NULL = nothing is written to disk */
    char *record_directory; /* the same */
    char *on_stall;         /* a command for the shell; NULL = none */
    char *file;             /* of --config; NULL = none */
    int argc;               /* the command line, to load it once more; it stays the caller's */
    char *const *argv;
};

enum config_action { CONFIG_RUN, CONFIG_CHECK, CONFIG_SHOW_HELP, CONFIG_SHOW_VERSION, CONFIG_BAD };

#define CONFIG_ERROR_BYTES 512u

/*
 * Makes *ret_config from the command line, the file that it names, and the defaults; undo with config_done(), unless
 * CONFIG_BAD: then ret_error is one line without a newline, in printable ASCII, and *ret_config is untouched. It is
 * untouched too when help or the version is asked for. argv must outlive *ret_config.
 */
enum config_action config_load(int argc, char *const *argv, struct config *ret_config,
                               char ret_error[CONFIG_ERROR_BYTES]);

void config_done(struct config *config);

#define CONFIG_KEYS_BYTES 256u

struct config_changes {
    char applied[CONFIG_KEYS_BYTES]; /* "stall-after, dir": keys that have changed */
    char refused[CONFIG_KEYS_BYTES]; /* keys whose new value takes a restart */
    char error[CONFIG_ERROR_BYTES];  /* why nothing has changed */
};

/*
 * Makes *config what its command line and its file say now, except for what takes a restart: that stays what it is,
 * so that *config is always what is in force. 0, or -EINVAL with the error filled: *config is as it was. A
 * configuration without a file: -ENOENT.
 */
int config_reload(struct config *config, struct config_changes *ret_changes);

/* What decides which ids stall. */
struct scan_settings config_settings(const struct config *config);

void config_print_help(FILE *stream);

#endif
