/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app.h - the daemon as a whole: the only folder that knows every layer, and the only one that logs.
 *
 * The thread that calls app_run() is the scanner: only the scanner touches rings and the detector. The HTTP thread
 * holds snapshots. The scanner and the HTTP thread exchange an immutable snapshot after each scan, and queries with
 * their pages. The names thread, and with a state directory the history thread, do file and disk access for both of
 * them.
 */
#ifndef RIPD_APP_APP_H
#define RIPD_APP_APP_H

#include "app/config.h"

/*
 * Runs until SIGTERM or SIGINT. SIGHUP reloads the configuration; *config is always the configuration in force. Returns
 * the exit status: 0, or 1 after an error has been logged.
 */
int app_run(struct config *config);

#endif
