/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasks_await.c - finds out what a task awaits, and where.
 *
 * A coroutine that awaits another one has that one on top of its stack. The last coroutine of the chain awaits the
 * future. The purpose of the future is known if this coroutine is a method of a lock, of a stream of a transport, or of
 * the loop for a socket.
 */
#include "tasks_await.h"

#include <opcode.h>
#include <string.h>

#include "place.h"
#include "tasks_lock.h"

enum {
    DEPTH_MAX = 256,          /* coroutines of a chain that are followed */
    TRANSPORTS_DEPTH_MAX = 3, /* transports on top of another transport, such as TLS */
    RESUMED_BY_AWAIT = 2,     /* smallest argument of RESUME: 2 after YIELD FROM, 3 after AWAIT */
};

static struct _PyInterpreterFrame *frame_of(PyObject *object)
{
    PyGenObject *generator = (PyGenObject *)object;

    if (!PyCoro_CheckExact(object) && !PyGen_CheckExact(object) && !PyAsyncGen_CheckExact(object))
        return NULL;
    return generator->gi_frame_state < FRAME_EXECUTING ? (struct _PyInterpreterFrame *)(void *)generator->gi_iframe
                                                       : NULL;
}

/* Returns the object that a suspended frame awaits, borrowed, or NULL if it awaits nothing. */
static PyObject *awaited_by(const struct _PyInterpreterFrame *frame)
{
    PyCodeObject *code = frame->f_code; /* CPython's macros drop a const */
    _Py_CODEUNIT next;

    if (frame->prev_instr < _PyCode_CODE(code) || frame->stacktop <= code->co_nlocalsplus)
        return NULL; /* the coroutine has not begun */
    next = frame->prev_instr[1];
    if ((_Py_OPCODE(next) != RESUME && _Py_OPCODE(next) != RESUME_QUICK) || _Py_OPARG(next) < RESUMED_BY_AWAIT)
        return NULL;
    return frame->localsplus[frame->stacktop - 1];
}

/* An asynchronous generator is awaited through an object that has the generator as its first field. */
static PyObject *unwrap_asend(PyObject *awaited)
{
    return awaited != NULL && Py_IS_TYPE(awaited, &_PyAsyncGenASend_Type) ? *(PyObject **)(awaited + 1) : awaited;
}

struct chain {
    const struct _PyInterpreterFrame *innermost; /* NULL = no frame can be read */
    const struct _PyInterpreterFrame *shown;     /* the task's place, chosen as in binding_place_of() */
};

static struct chain follow(PyObject *coroutine)
{
    struct chain chain = {NULL, NULL};
    enum binding_origin shown = BINDING_ORIGIN_NONE;

    for (int depth = 0; coroutine != NULL && depth < DEPTH_MAX; depth++) {
        const struct _PyInterpreterFrame *frame = frame_of(coroutine);
        enum binding_origin origin;

        if (frame == NULL)
            break;
        origin = binding_origin_of(frame->f_code);
        if (origin <= shown) {
            shown = origin;
            chain.shown = frame;
        }
        chain.innermost = frame;
        coroutine = unwrap_asend(awaited_by(frame));
    }
    return chain;
}

uint64_t tasks_place_of(PyObject *coroutine)
{
    const struct chain chain = follow(coroutine);

    return chain.shown != NULL ? binding_place_in(chain.shown) : 0;
}

/* Caches the place, because most tasks await at the same line each time. */
static uint64_t place_of(struct task *task, const struct _PyInterpreterFrame *frame)
{
    if (task->code == frame->f_code && task->instruction == frame->prev_instr && task->place != 0)
        return task->place;
    Py_INCREF(frame->f_code);
    Py_XSETREF(task->code, frame->f_code);
    task->instruction = frame->prev_instr;
    return binding_place_in(frame);
}

/* --- connections -------------------------------------------------------------------------------------------------- */

/*
 * Returns an attribute if it can be read without running code of the program, else NULL. The caller owns the reference.
 */
static PyObject *attribute_of(PyObject *object, const char *name)
{
    PyObject *key = PyUnicode_InternFromString(name);
    PyObject *value = NULL;

    if (key != NULL && !PyType_Check(object)) {
        PyObject *of_class = _PyType_Lookup(Py_TYPE(object), key);

        if (of_class == NULL || Py_TYPE(of_class)->tp_descr_get == NULL || Py_IS_TYPE(of_class, &PyMemberDescr_Type))
            value = _PyObject_GenericGetAttrWithDict(object, key, NULL, 1);
    }
    PyErr_Clear();
    Py_XDECREF(key);
    return value;
}

