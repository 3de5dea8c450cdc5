# SPDX-License-Identifier: Apache-2.0
"""Static tracepoints in a debugger: those defined at run time, and those of the library and of ripd."""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402

GDB = ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load off",
       "-ex", "set pagination off", "-ex", "set startup-with-shell off"]
HERE = os.path.dirname(os.path.abspath(__file__))
MANUAL = os.path.join(HERE, "../../../ripd/man")


def need_debugger():
    if shutil.which("gdb") is None:
        raise w.Skip("gdb is not installed")
    done = subprocess.run([*GDB, "-ex", "run", "-ex", "print 40 + 2", "--args", "/bin/true"], capture_output=True,
                          text=True, check=False, timeout=w.PATIENCE_S)
    if "exited normally" not in done.stdout:
        raise w.Skip(f"gdb cannot run programs: {done.stderr.strip()[-200:]}")


def debug(world, *commands, argv=None, **environment):
    """Returns the output of gdb and of the program. By default this is tracepoints.c. Its leak check would need ptrace,
    too."""
    words = [word for command in commands for word in ("-ex", command)]
    done = subprocess.run([*GDB, *words, "--args", *(argv or [f"{w.BIN}/tracepoints", world.ring("app")])],
                          capture_output=True, encoding="utf-8", check=False, timeout=w.PATIENCE_S,
                          env={**os.environ, "LC_ALL": "C.UTF-8", "ASAN_OPTIONS": "detect_leaks=0", **environment})
    return done.stdout + done.stderr


def values_of(text):
    return re.findall(r"^\$\d+ = (.*)$", text, re.M)


def arguments_are_read_back(world):
    need_debugger()
    text = debug(world, "break ready", "run", "info probes stap app", "break -probe-stap app:order", "continue",
                 "print $_probe_argc", "print $_probe_arg0", "print $_probe_arg1", "print/f $_probe_arg2",
                 'printf "string: %s\\n", (char *) $_probe_arg3', "delete", "break -probe-stap app:pay", "continue",
                 "print $_probe_argc", "delete", "continue")
    assert values_of(text) == ["4", "-9223372036854775808", "18446744073709551615", "-0.10000000000000001", "0"], text
    assert 'string: caf\u00e9 "7"\n' in text, text
    assert "order 1 pay 0\n" in text, text  # gdb increments the semaphore of a tracepoint that it uses
    assert re.search(r"^stap\s+app\s+pay\s.*/proc/\d+/fd/\d+", text, re.M), text


LIBRARIES = os.path.abspath(f"{w.BIN}/../lib")
# Interpreter, script, binding, and environment to find the binding without `rip run`.
LANGUAGES = (
    ("/usr/bin/python3.11", "order.py", "python/rip/_rip.*.so", {"PYTHONPATH": f"{LIBRARIES}/python"}),
    ("/usr/bin/ruby3.1", "order.rb", "ruby/rip/rip.so",
     {"RUBYLIB": f"{os.path.abspath(HERE)}/../../../librip/ruby/lib:{LIBRARIES}/ruby"}),
)


def read_back_from_script(world, interpreter, script, *prefix, **environment):
    text = debug(world, "run", "break -probe-stap app:order", *["continue", "print $_probe_arg0",
                 'printf "text: %s\\n", (char *) $_probe_arg1', "print/f $_probe_arg2"] * 2, "delete", "continue",
                 argv=[*prefix, interpreter, f"{HERE}/{script}"], **environment)
    assert values_of(text) == ["-5", "2.5", "-7", "3"], text
    assert "text: caf\u00e9\n" in text and "text: seven\n" in text, text
    assert "evaluated 1\n" in text and "exited normally" in text, text


def values_of_scripts_are_read_back(world):
    """For each binding that is built: alone, and under `rip run`."""
    need_debugger()
    missing = []
    for interpreter, script, library, environment in LANGUAGES:
        if not glob.glob(os.path.join(LIBRARIES, library)):
            missing.append(f"no binding for {interpreter}")
            continue
        traced = f"{w.BIN}/rip", "run", "--dir", world.dir, "--"
        for prefix in ((), traced):
            # The interpreter has no sanitizer, and Ruby's require loads librip.so under `rip run`, too.
            if not os.environ.get("RIP_SANITIZE") or (prefix and "python" in interpreter):
                read_back_from_script(world, interpreter, script, *prefix, **environment)
    if missing:
        raise w.Skip(", ".join(missing))


def no_tracer(world):
    done = subprocess.run([f"{w.BIN}/tracepoints", world.ring("app")], capture_output=True, text=True, check=True)
    assert done.stdout == "order 0 pay 0\n"


