/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasks_find.c - finds asyncio's internal functions, and makes asyncio call tasks.c.
 *
 * The types and functions are static in the module _asyncio. A probe task gives access to them: its loop receives the
 * function for the first step, and its future the function that wakes the task up. The offsets of its fields are found
 * by searching for known values. No loop runs the probe task. It has an explicit name, so that the numbers in the
 * default names of the program's tasks do not change.
 */
#include <string.h>

#include "methods.h"
#include "tasks_find.h"

static const char probe_script[] = "class Probe:\n"
                                   "    _asyncio_future_blocking = True\n"
                                   "    def get_debug(self):\n"
                                   "        return False\n"
                                   "    def call_soon(self, callback, *arguments, context=None):\n"
                                   "        self.step = callback\n"
                                   "    def get_loop(self):\n"
                                   "        return self\n"
                                   "    def add_done_callback(self, callback, *, context=None):\n"
                                   "        self.wake_up = callback\n"
                                   "    def __await__(self):\n"
                                   "        yield self\n"
                                   "async def wait(probe):\n"
                                   "    await probe\n"
                                   "probe = Probe()\n"
                                   "coroutine = wait(probe)\n"
                                   "name = ''.join(('rip ', 'probe'))\n"
                                   "task = Task(coroutine, loop=probe, name=name)\n"
                                   "task._log_destroy_pending = False\n"
                                   "step = probe.step\n"
                                   "step()\n"
                                   "wake_up = probe.wake_up\n"
                                   "probe.__dict__.clear()\n"
                                   "done = Future.done\n";

struct tasks_asyncio tasks_asyncio;

static struct tasks_asyncio ours;

static PyCFunction real_create_dynamic;

/* Returns the offset of the field that has this value, or 0 if there is none. */
static size_t offset_of_value(PyObject *object, const PyObject *value)
{
    const size_t end = (size_t)Py_TYPE(object)->tp_basicsize;

    for (size_t at = sizeof(PyObject); at + sizeof(value) <= end; at += sizeof(value))
        if (memcmp((const char *)object + at, &value, sizeof(value)) == 0)
            return at;
    return 0;
}

/* Returns false if asyncio is not as expected; then it is not changed. */
static bool attach(PyObject *names)
{
    PyObject *task = PyDict_GetItemString(names, "task"), *step = PyDict_GetItemString(names, "step");
    PyObject *wake_up = PyDict_GetItemString(names, "wake_up"), *done = PyDict_GetItemString(names, "done");
    PyMethodDef *definition;

    if (task == NULL || step == NULL || wake_up == NULL || done == NULL || !PyCFunction_CheckExact(wake_up) ||
        PyCFunction_GET_FLAGS(wake_up) != METH_O || PyCFunction_GET_SELF(wake_up) != task ||
        offset_of_value(step, task) != offsetof(struct tasks_stepper, task))
        return false;
    definition = ((PyCFunctionObject *)(void *)wake_up)->m_ml;
    tasks_asyncio = (struct tasks_asyncio){
        .name_at = offset_of_value(task, PyDict_GetItemString(names, "name")),
        .coroutine_at = offset_of_value(task, PyDict_GetItemString(names, "coroutine")),
        .done = Py_NewRef(done),
        .step = Py_TYPE(step)->tp_call,
        .wake_up = definition->ml_meth,
        .init = Py_TYPE(task)->tp_init,
        .dealloc = Py_TYPE(task)->tp_dealloc,
    };
    if (tasks_asyncio.name_at == 0 || tasks_asyncio.coroutine_at == 0 || tasks_asyncio.step == NULL)
        return false;
    Py_TYPE(step)->tp_call = ours.step;
    Py_TYPE(task)->tp_init = ours.init;
    Py_TYPE(task)->tp_dealloc = ours.dealloc;
    definition->ml_meth = ours.wake_up;
    return true;
}

/* Runs the probe script. A profiler or debugger of the program does not see it. */
static void find_in(PyObject *module)
{
    PyThreadState *thread = PyThreadState_Get();
    PyObject *names = PyDict_Copy(PyModule_GetDict(module)), *result = NULL;

    PyThreadState_EnterTracing(thread);
    if (names != NULL && PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) == 0)
        result = PyRun_String(probe_script, Py_file_input, names, names);
    if (result != NULL)
        (void)attach(names);
    Py_XDECREF(result);
    Py_XDECREF(names);
    PyErr_Clear();
    PyThreadState_LeaveTracing(thread);
}

/* Replaces _imp.create_dynamic(), which imports modules that are written in C. */
static PyObject *create_dynamic(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    static bool found;
    PyObject *module = ((_PyCFunctionFast)(void (*)(void))real_create_dynamic)(self, arguments, count);
    const char *name = !found && module != NULL && PyModule_Check(module) ? PyModule_GetName(module) : NULL;

    if (name != NULL && strcmp(name, "_asyncio") == 0) {
        found = true;
        find_in(module);
    }
    if (module != NULL)
        PyErr_Clear();
    return module;
}

static void find_on_import(void)
{
    static const struct binding_method method = {"create_dynamic", (PyCFunction)(void (*)(void))create_dynamic,
                                                 &real_create_dynamic};
    PyObject *module = PyImport_ImportModule("_imp");

    if (module != NULL)
        (void)binding_methods_replace(module, &method, 1);
    Py_XDECREF(module);
}

void tasks_find(const struct tasks_asyncio *with)
{
    PyObject *name = PyUnicode_FromString("_asyncio");
    PyObject *module = name != NULL ? PyImport_GetModule(name) : NULL;

    ours = *with;
    if (module != NULL)
        find_in(module);
    else
        find_on_import();
    Py_XDECREF(module);
    Py_XDECREF(name);
    PyErr_Clear();
}
