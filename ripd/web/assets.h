/* SPDX-License-Identifier: Apache-2.0 */
/* assets.h - the files of the web page, built into the program. Constant. */
#ifndef RIPD_WEB_ASSETS_H
#define RIPD_WEB_ASSETS_H

#include <stddef.h>

struct web_asset {
    const char *name; /* of the file */
    const char *content_type;
    const char *tag; /* a strong ETag of the bytes */
    const char *bytes;
    size_t length;
};

#define WEB_PAGE_NAME "page.html"

/* Returns NULL if there is no such name; the name need not be terminated. */
const struct web_asset *web_asset_find(const char *name, size_t length);

#endif
