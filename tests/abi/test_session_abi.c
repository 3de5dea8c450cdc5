/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session_abi.c - the structs of rip/session.h match those that programs of the first release were compiled with.
 * Structs that the library allocates, or that carry their size, may grow at their end. No field moves.
 */
#include "rip/session.h"
#include "support/test.h"

struct fixed {
    const char *what;
    size_t bytes, fixed_bytes;
};

#define SIZE(type, bytes)                                                                                              \
    {                                                                                                                  \
#type, sizeof(struct type), bytes                                                                              \
    }
#define OFFSET(type, field, bytes)                                                                                     \
    {                                                                                                                  \
#type "." #field, offsetof(struct type, field), bytes                                                          \
    }

TEST(structs_have_not_shrunk)
{
    static const struct fixed sizes[] = {
        SIZE(rip_text, 16),
        SIZE(rip_event_id, 16),
        SIZE(rip_event, 152),
        SIZE(rip_session_options, 56),
        SIZE(rip_observer, 104),
        SIZE(rip_session_limit, 40),
        SIZE(rip_recording_options, 48),
        SIZE(rip_recording_state, 112),
    };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (sizes[i].bytes < sizes[i].fixed_bytes)
            fail_msg("%s has only %zu bytes", sizes[i].what, sizes[i].bytes);
    assert_int_equal(sizeof(struct rip_text), 16);             /* other structs contain it */
    assert_int_equal(sizeof(struct rip_recording_state), 112); /* allocated by the caller, without size */
}

TEST(nothing_has_moved)
{
    static const struct fixed offsets[] = {
        OFFSET(rip_event, kind, 0),
        OFFSET(rip_event, ring, 4),
        OFFSET(rip_event, number, 8),
        OFFSET(rip_event, earliest_wall_ns, 16),
        OFFSET(rip_event, latest_mono_ns, 40),
        OFFSET(rip_event, slot, 48),
        OFFSET(rip_event, process, 60),
        OFFSET(rip_event, as, 64),
        OFFSET(rip_event_ring, created_wall_ns, 64),
        OFFSET(rip_event_ring, preload, 80),
        OFFSET(rip_event_module, info, 8),
        OFFSET(rip_event_death, status, 8),
        OFFSET(rip_event_death, replaced, 15),
        OFFSET(rip_event_id, found, 8),
        OFFSET(rip_event_snap, torn_count, 24),
        OFFSET(rip_event_snap, entries, 32),
        OFFSET(rip_event_exit, has_snap_count, 8),
        OFFSET(rip_event_totals, exact, 56),
        OFFSET(rip_event_drain, duration_ns, 32),
        OFFSET(rip_session_options, once, 32),
        OFFSET(rip_session_options, name_count, 48),
        OFFSET(rip_observer, event, 16),
        OFFSET(rip_observer, stall_end, 96),
        OFFSET(rip_session_limit, id, 36),
        OFFSET(rip_recording_options, sync_interval_ns, 40),
        OFFSET(rip_recording_state, error, 40),
    };

    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
        if (offsets[i].bytes != offsets[i].fixed_bytes)
            fail_msg("%s has moved to %zu", offsets[i].what, offsets[i].bytes);
}

TEST(kinds_keep_their_numbers)
{
    assert_int_equal(RIP_EVENT_RING, 1);
    assert_int_equal(RIP_EVENT_REGISTER, 6);
    assert_int_equal(RIP_EVENT_SNAP, 8);
    assert_int_equal(RIP_EVENT_EXIT, 10);
    assert_int_equal(RIP_EVENT_STALL_END, 14);
    assert_int_equal(RIP_EVENT_DRAIN, 15);
    assert_int_equal(RIP_EVENT_SCRIPT, 16);
    assert_int_equal(RIP_SESSION_RECORDING, 4);
}
