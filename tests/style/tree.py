# SPDX-License-Identifier: Apache-2.0
"""The files of the project, for the checks beside this one."""
import os
import sys

TOP = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
SKIPPED = {".git", "__pycache__"}


def files(*endings):
    """Paths below the top, relative to it, with one of the endings; build trees left out."""
    for folder, folders, names in os.walk(TOP):
        folders[:] = sorted(
            f for f in folders
            if f not in SKIPPED and not os.path.exists(os.path.join(folder, f, "CMakeCache.txt")))
        for name in sorted(names):
            if name.endswith(endings):
                yield os.path.relpath(os.path.join(folder, name), TOP)


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def finish(what, count, faults):
    for fault in faults:
        print(fault)
    print(f"{what}: {count} looked at, {len(faults)} at fault")
    if count == 0:
        print("nothing was looked at")
    sys.exit(1 if faults or count == 0 else 0)
