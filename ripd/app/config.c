/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - combines the sources of the configuration, lowest precedence first: defaults, file, command line. Each
 * value of a higher source replaces the value of a lower one.
 *
 * The command line is read twice: first for the name of the file, then again to override the file. A flag with a value
 * accepts "--flag value" and "--flag=value". If a flag that is not a list is repeated, the last value counts.
 *
 * inih parses the file. A line is KEY = VALUE, [ripd], or a comment if its first character is '#' or ';'. A value
 * extends to the end of the line: there are no trailing comments, quotes or continuation lines. A key that is not
 * repeatable may occur once. The first error is reported.
 */
#include "app/config.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/config_option.h"
#include "os/file.h"
#include "util/text.h"

#define LINE_FORM "KEY = VALUE, [ripd], or a comment that begins with # or ;"
#define NAME_SHOWN "%.200s" /* file name in a message */
#define LINE_ENDS_BYTES 3   /* free bytes that inih needs after a line */

/* Fills ret_error with one line of printable ASCII, whatever the arguments contain. Returns -EINVAL. */
__attribute__((format(printf, 2, 3))) static int fail(char ret_error[CONFIG_ERROR_BYTES], const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(ret_error, CONFIG_ERROR_BYTES, format, arguments);
    va_end(arguments);
    text_make_printable(ret_error);
    return -EINVAL;
}

/* Stores a value of the option. place is where the value was found, for messages. */
static int take_value(const char *place, const struct option *option, struct config *config,
                      struct options_given *given, const char *value, char *ret_error)
{
    const char *expected = NULL;
    const int status = option_take(option, config, given, value, &expected);

    if (status == -ENOMEM)
        return fail(ret_error, "%s: out of memory", place);
    if (status < 0)
        return fail(ret_error, "%s: '%.64s' is not accepted; expected %s", place, value, expected);
    return 0;
}

/* The command line ------------------------------------------------------------------------------------------------- */

/* Handles the flag at argv[*index] and advances *index to its last word. */
static int flag_take(int argc, char *const *argv, int *index, struct config *config, struct options_given *given,
                     enum config_action *ret_action, char *ret_error)
{
    const char *word = argv[*index];
    const char *name = word + 2;
    const char *equals, *value;
    const struct option *option;
    char place[64];
    size_t length;

    if (strncmp(word, "--", 2) != 0)
        return fail(ret_error, "unexpected argument '%.64s'; see ripd --help", word);
    equals = strchr(name, '=');
    length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    option = option_find(name, length);
    if (option == NULL)
        return fail(ret_error, "unknown flag '--%.*s'; see ripd --help", length > 64 ? 64 : (int)length, name);
    if (option->kind == OPTION_ACTION) {
        if (equals != NULL)
            return fail(ret_error, "--%s: takes no value", option->name);
        *ret_action = option->action;
        return 0;
    }
    value = equals != NULL ? equals + 1 : NULL;
    if (value == NULL && *index + 1 < argc)
        value = argv[++*index];
    if (value == NULL)
        return fail(ret_error, "--%s: needs a value (%s)", option->name, option->value_name);
    snprintf(place, sizeof(place), "--%s", option->name);
    return take_value(place, option, config, given, value, ret_error);
}

/* Applies the command line to *config, which holds the values of lower sources. Returns 0 or -EINVAL. */
static int take_words(int argc, char *const *argv, struct config *config, enum config_action *ret_action,
                      char *ret_error)
{
    struct options_given given = {{false}};
    enum config_action action = CONFIG_RUN;

    for (int i = 1; i < argc; i++) {
        enum config_action asked = CONFIG_RUN;
        int status = flag_take(argc, argv, &i, config, &given, &asked, ret_error);

        if (status < 0)
            return status;
        if (asked == CONFIG_CHECK)
            action = asked; /* the whole line is still checked */
        else if (asked != CONFIG_RUN) {
            *ret_action = asked;
            return 0;
        }
    }
    *ret_action = action;
    return 0;
}

/* The file --------------------------------------------------------------------------------------------------------- */

