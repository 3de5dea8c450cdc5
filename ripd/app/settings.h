/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - what the parts of ripd are set to: times and shares that follow from the configuration. Pure. */
#ifndef RIPD_APP_SETTINGS_H
#define RIPD_APP_SETTINGS_H

#include <stdint.h>

#include "app/config.h"
#include "detect/detector.h"

struct detector_config settings_detector(const struct config *config);

/* An id that freezes again at once is stalled again after stall-after: that is one episode. */
uint64_t settings_hysteresis_ns(const struct config *config);

/* What a scan may take for each of these, at most. */
uint64_t settings_judging_ns(const struct config *config);      /* process records */
uint64_t settings_unclassified_ns(const struct config *config); /* names of new ids, where there are rules */
uint64_t settings_probe_budget_ns(const struct config *config); /* evidence */

#endif
