/* SPDX-License-Identifier: Apache-2.0 */
/* reader_test.h - the ring that a reader test builds, and the view of it. */
#ifndef TESTS_UNIT_READER_TEST_H
#define TESTS_UNIT_READER_TEST_H

#include "rip/reader.h"
#include "support/ring_builder.h"
#include "support/test.h"

static struct ring_builder builder;
static struct rip_view view;

static inline void open_view(void)
{
    assert_int_equal(rip_view_open(&view, builder.bytes, builder.size_bytes), RIP_OK);
}

/* Returns the status of opening these bytes. */
static inline enum rip_status open_bytes(const void *bytes, uint64_t size_bytes)
{
    struct rip_view other;

    return rip_view_open(&other, bytes, size_bytes);
}

static inline void expect_open(const void *bytes, uint64_t size_bytes, enum rip_status status)
{
    assert_int_equal(open_bytes(bytes, size_bytes), status);
}

/* The whole ring of the builder. */
static inline void expect_whole(enum rip_status status)
{
    expect_open(builder.bytes, builder.size_bytes, status);
}

static inline int open_sample(void **state)
{
    (void)state;
    ring_builder_new_sample(&builder);
    open_view();
    return 0;
}

static inline int free_ring(void **state)
{
    (void)state;
    ring_builder_free(&builder);
    return 0;
}

#endif
