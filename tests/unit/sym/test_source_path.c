/* SPDX-License-Identifier: Apache-2.0 */
/* test_source_path.c - the displayed paths of source files: ripd/sym/child/source_path.c. */
#include <stdlib.h>

#include "support/test.h"
#include "sym/child/source_path.h"

TEST(paths)
{
    static const struct sample {
        const char *directory;
        const char *file;
        const char *shown;
    } samples[] = {
        {"/src", "db.c", "db.c"},
        {"/src", "src/db.c", "src/db.c"},
        {"/src", "/usr/src/db.c", "/usr/src/db.c"},
        {"/src/x", "../y/db.c", "/src/y/db.c"},
        {"/src/x/build", "../../db.c", "/src/db.c"},
        {"/src", "./db.c", "db.c"},
        {"/src", "a/../b/db.c", "b/db.c"},
        {"/src", "a/../../db.c", "/db.c"},
        {"/src", "a//b/./db.c", "a/b/db.c"},
        {"/src", "/src/x/../y", "/src/y"},
        {"/src", "/..//../db.c", "/db.c"},
        {"/src/", "../db.c", "/db.c"},
        {"/a", "../../../db.c", "/db.c"},
        {"relative", "../db.c", "../db.c"},
        {NULL, "../../db.c", "../../db.c"},
        {NULL, "a/../../db.c", "../db.c"},
        {"", "../db.c", "../db.c"},
        {"/src", "..hidden/db.c", "..hidden/db.c"},
        {"/src", "..", "/"},
        {"/src", "", ""},
        {"/src", "/", "/"},
        {"/src", "a/..", ""},
    };

    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        char *shown = source_path(samples[i].directory, samples[i].file);

        assert_string_equal(shown, samples[i].shown);
        free(shown);
    }
}
