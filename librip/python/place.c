/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.c - where in a script a thread is.
 *
 * Guarantees
 *   1. place() reads frames only while no other code can change them: of a thread that is in a call, and has given the
 *      GIL up for it. With the GIL the call may be a signal handler's, in the middle of a frame's making.
 *   2. It takes no lock but that of rip_script_enter(), and never that twice: it is async-signal-safe.
 *   3. It touches no thread state that goes at the interpreter's end: see threads.c.
 */
#include "binding.h"

#include <string.h>

enum {
    FRAMES_MAX = 64,       /* frames that are looked at for one of the program's own */
    TEXT_MAX = 512,        /* bytes of a text that is no ASCII; the library keeps fewer */
    LIBRARY_PATH_MAX = 512 /* bytes of the path of the standard library */
};

/* In the order in which places are preferred. */
enum origin {
    ORIGIN_PROGRAM,
    ORIGIN_PACKAGE,
    ORIGIN_LIBRARY,
    ORIGIN_NONE,
};

struct text {
    const char *bytes;
    size_t length;
};

static char library_path[LIBRARY_PATH_MAX]; /* of the standard library, with a slash at its end */
static size_t library_path_length;

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

/* The text of a str, without the GIL and without allocating: its own bytes if they are ASCII, else put into buffer. */
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

static enum origin origin_of(struct text file)
{
    static const char frozen[] = "<frozen ", packages[] = "-packages/";
    const char *match;

    if (starts_with(file, frozen, sizeof(frozen) - 1))
        return ORIGIN_LIBRARY;
    match = memmem(file.bytes, file.length, packages, sizeof(packages) - 1);
    if (match != NULL) {
        const size_t before = (size_t)(match - file.bytes);

        if ((before >= 5 && memcmp(match - 5, "/site", 5) == 0) || (before >= 5 && memcmp(match - 5, "/dist", 5) == 0))
            return ORIGIN_PACKAGE;
    }
    return library_path_length != 0 && starts_with(file, library_path, library_path_length) ? ORIGIN_LIBRARY
                                                                                            : ORIGIN_PROGRAM;
}

/* The number of the frame's function, and its line. */
static uint64_t enter_frame(const struct _PyInterpreterFrame *frame)
{
    PyCodeObject *code = frame->f_code;
    char file_buffer[TEXT_MAX], function_buffer[TEXT_MAX];
    const struct text file = text_of(code->co_filename, file_buffer);
    const struct text function = text_of(code->co_qualname, function_buffer);
    const int line = PyCode_Addr2Line(code, _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT));
    const uint64_t script = binding_runtime->script(file.bytes, file.length, function.bytes, function.length,
                                                    (uint32_t)code->co_firstlineno);

    if (script == 0)
        return 0;
    return (uint64_t)(uintptr_t)RIP_SCRIPT_LINE(script, (uint64_t)(line < 0 ? 0 : line));
}

static const struct _PyInterpreterFrame *choose_frame(const struct _PyInterpreterFrame *innermost)
{
    const struct _PyInterpreterFrame *best = NULL;
    enum origin best_origin = ORIGIN_NONE;
    int count = 0;

    for (const struct _PyInterpreterFrame *frame = innermost; frame != NULL && count < FRAMES_MAX && best_origin > 0;
         frame = frame->previous, count++) {
        char buffer[TEXT_MAX];
        const enum origin origin = origin_of(text_of(frame->f_code->co_filename, buffer));

        if (origin < best_origin) {
            best = frame;
            best_origin = origin;
        }
    }
    return best;
}

/* A handler that interrupts this gets 0: the mutex of the table of functions may be ours. */
static uint64_t place_of(struct binding_thread *thread, const struct _PyInterpreterFrame *innermost)
{
    const struct _PyInterpreterFrame *frame;
    uint64_t place = 0;

    if (thread->placing)
        return 0;
    rip_store_relaxed(&thread->placing, true);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with forget_thread(): either it waits, or we see that it came */
    if (rip_load_relaxed(&thread->tstate) != NULL) {
        if (innermost == NULL)
            innermost = thread->tstate->cframe->current_frame;
        frame = choose_frame(innermost);
        if (frame != NULL)
            place = enter_frame(frame);
    }
    rip_store_release(&thread->placing, false); /* pairs with forget_thread() */
    return place;
}

/* For wrapped calls, on any thread, without the GIL. */
static uint64_t place(void)
{
    struct binding_thread *thread = binding_thread;

    if (thread == NULL || _Py_atomic_load_relaxed(&_PyRuntime.gilstate.tstate_current) == (uintptr_t)thread->tstate)
        return 0;
    return place_of(thread, NULL);
}

struct _PyInterpreterFrame *binding_frame(void)
{
    return PyThreadState_Get()->cframe->current_frame;
}

uint64_t binding_place_of(const struct _PyInterpreterFrame *innermost)
{
    struct binding_thread *thread = binding_thread_get();

    return thread != NULL && innermost != NULL ? place_of(thread, innermost) : 0;
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

    return text.length == library_path_length + length && starts_with(text, library_path, library_path_length) &&
           memcmp(text.bytes + library_path_length, file, length) == 0;
}

int binding_place_start(void)
{
    PyObject *path = PySys_GetObject("_stdlib_dir"); /* borrowed */
    Py_ssize_t length;
    const char *bytes = path != NULL && PyUnicode_Check(path) ? PyUnicode_AsUTF8AndSize(path, &length) : NULL;

    PyErr_Clear(); /* without it all code is the program's own */
    if (bytes != NULL && (size_t)length + 2 <= sizeof(library_path)) {
        memcpy(library_path, bytes, (size_t)length);
        library_path[length] = '/';
        library_path_length = (size_t)length + 1;
    }
    binding_runtime->set_interpreter_lock(&_PyRuntime.ceval.gil.mutex, sizeof(_PyRuntime.ceval.gil.mutex), NULL);
    binding_runtime->set_place(place);
    return 0;
}
