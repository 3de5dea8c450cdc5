# SPDX-License-Identifier: Apache-2.0
"""The daemon as a program: flags, exit statuses, signals, and answers and errors over HTTP."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402


def wrong_flags(_world):
    cases = {
        "--interval 5": ("--interval", "duration"),
        "--interval 0s": ("--interval", "10ms"),
        "--stall-after": ("--stall-after", "value"),
        "--stall-after=never": ("never", "duration"),
        "--nonsense": ("--nonsense", "help"),
        "--listen 127.0.0.1": ("--listen", "ADDR:PORT"),
        "--log-level loud": ("loud", "debug"),
        "--help=1": ("--help", "no value"),
        "word": ("word", "help"),
    }
    for line, words in cases.items():
        result = subprocess.run([f"{w.BIN}/ripd", *line.split()], capture_output=True, text=True, timeout=w.PATIENCE_S,
                                check=False)
        assert result.returncode == 2, (line, result)
        assert result.stderr.count("\n") == 1 and result.stdout == "", (line, result)
        for word in words:
            assert word in result.stderr, (line, result.stderr)


def check_config(world):
    path = os.path.join(world.made, "ripd.conf.txt")

    def check(text, *flags):
        with open(path, "wb") as file:
            file.write(text)
        return subprocess.run([f"{w.BIN}/ripd", "--config", path, *flags], capture_output=True, text=True,
                              timeout=w.PATIENCE_S, check=False)

    result = check(b"# mine\n[ripd]\nstall-after = 2m\ndir = /a\ndir = /b\n", "--check-config", "--interval", "2s")
    assert (result.returncode, result.stdout, result.stderr) == (0, f"ripd: {path}: ok\n", ""), result
    for text, said in ((b"\nstall-after = 2\n", f"{path}:2: stall-after: '2' is not accepted; expected a duration"),
                       (b"stall = 2s\n", f"{path}:1: stall: the key is not known"),
                       (b"\x7fELF\x00\n", f"{path}:1: a control byte is in the line"),
                       (b"dir = /a\n" * 9000, f"--config: {path}: too large")):
        for flags in ((), ("--check-config",)):  # ripd does not start with such a file either
            result = check(text, *flags)
            assert result.returncode == 2 and result.stdout == "", result
            assert result.stderr.startswith(f"ripd: {said}") and result.stderr.count("\n") == 1, result


def help_and_version(_world):
    for flag in ("--help", "--version"):
        result = subprocess.run([f"{w.BIN}/ripd", flag], capture_output=True, text=True, timeout=w.PATIENCE_S,
                                check=True)
        assert result.stdout and not result.stderr
    assert "--stall-after" in subprocess.run([f"{w.BIN}/ripd", "--help"], capture_output=True, text=True,
                                             check=True).stdout
    for flag in ("--help", "--version", "--check-config"):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([f"{w.BIN}/ripd", flag], stdout=full, stderr=subprocess.PIPE, text=True,
                                    timeout=w.PATIENCE_S)
        assert result.returncode == 1 and result.stderr.count("\n") == 1, (flag, result)


def address_in_use(world):
    result = subprocess.run([f"{w.BIN}/ripd", "--listen", f"127.0.0.1:{world.port}", "--dir", world.dir],
                            capture_output=True, text=True, timeout=w.PATIENCE_S, check=False)
    assert result.returncode == 1 and str(world.port) in result.stderr and "in use" in result.stderr, result


def stops_cleanly(world):
    for number in (signal.SIGTERM, signal.SIGINT):
        world.ripd.send_signal(number)
        assert world.ripd.wait(timeout=w.PATIENCE_S) == 0
        world.start()


def endpoints(world):
    for path, schema in {"/stalls": "ripd/stalls/1", "/threads": "ripd/threads/1", "/rings": "ripd/rings/1"}.items():
        answer = world.get(path)
        assert answer["schema"] == schema and answer["total"] == 0 and answer["returned"] == 0
        assert answer[path[1:]] == [] and set(answer["counts"]) >= {"running", "idle", "stalled", "stopped"}
    assert world.request("/healthz")[0] == 200 and world.request("/readyz")[0] == 200
    assert world.get("/version")["ring_format"] == 1


def one_thread(world):
    app = world.puppet()
    app.do("spawn 5 five snap")
    world.wait_for(lambda: world.state(5) == "running" and world.thread(5)["snaps"] > 1)
    answer = world.get("/threads/app/5")
    assert answer["thread"]["id"] == 5 and answer["thread"]["name"] == "five" and answer["thread"]["trail"]
    status, problem = world.request("/threads/app/6")
    assert status == 404 and problem["status"] == 404
    assert world.request("/threads/nothing/5")[0] == 404


def filters(world):
    app = world.puppet()
    app.do("spawn-many 20")
    world.wait_for(lambda: world.get("/stalls")["counts"]["running"] == 20)
    assert world.get("/threads?name=worker-1*")["total"] == 11
    assert world.get("/threads?state=idle")["total"] == 0
    assert world.get(f"/threads?pid={app.pid}")["total"] == 20
    assert world.get("/threads?ring=other")["total"] == 0
    seen, after = [], ""
    while True:
        answer = world.get(f"/threads?limit=7{after}")
        seen += [t["id"] for t in answer["threads"]]
        if "next" not in answer:
            break
        after = f"&after={answer['next']}"
    assert sorted(seen) == list(range(1, 21))
    for number in (3, 4):
        app.do(f"freeze {number}")
    world.wait_for(lambda: world.stalled_ids() == [3, 4])
    assert world.get("/stalls?name=worker-3")["total"] == 1
    assert world.get("/stalls?min_ms=3600000")["total"] == 0
    assert world.get("/threads?state=stalled")["total"] == 2


def refusals(world):
    ours = {"Host": f"127.0.0.1:{world.port}"}
    cases = [
        ("/stalls?colour=red", "GET", ours, 400), ("/stalls?limit=0", "GET", ours, 400),
        ("/stalls?limit=10001", "GET", ours, 400), ("/stalls?after=xyz", "GET", ours, 400),
        ("/threads?state=asleep", "GET", ours, 400), ("/stalls?state=idle", "GET", ours, 400),
        ("/nothing", "GET", ours, 404), ("/stalls", "POST", ours, 405), ("/stalls", "DELETE", ours, 405),
        ("/stalls", "GET", {"Host": "evil.example"}, 421),
        ("/stalls", "GET", {**ours, "Origin": "http://evil.example"}, 403),
        ("/stalls", "GET", {**ours, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}, 403),
        ("/stalls", "GET", {**ours, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200),
        ("/stalls", "GET", {"Host": f"localhost:{world.port}"}, 200),
    ]
    for path, method, headers, expected in cases:
        status, body = world.request(path, method, headers)
        assert status == expected, (path, method, headers, status, body)
        if expected >= 400:
            assert body["status"] == expected and body["title"], body
    assert "colour" in world.request("/stalls?colour=red")[1]["detail"]


def head_has_no_body(world):
    status, body = world.request("/stalls", "HEAD")
    assert status == 200 and body == ""


w.run([wrong_flags, check_config, help_and_version, address_in_use, stops_cleanly, endpoints, one_thread, filters,
       refusals, head_has_no_body])
