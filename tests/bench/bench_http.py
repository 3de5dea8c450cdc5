# SPDX-License-Identifier: Apache-2.0
"""ripd compared with nginx, which serves the same bytes from a file: requests per second with wrk, in turns, medians
and ratios.

Both serve with one thread; nginx uses sendfile, an open file cache and no log. Like the other benchmarks this never
fails; it prints which bar is not met.
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import hostile_ring as h  # noqa: E402
import world as w  # noqa: E402

ROUNDS = int(os.environ.get("RIP_BENCH_ROUNDS", "9"))
SECONDS = "1"
LONG = 10000
MILLION = 1 << 20
MILLION_BYTES = 1 << 30  # free memory needed for a ring of a million ids
NGINX = """
worker_processes 1; master_process off; daemon off; error_log {dir}/error.log; pid {dir}/pid;
events {{ worker_connections 512; }}
http {{
    access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 1000000000;
    default_type application/json; open_file_cache max=10; types {{ }}
    client_body_temp_path {dir}/1; proxy_temp_path {dir}/2; fastcgi_temp_path {dir}/3; uwsgi_temp_path {dir}/4;
    scgi_temp_path {dir}/5;
    server {{ listen 127.0.0.1:{port} backlog=511; root {dir}; }}
}}
"""


class Nginx:
    def __init__(self, world):
        self.dir = tempfile.mkdtemp(prefix="nginx-", dir=world.made)
        self.port = w.free_port()
        config = os.path.join(self.dir, "nginx.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(NGINX.format(dir=self.dir, port=self.port))
        os.chmod(world.made, 0o755)
        os.chmod(self.dir, 0o755)
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self.process = subprocess.Popen([program, "-p", self.dir, "-c", config], stderr=subprocess.DEVNULL)
        world.processes.append(self.process)

    def serve(self, name, body):
        with open(os.path.join(self.dir, name), "w", encoding="utf-8") as file:
            file.write(body)
        os.chmod(os.path.join(self.dir, name), 0o644)
        return f"http://127.0.0.1:{self.port}/{name}"

    def stop(self):
        self.process.terminate()
        self.process.wait()


def wrk(url, connections):
    """Returns (requests per second, 99th percentile in ms)."""
    text = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}s", "--latency", url], capture_output=True,
                          text=True, check=True).stdout
    assert "Non-2xx" not in text, text
    value, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", text).groups()
    return (float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1)),
            float(value) * {"us": 0.001, "ms": 1, "s": 1000}[unit])


def text_of(world, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{world.port}{path}") as answer:
        return answer.read().decode()


def compare(world, nginx, title, path, connections, bar):
    url = f"http://127.0.0.1:{world.port}{path}"
    body = text_of(world, path)
    other = nginx.serve(f"answer-{len(body)}", body)
    rates = {url: [], other: []}
    ratios = []
    for address in rates:
        wrk(address, connections)  # warm-up
    for _ in range(ROUNDS):
        for address, seen in rates.items():
            seen.append(wrk(address, connections)[0])
        ratios.append(rates[url][-1] / rates[other][-1])
    ratio = statistics.median(ratios)
    print(f"  {title:34} {len(body):9} bytes {statistics.median(rates[url]):9.0f}/s, nginx "
          f"{statistics.median(rates[other]):9.0f}/s, ratio {ratio:5.2f} (the bar: at least {bar:.2f}): "
          f"{'met' if ratio >= bar else 'NOT met'}", flush=True)


def ring_of(world, name, count, names=b"worker-%d"):
    ring = h.Ring(world.ring(name), capacity=count)
    ring.process(0, os.getpid())
    for i in range(count):
        ring.slot(i, name=names % i)
    ring.publish()
    return ring


def ring_of_copies(world, name, count):
    """Makes count ids quickly, all with the same contents."""
    ring = h.Ring(world.ring(name), capacity=count)
    ring.process(0, os.getpid())
    ring.slot(0)
    one = bytes(ring.bytes[ring.slots:ring.slots + h.SLOT])
    step = 8192
    for i in range(0, count, step):
        at = ring.slots + i * h.SLOT
        ring.bytes[at:at + step * h.SLOT] = one * step
    ring.set_all_live()
    ring.publish()
    return ring


def against_nginx(world):
    nginx = Nginx(world)
    time.sleep(0.3)
    ring_of(world, "one", 1)
    world.wait_for(lambda: world.get("/stalls")["total"] == 1)
    compare(world, nginx, "/stalls with 1, 1 connection", "/stalls", 1, 1.0)
    compare(world, nginx, "/stalls with 1, 64 connections", "/stalls", 64, 0.75)
    ring_of(world, "many", LONG)
    path = f"/stalls?ring=many&limit={LONG}"
    world.wait_for(lambda: world.get("/stalls?ring=many&limit=1")["total"] == LONG)
    compare(world, nginx, "/stalls with 10,000, 1 connection", path, 1, 1.0)
    percentile_beside_long_lists(world, nginx)
    nginx.stop()


def percentile_beside_long_lists(world, nginx):
    """Other clients request the largest list all the time, which ripd builds again for each scan."""
    path = f"/stalls?ring=many&limit={LONG}"
    long_lists = (f"http://127.0.0.1:{world.port}{path}", nginx.serve("long", text_of(world, path)))

    def beside(long_list, measure):
        others = subprocess.Popen(["wrk", "-t1", "-c2", "-d60s", long_list], stdout=subprocess.DEVNULL)
        world.processes.append(others)
        time.sleep(0.2)
        value = measure()
        others.terminate()
        others.wait()
        return value

    show_percentile(world, nginx, "while two fetch 10,000 stalls", beside, long_lists)


def show_percentile(world, nginx, title, beside=lambda _, measure: measure(), besides=(None, None)):
    """Prints the percentile of small requests on one connection. Other load of the machine also affects nginx."""
    path = "/stalls?ring=one"
    urls = (f"http://127.0.0.1:{world.port}{path}", nginx.serve("small", text_of(world, path)))
    seen = ([], [])
    for _ in range(ROUNDS):
        for url, values, other in zip(urls, seen, besides):
            values.append(beside(other, lambda url=url: wrk(url, 1)[1]))
    value, of_nginx = (statistics.median(values) for values in seen)
    print(f"  99th percentile {title}: {value:.2f} ms, nginx {of_nginx:.2f} ms (the bar: under 5): "
          f"{'met' if value < 5 else 'NOT met'}", flush=True)


def while_a_million_are_scanned(world):
    with open("/proc/meminfo", encoding="ascii") as file:
        available = int(re.search(r"MemAvailable:\s+(\d+)", file.read()).group(1)) * 1024
    if available < 2 * MILLION_BYTES:
        raise w.Skip(f"a million ids take {MILLION_BYTES >> 20} MB; {available >> 20} are free")
    ring_of(world, "one", 1)
    ring_of_copies(world, "million", MILLION)
    world.wait_for(lambda: sum(world.get("/stalls?limit=1")["counts"].values()) > MILLION)
    nginx = Nginx(world)
    time.sleep(0.3)
    show_percentile(world, nginx, "while a million ids are scanned")


class BenchWorld(w.World):
    INTERVAL_MS = 1000
    STALL_AFTER_MS = 1000


class MillionWorld(w.World):
    INTERVAL_MS = 1000
    STALL_AFTER_MS = 3600000


if __name__ == "__main__":
    for tool in ("wrk", "nginx"):
        if shutil.which(tool) is None and not os.path.exists(f"/usr/sbin/{tool}"):
            w.skip_script(f"{tool} is not installed")
    print(f"ripd against nginx, {ROUNDS} rounds of {SECONDS} s")
    chosen = {"nginx": (against_nginx, BenchWorld), "million": (while_a_million_are_scanned, MillionWorld)}
    for key in sys.argv[1:] or chosen:
        function, make_world = chosen[key]
        bench_world = make_world()
        try:
            function(bench_world)
        except w.Skip as reason:
            print(f"  skipped: {reason}")
        finally:
            bench_world.close()
