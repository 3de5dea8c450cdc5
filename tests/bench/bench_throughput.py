# SPDX-License-Identifier: Apache-2.0
"""What tracing costs servers: requests a second of redis and memcached under the preload library against plain ones, in
turns, so that a change of the machine's load reaches both. Prints the median of the ratios; judges nothing.

$RIP_BENCH_ROUNDS rounds (default 5) of $RIP_BENCH_REQUESTS requests (default 50000)."""
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
ROUNDS = int(os.environ.get("RIP_BENCH_ROUNDS", "5"))
REQUESTS = int(os.environ.get("RIP_BENCH_REQUESTS", "50000"))
BATCH = 200


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


def compare(name, command, rate, folder):
    traced_environment = {**os.environ, "LD_PRELOAD": LIBRARY, "RIP_DIR": folder}
    paths = [f"{folder}/{name}-plain", f"{folder}/{name}-traced"]
    servers = [start(command(path), path, environment)
               for path, environment in zip(paths, (dict(os.environ), traced_environment))]
    try:
        rates = [[rate(path) for path in paths] for _ in range(ROUNDS)]
    finally:
        for server in servers:
            server.terminate()
            server.wait()
    plain, traced = (statistics.median(rates_of) for rates_of in zip(*rates))
    ratio = statistics.median(traced / plain for plain, traced in rates)
    print(f"{name}: plain {plain:.0f} requests/s, traced {traced:.0f}; ratio {ratio:.3f} (medians of {ROUNDS})")


def main():
    measured = 0
    with tempfile.TemporaryDirectory(prefix="rip-bench-", dir="/dev/shm") as folder:
        for name, command, rate in SERVERS:
            if shutil.which(command("")[0]):
                compare(name, command, rate, folder)
                measured += 1
    sys.exit(0 if measured else 77)


main()
