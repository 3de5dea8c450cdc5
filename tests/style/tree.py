# SPDX-License-Identifier: Apache-2.0
"""Lists and reads the files of the project, for the style checks."""
import os
import sys

TOP = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
SKIPPED = {".git", "__pycache__"}


def files(*endings):
    """Yields the paths, relative to the top, of files with one of the endings. Skips build trees."""
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
    print(f"{what}: {count} files checked, {len(faults)} faults")
    if count == 0:
        print(f"{what}: no file was found")
    sys.exit(1 if faults or count == 0 else 0)
