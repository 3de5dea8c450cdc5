/* SPDX-License-Identifier: Apache-2.0 */
/* assets.h - the files that the page consists of, built into the program. Constant. */
#ifndef RIPD_WEB_ASSETS_H
#define RIPD_WEB_ASSETS_H

#include <stddef.h>

struct web_asset {
    const char *name; /* of the file */
    const char *content_type;
    const char *tag; /* a strong ETag, of its bytes */
    const char *bytes;
    size_t length;
};

#define WEB_PAGE_NAME "page.html"

/* NULL: there is none of that name, which need not be terminated. */
const struct web_asset *web_asset_find(const char *name, size_t length);

#endif