static PyObject *first_attribute_of(PyObject *object, const char *name, const char *otherwise)
{
    PyObject *value = attribute_of(object, name);

    return value != NULL ? value : attribute_of(object, otherwise);
}

/* A transport of uvloop has no Python attributes, only get_extra_info(). */
static int descriptor_of_uvloop(PyObject *transport)
{
    static const char prefix[] = "uvloop.";
    PyObject *socket = NULL;
    int fd = -1;

    if (strncmp(Py_TYPE(transport)->tp_name, prefix, sizeof(prefix) - 1) == 0)
        socket = PyObject_CallMethod(transport, "get_extra_info", "s", "socket");
    if (socket != NULL && socket != Py_None)
        fd = PyObject_AsFileDescriptor(socket);
    PyErr_Clear();
    Py_XDECREF(socket);
    return fd;
}

/* Returns the descriptor of a transport of asyncio or uvloop, else -1. Takes ownership of transport. */
static int descriptor_of_transport(PyObject *transport)
{
    int fd = -1;

    for (int depth = 0; transport != NULL && fd < 0 && depth < TRANSPORTS_DEPTH_MAX; depth++) {
        PyObject *number = attribute_of(transport, "_sock_fd");
        PyObject *tls = number == NULL ? attribute_of(transport, "_ssl_protocol") : NULL;

        fd = number != NULL && PyLong_CheckExact(number) ? _PyLong_AsInt(number) : descriptor_of_uvloop(transport);
        Py_XDECREF(number);
        Py_SETREF(transport, tls != NULL ? attribute_of(tls, "_transport") : NULL);
        Py_XDECREF(tls);
    }
    PyErr_Clear();
    Py_XDECREF(transport);
    return fd;
}

/* Returns the argument with this number, borrowed, or NULL if there is none. */
static PyObject *argument_of(const struct _PyInterpreterFrame *frame, int number)
{
    PyObject *value = number < frame->f_code->co_argcount ? frame->localsplus[number] : NULL;

    return value != NULL && PyCell_Check(value) ? PyCell_GET(value) : value;
}

/* Returns true for a method of asyncio's loops that waits for its socket argument: sock_recv(), or the start of TLS. */
static bool is_of_socket(const PyCodeObject *code)
{
    static const char loop[] = "BaseSelectorEventLoop.sock_", start[] = "BaseEventLoop._create_connection_transport";
    const char *function = PyUnicode_AsUTF8(code->co_qualname);

    if (function == NULL)
        return false;
    return (strncmp(function, loop, sizeof(loop) - 1) == 0 || strcmp(function, start) == 0) &&
           binding_origin_of(code) == BINDING_ORIGIN_LIBRARY;
}

static int descriptor_of_socket(const struct _PyInterpreterFrame *frame)
{
    PyObject *socket = argument_of(frame, 1);
    const int fd = socket != NULL && is_of_socket(frame->f_code) ? PyObject_AsFileDescriptor(socket) : -1;

    PyErr_Clear();
    return fd;
}

/*
 * Returns true if the frame waits for a connection that the process opened. Otherwise *ret_fd is the connection for
 * which it waits, or -1.
 */
static bool awaits_reply(const struct _PyInterpreterFrame *frame, int *ret_fd)
{
    PyObject *self = argument_of(frame, 0);
    int fd = -1;

    if (self != NULL)
        fd = descriptor_of_transport(first_attribute_of(self, "_transport", "transport"));
    if (fd < 0)
        fd = descriptor_of_socket(frame);
    if (fd >= 0 && binding_runtime->descriptor(fd) == RIP_DESCRIPTOR_REPLY)
        return true;
    *ret_fd = fd;
    return false;
}

void tasks_await(struct task *task, PyObject *coroutine)
{
    const struct chain chain = follow(coroutine);
    PyObject *lock;

    if (chain.shown != NULL)
        task->place = place_of(task, chain.shown);
    binding_runtime->snap_at(binding_address(task->place));
    if (chain.innermost != NULL) {
        lock = tasks_lock_of(chain.innermost);
        if (lock != NULL ? tasks_lock_await(task, lock) : awaits_reply(chain.innermost, &task->fd))
            return;
    }
    if (!task->has_deadline)
        binding_runtime->idle();
}
