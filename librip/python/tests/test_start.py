# SPDX-License-Identifier: Apache-2.0
"""Python starts, behaves and ends under `rip run` as it does without, in whatever way it is started. The binding is
loaded, and a program sees it only if it looks for it."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import world as w

PYTHON = os.environ["RIP_PYTHON"]
IS_LOADED = "import sys; print('_rip' in sys.modules)"
# Prints what a program can see of its interpreter.
LOOKS = """
import sys, threading, _thread, _imp
print(sorted(set(sys.modules) - {'_rip'}), sys.path, sys.flags, sys.argv)
print(threading.main_thread(), threading.Lock, threading.RLock, repr(_thread._set_sentinel)[:40])
lock = threading.Lock()
for method in (lock.acquire, lock.release, threading.RLock().__enter__):
    print(method.__name__, method.__doc__, method.__qualname__, method.__self__.__class__)
print(sys.getsizeof(lock), sys.gettrace(), sys.getprofile(), threading.Thread.name.__doc__)
"""
LOCKS = """
import threading, signal, time
lock, rlock = threading.Lock(), threading.RLock()
def attempt(function, *arguments, **keywords):
    try:
        print(function(*arguments, **keywords))
    except BaseException as error:
        print(repr(error))
attempt(lock.release)
attempt(rlock.release)
attempt(lock.acquire)
for arguments in ((False,), (True, 0), (True, 0.01), (0, 1), (True, -2), (True, 1e300), ('', 0, 0), (True, None)):
    attempt(lock.acquire, *arguments)
attempt(lock.acquire, timeout=0.01)
attempt(lock.acquire, wrong=1)
attempt(lock.acquire, True, threading.TIMEOUT_MAX * 2)
def interrupt(*_):
    raise InterruptedError('a handler')
signal.signal(signal.SIGALRM, interrupt)
for function in (lock.acquire, lock.__enter__, threading.Event().wait):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    attempt(function)
signal.signal(signal.SIGALRM, lambda *_: print('handled'))
signal.setitimer(signal.ITIMER_REAL, 0.05)
attempt(lock.acquire, True, 1.2)
attempt(lock.release)
print(rlock.acquire(), rlock.acquire(), rlock._is_owned())
other = threading.Thread(target=lambda: (attempt(rlock.acquire, timeout=0.01), attempt(rlock.release)))
other.start(); other.join()
rlock.release(); rlock.release()
attempt(rlock.release)
condition, total = threading.Condition(), 0
def count():
    global total
    for _ in range(2000):
        with condition:
            total += 1
            condition.notify()
threads = [threading.Thread(target=count) for _ in range(8)]
for thread in threads: thread.start()
with condition:
    print(condition.wait_for(lambda: total == 16000))
for thread in threads: thread.join()
print(total, lock, rlock._is_owned())
"""
PROGRAMS = [
    LOOKS,
    LOCKS,
    "raise KeyError('x')",
    "import sys; sys.exit(3)",
    "import os; os._exit(4)",
    "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
    "import atexit, threading; atexit.register(print, 'bye')\n"
    "threading.Thread(target=lambda: print('last')).start()",
    "import os, threading\nlock = threading.Lock(); lock.acquire()\n"
    "pid = os.fork()\nif pid == 0:\n    lock.release(); lock.acquire(); print(threading.current_thread().name)\n"
    "else:\n    os.waitpid(pid, 0); print('parent', lock.locked())",
    "import multiprocessing as m\nif __name__ == '__main__':\n"
    "    with m.get_context('fork').Pool(2) as pool: print(pool.map(abs, range(-5, 5)))",
    "import sys; sys.addaudithook(lambda event, _: print(event) if event == 'os.system' else None)\n"
    "import os; os.system('true')",
    "import threading, time\n"
    "for _ in range(20): threading.Thread(target=lambda: [time.sleep(0) for _ in iter(int, 1)], daemon=True).start()\n"
    "time.sleep(0.05)",
    "import threading\n"
    "def deep(n): return deep(n - 1) if n else threading.Lock().acquire()\nprint(deep(900))",
    "import gc, threading\n"
    "for _ in range(50):\n    t = threading.Thread(target=threading.local); t.start(); t.join()\n    del t\n"
    "print(gc.collect() >= 0, threading.active_count())",
    "import _xxsubinterpreters as i; n = i.create(); i.run_string(n, 'import threading; threading.Lock().acquire()'); "
    "i.destroy(n); print('sub')",
]


def mask(text):
    return re.sub(r"0x[0-9a-f]+|\d{12,}", "N", text)


class Start(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="rip-e2e-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("RIP_", "PYTHON"))}
        with open(f"{self.folder}/__main__.py", "w", encoding="utf-8") as file:
            file.write(IS_LOADED)

    def run_it(self, *command, traced=True, **options):
        prefix = [f"{w.BIN}/rip", "run", "--dir", self.folder, "--"] if traced else []
        result = subprocess.run([*prefix, *command], env=self.environment, text=True, capture_output=True,
                                timeout=w.PATIENCE_S, **options)
        return result.returncode, mask(result.stdout), mask(result.stderr)

    def test_every_way_to_start(self):
        script, loaded = f"{self.folder}/__main__.py", (0, "True\n", "")
        for flags in ((), ("-I",), ("-S",), ("-E",), ("-IS",), ("-X", "dev")):
            self.assertEqual(self.run_it(PYTHON, *flags, script), loaded, flags)
        self.assertEqual(self.run_it(PYTHON, "-c", IS_LOADED), loaded)
        self.assertEqual(self.run_it(PYTHON, self.folder), loaded)
        shutil.copy(script, f"{self.folder}/app.py")
        self.assertEqual(self.run_it(PYTHON, "-m", "app", cwd=self.folder), loaded)
        self.assertEqual(self.run_it(PYTHON, input=IS_LOADED), loaded)
        self.assertEqual(self.run_it("sh", "-c", f"{PYTHON} {script}"), loaded)
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", f"{self.folder}/venv"], check=True)
        self.assertEqual(self.run_it(f"{self.folder}/venv/bin/python", script), loaded)

    def test_nothing_is_seen_of_it(self):
        for program in PROGRAMS:
            with self.subTest(program=program):
                bare, traced = self.run_it(PYTHON, "-Ic", program, traced=False), self.run_it(PYTHON, "-Ic", program)
                self.assertEqual(traced, bare)

    def test_it_is_not_there_when_tracing_is_off(self):
        self.environment["RIP_DISABLE"] = "1"
        self.assertEqual(self.run_it(PYTHON, "-c", IS_LOADED), (0, "False\n", ""))

    def test_a_binding_that_cannot_start_is_one_line(self):
        program = "import sys; sys.modules['_thread'] = None"
        with open(f"{self.folder}/sitecustomize.py", "w", encoding="utf-8") as file:
            file.write(program)
        self.environment["PYTHONPATH"] = self.folder
        status, output, errors = self.run_it(PYTHON, "-c", "print('runs')")
        self.assertEqual((status, output), (0, "runs\n"))
        self.assertRegex(errors, r"\Arip: Python scripts are not traced, only the interpreter's own calls: .*\n\Z")


unittest.main()
