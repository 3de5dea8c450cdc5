# SPDX-License-Identifier: Apache-2.0
"""`rip check` always prints one line, with an exit status as defined for Nagios plugins."""
import json
import re

import cli_kit as k
from cli_kit import w

OK, WARNING, CRITICAL, UNKNOWN = range(4)
NAMES = ["OK", "WARNING", "CRITICAL", "UNKNOWN"]
STALL = {"ring": "r", "id": 1, "name": "w|1\x1b", "state": "stalled", "cause": "blocked", "frozen_for_ms": 5000}
PERFDATA = re.compile(r" \| stalled=\d+;;;0 longest=\d+\.\d{3}s;\d+\.\d{3};\d+\.\d{3};0 unreadable_rings=\d+;;;0$")
NOTHING_KNOWN = " | stalled=U longest=U unreadable_rings=U"


def expect(world, status, *arguments, words=(), **variables):
    done = world.command("check", *arguments, **variables)
    assert done.returncode == status and done.stdout.count("\n") == 1, (arguments, done)
    assert done.stdout.startswith(f"RIP {NAMES[status]} - ") and "\x1b" not in done.stdout, done
    for word in words:
        assert word in done.stdout, (word, done)
    return done.stdout[:-1]


def a_stall_begins_and_ends(world):
    assert PERFDATA.search(expect(world, OK, words=["nothing is stalled"]))
    app = world.puppet()
    app.do("spawn 5 name-5 snap")
    app.do("freeze 5")
    world.wait_for(lambda: world.stalled_ids() == [5] and world.stalls()[0]["cause"])
    line = expect(world, WARNING, words=["1 stalled", "name-5"])
    assert PERFDATA.search(line) and line.count("|") == 1, line
    expect(world, CRITICAL, "--critical", "500ms")
    expect(world, OK, "--warning=1h", "--critical=2h")
    expect(world, OK, "--cause", "spinning")
    expect(world, OK, "--name", "other*")
    assert json.loads(world.command("check", "--json").stdout)["check"] == "WARNING"
    app.do("thaw 5")
    world.wait_for(lambda: not world.stalls())
    expect(world, OK)


def unknown_states(world):
    """With incomplete data the status is never OK. A critical stall stays critical even if another host is silent."""
    silent = ["--url", "http://127.0.0.1:1"]
    line = expect(world, UNKNOWN, *silent, words=["ripd does not answer on 127.0.0.1:1", "systemctl status ripd"])
    assert line.endswith(NOTHING_KNOWN), line
    expect(world, UNKNOWN, "--url", world.url, *silent)
    for status, document in ((UNKNOWN, k.stalls_document(scan={"age_ms": 60000, "interval_ms": 1000})),
                             (UNKNOWN, k.stalls_document(STALL, scan={"age_ms": 60000, "interval_ms": 1000})),
                             (UNKNOWN, k.stalls_document(unreadable_rings=1)),
                             (WARNING, k.stalls_document(STALL, unreadable_rings=1)),
                             (UNKNOWN, {"schema": "ripd/stalls/2"}), (UNKNOWN, (503, {"detail": "no scan | yet"})),
                             (WARNING, k.stalls_document(STALL)), (OK, k.stalls_document())):
        server = k.Impostor({"/stalls": document})
        line = expect(world, status, "--url", server.url)
        assert line.count("|") == 1 and (PERFDATA.search(line) or line.endswith(NOTHING_KNOWN)), line
        server.close()
    server = k.Impostor({"/stalls": k.stalls_document(STALL)})
    expect(world, CRITICAL, "--url", server.url, *silent, "--critical", "5s",
           words=["127.0.0.1:1", f" s: {server.url.removeprefix('http://')}: "])
    said = json.loads(world.command("check", "--json", "--url", server.url, *silent).stdout)
    assert said["host"] == server.url.removeprefix("http://") and "127.0.0.1:1" in said["detail"], said
    expect(world, UNKNOWN, "--url", server.url, *silent, "--critical", "6s")
    server.close()


class Prometheus(k.ImpostorHandler):
    """Has no instance with stalls, and one that it no longer reaches."""
    def do_GET(self):  # pylint: disable=invalid-name
        lost = [{"metric": {"instance": "db|7:7470"}, "value": [0, "0"]}] if "unless" in self.path else []
        body = json.dumps({"status": "success", "data": {"resultType": "vector", "result": lost}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def a_host_that_prometheus_lost(world):
    server = k.Impostor({})
    server.RequestHandlerClass = Prometheus
    arguments = ["--prometheus", server.url]
    line = expect(world, UNKNOWN, *arguments, words=["db/7:7470", "Prometheus"])
    assert line.endswith(NOTHING_KNOWN), line
    assert json.loads(world.command("check", "--json", *arguments).stdout)["silent_hosts"] == 1
    server.close()


def wrong_flags(world):
    for arguments in (["--warning", "x"], ["--critical", "5"], ["--warning=2m", "--critical=1m"], ["--cause", "x"],
                      ["--no"], ["word"], ["--url", "x"], ["--timeout", "x"]):
        done = world.command("check", *arguments, RIPD_URL="http://127.0.0.1:1")
        assert done.returncode == UNKNOWN and done.stdout == "RIP UNKNOWN - nothing was checked\n", (arguments, done)
        assert done.stderr.count("\n") == 1 and arguments[0].split("=")[0] in done.stderr, done
    assert world.command("check", "--help").returncode == OK


if __name__ == "__main__":
    w.run([a_stall_begins_and_ends, unknown_states, a_host_that_prometheus_lost, wrong_flags], k.CliWorld)
