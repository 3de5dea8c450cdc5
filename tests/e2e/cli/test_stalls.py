# SPDX-License-Identifier: Apache-2.0
"""`rip stalls`: one line for each incident, from one or many ripd, and messages about data that is missing."""
import concurrent.futures
import json
import re
import socket

import cli_kit as k
from cli_kit import w

HEAD = ["AGE", "CAUSE", "THREAD", "PROCESS", "WHERE", "ON"]


def one_stall(world):
    done = world.command("stalls")
    assert done.returncode == 0 and done.stdout == "no stalls among 0 ids\n" and done.stderr == "", done
    app = world.puppet()
    app.do("spawn 5 name-5 snap")
    app.do("freeze 5")
    world.wait_for(lambda: world.stalls() and world.stalls()[0]["cause"] == "blocked")
    done = world.command("stalls")
    head, line, summary = done.stdout.splitlines()
    assert head.split() == HEAD and done.returncode == 0 and done.stderr == "", done
    assert re.match(rf"\s*\d+\.\ds  blocked  name-5  \S+\[{app.pid}\]  .*futex", line), line
    assert summary == "1 of 1 ids are stalled, 1 incident" and "\x1b" not in done.stdout
    item = json.loads(world.command("stalls", "--json").stdout)
    listed = world.stalls("?trail=0")[0]
    assert item.keys() == listed.keys() and item["id"] == 5 and "host" not in item
    app.do("thaw 5")
    world.wait_for(lambda: not world.stalls())
    assert world.command("stalls").stdout == "no stalls among 1 ids\n"


def filters(world):
    app = world.puppet()
    for number in (5, 6):
        app.do(f"spawn {number} name-{number} snap")
        app.do(f"freeze {number}")
    world.wait_for(lambda: len([item for item in world.stalls() if item["cause"] == "blocked"]) == 2)

    def ids(*arguments):
        return sorted(json.loads(line)["id"] for line in world.command("stalls", "--json", *arguments)
                      .stdout.splitlines())

    assert ids() == [5, 6] and ids("--name", "*-5") == [5] and ids("--ring=other") == []
    assert ids("--pid", str(app.pid)) == [5, 6] and ids("--cause", "!blocked") == [] and ids("--min", "1h") == []
    assert ids("--min=100ms") == [5, 6] and len(ids("--limit", "1")) == 1
    assert world.command("stalls", "--min", "1h").stdout == "no such stalls; 2 of 2 ids are stalled\n"
    assert "1 more line; --limit" in world.command("stalls", "--limit", "1").stdout


def incidents(world):
    """Three threads in a deadlock and three that wait for them are one line; with --all they are six lines."""
    world.play("behind", "3")
    world.wait_for(lambda: len(world.stalls("?cause=deadlock")) == 3 and len(world.stalls("?cause=blocked")) == 3)
    world.wait_for(lambda: "go_round" in world.command("stalls").stdout)
    done = world.command("stalls")
    line = done.stdout.splitlines()[1]
    assert done.stdout.count("\n") == 3, done.stdout
    assert "deadlock" in line and "and 3 wait for it: deadlock with cycle-" in line and "go_round" in line, line
    assert len(world.command("stalls", "--all").stdout.splitlines()) == 8
    head, line, _ = world.command("stalls", "--group", "root").stdout.splitlines()
    assert head.split()[0] == "COUNT" and line.split()[0] == "6" and "deadlock with cycle-" in line, line
    head, *lines, _ = world.command("stalls", "--group=location").stdout.splitlines()
    assert [one.split()[0] for one in lines] == ["3", "3"] and "come_behind" in "".join(lines), lines
    groups = [json.loads(one) for one in world.command("stalls", "--group=root", "--json").stdout.splitlines()]
    assert [group["count"] for group in groups] == [6]


def asleep(world):
    """An id that only sleeps for a time that it chose is listed, but is no incident."""
    stalls = [{"ring": "r", "id": number, "state": "stalled", "cause": cause, "frozen_for_ms": 5000}
              for number, cause in enumerate(("sleeping", "blocked", "sleeping"), 1)]
    server = k.Impostor({"/stalls": k.stalls_document(*stalls, counts={"stalled": 3}, total=3)})
    lines = world.command("stalls", "--url", server.url).stdout.splitlines()
    assert len(lines) == 5 and lines[-1] == "3 of 3 ids are stalled, 1 incident, 2 asleep", lines
    server.close()