struct file {
    const char *name;
    const char *rest, *end; /* bytes not read yet */
    const char *line;       /* without surrounding blanks, not terminated */
    size_t line_bytes;
    unsigned line_number;
    int status; /* -EINVAL: ret_error is filled */
    struct config *config;
    struct options_given given;
    char *ret_error;
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static int refuse_line(struct file *file, const char *expected)
{
    return fail(file->ret_error, NAME_SHOWN ":%u: '%.*s' is not accepted; expected %s", file->name, file->line_number,
                file->line_bytes > 64 ? 64 : (int)file->line_bytes, file->line, expected);
}

static int refuse_key(struct file *file, const char *name)
{
    char keys[CONFIG_ERROR_BYTES] = "";

    for (size_t i = 0; i < options_count; i++)
        if (option_is_key(&options[i]))
            text_append(keys, sizeof(keys), " %s", options[i].name);
    return fail(file->ret_error, NAME_SHOWN ":%u: %.64s: the key is not known; expected one of%s", file->name,
                file->line_number, name, keys);
}

static int take_key(struct file *file, const char *name, const char *value)
{
    const struct option *option = option_find(name, strlen(name));
    char place[CONFIG_ERROR_BYTES];

    if (option == NULL || !option_is_key(option))
        return refuse_key(file, name);
    snprintf(place, sizeof(place), NAME_SHOWN ":%u: %s", file->name, file->line_number, name);
    if (!option_repeats(option) && file->given.given[option - options])
        return fail(file->ret_error, "%s: '%.64s' is not accepted; expected the key once", place, value);
    return take_value(place, option, file->config, &file->given, value, file->ret_error);
}

/* inih's handler: returns nonzero on success. */
static int on_key(void *context, const char *section, const char *name, const char *value)
{
    struct file *file = context;

    (void)section; /* check_line() accepts only [ripd] */
    /* inih also splits at ':'. */
    if (name[0] == '\0' || file->line[strcspn(file->line, "=:")] != '=')
        file->status = refuse_line(file, LINE_FORM);
    else
        file->status = take_key(file, name, value);
    return file->status == 0;
}

/* Rejects what inih would misread or silently skip. Returns 0 or -EINVAL. */
static int check_line(struct file *file, size_t max_bytes)
{
    if (file->line_bytes > max_bytes)
        return fail(file->ret_error, NAME_SHOWN ":%u: the line has %zu bytes; expected at most %zu", file->name,
                    file->line_number, file->line_bytes, max_bytes);
    for (size_t i = 0; i < file->line_bytes; i++)
        if (((unsigned char)file->line[i] < 0x20 && file->line[i] != '\t') || file->line[i] == 0x7f)
            return fail(file->ret_error, NAME_SHOWN ":%u: a control byte is in the line; expected text", file->name,
                        file->line_number);
    if (file->line_bytes > 0 && file->line[0] == '[' &&
        (file->line_bytes != strlen("[ripd]") || memcmp(file->line, "[ripd]", file->line_bytes) != 0))
        return refuse_line(file, "[ripd], or keys before any section");
    return 0;
}

/* inih's fgets(). Returns NULL at the end of the file or if the line is rejected. */
static char *read_line(char *buffer, int size, void *stream)
{
    struct file *file = stream;
    const char *end;

    if (file->rest == file->end)
        return NULL;
    end = memchr(file->rest, '\n', (size_t)(file->end - file->rest));
    if (end == NULL)
        end = file->end;
    file->line = file->rest;
    file->rest = end < file->end ? end + 1 : end;
    file->line_number++;
    while (file->line < end && is_blank(end[-1]))
        end--;
    while (file->line < end && is_blank(file->line[0]))
        file->line++;
    file->line_bytes = (size_t)(end - file->line);
    file->status = check_line(file, (size_t)size - LINE_ENDS_BYTES);
    if (file->status < 0)
        return NULL;
    memcpy(buffer, file->line, file->line_bytes);
    buffer[file->line_bytes] = '\0';
    return buffer;
}

int config_file_parse(const char *name, const char *bytes, size_t length, struct config *config, char *ret_error)
{
    size_t mark_bytes = length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* UTF-8 byte order mark */
    struct file file = {
        .name = name, .rest = bytes + mark_bytes, .end = bytes + length, .config = config, .ret_error = ret_error};

    ini_max_line = CONFIG_LINE_BYTES_MAX + LINE_ENDS_BYTES;
    ini_allow_bom = false; /* it would hide a section from check_line() */
    ini_allow_inline_comments = false;
    ini_allow_multiline = false;
    ini_stop_on_first_error = true;
    if (ini_parse_stream(read_line, &file, on_key, &file) != 0 && file.status == 0)
        return refuse_line(&file, LINE_FORM); /* neither a key with a value nor a comment */
    return file.status;
}

/* Reads the whole file. Does not block on a FIFO or a device. */
static int read_file(const char *path, char **ret_bytes, size_t *ret_length)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    char *bytes = NULL;
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
    if (error == 0)
        count = file_read(descriptor, bytes, CONFIG_FILE_BYTES_MAX + 1, 0);
    if (count < 0)
        error = (int)count;
    else if (count > CONFIG_FILE_BYTES_MAX)
        error = -EFBIG;
    close(descriptor);
    if (error != 0) {
        free(bytes);
        return error;
    }
    *ret_bytes = bytes;
    *ret_length = (size_t)count;
    return 0;
}

