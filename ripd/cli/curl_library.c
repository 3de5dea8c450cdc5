/* SPDX-License-Identifier: Apache-2.0 */
/* curl_library.c - finds libcurl under the names that it has on different systems. */
#include "cli/curl_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The first has OpenSSL or the system's choice; Debian calls those with other TLS libraries by other names. */
static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"};

static bool find(void *handle, const char *name, void *ret_function)
{
    void *symbol = dlsym(handle, name);

    memcpy(ret_function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static bool find_all(void *handle, struct curl_library *library)
{
#define X(name) &&find(handle, "curl_" #name, &library->name)
    return true CURL_LIBRARY_FUNCTIONS(X);
#undef X
}

const struct curl_library *curl_library_load(const char **ret_reason)
{
    static struct curl_library library;
    static bool loaded;

    for (size_t i = 0; !loaded && i < sizeof(names) / sizeof(names[0]); i++) {
        void *handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

        loaded = handle != NULL && find_all(handle, &library) && library.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
        if (!loaded && handle != NULL)
            dlclose(handle);
    }
    if (!loaded)
        *ret_reason = "libcurl.so.4 (package libcurl4) is not installed, or too old";
    return loaded ? &library : NULL;
}
