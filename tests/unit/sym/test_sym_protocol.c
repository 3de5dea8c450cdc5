/* SPDX-License-Identifier: Apache-2.0 */
/* test_sym_protocol.c - frames in packets of a symbolizer that is not trusted: ripd/sym/protocol.c. */
#include <stdlib.h>
#include <string.h>

#include "support/guarded_copy.h"
#include "support/test.h"
#include "sym/protocol.h"

static unsigned char packet[SYM_PACKET_BYTES];
static const struct symbol_frame sample[] = {
    {"db_wait", "src/db.c", 120}, {NULL, NULL, 0}, {"main", NULL, 3}, {"", "x.c", UINT32_MAX}};

/* Formats an answer about the place 0x1234 of the file 7. Returns its length. */
static size_t format(const struct symbol_frame *frames, size_t count)
{
    return sym_found_format(packet, sizeof(packet), 7, 0x1234, frames, count);
}

static struct symbol *parse(size_t bytes)
{
    return sym_found_parse(packet, bytes, 7, 0x1234);
}

static struct sym_found *header(void)
{
    return (void *)packet;
}

TEST(formatted_and_parsed)
{
    struct symbol *symbol = parse(format(sample, 4));

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
    symbol = parse(format(NULL, 0));
    assert_int_equal(symbol->frame_count, 0);
    free(symbol);
}

TEST(answers_to_another_query)
{
    size_t bytes = format(sample, 4);

    assert_null(sym_found_parse(packet, bytes, 8, 0x1234));
    assert_null(sym_found_parse(packet, bytes, 7, 0x1235));
    header()->status = -2;
    assert_null(parse(bytes));
}

/* Truncated anywhere, just before a page without access; too long; with wrong lengths. */
TEST(lengths)
{
    size_t bytes = format(sample, 4);

    for (size_t cut = 0; cut < bytes; cut++) {
        struct guarded_copy copy;

        guarded_copy_new(&copy, packet, cut);
        assert_null(sym_found_parse(copy.bytes, cut, 7, 0x1234));
        guarded_copy_free(&copy);
    }
    assert_null(parse(bytes + 1));
    ((struct sym_frame *)(void *)(packet + sizeof(struct sym_found)))->file_bytes = UINT16_MAX;
    assert_null(parse(bytes));
    header()->frame_count = UINT32_MAX;
    assert_null(parse(bytes));
}

TEST(too_many_frames)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX] = {{0}};
    size_t bytes = format(frames, SYMBOL_FRAMES_MAX);
    struct symbol *symbol = parse(bytes);

    assert_int_equal(symbol->frame_count, SYMBOL_FRAMES_MAX);
    free(symbol);
    memset(packet + bytes, 0, sizeof(struct sym_frame));
    header()->frame_count++;
    assert_null(parse(bytes + sizeof(struct sym_frame)));
}

/* A NUL ends a name. The next name is not affected. */
TEST(a_name_with_a_nul)
{
    size_t bytes = format(sample, 1);
    struct symbol *symbol;

    packet[sizeof(struct sym_found) + sizeof(struct sym_frame) + 2] = '\0';
    symbol = parse(bytes);
    assert_string_equal(symbol->frames[0].function, "db");
    assert_string_equal(symbol->frames[0].file, "src/db.c");
    free(symbol);
}

TEST(frames_that_do_not_fit_are_left_out)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX + 2];
    static char name[2 * SYMBOL_TEXT_BYTES_MAX];
    struct symbol *symbol;
    size_t bytes;

    memset(name, 'n', sizeof(name) - 1);
    for (size_t i = 0; i < COUNT_OF(frames); i++)
        frames[i] = (struct symbol_frame){name, name, (uint32_t)i};
    bytes = format(frames, COUNT_OF(frames));
    assert_true(bytes <= sizeof(packet));
    symbol = parse(bytes);
    assert_int_equal(symbol->frame_count, 7); /* two names of 4096 bytes each */
    assert_int_equal(strlen(symbol->frames[6].file), SYMBOL_TEXT_BYTES_MAX);
    free(symbol);
}
