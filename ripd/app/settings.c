/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - shares of an interval, and sums. Pure. */
#include "app/settings.h"

#include "cases/scan_record.h"
#include "ring/registry.h"

#define JUDGING_DIVISOR 20u
#define UNCLASSIFIED_DIVISOR 20u
#define PROBE_BUDGET_DIVISOR 10u

struct detector_config settings_detector(const struct config *config)
{
    return scan_settings_detector(&(struct scan_settings){
        .interval_ns = config->interval_ns, .stall_after_ns = config->stall_after_ns, .rules = config->rules});
}

uint64_t settings_hysteresis_ns(const struct config *config)
{
    return config->stall_after_ns + config->interval_ns;
}

uint64_t settings_judging_ns(const struct config *config)
{
    uint64_t judging_ns = config->interval_ns / JUDGING_DIVISOR;

    return judging_ns < REGISTRY_JUDGING_NS ? judging_ns : REGISTRY_JUDGING_NS;
}

uint64_t settings_unclassified_ns(const struct config *config)
{
    return config->interval_ns / UNCLASSIFIED_DIVISOR;
}

uint64_t settings_probe_budget_ns(const struct config *config)
{
    return config->interval_ns / PROBE_BUDGET_DIVISOR;
}
