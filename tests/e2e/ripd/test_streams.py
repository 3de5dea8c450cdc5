# SPDX-License-Identifier: Apache-2.0
"""The event stream of a real daemon, read as the HTML standard defines it: live, resumed, and across restarts."""
import json
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import schema  # noqa: E402
import world as w  # noqa: E402

STREAMS_MAX = 64
NAMES = [b'"' * 63, b"\x1b]0;owned\x07\x1b[2J", b"<script>alert(1)</script>", b"\xff\xfe\xc3(", b"\r\ndata: {}\r\n\r\n",
         b"\n\nid: 0000000000000000-9\n\n", "\u2028\u2029\u0085".encode(), b'","ring":"other","x":"']


class Source:
    """A minimal EventSource that does not reconnect."""

    def __init__(self, world, path="/events", last_id=None, version="1.1", unix=None):
        self.last_id = last_id or ""
        self.connection = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
        self.connection.settimeout(w.PATIENCE_S)
        self.connection.connect(unix or ("127.0.0.1", world.port))
        field = f"Last-Event-ID: {last_id}\r\n" if last_id else ""
        self.connection.sendall(f"GET {path} HTTP/{version}\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                                f"Cache-Control: no-cache\r\n{field}\r\n".encode())
        self.rest = b""
        self.retry_ms = None
        self.comments = 0
        status, *fields = self.until(b"\r\n\r\n").decode().split("\r\n")
        assert status == "HTTP/1.1 200 OK", status
        fields = dict(field.split(": ", 1) for field in fields if field)
        assert fields["Content-Type"] == "text/event-stream" and fields["Connection"] == "close", fields
        assert not any(name.lower().startswith("access-control") for name in fields), fields
        assert fields["Cross-Origin-Resource-Policy"] == "same-origin"

    def until(self, end):
        while end not in self.rest:
            part = self.connection.recv(65536)
            if not part:
                raise EOFError(self.rest)
            self.rest += part
        piece, _, self.rest = self.rest.partition(end)
        return piece

    def next(self):
        """Returns (type, data) of the next event."""
        kind, data, event_id = "", [], self.last_id
        while True:
            line = self.until(b"\n").decode()  # ripd uses only one of the three line ends
            assert "\r" not in line, line
            name, colon, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if not line:
                self.last_id = event_id
                if data:
                    schema.check_document(json.loads("\n".join(data)), "gap" if kind == "gap" else "event", "a stream")
                    return kind or "message", "\n".join(data)
                kind = ""
            elif not name:
                assert colon
                self.comments += 1
            elif name == "event":
                kind = value
            elif name == "data":
                data.append(value)
            elif name == "id":
                event_id = value
            elif name == "retry":
                self.retry_ms = int(value)
            else:
                raise AssertionError(line)

    def place(self):
        """Reads up to the first empty line, which is the start of every stream."""
        for line in self.until(b"\n\n").decode().split("\n"):
            if line.startswith("id: "):
                self.last_id = line[4:]
        return self.last_id

    def close(self):
        self.connection.close()


def stall(app, *numbers):
    for number in numbers:
        app.do(f"freeze {number}")


def app_with(world, names):
    app = world.puppet()
    for number, name in enumerate(names, 1):
        app.do(f"spawn-hex {number} {name.hex()} snap")
    world.wait_for(lambda: world.get("/stalls")["counts"]["running"] == len(names))
    return app


def held(world):
    """Returns the texts of the listed events by their ids in the stream."""
    document = world.get("/events?limit=10000")
    return {f"{document['epoch']}-{event['sequence']}": event for event in document["events"]}


def take(source, count):
    """Returns count events [(id, event)], and checks that they are the same as in the list."""
    taken = []
    for _ in range(count):
        kind, data = source.next()
        event = json.loads(data)
        assert event["kind"] == kind, (kind, data)
        taken.append((source.last_id, event))
    return taken


def live(world):
    app = app_with(world, [b"one", b"two"])
    for version in ("1.1", "1.0"):
        source = Source(world, version=version)
        source.place()
        stall(app, 1)
        begin = take(source, 1)
        app.do("thaw 1")
        end = take(source, 1)
        assert begin[0][1]["kind"] == "begin" and end[0][1]["kind"] == "end"
        assert begin[0][1]["episode"] == end[0][1]["episode"] and begin[0][1]["id"] == 1
        assert dict(begin + end).items() <= held(world).items()
        source.close()


def filters(world):
    app = app_with(world, [b"one", b"two"])
    source = Source(world, "/events?kind=begin&name=t*")
    source.place()
    stall(app, 1)
    world.wait_for(lambda: len(held(world)) == 1)
    stall(app, 2)
    assert take(source, 1)[0][1]["id"] == 2
    source.close()


def resumed(world):
    """A client that reconnects gets every event once and in order, also if it got none before."""
    app = app_with(world, [b"worker"] * 6)
    source = Source(world)
    place = source.place()
    source.close()
    stall(app, 1, 2)
    world.wait_for(lambda: len(held(world)) == 2)
    source = Source(world, last_id=place)
    seen = take(source, 2)
    source.close()
    stall(app, 3, 4)
    world.wait_for(lambda: len(held(world)) == 4)
    source = Source(world, last_id=source.last_id)
    seen += take(source, 2)
    stall(app, 5)
    seen += take(source, 1)
    assert seen == sorted(held(world).items(), key=lambda item: item[1]["sequence"])
    source.close()


def across_restarts(world):
    app = app_with(world, [b"worker"] * 3)
    source = Source(world)
    source.place()
    stall(app, 1)
    take(source, 1)
    assert world.stop() == 0  # the stream ends between two events
    try:
        while True:
            source.next()
    except EOFError as rest:
        assert rest.args[0] == b"", rest
    source.close()
    world.start()
    stall(app, 2)
    again = Source(world, last_id=source.last_id)  # without a state directory this is another history
    kind, data = again.next()
    gap = json.loads(data)
    assert kind == "gap" and gap["reason"] == "other_history" and gap["from"] is None, data
    assert gap["epoch"] == world.get("/events")["epoch"] != source.last_id.split("-")[0]
    assert 2 in {event["id"] for _, event in take(again, 2)}  # the stall of id 1 begins again
    again.close()
    world.stop()
    world.flags += ["--state-dir", world.state_dir]
    world.start()
    source = Source(world, last_id="none of ours")
    assert source.next()[0] == "gap"
    take(source, 2)
    source.close()
    world.stop()
    world.start()
    stall(app, 3)
    again = Source(world, last_id=source.last_id)  # the same history: nothing is lost or repeated
    assert [event["id"] for _, event in take(again, 1)] == [3]
    again.close()


def one_client_cannot_use_all_streams(world):
    """At the limit, a new stream ends the oldest stream of the client with most streams, which may resume."""
    path = os.path.join(world.made, "socket")
    world.stop()
    world.flags += ["--listen", f"unix:{path}"]
    world.start()
    app = app_with(world, [b"one", b"two"])
    user = Source(world, unix=path)
    crowd = [Source(world) for _ in range(STREAMS_MAX)]  # all of loopback counts as one client
    places = [source.place() for source in [user, *crowd]]
    first = crowd.pop(0)
    try:
        first.until(b"never")
        raise AssertionError("its place was needed")
    except (EOFError, ConnectionResetError):
        first.close()
    stall(app, 1)
    for source in [user, *crowd]:
        assert take(source, 1)[0][1]["id"] == 1
    again = Source(world, last_id=places[1])
    assert take(again, 1)[0][1]["id"] == 1
    stall(app, 2)
    for source in [user, *crowd[1:], again]:
        assert take(source, 1)[0][1]["id"] == 2
        source.close()
    assert world.metric('ripd_limit_hits_total{limit="streams"}') == 2


def hostile_names(world):
    app = app_with(world, NAMES)
    source = Source(world)
    source.place()
    stall(app, *range(1, len(NAMES) + 1))
    for _, event in take(source, len(NAMES)):
        shown = bytes.fromhex(event["name_hex"]) if "name_hex" in event else event["name"].encode()
        assert shown == NAMES[event["id"] - 1] and event["ring"] == "app"
    source.close()


def refused(world):
    for query, name in (("limit=1", "limit"), ("after=1", "after"), ("state=idle", "state"), ("kind=x", "kind")):
        status, body = world.request("/events?" + query, headers={"Accept": "text/event-stream"})
        assert status == 400 and body["parameter"] == name, (query, status, body)
    for fields in ({"Origin": "http://example.org"}, {"Sec-Fetch-Site": "cross-site"}):
        status, _ = world.request("/events", headers={"Accept": "text/event-stream", **fields})
        assert status == 403, fields
    start = time.monotonic()
    status, body = world.request("/events", method="HEAD", headers={"Accept": "text/event-stream"})
    assert status == 200 and body == "" and time.monotonic() - start < w.PATIENCE_S


class StreamWorld(w.World):
    INTERVAL_MS = 100
    STALL_AFTER_MS = 400


if __name__ == "__main__":
    w.run([live, filters, resumed, across_restarts, one_client_cannot_use_all_streams, hostile_names, refused],
          StreamWorld)
