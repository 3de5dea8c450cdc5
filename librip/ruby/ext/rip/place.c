/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.c - finds the place of a thread in its script, from the thread's control frames.
 *
 * Guarantees
 *   1. Finding a place allocates nothing, runs no Ruby code and takes no lock of Ruby. It reads only frames of the
 *      calling thread, which no other thread changes.
 *   2. A visible frame is complete, except to a signal handler that interrupted its creation. So with the GVL held, a
 *      place is returned only while the innermost frame is of a C method: then no frame is being created.
 *   3. Code that frames refer to moves in memory only during a compaction. No compaction runs while a thread without
 *      the GVL reads code (compact_without_readers()).
 *   4. Frames are read only while the thread runs Ruby code (runs_ruby()), because its structs are freed afterwards.
 *      For threads outside the main Ractor this time is not known, so they have no places.
 */
#include "place.h"
#include "binding.h"
#include "version.h"

#include <errno.h>
#include <pthread.h>
#include <ruby/thread.h>
#include <ruby/vm.h>
#include <sched.h>
#include <string.h>

enum {
    FUNCTIONS = 4096, /* entries of the cache */
    FRAMES_MAX = 1000,
    CALLERS_BYTES = 64 << 10, /* more than the stack that Ruby's functions above a thread's value stack need */
    LIBRARY_FOLDERS = 2,      /* one for scripts, one for machine-dependent files */
    NAME_BYTES = RIP_SCRIPT_FUNCTION_BYTES,
};

/* Where code comes from, in the order in which places are preferred. */
enum origin {
    ORIGIN_PROGRAM = 0,
    ORIGIN_GEM = 1,
    ORIGIN_RUBY = 2, /* the interpreter's standard library */
    ORIGIN_COUNT = 3,
};

/* A cache entry for an iseq, Ruby's compiled code of a function. */
struct function {
    struct version version;
    uint32_t origin;
    uint64_t key;
    uint64_t check;
    uint64_t script; /* 0 = not entered in the ring yet */
};

static struct function functions[FUNCTIONS];
static const struct gvl {
    const struct layout_thread *owner;
    pthread_mutex_t mutex;
} * gvl;
static bool is_known; /* layout_check() returned true */
static struct {
    size_t bytes;
    char path[256]; /* with a slash at the end */
} library[LIBRARY_FOLDERS];
static const char *const gem_folders[] = {"/gems/", "/vendor_ruby/", "/site_ruby/"};
static uint32_t readers;     /* number of threads without the GVL that are reading code */
static uint32_t compactions; /* not 0: code may move */
static bool compacts_always; /* GC.auto_compact is on, which counts as one of compactions */
static __thread struct {
    const struct layout_thread *thread; /* NULL = not begun, or of another Ractor */
    uintptr_t values;                   /* address of the value stack if it is on the thread's stack, else 0 */
    size_t bytes;
} own;

/* Names ------------------------------------------------------------------------------------------------------------ */

struct name {
    size_t bytes;
    char text[NAME_BYTES];
};

static void append(struct name *name, const char *text, size_t bytes)
{
    if (bytes > sizeof(name->text) - name->bytes)
        bytes = sizeof(name->text) - name->bytes;
    memcpy(name->text + name->bytes, text, bytes);
    name->bytes += bytes;
}

/* Returns the method that a frame is in, or NULL if it is in none, like rb_vm_frame_method_entry(). */
static const struct layout_entry *entry_of(const struct layout_frame *frame)
{
    const VALUE *environment = frame->ep;
    VALUE object;

    while ((environment[0] & LAYOUT_IS_LOCAL) == 0)
        environment = (const VALUE *)(environment[-1] & ~(VALUE)3); /* that of the enclosing block or method */
    object = environment[-2];
    if (layout_is(object, LAYOUT_VARIABLES))
        object = ((const VALUE *)object)[1];
    return layout_is(object, LAYOUT_METHOD_ENTRY) ? (const struct layout_entry *)object : NULL;
}

