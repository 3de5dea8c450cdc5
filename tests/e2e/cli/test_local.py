# SPDX-License-Identifier: Apache-2.0
"""Without ripd, `rip stalls`, `rip ls` and `rip show` read the rings themselves and report that."""
import json
import os
import re
import shutil
import subprocess
import threading

import cli_kit as k
from cli_kit import w

NOBODY = "http://127.0.0.1:1"


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def start(world):
    """Starts name-5, which is stuck, name-6, which waits for work, and name-7, which moves."""
    app = world.puppet()
    for number, mode in ((5, "snap"), (6, "idle"), (7, "snap")):
        app.do(f"spawn {number} name-{number} {mode}")
    world.wait_for(lambda: world.thread(5)["snaps"] > 1 and world.state(6) == "idle")
    app.do("freeze 5")
    world.wait_for(lambda: world.stalled_ids() == [5])
    return app


def without_ripd(world):
    app = start(world)
    for command, words in ((["stalls"], " of 3 ids have not moved for 1 s"), (["ls"], f"puppet[{app.pid}]"),
                           (["show", "app"], "name-5"), (["show", str(app.pid), "5"], "name-5")):
        done = world.command(*command, RIPD_URL=NOBODY, RIP_DIR=world.dir)
        assert done.returncode == 0 and words in done.stdout, (command, done)
        assert "ripd does not answer on 127.0.0.1:1" in done.stderr and "reading the rings instead" in done.stderr, done
        assert done.stderr.count("\n") == 1, done
    # with --url, or for commands that need ripd, there is no fallback
    for command in (["stalls", "--url", NOBODY], ["check"], ["events"]):
        done = world.command(*command, RIPD_URL=NOBODY, RIP_DIR=world.dir)
        assert done.returncode in (1, 3) and "reading the rings instead" not in done.stderr, (command, done)
    for status in (503, 400):
        server = k.Impostor({"/stalls": (status, {"detail": "no"})})
        done = world.command("stalls", RIPD_URL=server.url, RIP_DIR=world.dir)
        assert done.returncode != 0 and "reading the rings instead" not in done.stderr, done
        server.close()


def two_samples_of_a_ring(world):
    app = start(world)
    item = [each for each in lines_of(world.command("stalls", "--json", "--dir", world.dir).stdout)
            if each["id"] == 5][0]
    assert item["state"] == "not moving" and item["frozen_for_ms"] == 1000, item
    assert item["since"] is item["cause"] is item["kernel"] is item["waits_for"] is None, item
    known = world.thread(5)
    assert item["location"]["module"] == "puppet", item
    assert item["snaps"] == known["snaps"] and [each["offset"] for each in item["trail"]] == \
        [each["offset"] for each in known["trail"]], (item, known)
    states = {item["id"]: item["state"] for item in lines_of(world.command("show", "app", "--json", "--dir", world.dir)
                                                             .stdout)}
    assert states[5] == "not moving" and states[6] == "idle" and states[7] in ("running", "not moving"), states
    assert lines_of(world.command("stalls", "--json", "--dir", world.dir, "--name", "x*").stdout) == []
    app.kill()
    row = world.command("ls", "--dir", world.dir).stdout.splitlines()[1].split()
    assert row[0] == "app" and row[2:7] == ["0", "0", "0", "0", "3"] and row[7] == "dead", row


def names(world):
    """Functions and lines are the same as from ripd. Without ripd-symbolizer, locations are module and offset."""
    start(world)
    known = world.wait_for(lambda: world.thread(5) if world.thread(5)["location"]["function"] else None)
    item = lines_of(world.command("show", "app", "5", "--json", "--dir", world.dir).stdout)[0]
    keys = ("module", "build_id", "offset", "function", "file", "line")
    assert [item["location"][key] for key in keys] == [known["location"][key] for key in keys], (item, known)
    assert {entry["function"] for entry in item["trail"]} == {entry["function"] for entry in known["trail"]}
    where = f"{known['location']['function']}, "
    assert re.match(rf"name-5 of puppet \(pid \d+\) has not moved for 1\.\d s in {known['location']['function']} ",
                    world.command("show", "app", "5", "--dir", world.dir).stdout)
    for command in (["stalls"], ["show", "app"], ["show", "app", "5"]):
        assert where in world.command(*command, "--dir", world.dir).stdout, command
    alone = os.path.join(world.made, "alone")
    os.mkdir(alone)
    for name in ("rip", "rip-client"):
        shutil.copy2(f"{w.BIN}/{name}", alone)
    done = subprocess.run([f"{alone}/rip", "stalls", "--dir", world.dir], text=True, capture_output=True, check=True)
    assert f"puppet+{known['location']['offset']}" in done.stdout and done.stderr == "", done


