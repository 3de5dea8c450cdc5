/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks.c - records the holders of _thread's locks, and marks the threads that wait for them.
 *
 * The functions here take a free lock, record its holder, and call the interpreter's method for everything else. The
 * holder's tid is stored in the lock's semaphore: glibc uses 16 of the 32 bytes of a sem_t. So there is no table, and
 * the record disappears with the lock.
 *
 * Guarantees
 *   1. Results, exceptions, timeouts and signals are those of the interpreter's methods.
 *   2. The holder is set after the lock is taken and cleared before it is released, under the GIL. So if the holder is
 *      not 0, that thread has the lock.
 *   3. A thread that waits for a lock held by another thread is marked, and reads the holder again after 1, 2, 4 ...
 *      seconds. A thread that waits for a hand-over by another thread (Condition, Event, Queue, join) waits for work.
 */
#include "locks.h"
#include "methods.h"
#include "place.h"
#include "threads.h"

#include <semaphore.h>
#include <string.h>
#include <time.h>

#define HOLDER_OFFSET 16 /* in a sem_t */

_Static_assert(sizeof(sem_t) >= HOLDER_OFFSET + sizeof(uint32_t), "there is room behind the semaphore's own words");

enum {
    PAUSE_MAX_SECONDS = 60, /* longest time between two reads of the holder */
};

/* The interpreter's layouts, which are in no header. binding_locks_start() compares their sizes. */
struct lock {
    PyObject_HEAD sem_t *semaphore;
    PyObject *weak_references;
    char locked;
};

struct rlock {
    PyObject_HEAD sem_t *semaphore;
    unsigned long owner; /* as returned by threading.get_ident() */
    unsigned long count;
    PyObject *weak_references;
};

/* A wait for a lock of either kind. */
struct wait {
    PyObject *lock;
    uint32_t *holder;
    PyCFunctionWithKeywords acquire; /* the interpreter's */
    bool is_with;                    /* a with statement, which is never used for a hand-over */
};

/* A method definition has type PyCFunction, even if the function also takes keywords. */
#define METHOD(function) ((PyCFunction)(void (*)(void))(function))
#define WITH_KEYWORDS(function) ((PyCFunctionWithKeywords)(void (*)(void))(function))

static PyCFunction lock_acquire, lock_release, rlock_acquire, rlock_release, rlock_restore, rlock_save;

static uint32_t *holder_of(sem_t *semaphore)
{
    return (uint32_t *)(void *)((char *)semaphore + HOLDER_OFFSET);
}

