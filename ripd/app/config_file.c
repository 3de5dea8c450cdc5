/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_file.c - the file of --config: KEY = VALUE lines, read by inih.
 *
 * A line is a comment if its first character is '#' or ';', else a key with its value up to the end of the line: there
 * are no comments behind a value, no quotes, no continuation lines, and ':' is not a '='. Keys stand before any section
 * or in [ripd]. A key that is not repeatable is given once.
 *
 * Guarantees
 *   A. inih hears one line at a time, so that the number of a line is known, and nothing that it would misread: a NUL,
 * a line that it would cut, a section that it would not tell of. B. What it makes of a line is held against the line: a
 * value is taken whole or refused, however inih was built. C. The first mistake in the file is the one that is told.
 */
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/config_option.h"

#define LINE_FORM "KEY = VALUE, [ripd], or a comment that begins with # or ;"
#define NAME_SHOWN "%.200s" /* of a file */
#define LINE_ENDS_BYTES 3   /* what inih wants to have free behind a line */

struct file {
    const char *name;
    const char *rest; /* what has not been read yet */
    size_t rest_bytes;
    unsigned line_number; /* of the line in text */
    char text[CONFIG_LINE_BYTES_MAX + 1];
    bool told; /* of a mistake */
    struct config *config;
    struct options_given given;
    char *ret_error;
};

static int refuse(struct file *file, const char *detail)
{
    file->told = true;
    return config_error(file->ret_error, NAME_SHOWN ":%u: %s", file->name, file->line_number, detail);
}

