/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding.h - what the files of the Python binding share. The only file that includes Python's private headers.
 *
 * They are those of one version, and so is what is built of them: a line of script is found without the interpreter's
 * lock, who holds a lock is kept in the lock. No public interface offers either.
 *
 * All functions want the interpreter's lock (GIL) held, unless they say otherwise. None leaves an exception behind
 * unless it returns one.
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

/* --- module.c ----------------------------------------------------------------------------------------------------- */

/* The library's table: under `rip run` the preload library's. Set before anything else here is called. */
extern const struct rip_runtime *binding_runtime;

/* --- threads.c ---------------------------------------------------------------------------------------------------- */

/* A thread that runs Python, from the first time that we see it until its thread state goes. */
struct binding_thread {
    PyThreadState *tstate; /* NULL = it has gone: the interpreter ends, and this thread is a daemon */
    uint32_t tid;          /* as the kernel has it */
    uint32_t forks;        /* forks of the process when this was last this thread's */
    bool placing;          /* it reads its frames now, perhaps without the GIL */
    bool name_due;         /* its id does not have this name yet */
    uint8_t name_length;
    char name[RIP_NAME_BYTES];
};

extern __thread struct binding_thread *binding_thread BINDING_TLS;

/* The record of a thread that is new. NULL if there is no memory. */
struct binding_thread *binding_thread_enter(void);

/* The calling thread's record. NULL if there is no memory. */
static inline struct binding_thread *binding_thread_get(void)
{
    struct binding_thread *thread = binding_thread;

    return __builtin_expect(thread != NULL, 1) ? thread : binding_thread_enter();
}

/* Gives the calling thread's id the name that is due. Async-signal-safe, without the GIL. */
void binding_thread_show_name(struct binding_thread *thread);
/* Names the calling thread. */
void binding_thread_rename(const char *name, size_t length);
/* From here on threads have their Python names. 0, or -1 with an exception. */
int binding_threads_start(void);

/* --- methods.c ---------------------------------------------------------------------------------------------------- */

/* A function or method of the interpreter that is written in C, and what takes its place. */
struct binding_method {
    const char *name;
    PyCFunction ours;
    PyCFunction *ret_theirs; /* set to what it was */
};

/*
 * Puts ours in the place of functions of a module or methods of a type, also where they are bound or imported already,
 * and without a trace that a program could see: the definition of each is changed where it lies. 0, or -1 with an
 * exception.
 */
int binding_methods_replace(PyObject *owner, const struct binding_method *methods, size_t count);

/* --- place.c ------------------------------------------------------------------------------------------------------ */

/*
 * The place in the script, for rip_snap_at(), where a frame is: of it and those it was called from, the innermost of
 * the program's own code, else of an installed package, else of the standard library. 0 if there is none.
 */
uint64_t binding_place_of(const struct _PyInterpreterFrame *innermost);
/* The same for the calling thread. */
uint64_t binding_place(void);
/* The innermost frame of the calling thread. */
struct _PyInterpreterFrame *binding_frame(void);
/* True if code is of this file of the standard library ("threading.py"). */
bool binding_is_library(const PyCodeObject *code, const char *file);
/* From here on wrapped calls have places in scripts, and waits for the GIL are known as such. 0, or -1 with an
 * exception. */
int binding_place_start(void);

static inline const void *binding_address(uint64_t place)
{
    return (const void *)(uintptr_t)place;
}

/* --- locks.c ------------------------------------------------------------------------------------------------------ */

/* From here on locks of _thread know who holds them. 0, or -1 with an exception. */
int binding_locks_start(void);

#endif