def flags_that_need_ripd(world):
    for arguments in (["--group", "root"], ["--cause", "spinning"], ["--min", "5s"], ["--unit", "x"]):
        done = world.command("stalls", "--dir", world.dir, *arguments)
        assert done.returncode == 2 and "this flag needs a ripd: --" in done.stderr and done.stdout == "", \
            (arguments, done)
    done = world.command("stalls", "--dir", world.dir, "--url", NOBODY)
    assert done.returncode == 2 and "--dir" in done.stderr, done
    for command in (["show", "app", "5"], ["ls"], ["stalls"]):
        done = world.command(*command, "--dir", world.made + "/nowhere")
        assert done.returncode == 1 and done.stdout == "" and "nowhere': No such file" in done.stderr, done
    done = world.command("ls", "--dir", __file__)
    assert done.returncode == 1 and done.stderr.endswith("': Not a directory\n"), done
    done = world.command("show", "nothing", "--dir", world.dir)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr == "rip: show: 'nothing': no such pid or ring; `rip ls` lists them\n", done


def no_rings(world):
    empty, other = (os.path.join(world.made, name) for name in ("empty", "other"))
    os.mkdir(empty)
    os.mkdir(other)
    says = "; `rip run COMMAND` makes one\n"
    assert world.command("ls", RIPD_URL=NOBODY, RIP_DIR=empty).stdout == f"no rings in {empty}{says}"
    assert world.command("ls", "--dir", empty, "--dir", other).stdout == f"no rings in {empty} or {other}{says}"
    assert world.command("ls", "--dir", empty, "--ring", "x").stdout == f"no such rings in {empty}\n"


def rings_of_others(world):
    if os.geteuid() != 0:
        raise w.Skip("only root becomes another user")
    start(world)
    for folder in (world.made, world.dir):
        os.chmod(folder, 0o755)
    for command in ("ls", "stalls"):
        done = subprocess.run([k.RIP, command, "--dir", world.dir], text=True, capture_output=True, user=65534,
                              group=65534, extra_groups=[], env=world.environment)
        assert done.returncode == 0 and "1 file there cannot be read" in done.stderr, done


def hostile_rings(world):
    """False sizes, a crowd of ids, invalid names, files that are not rings, and a ring that is truncated all the time.
    """
    folder = os.path.join(world.made, "hostile")
    os.mkdir(folder)
    names = k.h.Ring(os.path.join(folder, os.fsdecode(b"na\xffmes\x1b")))
    names.process(0, os.getpid(), comm=b"\xff\x1b[31m")
    for number, name in enumerate(k.HOSTILE):
        names.slot(number, number=number + 1, name=name)
    names.publish()
    crowd = k.h.Ring(os.path.join(folder, "crowd"), capacity=3000000)
    crowd.process(0, os.getpid())
    crowd.set_all_live()
    crowd.publish()
    for name, content in (("short", b"RIPRING\0" + b"\xff" * 100), ("empty", b""), ("text", b"nothing")):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    os.mkfifo(os.path.join(folder, "fifo"))
    os.symlink("/dev/zero", os.path.join(folder, "link"))
    with open(os.path.join(folder, "huge"), "wb") as file:
        file.write(b"RIPRING\0")
        file.truncate(1 << 40)
    cut = k.h.Ring(os.path.join(folder, "cut"))
    cut.publish()
    ended = threading.Event()

    def keep_cutting():
        while not ended.is_set():
            os.truncate(cut.path, 4096)
            os.truncate(cut.path, cut.size)

    thread = threading.Thread(target=keep_cutting)
    thread.start()
    for command in (["stalls"], ["ls"], ["show", "na*"], ["show", "na*", "1"], ["stalls", "--json", "--limit", "5"]):
        done = world.command(*command, "--dir", folder)
        assert done.returncode == 0 and not re.search(r"[\x00-\x09\x0b-\x1f\x7f\x9b]", done.stdout), (command, done)
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
    ended.set()
    thread.join()
    text = world.command("ls", "--dir", folder).stdout
    assert "huge" in text and "another format version" in text and "short" in text, text
    assert "fifo" not in text and "link" not in text, text
    names.close()
    crowd.close()
    cut.close()


if __name__ == "__main__":
    w.run([without_ripd, two_samples_of_a_ring, names, flags_that_need_ripd, no_rings, rings_of_others, hostile_rings],
          k.CliWorld)
