/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.c - makes notes from the requests that a server receives: see requests.h.
 *
 * A thread that receives a request handles it. An event loop receives on behalf of its tasks: the request is kept until
 * the task that awaits data of this connection continues.
 *
 * Guarantees
 *   1. Results and exceptions of the sockets' methods are unchanged.
 *   2. Data that is not a request costs only a check of its first bytes.
 *   3. At most one request is kept for each descriptor.
 */
#include "requests.h"
#include "methods.h"
#include "place.h"
#include "tasks.h"

#include <string.h>

#include <internal/pycore_hashtable.h>

static PyCFunction real_recv, real_recv_into, real_create_builtin;
static PyObject *fileno_of;      /* socket.fileno; owned, never released */
static _Py_hashtable_t *pending; /* by descriptor: requests, as bytes, on connections of event loops */
static bool stopped;
/* The request that an event loop received last, and the frame and code of the function that received it. */
static PyObject *now;
static const struct _PyInterpreterFrame *now_frame;
static const PyCodeObject *now_code;

/* --- HTTP --------------------------------------------------------------------------------------------------------- */

static size_t length_of_method(const char *bytes, size_t length)
{
    static const char *const methods[] = {"GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "PATCH ", "OPTIONS "};

    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        const size_t method_length = strlen(methods[i]);

        if (length > method_length && memcmp(bytes, methods[i], method_length) == 0)
            return method_length;
    }
    return 0;
}

/* Returns the length of method and path if a request begins here, else 0. */
static size_t length_of_request(const char *bytes, size_t length)
{
    static const char version[] = " HTTP/1.";
    const size_t method_length = length_of_method(bytes, length);
    const char *line_end = method_length != 0 ? memchr(bytes, '\r', length) : NULL;
    const char *end = line_end != NULL ? memmem(bytes, (size_t)(line_end - bytes), version, sizeof(version) - 1) : NULL;

    const char *query = end != NULL ? memchr(bytes, '?', (size_t)(end - bytes)) : NULL;

    return (size_t)((query != NULL ? query : end != NULL ? end : bytes) - bytes);
}

/* --- who handles a request ---------------------------------------------------------------------------------------- */

static void keep(int fd, PyObject *request)
{
    void *key = (void *)(intptr_t)fd;
    PyObject *former = _Py_hashtable_steal(pending, key);

    if (_Py_hashtable_set(pending, key, request) == 0)
        Py_INCREF(request);
    Py_XDECREF(former);
}

PyObject *binding_requests_take(int fd)
{
    return pending != NULL ? _Py_hashtable_steal(pending, (void *)(intptr_t)fd) : NULL;
}

/* The function that has received the bytes hands them over before it receives more, so its frame is on the stack. */
PyObject *binding_requests_now(void)
{
    const struct _PyInterpreterFrame *frame = now != NULL ? binding_frame() : NULL;

    while (frame != NULL && (frame != now_frame || frame->f_code != now_code))
        frame = frame->previous;
    return frame != NULL ? now : NULL;
}

void binding_requests_note(PyObject *request)
{
    if (!stopped)
        binding_runtime->note(PyBytes_AS_STRING(request), (size_t)PyBytes_GET_SIZE(request));
}

/* Returns true in a callback of an event loop, which receives for its tasks. Returns false in a task. */
static bool is_event_loop(void)
{
    const struct _PyInterpreterFrame *frame = tasks_running() == NULL ? binding_frame() : NULL;

    while (frame != NULL && !binding_is_library(frame->f_code, "asyncio/events.py"))
        frame = frame->previous;
    return frame != NULL;
}

static int descriptor_of(PyObject *socket)
{
    PyObject *number = PyObject_CallOneArg(fileno_of, socket);
    const int fd = number != NULL && PyLong_CheckExact(number) ? _PyLong_AsInt(number) : -1;

    Py_XDECREF(number);
    PyErr_Clear();
    return fd;
}

/*
 * Returns a request's method and path, "GET /checkout", as bytes, or NULL if a request does not begin here. The query
 * is left out, because it may contain secrets, and notes are public.
 */
