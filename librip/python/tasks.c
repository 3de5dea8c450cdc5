/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasks.c - follows the steps of asyncio's tasks: see tasks.h.
 *
 * A step puts the task's id on the thread, and takes it off when the task awaits something. It leaves two breadcrumbs:
 * where the task continues, and where it awaits next.
 */
#include "tasks.h"
#include <pthread.h>
#include <stdlib.h>

#include <internal/pycore_hashtable.h>

#include "place.h"
#include "requests.h"
#include "tasks_await.h"
#include "tasks_find.h"
#include "tasks_lock.h"

enum {
    ID_FIRST = 10000000, /* larger than all tids of the kernel: a task never has a thread's id */
    IDS_TRIED_MAX = 64,  /* attempts to find an id that is not in use */
};

#define EPOCH_NONE UINT64_MAX

/* The state of one step, from begin_turn() to end_turn(). */
struct turn {
    struct task *task; /* NULL = the step is not traced */
    struct task *outer_task;
    struct rip_context outer;
    uint64_t epoch;
};

static _Py_hashtable_t *tasks; /* struct task by address of the Task object */
static uint32_t fork_count;
static uint32_t last_id = ID_FIRST;
static __thread struct task *running BINDING_TLS;

struct task *tasks_running(void)
{
    return running;
}

uint64_t tasks_epoch(void)
{
    return (uint64_t)fork_count << 32 | binding_runtime->script_epoch();
}

static PyObject *field_of(PyObject *object, size_t at)
{
    return *(PyObject **)(void *)((char *)object + at);
}

/* --- records ------------------------------------------------------------------------------------------------------ */

/* Returns the task's name in UTF-8, borrowed, or "" if the name has no UTF-8. */
static const char *text_of(PyObject *name, Py_ssize_t *ret_length)
{
    const char *text = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, ret_length) : NULL;

    if (text != NULL)
        return text;
    PyErr_Clear();
    *ret_length = 0;
    return "";
}

/* If the ring is full, the context is inert, and the task's steps count as the thread's. */
static void register_task(struct task *task, PyObject *object)
{
    PyObject *name = field_of(object, tasks_asyncio.name_at);
    Py_ssize_t length;
    const char *text = text_of(name, &length);

    Py_XINCREF(name);
    Py_XSETREF(task->name, name);
    task->epoch = tasks_epoch();
    task->has_deadline = false;
    task->place = 0;
    task->fd = -1;
    task->is_noted = false;
    for (int i = 0; i < IDS_TRIED_MAX; i++) {
        last_id = last_id < INT32_MAX ? last_id + 1 : ID_FIRST;
        if (binding_runtime->context_init(&task->context, last_id, text, (size_t)length) || errno != EEXIST)
            return;
    }
}

/* Returns NULL if out of memory. The task gets its id with its first step. */
static struct task *new_task(PyObject *object)
{
    struct task *task = PyMem_Calloc(1, sizeof(*task));

    if (task == NULL)
        return NULL;
    if (_Py_hashtable_set(tasks, object, task) < 0) {
        PyMem_Free(task);
        return NULL;
    }
    tasks_lock_start();
    task->epoch = EPOCH_NONE;
    return task;
}

static struct task *task_of(PyObject *object)
{
    struct task *task = _Py_hashtable_get(tasks, object);

    if (task == NULL)
        task = new_task(object);
    if (task != NULL && !task->runs && task->epoch != tasks_epoch())
        register_task(task, object);
    return task;
}

/* The task must not be on a thread. */
static void forget_task(PyObject *object)
{
    struct task *task = _Py_hashtable_steal(tasks, object);

    if (task == NULL)
        return;
    tasks_lock_await_end(task);
    tasks_lock_abandon(task);
    if (task->epoch == tasks_epoch())
        binding_runtime->context_exit(&task->context);
    Py_XDECREF(task->name);
    Py_XDECREF(task->code);
    Py_XDECREF(task->request);
    PyMem_Free(task);
}

