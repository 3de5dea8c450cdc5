/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding.h - shared by all files of the Python binding. It is the only file that includes Python's private headers.
 *
 * The private headers belong to one version of Python, so the binding works with that version only. It needs them to
 * read script lines without the interpreter's lock, and to keep the holder of a lock in the lock. No public interface
 * offers either.
 *
 * Unless a comment says otherwise, the caller of the binding's functions holds the interpreter's lock (GIL). No
 * function leaves an exception set unless its result says so.
 */
#ifndef RIP_PYTHON_BINDING_H
#define RIP_PYTHON_BINDING_H

#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1 /* for _PyRuntime and the layout of frames */
#include <Python.h>
#undef HAVE_STD_ATOMIC
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_pystate.h>
#include <internal/pycore_runtime.h>

#include "rip/runtime.h"

#if PY_VERSION_HEX < 0x030b0000 || PY_VERSION_HEX >= 0x030c0000
#error "librip's binding is for Python 3.11"
#endif

#define BINDING_TLS __attribute__((tls_model("initial-exec")))

/* The function table of librip, or of the preload library under `rip run`. Set before any function here is called. */
extern const struct rip_runtime *binding_runtime;

#endif
