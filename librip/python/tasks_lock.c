/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasks_lock.c - records the holders of asyncio's locks, and the tasks that await them.
 *
 * asyncio.Lock does not record its holder. Its attribute _locked is set by the task that takes the lock, and cleared by
 * the task that releases it. A descriptor of this name in the class sees both changes, and keeps the value in the
 * object's dictionary, as before.
 *
 * Guarantees
 *   1. A waiter's mark always names the present holder: when a lock is released or taken, its waiters are marked again.
 *      So a cycle of marks is a deadlock.
 *   2. At most MARKED_MAX waiters are marked with the holder, so that marking them again is quick. The marks of further
 *      waiters have no holder.
 *   3. A holder that is not a task, or has ended, is not named.
 */
#include "tasks_lock.h"

#include <internal/pycore_hashtable.h>

enum {
    MARKED_MAX = 64, /* waiters of a lock that are marked with its holder */
    MARK_FLAGS = RIP_WAIT_OWNER_IS_ID | RIP_WAIT_OWNER_LASTS,
};

/* A lock while it is held or awaited. */
struct task_lock {
    bool held;
    struct task *holder; /* NULL = not known */
    const PyObject *object;
    struct task *first, *last; /* waiters, in the order of arrival */
};

static _Py_hashtable_t *locks; /* struct task_lock by address of the Lock object */
static PyCodeObject *acquire;  /* of Lock.acquire() */
static PyObject *attribute;    /* "_locked" */

static uint32_t holder_of(const struct task_lock *lock)
{
    return lock->holder != NULL ? lock->holder->context.id : 0;
}

/* --- waiters ------------------------------------------------------------------------------------------------------ */

static void forget_unused(struct task_lock *lock)
{
    if (lock->held || lock->first != NULL)
        return;
    _Py_hashtable_steal(locks, lock->object);
    PyMem_Free(lock);
}

static void unlink_waiter(struct task_lock *lock, struct task *task)
{
    *(task->previous != NULL ? &task->previous->next : &lock->first) = task->next;
    *(task->next != NULL ? &task->next->previous : &lock->last) = task->previous;
    task->previous = task->next = NULL;
    task->awaited = NULL;
    forget_unused(lock);
}

static void link_waiter(struct task_lock *lock, struct task *task)
{
    task->awaited = lock;
    task->previous = lock->last;
    *(lock->last != NULL ? &lock->last->next : &lock->first) = task;
    lock->last = task;
}

/* Called when the holder has changed. The waiters are on no thread, so each is put on this thread for its mark. */
static void mark_waiters(const struct task_lock *lock)
{
    const uint32_t holder = holder_of(lock);
    struct rip_context outer;
    int count = 0;

    if (lock->first == NULL)
        return;
    binding_runtime->context_switch(&outer, NULL);
    for (struct task *task = lock->first; task != NULL && count < MARKED_MAX; task = task->next, count++) {
        if (task->epoch != tasks_epoch())
            continue;
        binding_runtime->context_switch(NULL, &task->context);
        binding_runtime->wait_begin(lock->object, &holder, MARK_FLAGS);
        binding_runtime->context_switch(&task->context, NULL);
    }
    binding_runtime->context_switch(NULL, &outer);
}

bool tasks_lock_await(struct task *task, PyObject *object)
{
    struct task_lock *lock = locks != NULL ? _Py_hashtable_get(locks, object) : NULL;
    const struct task *waiter;
    uint32_t holder = 0;
    int count = 0;

    if (lock == NULL || !lock->held)
        return false;
    for (waiter = lock->first; waiter != NULL && count < MARKED_MAX; waiter = waiter->next)
        count++;
    if (count < MARKED_MAX)
        holder = holder_of(lock);
    link_waiter(lock, task);
    binding_runtime->wait_begin(object, &holder, holder != 0 ? MARK_FLAGS : RIP_WAIT_OWNER_IS_ID);
    return true;
}

void tasks_lock_await_end(struct task *task)
{
    if (task->awaited != NULL)
        unlink_waiter(task->awaited, task);
}

/* --- holders ------------------------------------------------------------------------------------------------------ */

static void lock_released(const PyObject *object)
{
    struct task_lock *lock = _Py_hashtable_get(locks, object);

    if (lock == NULL)
        return;
    if (lock->holder != NULL)
        lock->holder->held_count--;
    lock->holder = NULL;
    lock->held = false;
    mark_waiters(lock);
    forget_unused(lock);
}

