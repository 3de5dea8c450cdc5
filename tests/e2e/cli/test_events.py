# SPDX-License-Identifier: Apache-2.0
"""`rip events`: the list as text and as JSON, from ripd and from other servers."""
import http.server
import json
import os
import re
import shutil
import subprocess
import threading

import cli_kit as k
from cli_kit import w


def table(world):
    assert world.rip().stdout == "" and world.rip().returncode == 0
    app = world.puppet()
    world.stall(app, 5)
    done = world.rip()
    assert done.returncode == 0 and done.stderr == "", done
    head, begin, end = done.stdout.splitlines()
    assert head.split() == ["TIME", "EVENT", "RING", "ID", "NAME", "CAUSE", "FOR", "WHERE"]
    assert re.match(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ  begin  app +5  name-5 ", begin), begin
    assert re.match(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ  end    app +5  name-5 .*s  \S", end), end
    where = world.get("/events")["events"][0]["location"]
    named = f"{where['function']}, {where['file']}:{where['line']}"
    assert end.endswith(named if where["line"] else f"puppet+{where['offset']}"), (end, where)
    assert "\x1b" not in done.stdout
    listed = world.get("/events")["events"]
    lines = [json.loads(line) for line in world.rip("--json").stdout.splitlines()]
    assert lines == listed[::-1], "the events must be those of ripd, oldest first"
    assert world.rip(RIPD_URL=f"http://127.0.0.1:{world.port}/").stdout == done.stdout


def filters(world):
    app = world.puppet()
    world.stall(app, 5)
    world.stall(app, 6)

    def ids(*arguments):
        return [json.loads(line)["id"] for line in world.rip("--json", *arguments).stdout.splitlines()]

    assert ids() == [5, 5, 6, 6]
    assert ids("--kind", "end") == [5, 6] and ids("--kind=end", "--limit=1") == [6]
    assert ids("--name", "*-5") == [5, 5] and ids("--ring=other") == [] and ids("--pid", str(app.pid)) == [5, 5, 6, 6]
    assert ids("--min", "1h") == [] and ids("--cause", "!parked") == [5, 5, 6, 6]
    assert ids("--cause", "parked") == [] and ids("--unit", "no-such-unit*") == [] and ids("--container", "x") == []
    assert ids("--since", "1h") == [5, 5, 6, 6] and ids("--since", "2126-01-01T00:00:00Z") == []
    assert "2 older events are not shown" in world.rip("--limit=2").stderr
    epoch = world.get("/events")["epoch"]
    assert ids("--since-id", f"{epoch}-2") == [6, 6] and ids("--since-id", f"{epoch}-4") == []
    other = world.rip("--json", "--since-id", "0000000000000000-2")
    assert other.stdout.count("\n") == 4 and "another history" in other.stderr


def hostile_names(world):
    ring = world.hostile_stalls()
    for arguments in ((), ("--json",)):
        done = subprocess.run([k.RIP, "events", *arguments], env=world.environment, capture_output=True, check=True)
        assert done.stdout.count(b"\n") == len(k.HOSTILE) + (not arguments), done.stdout
        assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", done.stdout), done.stdout
        if not arguments:
            assert b"\xc2\x9b" not in done.stdout and b"\xe2\x80\xae" not in done.stdout
            assert "käse".encode() in done.stdout and b'"' * 63 in done.stdout
    plain = subprocess.run([k.RIP, "events"], env={**world.environment, "LC_ALL": "C"}, capture_output=True, check=True)
    assert not re.search(rb"[^\x0a\x20-\x7e]", plain.stdout), plain.stdout
    ring.close()


def terminal(world):
    ring = world.hostile_stalls()
    text = world.on_terminal(90, "events")
    assert "\x1b[31mbegin\x1b[0m" in text
    for line in re.sub(r"\x1b\[(31|0)m", "", text).splitlines():
        assert "\x1b" not in line and len(line) <= 90, line
    assert '"~' in text, "63 quotes must be cut to the width of the column"
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in world.on_terminal(90, "events", **variables)
    assert world.on_terminal(10, "events", NO_COLOR="1").count("\n") == len(k.HOSTILE) + 1, "a narrow terminal"
    ring.close()


def several_hosts(world):
    """Lists the newest events of all hosts in order of time, and reports the host that does not answer."""
    world.stall(world.puppet(), 5)
    ours = world.get("/events")["events"]
    old, new = ({"sequence": n, "kind": "begin", "at": at, "ring": "far", "id": 9, "name": "\x1b[31mfar"}
                for n, at in ((1, "2020-01-01T00:00:00.000Z"), (2, "2126-01-01T00:00:00.000Z")))
    far = k.Impostor({"/events": {"schema": "ripd/events/1", "total": 2, "events": [new, old]}})
    far_name = far.url.removeprefix("http://")
    done = world.rip("--url", world.url, "--url", far.url)
    assert done.returncode == 0 and done.stderr == "" and "\x1b" not in done.stdout, done
    head, *lines = done.stdout.splitlines()
    assert head.split()[:2] == ["HOST", "TIME"] and [line.split()[0] for line in lines] == \
        [far_name, world.url, world.url, far_name], done.stdout
    done = world.rip("--json", "--limit", "3", "--url", far.url, "--url", world.url)
    assert [json.loads(line) for line in done.stdout.splitlines()] == \
        [{**event, "host": world.url} for event in ours[::-1]] + [{**new, "host": far_name}]
    assert "1 older events are not shown" in done.stderr, done.stderr
    done = world.rip("--url", "http://127.0.0.1:1", "--url", far.url)
    assert done.returncode == 1 and "127.0.0.1:1 (connection refused)" in done.stderr and far_name in done.stdout
    far.close()


def lower_bounds(world):
    """A stall whose end nobody observed is not shown as short."""
    ends = [{"sequence": n, "kind": "end", "at": f"2026-01-01T00:00:0{n}.000Z", "ring": "far", "id": n, "name": "name",
             "lasted_ms": 5000, "lasted_max_ms": longest} for n, longest in enumerate((5900, 10000, None))]
    far = k.Impostor({"/events": {"schema": "ripd/events/1", "total": 3, "events": ends[::-1]}})
    lines = world.rip("--url", far.url).stdout.splitlines()
    assert [line.split()[6] for line in lines[1:]] == ["5.0s", ">5.0s", ">5.0s"], lines
    far.close()


def wrong_flags(world):
    """Wrong flags are refused before rip connects: nothing listens on that port."""
    for arguments, words in (
            (["--colour"], ["--colour"]), (["word"], ["word"]), (["--url"], ["--url", "value"]),
            (["--json=1"], ["--json", "no value"]), (["--url", "ftp://x"], ["ftp://x", "expected"]),
            (["--since-id", "7"], ["'7'", "EPOCH-SEQUENCE"]), (["--exec", "true"], ["--exec", "--follow"]),
            (["--state", "x"], ["--state", "--follow"]), (["--follow", "--limit", "1"], ["--limit"]),
            (["--follow", "--exec", ""], ["--exec", "expected"]), (["--name", "x" * 5000], ["too long"]),
            (["--name", "x" * 300], ["--name", "longer than"]), (["--ring", ""], ["--ring", "no value"]),
            (["--since", "x"], ["--since"]),
            (["--follow", "--since", "1h"], ["--since", "without"]),
            (["--url", "http://x", "--url", "http://y", "--since-id", "0000000000000001-1"], ["--since-id", "one"]),
            (["--url", "http://x", "--url", "http://y", "--follow", "--state", "x"], ["--state", "one"]),
            (["--kind", "middle"], ["--kind", "middle", "begin"]), (["--cause", "!no"], ["--cause", "spinning"]),
            (["--limit", "x"], ["--limit", '"x"', "10000"]), (["--limit", "0"], ["--limit"]),
            (["--follow", "--min", "-1"], ["--min", "duration"]), (["--pid", "x\n\x1b"], ["--pid"])):
        done = world.rip(*arguments, RIPD_URL="http://127.0.0.1:1")
        assert done.returncode == 2 and done.stdout == "", (arguments, done)
        assert done.stderr.count("\n") == 1 and "\x1b" not in done.stderr, done.stderr
        for word in words:
            assert word in done.stderr, (arguments, done.stderr)
    done = world.rip("--help")
    assert done.returncode == 0 and not done.stderr


def without_rip_client(world):
    """rip finds rip-client relative to its own path, and reports that path if rip-client is missing."""
    bin_folder, libexec = os.path.join(world.made, "bin"), os.path.join(world.made, "libexec/rip")
    os.makedirs(bin_folder)
    shutil.copy(k.RIP, bin_folder)
    command = [os.path.join(bin_folder, "rip"), "events", "--limit", "x"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1, done
    assert "rip-client" in done.stderr and "libexec/rip" in done.stderr, done
    os.makedirs(libexec)
    shutil.copy(f"{k.RIP}-client", libexec)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--limit" in done.stderr, done


class Stranger(http.server.BaseHTTPRequestHandler):
    """A web server that is not ripd."""
    asked = []

    def do_GET(self):  # pylint: disable=invalid-name
        Stranger.asked.append(self.path)
        kind = self.path.split("/")[1]
        if kind == "redirect":
            self.send_response(302)
            self.send_header("Location", "/html/events")
            self.end_headers()
            return
        status, media, body = {
            "html": (200, "text/html", b"<html>"), "missing": (404, "text/html", b"no"),
            "json": (200, "application/json", b"[1, 2]"), "broken": (200, "application/json", b'{"schema": "ripd/eve'),
            "other": (200, "application/json", b'{"schema": "ripd/events/2", "events": []}'),
            "list": (200, "application/json", b'{"schema": "ripd/events/1", "events": 7}'),
            "odd": (200, "application/json",
                    b'{"schema": "ripd/events/1", "events": [7, null, {}, {"id": "x", "at": 5}]}'),
            "busy": (503, "application/problem+json", b'{"detail": "too many streams"}'),
            "problem": (400, "application/problem+json", b'{"detail": "no \\u001b[31m such"}')}[kind]
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):  # pylint: disable=arguments-differ
        pass


def servers_that_are_not_ripd(world):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    for kind, status in (("html", 3), ("missing", 3), ("json", 3), ("broken", 3), ("other", 3), ("list", 3),
                         ("redirect", 3), ("problem", 2), ("busy", 1), ("odd", 0)):
        done = world.rip("--url", f"{url}/{kind}")
        assert done.returncode == status, (kind, done)
        assert done.stderr.count("\n") == (status != 0) and "\x1b" not in done.stderr, (kind, done)
    assert "/html/events" in Stranger.asked and Stranger.asked.count("/html/events") == 1, "a followed redirect"
    for kind in ("html", "missing", "redirect", "json"):
        done = world.rip("--follow", "--url", f"{url}/{kind}")
        assert done.returncode == 3 and done.stderr.count("\n") == 1, (kind, done)
    server.shutdown()
    for url, shown in (("http://127.0.0.1:1", "127.0.0.1:1"), (f"unix:{world.made}/nobody", "nobody")):
        done = world.rip("--url", url)
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done
        assert shown in done.stderr and "Is it running? systemctl status ripd" in done.stderr, done


def no_proxy(world):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    proxy = f"http://127.0.0.1:{server.server_address[1]}"
    Stranger.asked.clear()
    done = world.rip("--url", f"http://127.0.0.1:{world.port}", http_proxy=proxy, ALL_PROXY=proxy, all_proxy=proxy)
    assert done.returncode == 0 and not Stranger.asked, (done, Stranger.asked)
    server.shutdown()


def full_disks_and_closed_pipes(world):
    world.stall(world.puppet(), 5)
    with open("/dev/full", "w", encoding="ascii") as full:
        for arguments in (["events"], ["events", "--json"], ["events", "--help"], ["run", "--help"], ["--help"],
                          ["--version"], ["events", "--follow"], ["stalls"], ["ls"], ["show", "app"]):
            done = subprocess.run([k.RIP, *arguments], env=world.environment, stdout=full, stderr=subprocess.PIPE,
                                  text=True, timeout=w.PATIENCE_S, check=False)
            assert done.returncode == 4 and "No space left" in done.stderr, (arguments, done)
    reading, writing = os.pipe()
    os.close(reading)
    for command in ("events", "stalls", "ls"):
        done = subprocess.run([k.RIP, command], env=world.environment, stdout=writing, stderr=subprocess.PIPE,
                              text=True, timeout=w.PATIENCE_S, check=False)
        assert done.returncode == 4 and done.stderr == "", done
    os.close(writing)


if __name__ == "__main__":
    w.run([table, filters, hostile_names, terminal, several_hosts, lower_bounds, wrong_flags, without_rip_client,
           servers_that_are_not_ripd, no_proxy, full_disks_and_closed_pipes], k.CliWorld)
