/* SPDX-License-Identifier: Apache-2.0 */
/* methods.c - replaces functions of the interpreter's C modules in place: see methods.h. */
#include "methods.h"

/* Returns the definition that all references to the function share, or NULL if the function is not written in C. */
static PyMethodDef *definition_of(PyObject *function)
{
    if (PyCFunction_CheckExact(function))
        return ((PyCFunctionObject *)(void *)function)->m_ml;
    if (Py_IS_TYPE(function, &PyMethodDescr_Type))
        return ((PyMethodDescrObject *)(void *)function)->d_method;
    return NULL;
}

int binding_methods_replace(PyObject *owner, const struct binding_method *methods, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        PyObject *function = PyObject_GetAttrString(owner, methods[i].name);
        PyMethodDef *definition = function != NULL ? definition_of(function) : NULL;

        if (definition != NULL && definition->ml_meth != methods[i].ours) {
            *methods[i].ret_theirs = definition->ml_meth;
            definition->ml_meth = methods[i].ours;
        }
        Py_XDECREF(function); /* the definition stays valid: it is static in the module */
        if (definition == NULL) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_TypeError, "%s is not written in C", methods[i].name);
            return -1;
        }
    }
    return 0;
}
