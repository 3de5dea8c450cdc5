# SPDX-License-Identifier: Apache-2.0
"""What the README promises to somebody who has only the README."""
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
    assert world.log_text().count("stall begin") == 1


def the_flags_of_the_readme(_world):
    text = subprocess.run([f"{w.BIN}/ripd", "--help"], capture_output=True, text=True, check=True).stdout
    for line in text.split("\n"):
        if line.startswith("  --"):
            assert line in readme(), line


def the_paths_of_the_readme(world):
    for path in re.findall(r"`(/(?:stalls|threads|rings|metrics|healthz|readyz|version))`", readme()):
        assert world.request(path)[0] == 200, path


w.run([the_program_of_the_readme, the_flags_of_the_readme, the_paths_of_the_readme])
