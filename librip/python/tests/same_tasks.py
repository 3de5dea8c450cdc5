# SPDX-License-Identifier: Apache-2.0
"""Prints what a program can see of asyncio. The output must be the same with and without tracing."""
import asyncio
import contextvars
import gc
import io
import os
import re
import sys
import traceback
import warnings

NUMBER = contextvars.ContextVar("NUMBER", default=0)


def show(*values):
    print(*(re.sub(r"0x[0-9a-f]+", "0x", str(value)) for value in values), flush=True)


async def nothing():
    return NUMBER.get()


async def fail():
    await asyncio.sleep(0)
    raise KeyError("lost")


async def forever():
    await asyncio.Event().wait()


async def names():
    tasks = [asyncio.create_task(forever()), asyncio.create_task(forever(), name="given")]
    await asyncio.sleep(0)
    show(asyncio.current_task(), *tasks)
    tasks[0].set_name("\udc80\N{SNOWMAN}")
    tasks[1].cancel("enough")
    show(ascii(tasks[0].get_name()), tasks[1])
    for task in tasks:
        task.cancel()
    show(await asyncio.gather(*tasks, return_exceptions=True))
    tasks[0].print_stack(file=sys.stdout)


async def exceptions():
    try:
        await asyncio.create_task(fail())
    except KeyError:
        show(traceback.format_exc())
    never = asyncio.create_task(fail())
    never.cancel()  # before its first step
    try:
        await never
    except asyncio.CancelledError:
        show("cancelled", never.cancelled(), traceback.format_exc())
    try:
        async with asyncio.timeout(0.01):
            await forever()
    except TimeoutError:
        show("timeout")
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            group.create_task(forever())
    except* KeyError as error:
        show(repr(error))


class Named(asyncio.Task):
    def done(self):
        show("done() of", type(self).__name__)
        return super().done()


async def kinds():
    loop = asyncio.get_running_loop()
    loop.set_task_factory(lambda loop, coroutine, **options: Named(coroutine, loop=loop, **options))
    show(await asyncio.create_task(nothing()))
    loop.set_task_factory(None)
    show(await asyncio.tasks._PyTask(nothing(), loop=loop, name="in Python"))
    NUMBER.set(5)
    show(await asyncio.create_task(nothing()))

    async def generate():
        for number in range(3):
            await asyncio.sleep(0)
            yield number

    show([number async for number in generate()])
    outer, inner = (asyncio.get_running_loop(), asyncio.new_event_loop())
    show(await asyncio.to_thread(inner.run_until_complete, nothing()), outer is asyncio.get_running_loop())
    inner.close()


class OwnLock(asyncio.Lock):
    async def acquire(self):
        show("acquire", self)
        return await super().acquire()


async def locks():
    for lock in (asyncio.Lock(), OwnLock()):
        waiter = None
        async with lock:
            waiter = asyncio.create_task(lock.acquire())
            await asyncio.sleep(0)
            show(lock, lock.locked(), sorted(vars(lock)))
        show(await waiter, lock)
        gone = asyncio.create_task(lock.acquire())
        await asyncio.sleep(0)
        gone.cancel()
        lock.release()
        await asyncio.wait([gone])
        show(lock)
        try:
            lock.release()
        except RuntimeError as error:
            show(error)
        del lock._locked
        show(hasattr(lock, "_locked"), hasattr(asyncio.Lock, "_locked"))
        for owner in (lock, asyncio.Lock):
            try:
                owner._locked
            except AttributeError as error:
                show(error)
    ended = asyncio.Lock()
    await asyncio.create_task(ended.acquire())  # and is done
    waiter = asyncio.create_task(ended.acquire())
    await asyncio.sleep(0)
    ended.release()
    show(await waiter)
    many, order = asyncio.Lock(), []

    async def turn(number):
        async with many:
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(turn(number) for number in range(200)))
    show(order == list(range(200)))


async def forks():
    child = os.fork()
    if child == 0:
        asyncio.events._set_running_loop(None)
        show("in the child", asyncio.run(nothing()))
        os._exit(7)
    show(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), await nothing())


def pending():
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: show(context["message"]))
    loop.create_task(forever())
    loop.create_task(forever())
    loop.run_until_complete(nothing())
    loop.close()
    del loop
    gc.collect()


def interrupted():
    async def interrupt():
        raise KeyboardInterrupt

    try:
        asyncio.run(interrupt())
    except KeyboardInterrupt:
        show(traceback.format_exc())


def profiled():
    """A profiler must see nothing of the binding."""
    seen = set()
    sys.setprofile(lambda frame, event, argument: seen.add(frame.f_code.co_filename))
    asyncio.run(nothing())
    sys.setprofile(None)
    show(sorted(name for name in seen if not name.startswith(os.path.dirname(os.__file__))))
    show(sorted(name for name in sys.modules if "rip" in name and name != "_rip" and "script" not in name))


async def patiently(function):
    """Keeps debug mode from reporting slow steps, which depend on the machine."""
    asyncio.get_running_loop().slow_callback_duration = 3600
    await function()


warnings.simplefilter("error")
sys.stderr = io.StringIO()
for debug in (False, True):
    for coroutine in (names, exceptions, kinds, locks):
        asyncio.run(patiently(coroutine), debug=debug)
for function in (pending, interrupted, profiled):
    function()
asyncio.run(forks())
show(sys.stderr.getvalue())
left = asyncio.new_event_loop()
left._task = left.create_task(forever())  # the interpreter ends with it
left.run_until_complete(nothing())
sys.exit(3)
