# SPDX-License-Identifier: Apache-2.0
"""A threaded program that does not use package rip. Some threads are stuck, each at the line that is marked with its
name; the others wait for work. Ends at the end of stdin."""
import concurrent.futures
import os
import queue
import select
import socket
import sys
import threading
import time



def ask(connection):
    connection.sendall(b"SELECT 1")
    return connection.recv(100)  # query


def query():
    ask(socket.create_connection(silent.getsockname()))


def slow_query():
    with rlock:
        held.set()
        ask(socket.create_connection(silent.getsockname()))


class Order:
    def place(self):
        held.wait()
        with rlock:  # rlock
            pass

    def cancel(self):
        held.wait()
        rlock.acquire(timeout=86400)  # timed


def first():
    with lock_a:
        both.wait()
        lock_b.acquire()  # first


def second():
    with lock_b:
        both.wait()
        with lock_a:  # second
            pass


def itself():
    alone = threading.Lock()
    with alone:
        with alone:  # itself
            pass


def loop():
    time.sleep(0.001)
    spin()


def spin():
    while True: pass  # loop


def import_it():
    import stuck_import  # noqa: F401  # import


def wait_for_condition():
    with condition:
        condition.wait()


def named_by_another():
    held.wait()
    queue.Queue().get()


def serve():
    connection, _ = server.accept()
    connection.recv(100)


sys.path.append(os.path.dirname(__file__))
silent, server, unused = (socket.create_server(("127.0.0.1", 0)) for _ in range(3))
lock_a, lock_b, rlock = threading.Lock(), threading.Lock(), threading.RLock()
condition, held, both = threading.Condition(), threading.Event(), threading.Barrier(2)
pipe, pair = os.pipe(), socket.socketpair()
kept = socket.create_connection(server.getsockname())
stuck = {"query": query, "slow": slow_query, "rlock": Order().place, "timed": Order().cancel, "first": first,
         "second": second, "itself": itself,
         "import 1": import_it, "import 2": import_it, "import 3": import_it, "loop 1": loop, "loop 2": spin}
idle = {"queue": queue.Queue().get, "simple": queue.SimpleQueue().get, "condition": wait_for_condition,
        "event": threading.Event().wait, "semaphore": threading.Semaphore(0).acquire,
        "barrier": threading.Barrier(2).wait, "serve": serve, "accept": unused.accept, "pair": lambda: pair[0].recv(1),
        "select": lambda: select.select([pair[0]], [], []), "timed event": lambda: threading.Event().wait(86400),
        "pipe": lambda: os.read(pipe[0], 1)}
threads = [threading.Thread(target=function, name=name, daemon=True)
           for name, function in (idle | {"old": named_by_another} | stuck).items()]
threads.append(threading.Thread(target=threads[0].join, name="join", daemon=True))
for thread in threads:
    if thread.name == "slow":
        renamed.name = "renamed"
    elif thread.name == "old":
        renamed = thread
    thread.start()
    if thread.name == "import 1":
        while "stuck_import" not in sys.modules:
            time.sleep(0.01)
pool = concurrent.futures.ThreadPoolExecutor(2, thread_name_prefix="pool")
pool.submit(len, "").result()
print("ready", flush=True)
sys.stdin.read()
os._exit(0)
