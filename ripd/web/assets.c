/* SPDX-License-Identifier: Apache-2.0 */
/* assets.c - the table that assets.cmake makes from the files of this folder, and its look-up. */
#include "web/assets.h"

#include <string.h>

#include "web/asset_rows.h"

const struct web_asset *web_asset_find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); i++)
        if (strlen(assets[i].name) == length && memcmp(assets[i].name, name, length) == 0)
            return &assets[i];
    return NULL;
}
