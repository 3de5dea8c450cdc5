# SPDX-License-Identifier: Apache-2.0
"""The cost of tracing for servers: requests to redis and memcached, under the preload library and plain, in turns.

Every second turn has the reverse order, so that changes of the machine's load affect both. Server and client have a CPU
each. The memory layout of a process alone makes some percent of difference, so both servers are started several times.

The load comes from each server's own client: 20 connections with one request at a time. The row "memcached, 200 in a
packet" is the worst case: without the network, a request is little more than nine locks of a mutex.

Prints the median and the quartiles of the ratio of requests per second. On a machine with other load, CPU time for each
request is more stable, and of that the lower quartile of each start, because other load of caches only adds to it. It
never fails.

$RIP_BENCH_STARTS starts (default 8) of $RIP_BENCH_ROUNDS turns (default 15) of $RIP_BENCH_REQUESTS requests (default
10000).
"""
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

LIBRARY = sys.argv[1]
STARTS = int(os.environ.get("RIP_BENCH_STARTS", "8"))
ROUNDS = int(os.environ.get("RIP_BENCH_ROUNDS", "15"))
REQUESTS = int(os.environ.get("RIP_BENCH_REQUESTS", "10000"))
CLIENTS = 20
BATCH = 200
PROCESSORS = sorted(os.sched_getaffinity(0))


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    return client


def start(command, path, environment):
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: os.sched_setaffinity(0, PROCESSORS[:1]))
    while True:
        try:
            connect(path).close()
            return process
        except OSError:
            if process.poll() is not None:
                sys.exit(f"bench_throughput: {command[0]} has ended with {process.returncode}")
            time.sleep(0.02)


def redis_rate(path):
    done = subprocess.run(["redis-benchmark", "-s", path, "-t", "get", "-n", str(REQUESTS), "-c", str(CLIENTS),
                           "--csv"], capture_output=True, text=True, check=True)
    return float(re.findall(r'"([0-9.]+)"', done.stdout)[0])


def memcached_rate(path):
    done = subprocess.run(["memcslap", "--servers", path, "--test", "get", "--concurrency", str(CLIENTS),
                           "--execute-number", str(REQUESTS // CLIENTS)], capture_output=True, text=True, check=True)
    return REQUESTS / float(re.search(r"Time to get .*: *([0-9.]+) seconds", done.stdout)[1])


def memcached_packet_rate(path):
    client = connect(path)
    client.sendall(b"set key 0 0 5\r\nvalue\r\n")
    assert client.recv(100) == b"STORED\r\n"
    answer = len(b"VALUE key 0 5\r\nvalue\r\nEND\r\n")
    began = time.monotonic()
    for _ in range(REQUESTS // BATCH):
        client.sendall(b"get key\r\n" * BATCH)
        left = answer * BATCH
        while left > 0:
            left -= len(client.recv(left))
    client.close()
    return REQUESTS / (time.monotonic() - began)


def redis(path):
    return ["redis-server", "--port", "0", "--unixsocket", path, "--save", ""]


def memcached(path):
    return ["memcached", "-u", "root", "-s", path]


# Each load: its name, the server, the client, the programs it needs, and the bar.
LOADS = [
    ("redis", redis, redis_rate, ["redis-server", "redis-benchmark"], "0.97"),
    ("memcached", memcached, memcached_rate, ["memcached", "memcslap"], "0.97"),
    (f"memcached, {BATCH} in a packet", memcached, memcached_packet_rate, ["memcached"], "none"),
]


def processor_s(pid):
    """Returns the CPU time of the server's threads in seconds."""
    total_ns = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            total_ns += int(file.read().split()[0])
    return total_ns / 1e9


def measure(rate, path, server):
    """Returns requests per second of wall time, and CPU seconds for each request."""
    before_s = processor_s(server.pid)
    by_clock = rate(path)
    return by_clock, (processor_s(server.pid) - before_s) / REQUESTS


def turns(rate, paths, servers):
    """Returns the results of measure() for both servers, in each round."""
    rounds = []
    for number in range(ROUNDS):
        order = (0, 1) if number % 2 == 0 else (1, 0)
        measured = {which: measure(rate, paths[which], servers[which]) for which in order}
        rounds.append((measured[0], measured[1]))
    return rounds


def started(command, rate, folder):
    traced_environment = {**os.environ, "LD_PRELOAD": LIBRARY, "RIP_DIR": folder}
    paths = [f"{folder}/plain", f"{folder}/traced"]
    servers = [start(command(path), path, environment)
               for path, environment in zip(paths, (dict(os.environ), traced_environment))]
    try:
        for path in paths:
            rate(path)
        return turns(rate, paths, servers)
    finally:
        for server in servers:
            server.terminate()
            server.wait()


def quarters(values):
    ordered = sorted(values)
    quarter = len(ordered) // 4
    return f"{statistics.median(ordered):.3f} ({ordered[quarter]:.3f} to {ordered[-1 - quarter]:.3f})"


def lower_quartile(values):
    return sorted(values)[len(values) // 4]


def compare(name, command, rate, bar, folder):
    starts = [started(command, rate, folder) for _ in range(STARTS)]
    rounds = [both for one_start in starts for both in one_start]
    plain, traced = ([both[which][0] for both in rounds] for which in (0, 1))
    busy = [lower_quartile([plain[1] for plain, _ in one]) / lower_quartile([traced[1] for _, traced in one])
            for one in starts]
    print(f"{name}: plain {statistics.median(plain):.0f} requests/s, traced {statistics.median(traced):.0f}; ratio "
          f"{quarters([after / before for before, after in zip(plain, traced)])}; of time on a processor "
          f"{quarters(busy)}; the bar: {bar}; {STARTS} starts of {ROUNDS} rounds; load {os.getloadavg()[0]:.1f}")


def main():
    measured = 0
    os.sched_setaffinity(0, PROCESSORS[-1:])
    with tempfile.TemporaryDirectory(prefix="rip-bench-", dir="/dev/shm") as folder:
        for name, command, rate, programs, bar in LOADS:
            missing = [program for program in programs if not shutil.which(program)]
            if missing:
                print(f"{name}: skipped, {missing[0]} is not installed")
                continue
            compare(name, command, rate, bar, folder)
            measured += 1
    sys.exit(0 if measured else 77)


main()