def probes_in(path):
    """Returns {name: (count of arguments, addresses)} for each provider."""
    notes = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True, check=True).stdout
    found = {}
    for provider, name, place, arguments in re.findall(
            r"Provider: (\S+)\s+Name: (\S+)\s+Location: (\S+?),.*\s+Arguments: (.*)", notes):
        # an argument must not be a symbol, which a stripped file does not have
        assert "(%rip)" not in arguments, (name, arguments)
        _count, places = found.setdefault(provider, {}).setdefault(name, (len(arguments.split()), []))
        places.append(int(place, 16))
    return found


def counts(probes):
    return {provider: {name: count for name, (count, _places) in named.items()} for provider, named in probes.items()}


def promised(page):
    """Returns {name: count of arguments} of the tracepoints in a manual page."""
    with open(os.path.join(MANUAL, page), encoding="utf-8") as file:
        listed = re.findall(r"^\.It Li (\w+) Ar (.*)$", file.read(), re.M)
    return {name: len(arguments.split()) for name, arguments in listed}


def slow_paths_have_probes(_world):
    library = f"{w.BIN}/../lib/librip.so"
    probes = probes_in(library)
    expected = promised("librip.3.in")
    assert len(expected) == 4 and counts(probes) == {"librip": expected}, probes
    assert counts(probes_in(f"{w.BIN}/../lib/librip-preload.so")) == {"librip": expected}
    expected = promised("ripd.8.in")
    assert len(expected) == 2 and counts(probes_in(f"{w.BIN}/ripd")) == {"ripd": expected}
    symbols = subprocess.run(["nm", "-S", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    hot = [(int(at, 16), int(size, 16)) for at, size in
           re.findall(r"^(\w+) (\w+) T rip_(?:snap|snap_at|idle|switch|note|deadline_ms|wait_begin)$", symbols, re.M)]
    assert len(hot) == 7, symbols
    places = [place for _count, places in probes["librip"].values() for place in places]
    assert not [place for place in places for at, size in hot if at <= place < at + size]


def tracepoints_of_the_library(world):
    need_debugger()
    text = debug(world, "break ready", "run", "break -probe-stap librip:ring_made", "continue",
                 'printf "ring: %s\\n", (char *) $_probe_arg0', "print $_probe_arg1", "delete",
                 "break -probe-stap librip:id_registered", "continue", "print $_probe_arg0", "print $_probe_arg3",
                 "print $_probe_arg1", "delete", "break -probe-stap librip:id_refused", "continue",
                 "print $_probe_arg0 >= 100", "print $_probe_arg1", "delete", "break -probe-stap librip:id_ended",
                 "continue", "print $_probe_arg0", "print $_probe_arg1", "print $_probe_arg2", "delete", "continue")
    slots, number, bytes_, slot, refused, errno_, ended, same_slot, snaps = values_of(text)
    assert f"ring: {world.ring('app')}\n" in text and slots == "64", text
    assert (number, bytes_, refused, errno_, ended, snaps) == ("71", "5", "1", "28", "71", "2"), text
    assert slot == same_slot, text
    assert "exited normally" in text, text


def tracepoints_of_ripd(world):
    need_debugger()
    if subprocess.run([*GDB, "-ex", "detach", "-p", str(world.ripd.pid)], capture_output=True, text=True, check=False,
                      timeout=w.PATIENCE_S).stdout.find("detached") < 0:
        raise w.Skip("gdb cannot attach to processes")
    commands = ["break -probe-stap ripd:stall_begin", "echo armed\\n", "continue"]
    shown = ['printf "%s %d %s %d\\n", (char *) $_probe_arg0, $_probe_arg1, (char *) $_probe_arg4, $_probe_arg3',
             "output *(char (*)[6]) $_probe_arg2", "echo \\n", "print $_probe_arg5 >= 900"]
    argv = [word for command in [*commands, *shown, "delete", "break -probe-stap ripd:stall_end", "echo armed\\n",
                                 "continue", *shown, "detach"] for word in ("-ex", command)]
    gdb = subprocess.Popen([*GDB, *argv, "-p", str(world.ripd.pid)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True)
    world.processes.append(gdb)
    lines = []

    def read_until_armed():
        for line in gdb.stdout:
            lines.append(line)
            if line == "armed\n":
                return
        raise AssertionError("".join(lines))

    read_until_armed()
    puppet = world.puppet()
    puppet.do("spawn 7 worker snap")
    puppet.do("freeze 7")
    read_until_armed()
    puppet.do("thaw 7")
    lines.extend(gdb.stdout)
    text = "".join(lines)
    assert len(re.findall(r"^app 7 \w+ 6$", text, re.M)) == 2, text
    assert text.count('"worker"\n') == 2 and values_of(text) == ["1", "1"], text


w.run([arguments_are_read_back, values_of_scripts_are_read_back, no_tracer, slow_paths_have_probes,
       tracepoints_of_the_library, tracepoints_of_ripd])