/* Appends "Order#" or "Order.", or nothing outside of classes. Returns false if the class may get a name later. */
static bool append_class(struct name *name, const struct layout_frame *frame)
{
    const struct layout_entry *entry = entry_of(frame);
    bool is_singleton;
    size_t bytes;
    VALUE class;

    if (entry == NULL || entry->owner == rb_cObject)
        return true;
    is_singleton = RB_FL_TEST_RAW(entry->owner, RUBY_FL_SINGLETON) != 0;
    class = is_singleton ? frame->self : entry->owner;
    if (RB_SPECIAL_CONST_P(class) ||
        (RB_BUILTIN_TYPE(class) != RUBY_T_CLASS && RB_BUILTIN_TYPE(class) != RUBY_T_MODULE))
        return true; /* a singleton method of an object that is not a class */
    bytes = class_name(class, name->text + name->bytes, sizeof(name->text) - name->bytes);
    name->bytes += bytes;
    if (bytes != 0)
        append(name, is_singleton ? "." : "#", 1);
    return bytes != 0;
}

/*
 * Makes "block in Order#place": Ruby's label, with the class of the method. Returns false if the name must not be
 * cached, because the class may get a name later.
 */
static bool name_frame(struct name *ret_name, const struct layout_frame *frame)
{
    const struct layout_body *body = frame->iseq->body;
    const VALUE label = body->label, base = body->base_label;
    bool is_final;

    ret_name->bytes = 0;
    if (body->local == NULL || body->local->body->type != LAYOUT_METHOD || RSTRING_LEN(label) < RSTRING_LEN(base)) {
        append(ret_name, RSTRING_PTR(label), (size_t)RSTRING_LEN(label));
        return true;
    }
    append(ret_name, RSTRING_PTR(label), (size_t)(RSTRING_LEN(label) - RSTRING_LEN(base))); /* "block in " */
    is_final = append_class(ret_name, frame);
    append(ret_name, RSTRING_PTR(base), (size_t)RSTRING_LEN(base));
    return is_final;
}

static uint64_t enter_function(const struct layout_iseq *code, const char *name, size_t name_bytes)
{
    const VALUE path = rb_iseq_path(code);

    return binding_runtime->script(RSTRING_PTR(path), (size_t)RSTRING_LEN(path), name, name_bytes,
                                   (uint32_t)FIX2LONG(code->body->first_line));
}

/* Cache of functions ----------------------------------------------------------------------------------------------- */

static enum origin origin_of(VALUE path)
{
    const char *text = RSTRING_PTR(path);
    const size_t bytes = (size_t)RSTRING_LEN(path);

    if (bytes >= 10 && memcmp(text, "<internal:", 10) == 0)
        return ORIGIN_RUBY;
    for (size_t i = 0; i < LIBRARY_FOLDERS; i++) {
        if (library[i].bytes != 0 && bytes > library[i].bytes && memcmp(text, library[i].path, library[i].bytes) == 0)
            return ORIGIN_RUBY;
    }
    for (size_t i = 0; i < sizeof(gem_folders) / sizeof(gem_folders[0]); i++) {
        if (memmem(text, bytes, gem_folders[i], strlen(gem_folders[i])) != NULL)
            return ORIGIN_GEM;
    }
    return ORIGIN_PROGRAM;
}

/* Returns a checksum that changes if the memory of the iseq is reused, or if the process gets another ring. */
static uint64_t check_of(const struct layout_iseq *code)
{
    const struct layout_body *body = code->body;
    const uint64_t words[] = {
        (uint64_t)(uintptr_t)body,      body->path, body->label, body->first_line, (uint64_t)(uintptr_t)body->code,
        binding_runtime->script_epoch()};
    uint64_t check = 0;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        check = (check ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        check ^= check >> 32;
    }
    return check;
}

static struct function *cached(const struct layout_iseq *code)
{
    return &functions[((uintptr_t)code / sizeof(VALUE) * 0x9e3779b1u >> 7) % FUNCTIONS];
}

static bool read_function(const struct layout_iseq *code, uint64_t check, struct function *ret_function)
{
    struct function *function = cached(code);
    const uint32_t version = version_read(&function->version);

    ret_function->origin = rip_load_relaxed(&function->origin);
    ret_function->key = rip_load_relaxed(&function->key);
    ret_function->check = rip_load_relaxed(&function->check);
    ret_function->script = rip_load_relaxed(&function->script);
    return version_is(&function->version, version) && ret_function->key == (uint64_t)(uintptr_t)code &&
           ret_function->check == check;
}

