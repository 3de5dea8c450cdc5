/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload.h - the configuration read anew while the daemon runs: what may change changes, what may not is reported.
 */
#ifndef RIPD_APP_RELOAD_H
#define RIPD_APP_RELOAD_H

#include "app/config.h"

#define RELOAD_KEYS_BYTES 256u

struct reload {
    char applied[RELOAD_KEYS_BYTES]; /* "stall-after, dir": keys that have changed */
    char refused[RELOAD_KEYS_BYTES]; /* keys whose new value takes a restart */
    char error[CONFIG_ERROR_BYTES];  /* why nothing has changed */
};

/*
 * Makes *config what its command line and its file say now, except for what takes a restart: that stays what it is,
 * so that *config is always what is in force. 0, or -EINVAL with the error filled: *config is as it was. A
 * configuration without a file: -ENOENT.
 */
int reload_config(struct config *config, struct reload *ret_reload);

/* Logs the result. */
void reload_report(const struct config *config, int status, const struct reload *reload);

#endif
