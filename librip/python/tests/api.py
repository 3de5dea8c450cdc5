# SPDX-License-Identifier: Apache-2.0
"""Package rip in a program that is not traced: its functions do nothing, and wrong arguments raise."""
import _xxsubinterpreters as interpreters
import asyncio
import inspect
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import rip


class Api(unittest.TestCase):
    def test_nothing_happens_without_a_ring(self):
        rip.snap()
        rip.idle()
        rip.name("x")
        rip.note("x")
        rip.note(None)
        rip.deadline_ms(5)
        with rip.idle(), rip.note("y"):
            pass

    def test_wrong_arguments(self):
        for function, argument in ((rip.note, 1), (rip.note, b"x"), (rip.note, "\ud800"), (rip.name, None)):
            with self.assertRaises((TypeError, ValueError), msg=repr(argument)):
                function(argument)
        for wrong in (-1, 2**32, 1.5, "1", None):
            with self.assertRaises(ValueError, msg=repr(wrong)):
                rip.deadline_ms(wrong)
        with self.assertRaises(TypeError):
            rip.start(5)

    def test_no_ring_to_be_had(self):
        self.assertIs(rip.start("/proc/none"), False)
        self.assertIs(rip.start(b"/nowhere/ring"), False)

    def test_what_is_inside_with_raises(self):
        for context in (rip.idle(), rip.note("x")):
            with self.assertRaises(KeyError):
                with context:
                    raise KeyError

    def test_trace_keeps_a_function_what_it_is(self):
        @rip.trace
        def add(a, b=1, *, c=0):
            "Adds."
            return a + b + c

        @rip.trace
        async def later(a):
            return a

        self.assertEqual((add(1), add(1, 2, c=3), add.__name__, add.__doc__), (2, 6, "add", "Adds."))
        self.assertEqual(str(inspect.signature(add)), "(a, b=1, *, c=0)")
        self.assertTrue(inspect.iscoroutinefunction(later))
        self.assertEqual(asyncio.run(later(5)), 5)
        with self.assertRaises(TypeError):
            add()

    def test_a_method(self):
        class Order:
            @rip.trace
            def place(self, number):
                return number

        self.assertEqual(Order().place(3), 3)
        del Order

    def test_nested_notes_come_back(self):
        outer = rip.note("outer")
        inner = rip.note("inner")
        self.assertEqual((outer._before, inner._before), (None, "outer"))
        inner.__exit__()
        self.assertEqual(rip.note("other")._before, "outer")
        outer.__exit__()
        self.assertEqual(rip.note(None)._before, None)

    def test_a_sub_interpreter_is_refused(self):
        number = interpreters.create()
        with self.assertRaisesRegex(interpreters.RunFailedError, "ImportError.*sub-interpreter"):
            interpreters.run_string(number, f"import sys; sys.path[:0] = {sys.path!r}\nimport rip")
        interpreters.destroy(number)

    def test_threads_and_forks(self):
        thread = threading.Thread(target=rip.snap)
        thread.start()
        thread.join()
        if os.fork() == 0:
            rip.snap()
            os._exit(7)
        self.assertEqual(os.waitstatus_to_exitcode(os.wait()[1]), 7)

    def test_the_interpreter_ends_with_threads_in_it(self):
        """The thread states of daemon threads are freed while the threads are in a call."""
        program = """
import sys, threading, time, rip
def busy():
    while True: rip.snap(); time.sleep(0)
rip.start(sys.argv[1])
for _ in range(8): threading.Thread(target=busy, daemon=True).start()
time.sleep(0.05)
"""
        with tempfile.TemporaryDirectory(prefix="rip-api-", dir="/dev/shm") as directory:
            for number in range(5):
                command = [sys.executable, "-c", program, f"{directory}/{number}"]
                self.assertEqual(subprocess.run(command).returncode, 0)


unittest.main()
