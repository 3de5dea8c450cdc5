/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.c - records the threads that run Python, and their names.
 *
 * Guarantees
 *   1. A record's tstate is valid while the record's placing is set, or the GIL is held. The thread's dictionary has a
 *      capsule, which the interpreter destroys before it frees the thread state. The capsule's destructor waits until
 *      placing is cleared.
 *   2. If another thread renames a thread, the ring shows the name from the thread's next call that can block.
 */
#include "threads.h"
#include "methods.h"
#include "place.h"
#include "tasks.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

__thread struct binding_thread *binding_thread BINDING_TLS;

static __thread uint64_t ended BINDING_TLS; /* id of this thread's last thread state that was freed, + 1 */
static uint32_t forks;                      /* number of forks from the process that started the binding to this one */
static PyCFunction real_set_sentinel;
static PyObject *set_name; /* threading.Thread's original setter; owned, never released */

/* --- records ------------------------------------------------------------------------------------------------------ */

/*
 * The capsule's destructor. Usually it runs on the record's own thread. Otherwise the interpreter ends, and the record
 * belongs to a daemon thread, which may be in any code. This record is not freed, because the thread may use it until
 * the process ends.
 */
static void forget_thread(PyObject *capsule)
{
    struct binding_thread *thread = PyCapsule_GetPointer(capsule, NULL);

    if (thread == binding_thread) {
        ended = thread->tstate->id + 1;
        binding_thread = NULL;
        PyMem_RawFree(thread);
        return;
    }
    rip_store_relaxed(&thread->tstate, NULL);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with begin_placing() */
    if (thread->forks != forks)
        return; /* a forked child without that thread; placing may have been set at the fork */
    while (rip_load_acquire(&thread->placing)) /* pairs with end_placing() */
        sched_yield();
}

static int remember(struct binding_thread *thread)
{
    PyObject *dict = PyThreadState_GetDict(); /* borrowed */
    PyObject *capsule = dict != NULL ? PyCapsule_New(thread, NULL, forget_thread) : NULL;
    const int status = capsule != NULL ? PyDict_SetItemString(dict, "_rip", capsule) : -1;

    if (capsule != NULL && status != 0)
        PyCapsule_SetDestructor(capsule, NULL);
    Py_XDECREF(capsule);
    return status;
}

struct binding_thread *binding_thread_enter(void)
{
    PyObject *type, *value, *traceback;
    PyThreadState *tstate = PyThreadState_Get();
    /* Finalizers may run after the capsule is destroyed. A record made then would have no capsule that waits for it. */
    struct binding_thread *thread = tstate->id + 1 == ended ? NULL : PyMem_RawCalloc(1, sizeof(*thread));

    if (thread == NULL)
        return NULL;
    thread->tstate = tstate;
    thread->tid = (uint32_t)gettid();
    thread->forks = forks;
    PyErr_Fetch(&type, &value, &traceback);
    if (remember(thread) == 0) {
        binding_thread = thread;
    } else {
        PyMem_RawFree(thread);
        PyErr_Clear();
    }
    PyErr_Restore(type, value, traceback);
    return binding_thread;
}

static void after_fork(void)
{
    forks++;
    if (binding_thread == NULL)
        return;
    binding_thread->tid = (uint32_t)gettid();
    binding_thread->forks = forks;
    binding_thread->placing = false; /* fork() was called in a signal handler that interrupted placing */
    binding_thread->name_due = binding_thread->name_length != 0;
    binding_thread_show_name(binding_thread);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* While a task runs, the thread has the task's id, which must not be renamed. */
void binding_thread_show_name(struct binding_thread *thread)
{
    if (tasks_running() == NULL && binding_runtime->is_traced() &&
        __atomic_exchange_n(&thread->name_due, false, __ATOMIC_ACQUIRE))
        binding_runtime->rename(thread->name, thread->name_length); /* if give_name() is at work, it is due again */
}

/* Called on any thread. */
static void give_name(struct binding_thread *thread, const char *name, size_t length)
{
    thread->name_length = (uint8_t)(length < RIP_NAME_BYTES ? length : RIP_NAME_BYTES);
    memcpy(thread->name, name, thread->name_length);
    rip_store_release(&thread->name_due, true); /* pairs with binding_thread_show_name() */
    if (thread == binding_thread)
        binding_thread_show_name(thread);
}

void binding_thread_rename(const char *name, size_t length)
{
    struct binding_thread *thread = binding_thread_get();

    if (thread != NULL)
        give_name(thread, name, length);
}

/* Returns the record of any thread, or NULL if it has none yet. */
static struct binding_thread *record_of(unsigned long ident)
{
    for (PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Main()); tstate != NULL;
         tstate = PyThreadState_Next(tstate)) {
        PyObject *capsule = tstate->thread_id == ident && tstate->dict != NULL
                                ? PyDict_GetItemString(tstate->dict, "_rip") /* borrowed */
                                : NULL;

        if (capsule != NULL)
            return PyCapsule_GetPointer(capsule, NULL);
    }
    return NULL;
}

