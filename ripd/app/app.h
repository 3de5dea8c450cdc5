/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app.h - the daemon put together: the only place that knows every layer, and the only one that logs.
 *
 * The caller of app_run() is the scanner: it alone touches rings and the detector. The HTTP thread holds snapshots.
 * Between them pass an immutable snapshot after each scan, and queries with their pages. The names thread and, with a
 * state directory, the history thread keep files and disks away from both.
 */
#ifndef RIPD_APP_APP_H
#define RIPD_APP_APP_H

#include "app/config.h"

/*
 * Runs until SIGTERM or SIGINT. SIGHUP reads the configuration anew: *config is what is in force. Returns the exit
 * status: 0, or 1 after an error has been logged.
 */
int app_run(struct config *config);

#endif
