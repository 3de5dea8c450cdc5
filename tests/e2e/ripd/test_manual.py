# SPDX-License-Identifier: Apache-2.0
"""The manual pages, the example configuration and the program agree.

The lists in ripd(8) are generated from the program's tables. These tests compare the pages with the running program.
"""
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
PAGES = os.path.join(w.BIN, "../ripd/man")


def text_of(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def section(page, title):
    """Returns the source of one section of a page."""
    return re.search(rf"^\.Sh {title}\n(.*?)(?=^\.Sh |\Z)", page, re.S | re.M).group(1)


def items(text, macro):
    """Returns the first words of list items in mdoc source."""
    return re.findall(rf"^\.It {macro} (?:\\-)?([^ \n]+)", text, re.M)


def lists(text):
    return re.findall(r"^\.Bl .*?^\.El$", text, re.S | re.M)


def output(*argv):
    return subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True).stdout


def flags_of_help(program="ripd"):
    return re.findall(r"^  (--[a-z-]+)", output(f"{w.BIN}/{program}", "--help"), re.M)


def keys(world):
    """Returns the configuration keys that the error for an unknown key lists."""
    path = os.path.join(world.made, "unknown.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("nothing = 1\n")
    said = subprocess.run([f"{w.BIN}/ripd", "--config", path], capture_output=True, text=True, check=False).stderr
    return re.search(r"expected one of (.*)\n", said).group(1).split()


OF_OTHERS = {"--dir", "--name", "--max", "--flag", "--json", "--max-time", "--unix-socket", "--follow", "--exec",
             "--build", "--install", "--prefix", "--create", "--now"}


def flags(world):
    flags_there = flags_of_help()
    page = text_of(PAGES, "ripd.8")
    assert ["--" + name.lstrip("-\\") for name in items(section(page, "FLAGS"), "Fl")] == flags_there
    for flag in re.findall(r"(?<![\w-])(--[a-z]+(?:-[a-z]+)*)", page.replace("\\-", "-").replace("Fl ", "-")):
        assert flag in flags_there or flag in OF_OTHERS, flag
    not_keys = {"--config", "--check-config", "--version", "--help"}
    assert ["--" + key for key in keys(world)] == [flag for flag in flags_there if flag not in not_keys]


def endpoints(world):
    status, problem = world.request("/nowhere")
    assert status == 404, problem
    there = set(re.findall(r"(/[\w/]*)", problem["detail"].split("paths", 1)[-1])) - {"/nowhere"}
    page = section(text_of(PAGES, "ripd.8"), "ENDPOINTS")
    assert set(items(lists(page)[0], "Pa")) == there, (items(page, "Pa"), there)
    for path in there - {"/threads/RING/ID", "/page/FILE"}:
        assert world.request(path)[0] == 200, path


def parameters(world):
    page = section(text_of(PAGES, "ripd.8"), "ENDPOINTS")
    paths, names = lists(page)[:2]
    described = set(items(names, "Cm"))
    for path, text in re.findall(r"^\.It Pa (\S+)\n(.*?)(?=^\.It|^\.El)", paths, re.S | re.M):
        if path == "/threads/RING/ID":
            continue
        status, problem = world.request(path + "?nothing=1")
        assert status == 400, (path, status)
        taken = re.findall(r"^\.Cm (\w+)", text, re.M)
        said = re.search(r"this path takes (.*)", problem["detail"]).group(1)
        assert (said.split() if "no parameters" not in said else []) == taken, (path, said, taken)
        assert set(taken) <= described


def states_and_causes(world):
    page = section(text_of(PAGES, "ripd.8"), "STATES AND CAUSES")
    states, stalled, stopped, idle, kernel = (items(text, "Cm") for text in lists(page)[:5])
    assert idle and not set(idle) & {*states, *stalled, *stopped}, idle
    assert kernel[0] == "state" and kernel[-1] == "denied", kernel
    assert world.request("/threads?state=nothing")[1]["detail"].endswith("one of " + " ".join(states))
    assert set(states) == set(world.get("/stalls")["counts"])
    known = world.request("/stalls?cause=nothing")[1]["detail"].split("one of ")[1].split()
    served = re.findall(r'^ripd_stopped\{cause="([\w-]+)"\}', world.request("/metrics")[1], re.M)
    assert {"null", "unknown", "parked", "uninterruptible"} <= set(stalled) <= set(known), stalled
    assert set(stopped) == set(served), stopped
    for cause in stalled + stopped:
        assert world.request(f"/stalls?cause={cause}")[0] == 200, cause


def events(world):
    page = section(text_of(PAGES, "ripd.8"), "EVENTS")
    assert world.request("/events?kind=nothing")[1]["detail"].endswith(" ".join(items(lists(page)[0], "Cm")))


def metrics(world):
    page = section(text_of(PAGES, "ripd.8"), "METRICS")
    table, limits = lists(page)[:2]
    text = world.request("/metrics")[1]
    served = re.findall(r"^# TYPE (\w+) (\w+)", text, re.M)
    assert served == re.findall(r"^\.It Cm (\w+)\n(\w+)", table, re.M)
    assert re.findall(r'^ripd_limit_hits_total\{limit="(\w+)"\}', text, re.M) == items(limits, "Cm")
    for name, labels in re.findall(r"^\.It Cm (\w+)\n\w+ by ([\w, ]+)\.", table, re.M):
        for label in labels.split(", "):
            assert re.search(rf'^{name}\w*\{{.*\b{label}="', text, re.M), (name, label)


def commands_of_rip():
    listed = re.search(r"commands:\n(.*?)\n\n", output(f"{w.BIN}/rip", "--help"), re.S).group(1)
    return re.findall(r"^  (\w+) ", listed, re.M)


# Parts of answers that differ between runs, and their replacements.
VARYING = ((r"\b(pay|refund|worker|serve)\b", "NAME"), (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
           (r"\b\d[\d.]* ?(h|min|ms|m|s)( ?\d+ ?(min|ms|m|s))*\b", "AGE"), (r"\d+", "N"),
           (r"\b(WARNING|CRITICAL)\b", "STATE"), (r"[ \t]+", " "))


def shape(command, answer):
    """Returns the form of an answer, independent of the order of threads in the deadlock and of durations."""
    # for show, only the names of rows; rows that depend on inlining and on the kernel are left out
    if command == "show":
        rows = [re.match(r"  (\w+(?: \w+)*)  ", line) for line in answer.splitlines()]
        return [row.group(1) for row in rows if row and row.group(1) not in ("inlined", "processor", "denied", "wchan")]
    if command == "top":  # top may have been recorded before its first row
        return [line.split() for line in answer.splitlines() if "CAUSE" in line]
    if command == "check":
        answer = re.sub(": .* [|]", " |", answer)
    if command in ("events", "dump"):  # their items are in order of time
        answer = "\n".join(answer.splitlines()[:2])
    for pattern, name in VARYING:
        answer = re.sub(pattern, name, answer)
    return [line.strip() for line in answer.splitlines()]


def the_answers(world):
    """The answers in the pages of the commands have the same form as today's answers."""
    folder = os.path.join(world.made, "answers")
    os.mkdir(folder)
    subprocess.run([os.path.join(TOP, "ripd/man/answers/make"), w.BIN, folder], check=True, timeout=300)
    assert {f"{name}.answer" for name in commands_of_rip()} == set(os.listdir(folder))
    for name in commands_of_rip():
        page = text_of(PAGES, f"rip-{name}.1")
        assert f".Nm rip\\-{name}\n" in page and f"$ rip {name}" in page, name
        there, now = (text_of(place, f"{name}.answer") for place in (os.path.join(TOP, "ripd/man/answers"), folder))
        assert "checkout" in now and shape(name, there) == shape(name, now), \
            f"ripd/man/answers/make has other answers now:\n{there}\n{now}"


def the_command_rip(_world):
    page = text_of(PAGES, "rip.1").replace("\\-", "-")
    commands = re.search(r"commands:\n(.*?)\n\n", output(f"{w.BIN}/rip", "--help"), re.S).group(1)
    for command in re.findall(r"^  (\w+) ", commands, re.M):
        assert re.search(rf"^\.Ss rip {command}$", page, re.M), command
        text = re.search(rf"^\.Ss rip {command}\n(.*?)(?=^\.S[sh] )", page, re.S | re.M).group(1)
        there = set(re.findall(r"^  (--?[a-z-]+)", output(f"{w.BIN}/rip", command, "--help"), re.M))
        items_there = "\n".join(re.findall(r"^\.It (.*)", text, re.M))
        documented = {"-" + name for name in re.findall(r"Fl (-?[a-z][a-z-]*)", items_there)}
        assert documented - {"--help"} == there, (command, documented, there)


def keys_of_the_file(world):
    """ripd.conf(5) lists the keys with the defaults of the flags."""
    page = section(text_of(PAGES, "ripd.conf.5"), "KEYS")
    assert items(page, "Cm") == keys(world)
    assert ".Ql 127.0.0.1:7470" in page and "A change requires a restart." in page


def the_libraries(_world):
    """The pages list every public function. Functions that read the bytes of a ring are listed in their header."""
    for page, version_script in (("librip.3", "librip.map"), ("librip-session.3", "session/librip-session.map")):
        with open(os.path.join(TOP, "librip", version_script), encoding="utf-8") as file:
            exported = set(re.findall(r"^ +(rip_(?!_)\w+);", file.read(), re.M))
        for_programs = {name for name in exported if not name.startswith(("rip_view_", "rip_status_"))}
        synopsis = section(text_of(PAGES, page), "SYNOPSIS")
        named = set(re.findall(r"^\.Fn (\w+)|^\.Vt .*?(rip_(?:tid|idx|ctr|ring)) ;", synopsis, re.M))
        named = {function or variable for function, variable in named}
        assert named == for_programs, named ^ for_programs


def the_costs(_world):
    """The table of librip(3) has the rows of the script that generates it."""
    rows = re.findall(r'^    \("(.*?)", "', text_of(TOP, "tests/bench/bench_compare.py"), re.M)
    page = text_of(PAGES, "librip.3").replace("\\-", "-")
    table = re.search(r'^\.\\" Costs: .*?^\.\\" End of costs$', page, re.S | re.M).group(0)
    assert len(rows) > 5 and not [row for row in rows if f"\n{row} " not in table], table


def the_ring(_world):
    """rip-ring(5) has the rows of ABI.md, each with its offset."""
    page = text_of(PAGES, "rip-ring.5")
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (\w+) \|", text_of(TOP, "librip/ABI.md"), re.M)
    assert len(rows) > 60
    for offset, size, field in rows:
        assert re.search(rf"^{offset}\t{size}\t{field}\t", page, re.M), (offset, size, field)


def the_pages_are_clean(_world):
    """mandoc and man, at 80 columns, report no errors for any page."""
    commands = [f"rip-{name}.1" for name in commands_of_rip()]
    missing = [tool for tool in ("mandoc", "man") if not shutil.which(tool)]
    for page in ("ripd.8", "ripd.conf.5", "rip.1", "librip.3", "librip-session.3", "rip-ring.5", *commands):
        path = os.path.join(PAGES, page)
        assert not re.search(r"@\w+@", text_of(path))
        for command in (["mandoc", "-T", "lint", "-W", "warning", path], ["man", "--warnings", "--local-file", path]):
            if command[0] in missing:
                continue
            result = subprocess.run(command, capture_output=True, text=True, check=False,
                                    env={**os.environ, "MANWIDTH": "80", "MANPAGER": "cat", "LC_ALL": "C.UTF-8"})
            assert result.returncode == 0 and not result.stderr, (command, result.stderr)
            assert command[0] == "man" or not result.stdout, result.stdout
    if missing:
        raise w.Skip(f"not installed: {' '.join(missing)}")


def the_example_is_the_defaults(world):
    """Every key is in the file, and every line has the default value: a reload with all lines active changes nothing.
    """
    text = text_of(TOP, "systemd/ripd.conf")
    path = os.path.join(world.made, "ripd.conf.txt")
    uncommented = re.sub(r"^#(?=[a-z])", "", text, flags=re.M)
    assert set(re.findall(r"^([a-z-]+) =", uncommented, re.M)) == set(keys(world))
    for content in (text, uncommented):
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        assert output(f"{w.BIN}/ripd", "--config", path, "--check-config") == f"ripd: {path}: ok\n"

    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    world.stop()
    world.flags = ["--config", path]
    world.settings = lambda: {"listen": "127.0.0.1:0"}  # all but the port, which may be in use
    world.start()
    logged = len(world.log_text())
    with open(path, "w", encoding="utf-8") as file:
        file.write(uncommented)
    world.ripd.send_signal(signal.SIGHUP)
    world.wait_for(lambda: ": reloaded: " in world.log_text()[logged:])
    said = [line for line in world.log_text()[logged:].split("\n") if "reloaded" in line or "restart" in line]
    assert len(said) == 1 and said[0].endswith('changed=""'), said


w.run([flags, keys_of_the_file, the_libraries, the_costs, the_ring, endpoints, parameters, states_and_causes, events,
       metrics, the_command_rip, the_answers, the_pages_are_clean, the_example_is_the_defaults])
