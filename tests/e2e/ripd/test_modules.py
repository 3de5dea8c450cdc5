# SPDX-License-Identifier: Apache-2.0
"""A module that no record names, for it was loaded after the threads had registered, is read from the memory map."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402


def start(world):
    program = subprocess.Popen([f"{w.BIN}/late", world.ring(), f"{w.BIN}/late_plugin.so"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    world.processes.append(program)
    assert program.stdout.readline() == "ready\n"
    return program


def loaded_late(world):
    start(world)
    location = world.wait_for(lambda: world.stalls()[0]["location"]["module"] and world.stalls()[0]["location"])
    assert location["module"] == "late_plugin.so" and location["build_id"] is None
    symbols = subprocess.run(["nm", "-D", f"{w.BIN}/late_plugin.so"], capture_output=True, text=True, check=True).stdout
    address = [int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" T stand")][0]
    assert int(location["offset"], 16) == address + 1
    thread = world.thread(7)
    assert thread["location"]["offset"] == location["offset"] and thread["trail"][0]["module"] == "late_plugin.so"


def after_a_restart(world):
    """It is found again, and once the program is dead, by a ripd that saw it alive, too."""
    program = start(world)
    world.wait_for(lambda: world.stalls()[0]["location"]["module"] == "late_plugin.so")
    world.stop()
    world.start()
    world.wait_for(lambda: world.stalls()[0]["location"]["module"] == "late_plugin.so")
    program.kill()
    program.wait()
    world.wait_for(lambda: world.state(7) == "dead")
    assert world.thread(7)["location"]["module"] == "late_plugin.so"


if __name__ == "__main__":
    w.run([loaded_late, after_a_restart])
