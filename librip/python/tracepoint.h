/* SPDX-License-Identifier: Apache-2.0 */
/* tracepoint.h - the class Tracepoint of the module. */
#ifndef RIP_PYTHON_TRACEPOINT_H
#define RIP_PYTHON_TRACEPOINT_H

#include "binding.h"

/* Returns 0, or -1 with an exception. */
int binding_tracepoint_define(PyObject *module);

#endif
