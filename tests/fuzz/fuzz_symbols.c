/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_symbols.c - answers of a symbolizer, and lines of /proc/PID/maps: accepted ones are in bounds. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "os/proc_maps.h"
#include "sym/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    char *text = malloc(size_bytes + 1); /* exact size, to detect reads past the end */
    struct proc_mapping mapping;
    struct sym_found found;

    if (text == NULL)
        return 0;
    if (size_bytes != 0)
        memcpy(text, bytes, size_bytes);
    text[size_bytes] = '\0';
    if (proc_maps_parse_line(text, &mapping) == 0)
        require(mapping.start < mapping.end && mapping.inode != 0 && mapping.path <= text + size_bytes);
    require(!proc_maps_path_fits(text, "relative"));
    (void)proc_maps_path_fits(text, "/usr/bin/redis-server");
    if (size_bytes >= sizeof(found)) {
        struct symbol *symbol;

        memcpy(&found, bytes, sizeof(found));
        symbol = sym_found_parse(bytes, size_bytes, found.key, found.offset);
        require(symbol == NULL || symbol->frame_count == found.frame_count);
        for (size_t i = 0; symbol != NULL && i < symbol->frame_count; i++)
            require(symbol->frames[i].function == NULL || strlen(symbol->frames[i].function) <= SYMBOL_TEXT_BYTES_MAX);
        free(symbol);
    }
    free(text);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity)
{
    static const char line[] = "55d0c0a00000-55d0c0a22000 r-xp 00002000 fe:01 1311765      /usr/bin/redis-server\n";
    static const struct symbol_frame frames[] = {{"db_wait", "src/db.c", 120}, {"main", NULL, 3}};

    if (number == 0) {
        memcpy(ret_bytes, line, sizeof(line) - 1);
        return sizeof(line) - 1;
    }
    return number == 1 ? sym_found_format(ret_bytes, capacity, 7, 0x1234, frames, 2) : 0;
}
