/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference.h - counted references to values that threads share. Pure.
 *
 * The first member of such a struct is its counter, an atomic_uint, which begins at 1. NULL is allowed in
 * reference_take() and reference_drop().
 */
#ifndef RIPD_UTIL_REFERENCE_H
#define RIPD_UTIL_REFERENCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* All zero, with one holder. NULL: no memory. */
static inline void *reference_new(size_t bytes)
{
    void *value = calloc(1, bytes);

    if (value != NULL)
        atomic_init((atomic_uint *)value, 1);
    return value;
}

/* One more holder; returns the value. */
static inline void *reference_take(void *value)
{
    if (value != NULL)
        atomic_fetch_add_explicit((atomic_uint *)value, 1, memory_order_relaxed);
    return value;
}

/* Defines NAME_ref() of a struct NAME: reference_take() of that type. A semicolon follows. */
#define REFERENCED(name)                                                                                               \
    static inline struct name *name##_ref(struct name *value)                                                          \
    {                                                                                                                  \
        return reference_take(value);                                                                                  \
    }                                                                                                                  \
    struct name

/*
 * One holder less. True: it was the last one, and the value is to be freed. Release: what this holder did comes before;
 * acquire: the last one sees all of it. Partner: the same decrement by every other holder.
 */
static inline bool reference_drop(void *value)
{
    return value != NULL && atomic_fetch_sub_explicit((atomic_uint *)value, 1, memory_order_acq_rel) == 1;
}

#endif
