/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_page.c - makes rip-ring(5) from librip/ABI.md:  ring_page VERSION < ABI.md > PAGE
 *
 * It supports the Markdown that ABI.md uses: headings, paragraphs, tables, lists, literal blocks, `code`, *emphasis*.
 * The page is mdoc with tables of tbl. It runs when ripd is built. Exit status 1 if a line is too long.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES 4096u
#define CELL_WIDTH 24u /* wider cells become text blocks, because tbl does not break others */

enum block { TEXT, TABLE, BULLETS, NUMBERS, LITERAL };

struct page {
    enum block block;
    bool heading; /* the last line that was not empty was a heading */
    bool empty;   /* the line before was empty */
};

/* Returns whether a sentence ends before that byte. */
static bool ends_sentence(const char *text, size_t end)
{
    while (end > 0 && strchr(")\"'*", text[end - 1]) != NULL)
        end--;
    return end > 0 && strchr(".?!", text[end - 1]) != NULL;
}

/* Writes text without its Markdown marks. Each sentence begins a new line, as mdoc requires. */
static void put_inline(const char *text, size_t length)
{
    bool code = false, strong = false;

    if (length != 0 && (*text == '.' || *text == '\''))
        fputs("\\&", stdout);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '`') {
            code = !code;
            fputs(code ? "\\fB" : "\\fR", stdout);
        } else if (!code && text[i] == '*' && (strong || (i + 1 < length && text[i + 1] != ' '))) {
            i += i + 1 < length && text[i + 1] == '*';
            strong = !strong;
            fputs(strong ? "\\fI" : "\\fR", stdout);
        } else if (!code && text[i] == ' ' && ends_sentence(text, i)) {
            putchar('\n');
        } else if (text[i] == '\\') {
            fputs("\\e", stdout);
        } else if (text[i] == '-') {
            fputs("\\-", stdout);
        } else {
            putchar(text[i]);
        }
    }
}

static void put_text(const char *line)
{
    line += strspn(line, " ");
    put_inline(line, strlen(line));
    putchar('\n');
}

static void end_block(struct page *page)
{
    static const char *const ends[] = {
        [TEXT] = "", [TABLE] = ".TE\n", [BULLETS] = ".El\n", [NUMBERS] = ".El\n", [LITERAL] = ".Ed\n"};

    fputs(ends[page->block], stdout);
    page->block = TEXT;
}

static void put_heading(const char *line)
{
    bool section = line[2] == ' ';
    const char *text = line + strspn(line, "# ");

    fputs(section ? ".Sh " : ".Ss ", stdout);
    for (; section && *text != '\0'; text++)
        putchar(toupper((unsigned char)*text));
    put_text(text);
}

/* Begins a table with as many columns as this row. */
static void begin_table(const char *row)
{
    size_t count = 0;

    for (const char *at = row; (at = strchr(at + 1, '|')) != NULL;)
        count++;
    puts(".TS");
    for (size_t i = 0; i < count; i++)
        fputs(i == 0 ? "lb" : " lb", stdout);
    putchar('\n');
    for (size_t i = 0; i < count; i++)
        fputs(i == 0 ? "l" : i + 1 == count ? " lx" : " l", stdout);
    puts(".");
}

/* Writes a row cell by cell; a wide cell becomes a text block. */
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
        put_inline(line + (length != 0), length - (length != 0));
        if (length > CELL_WIDTH)
            fputs("\nT}", stdout);
        separator = "\t";
        line += whole + 1;
    }
    putchar('\n');
}

/* Returns the kind of block that a line begins. TEXT is also a line that continues a block. */
static enum block block_of(const char *line)
{
    size_t digits = strspn(line, "0123456789");

    if (strcmp(line, "```") == 0)
        return LITERAL;
    if (*line == '|')
        return TABLE;
    if (strncmp(line, "- ", 2) == 0)
        return BULLETS;
    return digits != 0 && strncmp(line + digits, ". ", 2) == 0 ? NUMBERS : TEXT;
}

static void put_line(struct page *page, const char *line)
{
    static const char *const begins[] = {
        [BULLETS] = ".Bl -bullet", [NUMBERS] = ".Bl -enum", [LITERAL] = ".Bd -literal -offset indent"};
    const bool is_heading = strncmp(line, "##", 2) == 0;
    const enum block block = block_of(line), before = page->block;

    if (before == LITERAL && block != LITERAL) {
        put_inline(line, strlen(line));
        putchar('\n');
        return;
    }
    if (*line == '\0' || is_heading || block == LITERAL || (block != TEXT && block != before))
        end_block(page);
    if (is_heading)
        put_heading(line);
    else if (page->empty && !page->heading && page->block == TEXT && (block == TEXT || block == TABLE) && *line != '\0')
        puts(".Pp");
    if (block != TEXT && block != before) {
        page->block = block;
        if (block == TABLE)
            begin_table(line);
        else
            puts(begins[block]);
    }
    if (block == TABLE && strncmp(line, "|---", 4) != 0)
        put_row(line);
    if (block == BULLETS || block == NUMBERS) {
        puts(".It");
        put_text(strchr(line, ' '));
    }
    if (block == TEXT && !is_heading && *line != '\0')
        put_text(line);
    page->heading = is_heading || (page->heading && *line == '\0');
    page->empty = *line == '\0';
}

int main(int argc, char **argv)
{
    struct page page = {.heading = true};
    char line[LINE_BYTES];

    if (argc != 2)
        return 1;
    /* On a terminal the page is one long page, so that no table is split at a page break. */
    printf("'\\\" t\n.\\\" SPDX-License-Identifier: Apache-2.0\n.if n .pl 1000i\n.Dd November 23, 2026\n.Dt RIP-RING "
           "5\n.Os librip %s\n"
           ".Sh NAME\n.Nm rip-ring\n.Nd the bytes of a ring, format 1\n.Sh DESCRIPTION\n",
           argv[1]);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        size_t length = strcspn(line, "\n");

        if (line[length] != '\n')
            return 1;
        line[length] = '\0';
        if (strncmp(line, "# ", 2) != 0)
            put_line(&page, line);
    }
    end_block(&page);
    puts(".Sh SEE ALSO\n.Xr librip 3 ,\n.Xr ripd 8");
    return fflush(stdout) == 0 ? 0 : 1;
}
