# SPDX-License-Identifier: Apache-2.0
"""A server with asyncio that does not use package rip: some of its tasks are stuck, the others wait for work. Lines
that a test looks up have a comment "at NAME"."""
import asyncio
import contextlib
import sys
import threading

SLEEPERS = 1000


async def ask(address):
    reader, writer = await asyncio.open_connection(*address)
    writer.write(b"SELECT 1\n")
    return await reader.readline()  # at query


async def ask_by_socket(address):
    import socket
    loop = asyncio.get_running_loop()
    with socket.create_connection(address) as connection:
        connection.setblocking(False)
        await loop.sock_sendall(connection, b"SELECT 1\n")
        return await loop.sock_recv(connection, 100)  # at socket


async def send_too_much(address):
    _, writer = await asyncio.open_connection(*address)
    while True:
        writer.write(bytes(1 << 20))
        await writer.drain()  # at drain


class Accounts:
    def __init__(self):
        self.lock = asyncio.Lock()

    async def hold(self, taken):
        async with self.lock:
            taken.set()
            await asyncio.Event().wait()  # at holder

    async def update(self):
        await self.lock.acquire()  # at waiter


async def transfer(first, second, both):
    async with first:
        await both.wait()
        async with second:  # at deadlock
            pass


async def numbers(queue):
    while True:
        yield await queue.get()  # at generator


async def consume(queue):
    async for _ in numbers(queue):
        pass


async def with_condition(condition):
    async with condition:
        await condition.wait()


async def with_semaphore(semaphore):
    async with semaphore:
        pass


async def greet(reader, writer):
    asyncio.current_task().set_name("keep-alive")
    while line := await reader.readline():  # at keep-alive
        writer.write(line)


async def swallow(_, writer):
    """The silent server: neither reads nor answers."""
    asyncio.current_task().set_name("silent")
    writer.transport.pause_reading()
    await asyncio.Event().wait()


def compute():
    while True:  # at loop that calls nothing
        pass


async def calculate():
    asyncio.current_task().set_name("spinner")
    await asyncio.sleep(0.1)  # at spinner
    compute()


async def stuck(start):
    silent = await asyncio.start_server(swallow, "127.0.0.1", 0)
    address = silent.sockets[0].getsockname()
    accounts, taken = Accounts(), asyncio.Event()
    one, two, both = asyncio.Lock(), asyncio.Lock(), asyncio.Barrier(2)
    start("query", ask(address))
    start("socket", ask_by_socket(address))
    start("drain", send_too_much(address))
    start("holder", accounts.hold(taken))
    await taken.wait()
    start("waiter", accounts.update())
    start("in time", asyncio.wait_for(asyncio.create_task(accounts.update(), name="waiter in time"), 3600))
    start("left", transfer(one, two, both))
    start("right", transfer(two, one, both))


async def idle(start):
    queue, semaphore = asyncio.Queue(), asyncio.Semaphore(0)
    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    start("server", server.serve_forever())
    start("queue", queue.get())
    start("generator", consume(queue))
    start("condition", with_condition(asyncio.Condition()))
    start("semaphore", with_semaphore(semaphore))
    start("sleep", asyncio.sleep(3600))
    start("future", asyncio.wait_for(asyncio.get_running_loop().create_future(), 3600))
    start("thread", asyncio.to_thread(threading.Event().wait))
    start("child", (await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE)).wait())
    for number in range(SLEEPERS):
        start(f"sleeper-{number}", queue.get())
    return server.sockets[0].getsockname()[1]


async def main():
    tasks = []

    def start(name, coroutine):
        tasks.append(asyncio.create_task(coroutine, name=name))

    asyncio.current_task().set_name("main")
    port = await idle(start)
    await stuck(start)
    threading.Thread(target=lambda: asyncio.run(calculate()), name="second", daemon=True).start()
    print(port, flush=True)
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.gather(*tasks)  # at main


if __name__ == "__main__":
    if sys.argv[1:] == ["uvloop"]:
        import uvloop
        uvloop.install()
    asyncio.run(main())  # at loop
