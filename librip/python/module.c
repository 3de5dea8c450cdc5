/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - the extension module _rip: its start, and the functions that rip/__init__.py uses.
 *
 * There are two copies of the module. The first is installed beside the preload library, which loads it and calls
 * rip_python_start() before the program's code runs. It becomes sys.modules["_rip"]. The second is rip._rip, for
 * programs that do not run under `rip run`: package rip imports it if the first is not loaded. It starts when the
 * program makes a ring.
 */
#include <dlfcn.h>

#include "locks.h"
#include "place.h"
#include "requests.h"
#include "tasks.h"
#include "threads.h"
#include "tracepoint.h"

const struct rip_runtime *binding_runtime;

/* --- start -------------------------------------------------------------------------------------------------------- */

/* Starts the parts of the binding that work without calls of the program. Does nothing the second time. */
static int start(void)
{
    static bool started;

    if (started)
        return 0;
    started = true;
    if (binding_place_start() != 0 || binding_threads_start() != 0 || binding_locks_start() != 0)
        return -1;
    binding_tasks_start();
    if ((binding_runtime->flags & RIP_RUNTIME_PRELOAD) != 0)
        binding_requests_start();
    return 0;
}

/* --- functions of the module -------------------------------------------------------------------------------------- */

/* Registers the calling thread under its Python name. Under `rip run` a thread is registered since its start. */
static void trace_thread(void)
{
    struct binding_thread *thread = binding_runtime->is_traced() ? NULL : binding_thread_get();

    if (thread == NULL)
        return;
    if (thread->name_length == 0)
        binding_thread_find_name(thread);
    binding_runtime->init(0, thread->name, thread->name_length, 0, 0);
}

static PyObject *snap(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    trace_thread();
    binding_runtime->snap_at(binding_address(binding_place()));
    Py_RETURN_NONE;
}

static PyObject *idle(PyObject *module, PyObject *ignored)
{
    PyObject *none = snap(module, ignored);

    binding_runtime->idle();
    return none;
}

/* Returns the UTF-8 of a str, borrowed. Returns NULL with an exception if object is no str or has no UTF-8. */
static const char *text_of(PyObject *object, const char *what, Py_ssize_t *ret_length)
{
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s must be str, not %.100s", what, Py_TYPE(object)->tp_name);
        return NULL;
    }
    return PyUnicode_AsUTF8AndSize(object, ret_length);
}

static PyObject *note(PyObject *module, PyObject *object)
{
    Py_ssize_t length = 0;
    const char *text = object != Py_None ? text_of(object, "a note", &length) : NULL;

    (void)module;
    if (text == NULL && object != Py_None)
        return NULL;
    trace_thread();
    binding_requests_stop();
    binding_runtime->note(text, (size_t)length);
    Py_RETURN_NONE;
}

static PyObject *name(PyObject *module, PyObject *object)
{
    Py_ssize_t length;
    const char *text = text_of(object, "a name", &length);

    (void)module;
    if (text == NULL)
        return NULL;
    trace_thread();
    binding_thread_rename(text, (size_t)length);
    Py_RETURN_NONE;
}

static PyObject *deadline_ms(PyObject *module, PyObject *object)
{
    const unsigned long ms = PyLong_Check(object) ? PyLong_AsUnsignedLong(object) : 0;

    (void)module;
    if (!PyLong_Check(object) || (ms == (unsigned long)-1 && PyErr_Occurred()) || ms > UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a deadline must be an int, in milliseconds, from 0 to 4294967295");
        return NULL;
    }
    trace_thread();
    binding_runtime->deadline_ms((uint32_t)ms);
    binding_tasks_deadline((uint32_t)ms);
    Py_RETURN_NONE;
}

/* The place of a function's first line, looked up once for each ring. */
struct entry_point {
    PyCodeObject *code;
    uint64_t place;
    uint32_t epoch;
};

static void free_entry_point(PyObject *capsule)
{
    struct entry_point *point = PyCapsule_GetPointer(capsule, NULL);

    Py_DECREF(point->code);
    PyMem_Free(point);
}

static PyObject *snap_at_entry(PyObject *capsule, PyObject *ignored)
{
    struct entry_point *point = PyCapsule_GetPointer(capsule, NULL);

    (void)ignored;
    trace_thread();
    if (point->place == 0 || point->epoch != binding_runtime->script_epoch()) {
        point->epoch = binding_runtime->script_epoch();
        point->place = binding_place_of_code(point->code);
    }
    binding_runtime->snap_at(binding_address(point->place));
    Py_RETURN_NONE;
}

