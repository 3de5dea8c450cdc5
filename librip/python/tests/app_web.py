# SPDX-License-Identifier: Apache-2.0
"""Two servers that know nothing of tracing, one of threads and one of asyncio, whose requests get stuck in the line
that is marked with their name. Prints their ports; ends when stdin does."""
import asyncio
import http.server
import os
import socket
import sys
import threading

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


async def handle(reader, writer):
    while line := await reader.readline():
        while (await reader.readline()).strip():
            pass
        await globals()[line.split()[1].decode()[1:].partition("?")[0]]()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


async def serve():
    global lock
    lock = asyncio.Lock()
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    print(threads.server_port, server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


threads = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=threads.serve_forever, daemon=True).start()
threading.Thread(target=asyncio.run, args=[serve()], daemon=True).start()
sys.stdin.read()
os._exit(0)