static void lock_taken(const PyObject *object)
{
    struct task_lock *lock = _Py_hashtable_get(locks, object);

    if (lock == NULL) {
        lock = PyMem_Calloc(1, sizeof(*lock));
        if (lock == NULL)
            return;
        lock->object = object;
        if (_Py_hashtable_set(locks, object, lock) < 0) {
            PyMem_Free(lock);
            return;
        }
    }
    lock->held = true;
    lock->holder = tasks_running();
    if (lock->holder != NULL)
        lock->holder->held_count++;
    mark_waiters(lock);
}

static int abandon(_Py_hashtable_t *table, const void *key, const void *value, void *task)
{
    struct task_lock *lock = (struct task_lock *)(uintptr_t)value;

    (void)table;
    (void)key;
    if (lock->holder == task) {
        lock->holder = NULL;
        mark_waiters(lock);
    }
    return 0;
}

void tasks_lock_abandon(struct task *task)
{
    if (task->held_count != 0)
        _Py_hashtable_foreach(locks, abandon, task);
}

/* --- the attribute asyncio.Lock._locked --------------------------------------------------------------------------- */

static PyObject *get_locked(PyObject *self, PyObject *lock, PyObject *type)
{
    PyObject *values, *value;

    (void)self;
    if (lock == NULL || lock == Py_None)
        return PyErr_Format(PyExc_AttributeError, "type object '%s' has no attribute '%U'",
                            ((PyTypeObject *)type)->tp_name, attribute);
    values = PyObject_GenericGetDict(lock, NULL);
    value = values != NULL ? PyDict_GetItemWithError(values, attribute) : NULL;
    Py_XINCREF(value);
    Py_XDECREF(values);
    if (value == NULL && !PyErr_Occurred())
        PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'", Py_TYPE(lock)->tp_name, attribute);
    return value;
}

static int set_locked(PyObject *self, PyObject *lock, PyObject *value)
{
    PyObject *values = PyObject_GenericGetDict(lock, NULL);
    int result = -1;

    (void)self;
    if (values != NULL)
        result = value != NULL ? PyDict_SetItem(values, attribute, value) : PyDict_DelItem(values, attribute);
    Py_XDECREF(values);
    if (result == 0 && value == Py_True)
        lock_taken(lock);
    else if (result == 0)
        lock_released(lock);
    return result;
}

static PyTypeObject locked_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_rip.locked",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_descr_get = get_locked,
    .tp_descr_set = set_locked,
};

/* Returns the code of the class's function acquire, or NULL if it is not a Python function. The caller owns it. */
static PyCodeObject *code_of_acquire(PyObject *class)
{
    PyObject *function = PyObject_GetAttrString(class, "acquire");
    PyCodeObject *code = NULL;

    if (function != NULL && PyFunction_Check(function)) {
        code = (PyCodeObject *)PyFunction_GET_CODE(function);
        Py_INCREF(code);
    }
    Py_XDECREF(function);
    return code;
}

static bool follow(PyObject *class)
{
    PyObject *locked;
    bool is_set = false;

    attribute = PyUnicode_InternFromString("_locked");
    locks = _Py_hashtable_new(_Py_hashtable_hash_ptr, _Py_hashtable_compare_direct);
    acquire = code_of_acquire(class);
    if (attribute == NULL || locks == NULL || acquire == NULL || PyType_Ready(&locked_type) < 0)
        return false;
    locked = PyType_GenericNew(&locked_type, NULL, NULL);
    is_set = locked != NULL && PyObject_SetAttr(class, attribute, locked) == 0;
    Py_XDECREF(locked);
    return is_set;
}

void tasks_lock_start(void)
{
    static bool started;
    PyObject *name, *module, *class = NULL;

    if (started)
        return;
    name = PyUnicode_FromString("asyncio.locks");
    module = name != NULL ? PyImport_GetModule(name) : NULL;
    if (module != NULL)
        class = PyObject_GetAttrString(module, "Lock");
    if (class != NULL) {
        started = true;
        if (!PyType_Check(class) || !follow(class))
            Py_CLEAR(acquire);
    }
    PyErr_Clear();
    Py_XDECREF(class);
    Py_XDECREF(module);
    Py_XDECREF(name);
}

PyObject *tasks_lock_of(const struct _PyInterpreterFrame *frame)
{
    return frame->f_code == acquire && frame->f_code->co_argcount > 0 ? frame->localsplus[0] : NULL;
}
