/* SPDX-License-Identifier: Apache-2.0 */
/* scripts.c - see scripts.h. Touches the mapping of one ring. */
#include "ring/scripts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct module_facts *scripts_module(struct ring *ring, const struct ring_host *host)
{
    if (ring->scripts == NULL && ring->mapping.view.script_offset != 0)
        ring->scripts = module_of_scripts(&host->hash_key, mapping_owner(&ring->mapping));
    return ring->scripts != NULL ? module_facts_ref(ring->scripts) : NULL;
}

static void add_name(struct ring *ring, struct ring_host *host, uint64_t offset, const struct rip_script_info *script)
{
    struct symbol_table *names = &ring->scripts->symbols;
    struct symbol *symbol = symbol_of_script(script);
    const size_t bytes = symbol != NULL ? symbol_table_cost(names, symbol) : 0;

    if (symbol == NULL || !work_take(host->work, ring->user, WORK_SCRIPT_BYTES, bytes))
        free(symbol);
    else if (symbol_table_add(names, offset, symbol) == 0)
        ring->script_bytes += bytes;
    else
        work_give(host->work, ring->user, WORK_SCRIPT_BYTES, bytes);
}

int scripts_learn(struct ring *ring, struct ring_host *host, uint64_t address)
{
    const uint64_t offset = module_script_function(address - RIP_PLACE_SCRIPT);
    struct rip_script_info script;
    int result;

    if ((address & RIP_PLACE_SCRIPT) == 0 || ring->scripts == NULL ||
        symbol_table_find(&ring->scripts->symbols, offset) != NULL || symbol_table_is_full(&ring->scripts->symbols))
        return 0;
    result = mapping_script(&ring->mapping, address, &script);
    if (result == 0)
        add_name(ring, host, offset, &script);
    return result < 0 ? result : 0;
}

void scripts_free(struct ring *ring, struct ring_host *host)
{
    work_give(host->work, ring->user, WORK_SCRIPT_BYTES, ring->script_bytes);
    module_facts_unref(ring->scripts);
    ring->scripts = NULL;
    ring->script_bytes = 0;
}
