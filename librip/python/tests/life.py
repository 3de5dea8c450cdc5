# SPDX-License-Identifier: Apache-2.0
"""Exercises the binding with exceptions, signals, forks, finalizers, sub-interpreters, and an exit with threads in all
kinds of waits. test_memory.py runs it under tools that check memory and threads. Its last line shows whether it runs
under `rip run`."""
import _xxsubinterpreters as interpreters
import asyncio
import contextlib
import gc
import http.client
import http.server
import os
import queue
import signal
import sys
import tempfile
import threading
import time

import rip

ROUNDS = 10
SUB_INTERPRETER = """
import sys, threading
sys.path[:0] = {path!r}
try:
    import rip
except ImportError as error:
    assert "sub-interpreter" in str(error)
else:
    raise AssertionError("rip was imported")
lock = threading.RLock()
def work():
    with lock:
        threading.current_thread().name = "sub"
with lock:
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads: thread.start()
for thread in threads: thread.join()
"""


class Last:
    """Its finalizer runs at the end of a thread, of a module or of the interpreter, and uses the binding."""
    def __del__(self):
        with threading.Lock(), rip.note("the end"):
            rip.snap()


class Alarm(Exception):
    pass


waiting = False


def raise_alarm(*_):
    global waiting
    if waiting:
        waiting = False
        with rip.note("in a handler"):
            raise Alarm


def names_that_are_no_ascii(number):
    thread = threading.current_thread()
    with rip.note("\u00e9" * 100):
        thread.name = "\u4e2d" * 40 + str(number)
        file = "/tmp/\u00e9/\u4e2d/\U0001f600" * (number % 9 + 1)
        exec(compile("def \u00e9():\n rip.snap()\n\u00e9()", file, "exec"), {"rip": rip})


def threads_that_end(number):
    local, lock, held = threading.local(), threading.RLock(), threading.Event()

    def work(own):
        held.wait()
        with lock:
            local.last = Last()
            names_that_are_no_ascii(own)
        if own % 2:
            sys.exit()
    threads = [threading.Thread(target=work, args=(own,)) for own in range(8)]
    with lock:
        for thread in threads:
            thread.start()
        held.set()
        for thread in threads:
            thread.name += "'"
    for thread in threads:
        thread.join()


def a_signal_in_a_wait(_):
    """Repeats the signal, because a signal that arrives right before the wait does not end it."""
    global waiting
    lock = threading.Lock()
    lock.acquire()
    for wait in (lock.acquire, lambda: lock.acquire(timeout=60), queue.Queue().get, lambda: time.sleep(60)):
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        with contextlib.suppress(Alarm):
            waiting = True
            wait()
            raise AssertionError("it waited for nothing")
        signal.setitimer(signal.ITIMER_REAL, 0)


def tasks(_):
    async def holds(lock, started):
        async with lock:
            started.set()
            with rip.note("held"):
                await asyncio.sleep(60)

    async def waits(lock):
        async with lock:
            raise AssertionError("it got the lock")

    async def fails():
        await asyncio.sleep(0)
        raise KeyError

    async def run():
        lock, started = asyncio.Lock(), asyncio.Event()
        held = asyncio.create_task(holds(lock, started), name="\u00e9" * 50)
        await started.wait()
        waiting = [asyncio.create_task(waits(lock)) for _ in range(5)]
        failing = [asyncio.create_task(fails()) for _ in range(5)]
        await asyncio.to_thread(rip.snap)
        await asyncio.gather(*failing, return_exceptions=True)
        for task in (*waiting[1:], held):
            task.cancel()
        waiting[0].cancel()
        await asyncio.gather(held, *waiting, return_exceptions=True)
        asyncio.create_task(asyncio.Event().wait())  # never done: freed with the loop
    asyncio.run(run())


def a_child(number):
    """Forks from a thread while others wait. The child makes threads and ends as number says."""
    lock, statuses = threading.Lock(), []

    def fork():
        child = os.fork()
        if child != 0:
            statuses.append(os.waitpid(child, 0)[1])
        else:
            threads_that_end(number)
            if number % 2:
                os._exit(0)
            os.execl("/bin/true", "true")
    with lock:
        waiting = [threading.Thread(target=lock.acquire, kwargs={"timeout": 60}, daemon=True) for _ in range(2)]
        forking = threading.Thread(target=fork)
        for thread in (*waiting, forking):
            thread.start()
        forking.join()
    assert statuses == [0], statuses


def a_sub_interpreter(_):
    number = interpreters.create(isolated=False)
    interpreters.run_string(number, SUB_INTERPRETER.format(path=sys.path))
    interpreters.destroy(number)


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


async def answer(reader, writer):
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 204 No\r\n\r\n")
    await writer.drain()
    writer.close()


def requests():
    def ask(port):
        for path in ("/", "/" + "long" * 100):
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", path)
            assert connection.getresponse().status == 204
            connection.close()

    async def serve():
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            await asyncio.to_thread(ask, server.sockets[0].getsockname()[1])
    asyncio.run(serve())
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        ask(server.server_port)
        server.shutdown()


def stay():
    """Starts daemon threads in all kinds of waits. They are still there when the interpreter ends."""
    lock = threading.Lock()
    lock.acquire()

    def moves():
        while True:
            rip.snap()
            time.sleep(0)
    for function in (lock.acquire, lambda: lock.acquire(timeout=60), queue.Queue().get, moves, moves,
                     lambda: asyncio.run(asyncio.sleep(60)), threading.Event().wait, lambda: os.read(os.pipe()[0], 1)):
        threading.Thread(target=function, daemon=True).start()


last = Last()
signal.signal(signal.SIGALRM, raise_alarm)
with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
    assert rip.start(folder + "/ring")
    requests()  # first, because the program's own notes stop the notes of requests
    for round_number in range(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS):
        for part in (threads_that_end, a_signal_in_a_wait, tasks, a_child, a_sub_interpreter):
            part(round_number)
        gc.collect()
stay()
time.sleep(0.1)
print("traced" if "_rip" in sys.modules else "done")