static int refuse_line(struct file *file, const char *expected)
{
    file->told = true;
    return config_error(file->ret_error, NAME_SHOWN ":%u: '%.64s' is not accepted; expected %s", file->name,
                        file->line_number, file->text, expected);
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* Takes the next line into file->text, without blanks around it. False: there is none, or it is refused. */
static bool next_line(struct file *file)
{
    const char *end = memchr(file->rest, '\n', file->rest_bytes);
    size_t length = end != NULL ? (size_t)(end - file->rest) : file->rest_bytes;
    const char *line = file->rest;

    if (file->rest_bytes == 0)
        return false;
    file->line_number++;
    file->rest_bytes -= length + (end != NULL);
    file->rest += length + (end != NULL);
    while (length > 0 && is_blank(line[length - 1]))
        length--;
    while (length > 0 && is_blank(line[0])) {
        line++;
        length--;
    }
    if (length > CONFIG_LINE_BYTES_MAX) {
        char detail[80];

        snprintf(detail, sizeof(detail), "the line has %zu bytes; expected at most %u", length, CONFIG_LINE_BYTES_MAX);
        refuse(file, detail);
        return false;
    }
    for (size_t i = 0; i < length; i++)
        if (((unsigned char)line[i] < 0x20 && line[i] != '\t') || line[i] == 0x7f) {
            refuse(file, "a control byte is in the line; expected text");
            return false;
        }
    memcpy(file->text, line, length);
    file->text[length] = '\0';
    return true;
}

/* inih's fgets(). */
static char *read_line(char *buffer, int size, void *stream)
{
    struct file *file = stream;
    size_t length;

    if (file->told || !next_line(file))
        return NULL;
    length = strlen(file->text);
    if (file->text[0] == '[' && strcmp(file->text, "[ripd]") != 0) {
        refuse_line(file, "[ripd], or keys before any section");
        return NULL;
    }
    if (size < 0 || length + LINE_ENDS_BYTES > (size_t)size) {
        refuse(file, "the line is longer than the inih library was built for");
        return NULL;
    }
    memcpy(buffer, file->text, length);
    memcpy(buffer + length, "\n", 2);
    return buffer;
}

/* Whether the line is NAME = VALUE and nothing else. */
static bool line_is(const char *line, const char *name, const char *value)
{
    size_t name_length = strlen(name);

    if (strncmp(line, name, name_length) != 0)
        return false;
    line += name_length;
    line += strspn(line, " \t");
    if (*line++ != '=')
        return false;
    line += strspn(line, " \t");
    return strcmp(line, value) == 0;
}

static int refuse_key(struct file *file, const char *name)
{
    char keys[CONFIG_ERROR_BYTES] = "";
    size_t length = 0;

    for (size_t i = 0; i < options_count && length < sizeof(keys); i++)
        if (option_is_key(&options[i]))
            length += (size_t)snprintf(keys + length, sizeof(keys) - length, " %s", options[i].name);
    return config_error(file->ret_error, NAME_SHOWN ":%u: %.64s: the key is not known; expected one of%s", file->name,
                        file->line_number, name, keys);
}

static int take_key(struct file *file, const char *name, const char *value)
{
    const struct option *option = option_find(name, strlen(name));
    const char *expected = NULL;
    int status;

    if (*name == '\0' || !line_is(file->text, name, value))
        return refuse_line(file, LINE_FORM);
    if (option == NULL || !option_is_key(option))
        return refuse_key(file, name);
    if (!option_repeats(option) && option_is_given(&file->given, option))
        return config_error(file->ret_error, NAME_SHOWN ":%u: %s: '%.64s' is not accepted; expected the key once",
                            file->name, file->line_number, name, value);
    status = option_take(option, file->config, &file->given, value, &expected);
    if (status == -EINVAL)
        return config_error(file->ret_error, NAME_SHOWN ":%u: %s: '%.64s' is not accepted; expected %s", file->name,
                            file->line_number, name, value, expected);
    if (status < 0)
        return config_error(file->ret_error, NAME_SHOWN ": out of memory", file->name);
    return 0;
}

/* inih's handler: nonzero is success. */
static int on_key(void *context, const char *section, const char *name, const char *value)
{
    struct file *file = context;

    (void)section; /* read_line() lets only one pass */
    if (!file->told && take_key(file, name, value) < 0)
        file->told = true;
    return !file->told;
}

int config_file_parse(const char *name, const char *bytes, size_t length, struct config *config, char *ret_error)
{
    struct file file = {.name = name, .rest = bytes, .rest_bytes = length, .config = config, .ret_error = ret_error};
    int status;

    if (length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) { /* an editor's mark of UTF-8 */
        file.rest += 3;
        file.rest_bytes -= 3;
    }
    ini_max_line = CONFIG_LINE_BYTES_MAX + LINE_ENDS_BYTES;
    ini_allow_inline_comments = false;
    ini_allow_multiline = false;
    ini_stop_on_first_error = true;
    status = ini_parse_stream(read_line, &file, on_key, &file);
    if (file.told)
        return -EINVAL;
    if (status != 0)
        return refuse_line(&file, LINE_FORM);
    return 0;
}

/* Reads it whole. A FIFO or a device is not waited for. */
static int read_file(const char *path, char **ret_bytes, size_t *ret_length)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    char *bytes = NULL;
    size_t length = 0;
    ssize_t count = 0;
    int error = 0;

    if (descriptor < 0)
        return -errno;
    if (fstat(descriptor, &status) < 0)
        error = -errno;
    else if (!S_ISREG(status.st_mode))
        error = -EISDIR;
    else if ((bytes = malloc(CONFIG_FILE_BYTES_MAX + 1)) == NULL)
        error = -ENOMEM;
    while (error == 0 && length <= CONFIG_FILE_BYTES_MAX &&
           (count = read(descriptor, bytes + length, CONFIG_FILE_BYTES_MAX + 1 - length)) > 0)
        length += (size_t)count;
    if (count < 0)
        error = -errno;
    else if (length > CONFIG_FILE_BYTES_MAX)
        error = -EFBIG;
    close(descriptor);
    if (error != 0) {
        free(bytes);
        return error;
    }
    *ret_bytes = bytes;
    *ret_length = length;
    return 0;
}

int config_file_take(struct config *config, char *ret_error)
{
    size_t length = 0;
    char *bytes = NULL;
    int status = read_file(config->file, &bytes, &length);

    if (status == -EFBIG)
        return config_error(ret_error, NAME_SHOWN ": too large; expected at most %u bytes", config->file,
                            CONFIG_FILE_BYTES_MAX);
    if (status == -EISDIR)
        return config_error(ret_error, NAME_SHOWN ": not a file; expected a regular file", config->file);
    if (status < 0)
        return config_error(ret_error, NAME_SHOWN ": %s; expected a file that can be read", config->file,
                            strerror(-status));
    status = config_file_parse(config->file, bytes, length, config, ret_error);
    free(bytes);
    return status;
}
