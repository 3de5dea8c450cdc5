/* SPDX-License-Identifier: Apache-2.0 */
/* test_demangle.c - mangled names of C++, Rust and D: ripd/sym/child/demangle.c. */
#include <stdlib.h>

#include "support/test.h"
#include "sym/child/demangle.h"

TEST(names)
{
    static const struct sample {
        const char *name;
        const char *text; /* NULL: not a mangled name */
    } samples[] = {
        {"main", NULL},
        {"", NULL},
        {"f", NULL}, /* the demangler would take it for a type */
        {"i", NULL},
        {"_Z", NULL},
        {"_ZN", NULL},
        {"_Z4workv", "work()"},
        {"_ZN5store5TableIiE4scanEi", "store::Table<int>::scan(int)"},
        {"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"},
        {"_ZN6target5store14Table$LT$T$GT$4scan17h70b494ae2cd4aeedE", "target::store::Table<T>::scan"},
        {"_ZN46_$LT$target..Db$u20$as$u20$core..ops..Drop$GT$4drop17h70b494ae2cd4aeedE",
         "<target::Db as core::ops::Drop>::drop"},
        {"_ZN1a1b17hnothexadecimal00E", "a::b::hnothexadecimal00"},
        {"_RNvMNtCs4fqI2P2rA04_6target5storeINtB2_5TablemE4scanB4_", "<target::store::Table<u32>>::scan"},
        {"_RNvXs5_NtCsd4VYFwevHkG_4core3fmtRhNtB5_5Debug3fmt", "<&u8 as core::fmt::Debug>::fmt"},
        {"_R", NULL},
        {"_RNv", NULL},
        {"_D6target5store4scanFiZv", "target.store.scan(int)"},
        {"_DYNAMIC", NULL},
    };

    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        char *text = demangle(samples[i].name);

        if ((text == NULL) != (samples[i].text == NULL))
            fail_msg("%s: %s", samples[i].name, text != NULL ? text : "not demangled");
        if (text != NULL)
            assert_string_equal(text, samples[i].text);
        free(text);
    }
}
