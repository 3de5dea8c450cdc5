/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_dump.c - ring_dump FILE: prints a ring as one JSON object, for the tests of the preload library.
 *
 * In names, bytes that are not printable ASCII are printed as \u00XX. The exit status is 0, or 1 if FILE is not a ring.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rip/reader.h"

#define MAX_SAMPLES 4096

static void print_string(const uint8_t *bytes, size_t count)
{
    putchar('"');
    for (size_t i = 0; i < count && bytes[i] != 0; i++) {
        if (bytes[i] < 0x20 || bytes[i] > 0x7e || bytes[i] == '"' || bytes[i] == '\\')
            printf("\\u%04x", bytes[i]);
        else
            putchar(bytes[i]);
    }
    putchar('"');
}

static void print_processes(const struct rip_view *view, uint32_t count)
{
    const char *separator = "";

    fputs("\"processes\":[", stdout);
    for (uint32_t i = 0; i < count; i++) {
        struct rip_process_info info;

        if (rip_view_process(view, i, &info) != RIP_OK)
            continue;
        printf("%s{\"index\":%u,\"state\":%u,\"pid\":%u,\"flags\":%u,\"comm\":", separator, i, info.state, info.pid,
               info.flags);
        print_string(info.comm, sizeof(info.comm));
        putchar('}');
        separator = ",";
    }
    putchar(']');
}

static void print_script(const struct rip_script_info *script)
{
    char text[RIP_SCRIPT_FILE_BYTES + RIP_SCRIPT_FUNCTION_BYTES + 32];
    int bytes = snprintf(text, sizeof(text), "%.*s:%u %.*s", (int)script->file_bytes, (const char *)script->file,
                         script->line, (int)script->function_bytes, (const char *)script->function);

    print_string((const uint8_t *)text, (size_t)bytes);
}

/* Prints "PATH+0xOFFSET" of the module that contains the address, or "FILE:LINE FUNCTION" in a script. */
static void print_address(const struct rip_view *view, uint16_t process, uint64_t address)
{
    struct rip_module_info module;
    struct rip_script_info script;

    if (rip_view_script(view, address, &script) == RIP_OK) {
        print_script(&script);
        return;
    }

    for (uint32_t nth = 0; rip_view_module(view, process, nth, &module) == RIP_OK; nth++) {
        if (address >= module.start && address < module.end) {
            char text[RIP_MODULE_PATH_BYTES + 32];
            int bytes = snprintf(text, sizeof(text), "%.*s+0x%llx", (int)module.path_bytes, (const char *)module.path,
                                 (unsigned long long)(address - module.bias));

            print_string((const uint8_t *)text, (size_t)bytes);
            return;
        }
    }
    printf("\"0x%llx\"", (unsigned long long)address);
}

static void print_holder(const struct rip_view *view, uint32_t slot)
{
    struct rip_wait_info wait;

    if (rip_view_wait(view, slot, &wait) == RIP_OK)
        printf("\"holder\":%u,", wait.owner);
}

static void print_id(const struct rip_view *view, const struct rip_sample *sample)
{
    struct rip_id_info info;
    struct rip_entry entries[RIP_ENTRY_COUNT];
    size_t count = 0;

    if (rip_view_id(view, sample->slot, &info) != RIP_OK)
        return;
    (void)rip_view_trail(view, sample->slot, entries, &count);
    printf("{\"slot\":%u,\"id\":%u,\"tid\":%u,\"process\":%u,\"idle\":%u,\"call\":%u,\"progress\":%llu,", info.slot,
           info.id, info.tid, info.process, info.idle, info.call, (unsigned long long)info.progress);
    print_holder(view, sample->slot);
    fputs("\"name\":", stdout);
    print_string(info.name, info.name_bytes);
    fputs(",\"trail\":[", stdout);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            putchar(',');
        print_address(view, info.process, entries[i].address);
    }
    fputs("]},", stdout);
}

static void print_ring(const struct rip_view *view)
{
    static struct rip_sample samples[MAX_SAMPLES];
    struct rip_scan_position position = {0};
    struct rip_ring_info info;
    size_t count;

    rip_view_info(view, &info);
    printf("{\"capacity\":%u,\"refused\":%llu,\"registered\":%llu,", info.slot_capacity,
           (unsigned long long)(info.refused_full_count + info.refused_memory_count + info.refused_process_count),
           (unsigned long long)info.registered_count);
    print_processes(view, info.process_high_water);
    fputs(",\"ids\":[", stdout);
    do {
        count = rip_view_scan(view, &position, samples, MAX_SAMPLES);
        for (size_t i = 0; i < count; i++)
            print_id(view, &samples[i]);
    } while (count == MAX_SAMPLES);
    puts("null]}");
}

int main(int argc, char **argv)
{
    int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    enum rip_status status;
    struct rip_view view;
    struct stat file;
    void *base;

    if (fd < 0 || fstat(fd, &file) != 0 || file.st_size == 0) {
        fprintf(stderr, "ring_dump: cannot read %s\n", argc == 2 ? argv[1] : "");
        return 1;
    }
    base = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return 1;
    status = rip_view_open(&view, base, (uint64_t)file.st_size);
    if (status != RIP_OK) {
        fprintf(stderr, "ring_dump: %s %s\n", argv[1], rip_status_text(status));
        return 1;
    }
    print_ring(&view);
    return 0;
}
