# SPDX-License-Identifier: Apache-2.0
"""Crowds of bad clients must hardly affect a good client: its response times, and the memory and CPU time of the
daemon.

Response times are compared only within one run: a phase with the crowd against a phase without it. Noise of the machine
can only make a phase slower, and a fault of the daemon makes every phase slower. So the best of several tries counts.
"""
import http.client
import os
import re
import resource
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import hostile_ring as h  # noqa: E402
import world as w  # noqa: E402

CROWD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "crowd.py")
TRIES = 8
REQUESTS = 500
PAUSE_S = 0.0005
FLOOR_S = 0.002  # a smaller percentile only measures the scheduler
STALLED = 10000
DESCRIPTORS = 10000 + 300

LISTS_BYTES = 128 << 20  # HTTP_LISTS_BYTES_MAX, plus the newest list and one that is being built
KEPT_BYTES = 16 << 20  # LISTS_KEPT_BYTES_MAX
CONNECTIONS_BYTES = (512 + 64) * (16384 + 4096)  # a complete request head, and the data of the connection
EVENTS_BYTES = 8 << 20
STREAMS_BYTES = 64 * 2 * 65536
DAEMON_BYTES = 16 << 20


class Crowd:
    def __init__(self, world, kind, count):
        self.process = subprocess.Popen([sys.executable, CROWD, kind, str(world.port), str(count)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        world.processes.append(self.process)

    def __enter__(self):
        answer = self.process.stdout.readline().strip()
        assert answer == "ready", f"the crowd did not start: {answer}"
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=w.PATIENCE_S)


class GoodClient:
    """A client with small requests, mostly on a persistent connection, sometimes on a new one."""

    def __init__(self, port):
        self.port = port
        self.connection = None

    def ask(self):
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=w.PATIENCE_S)
        self.connection.request("GET", "/stalls?limit=1")
        answer = self.connection.getresponse()
        assert answer.status == 200, answer.status
        answer.read()

    def seconds(self):
        start = time.monotonic()
        for _ in range(3):
            try:
                self.ask()
                break
            except (http.client.HTTPException, ConnectionError):  # the connection was closed for a newer one: retry
                self.connection = None
        else:
            raise AssertionError("three times in a row there was no answer")
        return time.monotonic() - start

    def percentile_s(self):
        times = []
        for i in range(REQUESTS):
            if i % 10 == 0:
                self.connection = None
            times.append(self.seconds())
            time.sleep(PAUSE_S)
        return sorted(times)[REQUESTS * 99 // 100]


def sanitized(world):
    with open(f"/proc/{world.ripd.pid}/maps", encoding="ascii") as file:
        text = file.read()
    return bool(re.search(r"lib[at]san", text)) or int(re.search(r"VmPeak:\s+(\d+)", status(world)).group(1)) > 1 << 32


def status(world):
    with open(f"/proc/{world.ripd.pid}/status", encoding="ascii") as file:
        return file.read()


def anonymous_bytes(world):
    return int(re.search(r"RssAnon:\s+(\d+)", status(world)).group(1)) * 1024


def cpu_s(world):
    with open(f"/proc/{world.ripd.pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_share(world, seconds):
    start_s, start = cpu_s(world), time.monotonic()
    time.sleep(seconds)
    return (cpu_s(world) - start_s) / (time.monotonic() - start)


def limit_hits(world, limit):
    return world.metric(f'ripd_limit_hits_total{{limit="{limit}"}}')


def many_stalls(world, count=STALLED, pid=None):
    """Makes enough ids for the largest list. pid is their process."""
    ring = h.Ring(world.ring("many"), capacity=count)
    ring.process(0, pid or os.getpid())
    for i in range(count):
        ring.slot(i, name=b"worker-%d" % i)
    ring.publish()
    world.wait_for(lambda: world.get("/stalls?limit=1")["total"] >= count)
    return ring


def check_good_client_during(world, kind, count, ids=0):
    """Checks that the 99th percentile of the good client at most doubles with the crowd, and that memory is bounded."""
    bound = DAEMON_BYTES + 64 * ids + LISTS_BYTES + CONNECTIONS_BYTES + EVENTS_BYTES + STREAMS_BYTES
    seen = []
    for _ in range(TRIES):
        quiet_s = GoodClient(world.port).percentile_s()
        with Crowd(world, kind, count):
            loaded_s = GoodClient(world.port).percentile_s()
            used = anonymous_bytes(world)
        assert sanitized(world) or used <= bound, f"{used} bytes, at most {bound}"
        seen.append(f"{quiet_s * 1000:.2f} -> {loaded_s * 1000:.2f} ms, {used >> 20} MB")
        if loaded_s <= 2 * max(quiet_s, FLOOR_S):
            break
    else:
        raise AssertionError(f"the others pay for {kind}: " + "; ".join(seen))
    print(f"        {kind} x {count}: " + "; ".join(seen))


def idle_connections(world):
    need_descriptors()
    check_good_client_during(world, "idle", 10000)
    with Crowd(world, "idle", 10000):
        time.sleep(0.5)
        share = cpu_share(world, 3)
        assert share < 0.2, f"{share:.0%} of a CPU for idle connections"
        print(f"        {share:.1%} of a processor for 10,000 that do nothing")
        assert limit_hits(world, "connections") >= 10000 - 512
        assert world.request("/healthz")[0] == 200


def slow_heads(world):
    check_good_client_during(world, "slow_heads", 400)
    check_good_client_during(world, "slow_heads", 1000)  # more than the limit of connections: they displace each other


def slow_readers(world):
    ring = many_stalls(world)
    check_good_client_during(world, "slow_readers", 100, STALLED)
    if not sanitized(world):  # memory is returned to the kernel
        world.wait_for(lambda: anonymous_bytes(world) <= DAEMON_BYTES + 64 * STALLED + KEPT_BYTES)
        print(f"        {anonymous_bytes(world) >> 20} MB when they are gone")
    ring.close()


def deaf_streams(world):
    ring = many_stalls(world)
    check_good_client_during(world, "deaf_streams", 64, STALLED)
    with Crowd(world, "deaf_streams", 70):
        world.wait_for(lambda: limit_hits(world, "streams") >= 6)
        assert world.request("/events")[0] == 200
    world.wait_for(lambda: world.metric("ripd_http_streams") == 0)
    ring.close()


def connect_and_close(world):
    check_good_client_during(world, "flood", 500)


def a_crowd_that_goes(world):
    """Memory of thousands of stalls is returned to the kernel when the stalls end."""
    before = anonymous_bytes(world)
    owner = subprocess.Popen(["sleep", "1000"])
    world.processes.append(owner)
    ring = many_stalls(world, 3 * STALLED, owner.pid)
    most = anonymous_bytes(world)
    os.unlink(world.ring("many"))
    ring.close()
    owner.kill()
    owner.wait()
    world.wait_for(lambda: world.get("/stalls?limit=1")["counts"]["stalled"] == 0)
    if sanitized(world):
        return
    world.wait_for(lambda: anonymous_bytes(world) <= before + (most - before) // 4)
    print(f"        {before >> 10} KB -> {most >> 10} -> {anonymous_bytes(world) >> 10}")


def need_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < DESCRIPTORS:
        raise w.Skip(f"RLIMIT_NOFILE is {soft} (hard: {hard}), {DESCRIPTORS} descriptors are needed")


def few_descriptors(world):
    """When descriptors run out, ripd does not spin: it closes the oldest idle connection for a new one."""
    world.stop()
    real = subprocess.Popen

    def limited(*arguments, **options):
        return real(*arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)), **options)

    subprocess.Popen = limited
    try:
        world.start()
    finally:
        subprocess.Popen = real
    with Crowd(world, "idle", 300):
        share = cpu_share(world, 2)
        assert share < 0.3, f"{share:.0%} of a CPU at the limit of descriptors"
        assert world.request("/healthz")[0] == 200
        print(f"        {share:.1%} of a processor, {limit_hits(world, 'connections')} gave way, "
              f"{limit_hits(world, 'accepts')} pauses")
        assert limit_hits(world, "connections") + limit_hits(world, "accepts") > 100
    assert world.request("/healthz")[0] == 200


if __name__ == "__main__":
    w.run([a_crowd_that_goes, idle_connections, slow_heads, slow_readers, deaf_streams, connect_and_close,
           few_descriptors])
