/* SPDX-License-Identifier: Apache-2.0 */
/* scan_record.c - tables of numbers, packed as varints. Pure. See scan_record.h. */
#include "cases/scan_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define VARINT_BYTES_MAX 10u

static const size_t widths[SCAN_TABLE_COUNT] = {
#define X(name, width, meaning) width,
    SCAN_TABLE_TABLE(X)
#undef X
};

/* Rows ------------------------------------------------------------------------------------------------------------- */

void scan_record_done(struct scan_record *record)
{
    for (size_t i = 0; i < SCAN_TABLE_COUNT; i++)
        free(record->tables[i].numbers);
    *record = (struct scan_record){.incomplete = false};
}

void scan_record_clear(struct scan_record *record)
{
    for (size_t i = 0; i < SCAN_TABLE_COUNT; i++)
        record->tables[i].count = 0;
    record->incomplete = false;
}

void scan_record_add(struct scan_record *record, enum scan_table table, const uint64_t *numbers)
{
    struct scan_rows *rows = &record->tables[table];

    if (!ARRAY_RESERVE(rows->numbers, rows->capacity, (rows->count + 1) * widths[table])) {
        record->incomplete = true;
        return;
    }
    memcpy(rows->numbers + rows->count++ * widths[table], numbers, widths[table] * sizeof(*numbers));
}

uint64_t *scan_record_row(const struct scan_record *record, enum scan_table table, size_t index)
{
    return record->tables[table].numbers + index * widths[table];
}

void scan_record_add_ring(struct scan_record *record, uint32_t ring, const uint8_t ring_id[16], uint32_t user)
{
    uint64_t halves[2];

    memcpy(halves, ring_id, sizeof(halves));
    SCAN_RECORD_ADD(record, SCAN_RINGS, ring, halves[0], halves[1], user);
}

bool scan_record_is_ring(const uint64_t *row, const uint8_t ring_id[16])
{
    return memcmp(&row[1], ring_id, 16) == 0;
}

void scan_record_add_adopted(struct scan_record *record, const struct detector_adoption *adoption,
                             const struct episode *episode)
{
    SCAN_RECORD_ADD(record, SCAN_ADOPTED, adoption->ring, adoption->slot, adoption->generation, episode->number,
                    episode->incident, adoption->progress, episode->frozen_mono_ns, episode->begun_mono_ns,
                    adoption->moved_after_mono_ns, episode->stall_count, episode->cause,
                    adoption->frozen_since_mono_ns);
}

void scan_record_adopted(const struct scan_record *record, size_t index, struct detector_adoption *ret_adoption,
                         struct episode *ret_episode)
{
    const uint64_t *row = scan_record_row(record, SCAN_ADOPTED, index);

    *ret_adoption = (struct detector_adoption){
        .ring = (uint32_t)row[0],
        .slot = (uint32_t)row[1],
        .generation = (uint32_t)row[2],
        .cause = row[10] < CAUSE_COUNT ? (enum id_cause)row[10] : CAUSE_NONE,
        .progress = row[5],
        .frozen_since_mono_ns = row[11],
        .moved_after_mono_ns = row[8],
    };
    *ret_episode = (struct episode){
        .number = row[3],
        .incident = row[4],
        .progress = row[5],
        .frozen_mono_ns = row[6],
        .begun_mono_ns = row[7],
        .moved_after_mono_ns = row[8],
        .stall_count = (uint32_t)row[9],
        .cause = ret_adoption->cause,
    };
}

/* Bytes ------------------------------------------------------------------------------------------------------------ */

static unsigned char *put_varint(unsigned char *at, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        *at++ = (unsigned char)(number | 0x80);
    *at++ = (unsigned char)number;
    return at;
}

struct input {
    const unsigned char *at;
    const unsigned char *end;
    bool damaged;
};

static uint64_t take_varint(struct input *input)
{
    uint64_t number = 0;

    for (unsigned shift = 0; shift < 64 && input->at < input->end; shift += 7) {
        const unsigned char byte = *input->at++;

        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return number;
    }
    input->damaged = true;
    return 0;
}

static int return_bytes(unsigned char *bytes, const unsigned char *end, void **ret_bytes, size_t *ret_count)
{
    *ret_bytes = bytes;
    *ret_count = (size_t)(end - bytes);
    return 0;
}

