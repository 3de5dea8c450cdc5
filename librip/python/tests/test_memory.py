# SPDX-License-Identifier: Apache-2.0
"""The binding under AddressSanitizer and UndefinedBehaviorSanitizer, each object of Python allocated by itself."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Leaks are not looked for: the interpreter keeps thousands of objects until its end.
ENVIRONMENT = os.environ | {"LD_PRELOAD": os.environ["RIP_SANITIZERS"], "ASAN_OPTIONS": "detect_leaks=0",
                            "UBSAN_OPTIONS": "print_stacktrace=1", "PYTHONMALLOC": "malloc",
                            "PYTHONPATH": os.environ["RIP_PYTHON_PATH"] + "-sanitized"}
# Names and files that are no ASCII, threads that end, locks that are waited for.
PROGRAM = """
import os, sys, tempfile, threading, rip
with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
    assert rip.start(folder + "/ring")
    rip.snap()
    lock = threading.RLock()
    def work(number):
        with lock, rip.note("\\u00e9" * 100):
            threading.current_thread().name = "\\u4e2d" * 40 + str(number)
            exec(compile("def f\\U0001f600():\\n rip.snap()\\nf\\U0001f600()".replace("\\U0001f600", "\\u00e9"),
                         "/tmp/\\u00e9/\\u4e2d/\\U0001f600" * (number + 1), "exec"), {"rip": rip})
    for _ in range(20):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(40)]
        for thread in threads: thread.start()
        for thread in threads: thread.join(5)
    if os.fork() == 0:
        work(1)
        os._exit(0)
    assert os.wait()[1] == 0
"""

for arguments in ([f"{HERE}/api.py"], ["-c", PROGRAM]):
    command = [os.environ["RIP_PYTHON"], "-B", *arguments]
    result = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    if result.returncode != 0 or "runtime error" in result.stderr:
        sys.exit(f"{arguments}: {result.returncode}\n{result.stderr[-8000:]}")
