/* SPDX-License-Identifier: Apache-2.0 */
/* compare_lttng.h - a tracepoint of LTTng-UST with one argument. LTTng's macros include it more than once. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER rip_compare
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "compare_lttng.h"
#if !defined(COMPARE_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define COMPARE_LTTNG_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT(rip_compare, place, LTTNG_UST_TP_ARGS(int, id),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, id, id)))
#endif
#include <lttng/tracepoint-event.h>
