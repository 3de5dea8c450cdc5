/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.c - see demangle.h. */
#include "sym/child/demangle.h"

#include <stddef.h>
#include <string.h>

/* Of the Itanium C++ ABI, section 3.4; libstdc++ has it with C linkage. */
extern char *__cxa_demangle(const char *mangled_name, char *output_buffer, size_t *length, int *status);

#define HASH_DIGITS 16u

/* Rust's older form is C++'s, with a hash at the end and what is not of an identifier in words. */
static const struct word {
    const char *word;
    const char *text;
} words[] = {
    {"$LT$", "<"},  {"$GT$", ">"},  {"$RF$", "&"},  {"$BP$", "*"},  {"$C$", ","},   {"$LP$", "("},
    {"$RP$", ")"},  {"$SP$", "@"},  {"..", "::"},   {"$u20$", " "}, {"$u27$", "'"}, {"$u5b$", "["},
    {"$u5d$", "]"}, {"$u7b$", "{"}, {"$u7d$", "}"}, {"$u7e$", "~"}, {"$u3b$", ";"}, {"$u2b$", "+"},
};

/* Where the hash begins; NULL: there is none, so it is not of Rust. */
static char *rust_hash(char *name)
{
    size_t length = strlen(name);
    char *hash = length > HASH_DIGITS + 3 ? name + length - HASH_DIGITS - 3 : NULL;

    return hash != NULL && strncmp(hash, "::h", 3) == 0 && strspn(hash + 3, "0123456789abcdef") == HASH_DIGITS ? hash
                                                                                                               : NULL;
}

static const struct word *word_at(const char *at)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strncmp(at, words[i].word, strlen(words[i].word)) == 0)
            return &words[i];
    return NULL;
}

/* In place: no text is longer than its word. */
static void decode_rust(char *name)
{
    char *to = name;

    for (const char *at = name; *at != '\0';) {
        const struct word *word;

        if (at[0] == '_' && at[1] == '$' && (at == name || at[-1] == ':'))
            at++; /* an identifier begins with a letter */
        word = word_at(at);
        if (word == NULL) {
            *to++ = *at++;
            continue;
        }
        memcpy(to, word->text, strlen(word->text));
        to += strlen(word->text);
        at += strlen(word->word);
    }
    *to = '\0';
}

char *demangle(const char *name)
{
    int status;
    char *text = name[0] == '_' && name[1] == 'Z' ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
    char *hash = text == NULL ? NULL : rust_hash(text);

    if (hash != NULL) {
        *hash = '\0';
        decode_rust(text);
    }
    return text;
}
