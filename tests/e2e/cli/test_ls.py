# SPDX-License-Identifier: Apache-2.0
"""`rip ls`: rings and processes, counts of ids by state, and remarks on problems."""
import json
import re

import cli_kit as k
from cli_kit import w

HEAD = ["RING", "PROCESS", "RUNNING", "IDLE", "STALLED", "STOPPED", "ENDED", "REMARKS"]


def rows_of(text):
    """Returns the cells of each line below the header."""
    return [re.split(r"\s{2,}|(?<=\d)\s+(?=\d|-)", line.strip()) for line in text.splitlines()[1:]]


def counts_by_state(world):
    assert world.command("ls").stdout == "no rings; `rip run COMMAND` makes one\n"
    one, two = world.puppet("one"), world.puppet("two*[x]")
    for app, numbers in ((one, (5, 6)), (two, (7,))):
        for number in numbers:
            app.do(f"spawn {number} name-{number} snap")
    two.do("spawn 8 name-8 idle")
    one.do("freeze 5")
    world.wait_for(lambda: world.stalled_ids() == [5] and world.state(8, "two*") == "idle")
    world.wait_for(lambda: [row[2:7] for row in rows_of(world.command("ls").stdout)] ==
                   [["1", "0", "1", "0", "0"], ["1", "1", "0", "0", "0"]])
    text = world.command("ls").stdout
    assert text.splitlines()[0].split() == HEAD
    assert [(row[0], row[1].split("[")[1]) for row in rows_of(text)] == [("one", f"{one.pid}]"),
                                                                           ("two*[x]", f"{two.pid}]")]
    rings = [json.loads(line) for line in world.command("ls", "--json").stdout.splitlines()]
    assert [ring["ring"] for ring in rings] == ["one", "two*[x]"]
    assert len(rows_of(world.command("ls", "--pid", str(two.pid)).stdout)) == 1
    assert rows_of(world.command("ls", "--ring", "one").stdout)[0][0] == "one"
    assert world.command("ls", "--ring", "three").stdout == "no such rings\n"
    assert f"~[{one.pid}]  " in world.on_terminal(70, "ls", "--ring", "one", NO_COLOR="1"), "numbers must not be cut"
    one.kill()
    world.wait_for(lambda: "dead" in rows_of(world.command("ls", "--ring", "one").stdout)[0][-1])


def several_processes(world):
    """Each process has its own counts."""
    app = world.puppet()
    app.do("spawn 5 name-5 snap")
    child = int(app.send("child"))
    world.pids.append(child)

    def rows():
        return {int(row[1].split("[")[1][:-1]): row[2:7] for row in rows_of(world.command("ls").stdout)}

    app.do("spawn 6 name-6 snap")
    app.do("freeze 6")
    world.wait_for(lambda: rows() == {app.pid: ["1", "0", "1", "0", "0"], child: ["1", "0", "0", "0", "0"]})


def a_ring_that_cannot_be_read(world):
    with open(world.ring("broken"), "wb") as file:
        file.write(b"RIPRING\0" + b"\xff" * 8192)
    world.wait_for(lambda: world.get("/rings")["rings"])
    row, = rows_of(world.command("ls").stdout)
    ring, = world.get("/rings")["rings"]
    assert row[0] == "broken" and row[2:7] == ["-"] * 5 and ring["reason"] in row[-1], (row, ring)
    done = world.command("stalls")
    assert "cannot read 1 ring:" in done.stderr and done.returncode == 0, done
    assert world.command("check").returncode == 3, "the status must not be OK"


def hostile_names(world):
    ring = world.hostile_stalls()
    server = k.Impostor({"/rings": {"schema": "ripd/rings/1", "rings": [
        7, None, {}, {"ring": "\x1b[31m\u202e", "processes": [{}, 7, {"pid": -1, "comm": "\n\x9b"}],
                      "health": "readable"},
        {"ring": "x" * 5000, "health": "unreadable\x1b", "reason": "\r\n",
         "refused": {"a": 9223372036854775807, "b": 1}},
        {"ring": "y", "processes": 5, "health": 5, "dead": True, "unlinked": True, "counts": {"stalled": -7},
         "coverage": "partial", "coverage_reasons": ["unseen_calls", 7, "\x1b"]}]}})
    for url in (world.url, server.url):
        done = world.command("ls", "--url", url)
        assert done.returncode == 0 and not re.search(r"[\x00-\x09\x0b-\x1f\x7f\x9b\u202e]", done.stdout), done
        assert url == world.url or "coverage partial; unseen_calls; " in done.stdout, done
    server.close()
    ring.close()


def several_hosts(world):
    world.puppet()
    world.wait_for(lambda: world.get("/rings")["rings"])
    server = k.Impostor({"/rings": {"schema": "ripd/rings/1", "rings": [{"ring": "far", "health": "damaged"}]}})
    done = world.command("ls", "--url", world.url, "--url", server.url, "--url", "http://127.0.0.1:1", "--timeout=30s")
    assert done.returncode == 1 and done.stdout.split()[0] == "HOST" and "127.0.0.1:1" in done.stderr, done
    assert [line.split()[:2] for line in done.stdout.splitlines()[1:]] == [[world.url, "app"], [server.url[7:], "far"]]
    server.close()


if __name__ == "__main__":
    w.run([counts_by_state, several_processes, a_ring_that_cannot_be_read, hostile_names, several_hosts], k.CliWorld)
