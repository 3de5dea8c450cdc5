/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curl_library.h - libcurl, loaded when something is asked over HTTP, not when `rip` starts.
 *
 * libcurl brings some thirty libraries with it, TLS and directory services among them. `rip run` stands in front of
 * other people's programs and needs none of that: linked, it would take five times as long to start.
 */
#ifndef RIP_CLI_CURL_LIBRARY_H
#define RIP_CLI_CURL_LIBRARY_H

#include <curl/curl.h>

/* The functions that are used, without their prefix "curl_". */
#define CURL_LIBRARY_FUNCTIONS(X)                                                                                      \
    X(global_init)                                                                                                     \
    X(easy_init)                                                                                                       \
    X(easy_cleanup)                                                                                                    \
    X(easy_setopt)                                                                                                     \
    X(easy_getinfo)                                                                                                    \
    X(easy_perform)                                                                                                    \
    X(easy_strerror)                                                                                                   \
    X(slist_append)                                                                                                    \
    X(slist_free_all)                                                                                                  \
    X(multi_init)                                                                                                      \
    X(multi_cleanup)                                                                                                   \
    X(multi_add_handle)                                                                                                \
    X(multi_remove_handle)                                                                                             \
    X(multi_perform)                                                                                                   \
    X(multi_poll)                                                                                                      \
    X(multi_info_read)                                                                                                 \
    X(multi_strerror)

struct curl_library {
#define X(name) __typeof__(curl_##name) *name;
    CURL_LIBRARY_FUNCTIONS(X)
#undef X
};

/* The library, loaded once and kept. NULL: there is none; *ret_reason says why, a static string or the loader's. */
const struct curl_library *curl_library_load(const char **ret_reason);

#endif
