/* SPDX-License-Identifier: Apache-2.0 */
/* describe_walk.c - the walk over all ids. Touches the mappings. See describe_walk.h for the guarantees. */
#include "ring/describe_walk.h"

#include <string.h>

static struct sighting sighting_of(const struct walk *walk, const struct detector_id *id)
{
    struct sighting sighting = {.state = id->state, .cause = id->cause, .threshold_ns = id->threshold_ns};

    if (id->state == ID_RUNNING || id->state == ID_IDLE)
        return sighting;
    sighting.since_wall_ns = wall_before_ns(walk->snapshot->scanned_wall_ns, id->frozen_for_ns);
    sighting.frozen_since_ns = id->frozen_since_ns;
    sighting.frozen_for_ns = id->frozen_for_ns;
    sighting.frozen_for_max_ns = id->frozen_for_max_ns;
    return sighting;
}

/* Whether what the query says of the ring's content holds, with a bare item that carries just that. */
static bool content_matches(struct walk *walk, uint32_t slot, uint32_t generation, const struct sighting *sighting)
{
    struct process_facts process = {0};
    struct sighting probe = *sighting;
    struct rip_id_info info;
    struct item item = {0};

    if (mapping_id(&walk->ring->mapping, slot, &info) != 0 || info.generation != generation)
        return false;
    item.ring_name = walk->ring->name;
    item.id = info.id;
    item.name_bytes = info.name_bytes;
    memcpy(item.name, info.name, info.name_bytes);
    if (info.process < walk->ring->process_count) {
        process.pid = walk->ring->processes[info.process].pid;
        process.claimed_pid = walk->ring->processes[info.process].claim.pid;
        item.process = &process;
    }
    probe.item = &item;
    return query_matches(walk->query, &walk->name, &probe);
}

static bool matches(struct walk *walk, uint32_t slot, uint32_t generation, const struct sighting *sighting)
{
    const struct query *query = walk->query;
    const bool reads_ring = query->name[0] != '\0' || query->pid != 0 || query->one;

    return query_matches_verdict(query, sighting) && (!reads_ring || content_matches(walk, slot, generation, sighting));
}

static int visit_id(void *context, uint32_t slot, uint32_t generation, const struct detector_id *id)
{
    struct walk *walk = context;
    struct sighting sighting = sighting_of(walk, id);

    if (id->state == ID_STALLED)
        sighting_set_wait(&sighting, walk->snapshot->waits, walk->ring->serial, slot, generation);
    return matches(walk, slot, generation, &sighting) ? walk->take(walk, slot, generation, &sighting) : 0;
}

int walk_ids(struct walk *walk, const struct detector *detector)
{
    struct ring **rings;
    size_t count;
    int result = 0;

    glob_make(&walk->name, walk->query->name);
    for (size_t i = 0; result == 0; i++) {
        rings = registry_rings(walk->registry, &count);
        if (i >= count)
            break;
        walk->ring = rings[i];
        if (walk->query->ring[0] != '\0' &&
            (walk->ring->name == NULL || strcmp(walk->query->ring, walk->ring->name) != 0))
            continue;
        result = detector_visit(detector, walk->ring->serial, visit_id, walk);
        if (walk->ring->mapping.damaged) {
            registry_damage(walk->registry, walk->ring); /* if that is not yet done */
            i--;                                         /* it has left the array; the next one has taken its place */
        }
    }
    return result;
}
