/* SPDX-License-Identifier: Apache-2.0 */
/* test_sym_protocol.c - frames in a packet, of a symbolizer that is not believed: ripd/sym/protocol.c. */
#include <stdlib.h>
#include <string.h>

#include "support/guarded_copy.h"
#include "support/test.h"
#include "sym/protocol.h"

static unsigned char packet[SYM_PACKET_BYTES];
static const struct symbol_frame sample[] = {
    {"db_wait", "src/db.c", 120}, {NULL, NULL, 0}, {"main", NULL, 3}, {"", "x.c", UINT32_MAX}};

TEST(there_and_back)
{
    size_t bytes = sym_found_format(packet, sizeof(packet), 7, 0x1234, sample, 4);
    struct symbol *symbol = sym_found_parse(packet, bytes, 7, 0x1234);

    assert_non_null(symbol);
    assert_int_equal(symbol->frame_count, 4);
    assert_string_equal(symbol->frames[0].function, "db_wait");
    assert_string_equal(symbol->frames[0].file, "src/db.c");
    assert_int_equal(symbol->frames[0].line, 120);
    assert_null(symbol->frames[1].function);
    assert_null(symbol->frames[2].file);
    assert_null(symbol->frames[3].function); /* empty */
    assert_int_equal(symbol->frames[3].line, UINT32_MAX);
    free(symbol);
    bytes = sym_found_format(packet, sizeof(packet), 7, 0x1234, NULL, 0);
    symbol = sym_found_parse(packet, bytes, 7, 0x1234);
    assert_int_equal(symbol->frame_count, 0);
    free(symbol);
}

TEST(of_another_question)
{
    size_t bytes = sym_found_format(packet, sizeof(packet), 7, 0x1234, sample, 4);

    assert_null(sym_found_parse(packet, bytes, 8, 0x1234));
    assert_null(sym_found_parse(packet, bytes, 7, 0x1235));
    ((struct sym_found *)(void *)packet)->status = -2;
    assert_null(sym_found_parse(packet, bytes, 7, 0x1234));
}

/* Cut anywhere, at the very edge of readable memory; with bytes to spare; with lengths that lie. */
TEST(lengths)
{
    size_t bytes = sym_found_format(packet, sizeof(packet), 7, 0x1234, sample, 4);
    struct sym_frame *frame = (void *)(packet + sizeof(struct sym_found));

    for (size_t cut = 0; cut < bytes; cut++) {
        struct guarded_copy copy;

        guarded_copy_new(&copy, packet, cut);
        assert_null(sym_found_parse(copy.bytes, cut, 7, 0x1234));
        guarded_copy_free(&copy);
    }
    assert_null(sym_found_parse(packet, bytes + 1, 7, 0x1234));
    frame->file_bytes = UINT16_MAX;
    assert_null(sym_found_parse(packet, bytes, 7, 0x1234));
    ((struct sym_found *)(void *)packet)->frame_count = UINT32_MAX;
    assert_null(sym_found_parse(packet, bytes, 7, 0x1234));
}

TEST(too_many_frames)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX] = {{0}};
    size_t bytes = sym_found_format(packet, sizeof(packet), 7, 0x1234, frames, SYMBOL_FRAMES_MAX);
    struct symbol *symbol = sym_found_parse(packet, bytes, 7, 0x1234);

    assert_int_equal(symbol->frame_count, SYMBOL_FRAMES_MAX);
    free(symbol);
    memset(packet + bytes, 0, sizeof(struct sym_frame));
    ((struct sym_found *)(void *)packet)->frame_count++;
    assert_null(sym_found_parse(packet, bytes + sizeof(struct sym_frame), 7, 0x1234));
}

/* A NUL in a name ends it; nothing runs over. */
TEST(names_with_anything_in_them)
{
    size_t bytes = sym_found_format(packet, sizeof(packet), 7, 0x1234, sample, 1);
    struct symbol *symbol;

    packet[sizeof(struct sym_found) + sizeof(struct sym_frame) + 2] = '\0';
    symbol = sym_found_parse(packet, bytes, 7, 0x1234);
    assert_string_equal(symbol->frames[0].function, "db");
    assert_string_equal(symbol->frames[0].file, "src/db.c");
    free(symbol);
}

TEST(what_does_not_fit_is_left_out)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX + 2];
    char *name = malloc(2 * SYMBOL_TEXT_BYTES_MAX);
    struct symbol *symbol;
    size_t bytes;

    memset(name, 'n', 2 * SYMBOL_TEXT_BYTES_MAX);
    name[2 * SYMBOL_TEXT_BYTES_MAX - 1] = '\0';
    for (size_t i = 0; i < SYMBOL_FRAMES_MAX + 2; i++)
        frames[i] = (struct symbol_frame){name, name, (uint32_t)i};
    bytes = sym_found_format(packet, sizeof(packet), 1, 2, frames, SYMBOL_FRAMES_MAX + 2);
    assert_true(bytes <= sizeof(packet));
    symbol = sym_found_parse(packet, bytes, 1, 2);
    assert_int_equal(symbol->frame_count, 7); /* two names of 4096 bytes each */
    assert_int_equal(strlen(symbol->frames[6].file), SYMBOL_TEXT_BYTES_MAX);
    free(symbol);
    free(name);
}
