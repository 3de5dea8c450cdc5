# SPDX-License-Identifier: Apache-2.0
"""A server that does not use package rip, with threads or with asyncio in one of four ways. Its requests get stuck in
the line that is marked with their name. Prints its port; ends at the end of stdin."""
import asyncio
import http.server
import os
import socket
import sys
import threading
import time
import types

silent = socket.create_server(("127.0.0.1", 0))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lock = threading.Lock()

    def do_GET(self):
        getattr(self, self.path[1:].partition("?")[0])()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def ok(self):
        pass

    def query(self):
        socket.create_connection(silent.getsockname()).recv(1)  # thread query

    def hold(self):
        with self.lock:
            self.query()

    def lock_it(self):
        with self.lock:  # thread lock_it
            pass

    def loop(self):
        while True: pass  # thread loop

    def log_message(self, *_):
        pass


async def ok():
    pass


async def query():
    reader, _ = await asyncio.open_connection(*silent.getsockname())
    await reader.readline()  # task query


async def hold():
    async with lock:
        await query()


async def lock_it():
    async with lock:  # task lock_it
        pass


async def loop():
    while True: pass  # task loop


async def answer(line, writer):
    await globals()[line.split()[1].decode()[1:].partition("?")[0]]()
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


async def handle(reader, writer):
    """A task for each connection."""
    while line := await reader.readline():
        while (await reader.readline()).strip():
            pass
        await answer(line, writer)


async def hand_on(reader, writer):
    """A task for each connection, and one for each request, as in aiohttp."""
    while line := await reader.readline():
        while (await reader.readline()).strip():
            pass
        await asyncio.create_task(answer(line, writer))


class Protocol(asyncio.Protocol):
    """Only a task for each request, as in uvicorn, and a later task that belongs to no request."""
    tasks = set()

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.tasks.add(asyncio.create_task(answer(data.partition(b"\r")[0], self.transport)))
        asyncio.get_running_loop().call_soon(self.later)

    def later(self):
        self.tasks.add(asyncio.create_task(asyncio.Event().wait(), name="later"))


class Reader:
    """Reads in a callback of the loop, as tornado does."""
    tasks = set()

    def __init__(self):
        self.sockets = [socket.create_server(("127.0.0.1", 0))]
        self.loop = asyncio.get_running_loop()
        self.loop.add_reader(self.sockets[0], self.accept)

    def accept(self):
        connection, _ = self.sockets[0].accept()
        self.loop.add_reader(connection, self.read, connection)

    def read(self, connection):
        if data := connection.recv(65536):
            writer = types.SimpleNamespace(write=connection.send)
            self.tasks.add(asyncio.create_task(answer(data.partition(b"\r")[0], writer)))
        else:
            self.loop.remove_reader(connection)

    async def serve_forever(self):
        await asyncio.Event().wait()


async def read_alone():
    return Reader()


async def serve(start):
    global lock
    lock = asyncio.Lock()
    server = await start()
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def serve_by_threads():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


WAYS = {
    "threads": serve_by_threads,
    "connections": lambda: asyncio.run(serve(lambda: asyncio.start_server(handle, "127.0.0.1", 0))),
    "requests": lambda: asyncio.run(serve(lambda: asyncio.start_server(hand_on, "127.0.0.1", 0))),
    "protocol": lambda: asyncio.run(serve(lambda: asyncio.get_running_loop().create_server(Protocol, "127.0.0.1", 0))),
    "reader": lambda: asyncio.run(serve(read_alone)),
}
def tick():
    """Requests the interpreter's lock regularly: a loop is seen where it releases the lock."""
    while True:
        time.sleep(0.01)


threading.Thread(target=tick, daemon=True).start()
threading.Thread(target=WAYS[sys.argv[1]], name="server", daemon=True).start()
sys.stdin.read()
os._exit(0)
