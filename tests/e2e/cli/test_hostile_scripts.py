# SPDX-License-Identifier: Apache-2.0
"""Rings whose script functions have hostile names. These names must do no harm in anything that ripd answers, logs,
passes to commands or stores, and in the output of `rip`. web/page tests the web page and e2e/ripd_journal the journal.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request

import cli_kit as k
from cli_kit import w
from terminal import Terminal
from test_hostile import HARM, MARKUP

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../ripd"))
import test_streams as streams  # noqa: E402

TEXTS = k.h.SCRIPT_TEXTS
COUNT = len(TEXTS) + 3
LINES = range(1, COUNT)  # id N is at line N; the last id has no script entry
# Characters that must be escaped in JSON. The other invisible characters have no effect.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class ScriptsWorld(k.CliWorld):
    def settings(self):
        return {**super().settings(), "state-dir": self.state_dir}

    def more_flags(self):
        os.makedirs(self.state_dir, exist_ok=True)
        path = os.path.join(self.made, "hook")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\ncd {self.made}\nexec cat >>handed\n")
        os.chmod(path, 0o755)
        with open(f"{self.made}/ripd.conf", "w", encoding="ascii") as file:
            file.write(f"on-stall = {path}\n")
        return ["--config", f"{self.made}/ripd.conf"]

    def file(self, name):
        return os.path.join(self.made, name)


def hostile(world):
    ring = k.h.scripted_ring(world.ring("hostile"), os.getpid())
    world.wait_for(lambda: world.get("/events")["total"] == COUNT)
    world.wait_for(lambda: len(world.stalls()) == COUNT)
    return ring


# --- Checks of output -----------------------------------------------------------------------------------------------

def bytes_of(place, key):
    if key + "_hex" in place:
        return bytes.fromhex(place[key + "_hex"])
    return (place[key] or "").encode()


def places_in(value):
    if isinstance(value, list):
        for each in value:
            yield from places_in(each)
    elif isinstance(value, dict):
        if "function" in value and "file" in value:
            yield value
        for each in value.values():
            yield from places_in(each)


def check_bytes_of_ring(places):
    """Checks that no byte is lost: a replaced text has its bytes in hexadecimal beside it."""
    for place in places:
        if place["line"] is not None and 1 <= place["line"] <= len(TEXTS):
            expected = tuple(text.partition(b"\0")[0] for text in TEXTS[place["line"] - 1])
            assert (bytes_of(place, "file"), bytes_of(place, "function")) == expected, place


def is_json_lines(text, count=None, lines=LINES):
    """Checks that each line is one object, without control characters, and that all locations are there. Returns them.
    """
    assert not CONTROL.search(text), ascii(CONTROL.search(text))
    objects = [json.loads(line) for line in text.split("\n") if line]
    assert all(isinstance(each, dict) for each in objects) and count in (None, len(objects)), (count, len(objects))
    places = list(places_in(objects))
    assert set(lines) <= {place["line"] for place in places}, places
    return places


def is_json_of_ripd(text, count=None):
    check_bytes_of_ring(is_json_lines(text, count))


def is_for_people(text, count=None):
    assert not HARM.search(text.replace("\n", "")), ascii(HARM.search(text.replace("\n", "")))
    assert count in (None, text.count("\n")), (count, text.count("\n"), ascii(text))


def is_metrics(text):
    label = r'\w+="[\w.+-]*"'
    for line in text.splitlines():
        assert re.fullmatch(rf"# (HELP|TYPE) [ -~]+|\w+(\{{{label}(,{label})*\}})? [0-9.e+-]+", line), ascii(line)
    assert not re.search("^ripd_stalled |owned|touch", text, re.M)


def is_a_log(text):
    assert re.fullmatch(r"[ -~\n]*", text), ascii(re.search(r"[^ -~\n]", text))
    lines = text.splitlines()
    assert all(re.match(r"ripd: (info|warning|error): ", line) for line in lines), lines
    assert sum(line.startswith("ripd: warning: stall begin ") for line in lines) == COUNT, text
    for line in lines:  # a value must end at its closing quote, whatever it contains
        fields = re.sub(r'"(?:[^"\\]|\\["\\]|\\x[0-9a-f]{2})*(?:\.\.\.)?"', '""', line)
        if " stall begin " in fields:
            assert re.fullmatch(r'ripd: warning: stall begin( \w+=(""|\w+))+', fields), fields


def is_markdown(text):
    is_for_people(text)
    for line in text.splitlines():
        bare = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", line)
        assert line.startswith("    ") or not MARKUP.search(bare), (line, bare)


def is_folded(text):
    """Checks lines `program;thread;location count`. A location must not contain separators of the format."""
    assert not CONTROL.search(text), ascii(CONTROL.search(text))
    lines = text.splitlines()
    assert len(lines) == text.count("\n")
    for line in lines:
        assert re.fullmatch(r"[^;]+;[^;]+(;[^;]+)+ \d+", line), ascii(line)
    assert len(lines) >= len(TEXTS) - 1, lines


def is_chrome(text):
    assert not CONTROL.search(text), ascii(CONTROL.search(text))
    events = json.loads(text)["traceEvents"]
    names = [each["name"] for each in events if each["ph"] == "X"]
    assert len(names) >= len(TEXTS) - 1, names


# --- ripd -----------------------------------------------------------------------------------------------------------

def in_answers_of_ripd(world):
    ring = hostile(world)
    for path in ("/stalls?trail=32", "/stalls?group=location", "/threads?trail=32", "/locations", "/events",
                 "/stalls?group=root", "/rings"):
        text = raw(world, path)
        assert not CONTROL.search(text), path
        places = list(places_in(json.loads(text)))
        check_bytes_of_ring(places)
        assert path in ("/stalls?group=root", "/rings") or set(LINES) <= {place["line"] for place in places}, path
    for number in range(1, COUNT + 1):
        text = raw(world, f"/threads/hostile/{number}")
        assert not CONTROL.search(text), number
        check_bytes_of_ring(places_in(json.loads(text)))
    is_metrics(raw(world, "/metrics"))
    source = streams.Source(world, "/events", f"{world.get('/events')['epoch']}-0")
    events = [source.next() for _ in range(COUNT)]
    assert {kind for kind, _ in events} == {"begin"}, events
    is_json_of_ripd("\n".join(data for _, data in events), COUNT)
    source.connection.close()
    is_a_log(world.log_text())
    ring.close()


def raw(world, path):
    """Returns the answer without decoding it as JSON."""
    with urllib.request.urlopen(f"http://127.0.0.1:{world.port}{path}", timeout=w.PATIENCE_S) as answer:
        return answer.read().decode()


def in_commands_and_history_of_ripd(world):
    """ripd passes events to the command as lines of JSON, and to the history, from which the next ripd loads them."""
    ring = hostile(world)
    world.wait_for(lambda: world.read("handed").count("\n") == COUNT)
    is_json_of_ripd(world.read("handed"), COUNT)
    kept = [os.path.join(folder, name) for folder, _, names in os.walk(world.state_dir) for name in names]
    for path in kept:
        with open(path, "rb") as file:
            assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", file.read()), path
    assert kept and world.stop() == 0
    world.start()
    begins = world.wait_for(lambda: [each for each in world.get("/events?limit=1000")["events"]
                                     if each["kind"] == "begin" and each["sequence"] <= COUNT])
    is_json_of_ripd("\n".join(map(json.dumps, begins)), COUNT)
    ring.close()


def in_events_from_rip(world):
    ring = hostile(world)
    epoch = world.get("/events")["epoch"]
    command = f"cat >>{world.file('executed')}"
    for arguments, read in ((["--json"], "".join), (["--exec", command], lambda _: world.read("executed"))):
        follower = k.Follower(world, "--since-id", f"{epoch}-0", *arguments)
        world.wait_for(lambda: read(follower.lines).count("\n") == COUNT)
        follower.stop(signal.SIGTERM)
        is_json_of_ripd(read(follower.lines), COUNT)
    ring.close()


# --- rip ------------------------------------------------------------------------------------------------------------

# Each command and the check of its output.
COMMANDS = [
    (["stalls", "--all"], lambda text: is_for_people(text, COUNT + 2)),
    (["stalls"], is_for_people),
    (["stalls", "--group", "location"], lambda text: is_for_people(text, COUNT + 2)),
    (["stalls", "--group", "root"], is_for_people),
    (["stalls", "--all", "--dir", "DIR"], lambda text: is_for_people(text, COUNT + 2)),
    (["stalls", "--json", "--all"], lambda text: is_json_lines(text, COUNT)),
    (["stalls", "--json", "--dir", "DIR"], lambda text: is_json_lines(text, COUNT)),
    (["show", "hostile"], is_for_people),
    (["show", "hostile", "--all"], is_for_people),
    (["show", "hostile", "--dir", "DIR"], is_for_people),
    (["show", "hostile", "--json"], is_json_lines),
    (["show", "hostile", "--markdown"], is_markdown),
    *[(["show", "hostile", str(number)], is_for_people) for number in range(1, COUNT + 1)],
    *[(["show", "hostile", str(number), "--markdown"], is_markdown) for number in range(1, COUNT + 1)],
    (["events"], lambda text: is_for_people(text, COUNT + 1)),
    (["events", "--json"], lambda text: is_json_lines(text, COUNT)),
    (["check"], lambda text: is_for_people(text, 1)),
    (["ls"], is_for_people),
    (["dump", "RING"], is_for_people),
    (["dump", "--json", "RING"], is_json_lines),
    (["dump", "--markdown", "RING"], is_markdown),
    (["export", "--folded", "-", "RING"], is_folded),
    (["export", "--chrome", "-", "RING"], is_chrome),
    (["clean", "--dir", "DIR"], is_for_people),
]


def run(world, words, **variables):
    words = [{"DIR": world.dir, "RING": world.ring("hostile")}.get(word, word) for word in words]
    done = world.command(*words, **variables)
    assert not HARM.search(done.stderr.replace("\n", "")), (words, done)
    assert done.returncode == (1 if words[0] == "check" else 0), (words, done)
    return done.stdout


def in_output_of_rip(world):
    ring = hostile(world)
    for words, check in COMMANDS:
        for locale in ("C.UTF-8", "C"):
            try:
                check(run(world, words, LC_ALL=locale))
            except AssertionError as error:
                raise AssertionError(f"rip {' '.join(words)}: {error}") from error
    for words in (["stalls", "--all"], ["stalls", "--group", "location"], ["show", "hostile"], ["show", "hostile", "1"],
                  ["events"], ["stalls", "--json"], ["dump", ring.path]):
        text = re.sub(r"\x1b\[(3[123]|0)m", "", world.on_terminal(80, *words).replace("\r\n", "\n"))
        assert text and not HARM.search(text.replace("\n", "")), (words, ascii(text))
    assert not os.path.exists("INJECTED")
    ring.close()


def in_top(world):
    ring = hostile(world)
    terminal = Terminal([k.RIP, "top"], world.environment, 30, 80)
    world.wait_for(lambda: f"{COUNT} of {COUNT}" in terminal.text())
    for _ in range(COUNT):
        terminal.type("\n")
        world.wait_for(lambda: "escape: back" in terminal.screen()[-1] and "hostile" in terminal.text())
        terminal.type("\x1b")
        world.wait_for(lambda: "enter: open" in terminal.screen()[-1])
        terminal.type("j")
    assert "onerror" in terminal.raw and "etc/passwd" in terminal.raw, "the locations must have been shown"
    for harm in ("\x1b[31;5m", "\x1b]0", "\x9b", "\u202e", "\u2066", "\u200b", "\u2028", "\u200f", "\ufeff"):
        assert harm not in terminal.raw, ascii(harm)
    terminal.close()
    ring.close()


def check_file(world, source, lines=LINES):
    """Checks dump and export of a recording or a capture."""
    for words, check in ((["dump"], is_for_people), (["dump", "--json"], lambda text: is_json_lines(text, lines=lines)),
                         (["dump", "--markdown"], is_markdown), (["export", "--folded", "-"], is_folded),
                         (["export", "--chrome", "-"], is_chrome)):
        try:
            check(run(world, [*words, source]))
        except AssertionError as error:
            raise AssertionError(f"rip {' '.join(words)} {source}: {error}") from error
    if shutil.which("babeltrace2") is not None:
        trace = world.file(f"ctf-{os.path.basename(source)}")
        run(world, ["export", "--ctf", trace, source])
        done = subprocess.run(["babeltrace2", trace], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        # babeltrace2 does not escape text, so the trace must not contain line breaks
        assert all(re.match(rb"\[\S+\] \(\S+\) \w+: ", line) for line in done.stdout.splitlines()), done.stdout
        assert done.stdout.count(b" snap: ") >= len(lines), done.stdout


def in_a_recording(world):
    ring = hostile(world)
    path = world.file("recording")
    recorder = subprocess.Popen([k.RIP, "record", "--dir", world.dir, "--interval", "50ms", "-o", path],
                                stderr=subprocess.PIPE)
    world.processes.append(recorder)
    world.wait_for(lambda: os.path.exists(path))
    moves = [0]

    def seen():
        moves[0] += 1
        for index in range(COUNT):
            ring.slot(index, number=index + 1, name=b"id-%d" % (index + 1), count=moves[0] + 1,
                      address=k.h.place(index, index + 1))
        text = world.command("dump", "--json", path).stdout
        return len(re.findall('"line":', text)) >= COUNT and "INJECTED" in text
    world.wait_for(seen)
    world.well_past_threshold()
    recorder.terminate()
    assert recorder.wait(w.PATIENCE_S) == 0
    is_for_people(recorder.stderr.read().decode())
    check_file(world, path)
    for words, check in ((["replay"], is_for_people), (["replay", "--stall-after", "100ms"], is_for_people),
                         (["replay", "--json", "--stall-after", "100ms"], is_json_lines)):
        check(run(world, [*words, path]))
    ring.close()


def in_a_capture(world):
    """ripd captures only processes that it has verified, so a real program with hostile function names is killed."""
    app = world.puppet()
    for number, (file, function) in enumerate(TEXTS, 1):
        if file:
            app.do(f"script {number} {file.hex()} {function.hex()} {number}")
    world.wait_for(lambda: world.get("/events")["total"] == len(TEXTS) - 1)
    app.kill()
    listed = world.wait_for(lambda: run(world, ["captures", "--json", "--state-dir", world.state_dir]))
    path = json.loads(listed)["file"]
    is_for_people(run(world, ["captures", "--state-dir", world.state_dir]))
    check_file(world, path, range(1, len(TEXTS)))


def in_ring_names(world):
    """Users also choose the names of their rings."""
    names = [b"\x1b[31m\n", b"\xc2\x9b31m", "\u202etxt".encode(), b"\xff"]
    for name in names:
        k.h.scripted_ring(os.path.join(os.fsencode(world.dir), name).decode(errors="surrogateescape"), 1 << 22).close()
    for words in (["--dry-run", "--json"], ["--dry-run"], []):
        text = run(world, ["clean", *words, "--dir", world.dir])
        is_for_people(text, len(names))
    assert not [each for each in os.listdir(os.fsencode(world.dir)) if each in names]


if __name__ == "__main__":
    w.run([in_answers_of_ripd, in_commands_and_history_of_ripd, in_events_from_rip, in_output_of_rip, in_top,
           in_a_recording, in_a_capture, in_ring_names], ScriptsWorld)