static PyObject *entry(PyObject *module, PyObject *code)
{
    static PyMethodDef entry_definition = {"snap", snap_at_entry, METH_NOARGS, NULL};
    struct entry_point *point;
    PyObject *capsule, *function;

    (void)module;
    if (!PyCode_Check(code)) {
        PyErr_Format(PyExc_TypeError, "entry() takes a code object, not %.100s", Py_TYPE(code)->tp_name);
        return NULL;
    }
    point = PyMem_Calloc(1, sizeof(*point));
    capsule = point != NULL ? PyCapsule_New(point, NULL, free_entry_point) : PyErr_NoMemory();
    if (capsule == NULL) {
        PyMem_Free(point);
        return NULL;
    }
    point->code = (PyCodeObject *)(void *)Py_NewRef(code);
    function = PyCFunction_New(&entry_definition, capsule);
    Py_DECREF(capsule);
    return function;
}

static PyObject *start_ring(PyObject *module, PyObject *arguments)
{
    const char *file;
    unsigned int max_ids;
    bool made;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "yI:start", &file, &max_ids))
        return NULL;
    made = binding_runtime->create_ring(file, max_ids);
    if (made && start() != 0)
        return NULL;
    return PyBool_FromLong(made);
}

static PyObject *leave_out(PyObject *module, PyObject *object)
{
    Py_ssize_t length;
    const char *path = text_of(object, "a path", &length);

    (void)module;
    if (path == NULL)
        return NULL;
    binding_leave_out(path, (size_t)length);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"leave_out", leave_out, METH_O, "Does not show code of this file as a thread's place, but its caller."},
    {"snap", snap, METH_NOARGS, NULL},
    {"idle", idle, METH_NOARGS, NULL},
    {"note", note, METH_O, NULL},
    {"name", name, METH_O, NULL},
    {"deadline_ms", deadline_ms, METH_O, NULL},
    {"entry", entry, METH_O, "Returns a function that leaves a breadcrumb at the first line of this code object."},
    {"start", start_ring, METH_VARARGS, "Makes a ring, given its file, as bytes, and the number of ids in it."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_rip", .m_doc = "The implementation of package rip.",
    .m_size = 0, /* so that each interpreter calls PyInit__rip() */
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__rip(void);
PyMODINIT_FUNC PyInit__rip(void)
{
    PyObject *module;

    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "rip works in the main interpreter only, not in a sub-interpreter");
        return NULL;
    }
    binding_runtime = rip_runtime_get();
    module = PyModule_Create(&definition);
    if (module != NULL && binding_tracepoint_define(module) != 0)
        Py_CLEAR(module);
    return module;
}

/* --- under `rip run` ---------------------------------------------------------------------------------------------- */

/*
 * Removes the preload library's audit hook: it has done its work, and would cost time at each event. The entry is not
 * freed, because the hook is our caller, and the interpreter will read the next hook from the entry.
 */
static void forget_hook(void)
{
    static struct _Py_AuditHookEntry *forgotten; /* keeps the entry reachable for leak checkers */
    Dl_info preload, hook;

    if (dladdr(binding_runtime, &preload) == 0)
        return;
    for (struct _Py_AuditHookEntry **link = &_PyRuntime.audit_hook_head; *link != NULL; link = &(*link)->next) {
        if (dladdr((const void *)(uintptr_t)(*link)->hookCFunction, &hook) != 0 &&
            hook.dli_fbase == preload.dli_fbase) {
            forgotten = *link;
            *link = forgotten->next;
            return;
        }
    }
}

/* Puts the module into sys.modules, as _rip only: the name rip is left to the program. */
static int start_module(void)
{
    PyObject *module = PyInit__rip();
    const int status =
        module != NULL && start() == 0 ? PyDict_SetItemString(PyImport_GetModuleDict(), "_rip", module) : -1;

    Py_XDECREF(module);
    return status;
}

/* Clears the exception and prints it as one line on stderr. */
static void report_exception(void)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    PySys_FormatStderr("rip: Python scripts are not traced, only the interpreter's own calls: %S\n",
                       value != NULL ? value : type);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyErr_Clear();
}

/* Called by the preload library, once, with the GIL held, right before the program's code runs. */
RIP_API void rip_python_start(void);
void rip_python_start(void)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    if (start_module() != 0)
        report_exception();
    forget_hook();
    PyErr_Restore(type, value, traceback);
}
