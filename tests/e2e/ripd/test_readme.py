# SPDX-License-Identifier: Apache-2.0
"""The README: commands, flags, files and links exist."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))


def readme():
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as file:
        return file.read()


def the_program_of_the_readme(world):
    code = re.search(r"```c\n(.*?)```", readme(), re.S).group(1)
    source, program = os.path.join(world.made, "worker.c"), os.path.join(world.made, "program")
    with open(source, "w", encoding="utf-8") as file:
        file.write(code.replace("/dev/shm/worker", world.ring("worker")))
    built = subprocess.run(["cc", source, f"-I{TOP}/include", f"{w.BIN}/../lib/librip.a", "-o", program],
                           capture_output=True, text=True, check=False)
    if "san_" in built.stderr:
        raise w.Skip("librip.a is built with a sanitizer")
    assert built.returncode == 0, built.stderr
    world.processes.append(subprocess.Popen([program]))
    stall = world.wait_for(lambda: world.stalls()[0])
    assert stall["name"] == "worker" and stall["snaps"] == 4 and stall["location"]["module"] == "program"
    world.wait_for(lambda: world.log_text().count("stall begin") == 1)


def flags_of(*argv):
    done = subprocess.run([f"{w.BIN}/{argv[0]}", *argv[1:], "--help"], capture_output=True, text=True, check=True)
    return set(re.findall(r"^  (--[a-z-]+)", done.stdout, re.M))


def the_commands_of_the_readme(_world):
    """Scripts exist, and programs accept the flags."""
    blocks = re.findall(r"```sh\n(.*?)```", readme(), re.S)
    lines = [line.split("#")[0] for block in blocks for line in block.split("\n")]
    assert len([line for line in lines if line.strip()]) > 6
    for line in lines:
        for script in re.findall(r"^\./(\S+)", line):
            assert os.access(os.path.join(TOP, script), os.X_OK), script
        for words, given in re.findall(r"\b(ripd|rip run|rip events)((?: --[a-z-]+(?: [^ -]\S*)?)*)", line):
            for flag in re.findall(r"--[a-z-]+", given):
                assert flag in flags_of(*words.split()), (line, flag)


def the_places_of_the_readme(_world):
    """Files and manual sections exist. The README has at most two screens."""
    text = readme()
    assert text.count("\n") <= 100
    for path in re.findall(r"`((?:ripd|librip|include|systemd|tests)/[^` ]*)`", text):
        assert os.path.exists(os.path.join(TOP, path)), path
    with open(os.path.join(TOP, "ripd/man/ripd.8.in"), encoding="utf-8") as file:
        sections = re.findall(r"^\.Sh (.*)", file.read(), re.M)
    for title in re.findall(r"ripd\(8\), ([A-Z ]+)\.", text):
        assert title in sections, title


def the_paths_of_the_readme(world):
    paths = re.findall(r"curl localhost:7470(/\w+)", readme())
    assert {"/stalls", "/rings"} <= set(paths)
    for path in paths:
        assert world.request(path)[0] == 200, path


w.run([the_program_of_the_readme, the_commands_of_the_readme, the_places_of_the_readme, the_paths_of_the_readme])
