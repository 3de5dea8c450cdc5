/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - the settings of ripd, from its command line and its file. config_table.c has the table of flags. The keys
 * of the file, --help and the manual page are made from the same table.
 *
 * The command line takes precedence over the file, and the file over the defaults. A list is replaced, not extended:
 * --dir on the command line replaces every dir of the file.
 *
 * Guarantees
 *   A. A configuration owns its strings. None of them points into a command line or a file.
 *   B. Every error is one line that says where it is, what was found and what was expected. The configuration in force
 *      stays unchanged.
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
    bool by_default; /* no source gave a value */
};

struct config {
    struct config_list listen;
    struct config_list directories;
    struct config_list allow_hosts;
    uint64_t interval_ns;
    uint64_t stall_after_ns;
    struct rules rules; /* override stall_after_ns by name */
    enum log_level log_level;
    char *state_directory;  /* absolute; NULL = nothing is written to disk */
    char *record_directory; /* absolute; NULL = nothing is recorded */
    char *on_stall;         /* shell command; NULL = none */
    char *file;             /* of --config; NULL = none */
    int argc;               /* command line for a reload; borrowed */
    char *const *argv;
};

enum config_action { CONFIG_RUN, CONFIG_CHECK, CONFIG_SHOW_HELP, CONFIG_SHOW_VERSION, CONFIG_BAD };

#define CONFIG_ERROR_BYTES 512u

/*
 * Makes *ret_config from the command line, the file that it names, and the defaults. Free it with config_done() after
 * CONFIG_RUN or CONFIG_CHECK; otherwise *ret_config is untouched. After CONFIG_BAD, ret_error is one line of printable
 * ASCII without a newline. argv must outlive *ret_config.
 */
enum config_action config_load(int argc, char *const *argv, struct config *ret_config,
                               char ret_error[CONFIG_ERROR_BYTES]);

void config_done(struct config *config);

#define CONFIG_KEYS_BYTES 256u

struct config_changes {
    char applied[CONFIG_KEYS_BYTES]; /* "stall-after, dir": keys that have changed */
    char refused[CONFIG_KEYS_BYTES]; /* keys whose new value needs a restart */
    char error[CONFIG_ERROR_BYTES];  /* why nothing has changed */
};

/*
 * Reloads the command line and the file into *config. Keys that need a restart keep their value, so that *config is
 * always what is in force. Returns 0; -EINVAL with the error filled, and *config unchanged; -ENOENT if there is no
 * file.
 */
int config_reload(struct config *config, struct config_changes *ret_changes);

/* Returns the settings that decide which ids stall. */
struct scan_settings config_settings(const struct config *config);

void config_print_help(FILE *stream);

#endif