static bool is_done(PyObject *object)
{
    PyObject *done = PyObject_CallOneArg(tasks_asyncio.done, object);
    const bool is = done == Py_True;

    if (done == NULL)
        PyErr_Clear();
    Py_XDECREF(done);
    return is;
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static void rename_task(struct task *task, PyObject *object)
{
    PyObject *name = field_of(object, tasks_asyncio.name_at);
    Py_ssize_t length;
    const char *text;

    if (name == task->name)
        return;
    text = text_of(name, &length);
    binding_runtime->rename(text, (size_t)length);
    Py_XINCREF(name);
    Py_XSETREF(task->name, name);
}

/* Takes ownership of request. NULL is allowed: the task keeps its former request. */
static void take_request(struct task *task, PyObject *request)
{
    if (request == NULL)
        return;
    Py_XSETREF(task->request, request);
    task->is_noted = false;
}

/* While the task is on the thread, stalls are those of the task. The thread's own id is idle. */
static void begin_turn(struct turn *turn, PyObject *object)
{
    struct task *task = task_of(object);

    turn->task = NULL;
    if (task == NULL || task->runs || task->context.slot == NULL)
        return;
    turn->task = task;
    turn->outer_task = running;
    turn->epoch = task->epoch;
    binding_runtime->idle();
    running = task;
    binding_runtime->context_switch(&turn->outer, &task->context);
    task->runs = true;
    rename_task(task, object);
    if (task->place == 0)
        task->place = tasks_place_of(field_of(object, tasks_asyncio.coroutine_at));
    tasks_lock_await_end(task);
    binding_runtime->snap_at(binding_address(task->place));
    if (task->fd >= 0)
        take_request(task, binding_requests_take(task->fd));
    task->fd = -1;
    if (task->request != NULL && !task->is_noted)
        binding_requests_note(task->request);
    task->is_noted = true;
}

/*
 * The thread's own id continues. Without the preload library the binding does not know when the loop waits for work, so
 * the thread's id stays idle.
 */
static void end_turn(struct turn *turn, PyObject *object)
{
    struct task *task = turn->task;
    const bool done = is_done(object);

    task->runs = false;
    if (turn->epoch == tasks_epoch()) { /* else this is a child that was forked in the step, or the ring has changed */
        if (!done) {
            rename_task(task, object);
            tasks_await(task, field_of(object, tasks_asyncio.coroutine_at));
        }
        binding_runtime->context_switch(&task->context, &turn->outer);
        if ((binding_runtime->flags & RIP_RUNTIME_PRELOAD) != 0)
            binding_runtime->snap_at(binding_address(binding_place()));
    }
    running = turn->outer_task;
    if (done)
        forget_task(object);
}

static PyObject *finish(struct turn *turn, PyObject *object, PyObject *result)
{
    if (turn->task != NULL) {
        PyObject *type, *value, *traceback;

        PyErr_Fetch(&type, &value, &traceback);
        end_turn(turn, object);
        PyErr_Restore(type, value, traceback);
    }
    Py_DECREF(object);
    return result;
}

static PyObject *step(PyObject *stepper, PyObject *arguments, PyObject *keywords)
{
    PyObject *object = Py_NewRef(((struct tasks_stepper *)(void *)stepper)->task);
    struct turn turn;

    begin_turn(&turn, object);
    return finish(&turn, object, tasks_asyncio.step(stepper, arguments, keywords));
}

static PyObject *wake_up(PyObject *task, PyObject *future)
{
    PyObject *object = Py_NewRef(task);
    struct turn turn;

    begin_turn(&turn, object);
    return finish(&turn, object, tasks_asyncio.wake_up(task, future));
}

/* A new task gets the request of the task that creates it, or the request that the loop has just received. */
static int init(PyObject *object, PyObject *arguments, PyObject *keywords)
{
    const int result = tasks_asyncio.init(object, arguments, keywords);
    PyObject *request = result == 0 ? (running != NULL ? running->request : binding_requests_now()) : NULL;
    struct task *task = request != NULL ? _Py_hashtable_get(tasks, object) : NULL;

    if (request != NULL && task == NULL)
        task = new_task(object);
    if (task != NULL)
        take_request(task, Py_NewRef(request));
    return result;
}

static void dealloc(PyObject *task)
{
    forget_task(task);
    tasks_asyncio.dealloc(task);
}

void tasks_take_request(PyObject *request)
{
    if (running == NULL)
        return;
    take_request(running, Py_NewRef(request));
    running->is_noted = true;
}

void binding_tasks_deadline(uint32_t ms)
{
    if (running != NULL)
        running->has_deadline = ms != 0;
}

/* Runs in a forked child. The task that was on the thread belongs to the parent. */
static void after_fork(void)
{
    fork_count++;
    running = NULL;
}

void binding_tasks_start(void)
{
    static const struct tasks_asyncio ours = {.step = step, .wake_up = wake_up, .init = init, .dealloc = dealloc};

    tasks = _Py_hashtable_new(_Py_hashtable_hash_ptr, _Py_hashtable_compare_direct);
    if (tasks != NULL && pthread_atfork(NULL, NULL, after_fork) == 0)
        tasks_find(&ours);
}