static PyObject *request_of(const char *bytes, Py_ssize_t length)
{
    const size_t found = length > 0 && !stopped ? length_of_request(bytes, (size_t)length) : 0;
    PyObject *request = NULL;

    if (found != 0)
        request = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)(found < RIP_NOTE_BYTES ? found : RIP_NOTE_BYTES));
    PyErr_Clear();
    return request;
}

/* Called when no exception is set. */
static void received(PyObject *socket, const char *bytes, Py_ssize_t length)
{
    const struct _PyInterpreterFrame *frame = binding_frame();
    PyObject *request = request_of(bytes, length);
    const int fd = request != NULL ? descriptor_of(socket) : -1;

    if (frame == now_frame)
        Py_CLEAR(now); /* this function has received other data now */
    if (fd >= 0 && binding_runtime->descriptor(fd) == RIP_DESCRIPTOR_INPUT) {
        if (is_event_loop()) {
            keep(fd, request);
            Py_XSETREF(now, Py_NewRef(request));
            now_frame = frame;
            now_code = frame->f_code;
        } else {
            binding_requests_note(request);
            tasks_take_request(request);
        }
    }
    Py_XDECREF(request);
}

/* --- sockets ------------------------------------------------------------------------------------------------------ */

static PyObject *recv_method(PyObject *self, PyObject *arguments)
{
    PyObject *result = real_recv(self, arguments);

    if (result != NULL && PyBytes_CheckExact(result))
        received(self, PyBytes_AS_STRING(result), PyBytes_GET_SIZE(result));
    return result;
}

/* The buffer is the first positional argument. A buffer that is passed as a keyword is not looked at. */
static PyObject *recv_into_method(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    PyObject *result = ((PyCFunctionWithKeywords)(void (*)(void))real_recv_into)(self, arguments, keywords);
    PyObject *buffer = PyTuple_GET_SIZE(arguments) > 0 ? PyTuple_GET_ITEM(arguments, 0) : NULL; /* borrowed */
    const Py_ssize_t length = result != NULL && buffer != NULL ? PyLong_AsSsize_t(result) : 0;
    Py_buffer view;

    if (length <= 0 || stopped)
        return result;
    if (PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE) == 0) {
        received(self, view.buf, length < view.len ? length : view.len);
        PyBuffer_Release(&view);
    }
    PyErr_Clear();
    return result;
}

static void find_in(PyObject *module)
{
    static const struct binding_method methods[] = {
        {"recv", recv_method, &real_recv},
        {"recv_into", (PyCFunction)(void (*)(void))recv_into_method, &real_recv_into},
    };
    PyObject *type = PyObject_GetAttrString(module, "socket");

    if (type != NULL)
        fileno_of = PyObject_GetAttrString(type, "fileno");
    if (fileno_of != NULL)
        (void)binding_methods_replace(type, methods, sizeof(methods) / sizeof(methods[0]));
    Py_XDECREF(type);
    PyErr_Clear();
}

/* Replaces _imp.create_builtin(), which imports modules that are part of the interpreter. */
static PyObject *create_builtin(PyObject *self, PyObject *spec)
{
    PyObject *module = real_create_builtin(self, spec);
    const char *name = fileno_of == NULL && module != NULL && PyModule_Check(module) ? PyModule_GetName(module) : NULL;

    if (name != NULL && strcmp(name, "_socket") == 0)
        find_in(module);
    if (module != NULL)
        PyErr_Clear();
    return module;
}

void binding_requests_stop(void)
{
    stopped = true;
}

void binding_requests_start(void)
{
    static const struct binding_method method = {"create_builtin", create_builtin, &real_create_builtin};
    PyObject *name = PyUnicode_FromString("_socket");
    PyObject *socket = name != NULL ? PyImport_GetModule(name) : NULL;
    PyObject *import = socket == NULL ? PyImport_ImportModule("_imp") : NULL; /* a built-in module */

    pending = _Py_hashtable_new(_Py_hashtable_hash_ptr, _Py_hashtable_compare_direct);
    if (pending != NULL && socket != NULL)
        find_in(socket);
    else if (pending != NULL && import != NULL)
        (void)binding_methods_replace(import, &method, 1);
    Py_XDECREF(import);
    Py_XDECREF(socket);
    Py_XDECREF(name);
    PyErr_Clear();
}
