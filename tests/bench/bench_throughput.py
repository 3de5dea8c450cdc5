# SPDX-License-Identifier: Apache-2.0
"""What tracing costs servers: requests a second of redis and memcached under the preload library against plain ones, in
turns, so that a change of the machine's load reaches both. What a request takes of a processor is the steadier figure
where others use the machine, too. Prints the medians of the ratios and the quarters around them; judges nothing.

$RIP_BENCH_ROUNDS rounds (default 21) of $RIP_BENCH_REQUESTS requests (default 50000)."""
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
ROUNDS = int(os.environ.get("RIP_BENCH_ROUNDS", "21"))
REQUESTS = int(os.environ.get("RIP_BENCH_REQUESTS", "50000"))
BATCH = 200
BAR = 0.97


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    return client


def start(command, path, environment):
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        try:
            connect(path).close()
            return process
        except OSError:
            if process.poll() is not None:
                sys.exit(f"bench_throughput: {command[0]} has ended with {process.returncode}")
            time.sleep(0.02)


def redis_rate(path):
    done = subprocess.run(["redis-benchmark", "-s", path, "-t", "get", "-n", str(REQUESTS), "-c", "20", "--csv"],
                          capture_output=True, text=True, check=True)
    return float(re.findall(r'"([0-9.]+)"', done.stdout)[0])


def memcached_rate(path):
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


SERVERS = [
    ("redis", lambda path: ["redis-server", "--port", "0", "--unixsocket", path, "--save", ""], redis_rate),
    ("memcached", lambda path: ["memcached", "-u", "root", "-s", path], memcached_rate),
]


def processor_s(pid):
    """What the threads of a server have had of a processor."""
    total_ns = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            total_ns += int(file.read().split()[0])
    return total_ns / 1e9


def measure(rate, path, server):
    """Requests a second: of the clock, and of a processor."""
    before_s = processor_s(server.pid)
    by_clock = rate(path)
    return by_clock, REQUESTS / (processor_s(server.pid) - before_s)


def ratio_text(plain, traced):
    ratios = sorted(after / before for before, after in zip(plain, traced))
    quarter = len(ratios) // 4
    return f"{statistics.median(ratios):.3f} ({ratios[quarter]:.3f} to {ratios[-1 - quarter]:.3f})"


def compare(name, command, rate, folder):
    traced_environment = {**os.environ, "LD_PRELOAD": LIBRARY, "RIP_DIR": folder}
    paths = [f"{folder}/{name}-plain", f"{folder}/{name}-traced"]
    servers = [start(command(path), path, environment)
               for path, environment in zip(paths, (dict(os.environ), traced_environment))]
    try:
        rounds = [[measure(rate, path, server) for path, server in zip(paths, servers)] for _ in range(ROUNDS)]
    finally:
        for server in servers:
            server.terminate()
            server.wait()
    (plain, plain_busy), (traced, traced_busy) = (zip(*side) for side in zip(*rounds))
    print(f"{name}: plain {statistics.median(plain):.0f} requests/s, traced {statistics.median(traced):.0f}; ratio "
          f"{ratio_text(plain, traced)}, of time on a processor {ratio_text(plain_busy, traced_busy)}; the bar: "
          f"{BAR:.2f}; {ROUNDS} rounds")


def main():
    measured = 0
    with tempfile.TemporaryDirectory(prefix="rip-bench-", dir="/dev/shm") as folder:
        for name, command, rate in SERVERS:
            if shutil.which(command("")[0]):
                compare(name, command, rate, folder)
                measured += 1
    sys.exit(0 if measured else 77)


main()
