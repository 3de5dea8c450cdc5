/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracepoint.c - rip.Tracepoint: a static tracepoint of a Python program.
 *
 * Guarantees
 *   1. While the tracepoint is not enabled, fire() converts no value and calls no function, and .enabled is one load.
 *   2. Enabling changes nothing for the program: no value raises an exception. Only a wrong number of values raises,
 *      enabled or not.
 */
#include "tracepoint.h"

#include <errno.h>

#include "rip/tracepoint.h"

struct tracepoint {
    PyObject_HEAD struct rip_tracepoint *tracepoint; /* NULL = it could not be made, so it is never enabled */
    uint8_t types[RIP_TRACEPOINT_ARGUMENTS_MAX];
    unsigned count;
};

/* Converts a Python type. Returns 0 if it is not supported. */
static uint8_t type_of(PyObject *type)
{
    if (type == (PyObject *)&PyLong_Type)
        return RIP_TRACEPOINT_INT64;
    if (type == (PyObject *)&PyFloat_Type)
        return RIP_TRACEPOINT_DOUBLE;
    return type == (PyObject *)&PyUnicode_Type ? RIP_TRACEPOINT_STRING : 0;
}

/* The arguments are provider, name, type... Returns false with an exception. */
static bool define(struct tracepoint *self, PyObject *arguments)
{
    const char *provider, *name;
    PyObject *names = PyTuple_GetSlice(arguments, 0, 2);
    const Py_ssize_t count = PyTuple_GET_SIZE(arguments) - 2;
    int result = names != NULL && PyArg_ParseTuple(names, "ss:Tracepoint", &provider, &name) ? 0 : -EFAULT;

    Py_XDECREF(names); /* the texts stay valid, because arguments refers to them */
    if (result < 0)
        return false;
    if (count > RIP_TRACEPOINT_ARGUMENTS_MAX) {
        PyErr_Format(PyExc_ValueError, "a tracepoint has at most %d values", RIP_TRACEPOINT_ARGUMENTS_MAX);
        return false;
    }
    for (; self->count < count; self->count++) {
        self->types[self->count] = type_of(PyTuple_GET_ITEM(arguments, self->count + 2));
        if (self->types[self->count] == 0) {
            PyErr_SetString(PyExc_TypeError, "a type must be int, float or str");
            return false;
        }
    }
    result = rip_tracepoint_define(provider, name, self->types, self->count, &self->tracepoint);
    if (result == -EINVAL)
        PyErr_Format(PyExc_ValueError,
                     "%s:%s: a name has letters, digits and '_', no digit at its beginning, and at most %d characters",
                     provider, name, RIP_TRACEPOINT_NAME_MAX);
    if (result == -EEXIST)
        PyErr_Format(PyExc_ValueError, "%s:%s is already defined with other types", provider, name);
    return result != -EINVAL && result != -EEXIST;
}

static PyObject *tracepoint_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    struct tracepoint *self;

    if (keywords != NULL && PyDict_GET_SIZE(keywords) != 0) {
        PyErr_SetString(PyExc_TypeError, "Tracepoint() takes no keyword arguments");
        return NULL;
    }
    self = (struct tracepoint *)(void *)type->tp_alloc(type, 0);
    if (self != NULL && !define(self, arguments)) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyObject *is_enabled(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(rip_tracepoint_enabled(((struct tracepoint *)(void *)object)->tracepoint));
}

/* An int is taken modulo 2**64. A value that cannot be converted is 0. Leaves no exception set. */
static union rip_tracepoint_value value_of(PyObject *object, uint8_t type)
{
    union rip_tracepoint_value value = {.uint64 = 0};

    if (type == RIP_TRACEPOINT_STRING)
        value.string = PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : NULL;
    else if (type == RIP_TRACEPOINT_DOUBLE)
        value.real = PyFloat_Check(object) || PyLong_Check(object) ? PyFloat_AsDouble(object) : 0;
    else if (PyLong_Check(object))
        value.uint64 = PyLong_AsUnsignedLongLongMask(object);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        value.uint64 = 0;
    }
    return value;
}

static PyObject *show(const struct tracepoint *self, PyObject *const *objects, Py_ssize_t count)
{
    union rip_tracepoint_value values[RIP_TRACEPOINT_ARGUMENTS_MAX];

    if (count != self->count)
        return PyErr_Format(PyExc_TypeError, "this tracepoint has %u values, not %zd", self->count, count);
    if (rip_tracepoint_enabled(self->tracepoint)) {
        for (unsigned i = 0; i < self->count; i++)
            values[i] = value_of(objects[i], self->types[i]);
        rip_tracepoint_fire(self->tracepoint, values);
    }
    Py_RETURN_NONE;
}

static PyObject *fire(PyObject *object, PyObject *const *arguments, Py_ssize_t count)
{
    const struct tracepoint *self = (struct tracepoint *)(void *)object;
    PyObject *made, *values, *result;

    if (count != 1 || !PyCallable_Check(arguments[0]))
        return show(self, arguments, count);
    if (!rip_tracepoint_enabled(self->tracepoint))
        Py_RETURN_NONE;
    made = PyObject_CallNoArgs(arguments[0]);
    if (made == NULL)
        return NULL;
    values = PyTuple_Check(made) || PyList_Check(made) ? PySequence_Tuple(made) : PyTuple_Pack(1, made);
    Py_DECREF(made);
    if (values == NULL)
        return NULL;
    result = show(self, &PyTuple_GET_ITEM(values, 0), PyTuple_GET_SIZE(values));
    Py_DECREF(values);
    return result;
}

static PyMethodDef methods[] = {
    {"fire", (PyCFunction)(void (*)(void))fire, METH_FASTCALL,
     "fire(value, ...) or fire(function): reports the values, or the values that the function returns. The function\n"
     "is called only while the tracepoint is enabled."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"enabled", is_enabled, NULL, "True while a tracer, such as bpftrace, gdb or perf, uses the tracepoint.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rip.Tracepoint",
    .tp_basicsize = sizeof(struct tracepoint),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .tp_doc =
        "Tracepoint(provider, name, type, ...)\n--\n\n"
        "A static tracepoint (USDT) with up to 6 values, each int, float or str. A second object with the same name\n"
        "and types is the same tracepoint. An int is reported modulo 2**64, a value of a wrong type as 0.",
    .tp_new = tracepoint_new,
    .tp_methods = methods,
    .tp_getset = attributes,
};

int binding_tracepoint_define(PyObject *module)
{
    return PyModule_AddType(module, &type);
}
