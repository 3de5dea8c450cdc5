# SPDX-License-Identifier: Apache-2.0
"""One location of a Python program, observed by different tools: argv[1] times each. argv[2] is a ring."""
import os
import statistics
import sys
import time

import rip

COUNT, ROUNDS = int(sys.argv[1]), 9
tracepoint = rip.Tracepoint("compare", "python", int)


def function():
    pass


@rip.trace
def traced_function():
    pass


def nothing():
    for _ in range(COUNT):
        pass


def call():
    for _ in range(COUNT):
        function()


def snap():
    for _ in range(COUNT):
        rip.snap()


def traced():
    for _ in range(COUNT):
        traced_function()


def fire():
    for _ in range(COUNT):
        tracepoint.fire(1)


def profile():
    sys.setprofile(lambda frame, event, argument: None)
    for _ in range(COUNT):
        function()
    sys.setprofile(None)


def once(run):
    began = time.thread_time_ns()
    run()
    return (time.thread_time_ns() - began) / COUNT


assert rip.start(sys.argv[2], 64)
os.unlink(sys.argv[2])
rows = {run: [] for run in (nothing, call, snap, traced, fire, profile)}
for _ in range(ROUNDS):
    for run, found in rows.items():
        found.append(once(run))
for run, found in rows.items():
    print(f"  {run.__name__} {statistics.median(found):.3f} 1.00")