static void write_function(const struct layout_iseq *code, const struct function *with)
{
    struct function *function = cached(code);

    if (!version_begin(&function->version))
        return;
    rip_store_relaxed(&function->origin, with->origin);
    rip_store_relaxed(&function->key, with->key);
    rip_store_relaxed(&function->check, with->check);
    rip_store_relaxed(&function->script, with->script);
    version_end(&function->version);
}

static enum origin find_function(const struct layout_iseq *code, struct function *ret_function)
{
    const uint64_t check = check_of(code);

    if (!read_function(code, check, ret_function)) {
        *ret_function = (struct function){
            .origin = (uint32_t)origin_of(rb_iseq_path(code)), .key = (uint64_t)(uintptr_t)code, .check = check};
        write_function(code, ret_function);
    }
    return (enum origin)ret_function->origin;
}

/* Frames ----------------------------------------------------------------------------------------------------------- */

static bool is_of_c(const struct layout_frame *frame)
{
    return (frame->ep[0] & LAYOUT_FRAME_IS_C) != 0;
}

static bool is_of_ruby(const struct layout_frame *frame)
{
    return frame->iseq != NULL && frame->pc != NULL && !is_of_c(frame);
}

static uint64_t place_in(const struct layout_frame *frame)
{
    const struct layout_iseq *code = frame->iseq;
    size_t position = (size_t)(frame->pc - code->body->code);
    struct function function;
    struct name name;

    find_function(code, &function);
    if (function.script == 0) {
        const bool is_final = name_frame(&name, frame);

        function.script = enter_function(code, name.text, name.bytes);
        if (function.script == 0)
            return 0;
        if (is_final)
            write_function(code, &function);
    }
    if (position > 0)
        position--; /* pc is after the calling instruction */
    return function.script | (rb_iseq_line_no(code, position) & RIP_PLACE_LINE_MASK);
}

static const struct layout_frame *end_of(const struct layout_context *context)
{
    return (const struct layout_frame *)(const void *)(context->stack + context->stack_words);
}

/*
 * Returns the innermost frame with the program's own code, else with code of a gem, else of Ruby's library. Returns
 * NULL if there is none.
 */
static const struct layout_frame *find_frame(const struct layout_context *context, enum origin *ret_origin)
{
    const struct layout_frame *best[ORIGIN_COUNT] = {NULL};
    const struct layout_frame *frame = context->frame, *end = end_of(context);
    int origin = 0;

    for (int i = 0; i < FRAMES_MAX && frame < end && best[ORIGIN_PROGRAM] == NULL; i++, frame++) {
        struct function function;

        if (!is_of_ruby(frame))
            continue;
        find_function(frame->iseq, &function);
        if (best[function.origin] == NULL)
            best[function.origin] = frame;
    }
    while (origin < ORIGIN_RUBY && best[origin] == NULL)
        origin++;
    *ret_origin = (enum origin)origin;
    return best[origin];
}

static uint64_t place_on(const struct layout_context *context)
{
    enum origin origin;
    const struct layout_frame *frame = find_frame(context, &origin);

    return frame == NULL ? 0 : place_in(frame);
}

static bool has_gvl(const struct layout_context *context)
{
    return gvl != NULL && rip_load_relaxed(&gvl->owner) == context->thread;
}

bool place_has_gvl(void)
{
    return has_gvl(ruby_current_ec);
}

uint64_t place_of_program(void)
{
    const struct layout_context *context = ruby_current_ec;
    const int saved_errno = errno;
    uint64_t place = 0;

    if (!is_known || context == NULL || context->stack == NULL || context->frame == NULL ||
        context->frame >= end_of(context))
        return 0;
    if (has_gvl(context)) {
        if (is_of_c(context->frame) && !rb_during_gc())
            place = place_on(context);
    } else {
        __atomic_add_fetch(&readers, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&compactions, __ATOMIC_SEQ_CST) == 0)
            place = place_on(context);
        __atomic_sub_fetch(&readers, 1, __ATOMIC_SEQ_CST);
    }
    errno = saved_errno;
    return place;
}