static uint32_t own_tid(void)
{
    const struct binding_thread *thread = binding_thread_get();

    return thread != NULL ? thread->tid : 0;
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

/*
 * Returns true if another thread will wake this one by releasing the lock. This holds if the waiter itself holds the
 * lock, as in threading's conditions, and for the lock by which join() waits for a thread's end.
 */
static bool is_handed_over(const struct wait *wait, const struct _PyInterpreterFrame *frame)
{
    const char *function;

    if (wait->is_with)
        return false;
    if (*wait->holder == own_tid())
        return true;
    if (frame == NULL || !binding_is_library(frame->f_code, "threading.py"))
        return false;
    function = PyUnicode_AsUTF8(frame->f_code->co_name);
    return function != NULL && (strcmp(function, "_wait_for_tstate_lock") == 0 || strcmp(function, "_shutdown") == 0);
}

/*
 * A thread that imports a module while another thread imports it waits for a hand-over, too, but it is blocked by that
 * thread. The module's lock is a Python object whose method calls us; it has the owner. Returns the owner's tid, or 0
 * if this is not such a wait.
 */
static uint32_t tid_of_importer(const struct _PyInterpreterFrame *frame)
{
    PyObject *self = frame != NULL && frame->f_code->co_argcount == 1 ? frame->localsplus[0] : NULL;
    PyObject *owner;
    uint32_t tid;

    if (self == NULL || strcmp(Py_TYPE(self)->tp_name, "_ModuleLock") != 0)
        return 0;
    owner = PyObject_GetAttrString(self, "owner");
    tid = owner != NULL && PyLong_Check(owner) ? binding_thread_tid_of(PyLong_AsUnsignedLong(owner)) : 0;
    Py_XDECREF(owner);
    PyErr_Clear();
    return tid;
}

/* Waits for at most seconds. Returns whether it got the lock, or NULL if a signal handler raised an exception. */
static PyObject *acquire_within(const struct wait *wait, double seconds)
{
    PyObject *arguments = Py_BuildValue("(Od)", Py_True, seconds);
    PyObject *result = arguments != NULL ? wait->acquire(wait->lock, arguments, NULL) : NULL;

    Py_XDECREF(arguments);
    return result;
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Waits for a lock that another thread holds. seconds < 0: without a timeout. */
static PyObject *wait_for_holder(const struct wait *wait, double seconds)
{
    const double end = seconds < 0 ? 0 : seconds_now() + seconds;
    double pause = 1;
    PyObject *result;

    binding_runtime->call_begin(binding_address(binding_place()), RIP_CALL_LOCK);
    binding_runtime->wait_begin(wait->lock, wait->holder, seconds < 0 ? 0 : RIP_WAIT_ENDS);
    for (;;) {
        const double left = seconds < 0 ? pause : end - seconds_now();
        const bool is_last = seconds >= 0 && left <= pause;

        result = acquire_within(wait, !is_last ? pause : left > 0 ? left : 0);
        if (result != Py_False || is_last)
            break;
        Py_CLEAR(result);
        if (PyErr_CheckSignals() != 0) /* a signal arrived between two waits */
            break;
        binding_runtime->wait_look(wait->holder);
        pause = pause * 2 < PAUSE_MAX_SECONDS ? pause * 2 : PAUSE_MAX_SECONDS;
    }
    binding_runtime->wait_end();
    binding_runtime->call_end();
    return result;
}

/* *ret_seconds is the timeout, < 0 if none. Returns false if the arguments are wrong or the call must not wait. */
static bool parse_wait(PyObject *arguments, PyObject *keywords, double *ret_seconds)
{
    static const char *const names[] = {"blocking", "timeout", NULL};
    int blocking = 1;
    double seconds = -1;
    char *list[3];

    memcpy(list, names, sizeof(list));
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|pd", list, &blocking, &seconds)) {
        PyErr_Clear();
        return false;
    }
    if (blocking == 0 || !(seconds == -1 || (seconds > 0 && seconds <= (double)(PY_TIMEOUT_MAX / 1000000))))
        return false;
    *ret_seconds = seconds;
    return true;
}

/* Takes a lock that was not free a moment ago. Returns what the interpreter's method returns. */
static PyObject *acquire_slowly(const struct wait *wait, PyObject *arguments, PyObject *keywords)
{
    const struct _PyInterpreterFrame *frame = binding_frame();
    uint32_t importer;
    double seconds;
    PyObject *result;

    if (!parse_wait(arguments, keywords, &seconds))
        return wait->acquire(wait->lock, arguments, keywords);
    result = acquire_within(wait, 0);
    if (result != Py_False)
        return result;
    Py_DECREF(result);
    importer = tid_of_importer(frame);
    if (importer != 0)
        return wait_for_holder(&(struct wait){wait->lock, &importer, wait->acquire, false}, seconds);
    if (!is_handed_over(wait, frame))
        return wait_for_holder(wait, seconds);
    binding_runtime->call_begin(binding_address(binding_place()), seconds < 0 ? RIP_CALL_PRIVATE : RIP_CALL_WORK);
    result = wait->acquire(wait->lock, arguments, keywords);
    binding_runtime->call_end();
    return result;
}

/* --- _thread.lock ------------------------------------------------------------------------------------------------- */

static bool take_if_free(sem_t *semaphore, PyObject *arguments, PyObject *keywords)
{
    return keywords == NULL && PyTuple_GET_SIZE(arguments) == 0 &&
           PyThread_acquire_lock_timed(semaphore, 0, 0) == PY_LOCK_ACQUIRED;
}

static PyObject *acquire_lock(PyObject *self, PyObject *arguments, PyObject *keywords, bool is_with)
{
    struct lock *lock = (struct lock *)(void *)self;
    const struct wait wait = {self, holder_of(lock->semaphore), WITH_KEYWORDS(lock_acquire), is_with};
    PyObject *result = Py_True;

    if (take_if_free(lock->semaphore, arguments, keywords)) {
        lock->locked = 1;
        Py_INCREF(result);
    } else {
        result = acquire_slowly(&wait, arguments, keywords);
    }
    if (result == Py_True)
        rip_store_relaxed(wait.holder, own_tid());
    return result;
}

static PyObject *lock_acquire_method(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    return acquire_lock(self, arguments, keywords, false);
}

static PyObject *lock_enter(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    return acquire_lock(self, arguments, keywords, true);
}

static PyObject *lock_release_method(PyObject *self, PyObject *arguments)
{
    rip_store_relaxed(holder_of(((struct lock *)(void *)self)->semaphore), 0);
    return lock_release(self, arguments);
}

/* --- _thread.RLock ------------------------------------------------------------------------------------------------ */

static bool is_own(const struct rlock *lock)
{
    return lock->count != 0 && lock->owner == PyThread_get_thread_ident();
}

static PyObject *acquire_rlock(PyObject *self, PyObject *arguments, PyObject *keywords, bool is_with)
{
    struct rlock *lock = (struct rlock *)(void *)self;
    const struct wait wait = {self, holder_of(lock->semaphore), WITH_KEYWORDS(rlock_acquire), is_with};
    PyObject *result = Py_True;

    if (is_own(lock))
        return wait.acquire(self, arguments, keywords);
    if (take_if_free(lock->semaphore, arguments, keywords)) {
        lock->owner = PyThread_get_thread_ident();
        lock->count = 1;
        Py_INCREF(result);
    } else {
        result = acquire_slowly(&wait, arguments, keywords);
    }
    if (result == Py_True)
        rip_store_relaxed(wait.holder, own_tid());
    return result;
}

static PyObject *rlock_acquire_method(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    return acquire_rlock(self, arguments, keywords, false);
}

static PyObject *rlock_enter(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    return acquire_rlock(self, arguments, keywords, true);
}

static PyObject *rlock_release_method(PyObject *self, PyObject *arguments)
{
    struct rlock *lock = (struct rlock *)(void *)self;

    if (is_own(lock) && lock->count == 1)
        rip_store_relaxed(holder_of(lock->semaphore), 0);
    return rlock_release(self, arguments);
}

/* Condition.wait() releases an RLock completely, and later restores its count. */
static PyObject *rlock_save_method(PyObject *self, PyObject *arguments)
{
    struct rlock *lock = (struct rlock *)(void *)self;

    if (is_own(lock))
        rip_store_relaxed(holder_of(lock->semaphore), 0);
    return rlock_save(self, arguments);
}

static PyObject *rlock_restore_method(PyObject *self, PyObject *arguments)
{
    struct rlock *lock = (struct rlock *)(void *)self;
    uint32_t *holder = holder_of(lock->semaphore);
    const bool is_held = lock->count != 0;
    PyObject *result;

    if (is_held) {
        binding_runtime->call_begin(binding_address(binding_place()), RIP_CALL_LOCK);
        binding_runtime->wait_begin(self, holder, 0);
    }
    result = rlock_restore(self, arguments);
    if (is_held) {
        binding_runtime->wait_end();
        binding_runtime->call_end();
    }
    if (result != NULL)
        rip_store_relaxed(holder, own_tid());
    return result;
}

/* --- start -------------------------------------------------------------------------------------------------------- */

/* Returns the type, an attribute of _thread. Returns NULL with an exception if its instances have another size. */
static PyObject *type_of(PyObject *module, const char *name, size_t bytes)
{
    PyObject *type = PyObject_GetAttrString(module, name);

    if (type != NULL && (!PyType_Check(type) || ((PyTypeObject *)(void *)type)->tp_basicsize != (Py_ssize_t)bytes)) {
        PyErr_Format(PyExc_TypeError, "the layout of _thread.%s differs from Python 3.11", name);
        Py_CLEAR(type);
    }
    return type;
}

int binding_locks_start(void)
{
    static const struct binding_method lock_methods[] = {
        {"acquire", METHOD(lock_acquire_method), &lock_acquire},
        {"acquire_lock", METHOD(lock_acquire_method), &lock_acquire},
        {"__enter__", METHOD(lock_enter), &lock_acquire},
        {"release", lock_release_method, &lock_release},
        {"release_lock", lock_release_method, &lock_release},
        {"__exit__", lock_release_method, &lock_release},
    };
    static const struct binding_method rlock_methods[] = {
        {"acquire", METHOD(rlock_acquire_method), &rlock_acquire},
        {"__enter__", METHOD(rlock_enter), &rlock_acquire},
        {"release", rlock_release_method, &rlock_release},
        {"__exit__", rlock_release_method, &rlock_release},
        {"_release_save", rlock_save_method, &rlock_save},
        {"_acquire_restore", rlock_restore_method, &rlock_restore},
    };
    PyObject *module = PyImport_ImportModule("_thread");
    PyObject *lock = module != NULL ? type_of(module, "LockType", sizeof(struct lock)) : NULL;
    PyObject *rlock = lock != NULL ? type_of(module, "RLock", sizeof(struct rlock)) : NULL;
    int status = -1;

    if (rlock != NULL &&
        binding_methods_replace(lock, lock_methods, sizeof(lock_methods) / sizeof(lock_methods[0])) == 0 &&
        binding_methods_replace(rlock, rlock_methods, sizeof(rlock_methods) / sizeof(rlock_methods[0])) == 0)
        status = 0;
    Py_XDECREF(rlock);
    Py_XDECREF(lock);
    Py_XDECREF(module);
    return status;
}
