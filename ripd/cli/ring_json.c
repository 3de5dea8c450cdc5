/* SPDX-License-Identifier: Apache-2.0 */
/* ring_json.c - see ring_json.h. */
#include "cli/ring_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/text.h"

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

void ring_json_path(const struct rip_module_info *module, json_t *paths)
{
    char digits[RIP_BUILD_ID_BYTES * 2 + 1];

    text_put_hex(digits, module->build_id, module->build_id_bytes);
    if (digits[0] != '\0')
        json_object_set_new(paths, digits, ring_json_text(module->path, module->path_bytes));
}

void ring_json_paths(const struct rip_view *view, uint32_t process, json_t *paths)
{
    struct rip_module_info module;

    for (uint32_t nth = 0; nth < RIP_PROCESS_MODULES && rip_view_module(view, process, nth, &module) == RIP_OK; nth++)
        ring_json_path(&module, paths);
}

json_t *ring_json_place(const struct rip_module_info *module, uint64_t address)
{
    const uint8_t *name;
    char offset[32], build_id[RIP_BUILD_ID_BYTES * 2 + 1];

    if (module == NULL)
        return json_pack("{s:n, s:n}", "module", "offset");
    name = memrchr(module->path, '/', module->path_bytes);
    name = name != NULL ? name + 1 : module->path;
    snprintf(offset, sizeof(offset), "0x%" PRIx64, address - module->bias);
    text_put_hex(build_id, module->build_id, module->build_id_bytes);
    return json_pack("{s:o, s:s?, s:s}", "module",
                     ring_json_text(name, (size_t)(module->path + module->path_bytes - name)), "build_id",
                     build_id[0] != '\0' ? build_id : NULL, "offset", offset);
}

json_t *ring_json_script(const struct rip_script_info *script)
{
    return json_pack("{s:n, s:n, s:o, s:o, s:o}", "module", "offset", "function",
                     ring_json_text(script->function, script->function_bytes), "file",
                     ring_json_text(script->file, script->file_bytes), "line",
                     script->line != 0 ? json_integer(script->line) : json_null());
}

/* In a script, or in a module of its process: the newest where several overlap. */
static json_t *make_place(const struct rip_view *view, uint32_t process, uint64_t address)
{
    struct rip_module_info module, found;
    struct rip_script_info script;
    bool is_found = false;

    if (rip_view_script(view, address, &script) == RIP_OK)
        return ring_json_script(&script);
    for (uint32_t nth = 0; nth < RIP_PROCESS_MODULES && rip_view_module(view, process, nth, &module) == RIP_OK; nth++)
        if (address >= module.start && address < module.end) {
            found = module;
            is_found = true;
        }
    return ring_json_place(is_found ? &found : NULL, address);
}

json_t *ring_json_trail(const struct rip_view *view, const struct rip_id_info *id)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];
    json_t *trail = json_array();
    size_t count = 0;

    if (rip_view_trail(view, id->slot, entries, &count) != RIP_OK &&
        rip_view_ended_trail(view, id->slot, id->generation, entries, &count) != RIP_OK)
        return trail;
    for (size_t i = 0; i < count; i++) {
        json_t *entry = make_place(view, id->process, entries[i].address);

        json_object_set_new(entry, "count", json_integer((json_int_t)(entries[i].snap - 1)));
        json_array_append_new(trail, entry);
    }
    return trail;
}
