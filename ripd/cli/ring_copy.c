/* SPDX-License-Identifier: Apache-2.0 */
/* ring_copy.c - see ring_copy.h. Touches one descriptor and the address space. */
#include "cli/ring_copy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RING_BYTES_MAX (UINT64_C(1) << 34)
#define COPIED_BYTES_MAX (UINT64_C(1) << 28)

void ring_copy_done(struct ring_copy *copy)
{
    if (copy->bytes != NULL)
        munmap(copy->bytes, copy->size_bytes);
}

/* Copies what is no hole. 0 or -errno. */
static int copy_data(struct ring_copy *copy, int descriptor)
{
    uint64_t copied = 0, at = 0;

    while (at < copy->size_bytes) {
        off_t begin = lseek(descriptor, (off_t)at, SEEK_DATA), end;

        if (begin < 0)
            return errno == ENXIO ? 0 : -errno; /* nothing but a hole follows */
        end = lseek(descriptor, begin, SEEK_HOLE);
        if (end < 0)
            return -errno;
        if ((uint64_t)end > copy->size_bytes)
            end = (off_t)copy->size_bytes;
        for (at = (uint64_t)begin; at < (uint64_t)end;) {
            ssize_t count = pread(descriptor, copy->bytes + at, (size_t)((uint64_t)end - at), (off_t)at);

            if (count <= 0)
                return count == 0 ? 0 : -errno; /* it was cut */
            at += (uint64_t)count;
            copied += (uint64_t)count;
            if (copied > COPIED_BYTES_MAX)
                return -EFBIG;
        }
    }
    return 0;
}

bool ring_copy_take(struct ring_copy *copy, int descriptor, uint64_t size_bytes, const char **ret_reason)
{
    enum rip_status status;
    int error;

    *copy = (struct ring_copy){.size_bytes = size_bytes};
    *ret_reason = size_bytes == 0 ? rip_status_text(RIP_NOT_A_RING) : "is too large";
    if (size_bytes == 0 || size_bytes > RING_BYTES_MAX)
        return false;
    copy->bytes = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copy->bytes == MAP_FAILED) {
        copy->bytes = NULL;
        return false;
    }
    error = copy_data(copy, descriptor);
    status = error == 0 ? rip_view_open(&copy->view, copy->bytes, size_bytes) : RIP_DAMAGED;
    *ret_reason = error != 0 ? strerror(-error) : rip_status_text(status);
    if (error == 0 && status == RIP_OK)
        return true;
    ring_copy_done(copy);
    return false;
}

/* JSON ------------------------------------------------------------------------------------------------------------- */

json_t *ring_json_text(const void *bytes, size_t count)
{
    json_t *text = json_stringn(bytes, count);
    char plain[RIP_MODULE_PATH_BYTES];

    if (text != NULL || count > sizeof(plain))
        return text != NULL ? text : json_null();
    for (size_t i = 0; i < count; i++)
        plain[i] = (char)(((const unsigned char *)bytes)[i] < 0x80 ? ((const unsigned char *)bytes)[i] : '?');
    return json_stringn(plain, count);
}

/* As digits, of RIP_BUILD_ID_BYTES bytes at most; "": the module has none. */
static void format_build_id(char digits[RIP_BUILD_ID_BYTES * 2 + 1], const struct rip_module_info *module)
{
    digits[0] = '\0';
    for (size_t i = 0; i < module->build_id_bytes; i++)
        snprintf(digits + 2 * i, 3, "%02x", module->build_id[i]);
}

void ring_json_paths(const struct rip_view *view, uint32_t process, json_t *paths)
{
    struct rip_module_info module;
    char digits[RIP_BUILD_ID_BYTES * 2 + 1];

    for (uint32_t nth = 0; nth < RIP_PROCESS_MODULES && rip_view_module(view, process, nth, &module) == RIP_OK; nth++) {
        format_build_id(digits, &module);
        if (digits[0] != '\0')
            json_object_set_new(paths, digits, ring_json_text(module.path, module.path_bytes));
    }
}

/* The place of an address in a module of its process: the newest where several overlap. */
static json_t *make_place(const struct rip_view *view, uint32_t process, uint64_t address)
{
    struct rip_module_info module, found;
    const uint8_t *name;
    bool is_found = false;
    char offset[32], build_id[RIP_BUILD_ID_BYTES * 2 + 1];

    for (uint32_t nth = 0; nth < RIP_PROCESS_MODULES && rip_view_module(view, process, nth, &module) == RIP_OK; nth++)
        if (address >= module.start && address < module.end) {
            found = module;
            is_found = true;
        }
    if (!is_found)
        return json_pack("{s:n, s:n}", "module", "offset");
    name = memrchr(found.path, '/', found.path_bytes);
    name = name != NULL ? name + 1 : found.path;
    snprintf(offset, sizeof(offset), "0x%" PRIx64, address - found.bias);
    format_build_id(build_id, &found);
    return json_pack("{s:o, s:s?, s:s}", "module", ring_json_text(name, (size_t)(found.path + found.path_bytes - name)),
                     "build_id", build_id[0] != '\0' ? build_id : NULL, "offset", offset);
}

json_t *ring_json_trail(const struct rip_view *view, const struct rip_id_info *id)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];
    json_t *trail = json_array();
    size_t count = 0;

    if (rip_view_trail(view, id->slot, entries, &count) != RIP_OK)
        return trail;
    for (size_t i = 0; i < count; i++) {
        json_t *entry = make_place(view, id->process, entries[i].address);

        json_object_set_new(entry, "count", json_integer((json_int_t)(entries[i].snap - 1)));
        json_array_append_new(trail, entry);
    }
    return trail;
}
