# SPDX-License-Identifier: Apache-2.0
"""A program that makes its own ring. Its threads use the API; it ends after a line on stdin."""
import os
import sys
import threading
import time

import rip


def stuck():
    with rip.note("GET /order?id=7"):
        rip.snap()
        os.read(pipe[0], 1)


def idle():
    with rip.idle():
        os.read(pipe[0], 1)


def patient():
    rip.deadline_ms(3_600_000)
    rip.snap()
    os.read(pipe[0], 1)


def first():
    with lock_a:
        rip.snap()
        both.wait()
        with lock_b:
            pass


def second():
    with lock_b:
        rip.snap()
        both.wait()
        with lock_a:
            pass


@rip.trace
def traced():
    os.read(pipe[0], 1)


def renamed():
    rip.name("by itself")
    threading.current_thread().name = "by threading"
    os.read(pipe[0], 1)


def moves():
    while True:
        rip.snap()
        time.sleep(0.01)


pipe = os.pipe()
lock_a, lock_b = threading.Lock(), threading.RLock()
both = threading.Barrier(2)
rip.snap()  # there is no ring yet
assert rip.start(sys.argv[1], max_ids=100) and rip.start(sys.argv[1])
for function in (stuck, idle, patient, first, second, traced, renamed, moves):
    threading.Thread(target=function, name=function.__name__, daemon=True).start()
if os.fork() == 0:
    rip.name("forked")
    os.read(pipe[0], 1)
    os._exit(0)
print("ready", flush=True)
sys.stdin.readline()
os.write(pipe[1], b"x" * 100)
os.wait()
