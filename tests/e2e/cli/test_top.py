# SPDX-License-Identifier: Apache-2.0
"""`rip top` on a terminal: changes in the list, keys, terminal sizes, and restarts of ripd."""
import re
import socket
import sys

import cli_kit as k
from cli_kit import w
from terminal import Terminal

DOWN, UP, END, HOME, ESCAPE = "\x1bOB", "\x1bOA", "G", "g", "\x1b"


class TopWorld(k.CliWorld):
    def top(self, *arguments, rows=24, columns=120, **variables):
        self.screens = [*getattr(self, "screens", ()),
                        Terminal([k.RIP, "top", *arguments], {**self.environment, **variables}, rows, columns)]
        return self.screens[-1]

    def shows(self, terminal, pattern, seconds=w.PATIENCE_S):
        try:
            return self.wait_for(lambda: re.search(pattern, terminal.text(), re.M), seconds)
        except AssertionError as error:
            raise AssertionError(f"{pattern} is not on the screen:\n{terminal.text()}") from error

    def close(self):
        for terminal in getattr(self, "screens", ()):
            terminal.close()
        super().close()


def stalls_appear_and_disappear(world):
    terminal = world.top()
    world.shows(terminal, r"^none$")
    app = world.puppet()
    app.do("spawn 5 name-5 snap")
    app.do("freeze 5")
    world.shows(terminal, r"^ *\d+\.\ds +blocked +5 +name-5 ")
    assert world.shows(terminal, r"1 ids: 1 stalled") and terminal.screen()[2].split()[:3] == ["AGE", "CAUSE", "ID"]
    terminal.type("f")
    world.shows(terminal, r"^FROZEN")
    app.do("thaw 5")
    world.wait_for(lambda: not world.stalls())
    world.wait_scans(3)
    assert "name-5" in terminal.text(), "the frozen display must not change"
    terminal.type("f")
    world.shows(terminal, r"^none$")
    terminal.type("\t")
    world.shows(terminal, r"^all: 1 of 1")
    world.shows(terminal, r"running +5 +name-5")
    terminal.type("q")
    assert terminal.process.wait(timeout=w.PATIENCE_S) == 0


def opens_one(world):
    world.play("behind", "3")
    world.wait_for(lambda: len(world.stalls("?cause=deadlock")) == 3)
    terminal = world.top(rows=40)
    world.shows(terminal, "behind-0")
    terminal.type("/behind-0\n")
    world.shows(terminal, r"^stalled: 1 of 1 .*/behind-0$")
    terminal.type("\n")
    world.shows(terminal, r"└─ cycle-0")
    world.shows(terminal, r"^ +ring +app$")
    terminal.type(ESCAPE)
    world.shows(terminal, r"^stalled: 1 of 1")
    terminal.type("/" + ESCAPE)
    world.shows(terminal, r"^stalled: 6 of 6")


def sorts_and_filters(world):
    app = world.puppet()
    for number, name in ((1, "bb"), (2, "aa"), (3, "c*c")):
        app.do(f"spawn {number} {name} snap")
        world.wait_for(lambda n=number: world.state(n) == "running")
        app.do(f"freeze {number}")
        world.wait_for(lambda n=number: n in world.stalled_ids())
    terminal = world.top()

    def names():
        return [line.split()[3] for line in terminal.screen()[3:6] if len(line.split()) > 3]

    world.wait_for(lambda: names() == ["bb", "aa", "c*c"])
    terminal.type("sss")
    world.shows(terminal, "by thread")
    world.wait_for(lambda: names() == ["aa", "bb", "c*c"])
    terminal.type("/c*")
    world.shows(terminal, r"^stalled: 1 of 1 .*/c\*_$")
    terminal.type("\x7f\x7f\x7f")
    world.shows(terminal, r"^stalled: 3 of 3")
    terminal.type("zz")
    world.shows(terminal, "^no such ids$")


def sizes(world):
    """Every terminal size works, even one too small for any content."""
    app = world.puppet()
    for number in range(1, 40):
        app.do(f"spawn {number} name-{number} snap")
    app.do("freeze-all")
    world.wait_for(lambda: len(world.stalls()) == 39)
    terminal = world.top()
    world.shows(terminal, "name-")
    for rows, columns in ((10, 40), (3, 10), (1, 1), (60, 200), (24, 80)):
        terminal.resize(rows, columns)
        world.wait_for(lambda: terminal.process.poll() is None and terminal.screen()[0].strip())
    world.shows(terminal, r"^enter: open")
    terminal.type(END)
    world.wait_for(lambda: len([line for line in terminal.screen() if "name-" in line]) == 20)
    terminal.type("q")
    assert terminal.process.wait(timeout=w.PATIENCE_S) == 0


def ripd_is_started_again(world):
    app = world.puppet()
    app.do("spawn 5 name-5 snap")
    app.do("freeze 5")
    terminal = world.top("--timeout", "30s")
    world.shows(terminal, "name-5")
    assert world.stop() == 0
    w.wait_for(lambda: "ripd does not answer on" in terminal.screen()[-1])
    assert "name-5" in terminal.text(), "the last list must stay on the screen"
    world.start()
    world.shows(terminal, r"^enter: open")
    world.shows(terminal, "name-5")
    app.do("thaw 5")
    world.shows(terminal, "^none$")


def stays_responsive(world):
    """ripd accepts the request and never answers: keys still work, and q ends rip immediately."""
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    terminal = world.top("--url", f"http://127.0.0.1:{server.getsockname()[1]}", "--timeout", "1h")
    world.shows(terminal, r"^stalled: 0 of 0")
    terminal.type("\t")
    world.shows(terminal, r"^all: 0 of 0")
    terminal.type("q")
    assert terminal.process.wait(timeout=w.PATIENCE_S) == 0
    server.close()


