/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class.c - names of classes, for threads without the GVL.
 *
 * Ruby keeps the name of a class in a table that any thread with the GVL may change. So the name is copied here when
 * the body of the class has been run. A class without a body, such as a class made by Struct.new, has no name here.
 */
#include "binding.h"
#include "mutex.h"
#include "version.h"

#include <string.h>

enum {
    CLASSES = 4096,
    PROBES = 8,
    NAME_BYTES = 96,
};

struct class_name {
    struct version version;
    uint32_t bytes; /* 0 = free */
    VALUE class;
    const void *extension; /* of the class; it differs if another class gets the memory later */
    char text[NAME_BYTES];
};

static struct class_name names[CLASSES];

static struct class_name *entry_of(VALUE class, size_t probe)
{
    return &names[(class / sizeof(VALUE) * 0x9e3779b1u / 128 + probe) % CLASSES];
}

static const void *extension_of(VALUE class)
{
    return ((const struct layout_class *)class)->extension;
}

size_t class_name(VALUE class, char *ret_text, size_t size_bytes)
{
    for (size_t probe = 0; probe < PROBES; probe++) {
        struct class_name *entry = entry_of(class, probe);
        const uint32_t version = version_read(&entry->version);
        size_t bytes = rip_load_relaxed(&entry->bytes);

        if (rip_load_relaxed(&entry->class) != class || rip_load_relaxed(&entry->extension) != extension_of(class))
            continue;
        if (bytes > size_bytes)
            bytes = size_bytes;
        memcpy(ret_text, entry->text, bytes);
        return version_is(&entry->version, version) ? bytes : 0;
    }
    return 0;
}

static void write_entry(struct class_name *entry, VALUE class, const char *text, size_t bytes)
{
    if (!version_begin(&entry->version))
        return;
    rip_store_relaxed(&entry->class, class);
    rip_store_relaxed(&entry->extension, class == 0 ? NULL : extension_of(class));
    rip_store_relaxed(&entry->bytes, (uint32_t)bytes);
    memcpy(entry->text, text, bytes);
    version_end(&entry->version);
}

/* If all probes are in use, the last entry is evicted. A missing name is simply not shown. */
static VALUE enter_class(VALUE class)
{
    const VALUE name = rb_mod_name(class);
    size_t bytes;

    if (!RB_TYPE_P(name, T_STRING))
        return Qnil;
    bytes = (size_t)RSTRING_LEN(name);
    for (size_t probe = 0; probe < PROBES; probe++) {
        struct class_name *entry = entry_of(class, probe);

        if (entry->class == class || entry->bytes == 0 || probe + 1 == PROBES) {
            write_entry(entry, class, RSTRING_PTR(name), bytes > NAME_BYTES ? NAME_BYTES : bytes);
            break;
        }
    }
    return name;
}

static VALUE enter_each(RB_BLOCK_CALL_FUNC_ARGLIST(class, unused))
{
    (void)argc;
    (void)argv;
    (void)blockarg;
    enter_class(class);
    return unused;
}

void class_names_renew(void)
{
    VALUE kind = rb_cModule;

    for (size_t i = 0; i < CLASSES; i++) {
        if (names[i].bytes != 0)
            write_entry(&names[i], 0, "", 0);
    }
    rb_block_call(rb_path2class("ObjectSpace"), rb_intern("each_object"), 1, &kind, enter_each, Qnil);
}

static void on_class_end(rb_event_flag_t event, VALUE data, VALUE self, ID id, VALUE class)
{
    VALUE name;

    (void)event;
    (void)data;
    (void)id;
    (void)class;
    if (RB_FL_TEST_RAW(self, RUBY_FL_SINGLETON))
        return;
    name = enter_class(self);
    if (NIL_P(name))
        return;
    mutex_class_ended(name);
    web_class_ended(name);
}

void class_start(void)
{
    rb_add_event_hook(on_class_end, RUBY_EVENT_END, Qnil);
}
