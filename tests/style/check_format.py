# SPDX-License-Identifier: Apache-2.0
"""Checks that every C and C++ file is formatted with clang-format."""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

import tree

FILES_AT_ONCE = 40 # one clang-format for many files, because starting the program is slower than checking a file
FAULT = re.compile(r"^(\S+?):\d+:\d+: error: code should be clang-formatted", re.M)


def faults_of(tool, paths):
    result = subprocess.run([tool, "--dry-run", "-Werror", *paths], cwd=tree.TOP, capture_output=True, text=True,
                            check=False)
    found = {f"{path}: not formatted" for path in FAULT.findall(result.stderr)}
    if result.returncode != 0 and not found:
        found.add(result.stderr.strip())
    return found


def main():
    tool = shutil.which("clang-format-14") or shutil.which("clang-format")
    if tool is None or "version 14." not in subprocess.run([tool, "--version"], capture_output=True, text=True,
                                                           check=True).stdout:
        print("skipped: clang-format 14 is not installed")
        sys.exit(77)
    paths = list(tree.files(".c", ".h", ".cc", ".hpp"))
    batches = [paths[i:i + FILES_AT_ONCE] for i in range(0, len(paths), FILES_AT_ONCE)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda batch: faults_of(tool, batch), batches)
        tree.finish("format", len(paths), sorted(set().union(*found)))


main()
