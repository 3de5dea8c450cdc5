# SPDX-License-Identifier: Apache-2.0
"""Answers of the daemon, compared with the documented interface: names, types, null values, and errors."""
import json
import os
import re
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import hostile_ring as h  # noqa: E402
import world as w  # noqa: E402

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
COUNT = int
LOCATION = {"module": str, "build_id": (str, None), "offset": re.compile("0x[0-9a-f]+"), "function": (str, None),
            "file": (str, None), "line": (int, None)}
PROCESS = {"pid": (int, None), "comm": (str, None), "exe": (str, None), "cmdline": (str, None), "uid": (int, None),
           "unit": (str, None), "container": (str, None), "started_at": (re.compile(TIME), None), "attested": bool}
ITEM = {"ring": str, "source": (str, None), "id": int, "tid": (int, None), "name": str, "note": (str, None),
        "process": (PROCESS, None),
        "summary": str,
        "state": str, "cause": (str, None), "since": (re.compile(TIME), None), "frozen_for_ms": (int, None),
        "frozen_for_max_ms": (int, None), "threshold_ms": int, "since_earliest": (re.compile(TIME), None),
        "last": (dict, None), "reason": (str, None), "snaps": int, "location": (LOCATION, None),
        "kernel": (dict, None), "waits_for": (list, None), "waits_for_left_out": (int, None),
        "trail": [{key: form for key, form in [("count", int), *LOCATION.items()] if key != "build_id"}]}
FRAME = {"schema": str, "generated_at": re.compile(TIME),
         "scan": {"sequence": int, "age_ms": int, "interval_ms": int},
         "counts": {"running": int, "idle": int, "stalled": int, "stopped": int, "exited": int, "dead": int},
         "unreadable_rings": int, "total": int, "returned": int}
LIMITED = {"uid": int, "limit": str, "refused": int}
RING = {"ring": str, "directory": str, "health": str, "reason": (str, None), "dead": (bool, None), "unlinked": bool,
        "source": (str, None), "coverage": (str, None), "coverage_reasons": [str],
        "uid": int, "file_bytes": int, "capacity": (int, None), "live": (int, None), "counts": (FRAME["counts"], None),
        "modules_dropped": (int, None),
        "registered": (int, None), "refused": ({"full": int, "memory": int, "processes": int}, None),
        "created_at": (re.compile(TIME), None), "processes": [{"index": int, **PROCESS, "dead": bool}]}


def holds(value, form, at="$"):
    if isinstance(form, tuple):
        if value is None:
            assert None in form, f"{at} is null"
            return
        form = form[0]
    if isinstance(form, dict):
        assert isinstance(value, dict) and list(value) == list(form), f"{at}: {list(value)}, not {list(form)}"
        for key, inner in form.items():
            holds(value[key], inner, f"{at}.{key}")
    elif isinstance(form, list):
        assert isinstance(value, list), at
        for i, one in enumerate(value):
            holds(one, form[0], f"{at}[{i}]")
    elif isinstance(form, re.Pattern):
        assert isinstance(value, str) and form.fullmatch(value), f"{at}: {value}"
    else:
        assert type(value) is form, f"{at}: {value!r}"  # exact types: bool is not int


def raw(world, text, port=None):
    """Sends a request unchanged. Returns (status, header fields, body)."""
    connection = socket.create_connection(("127.0.0.1", port or world.port), timeout=w.PATIENCE_S)
    connection.sendall(text.encode("latin-1"))
    answer = b""
    while True:
        part = connection.recv(65536)
        if not part:
            break
        answer += part
    connection.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    return int(lines[0].split()[1]), dict(line.lower().split(": ", 1) for line in lines[1:]), body


def ask(world, path="/stalls", method="GET", host="localhost", **fields):
    text = "".join(f"{key.replace('_', '-')}: {value}\r\n" for key, value in fields.items())
    host = f"Host: {host}\r\n" if host is not None else ""
    status, answered, body = raw(world, f"{method} {path} HTTP/1.1\r\n{host}{text}Connection: close\r\n\r\n")
    assert not any(name.startswith("access-control") for name in answered), answered
    if status >= 400 and method != "HEAD":
        assert answered["content-type"] == "application/problem+json", answered
        assert json.loads(body)["status"] == status, body
    return status, answered, body


