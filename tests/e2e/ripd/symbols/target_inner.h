/* SPDX-License-Identifier: Apache-2.0 */
/* target_inner.h - a function that is always inlined, in a separate file. */
static inline __attribute__((always_inline)) void inner(void)
{
    rip_snap(); /* MARK inner */
}
