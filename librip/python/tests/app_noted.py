# SPDX-License-Identifier: Apache-2.0
"""Tasks of asyncio that use package rip, under `rip run` or with a ring that the program makes."""
import asyncio
import sys
import threading

import rip


async def forever():
    await asyncio.Event().wait()


async def hold(lock, taken):
    async with lock:
        taken.set()
        await forever()


async def update(lock):
    with rip.note("POST /order?id=7"):
        async with lock:
            pass


async def answer():
    with rip.note("GET /"):
        pass
    await forever()


async def in_time():
    rip.deadline_ms(200)
    await forever()


async def without_limit():
    rip.deadline_ms(200)
    await asyncio.sleep(0)
    rip.deadline_ms(0)
    await forever()


async def compute():
    asyncio.current_task().set_name("compute")
    await asyncio.sleep(0)
    rip.note("sum")
    while True:
        pass


async def main():
    lock, taken = asyncio.Lock(), asyncio.Event()
    tasks = [asyncio.create_task(hold(lock, taken), name="hold")]
    await taken.wait()
    tasks += [asyncio.create_task(coroutine, name=coroutine.__name__)
              for coroutine in (update(lock), answer(), in_time(), without_limit())]
    threading.Thread(target=asyncio.run, args=[compute()], daemon=True).start()
    await asyncio.wait(tasks)


if len(sys.argv) > 1:
    assert rip.start(sys.argv[1])
asyncio.run(main())