/* Applies the file config->file to *config. */
static int take_file(struct config *config, char *ret_error)
{
    size_t length = 0;
    char *bytes = NULL;
    int status = read_file(config->file, &bytes, &length);

    if (status == -EFBIG)
        return fail(ret_error, "--config: " NAME_SHOWN ": too large; expected at most %u bytes", config->file,
                    CONFIG_FILE_BYTES_MAX);
    if (status == -EISDIR)
        return fail(ret_error, "--config: " NAME_SHOWN ": not a file; expected a regular file", config->file);
    if (status < 0)
        return fail(ret_error, "--config: " NAME_SHOWN ": %s; expected a file that can be read", config->file,
                    strerror(-status));
    status = config_file_parse(config->file, bytes, length, config, ret_error);
    free(bytes);
    return status;
}

/* Loading ---------------------------------------------------------------------------------------------------------- */

static int set_defaults(struct config *config, char *ret_error)
{
    for (size_t i = 0; i < options_count; i++)
        if (option_set_default(&options[i], config) < 0)
            return fail(ret_error, "out of memory");
    return 0;
}

/* As config_load(), but *config is always initialized, whatever the result. */
static int load(int argc, char *const *argv, struct config *config, enum config_action *ret_action, char *ret_error)
{
    int status = set_defaults(config, ret_error);

    if (status == 0)
        status = take_words(argc, argv, config, ret_action, ret_error);
    if (status < 0 || *ret_action == CONFIG_SHOW_HELP || *ret_action == CONFIG_SHOW_VERSION || config->file == NULL)
        return status;
    for (size_t i = 0; i < options_count; i++)
        if (option_is_key(&options[i]))
            option_done(&options[i], config);
    status = set_defaults(config, ret_error);
    if (status == 0)
        status = take_file(config, ret_error);
    if (status == 0)
        status = take_words(argc, argv, config, ret_action, ret_error);
    return status;
}

enum config_action config_load(int argc, char *const *argv, struct config *ret_config,
                               char ret_error[CONFIG_ERROR_BYTES])
{
    struct config config = {.argc = argc, .argv = argv};
    enum config_action action = CONFIG_RUN;

    if (load(argc, argv, &config, &action, ret_error) < 0)
        action = CONFIG_BAD;
    if (action == CONFIG_RUN || action == CONFIG_CHECK)
        *ret_config = config;
    else
        config_done(&config);
    return action;
}

void config_done(struct config *config)
{
    for (size_t i = 0; i < options_count; i++)
        option_done(&options[i], config);
}

static void add_key(char keys[CONFIG_KEYS_BYTES], const char *name)
{
    text_append(keys, CONFIG_KEYS_BYTES, "%s%s", keys[0] == '\0' ? "" : ", ", name);
}

int config_reload(struct config *config, struct config_changes *ret_changes)
{
    struct config fresh;

    *ret_changes = (struct config_changes){.error = ""};
    if (config->file == NULL)
        return -ENOENT;
    if (config_load(config->argc, config->argv, &fresh, ret_changes->error) == CONFIG_BAD)
        return -EINVAL;
    for (size_t i = 0; i < options_count; i++) {
        if (option_same(&options[i], config, &fresh))
            continue;
        add_key(options[i].applied_by_reload ? ret_changes->applied : ret_changes->refused, options[i].name);
        if (options[i].applied_by_reload)
            option_swap(&options[i], config, &fresh);
    }
    config_done(&fresh);
    return 0;
}

struct scan_settings config_settings(const struct config *config)
{
    return (struct scan_settings){
        .interval_ns = config->interval_ns,
        .stall_after_ns = config->stall_after_ns,
        /* An id that freezes again at once is stalled again after stall-after. Both stalls must be one episode. */
        .hysteresis_ns = config->stall_after_ns + config->interval_ns,
        .rules = config->rules,
    };
}

void config_print_help(FILE *stream)
{
    fprintf(stream, "Usage: ripd [FLAG...]\n"
                    "Watches the rings of this host and serves what is stuck as JSON over HTTP.\n\n");
    for (size_t i = 0; i < options_count; i++) {
        char left[40], defaults[OPTION_DEFAULT_BYTES];

        option_default_text(&options[i], defaults);
        snprintf(left, sizeof(left), "--%s%s%s", options[i].name, options[i].value_name != NULL ? " " : "",
                 options[i].value_name != NULL ? options[i].value_name : "");
        fprintf(stream, "  %-21s %s%s%s\n", left, options[i].help, defaults[0] != '\0' ? " " : "", defaults);
    }
    fprintf(stream, "\nDurations are 250ms, 5s, 2m, 1h. Example: curl localhost:7470/stalls\n");
}
