/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snake.c - snake VERSION: a fake Python interpreter for librip/auto/preload_binding.c. It exports the names that
 * Python exports, and calls the hook before it runs anything. Then it waits for the end of its input.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int python_hook(const char *event, void *arguments, void *context);

static python_hook *hook;

int Py_BytesMain(int argc, char **argv);
int Py_BytesMain(int argc, char **argv)
{
    (void)argv;
    return argc;
}

/* Called before main(), so the version is read from the command line. */
const char *Py_GetVersion(void);
const char *Py_GetVersion(void)
{
    static char version[64];
    static const char test[] = " (test, of today)";
    FILE *file = fopen("/proc/self/cmdline", "r");
    char line[256] = "";
    size_t bytes = file != NULL ? fread(line, 1, sizeof(line) - 1, file) : 0;

    if (file != NULL)
        fclose(file);
    line[bytes] = '\0';
    strncpy(version, line + strlen(line) + 1, sizeof(version) - sizeof(test) - 1);
    strcat(version, test);
    return version;
}

int PySys_AddAuditHook(python_hook *added, void *context);
int PySys_AddAuditHook(python_hook *added, void *context)
{
    (void)context;
    hook = added;
    return 0;
}

int main(void)
{
    char byte;

    if (hook != NULL) {
        hook("open", NULL, NULL);
        hook("cpython.run_file", NULL, NULL);
        hook("cpython.run_file", NULL, NULL);
    }
    puts("running");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    return 0;
}
