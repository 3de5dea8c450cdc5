# SPDX-License-Identifier: Apache-2.0
"""Defines and fires a tracepoint. Before that it stops so that a debugger can set a breakpoint."""
import os
import signal

import rip

evaluated = 0


def values():
    global evaluated
    evaluated += 1
    return 2**64 - 5, "caf\u00e9", 2.5


order = rip.Tracepoint("app", "order", int, str, float)
assert not order.enabled
order.fire(values)
order.fire(1, "one", 1)
for wrong in (lambda: rip.Tracepoint("app", "order", int), lambda: rip.Tracepoint("a b", "c"),
              lambda: rip.Tracepoint("app", "x", bytes), lambda: rip.Tracepoint("app"), lambda: order.fire(1),
              lambda: rip.Tracepoint("app", "y", *[int] * 7), lambda: rip.Tracepoint("app", "z\0")):
    try:
        wrong()
    except (TypeError, ValueError):
        continue
    raise AssertionError(wrong)
os.kill(os.getpid(), signal.SIGTRAP)
rip.Tracepoint("app", "order", int, str, float).fire(values)
order.fire(-7, "seven", 3)
print("evaluated", evaluated)
