# SPDX-License-Identifier: Apache-2.0
"""The examples as installed: each builds without a warning, by the line in it, and ripd finds what hangs in it."""
import glob
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import urllib.request

BUILD = sys.argv[1]
PATIENCE_S = 90
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-O2"]
# Of each: the ids that hang in it, by name, and the causes that may be found.
HANGING = {"worker.c": (["worker"], {"sleeping"}),
           "pool.cc": (["pool", "pool"], {"deadlock", "futex", "unknown"}),
           "coroutine.c": (["request 1"], {"parked"})}


def run(argv, **options):
    result = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300, **options)
    if result.returncode != 0:
        sys.exit(f"FAILED {' '.join(argv)}: status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE_S
    value = None
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    sys.exit(f"FAILED: waited in vain for {what}; last: {value!r}")


def build(prefix, source, folder):
    """As the comment at its top says."""
    name = os.path.basename(source)
    with open(source, encoding="utf-8") as file:
        line = re.search(rf"^(?: \*|//)\s+((?:cc|c\+\+) .*{re.escape(name)}.*)$", file.read(), re.M).group(1)
    program = os.path.join(folder, name.partition(".")[0])
    compiler, *arguments = shlex.split(line.replace("$(pkg-config --cflags --libs librip)", ""))
    pc_file = glob.glob(f"{prefix}/lib*/**/librip.pc", recursive=True)[0]
    flags = run(["pkg-config", "--cflags", "--libs", "librip"],
                env={**os.environ, "PKG_CONFIG_PATH": os.path.dirname(pc_file)}).split()
    arguments[arguments.index("-o") + 1] = program
    run([compiler, *WARNINGS, "-pthread", *arguments, *flags], cwd=os.path.dirname(source))
    return program, os.path.dirname(os.path.dirname(pc_file))


def stalls(port, ring):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stalls?ring={ring}&limit=100", timeout=30) as answer:
        return json.load(answer)["stalls"]


def check(port, rings, prefix, source):
    program, libraries = build(prefix, source, os.path.dirname(rings))
    names, causes = HANGING[os.path.basename(source)]
    ring = os.path.basename(program)
    process = subprocess.Popen([program, f"{rings}/{ring}"], env={**os.environ, "LD_LIBRARY_PATH": libraries})
    try:
        wait_for(f"what hangs in {source}", lambda: [stall["name"] for stall in stalls(port, ring)] == names)
        wait_for(f"its cause, of {causes}", lambda: {stall["cause"] for stall in stalls(port, ring)} <= causes)
    finally:
        process.kill()
        process.wait()
    print(f"{os.path.basename(source)}: {names} found")


def start_ripd(prefix, folder, rings):
    """(process, port)"""
    log = os.path.join(folder, "ripd.log")
    with open(log, "wb") as file:
        ripd = subprocess.Popen([f"{prefix}/sbin/ripd", "--listen", "127.0.0.1:0", "--dir", rings,
                                 "--interval", "250ms", "--stall-after", "2s"], stderr=file)

    def port():
        with open(log, encoding="utf-8", errors="replace") as file:
            found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", file.read())
        return found and int(found.group(1))

    return ripd, wait_for("ripd", port)


def main():
    # On tmpfs, as rings have to be.
    with tempfile.TemporaryDirectory(prefix="rip-examples-", dir="/dev/shm") as folder:
        prefix, rings = os.path.join(folder, "prefix"), os.path.join(folder, "rings")
        run(["cmake", "--install", BUILD, "--prefix", prefix])
        os.mkdir(rings)
        examples = f"{prefix}/share/doc/librip-dev/examples"
        sources = sorted(path for path in glob.glob(f"{examples}/*") if os.path.isfile(path))
        assert {os.path.basename(path) for path in sources} == set(HANGING), sources
        ripd, port = start_ripd(prefix, folder, rings)
        try:
            for source in sources:
                check(port, rings, prefix, source)
        finally:
            ripd.terminate()
            ripd.wait()


main()