def hostile_names(world):
    ring = world.hostile_stalls()
    text = world.command("stalls").stdout
    assert text.count("\n") == len(k.HOSTILE) + 2 and not re.search(r"[\x00-\x09\x0b-\x1f\x7f\x9b\u202e]", text), text
    assert "käse" in text and '"' * 63 in text
    assert not re.search(r"[^\x0a\x20-\x7e]", world.command("stalls", LC_ALL="C").stdout)
    for columns in (10, 40, 80, 200):
        text = world.on_terminal(columns, "stalls")
        assert "\x1b" not in re.sub(r"\x1b\[(31|0)m", "", text), text
        plain = world.on_terminal(columns, "stalls", NO_COLOR="1")
        assert "\x1b" not in plain
        lines = plain.splitlines()
        assert len(lines) == len(k.HOSTILE) + 2 and all(len(line) <= columns for line in lines[:-1]), lines
    ring.close()


def invalid_answers(world):
    """Fields of the wrong type, numbers at the limits of their range, and chains without names."""
    huge = 9223372036854775807
    chain = [{"holder": "id", "ring": "r", "id": huge, "name": "x" * 5000}, {}, 7, None, {"holder": "readers"}]
    server = k.Impostor({"/stalls": k.stalls_document(
        {}, 7, None, [], {"id": "x", "frozen_for_ms": "y", "kernel": 5, "location": [], "process": 1, "cause": 3},
        {"ring": "r", "id": huge, "frozen_for_ms": huge, "cause": "deadlock", "state": "stalled", "waits_for": chain},
        {"ring": "r", "id": -huge, "frozen_for_ms": -huge, "waits_for": chain, "name": "a\0b\x1b[31m"},
        {"frozen_for_ms": huge, "cause": "spinning", "kernel": {"window_ms": 1, "cpu_ms": huge}},
        counts={"running": huge, "idle": huge, "stalled": huge, "other": -1}, total=huge, unreadable_rings=huge)})
    for arguments in (["stalls"], ["stalls", "--all"], ["check"]):
        done = world.command(*arguments, "--url", server.url)
        assert done.returncode == (arguments == ["check"]) and not re.search(r"[\x00-\x09\x0b-\x1f]", done.stdout), done
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
    assert "11574d" in world.command("stalls", "--url", server.url).stdout, "the longest age must be 31 years"
    server.close()


def incomplete_answers(world):
    for frame, words in (({"unreadable_rings": 2}, "cannot read 2 rings"),
                         ({"scan": {"age_ms": 40000, "interval_ms": 1000}}, "does not scan: this was 40 s ago"),
                         ({"total": 70000}, "has 70000 items; only the first 0 were read")):
        server = k.Impostor({"/stalls": k.stalls_document(**frame)})
        done = world.command("stalls", "--url", server.url)
        assert done.returncode == 0 and words in done.stderr and done.stderr.count("\n") == 1, (frame, done)
        server.close()


def wrong_flags(world):
    """Wrong flags are refused before rip connects: nothing listens on that port."""
    for arguments, words in (
            (["--colour"], ["--colour"]), (["word"], ["word"]), (["--group", "x"], ["--group", "location", "root"]),
            (["--group", "root", "--all"], ["--all"]), (["--limit", "0"], ["--limit"]),
            (["--limit", "1x"], ["--limit"]), (["--min", "5"], ["--min", "duration from 0ms to"]),
            (["--min", "99999999h"], ["--min"]), (["--cause", "no"], ["--cause"]),
            (["--pid", "0"], ["--pid"]), (["--ring", ""], ["--ring"]), (["--timeout", "1"], ["--timeout"]),
            (["--timeout", "0ms"], ["--timeout"]), (["--url", "x"], ["--url"]), (["--name", "x" * 300], ["--name"]),
            (["--prometheus", "x"], ["--prometheus"]), (["--prometheus", "http://x", "--url", "http://x"], ["--url"])):
        done = world.command("stalls", *arguments, RIPD_URL="http://127.0.0.1:1")
        assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, (arguments, done)
        for word in words:
            assert word in done.stderr, (arguments, done.stderr)


def help_as_a_word(world):
    for words, same in ((["help"], ["--help"]), (["help", "stalls"], ["stalls", "--help"]),
                        (["help", "run"], ["run", "--help"])):
        done = world.command(*words)
        assert done.returncode == 0 and done.stdout == world.command(*same).stdout != "", done
    assert world.command("help", "nothing").returncode == 2