def shapes(world):
    app = world.puppet()
    app.do("spawn 17 worker-17 snap")
    app.do("spawn 18 idler idle")
    app.do("spawn 19 mute never")
    app.do("coroutine 20 parked")
    world.wait_for(lambda: world.state(17) == "running")
    app.do("freeze 17")
    world.wait_for(lambda: world.stalled_ids() == [17, 19, 20])
    for path, key, form in (("/stalls", "stalls", ITEM), ("/threads", "threads", ITEM), ("/rings", "rings", RING)):
        document = world.get(path)
        assert document["schema"] == f"ripd/{key}/1"
        holds(document, {**FRAME, **({"limited": [LIMITED]} if key == "rings" else {}), key: [form]})
        assert document["total"] == document["returned"] == len(document[key])
    holds(world.get("/threads/app/17"), {**FRAME, "thread": ITEM})
    stall = world.wait_for(lambda: [item for item in [world.thread(17)] if item["cause"] is not None][0])
    assert stall["cause"] in ("blocked", "unknown")  # the cause is unknown if evidence is denied
    assert stall["process"]["attested"] and stall["process"]["pid"] == app.pid
    assert stall["frozen_for_ms"] <= stall["frozen_for_max_ms"] and stall["threshold_ms"] == world.STALL_AFTER_MS
    assert stall["trail"][0]["count"] == stall["snaps"] - 1
    assert {key: stall["trail"][0][key] for key in ("module", "offset")} == {
        key: stall["location"][key] for key in ("module", "offset")}
    assert world.thread(19)["location"] is None and world.thread(19)["trail"] == []
    parked = world.wait_for(lambda: [item for item in [world.thread(20)] if item["cause"] is not None][0])
    assert parked["tid"] is None and parked["kernel"] is None and parked["cause"] == "parked"
    idle = world.thread(18)
    assert idle["state"] == "idle" and idle["since_earliest"] <= idle["since"] and idle["last"] is None, idle
    app.do("thaw 17")
    world.wait_for(lambda: world.state(17) == "running")
    assert all(world.thread(17)[key] is None for key in ("since", "since_earliest", "frozen_for_ms", "last"))


def counts_follow_the_filters(world):
    """Counts include ids of all states: an answer about stalls of a ring counts its idle ids, too."""
    one, other = world.puppet(ring="one"), world.puppet(ring="other.1")
    for number in (1, 2, 3):
        one.do(f"spawn {number} worker-{number} idle")
    other.do("spawn 4 worker-4 idle")
    other.do("spawn 5 mute never")
    world.wait_for(lambda: world.stalled_ids() == [5] and world.get("/stalls")["counts"]["idle"] == 4)
    for path, idle, stalled in (("/stalls?cause=deadlock", 4, 1), ("/stalls?ring=one", 3, 0),
                                ("/stalls?ring=o*", 4, 1), ("/stalls?ring=*.1", 1, 1),
                                (f"/stalls?pid={one.pid}", 3, 0), ("/stalls?name=worker-[34]", 2, 0),
                                ("/stalls?name=mute&group=location", 0, 1), ("/threads?state=dead&ring=one", 3, 0),
                                ("/threads?name=worker-*&ring=*.1", 1, 0), ("/threads/one/2", 1, 0),
                                (f"/locations?pid={other.pid}", 1, 1), ("/rings?ring=one", 3, 0),
                                ("/rings?ring=o*&limit=1", 4, 1), ("/rings?ring=nothing", 0, 0),
                                ("/events?ring=*.1", 1, 1)):
        document = world.get(path)
        assert document["counts"]["idle"] == idle and document["counts"]["stalled"] == stalled, (path, document)
        assert sum(document["counts"].values()) == idle + stalled, (path, document)
    assert world.get("/rings?ring=one")["rings"][0]["counts"]["idle"] == 3
    world.wait_for(lambda: world.get("/events?since=1h")["total"] == 1)
    assert world.get("/events?since=2020-01-01T00:00:00Z")["total"] == 1
    assert world.get("/events?since=2200-01-01T00:00:00Z")["total"] == 0


