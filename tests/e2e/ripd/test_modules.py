# SPDX-License-Identifier: Apache-2.0
"""A module that was loaded after the threads registered is in no record; ripd finds it in the memory map."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import test_privileges as privileges  # noqa: E402
import world as w  # noqa: E402

USER = 65534


def start(world, folder=w.BIN, **options):
    program = subprocess.Popen([f"{folder}/late", world.ring(), f"{folder}/late_plugin.so"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, **options)
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
    """The module is found again after a restart, also for a dead program if ripd saw it alive."""
    program = start(world)
    world.wait_for(lambda: world.stalls()[0]["location"]["module"] == "late_plugin.so")
    world.stop()
    world.start()
    world.wait_for(lambda: world.stalls()[0]["location"]["module"] == "late_plugin.so")
    program.kill()
    program.wait()
    world.wait_for(lambda: world.state(7) == "dead")
    assert world.thread(7)["location"]["module"] == "late_plugin.so"


def of_another_user(world):
    """ripd-probe reads the map, whether ripd is root or not."""
    for name in ("late", "late_plugin.so"):
        shutil.copy(f"{w.BIN}/{name}", world.made)  # other users may not be able to read the build tree
    os.chmod(world.made, 0o755)
    os.chmod(world.dir, 0o777)
    start(world, world.made, **privileges.as_user(USER))
    os.chmod(world.ring(), 0o644)
    location = world.wait_for(lambda: world.stalls()[0]["location"]["module"] and world.stalls()[0]["location"])
    assert location["module"] == "late_plugin.so" and location["build_id"] is None, location


def seen_by_the_service(world):
    of_another_user(world)


def make_world():
    test = TESTS[make_world.count]
    make_world.count += 1
    return privileges.Service() if test is seen_by_the_service else w.World()


if __name__ == "__main__":
    TESTS = [loaded_late, after_a_restart]
    if w.missing_for_users() is None:
        TESTS += [of_another_user, seen_by_the_service]
    else:
        print(f"without other users: {w.missing_for_users()}")
    make_world.count = 0
    w.run(TESTS, make_world)
