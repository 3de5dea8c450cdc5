/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference.h - reference counts of values that threads share. Pure.
 *
 * The first member of such a struct is its reference count, an atomic_uint that is 1 at first. reference_take() and
 * reference_drop() accept NULL.
 */
#ifndef RIPD_UTIL_REFERENCE_H
#define RIPD_UTIL_REFERENCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Returns a value that is all zero, with one reference, or NULL if out of memory. */
static inline void *reference_new(size_t bytes)
{
    void *value = calloc(1, bytes);

    if (value != NULL)
        atomic_init((atomic_uint *)value, 1);
    return value;
}

/* Takes a reference and returns the value. */
static inline void *reference_take(void *value)
{
    if (value != NULL)
        atomic_fetch_add_explicit((atomic_uint *)value, 1, memory_order_relaxed);
    return value;
}

/* Defines NAME_ref() for struct NAME: reference_take() with its type. Write a semicolon after it. */
#define REFERENCED(name)                                                                                               \
    static inline struct name *name##_ref(struct name *value)                                                          \
    {                                                                                                                  \
        return reference_take(value);                                                                                  \
    }                                                                                                                  \
    struct name

/*
 * Drops a reference. Returns true if it was the last one, and the value must be freed. Release: everything that this
 * holder did comes before the decrement. Acquire: the last holder sees all of it. Partner: the same decrement by each
 * other holder.
 */
static inline bool reference_drop(void *value)
{
    return value != NULL && atomic_fetch_sub_explicit((atomic_uint *)value, 1, memory_order_acq_rel) == 1;
}

#endif