uint64_t place_of_switched_out(const struct layout_context *context)
{
    if (!is_known || !place_has_gvl() || context->stack == NULL || context->frame == NULL ||
        context->frame >= end_of(context) || !is_of_c(context->frame))
        return 0;
    return place_on(context);
}

bool place_is_in_library(void)
{
    const struct layout_context *context = ruby_current_ec;
    enum origin origin;

    return is_known && place_has_gvl() && is_of_c(context->frame) && find_frame(context, &origin) != NULL &&
           origin == ORIGIN_RUBY;
}

/*
 * Returns true while the thread runs Ruby code. A thread that ends by an exception or Thread#kill raises no event. Then
 * its native thread waits for the next Ruby thread, with a context that is freed meanwhile. The value stack is in the
 * stack frame of the function that runs the Ruby thread, so all code that this function calls is below it.
 */
static bool runs_ruby(void)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    return own.thread != NULL && here - own.values >= own.bytes + CALLERS_BYTES && ruby_current_ec != NULL &&
           ruby_current_ec->thread == own.thread;
}

static uint64_t place_if_any(void)
{
    return runs_ruby() ? place_of_program() : 0;
}

void place_thread_begun(void)
{
    const struct layout_context *context = ruby_current_ec;
    const bool is_main = rb_thread_current() == rb_thread_main(); /* its value stack is on the heap */

    own.thread = context->thread;
    own.values = is_main ? 0 : (uintptr_t)context->stack;
    own.bytes = is_main ? 0 : context->stack_words * sizeof(VALUE);
}

uint64_t place_of_caller(void)
{
    const struct layout_context *context = ruby_current_ec;

    if (!is_known || context == NULL || context->stack == NULL)
        return 0;
    for (const struct layout_frame *frame = context->frame; frame < end_of(context); frame++) {
        if (is_of_ruby(frame))
            return place_in(frame);
    }
    return 0;
}

uint64_t place_of_method(VALUE method, const char *name, size_t name_length)
{
    const VALUE compiler = rb_path2class("RubyVM::InstructionSequence");
    const VALUE wrapper = rb_funcall(compiler, rb_intern("of"), 1, method);
    const struct layout_iseq *code;
    uint64_t function;

    if (!is_known || NIL_P(wrapper))
        return 0;
    code = rb_iseqw_to_iseq(wrapper);
    function = enter_function(code, name, name_length);
    return function == 0 ? 0 : function | ((uint64_t)FIX2LONG(code->body->first_line) & RIP_PLACE_LINE_MASK);
}

/* Compaction ------------------------------------------------------------------------------------------------------- */

static void wait_for_readers(void)
{
    __atomic_add_fetch(&compactions, 1, __ATOMIC_SEQ_CST); /* a counter, because other Ractors may compact, too */
    while (__atomic_load_n(&readers, __ATOMIC_SEQ_CST) != 0)
        sched_yield(); /* not a sleep: a reader needs less than a microsecond of CPU time */
}

static VALUE compaction_end(VALUE unused)
{
    class_names_renew();
    __atomic_sub_fetch(&compactions, 1, __ATOMIC_SEQ_CST);
    return unused;
}

static VALUE call_original(VALUE call)
{
    const VALUE *arguments = RARRAY_CONST_PTR(call);

    return rb_method_call_kw((int)RARRAY_LEN(call) - 1, arguments + 1, arguments[0], RB_PASS_CALLED_KEYWORDS);
}

/* Runs GC.compact or a similar method while no thread without the GVL reads code. */
static VALUE compact_without_readers(int argc, const VALUE *argv, VALUE original)
{
    VALUE call = rb_ary_new_from_args(1, original);

    rb_ary_cat(call, argv, argc);
    wait_for_readers();
    return rb_ensure(call_original, call, compaction_end, Qnil);
}

static VALUE original_compact, original_verify, original_auto_compact;

static VALUE gc_compact(int argc, VALUE *argv, VALUE self)
{
    (void)self;
    return compact_without_readers(argc, argv, original_compact);
}

static VALUE gc_verify(int argc, VALUE *argv, VALUE self)
{
    (void)self;
    return compact_without_readers(argc, argv, original_verify);
}