def states_of_all(world):
    """/states has one letter for each id, in the order of /threads, with the numbers of the ids."""
    app = world.puppet(capacity=16384)
    app.do("spawn 9000 idler idle")
    app.do("spawn-many 200")
    world.wait_for(lambda: world.get("/stalls")["counts"]["running"] == 200)
    app.do("freeze 17")
    world.wait_for(lambda: world.stalled_ids() == [17])

    def numbers(document):
        return [first + i for item in document["states"] for first, count in item["ids"] for i in range(count)]

    document = world.get("/states")
    holds(document, {**FRAME, "states": [{"ring": str, "letters": str, "ids": [list]}]})
    ids, letters = numbers(document), "".join(item["letters"] for item in document["states"])
    assert document["total"] == document["returned"] == len(ids) == len(letters) == 201, document
    assert ids == [item["id"] for item in world.get("/threads?limit=10000")["threads"]]
    assert {letters[i]: ids[i] for i in range(201) if letters[i] != "r"} == {"i": 9000, "s": 17}, document
    first = world.get("/states?limit=150")
    rest = world.get(f"/states?limit=150&after={first['next']}")
    assert numbers(first) + numbers(rest) == ids and "next" not in rest
    assert world.get("/states?ring=other*")["states"] == [] and numbers(world.get("/states?name=idler")) == [9000]
    assert ask(world, path="/states?limit=1000001")[0] == 400


def rings_that_cannot_be_read_are_counted(world):
    """Every list counts unreadable rings: otherwise an empty list of stalls would look like good news."""
    ring = h.Ring(world.ring("closed"), capacity=64)
    ring.publish()
    world.wait_for(lambda: [found["health"] for found in world.get("/rings")["rings"]] == ["readable"])
    paths = ("/stalls", "/threads", "/locations", "/rings", "/events", "/stalls?group=root", "/stalls?ring=app")
    assert all(world.get(path)["unreadable_rings"] == 0 for path in paths)
    os.truncate(world.ring("closed"), 4096)
    world.wait_for(lambda: world.get("/rings")["rings"][0]["health"] == "damaged")
    for path in paths:
        document = world.get(path)
        assert document["unreadable_rings"] == 1, document
    assert world.get("/stalls")["total"] == 0 and world.request("/readyz")[0] == 200
    assert world.metric('ripd_rings{health="damaged"}') == 1
    ring.close()


def hosts(world):
    for host in ("localhost", "LOCALHOST", "localhost.", f"localhost:{world.port}", "127.0.0.1", "127.1.2.3:80",
                 "[::1]", "[::1]:7470", "app.localhost", "[::ffff:127.0.0.1]"):
        assert ask(world, host=host)[0] == 200, host
    for host in ("example.org", "127.0.0.1.example.org", "localhost.example.org", "10.0.0.1", "[::2]", "128.0.0.1",
                 "2130706433"):
        assert ask(world, host=host)[0] == 421, host
    for host in (None, "", "a b", "localhost:http", "[::1", "localhost, localhost", "user@localhost", "localhost/x"):
        assert ask(world, host=host)[0] == 400, host
    assert raw(world, "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n")[0] == 400
    assert ask(world, path="/nowhere", host="example.org")[0] == 421  # the host is checked before the path