def invalid_answers(world):
    """Items of the wrong type, and 20,000 items on a page."""
    huge = 9223372036854775807
    odd = [7, None, {}, {"id": huge, "ring": "x" * 4000, "name": "\x1b[31m\u202e\n", "frozen_for_ms": -1}]
    server = k.Impostor({"/stalls": k.stalls_document(*odd, *([{"id": 5, "name": "many"}] * 20000), total=huge,
                                                      next="x" * 500, unreadable_rings=3),
                         "/threads": b"{\"schema\": \"ripd/threads/1\", \"threads\": 5}"})
    terminal = world.top("--url", server.url)
    world.shows(terminal, r"^stalled: 40008 of .*3 rings cannot be read")
    terminal.type(DOWN * 3 + "\n")
    world.shows(terminal, "its ring has no name")
    terminal.type(ESCAPE + "sss")
    world.shows(terminal, "by thread")
    terminal.type(END)
    world.shows(terminal, "many")
    terminal.type("\t")
    world.shows(terminal, "not from ripd")
    assert "\u202e" not in terminal.raw and "\x1b[31m" not in terminal.raw
    terminal.type("q")
    assert terminal.process.wait(timeout=w.PATIENCE_S) == 0
    server.close()


def scrolls_through_a_crowd(world):
    """70,000 ids: the list contains all of them, from the first to the last, in any order."""
    ring = k.h.Ring(world.ring("crowd"), capacity=70000)
    ring.process(0, world.ripd.pid)
    for slot in range(70000):
        ring.slot(slot, number=slot, name=b"crowd-%d" % slot)
    ring.publish()
    world.wait_for(lambda: world.get("/threads?limit=1")["total"] == 70000)
    terminal = world.top(rows=50)
    terminal.type("\t")
    world.shows(terminal, "crowd-0 ")
    terminal.type(DOWN)  # while the list is still loading
    world.shows(terminal, r"^all: \d+ of 70000  row 2")
    world.shows(terminal, r"^all: 70000 of 70000  row 2", 300)  # loads 35 MB of JSON
    terminal.type(END)
    world.shows(terminal, "crowd-69999 ")
    world.shows(terminal, r"row 70000")
    terminal.type("b" * 1000)  # a page has 46 rows
    world.shows(terminal, r"row 24000")
    world.shows(terminal, "crowd-23999 ")
    terminal.type("sss")
    world.shows(terminal, r"row 1  by thread")
    terminal.type(END)
    world.shows(terminal, "crowd-9999 ")
    terminal.type(HOME)
    world.shows(terminal, "crowd-0 ")
    world.shows(terminal, "crowd-100 ")
    terminal.type("/crowd-17777\n")
    world.shows(terminal, r"^all: 1 of 1 .*/crowd-17777$")
    terminal.type("\n")
    world.shows(terminal, r"^ +id +17777$")
    terminal.type("q")
    assert terminal.process.wait(timeout=w.PATIENCE_S) == 0
    ring.close()


def several_hosts(world):
    """One table for all hosts. If a host stops answering, its last items stay. An id is opened on its own host."""
    stall = {"ring": "r", "id": 1, "name": "far-away", "state": "stalled", "frozen_for_ms": 3600000}
    far = k.Impostor({"/stalls": k.stalls_document(stall),
                      "/threads/r/1": {"schema": "ripd/thread/1", "thread": {**stall, "summary": "far away it is"}}})
    far_name = far.url.removeprefix("http://")
    app = world.puppet()
    app.do("spawn 5 name-5 snap")
    app.do("freeze 5")
    terminal = world.top("--url", world.url, "--url", far.url, columns=160)
    world.shows(terminal, "name-5 ")
    world.shows(terminal, rf"^{re.escape(far_name)} +1h00m +\S+ +1 +far-away ")
    assert terminal.screen()[2].split()[0] == "HOST" and "rip top  2 of 2 hosts  9 ids:" in terminal.text()
    assert terminal.text().index("far-away") < terminal.text().index("name-5"), "the longest stall must be first"
    terminal.type("\n")
    world.shows(terminal, "^far away it is$")
    terminal.type(ESCAPE)
    far.documents["/stalls"] = (503, {"detail": "busy"})
    world.shows(terminal, rf"^{re.escape(far_name)}: busy")
    app.do("thaw 5")
    w.wait_for(lambda: "name-5" not in terminal.text() and "far-away" in terminal.text())
    terminal.type("q")
    assert terminal.process.wait(timeout=w.PATIENCE_S) == 0
    far.close()


def refusals(world):
    for arguments, words in ((["--json"], "--json"), (["word"], "word"), ([], "terminal")):
        done = world.command("top", *arguments)
        assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, (arguments, done)
    world.screens = [Terminal(["env", "TERM=nonsense", k.RIP, "top"], world.environment)]
    world.shows(world.screens[0], "unknown terminal")
    assert world.screens[0].process.wait(timeout=w.PATIENCE_S) == 1


class CrowdWorld(TopWorld):
    """A world in which nothing stalls, for tests of a long list."""

    def settings(self):
        return {**super().settings(), "stall-after": "1h"}


if __name__ == "__main__":
    TESTS = [stalls_appear_and_disappear, opens_one, sorts_and_filters, sizes, ripd_is_started_again, stays_responsive,
             invalid_answers, several_hosts, refusals]
    kinds = [CrowdWorld if test is scrolls_through_a_crowd else TopWorld
             for test in [*TESTS, scrolls_through_a_crowd] if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]]
    w.run([*TESTS, scrolls_through_a_crowd], lambda: kinds.pop(0)())