static VALUE gc_auto_compact(int argc, VALUE *argv, VALUE self)
{
    const bool always = argc > 0 && RTEST(argv[0]);
    VALUE result;

    (void)self;
    if (always && !__atomic_exchange_n(&compacts_always, true, __ATOMIC_SEQ_CST))
        __atomic_add_fetch(&compactions, 1, __ATOMIC_SEQ_CST);
    result = compact_without_readers(argc, argv, original_auto_compact);
    if (!always && __atomic_exchange_n(&compacts_always, false, __ATOMIC_SEQ_CST))
        __atomic_sub_fetch(&compactions, 1, __ATOMIC_SEQ_CST);
    return result;
}

static void replace(const char *name, VALUE *ret_original, VALUE (*with)(int, VALUE *, VALUE))
{
    if (!rb_obj_respond_to(rb_mGC, rb_intern(name), 0))
        return;
    *ret_original = rb_obj_method(rb_mGC, ID2SYM(rb_intern(name)));
    rb_gc_register_mark_object(*ret_original);
    rb_define_singleton_method(rb_mGC, name, with, -1);
}

static void vm_ended(ruby_vm_t *vm)
{
    (void)vm;
    is_known = false; /* the main thread still makes calls until the process ends, but its structs are freed */
}

static void readers_after_fork(void)
{
    __atomic_store_n(&readers, 0, __ATOMIC_SEQ_CST); /* the readers were threads of the parent */
}

/* Start ------------------------------------------------------------------------------------------------------------ */

static void *first_watch(void *ret_mutex)
{
    const void *first;

    binding_runtime->watch_end(&first, (const void **)ret_mutex);
    binding_runtime->watch_begin();
    return NULL;
}

/*
 * Finds the GVL's mutex. A thread locks it last when it releases the GVL, and locks two mutexes when it takes the GVL
 * again: the GVL's and its own. So the GVL's mutex is the one that is in both.
 */
static void find_gvl(void)
{
    const void *to_give = NULL, *first = NULL, *last = NULL;
    const struct gvl *found;

    binding_runtime->watch_begin();
    rb_thread_call_without_gvl(first_watch, &to_give, NULL, NULL);
    binding_runtime->watch_end(&first, &last);
    if (to_give == NULL || (to_give != first && to_give != last))
        return;
    found = (const void *)((const char *)to_give - offsetof(struct gvl, mutex));
    if (found->owner == ruby_current_ec->thread) {
        gvl = found;
        binding_runtime->set_interpreter_lock(&found->mutex, sizeof(found->mutex), NULL);
    }
}

/* Finds the folders of the standard library in the load path: PREFIX/lib/ruby/3.1.0, and the machine-dependent one. */
static void find_library(void)
{
    static const char ending[] = "/ruby/3.1.0";
    const VALUE folders = rb_gv_get("$LOAD_PATH");
    size_t found = 0;

    for (long i = 0; i < RARRAY_LEN(folders) && found < LIBRARY_FOLDERS; i++) {
        const VALUE folder = rb_ary_entry(folders, i);
        const size_t bytes = RB_TYPE_P(folder, T_STRING) ? (size_t)RSTRING_LEN(folder) : 0;

        if (bytes < sizeof(ending) || bytes >= sizeof(library[found].path) ||
            memcmp(RSTRING_PTR(folder) + bytes - (sizeof(ending) - 1), ending, sizeof(ending) - 1) != 0)
            continue;
        memcpy(library[found].path, RSTRING_PTR(folder), bytes);
        library[found].path[bytes] = '/';
        library[found++].bytes = bytes + 1;
    }
}

bool place_start(void)
{
    if (!layout_check())
        return false;
    find_library();
    replace("compact", &original_compact, gc_compact);
    replace("verify_compaction_references", &original_verify, gc_verify);
    replace("auto_compact=", &original_auto_compact, gc_auto_compact);
    pthread_atfork(NULL, NULL, readers_after_fork);
    ruby_vm_at_exit(vm_ended);
    find_gvl();
    is_known = true;
    if ((binding_runtime->flags & RIP_RUNTIME_PRELOAD) != 0)
        binding_runtime->set_place(place_if_any);
    return true;
}
