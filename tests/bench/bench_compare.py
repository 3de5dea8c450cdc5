# SPDX-License-Identifier: Apache-2.0
"""The cost of observing one location of a program, for different tools, on this machine and in one run.

Builds compare.c in several ways, runs each with its tool, and prints the time in nanoseconds and in snaps. The time of
the loop, or of the plain function call, is subtracted. A missing tool is listed with the reason.

    bench_compare.py [--manual]    --manual writes the table to librip(3)
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../.."))
LIBRARIES = os.path.abspath(os.path.join(os.environ.get("RIP_TEST_BIN", os.path.join(TOP, "build/bin")), "../lib"))
LIBRARY = f"{LIBRARIES}/librip.a"
PAGE = os.path.join(TOP, "ripd/man/librip.3.in")
MARKS = ('.\\" Costs: written by tests/bench/bench_compare.py --manual\n', '.\\" End of costs\n')
TIMEOUT_S = 120


class Missing(Exception):
    """The reason why a row is empty."""


class Parts:
    """Builds and runs the variants of compare.c, each once."""

    def __init__(self, folder):
        self.folder = folder
        self.results = {}

    def build(self, name, *flags, libraries=(LIBRARY,)):
        program = os.path.join(self.folder, name)
        objects = []
        for source in ("compare/compare.c", "bench.c"):  # only the first file is compiled with the flags of the variant
            objects.append(f"{program}-{os.path.basename(source)}.o")
            done = subprocess.run(["cc", "-O2", "-g", "-D_GNU_SOURCE", f"-I{HERE}", f"-I{HERE}/compare",
                                   f"-I{TOP}/include", *(flags if source != "bench.c" else []), "-c",
                                   f"{HERE}/{source}", "-o", objects[-1]], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise Missing((re.findall(r"error: (.*)", done.stderr) or ["it does not compile"])[0])
        subprocess.run(["cc", *objects, *flags, *libraries, "-o", program], check=True)
        return program

    def run(self, argv, count, **environment):
        """Returns {name: ns}."""
        done = subprocess.run([*argv, str(count), f"/dev/shm/rip-compare.{os.getpid()}"], capture_output=True,
                              text=True, check=False, cwd=self.folder, timeout=TIMEOUT_S,
                              env={**os.environ, **environment})
        rows = re.findall(r"^  (\w+) +([0-9.]+) +[0-9.]+$", done.stdout, re.M)
        if done.returncode != 0 or not rows:
            raise Missing((done.stderr.strip().splitlines() or ["it does not run"])[-1])
        return {name: float(ns) for name, ns in rows}

    def of(self, variant):
        """Returns the results of a variant: a function of this class without arguments."""
        if variant not in self.results:
            try:
                self.results[variant] = getattr(self, variant)()
            except Missing as reason:
                self.results[variant] = reason
        if isinstance(self.results[variant], Missing):
            raise self.results[variant]
        return self.results[variant]

    def plain(self):
        return self.run([self.build("plain")], 2000000)

    def switch(self):
        done = subprocess.run([f"{LIBRARIES}/../bin/bench_switch"], capture_output=True, text=True, check=False,
                              timeout=TIMEOUT_S)
        found = [float(ns) for ns in re.findall(r"^  (?:rip_switch\(\)|empty loop) +([0-9.]+)", done.stdout, re.M)]
        if len(found) != 3:
            raise Missing((done.stderr.strip().splitlines() or ["it does not run"])[-1])
        return dict(zip(("hot", "nothing", "cold"), found))

    def lttng_program(self):
        return self.build("lttng", "-DLTTNG", "-Wl,--no-as-needed", "-llttng-ust", "-ldl")

    def lttng_off(self):
        return self.run([self.lttng_program()], 1000000)

    def lttng_on(self):
        program = self.lttng_program()
        if shutil.which("lttng-sessiond") is None:
            raise Missing("no lttng-tools")
        daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            session = f"rip-compare-{os.getpid()}"
            end = time.monotonic() + TIMEOUT_S
            while subprocess.run(["lttng", "--no-sessiond", "list"], capture_output=True, check=False).returncode != 0:
                if daemon.poll() is not None or time.monotonic() > end:
                    raise Missing("lttng-sessiond does not run here")
                time.sleep(0.2)
            for command in (["create", session, "--snapshot", f"--output={self.folder}/trace"],
                            ["enable-event", "-s", session, "--userspace", "rip_compare:place"], ["start", session]):
                subprocess.run(["lttng", "--no-sessiond", *command], check=True, capture_output=True)
            try:
                return self.run([program], 300000)
            finally:
                subprocess.run(["lttng", "--no-sessiond", "destroy", session], check=True, capture_output=True)
        finally:
            daemon.terminate()
            daemon.wait()

    def hooks(self, name, flag):
        """Instrumentation of this flag, with hooks that do nothing."""
        return self.run([self.build(name, "-DFUNCTIONS", "-DEMPTY_HOOKS", flag)], 2000000)

    def compiled(self, name, flag):
        """Instrumentation of this flag, with librip-compiled, linked with the flags of its .pc file."""
        libraries = (f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-lrip-compiled", "-lrip")
        return self.run([self.build(name, "-DFUNCTIONS", flag, libraries=libraries)], 2000000, RIP_DIR=self.folder)

    def functions_empty(self):
        return self.hooks("functions-empty", "-finstrument-functions")

    def functions_traced(self):
        return self.compiled("functions-traced", "-finstrument-functions")

    def edges_empty(self):
        return self.hooks("edges-empty", "-fsanitize-coverage=trace-pc")

    def edges_traced(self):
        return self.compiled("edges-traced", "-fsanitize-coverage=trace-pc")

    def profiled(self):
        return self.run([self.build("profiled", "-DFUNCTIONS", "-pg")], 2000000)

    def uftrace(self):
        if shutil.which("uftrace") is None:
            raise Missing("no uftrace")
        program = self.build("uftraced", "-DFUNCTIONS", "-pg")
        return self.run(["uftrace", "record", "--no-libcall", "-d", f"{self.folder}/uftrace", program], 50000)

    def python(self):
        if not os.path.exists(f"{LIBRARIES}/python"):
            raise Missing("the binding is not built")
        return self.run(["/usr/bin/python3.11", f"{HERE}/compare/compare.py"], 100000,
                        PYTHONPATH=f"{LIBRARIES}/python")

    def ruby(self):
        if not os.path.exists(f"{LIBRARIES}/ruby"):
            raise Missing("the binding is not built")
        command = ["/usr/bin/ruby3.1", f"{HERE}/compare/compare.rb"]
        bare = self.run(command, 100000, RIP_BARE="1")
        return {**self.run(command, 100000, RUBYLIB=f"{TOP}/librip/ruby/lib:{LIBRARIES}/ruby"), "bare": bare["call"]}


# The tool, the variant, its row, and the row whose time is subtracted.
ROWS = (
    ("rip_snap()", "plain", "snap", "nothing"),
    ("rip_switch(), eight coroutines in turn", "switch", "hot", "nothing"),
    ("rip_switch(), coroutines that no cache holds", "switch", "cold", "nothing"),
    ("USDT, no tracer", "plain", "usdt", "nothing"),
    ("rip_tracepoint_enabled(), no tracer", "plain", "defined", "nothing"),
    ("LTTng-UST tracepoint, disabled", "lttng_off", "lttng", "nothing"),
    ("LTTng-UST tracepoint, enabled", "lttng_on", "lttng", "nothing"),
    ("time stamp counter (rdtsc)", "plain", "time_stamp", "nothing"),
    ("clock_gettime(CLOCK_MONOTONIC)", "plain", "get_time", "nothing"),
    ("system call (getppid)", "plain", "system_call", "nothing"),
    ("-finstrument-functions, empty hooks", "functions_empty", "call", None),
    ("-finstrument-functions, librip-compiled", "functions_traced", "call", None),
    ("-fsanitize-coverage=trace-pc, empty hooks", "edges_empty", "call", None),
    ("-fsanitize-coverage=trace-pc, librip-compiled", "edges_traced", "call", None),
    ("function with -pg (gprof)", "profiled", "call", None),
    ("function with -pg under uftrace record", "uftrace", "call", None),
    ("Python: rip.snap()", "python", "snap", "nothing"),
    ("Python: Tracepoint.fire(), no tracer", "python", "fire", "nothing"),
    ("Python: function with @rip.trace", "python", "traced", "call"),
    ("Python: function under an empty sys.setprofile", "python", "profile", "call"),
    ("Ruby: Rip.snap", "ruby", "snap", "nothing"),
    ("Ruby: Tracepoint#fire, no tracer", "ruby", "fire", "nothing"),
    ("Ruby: method while others are traced", "ruby", "call", "bare"),
    ("Ruby: method after Rip.untrace", "ruby", "traced_once", "bare"),
    ("Ruby: method with Rip.trace", "ruby", "traced", "call"),
    ("Ruby: method under an empty TracePoint", "ruby", "empty", "call"),
    ("Ruby: TracePoint reads path, line, method", "ruby", "reading", "call"),
)


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"^model name\s*: (.*)$", file.read(), re.M)
    return found.group(1) if found else "an unknown processor"


def row_of(parts, snap_ns, row):
    text, variant, name, base = row
    try:
        results = parts.of(variant)
        if name not in results:
            raise Missing("not on this processor")
        ns = results[name] - (results[base] if base else parts.of("plain")["call"])
    except Missing as reason:
        return f"{text:50}  ({reason})"
    return f"{text:50} {max(ns, 0):8.1f} {max(ns, 0) / snap_ns:8.1f}"


def table():
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="rip-compare-") as folder:
        parts = Parts(folder)
        plain = parts.of("plain")
        snap_ns = plain["snap"] - plain["nothing"]
        return [f"{processor()}", f"{'':50} {'ns':>8} {'snaps':>8}", *(row_of(parts, snap_ns, row) for row in ROWS)]


def write_manual(lines):
    with open(PAGE, encoding="utf-8") as file:
        begin, rest = file.read().split(MARKS[0])
    end = rest.split(MARKS[1])[1]
    text = "\n".join(lines).replace("\\", "\\e").replace("-", "\\-")
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(f"{begin}{MARKS[0]}.Bd -literal\n{text}\n.Ed\n{MARKS[1]}{end}")


def main():
    lines = table()
    print("\n".join(lines))
    if sys.argv[1:] == ["--manual"]:
        write_manual(lines)


main()
