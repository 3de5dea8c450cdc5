/* SPDX-License-Identifier: Apache-2.0 */
/* symbols_kit.h - what the library of test_preload_symbols exports, beside kit_data, kit_old and kit_chosen. */
#ifndef RIP_TEST_SYMBOLS_KIT_H
#define RIP_TEST_SYMBOLS_KIT_H

int kit_plain(void);
int kit_versions_old(void); /* kit_versions of KIT_1, which is no default */
int kit_versions_new(void); /* kit_versions of KIT_2 */
int kit_old_only(void);     /* kit_old of KIT_1, of which there is no other version */
/* The library's own sigpause(), which stands in front of the C library's. */
void *kit_address_of_sigpause(void);

#endif
