/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_page.c - rip-ring(5) from librip/ABI.md:  ring_page VERSION < ABI.md > PAGE
 *
 * Takes what that text uses of Markdown: headings, paragraphs, tables, lists, literal blocks, `code`, *emphasis*. The
 * page is mdoc with tables of tbl. Runs when ripd is built. Exit status 1 for a line that is too long.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES 4096u
#define CELL_WIDTH 24u /* wider cells are filled: tbl breaks no other */

enum block { TEXT, TABLE, BULLETS, NUMBERS, LITERAL };

struct page {
    enum block block;
    bool heading; /* the last thing was one: no empty line after it */
    bool line_open;
};

static void put_byte(char byte)
{
    if (byte == '\\')
        fputs("\\e", stdout);
    else if (byte == '-')
        fputs("\\-", stdout);
    else
        putchar(byte);
}

/* Byte i begins a line of its own: a sentence has ended before it. */
static bool begins_sentence(const char *text, size_t i)
{
    size_t end = i - 1;

    if (i < 2 || text[end] != ' ')
        return false;
    while (end > 1 && strchr(")\"'*", text[end - 1]) != NULL)
        end--;
    return strchr(".?!", text[end - 1]) != NULL;
}

/* The text of a line, without what Markdown marks it with; each sentence on a line of its own, as mdoc wants it. */
static void put_inline(const char *text, size_t length, bool sentences)
{
    bool code = false, strong = false;

    for (size_t i = 0; i < length; i++) {
        if (sentences && begins_sentence(text, i))
            putchar('\n');
        if ((i == 0 || (sentences && begins_sentence(text, i))) && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", stdout);
        if (sentences && text[i] == ' ' && i + 1 < length && begins_sentence(text, i + 1))
            continue;
        if (text[i] == '`') {
            code = !code;
            fputs(code ? "\\fB" : "\\fR", stdout);
        } else if (!code && text[i] == '*' && i + 1 < length && text[i + 1] != ' ') {
            i += text[i + 1] == '*';
            strong = !strong;
            fputs(strong ? "\\fI" : "\\fR", stdout);
        } else if (!code && text[i] == '*' && strong) {
            strong = false;
            fputs("\\fR", stdout);
        } else {
            put_byte(text[i]);
        }
    }
}

static void end_block(struct page *page)
{
    static const char *const ends[] = {
        [TABLE] = ".TE\n", [BULLETS] = ".El\n", [NUMBERS] = ".El\n", [LITERAL] = ".Ed\n"};

    if (page->line_open)
        putchar('\n');
    page->line_open = false;
    if (page->block != TEXT)
        fputs(ends[page->block], stdout);
    page->block = TEXT;
}

static void put_heading(struct page *page, const char *line)
{
    bool section = line[2] == ' ';
    const char *text = line + strspn(line, "# ");

    end_block(page);
    fputs(section ? ".Sh " : ".Ss ", stdout);
    if (section)
        for (; *text != '\0'; text++)
            putchar(toupper((unsigned char)*text));
    else
        put_inline(text, strlen(text), false);
    putchar('\n');
    page->heading = true;
}

static size_t columns_of(const char *line)
{
    size_t count = 0;

    for (; *line != '\0'; line++)
        count += *line == '|';
    return count - 1;
}

/* A row, cell by cell; a wide one is a block of text. */
static void put_row(const char *line)
{
    const char *separator = "";

    for (line++; *line != '\0';) {
        size_t whole = strcspn(line, "|"), length = whole;

        while (length != 0 && line[length - 1] == ' ')
            length--;
        fputs(separator, stdout);
        if (length > CELL_WIDTH)
            fputs("T{\n", stdout);
        put_inline(line + (length != 0), length - (length != 0), length > CELL_WIDTH);
        if (length > CELL_WIDTH)
            fputs("\nT}", stdout);
        separator = "\t";
        line += whole + 1;
    }
    putchar('\n');
}

static void put_table_line(struct page *page, const char *line)
{
    if (strncmp(line, "|---", 4) == 0)
        return;
    if (page->block != TABLE) {
        size_t count = columns_of(line);

        end_block(page);
        puts(page->heading ? ".TS" : ".Pp\n.TS");
        for (size_t i = 0; i < count; i++)
            fputs(i == 0 ? "lb" : " lb", stdout);
        putchar('\n');
        for (size_t i = 0; i < count; i++)
            fputs(i == 0 ? "l" : i + 1 == count ? " lx" : " l", stdout);
        puts(".");
        page->block = TABLE;
    }
    put_row(line);
}

static void put_item(struct page *page, enum block block, const char *text)
{
    if (page->block != block) {
        end_block(page);
        puts(block == BULLETS ? ".Bl -bullet" : ".Bl -enum");
        page->block = block;
    } else if (page->line_open) {
        putchar('\n');
    }
    puts(".It");
    put_inline(text, strlen(text), true);
    page->line_open = true;
}

static void put_text(struct page *page, const char *line)
{
    line += strspn(line, " ");
    if (page->line_open)
        putchar('\n');
    put_inline(line, strlen(line), true);
    page->line_open = true;
}

static void put_line(struct page *page, const char *line)
{
    size_t digits = strspn(line, "0123456789");
    bool heading = page->heading;

    page->heading = false;
    if (page->block == LITERAL && strcmp(line, "```") != 0) {
        put_inline(line, strlen(line), false);
        putchar('\n');
    } else if (strncmp(line, "##", 2) == 0) {
        put_heading(page, line);
    } else if (strcmp(line, "```") == 0) {
        bool begins = page->block != LITERAL;

        end_block(page);
        if (begins)
            puts(".Bd -literal -offset indent");
        page->block = begins ? LITERAL : TEXT;
    } else if (*line == '|') {
        page->heading = heading;
        put_table_line(page, line);
        page->heading = false;
    } else if (strncmp(line, "- ", 2) == 0) {
        put_item(page, BULLETS, line + 2);
    } else if (digits != 0 && strncmp(line + digits, ". ", 2) == 0) {
        put_item(page, NUMBERS, line + digits + 2);
    } else if (*line == '\0') {
        if (!heading)
            page->heading = false;
        end_block(page);
        page->heading = heading;
        page->line_open = false;
    } else {
        put_text(page, line);
    }
}

/* Begins a paragraph, rather than something that has a distance of its own. */
static bool is_text(const char *line)
{
    size_t digits = strspn(line, "0123456789");

    return strchr("#|`", *line) == NULL && strncmp(line, "- ", 2) != 0 && (digits == 0 || line[digits] != '.');
}

int main(int argc, char **argv)
{
    struct page page = {.block = TEXT};
    char line[LINE_BYTES];
    bool empty = true;

    if (argc != 2)
        return 1;
    /* On a terminal it is one long page: no table is at the end of one by chance. */
    printf("'\\\" t\n.\\\" SPDX-License-Identifier: Apache-2.0\n.if n .pl 1000i\n.Dd November 23, 2026\n.Dt RIP-RING "
           "5\n.Os librip %s\n"
           ".Sh NAME\n.Nm rip-ring\n.Nd the bytes of a ring, format 1\n.Sh DESCRIPTION\n",
           argv[1]);
    page.heading = true;
    while (fgets(line, sizeof(line), stdin) != NULL) {
        size_t length = strcspn(line, "\n");

        if (line[length] != '\n')
            return 1;
        line[length] = '\0';
        if (strncmp(line, "# ", 2) == 0)
            continue;
        if (empty && page.block == TEXT && !page.heading && is_text(line))
            puts(".Pp");
        empty = *line == '\0';
        put_line(&page, line);
    }
    end_block(&page);
    puts(".Sh SEE ALSO\n.Xr librip 3 ,\n.Xr ripd 8");
    return fflush(stdout) == 0 ? 0 : 1;
}