uint32_t binding_thread_tid_of(unsigned long ident)
{
    const struct binding_thread *thread = record_of(ident);

    return thread != NULL ? thread->tid : 0;
}

/* Returns the record of a threading.Thread, or NULL if the thread has not started. */
static struct binding_thread *record_of_object(PyObject *object)
{
    PyObject *ident = PyObject_GetAttrString(object, "_ident");
    struct binding_thread *thread =
        ident != NULL && PyLong_Check(ident) ? record_of(PyLong_AsUnsignedLong(ident)) : NULL;

    Py_XDECREF(ident);
    return thread;
}

static void show_name_of(PyObject *object, struct binding_thread *thread)
{
    PyObject *name = thread != NULL ? PyObject_GetAttrString(object, "_name") : NULL;
    Py_ssize_t length;
    const char *bytes = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &length) : NULL;

    if (bytes != NULL)
        give_name(thread, bytes, (size_t)length);
    Py_XDECREF(name);
    PyErr_Clear();
}

void binding_thread_find_name(struct binding_thread *thread)
{
    PyObject *threading = PyDict_GetItemString(PyImport_GetModuleDict(), "threading"); /* borrowed */
    PyObject *active = threading != NULL ? PyObject_GetAttrString(threading, "_active") : NULL;
    PyObject *ident = active != NULL ? PyLong_FromUnsignedLong(PyThread_get_thread_ident()) : NULL;
    PyObject *object = ident != NULL && PyDict_Check(active) ? PyDict_GetItem(active, ident) : NULL; /* borrowed */

    if (object != NULL)
        show_name_of(object, thread);
    Py_XDECREF(ident);
    Py_XDECREF(active);
    PyErr_Clear();
}

/* Replaces the setter of threading.Thread.name. */
static PyObject *rename_thread(PyObject *ignored, PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *result = PyObject_Vectorcall(set_name, arguments, (size_t)count, NULL);

    (void)ignored;
    if (result != NULL && count == 2)
        show_name_of(arguments[0], record_of_object(arguments[0]));
    return result;
}

static void watch_names(PyObject *thread_class)
{
    static PyMethodDef definition = {"name", (PyCFunction)(void (*)(void))rename_thread, METH_FASTCALL, NULL};
    PyObject *property = PyObject_GetAttrString(thread_class, "name");
    PyObject *setter = NULL, *ours = NULL;

    if (property != NULL && PyObject_HasAttrString(property, "setter")) {
        set_name = PyObject_GetAttrString(property, "fset");
        setter = PyCFunction_New(&definition, NULL);
    }
    if (set_name != NULL && setter != NULL)
        ours = PyObject_CallMethod(property, "setter", "O", setter);
    if (ours != NULL)
        PyObject_SetAttrString(thread_class, "name", ours);
    Py_XDECREF(ours);
    Py_XDECREF(setter);
    Py_XDECREF(property);
    PyErr_Clear();
}

/*
 * Replaces _thread._set_sentinel(). Each thread of threading calls it once, in Thread._set_tstate_lock(self); the main
 * thread calls it when threading is imported. So this function sees every thread, and the import of threading, which
 * the binding must not import itself.
 */
static PyObject *set_sentinel(PyObject *module, PyObject *arguments)
{
    PyObject *lock = real_set_sentinel(module, arguments);
    struct _PyInterpreterFrame *frame = binding_frame();

    if (lock == NULL || frame == NULL || !binding_is_library(frame->f_code, "threading.py") ||
        frame->f_code->co_argcount != 1 || frame->localsplus[0] == NULL)
        return lock;
    if (set_name == NULL) {
        PyObject *thread_class = PyDict_GetItemString(frame->f_globals, "Thread"); /* borrowed */

        if (thread_class != NULL)
            watch_names(thread_class);
    }
    show_name_of(frame->localsplus[0], binding_thread_get());
    return lock;
}

/* Handles threading if it was imported before the binding started. */
static void watch_imported_threading(void)
{
    PyObject *threading = PyDict_GetItemString(PyImport_GetModuleDict(), "threading"); /* borrowed */
    PyObject *thread_class = threading != NULL ? PyObject_GetAttrString(threading, "Thread") : NULL;

    if (thread_class != NULL)
        watch_names(thread_class);
    Py_XDECREF(thread_class);
    PyErr_Clear();
}

int binding_threads_start(void)
{
    static const struct binding_method method = {"_set_sentinel", set_sentinel, &real_set_sentinel};
    static const char main_name[] = "MainThread";
    PyObject *module = PyImport_ImportModule("_thread"); /* built in, and imported at the interpreter's start */
    const int status = module != NULL ? binding_methods_replace(module, &method, 1) : -1;
    struct binding_thread *thread = binding_thread_get();

    Py_XDECREF(module);
    if (status != 0)
        return -1;
    pthread_atfork(NULL, NULL, after_fork);
    watch_imported_threading();
    if (thread == NULL)
        return 0;
    if (_PyRuntime.main_thread == PyThread_get_thread_ident())
        give_name(thread, main_name, sizeof(main_name) - 1);
    binding_thread_find_name(thread);
    return 0;
}
