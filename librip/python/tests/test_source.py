# SPDX-License-Identifier: Apache-2.0
"""Builds package rip from source against an installed librip, as pip does, without a network."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ["RIP_PYTHON"]
BUILD = os.path.dirname(os.environ["RIP_TEST_BIN"])
IGNORED = shutil.ignore_patterns("tests", "__pycache__")


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    assert result.returncode == 0, (command, result.stdout, result.stderr)


if subprocess.run([PYTHON, "-c", "import setuptools"], capture_output=True).returncode != 0:
    print("skip: setuptools is not installed (Debian package python3-setuptools)")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="rip-source-") as folder:
    prefix, source = f"{folder}/prefix", f"{folder}/source"
    shutil.copytree(os.path.dirname(HERE), source, ignore=IGNORED)
    for component in ("library", "development"):
        run("cmake", "--install", BUILD, "--prefix", prefix, "--component", component)
    found = [place for place, _, names in os.walk(prefix) if "librip.pc" in names]
    environment = os.environ | {"PKG_CONFIG_PATH": found[0], "LD_LIBRARY_PATH": os.path.dirname(found[0])}
    run(PYTHON, "setup.py", "-q", "install", f"--prefix={folder}/site", "--single-version-externally-managed",
        f"--record={folder}/record", cwd=source, env=environment)
    with open(f"{folder}/record", encoding="utf-8") as file:
        package = [line.strip() for line in file if line.strip().endswith("rip/__init__.py")]
    environment["PYTHONPATH"] = os.path.dirname(os.path.dirname(package[0]))
    run(PYTHON, "-B", f"{HERE}/api.py", env=environment)
