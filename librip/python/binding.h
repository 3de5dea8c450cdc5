/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding.h - what all files of the Python binding share: the only file that includes Python's private headers.
 *
 * They are those of one version, and so is what is built of them: a line of script is found without the interpreter's
 * lock, who holds a lock is kept in the lock. No public interface offers either.
 *
 * All functions of the headers here want the interpreter's lock (GIL) held, unless they say otherwise. None leaves an
 * exception behind unless it returns one.
 */
#ifndef RIP_PYTHON_BINDING_H
#define RIP_PYTHON_BINDING_H

#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1 /* not their own names: _PyRuntime, and the layout of frames */
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

/* The library's table: under `rip run` the preload library's. Set before anything else here is called. */
extern const struct rip_runtime *binding_runtime;

#endif
