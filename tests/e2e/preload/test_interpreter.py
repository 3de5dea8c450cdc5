# SPDX-License-Identifier: Apache-2.0
"""An interpreter under `rip run`: its binding is loaded, and reports the script locations of threads and the holder of
the interpreter's lock."""
import subprocess

from preload_kit import PATIENCE_S, PreloadTest, helper, main, wait_for

OUTSIDE, WORK, PIPE, LOCK, INTERPRETER, COMPUTES = 1, 2, 4, 8, 14, 15  # enum rip_call
LIBRARY = helper("snake_lib/librip-preload.so")


def line(number):
    return f"app/order.snake:{number} Order.place"


# For each thread: the announced call, whether it is idle, and its last location.
EXPECTED = {
    "reads": (PIPE, 0, line(10)),
    "idles": (11, 1, line(20)),
    "native": (PIPE, 0, None),
    "wants mutex": (INTERPRETER, 0, line(41)),
    "wants condition": (INTERPRETER, 0, line(50)),
    "computes": (COMPUTES, 0, line(61)),
    "locks itself": (LOCK, 0, line(71)),
    "idles itself": (WORK, 1, line(81)),
    "woken": (INTERPRETER, 0, line(91)),
    "done itself": (OUTSIDE, 0, line(101)),
    "another name, longer than the kernel takes": (PIPE, 0, line(110)),
    "gives way": (WORK, 1, line(121)),
}


class Interpreter(PreloadTest):
    def start_snake(self, version="9.1.0"):
        self.environment["RIP_PRELOAD_LIBRARY"] = LIBRARY
        process = self.start(helper("snake"), version)
        lines = []
        while not lines or lines[-1] not in ("running", ""):
            lines.append(process.stdout.readline().rstrip("\n"))
        return process, lines

    def end(self, process):
        process.stdin.close()
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.wait_no_rings()

    def unexpected(self, name):
        """Returns the threads that differ from EXPECTED, with their actual values."""
        ids = self.ids(name)
        wrong = {name: "not there" for name in EXPECTED if name not in ids}
        for thread, (call, idle, place) in EXPECTED.items():
            item = ids.get(thread, {"trail": []})
            said = item.get("call"), item.get("idle"), (item["trail"] or [""])[0]
            if said[:2] != (call, idle) or (said[2] != place if place else "/_rip.so+0x" not in said[2]):
                wrong[thread] = said
        return wrong

    def test_threads_are_in_scripts(self):
        process, lines = self.start_snake()
        self.assertEqual(lines, ["flags 1 size 1 traced 1 ring 1", "watched 0 2", "descriptors 1 1 0", "running"])
        name = f"snake.{process.pid}"
        try:
            wait_for("every thread at its location", lambda: not self.unexpected(name))
        except AssertionError as error:
            self.fail(f"{error}: {self.unexpected(name)}")
        ids = self.ids(name)
        for thread in ("wants mutex", "wants condition", "woken"):
            self.assertEqual(ids[thread].get("holder"), process.pid, thread)
        self.assertEqual(len(ids["wants mutex"]["trail"]), 1)  # the wait adds no breadcrumb, but moves the counter
        self.end(process)

    def test_without_a_binding(self):
        self.environment["RIP_PRELOAD_LIBRARY"] = LIBRARY
        done = self.run_traced(helper("snake"), "9.2.7", stdin=subprocess.DEVNULL)
        self.assertEqual(done.stderr, "rip: no binding for Python 9.2.7: only the interpreter's own calls are "
                                      "traced, not the script\n")
        self.assertEqual((done.stdout, done.returncode), ("running\n", 0))

    def test_disabled(self):
        self.environment["RIP_DISABLE"] = "1"
        process, lines = self.start_snake()
        self.assertEqual(lines, ["running"])
        self.end(process)


main()
