/* SPDX-License-Identifier: Apache-2.0 */
/* symbols_kit.h - the exports of the library for test_preload_symbols, except kit_data, kit_old and kit_chosen. */
#ifndef RIP_TEST_SYMBOLS_KIT_H
#define RIP_TEST_SYMBOLS_KIT_H

int kit_plain(void);
int kit_versions_old(void); /* kit_versions of KIT_1, not the default version */
int kit_versions_new(void); /* kit_versions of KIT_2 */
int kit_old_only(void);     /* kit_old of KIT_1, its only version */
/* The library's sigpause(), which precedes the C library's. */
void *kit_address_of_sigpause(void);

#endif
