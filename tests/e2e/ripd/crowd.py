# SPDX-License-Identifier: Apache-2.0
"""crowd.py KIND PORT COUNT - many bad clients.

Prints "ready" when all clients are connected, and continues until standard input ends. The clients themselves use
little CPU time, so any effect on other clients comes from the server. Their addresses are spread over 127.0.0.0/8.
"""
import errno
import resource
import select
import socket
import sys
import threading
import time

HEAD = b"GET /stalls HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
LARGEST = b"GET /stalls?limit=%d&trail=32 HTTP/1.1\r\nHost: localhost\r\n\r\n"
STREAM = (b"GET /events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
          b"Last-Event-ID: 0000000000000000-1\r\n\r\n")
SMALL_BUFFER = 4096


def connect(port, number, receive_bytes=None):
    connection = socket.socket()
    if receive_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.bind((f"127.0.{1 + number % 5}.{1 + number % 250}", 0))
    connection.connect(("127.0.0.1", port))
    return connection


def until_the_end(step, seconds):
    while not select.select([sys.stdin], [], [], seconds)[0]:
        step()


def ready():
    print("ready", flush=True)


def idle(port, count):
    """Connections without requests. The server closes old connections for new ones; this side keeps its end open."""
    held = [connect(port, i) for i in range(count)]
    ready()
    until_the_end(lambda: None, 1)
    return held


def slow_heads(port, count):
    """Each connection sends one byte of a request head a second. A closed connection is opened again."""
    held = [connect(port, i) for i in range(count)]
    sent = [0] * count

    def step():
        for i in range(count):
            try:
                held[i].send(HEAD[sent[i]:sent[i] + 1] or b"x")
                sent[i] += 1
            except OSError:
                held[i].close()
                held[i] = connect(port, i)
                sent[i] = 0

    step()
    ready()
    until_the_end(step, 1)


def slow_readers(port, count):
    """Each client requests the largest list, with different parameters so that no answer is shared, and reads slowly.
    """
    held = []
    for i in range(count):
        held.append(connect(port, i, SMALL_BUFFER))
        held[i].sendall(LARGEST % (10000 - i))

    def step():
        for i in range(count):
            try:
                if held[i].recv(SMALL_BUFFER, socket.MSG_DONTWAIT):
                    continue
            except BlockingIOError:
                continue
            except OSError:
                pass
            held[i].close()
            held[i] = connect(port, i, SMALL_BUFFER)
            held[i].sendall(LARGEST % (10000 - i))

    step()
    ready()
    until_the_end(step, 1)


def deaf_streams(port, count):
    """Event streams from the first event on, which are never read."""
    held = []
    for i in range(count):
        held.append(connect(port, i, SMALL_BUFFER))
        held[i].sendall(STREAM)
    ready()
    until_the_end(lambda: None, 1)
    return held


def flood(port, count):
    """Connections that are closed immediately, half of them in the middle of a request."""
    stop = threading.Event()

    def run():
        number, next_time = 0, time.monotonic()
        while not stop.is_set():
            try:
                connection = connect(port, number)
                if number % 2:
                    connection.sendall(HEAD)
                connection.close()
            except OSError as error:
                if error.errno not in (errno.EADDRNOTAVAIL, errno.ECONNRESET):
                    raise
            number += 1
            next_time = max(next_time + 1 / count, time.monotonic() - 0.1)
            time.sleep(max(0, next_time - time.monotonic()))

    thread = threading.Thread(target=run)
    thread.start()
    ready()
    until_the_end(lambda: None, 1)
    stop.set()
    thread.join()


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    kinds = {kind.__name__: kind for kind in (idle, slow_heads, slow_readers, deaf_streams, flood)}
    kinds[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]))


main()
