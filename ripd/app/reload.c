/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload.c - old configuration against new, key by key, by the table of flags. Touches the file that --config names,
 * and the log.
 */
#include "app/reload.h"

#include <errno.h>
#include <string.h>

#include "app/config_option.h"
#include "util/text.h"

static void add_key(char keys[RELOAD_KEYS_BYTES], const char *name)
{
    text_append(keys, RELOAD_KEYS_BYTES, "%s%s", keys[0] == '\0' ? "" : ", ", name);
}

int reload_config(struct config *config, struct reload *ret_reload)
{
    struct config fresh;

    *ret_reload = (struct reload){.error = ""};
    if (config->file == NULL)
        return -ENOENT;
    if (config_load(config->argc, config->argv, &fresh, ret_reload->error) == CONFIG_BAD)
        return -EINVAL;
    for (size_t i = 0; i < options_count; i++) {
        if (option_same(&options[i], config, &fresh))
            continue;
        add_key(options[i].applied_by_reload ? ret_reload->applied : ret_reload->refused, options[i].name);
        if (options[i].applied_by_reload)
            option_swap(&options[i], config, &fresh);
    }
    config_done(&fresh);
    return 0;
}

void reload_report(const struct config *config, int status, const struct reload *reload)
{
    char file[LOG_QUOTED_BYTES];

    if (status == -ENOENT) {
        log_line(LOG_LEVEL_INFO, "nothing to reload: ripd was started without --config");
        return;
    }
    if (status < 0) {
        log_line(LOG_LEVEL_ERROR, "not reloaded, everything stays as it was: %s", reload->error);
        return;
    }
    if (reload->refused[0] != '\0')
        log_line(LOG_LEVEL_WARNING, "changed, but takes a restart: keys=\"%s\"", reload->refused);
    log_line(LOG_LEVEL_INFO, "reloaded: file=%s changed=\"%s\"", log_quote_text(config->file, file), reload->applied);
}
