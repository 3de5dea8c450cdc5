/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.c - finds the place of a thread in a script.
 *
 * Guarantees
 *   1. place() reads frames only while no other code can change them: the thread is in a call and has released the GIL
 *      for it. With the GIL held, the caller may be a signal handler that interrupted the creation of a frame.
 *   2. place() takes only the lock of rip_script_enter(), and never twice. So it is async-signal-safe.
 *   3. place() does not access a thread state that is freed at the interpreter's end: see threads.c.
 */
#include "place.h"
#include "threads.h"

#include <string.h>
#include <time.h>

#define KEPT_NS UINT64_C(1000000000)

enum {
    FRAMES_MAX = 64, /* frames that are searched for one of the program's own */
    TEXT_MAX = 512,  /* in bytes, for a text that is not ASCII; the library keeps fewer */
    PATH_LENGTH_MAX = 512,
};

struct text {
    const char *bytes;
    size_t length;
};

struct path {
    char bytes[PATH_LENGTH_MAX];
    size_t length; /* 0 = none */
};

static struct path library;  /* directory of the standard library, with a slash at the end */
static struct path left_out; /* package rip's own file */

static size_t put_utf8(char *to, uint32_t character)
{
    if (character < 0x80) {
        to[0] = (char)character;
        return 1;
    }
    if (character < 0x800) {
        to[0] = (char)(0xc0 | character >> 6);
        to[1] = (char)(0x80 | (character & 0x3f));
        return 2;
    }
    if (character < 0x10000) {
        to[0] = (char)(0xe0 | character >> 12);
        to[1] = (char)(0x80 | (character >> 6 & 0x3f));
        to[2] = (char)(0x80 | (character & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | character >> 18);
    to[1] = (char)(0x80 | (character >> 12 & 0x3f));
    to[2] = (char)(0x80 | (character >> 6 & 0x3f));
    to[3] = (char)(0x80 | (character & 0x3f));
    return 4;
}

/*
 * Returns the text of a str. Needs no GIL and allocates nothing. ASCII text is borrowed from the str, other text is
 * converted into buffer.
 */
static struct text text_of(PyObject *string, char buffer[TEXT_MAX])
{
    struct text text = {buffer, 0};

    if (PyUnicode_IS_COMPACT_ASCII(string))
        return (struct text){PyUnicode_DATA(string), (size_t)PyUnicode_GET_LENGTH(string)};
    if (!PyUnicode_IS_READY(string))
        return text;
    const Py_ssize_t length = PyUnicode_GET_LENGTH(string);
    for (Py_ssize_t i = 0; i < length && text.length + 4 <= TEXT_MAX; i++)
        text.length += put_utf8(buffer + text.length, PyUnicode_READ_CHAR(string, i));
    return text;
}

static bool starts_with(struct text text, const char *start, size_t length)
{
    return text.length >= length && memcmp(text.bytes, start, length) == 0;
}

static bool starts_with_path(struct text text, const struct path *path)
{
    return path->length != 0 && starts_with(text, path->bytes, path->length);
}

enum binding_origin binding_origin_of(const PyCodeObject *code)
{
    static const char frozen[] = "<frozen ", packages[] = "-packages/";
    char buffer[TEXT_MAX];
    const struct text file = text_of(code->co_filename, buffer);
    const char *match;

    if (starts_with(file, frozen, sizeof(frozen) - 1) || starts_with_path(file, &library) ||
        starts_with_path(file, &left_out))
        return BINDING_ORIGIN_LIBRARY;
    match = memmem(file.bytes, file.length, packages, sizeof(packages) - 1);
    if (match != NULL && match - file.bytes >= 5 &&
        (memcmp(match - 5, "/site", 5) == 0 || memcmp(match - 5, "/dist", 5) == 0))
        return BINDING_ORIGIN_PACKAGE;
    return BINDING_ORIGIN_PROGRAM;
}

/* Returns a line of a function as a place, or 0 if the ring cannot take the function. */
static uint64_t enter_line(PyCodeObject *code, int line)
{
    char file_buffer[TEXT_MAX], function_buffer[TEXT_MAX];
    const struct text file = text_of(code->co_filename, file_buffer);
    const struct text function = text_of(code->co_qualname, function_buffer);
    const uint64_t script = binding_runtime->script(file.bytes, file.length, function.bytes, function.length,
                                                    (uint32_t)code->co_firstlineno);

    return script == 0 ? 0 : (uint64_t)(uintptr_t)RIP_SCRIPT_LINE(script, (uint64_t)(line < 0 ? 0 : line));
}

static int line_of(const struct _PyInterpreterFrame *frame)
{
    return PyCode_Addr2Line(frame->f_code, _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT));
}

static const struct _PyInterpreterFrame *choose_frame(const struct _PyInterpreterFrame *innermost)
{
    const struct _PyInterpreterFrame *best = NULL;
    enum binding_origin best_origin = BINDING_ORIGIN_NONE;
    int count = 0;

    for (const struct _PyInterpreterFrame *frame = innermost;
         frame != NULL && count < FRAMES_MAX && best_origin != BINDING_ORIGIN_PROGRAM;
         frame = frame->previous, count++) {
        const enum binding_origin origin = binding_origin_of(frame->f_code);

        if (origin < best_origin) {
            best = frame;
            best_origin = origin;
        }
    }
    return best;
}

/*
 * begin_placing() and end_placing() enclose the search for a place. It returns false in a signal handler that
 * interrupts such a search, because the interrupted code may hold the mutex of the script table. The handler's place is
 * 0 then.
 */
static bool begin_placing(struct binding_thread *thread)
{
    if (thread == NULL || thread->placing)
        return false;
    if (rip_load_relaxed(&thread->name_due))
        binding_thread_show_name(thread);
    rip_store_relaxed(&thread->placing, true);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with forget_thread(): either it waits, or tstate is NULL here */
    return true;
}

static void end_placing(struct binding_thread *thread)
{
    rip_store_release(&thread->placing, false); /* pairs with forget_thread() */
}

/* The callback of set_place(): called by wrapped calls, on any thread, without the GIL. */
static uint64_t place(void)
{
    struct binding_thread *thread = binding_thread;
    const struct _PyInterpreterFrame *frame = NULL;
    const PyThreadState *tstate;
    uint64_t place_now = 0;

    if (!begin_placing(thread))
        return 0;
    tstate = rip_load_relaxed(&thread->tstate);
    if (tstate != NULL && _Py_atomic_load_relaxed(&_PyRuntime.gilstate.tstate_current) != (uintptr_t)tstate)
        frame = choose_frame(tstate->cframe->current_frame);
    if (frame != NULL)
        place_now = enter_line(frame->f_code, line_of(frame));
    end_placing(thread);
    return place_now;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/*
 * Returns the tid of the thread that has kept the GIL for KEPT_NS, else 0: a thread that holds it for less simply has
 * its turn. The caller waits for the GIL's condition and holds its mutex. So no thread can release the GIL, and the
 * holder's thread state stays valid.
 */
static uint32_t gil_holder(void)
{
    const struct _gil_runtime_state *gil = &_PyRuntime.ceval.gil;
    struct binding_thread *thread = binding_thread;
    const PyThreadState *holder;

    if (thread == NULL || gil->mutex.__data.__owner != (int)thread->tid || !_Py_atomic_load_relaxed(&gil->locked))
        return 0;
    if (thread->gil_ns == 0 || thread->gil_switch != gil->switch_number) {
        thread->gil_switch = gil->switch_number;
        thread->gil_ns = now_ns();
    }
    if (now_ns() - thread->gil_ns < KEPT_NS)
        return 0;
    holder = (const PyThreadState *)_Py_atomic_load_relaxed(&_PyRuntime.gilstate.tstate_current);
    return holder != NULL ? (uint32_t)holder->native_thread_id : 0;
}

struct _PyInterpreterFrame *binding_frame(void)
{
    return PyThreadState_Get()->cframe->current_frame;
}

static uint64_t place_at(PyCodeObject *code, int line)
{
    struct binding_thread *thread = binding_thread_get();
    uint64_t place_there = 0;

    if (begin_placing(thread)) {
        place_there = enter_line(code, line);
        end_placing(thread);
    }
    return place_there;
}

uint64_t binding_place_of_code(PyCodeObject *code)
{
    return place_at(code, code->co_firstlineno);
}

uint64_t binding_place_in(const struct _PyInterpreterFrame *frame)
{
    return place_at(frame->f_code, line_of(frame));
}

uint64_t binding_place_of(const struct _PyInterpreterFrame *innermost)
{
    const struct _PyInterpreterFrame *frame = choose_frame(innermost);

    return frame != NULL ? binding_place_in(frame) : 0;
}

uint64_t binding_place(void)
{
    return binding_place_of(binding_frame());
}

bool binding_is_library(const PyCodeObject *code, const char *file)
{
    char buffer[TEXT_MAX];
    const struct text text = text_of(code->co_filename, buffer);
    const size_t length = strlen(file);

    return text.length == library.length + length && starts_with_path(text, &library) &&
           memcmp(text.bytes + library.length, file, length) == 0;
}

/* A path that is too long is ignored. */
static void set_path(struct path *path, const char *bytes, size_t length, const char *end)
{
    const size_t end_length = strlen(end);

    if (length + end_length > sizeof(path->bytes))
        return;
    memcpy(path->bytes, bytes, length);
    memcpy(path->bytes + length, end, end_length);
    path->length = length + end_length;
}

void binding_leave_out(const char *path, size_t length)
{
    set_path(&left_out, path, length, "");
}

/*
 * The private headers belong to one minor version of Python, but even there the layout may change. Compares the fields
 * whose values are known.
 */
static bool has_expected_layout(const PyThreadState *tstate)
{
    const struct _gil_runtime_state *gil = &_PyRuntime.ceval.gil;

    return _Py_atomic_load_relaxed(&_PyRuntime.gilstate.tstate_current) == (uintptr_t)tstate &&
           _Py_atomic_load_relaxed(&gil->last_holder) == (uintptr_t)tstate &&
           _Py_atomic_load_relaxed(&gil->locked) == 1 && tstate->thread_id == PyThread_get_thread_ident() &&
           tstate->native_thread_id == PyThread_get_thread_native_id();
}

int binding_place_start(void)
{
    const struct _gil_runtime_state *gil = &_PyRuntime.ceval.gil;
    PyObject *path = PySys_GetObject("_stdlib_dir"); /* borrowed */
    Py_ssize_t length;
    const char *bytes = path != NULL && PyUnicode_Check(path) ? PyUnicode_AsUTF8AndSize(path, &length) : NULL;

    if (!has_expected_layout(PyThreadState_Get())) {
        PyErr_SetString(PyExc_RuntimeError, "the layout of this Python differs from Python 3.11 of Debian 12");
        return -1;
    }
    PyErr_Clear(); /* without the path all code counts as the program's own */
    if (bytes != NULL)
        set_path(&library, bytes, (size_t)length, "/");
    /* The range has two mutexes. With the second one a thread waits until another thread has taken the released GIL. */
    binding_runtime->set_interpreter_lock(&gil->mutex, (size_t)((const char *)(gil + 1) - (const char *)&gil->mutex),
                                          gil_holder);
    binding_runtime->set_place(place);
    return 0;
}
