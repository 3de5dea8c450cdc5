/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h - how shared words of a ring are read and written, for C and C++.
 *
 * Every access to a word that another thread or process may change at the same time uses one of these macros. The name
 * states the memory order. The comment at each use names the partner at the other end ("pairs with ..."). A relaxed
 * access is atomic and has no order: it is used where each value is checked by itself (see ORDERING in librip/ABI.md).
 */
#ifndef RIP_ORDER_H
#define RIP_ORDER_H

#define rip_load_relaxed(pointer) __atomic_load_n((pointer), __ATOMIC_RELAXED)
#define rip_load_acquire(pointer) __atomic_load_n((pointer), __ATOMIC_ACQUIRE)
#define rip_store_relaxed(pointer, value) __atomic_store_n((pointer), (value), __ATOMIC_RELAXED)
#define rip_store_release(pointer, value) __atomic_store_n((pointer), (value), __ATOMIC_RELEASE)

/* Both return the value before the operation. */
#define rip_add_relaxed(pointer, value) __atomic_fetch_add((pointer), (value), __ATOMIC_RELAXED)
#define rip_add_release(pointer, value) __atomic_fetch_add((pointer), (value), __ATOMIC_RELEASE)
#define rip_or_release(pointer, value) __atomic_fetch_or((pointer), (value), __ATOMIC_RELEASE)
#define rip_and_release(pointer, value) __atomic_fetch_and((pointer), (value), __ATOMIC_RELEASE)

/* Returns true if *pointer was *expected and is now value. Otherwise stores the value found in *expected. */
#define rip_compare_exchange(pointer, expected, value)                                                                 \
    __atomic_compare_exchange_n((pointer), (expected), (value), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

#define rip_fence_acquire() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define rip_fence_release() __atomic_thread_fence(__ATOMIC_RELEASE)

/* Orders this thread only against its own signal handlers. Emits no instruction. */
#define rip_signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif
