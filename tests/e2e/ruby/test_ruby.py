# SPDX-License-Identifier: Apache-2.0
"""An unchanged Ruby program under `rip run`: threads have their names, and their locations are lines of the script."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "preload"))
from preload_kit import PATIENCE_S, PreloadTest, main, wait_for  # noqa: E402

RUBY = "/usr/bin/ruby3.1"
REPLY, LOCK = 6, 8  # from enum rip_call
SCRIPT = os.path.join(HERE, "threads.rb")


def line_of(text):
    with open(SCRIPT) as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def place(text, function):
    return f"{SCRIPT}:{line_of(text)} {function}"


# For each thread: the announced call, whether it is idle, and its location. None: any value.
EXPECTED = {
    "hold": (None, 1, place("def hold", "block in Order#hold")),
    "lock": (LOCK, 0, place("def lock", "Order#lock")),
    "a name that is longer than the kernel's": (None, 1, place("def work", "Order#work")),
    "reply": (REPLY, 0, place("connection.gets", "Order#reply")),
    "serve": (None, 1, None),
    "spin": (None, 0, None),
    f"{SCRIPT}:{line_of('Thread.stop')}": (None, 1, place("Thread.stop", "block (2 levels) in <main>")),
    "main": (None, None, place("$stdin.read", "<main>")),
    f"{SCRIPT}:{line_of('Fiber.new')}": (None, 1, place("Fiber.new", "block in <main>")),
    "fiber": (None, 1, None),
}


class Ruby(PreloadTest):
    def unexpected(self, name):
        """Returns the threads that differ from EXPECTED, with their actual values."""
        ids = {re.sub(r" #\d+$", "", name): item for name, item in self.ids(name).items()}
        wrong = {name: "not there" for name in EXPECTED if name not in ids}
        for thread, (call, idle, where) in EXPECTED.items():
            item = ids.get(thread, {"trail": []})
            said = item.get("call"), item.get("idle"), (item["trail"] or [""])[0]
            if any(wanted is not None and wanted != found for wanted, found in zip((call, idle, where), said)):
                wrong[thread] = said
        return wrong

    def names(self, name):
        return [item["name"] for item in self.ring(name)["ids"]]

    def test_threads_of_an_unchanged_program(self):
        process = self.start(RUBY, SCRIPT)
        self.assertEqual(process.stdout.readline(), "nil 0 false\n")  # the binding is not visible to the program
        self.assertEqual(process.stdout.readline(), "running\n")
        name = f"ruby3.1.{process.pid}"
        try:
            wait_for("every thread at its place", lambda: not self.unexpected(name))
        except AssertionError as error:
            self.fail(f"{error}: {self.unexpected(name)}")
        numbered = re.compile(rf"{SCRIPT}:{line_of('Thread.stop')} #\d+")
        wait_for("two names with a number", lambda: len(list(filter(numbered.fullmatch, self.ids(name)))) == 2)
        wait_for("the child's thread under its name", lambda: self.names(name).count("forks") == 2)
        self.assertNotIn("ruby3.1", self.names(name))
        ids = self.ids(name)
        self.assertEqual(ids["lock"]["holder"], ids["hold"]["tid"])
        process.stdin.close()
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.wait_no_rings()


if __name__ == "__main__":
    main(RUBY)
