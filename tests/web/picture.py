# SPDX-License-Identifier: Apache-2.0
"""Makes the README's picture of the page:  RIP_TEST_BIN=build/bin tests/web/picture.py

A pool of 50 threads has deadlocked, a thread of another program waits, and a thread has used its CPU for some time.
Writes ripd/web/page.png. For another file or size:  picture.py FILE WIDTH HEIGHT [dark]
"""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e"))
import browser as b  # noqa: E402
import world as w  # noqa: E402

OUTPUT = os.path.join(HERE, "../../ripd/web/page.png")
BYTES_MAX = 150000


def start(world, name, program, *words, run=False):
    """Starts a copy of the program with another name, which becomes the name of its process and its module."""
    path = os.path.join(world.made, "programs", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    shutil.copy(program, path)
    prefix = [f"{w.BIN}/rip", "run", "--dir", world.dir, "--name", name, "--"] if run else []
    process = subprocess.Popen([*prefix, path, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    world.processes.append(process)
    return process


def set_the_scene(world):
    # Built here with a neutral path, so that the picture shows no path of this machine.
    subprocess.run(["g++", "-std=c++17", "-O2", "-g", "-pthread", f"-ffile-prefix-map={HERE}=/src/checkout",
                    f"{HERE}/pool.cc", "-o", f"{world.made}/pool"], check=True)
    pool = start(world, "checkout", f"{world.made}/pool", run=True)
    assert pool.stdout.readline() == "ready\n"
    feeds = w.Puppet(world, [shutil.copy(f"{w.BIN}/puppet", os.path.join(world.made, "programs", "feeds"))])
    feeds.do(f"ring {world.ring('feeds')} 256")
    for number in range(1, 41):
        feeds.do(f"spawn {number} feed-{number} {'idle' if number % 3 == 0 else 'snap'}")
    feeds.do("freeze 17")
    world.wait_for(lambda: world.get("/stalls")["total"] == 51)
    world.wait_for(lambda: world.get("/stalls?group=root")["stalls"][0]["root"]["cause"] == "deadlock")


def main():
    words = [word for word in sys.argv[1:] if word != "dark"]
    output, width, height = words if len(words) == 3 else (OUTPUT, 1200, 470)
    world = w.World("--stall-after=2s")
    page = b.Browser()
    try:
        set_the_scene(world)
        page.look((int(width), int(height)), "dark" in sys.argv)
        page.go(f"http://127.0.0.1:{world.port}/")
        page.wait_text("^2 incidents", "#hero")
        page.wait_text("1[0-9] s", ".incident")  # until all evidence is collected
        picture = page.picture()
        assert len(picture) < BYTES_MAX, len(picture)
        with open(output, "wb") as file:
            file.write(picture)
        print(f"{os.path.normpath(output)}: {len(picture)} bytes")
    finally:
        page.close()
        world.close()


if __name__ == "__main__":
    main()
