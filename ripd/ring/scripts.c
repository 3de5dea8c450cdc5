/* SPDX-License-Identifier: Apache-2.0 */
/* scripts.c - see scripts.h. Touches the mapping of one ring. */
#include "ring/scripts.h"

struct module_facts *scripts_module(struct ring *ring, const struct ring_host *host)
{
    if (ring->scripts == NULL && ring->mapping.view.script_offset != 0)
        ring->scripts = module_of_scripts(&host->hash_key, mapping_owner(&ring->mapping));
    return ring->scripts != NULL ? module_facts_ref(ring->scripts) : NULL;
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
        symbol_charges_add(&host->script_charges, ring->user, &ring->scripts->symbols, offset,
                           symbol_of_script(&script));
    return result < 0 ? result : 0;
}
