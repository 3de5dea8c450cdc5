/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snake.c - an interpreter as far as librip/auto/preload_binding.c can see: what it exports has the names of Python's,
 * and before it runs anything it calls the hook. Then it waits for the end of its input.
 *
 *   snake VERSION
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

/* Called before main(): the version is that of the command line. */
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
