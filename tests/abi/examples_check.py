# SPDX-License-Identifier: Apache-2.0
"""The installed examples: each builds without a warning by the command in its comment, ripd finds the ids that hang,
and the tools show what the programs do."""
import glob
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

BUILD = sys.argv[1]
PATIENCE_S = 90
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-O2"]
# Additional requirements: a header, and the Debian package that contains it.
NEEDED = {"fibers.cc": ("/usr/include/boost/fiber/all.hpp", "libboost-fiber-dev")}
# For each program: the names of the ids that hang, and the causes that ripd may report.
HANGING = {"worker.c": (["worker"], {"sleeping"}),
           "pool.cc": (["pool", "pool"], {"deadlock"}),
           "tasks.cc": (["server 2"], {"parked"}),
           "fibers.cc": (["server 1"], {"parked"}),
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
    sys.exit(f"FAILED: timeout while waiting for {what}; last value: {value!r}")


def build(prefix, source, folder, language=None):
    """Builds by the command in the comment at the top, or as another language."""
    name = os.path.basename(source)
    with open(source, encoding="utf-8") as file:
        text = file.read()
    line = re.search(rf"^(?: \*|//)\s+((?:cc|c\+\+) .*{re.escape(name)} .*?)(?: &&.*)?$", text, re.M).group(1)
    library = re.search(r"\$\(pkg-config --cflags --libs ([\w-]+)\)", line)
    program = os.path.join(folder, name.partition(".")[0] + ("" if language is None else "-in-another"))
    compiler, *arguments = shlex.split(line.replace(library.group(0), ""))
    if language is not None:
        compiler, arguments = "c++", ["-x", language, *arguments]
    pc_file = glob.glob(f"{prefix}/lib*/**/{library.group(1)}.pc", recursive=True)[0]
    flags = run(["pkg-config", "--cflags", "--libs", library.group(1)],
                env={**os.environ, "PKG_CONFIG_PATH": os.path.dirname(pc_file)}).split()
    arguments[arguments.index("-o") + 1] = program
    run([compiler, *WARNINGS, "-pthread", *arguments, "-x", "none", *flags], cwd=os.path.dirname(source))
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


def has_lines(path, pattern):
    with open(path, encoding="utf-8", errors="replace") as file:
        return re.search(pattern, file.read(), re.M)


def check_snaps(program, environment, rings, folder):
    """The tool prints an id and its snaps until it is ended."""
    output = os.path.join(folder, "snaps.out")
    with open(output, "wb") as file:
        tool = subprocess.Popen([program, rings], stdout=file, env=environment)
    try:
        wait_for("an id", lambda: has_lines(output, r"^1: id \d+ is worker$"))
        wait_for("a snap", lambda: has_lines(output, r"^1: id \d+: snap \d+ at 0x[0-9a-f]+$"))
        assert tool.poll() is None, tool.returncode
    finally:
        tool.kill()
        tool.wait()


def check_cpu_time(program, environment, rings, folder):
    """The tool prints what it recorded. The recording exists as soon as the tool waits for the next drain."""
    recording = os.path.join(folder, "cpu.riprec")
    tool = subprocess.Popen([program, rings, recording], env=environment)
    try:
        wait_for("a recording", lambda: os.path.exists(recording) and os.path.getsize(recording) > 200)
        tool.send_signal(signal.SIGINT)
        assert tool.wait(PATIENCE_S) == 0
    finally:
        tool.kill()
        tool.wait()
    text = run([program, recording], env=environment)
    assert re.search(r"^ring 1 id \d+: \d+ snaps, \d+ us of CPU time$", text, re.M), text
    os.remove(recording)


TOOLS = {"snaps.c": check_snaps, "cputime.c": check_cpu_time}


def check_tools(prefix, folder, sources):
    rings = os.path.join(folder, "rings-of-worker")
    os.mkdir(rings)
    worker, libraries = build(prefix, f"{prefix}/share/doc/librip-dev/examples/worker.c", folder)
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries}
    process = subprocess.Popen([worker, f"{rings}/worker"], env=environment)
    try:
        wait_for("its ring", lambda: os.listdir(rings))
        for source in sources:
            for language in (None, "c++"):
                program, _ = build(prefix, source, folder, language)
                TOOLS[os.path.basename(source)](program, environment, rings, folder)
                print(f"{os.path.basename(program)}: shows what the worker does")
    finally:
        process.kill()
        process.wait()


def sources_of(prefix, package):
    return sorted(path for path in glob.glob(f"{prefix}/share/doc/{package}/examples/*") if os.path.isfile(path))


def main():
    # On tmpfs, because rings must be.
    with tempfile.TemporaryDirectory(prefix="rip-examples-", dir="/dev/shm") as folder:
        prefix, rings = os.path.join(folder, "prefix"), os.path.join(folder, "rings")
        run(["cmake", "--install", BUILD, "--prefix", prefix])
        os.mkdir(rings)
        sources, tools = sources_of(prefix, "librip-dev"), sources_of(prefix, "librip-session-dev")
        assert {os.path.basename(path) for path in sources} == set(HANGING), sources
        assert {os.path.basename(path) for path in tools} == set(TOOLS), tools
        check_tools(prefix, folder, tools)
        ripd, port = start_ripd(prefix, folder, rings)
        try:
            for source in sources:
                header, package = NEEDED.get(os.path.basename(source), (BUILD, None))
                if os.path.exists(header):
                    check(port, rings, prefix, source)
                else:
                    print(f"{os.path.basename(source)}: skipped, {package} is not installed")
        finally:
            ripd.terminate()
            ripd.wait()


main()
