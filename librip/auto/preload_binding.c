/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_binding.c - loads the binding of an interpreter's language, right before the interpreter runs a script.
 *
 * Bindings are installed beside this library, in librip/LANGUAGEVERSION/ (librip/python3.11/). Python offers an audit
 * hook, which may be added before Python is initialized. Ruby calls a function of its library, which is wrapped here.
 *
 * Guarantees
 *   A. A program that is not an interpreter pays only for a lookup in a few hash tables of symbols.
 *   B. If there is no binding for the interpreter's version, it is traced like any other program. Under `rip run` one
 *      line reports this.
 *   C. A program that embeds an interpreter gets a binding only if it runs a script as the interpreter itself does.
 *   D. Nothing is loaded into a process without a ring.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "preload.h"
#include "writer.h"

/* As Python declares them. */
typedef int python_hook(const char *event, void *arguments, void *context);
typedef int python_add_hook(python_hook *hook, void *context);
typedef const char *python_version(void);

#define PYTHON_RUNS "cpython.run_" /* prefix of the audit events run_command, run_file, run_module, run_stdin */

static RIP_EARLY bool is_python;

static void *find(const char *name)
{
    void *function = preload_symbol_of_program(name);

    return function != NULL ? function : preload_symbol_find(name);
}

bool preload_is_interpreter(void)
{
    is_python = find("Py_BytesMain") != NULL;
    return is_python || preload_symbol_find("ruby_run_node") != NULL;
}

/* Makes DIRECTORY/librip/LANGUAGE3.11/FILE from a version such as "3.11.2 (main ...". */
static bool format_path(char ret_path[PATH_MAX], const char *language, const char *version, const char *file)
{
    const char *minor = strchr(version, '.');
    const size_t version_bytes = minor != NULL ? (size_t)(minor - version) + 1 + strspn(minor + 1, "0123456789") : 0;
    const char *slash;
    Dl_info info;
    int bytes;

    if (minor == NULL || dladdr((const void *)format_path, &info) == 0)
        return false;
    slash = strrchr(info.dli_fname, '/');
    if (slash == NULL)
        return false;
    bytes = snprintf(ret_path, PATH_MAX, "%.*s/librip/%s%.*s/%s", (int)(slash - info.dli_fname), info.dli_fname,
                     language, (int)version_bytes, version, file);
    return bytes > 0 && bytes < PATH_MAX;
}

/* Returns false and reports it if there is no binding. */
static bool has_binding(const char *path, const char *language, const char *version)
{
    if (access(path, R_OK) == 0)
        return true;
    preload_report("rip: no binding for %s %.*s: only the interpreter's own calls are traced, not the script\n",
                   language, (int)strcspn(version, " "), version);
    return false;
}

static void load(const char *path, const char *entry)
{
    void *binding = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void (*start)(void) = binding != NULL ? (void (*)(void))dlsym(binding, entry) : NULL;

    if (start != NULL)
        start();
    else
        preload_report("rip: %s\n", dlerror());
}

/* --- Python ------------------------------------------------------------------------------------------------------- */

static char python_path[PATH_MAX];
static bool python_started;

/* Caller holds the interpreter's lock. */
static int before_python_runs(const char *event, void *arguments, void *context)
{
    (void)arguments;
    (void)context;
    if (!python_started && strncmp(event, PYTHON_RUNS, sizeof(PYTHON_RUNS) - 1) == 0) {
        python_started = true;
        if (preload_is_free())
            load(python_path, "rip_python_start");
    }
    return 0;
}

static void setup_python(void)
{
    python_add_hook *add_hook = (python_add_hook *)find("PySys_AddAuditHook");
    python_version *version = (python_version *)find("Py_GetVersion");

    if (add_hook != NULL && version != NULL && format_path(python_path, "python", version(), "_rip.so") &&
        has_binding(python_path, "Python", version()))
        add_hook(before_python_runs, NULL);
}

void preload_binding_setup(void)
{
    if (is_python)
        setup_python();
}

/* --- Ruby --------------------------------------------------------------------------------------------------------- */

static void start_ruby(void)
{
    const char *version = dlsym(RTLD_DEFAULT, "ruby_version");
    char path[PATH_MAX];

    if (preload_is_free() && version != NULL && format_path(path, "ruby", version, "rip.so") &&
        has_binding(path, "Ruby", version))
        load(path, "rip_ruby_start");
}

PRELOAD_WRAPPER(int, ruby_run_node, (void *script))
{
    int saved_errno = errno;

    start_ruby();
    errno = saved_errno;
    return PRELOAD_REAL(int, ruby_run_node, (void *))(script);
}
