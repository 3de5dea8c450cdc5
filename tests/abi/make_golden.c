/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_golden.c - writes the golden image of format 1 to the named file. The image is made by ring_builder.c, that is
 * from ring.h alone.
 *
 * Run once per format. A committed image is never replaced, because it stands for the files of existing users.
 */
#include <stdio.h>

#include "support/ring_builder.h"

int main(int argc, char **argv)
{
    struct ring_builder builder;
    FILE *file;
    int failed;

    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    file = fopen(argv[1], "wbx"); /* never replaces an image */
    if (file == NULL) {
        perror(argv[1]);
        return 1;
    }
    ring_builder_new_sample(&builder);
    failed = fwrite(builder.bytes, 1, builder.size_bytes, file) != builder.size_bytes;
    failed |= fclose(file) != 0;
    if (failed)
        perror(argv[1]);
    ring_builder_free(&builder);
    return failed;
}