def origins(world):
    for fields in ({"Sec_Fetch_Site": "same-origin"}, {"Sec_Fetch_Site": "none"}, {"Origin": "http://localhost"},
                   {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"},
                   {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}):
        assert ask(world, **fields)[0] == 200, fields
    for fields in ({"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"}, {"Origin": "null"},
                   {"Origin": "http://example.org"}, {"Origin": "http://localhost:1"}, {"Origin": "https://a.b"},
                   {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"},
                   {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "cors", "Sec_Fetch_Dest": "empty"},
                   {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}):
        assert ask(world, **fields)[0] == 403, fields


def methods(world):
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "get", "PROPFIND"):
        status, fields, _ = ask(world, method=method)
        assert status == 405 and fields["allow"] == "get, head", (method, status, fields)
    for path in ("/stalls", "/threads", "/threads/x/1", "/rings", "/healthz", "/readyz", "/version", "/nowhere",
                 "/stalls?limit=0"):
        status, fields, body = ask(world, path)
        head_status, head_fields, head_body = ask(world, path, method="HEAD")
        assert head_body == b"" and head_status == status
        assert set(head_fields) == set(fields) and head_fields["content-type"] == fields["content-type"]
        assert int(fields["content-length"]) == len(body)


def parameters(world):
    app = world.puppet()
    app.do("spawn 1 one never")
    app.do("spawn 2 two idle")
    app.do("coroutine 3 three")
    world.wait_for(lambda: world.stalled_ids() == [1, 3])
    world.wait_for(lambda: all(stall["cause"] for stall in world.stalls()))
    for query, expected in (("cause=parked", [3]), ("cause=!parked", [1]), ("cause=%21parked", [1]), ("name=o*", [1]),
                            ("name=[!o]*", [3]), ("ring=app", [1, 3]), ("ring=ap", []), (f"pid={app.pid}", [1, 3]),
                            ("pid=1", []), ("min_ms=1", [1, 3]), ("min_ms=999999999", []), ("limit=1&ring=app", None)):
        found = sorted(stall["id"] for stall in world.stalls("?" + query))
        assert found == expected or (expected is None and len(found) == 1), (query, found)
    assert [item["id"] for item in world.get("/threads?state=idle")["threads"]] == [2]
    for query, name in (("limit=0", "limit"), ("limit=10001", "limit"), ("limit=x", "limit"), ("colour=red", "colour"),
                        ("pid=0", "pid"), ("pid=-1", "pid"), ("min_ms=", "min_ms"), ("cause=lazy", "cause"),
                        ("cause=!", "cause"), ("after=x", "after"), ("state=idle", "state"), ("ring=%zz", "ring"),
                        ("name=%00", "name"), ("limit=1&limit=2", "limit"), ("trail=33", "trail"),
                        ("trail=-1", "trail"), ("trail=", "trail")):
        status, _, body = ask(world, "/stalls?" + query)
        assert status == 400 and json.loads(body)["parameter"] == name, (query, status, body)
        assert name in json.loads(body)["detail"]
    for path in ("/healthz?x=1", "/version?limit=1", "/threads/app/1?limit=1", "/threads?state=lost",
                 "/rings?state=dead", "/rings?trail=1", "/locations?trail=1", "/events?trail=1"):
        assert ask(world, path)[0] == 400, path
    for path in ("/page/", "/stalls/", "/threads/app", "/threads/app/", "/threads//1", "/threads/app/x",
                 "/threads/app/4294967296", "/threads/app/99", "/threads/nobody/1", "/threads/app/1/2"):
        assert ask(world, path)[0] == 404, path


def trails(world):
    """The number of breadcrumbs of each id: as requested, or the default of the path."""
    app = world.puppet()
    app.do("spawn 1 one never")
    app.do("spawn 2 two snap")
    world.wait_for(lambda: world.thread(2)["snaps"] > 32)
    app.do("freeze 2")
    world.wait_for(lambda: world.stalled_ids() == [1, 2])

    def lengths(path, key):
        return {item["id"]: len(item["trail"]) for item in world.get(path)[key]}

    assert lengths("/stalls", "stalls") == {1: 0, 2: 4}
    assert lengths("/threads", "threads") == {1: 0, 2: 0}
    for count in (0, 1, 4, 31, 32):
        assert lengths(f"/stalls?trail={count}", "stalls") == {1: 0, 2: count}
        assert lengths(f"/threads?trail={count}", "threads") == {1: 0, 2: count}
    assert len(world.get("/threads/app/2")["thread"]["trail"]) == 32
    assert len(world.get("/threads/app/2?trail=3")["thread"]["trail"]) == 3
    whole = world.get("/stalls?trail=32")["stalls"]
    assert [stall["trail"][:4] for stall in world.stalls()] == [stall["trail"][:4] for stall in whole]
    limited = [one["limit"] for one in world.get("/rings")["limited"]]
    assert set(limited) <= {"evidence_time"}, limited  # on a busy machine there may be no time for evidence


def lists_have_a_hundred(world):
    ring = h.Ring(world.ring("many"), capacity=256)
    ring.process(0, os.getpid())
    for i in range(256):
        ring.slot(i)
    ring.publish()
    world.wait_for(lambda: world.get("/stalls?limit=1")["total"] == 256)
    for path, key in (("/threads", "threads"), ("/stalls", "stalls")):
        document = world.get(path)
        assert len(document[key]) == document["returned"] == 100 and "next" in document, path
        document = world.get(path + "?limit=10000")
        assert len(document[key]) == document["returned"] == 256 and "next" not in document, path
    ring.close()


def pages_while_ids_come_and_go(world):
    """An id that exists all the time is on exactly one page, even if other ids come and go."""
    ring = h.Ring(world.ring("many"), capacity=4096)
    ring.process(0, os.getpid())
    stay = set(range(0, 4096, 2))
    for i in stay:
        ring.slot(i, number=i)
    ring.publish()
    world.wait_for(lambda: world.get("/stalls?limit=1")["total"] == len(stay))
    for path, key in (("/threads", "threads"), ("/stalls", "stalls")):
        seen, after, turn = [], "", 0
        while True:
            document = world.get(f"{path}?limit=100{after}")
            seen += [item["id"] for item in document[key] if item["id"] in stay]
            if "next" not in document:
                break
            after = "&after=" + document["next"]
            for i in range(1 + 2 * turn, 4096, 64):  # other ids come, before and after the cursor
                ring.slot(i, number=100000 + i)
            turn += 1
            world.wait_scans(1)
        assert sorted(seen) == sorted(stay), (path, len(seen), len(stay))
        assert turn >= 20
    ring.close()


def notes(world):
    """A note is in the stall, in lists, in the event and in the log, until it is replaced or removed."""
    app = world.puppet()
    texts = {1: b"GET /checkout?id=7", 2: b"\x1b[2J\xff\0", 3: b"x" * 200}
    for number, text in texts.items():
        app.do(f"spawn {number} worker-{number} snap")
        app.do(f"note {number} {text.hex()}")
    app.do("spawn 4 silent snap")
    shown = {1: texts[1].decode(), 2: "\x1b[2J\ufffd\0", 3: "x" * 127, 4: None}
    world.wait_for(lambda: {number: world.thread(number)["note"] for number in shown} == shown)
    assert bytes.fromhex(world.thread(2)["note_hex"]) == texts[2] and "note_hex" not in world.thread(1)
    for number in shown:
        app.do(f"freeze {number}")
    world.wait_for(lambda: world.stalled_ids() == [1, 2, 3, 4])
    assert {stall["id"]: stall["note"] for stall in world.stalls()} == shown
    world.wait_for(lambda: {event["id"]: event["note"] for event in world.get("/events")["events"]} == shown)
    log = world.wait_for(lambda: world.log_text().count("stall begin") == 4 and world.log_text())
    assert 'note="GET /checkout?id=7"' in log and "\x1b" not in log and log.count("note=") == 3
    app.do("thaw 1")
    app.do("note 1 -")
    world.wait_for(lambda: world.thread(1)["note"] is None)


def names(world):
    ring = h.Ring(world.ring("names"))
    ring.process(0, os.getpid(), comm=b"\x1b[2J\xff")
    texts = {1: b"plain \"quoted\" \\", 2: b"\xff\xfe", 3: b"tab\tnul\0del\x7f", 4: "käse\u202e".encode(), 5: b"",
             6: "über".encode(), 7: b"\xf0\x9f\x92"}
    for number, text in texts.items():
        ring.slot(number, name=text)
    ring.publish()
    world.wait_for(lambda: world.get("/threads?ring=names")["total"] == len(texts))
    _, _, body = ask(world, "/threads?ring=names")
    assert all(byte >= 0x20 or byte == 0x0a for byte in body) and b"\x7f" not in body
    items = {item["id"]: item for item in json.loads(body)["threads"]}
    for number, text in texts.items():
        item = items[number]
        assert ("name_hex" in item) == (number in (2, 3, 4, 7)), item["name"]
        assert bytes.fromhex(item.get("name_hex", text.hex())) == text
    assert items[1]["name"] == texts[1].decode() and items[6]["name"] == "über"
    assert items[2]["name"] == "\ufffd\ufffd" and items[7]["name"] == "\ufffd"
    assert items[1]["process"]["comm_hex"] == b"\x1b[2J\xff".hex()
    ring.close()


def listeners(world):
    path = os.path.join(world.made, "socket")
    world.stop()
    world.flags += ["--listen", "[::1]:0", "--listen", f"unix:{path}", "--allow-host", "db1.example.org"]
    world.start()
    assert f"listening on unix:{path}\n" in world.log_text()
    port = int(re.findall(r"listening on http://\[::1\]:(\d+)\n", world.log_text())[-1])
    assert ask(world, host="db1.example.org:7470")[0] == 200 and ask(world, host="db2.example.org")[0] == 421
    for family, address in ((socket.AF_INET6, ("::1", port)), (socket.AF_UNIX, path)):
        connection = socket.socket(family)
        connection.connect(address)
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")
        connection.close()
    assert world.stop() == 0 and not os.path.exists(path)
    world.start()


if __name__ == "__main__":
    w.run([shapes, counts_follow_the_filters, states_of_all, rings_that_cannot_be_read_are_counted, hosts,
           origins, methods, parameters, trails, lists_have_a_hundred, pages_while_ids_come_and_go, names, notes,
           listeners])