class Hanging:
    """A server that accepts connections and never answers."""

    def __init__(self, address="127.0.0.1"):
        self.socket = socket.socket()
        self.socket.bind((address, 0))
        self.socket.listen()
        self.url = f"http://{address}:{self.socket.getsockname()[1]}"

    def close(self):
        self.socket.close()


def several_hosts(world):
    """Three hosts answer, hang and refuse: one table has the first, and messages name the others."""
    ring = world.hostile_stalls()
    stall = {"ring": "r", "id": 1, "name": "far-away", "state": "stalled", "cause": "blocked",
             "frozen_for_ms": 86400000}
    other, hanging = k.Impostor({"/stalls": k.stalls_document(stall)}, "127.0.0.2"), Hanging("127.0.0.3")
    urls = [world.url, hanging.url, other.url, "http://127.0.0.1:1"]
    silent = ["--timeout=3s", "--url", hanging.url, "--url", "http://127.0.0.1:1"]
    arguments = ["--timeout", "3s", *(f"--url={url}" for url in urls)]
    # in parallel, because each command waits for the host that hangs
    with concurrent.futures.ThreadPoolExecutor() as pool:
        done, listed, silence = pool.map(lambda more: world.command("stalls", *more),
                                         (arguments, ["--json", *arguments], silent))
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and lines[0].split()[0] == "HOST", done
    assert lines[1].split()[:4] == [other.url[7:], "1d00h", "blocked", "far-away"], lines[1]
    assert len(lines) == len(k.HOSTILE) + 3 and all(line.startswith(world.url) for line in lines[2:-1]), lines
    assert done.stderr.count("\n") == 2 and hanging.url[7:] in done.stderr and "127.0.0.1:1 " in done.stderr, done
    items = [json.loads(line) for line in listed.stdout.splitlines()]
    assert {item["host"] for item in items} == {world.url, other.url[7:]} and items[0]["name"] == "far-away"
    assert silence.returncode == 1 and silence.stdout == "", "without an answer rip must not print 'no stalls'"
    other.close()
    hanging.close()
    ring.close()


def hosts_from_prometheus(world):
    """Queries only the hosts for which Prometheus has stalls, and names hosts that Prometheus cannot scrape."""
    stall = {"ring": "r", "id": 1, "name": "far-away", "state": "stalled", "frozen_for_ms": 5000}
    one, two = (k.Impostor({"/stalls": k.stalls_document(stall)}) for _ in range(2))

    def answer(*instances):
        return {"status": "success", "data": {"result": [{"metric": {"instance": each}} for each in instances]}}

    class ByQuery(dict):
        def get(self, path, default=None):
            del default
            return found(path)

    asked = []

    def found(path):
        asked.append(path)
        return answer(one.url[7:], one.url[7:]) if len(asked) % 2 else answer("lost.example.org:7470")

    server = k.Impostor(ByQuery())
    done = world.command("stalls", "--prometheus", server.url)
    assert done.returncode == 1 and done.stdout.count("far-away") == 1 and one.url[7:] in done.stdout, done
    assert "lost.example.org:7470" in done.stderr and done.stderr.count("\n") == 1 and not two.asked, done
    assert "ripd_ids" in server.asked[0] and "unless" in server.asked[1], server.asked
    server.close()
    for document, status in (({"data": 7}, 3), (answer("http://x y"), 3), (answer("x" * 2000), 3),
                             ((503, {"detail": "busy"}), 1)):
        server = k.Impostor({"/api/v1/query": document})
        done = world.command("stalls", "--prometheus", server.url)
        assert done.returncode == status and done.stdout == "" and done.stderr.count("\n") == 1, (document, done)
        server.close()
    done = world.command("stalls", "--prometheus", "http://127.0.0.1:1")
    assert done.returncode == 1 and "prometheus does not answer on 127.0.0.1:1" in done.stderr, done
    one.close()
    two.close()


def another_version(world):
    server = k.Impostor({"/stalls": {**k.stalls_document(), "schema": "ripd/stalls/2\x1b"}})
    done = world.command("stalls", "--url", server.url)
    assert done.returncode == 3 and done.stdout == "" and "\x1b" not in done.stderr, done
    assert "has another version than this rip: it has ripd/stalls/2?, expected ripd/stalls/1" in done.stderr, done
    server.close()


if __name__ == "__main__":
    w.run([one_stall, filters, incidents, asleep, hostile_names, invalid_answers, incomplete_answers, wrong_flags,
           help_as_a_word, several_hosts, hosts_from_prometheus, another_version], k.CliWorld)