int scan_record_pack(const struct scan_record *record, void **ret_bytes, size_t *ret_count)
{
    unsigned char *bytes, *at;
    size_t numbers = SCAN_TABLE_COUNT;

    for (size_t i = 0; i < SCAN_TABLE_COUNT; i++)
        numbers += record->tables[i].count * widths[i];
    bytes = at = malloc(numbers * VARINT_BYTES_MAX);
    if (bytes == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < SCAN_TABLE_COUNT; i++) {
        const struct scan_rows *rows = &record->tables[i];

        at = put_varint(at, rows->count);
        for (size_t j = 0; j < rows->count * widths[i]; j++)
            at = put_varint(at, rows->numbers[j]);
    }
    return return_bytes(bytes, at, ret_bytes, ret_count);
}

int scan_record_unpack(struct scan_record *record, const void *bytes, size_t count)
{
    struct input input = {bytes, (const unsigned char *)bytes + count, false};

    scan_record_clear(record);
    for (size_t i = 0; i < SCAN_TABLE_COUNT && !input.damaged; i++) {
        uint64_t rows = take_varint(&input);

        /* each number takes at least one byte */
        input.damaged |= rows > (size_t)(input.end - input.at) / widths[i];
        for (; rows != 0 && !input.damaged; rows--) {
            uint64_t row[SCAN_RECORD_EXPANSION];

            for (size_t j = 0; j < widths[i]; j++)
                row[j] = take_varint(&input);
            if (!input.damaged)
                scan_record_add(record, (enum scan_table)i, row);
        }
    }
    if (record->incomplete)
        return -ENOMEM;
    return input.damaged ? -EBADMSG : 0; /* tables of a later version may follow */
}

/* Settings --------------------------------------------------------------------------------------------------------- */

struct detector_config scan_settings_detector(const struct scan_settings *settings)
{
    struct detector_config config = {.interval_ns = settings->interval_ns,
                                     .stall_after_ns = settings->stall_after_ns,
                                     .rule_count = settings->rules.count};

    for (size_t i = 0; i < settings->rules.count; i++)
        config.rule_thresholds_ns[i] = settings->rules.rules[i].threshold_ns;
    return config;
}

int scan_settings_pack(const struct scan_settings *settings, void **ret_bytes, size_t *ret_count)
{
    const uint64_t numbers[] = {settings->interval_ns, settings->stall_after_ns, settings->hysteresis_ns,
                                settings->sequence,    settings->episode,        settings->reason,
                                settings->rules.count};
    const size_t count = sizeof(numbers) / sizeof(numbers[0]);
    unsigned char *bytes = malloc(count * VARINT_BYTES_MAX +
                                  settings->rules.count * (2 * VARINT_BYTES_MAX + RULE_GLOB_BYTES)),
                  *at = bytes;

    if (bytes == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        at = put_varint(at, numbers[i]);
    for (size_t i = 0; i < settings->rules.count; i++) {
        const struct rule *rule = &settings->rules.rules[i];
        const size_t length = strlen(rule->glob);

        at = put_varint(put_varint(at, rule->threshold_ns), length);
        memcpy(at, rule->glob, length);
        at += length;
    }
    return return_bytes(bytes, at, ret_bytes, ret_count);
}

int scan_settings_unpack(struct scan_settings *ret_settings, const void *bytes, size_t count)
{
    struct input input = {bytes, (const unsigned char *)bytes + count, false};
    struct scan_settings settings = {.interval_ns = 0};
    uint64_t *const numbers[] = {&settings.interval_ns, &settings.stall_after_ns, &settings.hysteresis_ns,
                                 &settings.sequence, &settings.episode};
    uint64_t reason, rule_count;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        *numbers[i] = take_varint(&input);
    reason = take_varint(&input);
    settings.reason = reason <= SCAN_SETTINGS_REPEATED ? (enum scan_settings_reason)reason : SCAN_SETTINGS_REPEATED;
    rule_count = take_varint(&input);
    if (rule_count > RULES_MAX)
        return -EBADMSG;
    for (; settings.rules.count < rule_count && !input.damaged; settings.rules.count++) {
        struct rule *rule = &settings.rules.rules[settings.rules.count];
        uint64_t length;

        rule->threshold_ns = take_varint(&input);
        length = take_varint(&input);
        if (length >= RULE_GLOB_BYTES || length > (size_t)(input.end - input.at))
            return -EBADMSG;
        memcpy(rule->glob, input.at, length);
        input.at += length;
    }
    if (input.damaged || settings.interval_ns == 0)
        return -EBADMSG;
    *ret_settings = settings;
    return 0;
}
