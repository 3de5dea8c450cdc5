# SPDX-License-Identifier: Apache-2.0
"""Every C and C++ file is as .clang-format would have it."""
import os
import shutil
import subprocess
import sys

import tree


def main():
    tool = shutil.which("clang-format-14") or shutil.which("clang-format")
    if tool is None or "version 14." not in subprocess.run([tool, "--version"], capture_output=True, text=True,
                                                           check=True).stdout:
        print("skipped: clang-format 14 is not installed")
        sys.exit(77)
    paths = list(tree.files(".c", ".h", ".cc"))
    faults = []
    for path in paths:
        result = subprocess.run([tool, "--dry-run", "-Werror", os.path.join(tree.TOP, path)], capture_output=True,
                                text=True, check=False)
        if result.returncode != 0:
            faults.append(f"{path}: not formatted")
    tree.finish("format", len(paths), faults)


main()
