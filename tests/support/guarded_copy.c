/* SPDX-License-Identifier: Apache-2.0 */
/* guarded_copy.c - see guarded_copy.h. */
#include "support/guarded_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void guarded_copy_new(struct guarded_copy *copy, const void *bytes, size_t size_bytes)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t room_bytes = (size_bytes + page_bytes - 1) / page_bytes * page_bytes;
    unsigned char *mapping =
        mmap(NULL, room_bytes + page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (mapping == MAP_FAILED || mprotect(mapping + room_bytes, page_bytes, PROT_NONE) != 0) {
        perror("guarded_copy_new");
        exit(EXIT_FAILURE);
    }
    copy->mapping = mapping;
    copy->mapping_bytes = room_bytes + page_bytes;
    copy->bytes = mapping + room_bytes - size_bytes;
    if (bytes != NULL)
        memcpy(copy->bytes, bytes, size_bytes);
}

void guarded_copy_free(struct guarded_copy *copy)
{
    munmap(copy->mapping, copy->mapping_bytes);
    *copy = (struct guarded_copy){0};
}

void guarded_cuts(const char *text, void (*parse)(char *text))
{
    for (size_t length = 0; length <= strlen(text); length++) {
        struct guarded_copy copy;

        guarded_copy_new(&copy, NULL, length + 1);
        memcpy(copy.bytes, text, length);
        parse((char *)copy.bytes);
        guarded_copy_free(&copy);
    }
}
