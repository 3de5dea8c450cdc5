/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - the extension module _rip: its start, and what rip/__init__.py is made of.
 *
 * There are two copies of it. The one beside the preload library is loaded by that library, which calls
 * rip_python_start() before the program's code runs; it becomes sys.modules["_rip"]. The other is rip._rip, for
 * programs that are not under `rip run`: package rip takes it if the first is not there, and it starts with the ring.
 */
#include "binding.h"

const struct rip_runtime *binding_runtime;

/* --- what Python calls -------------------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_rip", .m_doc = "What package rip is made of.",
    .m_size = 0, /* so that each interpreter calls PyInit__rip() */
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__rip(void);
PyMODINIT_FUNC PyInit__rip(void)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "rip works in the main interpreter only, and this is a sub-interpreter");
        return NULL;
    }
    binding_runtime = rip_runtime_get();
    return PyModule_Create(&definition);
}

/* --- start -------------------------------------------------------------------------------------------------------- */

static int start(void)
{
    if (binding_place_start() != 0 || binding_threads_start() != 0)
        return -1;
    return 0;
}

/* Into sys.modules, and nowhere else: what is imported as rip stays the program's choice. */
static int start_module(void)
{
    PyObject *module = PyInit__rip();
    const int status =
        module != NULL && start() == 0 ? PyDict_SetItemString(PyImport_GetModuleDict(), "_rip", module) : -1;

    Py_XDECREF(module);
    return status;
}

/* A line on stderr in place of the exception that is set. */
static void say_why(void)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    PySys_FormatStderr("rip: Python is traced without lines of script: %S\n", value != NULL ? value : type);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyErr_Clear();
}

/* For the preload library: once, with the GIL, right before the program's code runs. */
RIP_API void rip_python_start(void);
void rip_python_start(void)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    if (start_module() != 0)
        say_why();
    PyErr_Restore(type, value, traceback);
}
