/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web.c - loads lib/rip/web.rb, which makes notes of requests and queries. The script is beside this library, or where
 * `require` finds it.
 *
 * Under `rip run` the script is attached to Puma and Rails as soon as the class is defined that it hooks into.
 * Otherwise the program attaches it.
 */
#include "binding.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

/* A class of the application, and the module of web.rb that hooks into it. */
static const struct {
    const char *class;
    const char *part;
} hooks[] = {
    {"Puma::Request", "Puma"},
    {"ActiveSupport::Notifications", "Notifications"},
};

static VALUE path_of_script(void)
{
    const char *slash;
    Dl_info info;
    VALUE path;

    if (dladdr((const void *)path_of_script, &info) == 0 || (slash = strrchr(info.dli_fname, '/')) == NULL)
        rb_raise(rb_eLoadError, "rip: cannot find the path of rip.so");
    path = rb_sprintf("%.*s/web.rb", (int)(slash - info.dli_fname), info.dli_fname);
    if (access(StringValueCStr(path), R_OK) != 0)
        path = rb_find_file(rb_str_new_cstr("rip/web.rb")); /* in a package, scripts are in another folder */
    if (path == 0)
        rb_raise(rb_eLoadError, "rip: rip/web.rb is neither beside rip.so nor in the load path");
    return path;
}

void web_define(VALUE module)
{
    const VALUE path = path_of_script();
    VALUE arguments[2];

    if (rb_const_defined_at(module, rb_intern("RIP")))
        return;
    arguments[0] = rb_funcall(rb_cFile, rb_intern("read"), 1, path);
    arguments[1] = path;
    rb_funcallv(module, rb_intern("module_eval"), 2, arguments);
}

static VALUE attach(VALUE part)
{
    const VALUE module = binding_module();

    web_define(module);
    return rb_funcall(rb_const_get(module, rb_intern((const char *)part)), rb_intern("attach"), 0);
}

void web_class_ended(VALUE name)
{
    VALUE result;

    if ((binding_runtime->flags & RIP_RUNTIME_PRELOAD) == 0)
        return;
    for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
        if (strcmp(StringValueCStr(name), hooks[i].class) == 0)
            binding_protect(LAYOUT_NO_SIGNALS, attach, (VALUE)hooks[i].part,
                            &result); /* fails with an incompatible version: then there are no notes */
    }
}
