/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_preload_symbols.c - librip/auto/preload_symbols.c finds the same functions as dlsym(), and most of those that
 * the library needs.
 */
#include <dlfcn.h>
#include <gnu/lib-names.h>

#include "preload.h"
#include "support/symbols/symbols_kit.h"
#include "support/test.h"

static const char *const call_names[CALL_COUNT] = {
#define ANNOUNCED(type, name, parameters, arguments, call, done) [CALL_##name] = #name,
#define OWN(name) [CALL_##name] = #name,
#define CALLED(name) [CALL_##name] = #name,
#include "preload_calls.h"
};

/* Before glibc 2.35 nothing reports the library in which the search begins. */
static bool is_supported(void)
{
    return dlsym(RTLD_DEFAULT, "_dl_find_object") != NULL;
}

TEST(finds_the_same_functions_as_dlsym)
{
    unsigned int found = 0;

    for (unsigned int i = 0; i < CALL_COUNT; i++) {
        const void *function = preload_symbol_find(call_names[i]);

        if (function == NULL)
            continue;
        found++;
        if (function != dlsym(RTLD_NEXT, call_names[i]))
            fail_msg("%s: not the function that dlsym() finds", call_names[i]);
    }
    if (is_supported())
        assert_in_range(found, CALL_COUNT - 20, CALL_COUNT);
}

TEST(preceding_library_is_found)
{
    if (!is_supported())
        skip();
    assert_int_equal(kit_plain(), 1);
    assert_ptr_equal(preload_symbol_find("kit_plain"), dlsym(RTLD_NEXT, "kit_plain"));
    assert_ptr_equal(preload_symbol_find("sigpause"), kit_address_of_sigpause());
}

TEST(default_version_is_found)
{
    void *function = preload_symbol_find("kit_versions");

    if (!is_supported())
        skip();
    assert_ptr_equal(function, dlsym(RTLD_NEXT, "kit_versions"));
    assert_ptr_equal(function, dlsym(RTLD_NEXT, "kit_versions_new"));
}

TEST(other_symbols_are_left_to_dlsym)
{
    static const char *const names[] = {"kit_old", "kit_chosen", "kit_data", "kit_absent", "environ", ""};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_null(preload_symbol_find(names[i]));
}

TEST(c_library_is_searched_alone)
{
    void *libc = dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD); /* a sanitizer's functions come first */

    if (!is_supported())
        skip();
    assert_ptr_not_equal(preload_symbol_of_libc("sigpause"), kit_address_of_sigpause());
    assert_ptr_equal(preload_symbol_of_libc("clock_gettime"), dlsym(libc, "clock_gettime"));
    assert_null(preload_symbol_of_libc("kit_plain"));
}
